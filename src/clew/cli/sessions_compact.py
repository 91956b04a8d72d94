"""`clew sessions compact`: a running gateway winds a session up, or cuts it short for good."""

import shlex
from typing import Annotated, Any

import typer

from clew.cli.options import ConfigOption, JsonOption, opened, out, show_json
from clew.cli.reach import TimeoutOption, To, TokenOption, UrlOption, gateway
from clew.cli.sure import sure
from clew.client.gateway import Gateway
from clew.config.agents import agent_of
from clew.errors import BadInput, CallerError, ClewError, NoGateway
from clew.render.layout import sentence
from clew.render.text import number, plural


def compact(
    key: Annotated[str, typer.Argument(metavar="KEY", help="The session's key; `clew sessions` lists them.")],
    max_lines: Annotated[
        int | None,
        typer.Option("--max-lines", min=1, help="Ask no model: cut all but the newest N lines off, for good."),
    ] = None,
    agent: Annotated[
        str | None, typer.Option("--agent", metavar="ID", help="Whose session: `--agent ops main` is agent:ops:main.")
    ] = None,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="With --max-lines: do not ask.")] = False,
    json: JsonOption = False,
    config: ConfigOption = None,
    url: UrlOption = None,
    token: TokenOption = None,
    timeout: TimeoutOption = None,
) -> None:
    """Wind the old part of a session up, by the gateway that runs it. Exit 1 where that failed or none answers."""
    key = _full(key, agent)
    if max_lines is not None and not yes:
        sure(
            f"Cut session {key} to its newest {plural(max_lines, 'line')}? What is cut is gone: no backup is made.",
            "cut", json=json,
        )  # fmt: skip
    try:
        with opened(None, config) as clew, gateway(clew, To(url, token, timeout)) as there:
            told = _asked(there, key, max_lines)
    except ClewError as error:
        if not json:
            raise
        show_json({"ok": False, "key": key, "compacted": False, "error": str(error), "code": type(error).__name__})
        raise typer.Exit(2 if isinstance(error, CallerError) else 1) from error
    show_json(told) if json else out.print(sentence(words(told)))
    if told.get("ok") is not True:
        raise typer.Exit(1)


def _full(key: str, agent: str | None) -> str:
    """The key, with the agent's where only the end of one is given. Raises BadInput."""
    if not key.strip():
        raise BadInput("The key is empty; nothing was changed. `clew sessions` lists the keys.")
    if agent is None or (key.startswith("agent:") and agent_of(key) == agent):
        return key
    if key.startswith("agent:") or not agent.strip():
        raise BadInput(f"Session {key} is none of the agent {agent!r}; nothing was changed. Leave --agent out.")
    return f"agent:{agent}:{key}"


def _asked(there: Gateway, key: str, max_lines: int | None) -> dict[str, Any]:
    try:
        if max_lines is None:
            return there.post("/api/session/compact", {}, key=key)
        return there.post("/api/session/trim", {"maxLines": max_lines, "confirm": key}, key=key)
    except NoGateway as error:
        raise NoGateway(f"{error} Without one, compact it here with: clew compact {shlex.quote(key)}") from error


def words(told: dict[str, Any]) -> str:
    """What came of it."""
    key, result = told["key"], told.get("result") or {}
    if told.get("ok") is not True:
        why = ": ".join(str(told[name]) for name in ("reason", "detail") if told.get(name))
        return f"Session {key} was not compacted ({why}); its history is as it was."
    if not told.get("compacted"):
        return f"No compaction needed for session {key} ({told.get('reason', 'nothing to do')})."
    if "kept" in told:
        return f"Cut session {key}: kept {plural(told['kept'], 'line')}, {number(told['removed'])} are gone for good."
    return f"Compacted session {key} ({number(result['tokensBefore'])} → {number(result['tokensAfter'])} tokens)."
