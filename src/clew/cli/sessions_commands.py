"""`clew sessions`: list them, make them, put them away, remove them."""

from collections.abc import Sequence
from typing import Annotated, Any

import typer
from rich.console import RenderableType

from clew.app import Clew
from clew.cli import sessions_compact, sessions_many, sessions_tail
from clew.cli.options import ConfigOption, JsonOption, StoreOption, opened, out, show, show_json
from clew.cli.reach import TimeoutOption, To, TokenOption, UrlOption, change, read
from clew.client.gateway import Gateway
from clew.clock import new_id, now_ms
from clew.config.agents import MAIN, agent_of, entry_of
from clew.gateway.facts import ARCHIVED
from clew.gateway.rows import told
from clew.render import session_rows
from clew.render.layout import fact, sentence
from clew.render.text import age, number, plural

MOST, LIMIT = 10_000, 100
"""Sessions a gateway lists at most, and how many are listed where nobody says."""

AgentOption = Annotated[str | None, typer.Option("--agent", metavar="ID", help="Only this agent's sessions.")]

app = typer.Typer(invoke_without_command=True, rich_markup_mode=None)
app.command(name="compact")(sessions_compact.compact)
app.command(name="tail")(sessions_tail.tail)
app.command(name="archive")(sessions_many.archive)
app.command(name="unarchive")(sessions_many.unarchive)
app.command(name="delete")(sessions_many.delete)


@app.callback()
def sessions(
    context: typer.Context,
    agent: AgentOption = None,
    all_agents: Annotated[
        bool, typer.Option("--all-agents", help="The sessions of all agents, as without it.")
    ] = False,
    active: Annotated[
        int | None, typer.Option(min=1, max=5_256_000, help="Only those used within this many minutes.")
    ] = None,
    limit: Annotated[str, typer.Option(metavar="N|all", help="At most this many.")] = str(LIMIT),
    archived: Annotated[bool, typer.Option("--archived", help="Those that were put away.")] = False,
    json: JsonOption = False,
    store: StoreOption = None,
    config: ConfigOption = None,
    url: UrlOption = None,
    token: TokenOption = None,
    timeout: TimeoutOption = None,
) -> None:
    """List the sessions, with model, size, share of the window, and how often they were compacted."""
    if context.invoked_subcommand:
        _alone(context)
        return
    most = _limit(limit)
    if agent is not None and (not agent.strip() or all_agents):
        what = "An agent's id is wanted." if not agent.strip() else "--agent or --all-agents, not both."
        raise typer.BadParameter(what, param_hint="--agent")
    to = To(url, token, timeout, store)
    with opened(store, config) as clew:
        asked = {"agent": agent, "active": active, "limit": most or MOST, "archived": "true" if archived else None}

        def by_gateway(there: Gateway) -> dict[str, Any]:
            return {"path": None, "gateway": there.place.url, **there.get("/api/sessions", **asked)}

        def by_store() -> dict[str, Any]:
            return {"path": to.file, "gateway": None, **_listed(clew, agent, active, most, archived=archived)}

        found = read(clew, to, by_gateway, by_store)
        if json:
            show_json({**found, "allAgents": agent is None, "limitApplied": most, "activeMinutes": active})
        else:
            show(_shown(found, now_ms()))


def _alone(context: typer.Context) -> None:
    """Options of the list before a command's name would do nothing. Raises BadParameter."""
    for name in context.params:
        source = context.get_parameter_source(name)
        if source is not None and source.name == "COMMANDLINE":
            option = f"--{name.replace('_', '-')}"
            raise typer.BadParameter(f"Write it behind `{context.invoked_subcommand}`.", param_hint=option)


def _limit(text: str) -> int | None:
    """How many at most; None for all. Raises BadParameter."""
    if text.strip().lower() == "all":
        return None
    if not (text.isascii() and text.isdigit() and 1 <= int(text) <= MOST):
        raise typer.BadParameter(f"{text!r} is neither `all` nor a number from 1 to {MOST:,}.", param_hint="--limit")
    return int(text)


def _listed(clew: Clew, agent: str | None, active: int | None, most: int | None, *, archived: bool) -> dict[str, Any]:
    """The list as a gateway would give it."""
    now = now_ms()
    rows = clew.sessions(active_since=now - active * 60_000 if active else None)
    rows = [row for row in rows if agent in (None, agent_of(row.key)) and bool(row.meta.get(ARCHIVED)) == archived]
    shown = rows[:most]
    return {
        "count": len(shown), "totalCount": len(rows), "hasMore": len(shown) < len(rows),
        "sessions": [told(row, clew.config, now) for row in shown],
    }  # fmt: skip


def _shown(found: dict[str, Any], now: int) -> Sequence[RenderableType]:
    if not found["sessions"]:
        return [sentence("No sessions here. `clew import FILE` brings one in; `clew demo` shows one.")]
    more = found["totalCount"] - found["count"]
    rest = [sentence(f"{plural(more, 'more session')}; --limit all lists them.")] if found["hasMore"] else []
    return [session_rows.listing(found["sessions"], now), *rest]


# One session ----------------------------------------------------------------------------------------------------------


@app.command(name="show")
def show_(
    key: Annotated[str, typer.Argument(metavar="KEY", help="The session's key.")],
    json: JsonOption = False,
    store: StoreOption = None,
    config: ConfigOption = None,
    url: UrlOption = None,
    token: TokenOption = None,
    timeout: TimeoutOption = None,
) -> None:
    """Show what is known of one session."""
    with opened(store, config) as clew:
        row = read(
            clew, To(url, token, timeout, store), lambda there: there.get("/api/session", key=key),
            lambda: told(clew.store.session(key), clew.config, now_ms()),
        )  # fmt: skip
        if json:
            show_json(row)
            return
        out.print(f"{row['key']}", style="bold cyan")
        for name, words in _facts(row, now_ms()):
            out.print(fact(name, words))


def _facts(row: dict[str, Any], now: int) -> list[tuple[str, str]]:
    facts = [
        ("title", row["title"]), ("agent", row["agentId"]), ("model", row["model"]),
        ("tokens", session_rows.filled(row).plain), ("entries", number(row["entries"])),
        ("compacted", plural(row["compactionCount"], "time")), ("used", f"{age(row['updatedAt'], now)} ago"),
        ("state", ", ".join(session_rows.flags_of(row))),
    ]  # fmt: skip
    return [(name, str(words)) for name, words in facts if words]


@app.command()
def new(
    key: Annotated[str | None, typer.Argument(metavar="[KEY]", help="Its key. Default: one of the agent's.")] = None,
    agent: Annotated[str, typer.Option("--agent", metavar="ID", help="The agent, where no key is given.")] = MAIN,
    title: Annotated[str | None, typer.Option(help="A title.")] = None,
    json: JsonOption = False,
    store: StoreOption = None,
    config: ConfigOption = None,
    url: UrlOption = None,
    token: TokenOption = None,
    timeout: TimeoutOption = None,
) -> None:
    """Make an empty session."""
    with opened(store, config) as clew:

        def by_store() -> dict[str, Any]:
            entry_of(clew.config, agent_of(key) if key else agent)
            made = clew.create(key or f"agent:{agent}:{new_id()}", **({"title": title} if title else {}))
            return told(made.row(), clew.config, now_ms())

        body = {"key": key, "agent": agent, "title": title}
        made = change(clew, To(url, token, timeout, store), lambda there: there.post("/api/sessions", body), by_store)
        show_json({"ok": True, **made}) if json else out.print(str(made["key"]))
