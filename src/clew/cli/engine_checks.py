"""What `clew doctor` looks at of context engines: can the one that is set be had, what went wrong, what is owed."""

from collections.abc import Iterator

from pluggy import PluginManager

from clew import plugins
from clew.config import Config
from clew.engine.guard import engaged
from clew.engine.legacy import ID as LEGACY
from clew.render.checkup import Check
from clew.render.text import plural
from clew.runtime.engine_host import FACT, SessionHost
from clew.runtime.session import Session
from clew.store.inmemory import InMemoryStore
from clew.store.port import Store

LOOKED_AT = 200
"""Sessions that are looked at for trouble, the most recently used ones."""


def engine(config: Config, store: Store | None = None) -> Iterator[Check]:
    """The engine, the compaction provider where one is set, and what engines did wrong in the sessions of a store."""
    slot, provider = config.plugins.slots.context_engine, config.agents.defaults.compaction.provider
    manager = plugins.load()
    yield _slot(slot, manager)
    for name, why in plugins.broken.items():
        yield Check("plug-in", "fail", f"{name} cannot be used: {why}", "mend it, upgrade it, or take it out")
    if provider and plugins.compaction_provider(manager, provider) is None:
        what = f"no plug-in registers the compaction provider {provider}; the built-in summariser takes over"
        yield Check("provider of briefs", "fail", what, "install the plug-in, or take compaction.provider out")
    if store is not None:
        yield from _troubles(store, slot)
        yield from _owed(store)


def _slot(slot: str, manager: PluginManager) -> Check:
    """Whether the engine can be made and keeps the form of the contract, tried on an empty session."""
    if slot == LEGACY:
        return Check("engine", "ok", "legacy, the built-in one")
    told: list[str] = []
    with InMemoryStore() as store:
        store.create("doctor", at=0)
        host = SessionHost(Session(store, "doctor", now=lambda: 0, new_id=lambda: "doctor"))
        found = engaged(slot, plugins.context_engines(manager), host, lambda one: told.append(one.error))
        found.tools()
    if told:
        what = f"{slot} cannot run: {told[0]}. The built-in one takes its place"
        return Check(
            "engine", "fail", what, "install or mend the plug-in, or set plugins.slots.contextEngine to legacy"
        )
    info = found.info
    return Check("engine", "ok", f"{info.id}: {info.name}{f' {info.version}' if info.version else ''}")


def _troubles(store: Store, slot: str) -> Iterator[Check]:
    """What the engine did wrong last, by session; forgotten once it has begun a session without trouble."""
    for row in store.sessions(limit=LOOKED_AT):
        fact = row.meta.get(FACT)
        if not isinstance(fact, dict) or fact.get("id") != slot:
            continue
        what = "quarantined, the built-in one took over" if fact.get("quarantined") else "told of a failure"
        words = f"session {row.key}: {fact.get('id')} was {what} ({fact.get('method')}: {fact.get('error')})"
        yield Check("engine trouble", "warn", words, "it is tried again by the next process that runs the session")


def _owed(store: Store) -> Iterator[Check]:
    owed = store.owed()
    blocked = sum(one.blocked for one in owed)
    if not owed:
        return
    what = f"{plural(len(owed), 'turn')} still to be handed to an engine, {blocked} of them blocked"
    yield Check("outbox", "warn" if blocked else "ok", what, "clew outbox lists them" if blocked else "")
