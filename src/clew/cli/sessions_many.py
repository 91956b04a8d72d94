"""`clew sessions archive`, `unarchive`, `delete`: several sessions at once, each for itself."""

from collections.abc import Callable
from typing import Annotated, Any

import typer

from clew.app import Clew
from clew.cli.options import ConfigOption, JsonOption, StoreOption, opened, out, show_json
from clew.cli.reach import TimeoutOption, To, TokenOption, UrlOption, change, not_in_use, read
from clew.cli.sure import sure
from clew.client.gateway import Gateway
from clew.errors import ClewError, NoGateway, NotAllowed
from clew.gateway.facts import ARCHIVED
from clew.render.layout import sentence

KeysArgument = Annotated[list[str], typer.Argument(metavar="KEY...", help="The sessions' keys.")]
DryRunOption = Annotated[bool, typer.Option("--dry-run", help="Only say what would be done.")]

Do = Callable[[str], Any]


class Work:
    """Something to do to each of some sessions, by a gateway or in the store."""

    def __init__(self, name: str, done: str, by_gateway: Callable[[Gateway, str], Any], by_store: Do) -> None:
        self.name, self.done, self.by_gateway, self.by_store = name, done, by_gateway, by_store

    def to(self, clew: Clew, keys: list[str], to: To, *, dry_run: bool, json: bool) -> None:
        """Do it, say what became of each, and exit with 1 where one failed."""
        if dry_run:
            results = read(
                clew, to, lambda there: self._each(keys, lambda key: there.get("/api/session", key=key), "would be "),
                lambda: self._each(keys, clew.store.session, "would be "),
            )  # fmt: skip
        else:
            results = change(
                clew, to, lambda there: self._each(keys, lambda key: self.by_gateway(there, key)),
                lambda: self._each(keys, self.by_store),
            )  # fmt: skip
        failed = [one for one in results if not one["ok"]]
        if json:
            show_json({"ok": not failed, "operation": self.name, "dryRun": dry_run, "results": results})
        else:
            for one in results:
                words = f"{one['key']}: {one['status']}." if one["ok"] else f"{one['key']}: {one['error']}"
                out.print(sentence(words))
        if failed:
            raise typer.Exit(1)

    def _each(self, keys: list[str], do: Do, would: str = "") -> list[dict[str, Any]]:
        results: list[dict[str, Any]] = []
        for key in dict.fromkeys(keys):
            try:
                do(key)
                results.append({"key": key, "ok": True, "status": f"{would}{self.done}"})
            except (NoGateway, NotAllowed):
                if not any(one["ok"] for one in results):
                    raise
                results.append({"key": key, "ok": False, "status": "failed", "error": "The gateway went away."})
            except ClewError as error:
                results.append({"key": key, "ok": False, "status": "failed", "error": str(error)})
        return results


def archive(
    keys: KeysArgument,
    dry_run: DryRunOption = False,
    json: JsonOption = False,
    store: StoreOption = None,
    config: ConfigOption = None,
    url: UrlOption = None,
    token: TokenOption = None,
    timeout: TimeoutOption = None,
) -> None:
    """Put sessions away: they leave the list, and nothing of them changes."""
    with opened(store, config) as clew:
        _put(clew, True).to(clew, keys, To(url, token, timeout, store), dry_run=dry_run, json=json)


def unarchive(
    keys: KeysArgument,
    dry_run: DryRunOption = False,
    json: JsonOption = False,
    store: StoreOption = None,
    config: ConfigOption = None,
    url: UrlOption = None,
    token: TokenOption = None,
    timeout: TimeoutOption = None,
) -> None:
    """Take sessions out again that were put away."""
    with opened(store, config) as clew:
        _put(clew, False).to(clew, keys, To(url, token, timeout, store), dry_run=dry_run, json=json)


def _put(clew: Clew, away: bool) -> Work:
    return Work(
        "archive" if away else "unarchive", "archived" if away else "unarchived",
        lambda there, key: there.post("/api/session/archive", {"archived": away}, key=key),
        lambda key: clew.store.describe(key, {ARCHIVED: away or None}),
    )  # fmt: skip


def delete(
    keys: KeysArgument,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")] = False,
    dry_run: DryRunOption = False,
    json: JsonOption = False,
    store: StoreOption = None,
    config: ConfigOption = None,
    url: UrlOption = None,
    token: TokenOption = None,
    timeout: TimeoutOption = None,
) -> None:
    """Remove sessions and all that was said in them, for good. It asks first."""
    if not (yes or dry_run):
        sure(f"Delete {', '.join(keys)} for good? There is no way back.", "deleted", json=json)
    with opened(store, config) as clew:

        def removed(key: str) -> None:
            not_in_use(clew, key)
            clew.store.delete(key)

        work = Work("delete", "deleted", lambda there, key: there.delete("/api/session", {"confirm": key}, key=key),
                    removed)  # fmt: skip
        work.to(clew, keys, To(url, token, timeout, store), dry_run=dry_run, json=json)
