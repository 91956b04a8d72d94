"""What `clew doctor` looks at: settings, models and their providers, engine, the store's file, one session's chain.

Each check is a function that returns what it found; none shows a key, and none but `repaired` changes anything.
"""

import asyncio
import sqlite3
from collections.abc import Mapping
from contextlib import closing
from importlib import import_module
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from clew.app import Clew
from clew.config import Config, config_path, load, not_yet
from clew.errors import BadSettings, ClewError, StoreError, UnknownSession
from clew.models.default import Missing
from clew.models.local import is_local
from clew.models.providers import endpoint, split
from clew.models.providers.remote import Endpoint
from clew.models.settings import KNOWN, ProviderSettings
from clew.render.checkup import Check
from clew.render.status import SOURCES
from clew.render.text import number
from clew.runtime.integrity import Part, facts_of, integrity, repair
from clew.store.port import Store
from clew.store.sqlite import SqliteStore

REACH_S = 5.0
"""Seconds a provider has to name its models."""

NAMED = 3
"""Of what is wrong with one part of a session, how much is named."""

SMALL_WINDOW = 4_096
"""Tokens; in a smaller window prompt and tools leave little room for a conversation."""


def settings(given: Path | None, env: Mapping[str, str]) -> tuple[Config, list[Check]]:
    """The settings in force (the defaults, where they hold mistakes), and whether they hold any."""
    where = config_path(given, env)
    try:
        config = load(given, env)
    except BadSettings as error:
        return Config(), [Check("settings", "fail", str(error), "mend the file; what follows is about the defaults")]
    there = f"{where} holds no mistake" if where.exists() else f"there is no {where}, the defaults hold"
    unused = not_yet(config)
    if unused:
        return config, [Check("settings", "warn", f"{there}; not used in this version: {', '.join(unused)}")]
    return config, [Check("settings", "ok", there)]


def store_file(path: Path) -> tuple[SqliteStore | None, list[Check]]:
    """The store, opened if it is there and sound, and whether SQLite finds its file sound."""
    if not path.exists():
        return None, [Check("store", "ok", f"there is no {path} yet; the first session makes it")]
    try:
        store = SqliteStore(path)
        with closing(sqlite3.connect(f"{path.resolve().as_uri()}?mode=ro", uri=True)) as reader:
            said = [str(row[0]) for row in reader.execute("PRAGMA quick_check(5)")]
    except (StoreError, sqlite3.Error) as error:
        return None, [Check("store", "fail", str(error), "restore the file from a backup; Clew left it as it was")]
    if said == ["ok"]:
        return store, [Check("store", "ok", f"{path}, {number(path.stat().st_size)} bytes, quick_check ok")]
    return store, [Check("store", "fail", f"{path}: {'; '.join(said)}", "export what can be read, then start anew")]


async def models(clew: Clew) -> list[Check]:
    """The model a chat would take, and the window of each that is named, with its source."""
    choice = await clew.default_model()
    if isinstance(choice, Missing):
        return [Check("model", "warn", "none is set and none was found", choice.message)]
    checks = [Check("model", "ok", f"{choice.name} ({choice.source})")]
    if choice.source != "settings":
        found = f"window {number(choice.window)}" if choice.window else "the window is not known"
        return [*checks, Check(choice.name, "ok" if choice.window else "warn", found, "" if choice.window else _SET)]
    return [*checks, *await asyncio.gather(*(_window(clew, name) for name in named(clew.config)))]


_SET = "set contextWindow under models.providers.<provider>.models, or give --window"


def named(config: Config) -> list[str]:
    """The models that the settings name, each once."""
    defaults = config.agents.defaults
    asked = [defaults.model.primary, *defaults.model.fallbacks, defaults.compaction.model]
    asked.append(defaults.compaction.memory_flush.model)
    return list(dict.fromkeys(name for name in asked if name))


async def _window(clew: Clew, name: str) -> Check:
    try:
        limits = await asyncio.wait_for(clew.limits(name), REACH_S * 2)
    except ClewError as error:
        return Check(f"window of {name}", "fail", str(error))
    except TimeoutError:
        return Check(f"window of {name}", "warn", "the server did not answer in time", _SET)
    if limits.budget is None:
        return Check(f"window of {name}", "warn", "not known: nothing is compacted before the provider refuses", _SET)
    words = f"{number(limits.budget)} tokens, {SOURCES.get(limits.source, limits.source)}"
    if limits.budget < SMALL_WINDOW:
        return Check(f"window of {name}", "warn", words, "prompt and tools leave little room; take a larger window")
    return Check(f"window of {name}", "ok", words)


async def providers(config: Config, env: Mapping[str, str]) -> list[Check]:
    """Each provider that is written down, or that a named model needs: its key, and whether it answers."""
    wanted = [*config.models.providers, *(name.partition("/")[0] for name in named(config) if "/" in name)]
    chosen = [one for one in dict.fromkeys(wanted) if one != "local" or one in config.models.providers]
    return list(await asyncio.gather(*(_provider(one, config, env) for one in chosen)))


async def _provider(name: str, config: Config, env: Mapping[str, str]) -> Check:
    listed = [one.partition("/")[2] for one in named(config) if one.partition("/")[0] == name]
    try:
        provider, model = split(f"{name}/{listed[0] if listed else 'any'}")
        place = endpoint(provider, model, config.models, env)
    except BadSettings as error:
        return Check(f"provider {name}", "fail", str(error))
    written = config.models.providers.get(name, ProviderSettings())
    api = written.api or (KNOWN[name].api if name in KNOWN else "openai-completions")
    key = "key present" if place.key else "no key needed" if is_local(place.base_url) else "no key"
    return await _reached(name, place, api, key)


async def _reached(name: str, place: Endpoint, api: str, key: str) -> Check:
    """Whether a provider answers when it is asked for its models."""
    # It comes with the SDKs, a tenth of a second to load, and only this command and local servers need it alone.
    web = import_module("httpx2")
    url = f"{place.base_url.rstrip('/')}/{'v1/models' if api == 'anthropic-messages' else 'models'}"
    host = urlsplit(url).hostname or url
    try:
        async with web.AsyncClient(timeout=REACH_S, headers=_headers(place, api)) as client:
            status = int((await client.get(url)).status_code)
    except (web.HTTPError, web.InvalidURL, ValueError) as error:
        words = f"{host} cannot be reached ({type(error).__name__}); {key}"
        return Check(f"provider {name}", "fail", words, "check baseUrl, the network, and that the server runs")
    return _answered(name, host, status, key, place)


def _answered(name: str, host: str, status: int, key: str, place: Endpoint) -> Check:
    label, words = f"provider {name}", f"{host} answers ({status}); {key}"
    variables = " or ".join(place.key_names) or f"models.providers.{name}.apiKey"
    if status in (401, 403):
        return Check(label, "fail", words, f"set {variables}" if not place.key else "the key is refused: renew it")
    if status >= 500:
        return Check(label, "fail", words, "the provider is in trouble; try again later")
    if status >= 400:
        return Check(label, "warn", f"{words}, but lists no models", "check baseUrl")
    return Check(label, "ok", words)


def _headers(place: Endpoint, api: str) -> dict[str, str]:
    own = {name: value.get_secret_value() for name, value in place.headers.items()}
    if place.key is None:
        return own
    key = place.key.get_secret_value()
    known = (
        {"x-api-key": key, "anthropic-version": "2023-06-01"}
        if api == "anthropic-messages"
        else {"Authorization": f"Bearer {key}"}
    )
    return {**known, **own}


def session(store: Store, key: str) -> list[Check]:
    """One session: its counters, parents, boundaries, summaries, pairs, and whether search is in step with it."""
    try:
        return [_check(part) for part in integrity(store, key)]
    except UnknownSession as error:
        return [Check("session", "fail", str(error))]
    except StoreError as error:
        return [Check("session", "fail", str(error), "put a backup of the store in its place")]


def facts(store: Store, *, but: str | None = None) -> list[Check]:
    """The sessions whose small facts cannot be read, without one that is looked through anyway."""
    parts = [facts_of(row) for row in store.sessions() if row.key != but]
    return [_check(part) for part in parts if part.wrong]


def repaired(store: Store, key: str) -> list[Check]:
    """What is derived from a session's entries made anew; its entries are not touched."""
    try:
        return [Check("repair", "ok", repair(store, key))]
    except UnknownSession:
        return []
    except StoreError as error:
        return [Check("repair", "fail", str(error))]


def _check(part: Part) -> Check:
    if not part.wrong:
        return Check(part.name, "ok", part.sound)
    more = f" and {len(part.wrong) - NAMED} more" if len(part.wrong) > NAMED else ""
    return Check(part.name, "fail" if part.grave else "warn", "; ".join(part.wrong[:NAMED]) + more, part.do)


def as_data(checks: list[Check]) -> dict[str, Any]:
    """The checks for a script."""
    return {
        "ok": all(check.state != "fail" for check in checks),
        "checks": [{"name": c.name, "state": c.state, "found": c.found, "do": c.do} for c in checks],
    }
