"""The composition root: settings, a store, models and sessions put together. The one module that knows every class."""

import os
from collections.abc import AsyncIterator, Callable, Iterable, Iterator, Mapping
from contextlib import asynccontextmanager
from copy import copy
from pathlib import Path
from typing import Any, Self

import msgspec
import pluggy

from clew import plugins
from clew.agency import Conversation
from clew.clock import NewId, Now, new_id, now_ms
from clew.compact.brief import Style, focus_of, instructions
from clew.compact.cut import Cut
from clew.compact.flow import Flow
from clew.compact.outcome import Compacted, Outcome
from clew.compact.serialize import pieces
from clew.config import Config, data_dir, load
from clew.config.agents import MAIN, agent_of, entry_of, settings_of
from clew.crew import Crew
from clew.engine.legacy import ID as LEGACY
from clew.engine.lossless import ID as LOSSLESS
from clew.engine.port import CompactionAsk, Operation
from clew.errors import BadSettings, UnknownEntry, UnknownSession
from clew.logs import log
from clew.models import catalog, failover, weights
from clew.models.default import Found, Missing, default_model
from clew.models.drive import Progress
from clew.models.port import Limits, Model, Request
from clew.models.providers import build
from clew.models.settings import ProviderSettings
from clew.prompt.report import Report
from clew.runtime.agent import Ask
from clew.runtime.arrival import Arrival, bring
from clew.runtime.books import Books
from clew.runtime.compaction import Order, compact, cut_for, latch, logged, reason, sizes_in
from clew.runtime.engine_run import EngineRun
from clew.runtime.events import Spent
from clew.runtime.logbook import Logbook
from clew.runtime.session import Session, Wound
from clew.runtime.tools import Function
from clew.store import archive
from clew.store.port import SessionRow, Store
from clew.store.sqlite import SqliteStore
from clew.tokens import estimate
from clew.tokens.exact import counter
from clew.tokens.usage import measure
from clew.transcript import Assistant, view
from clew.workspace.mcp import lent
from clew.workspace.place import Workspace
from clew.workspace.port import Offer

STORE_FILE = "clew.sqlite"


class Clew:
    """All of Clew over one store. Use it as a context manager; it closes what it opened."""

    def __init__(
        self,
        store: Store,
        config: Config | None = None,
        *,
        models: Mapping[str, Model] | None = None,
        manager: pluggy.PluginManager | None = None,
        env: Mapping[str, str] | None = None,
        now: Now = now_ms,
        fresh_id: NewId = new_id,
    ) -> None:
        """`models` are ready-made ones by name, found before any provider's (a scripted one, or your own)."""
        self.store, self.config = store, config or Config()
        self._models: dict[str, Model] = dict(models or {})
        self._manager = manager or plugins.load()
        self.env = os.environ if env is None else env
        self.weights = data_dir(self.env) / weights.FOLDER
        """Where model weights are kept."""
        self._now, self._new_id = now, fresh_id

    @classmethod
    def open(cls, path: Path | str | None = None, *, config: Path | None = None, env: Mapping[str, str]) -> Self:
        """Clew over the embedded store at `path` (default: the user's data directory), with the settings in force."""
        return cls(SqliteStore(path or data_dir(env) / STORE_FILE), load(config, env), env=env)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc: object) -> None:
        self.store.close()

    async def aclose(self) -> None:
        """Let go of the models' connections, in the event loop that used them."""
        for model in self._models.values():
            await model.close()

    def of(self, key: str, *, strict: bool = False) -> "Clew":
        """The same with the settings of the agent that a session's key names.

        A key that names no agent of `agents.list` has the defaults; `strict` raises BadSettings for it.
        """
        agent = agent_of(key)
        listed = agent == MAIN or any(one.id == agent for one in self.config.agents.list)
        own = copy(self)
        own.config = settings_of(self.config, agent) if listed or strict else self.config
        return own

    # Sessions ---------------------------------------------------------------------------------------------------------

    def session(self, key: str) -> Session:
        """The handle on one session. Raises UnknownSession."""
        self.store.session(key)
        return Session(self.store, key, now=self._now, new_id=self._new_id)

    def create(self, key: str, **meta: Any) -> Session:
        """A new, empty session. Raises SessionExists."""
        self.store.create(key, at=self._now(), meta=meta)
        return self.session(key)

    def sessions(self, *, active_since: int | None = None, limit: int | None = None) -> list[SessionRow]:
        """The sessions, the most recently used first."""
        return self.store.sessions(active_since=active_since, limit=limit)

    def undo(self, key: str) -> tuple[str, int, int]:
        """Take the newest compaction back: its id, and the sizes of the view before and after. Raises UnknownSession,
        CallerError."""
        done, books = self.session(key).undo(), Books(self.store, key, self.price)
        log.info("prefix break", key=key, cause="undo")
        if books.total().models:
            books.broke("undo")
            books.save()
        return done

    def find_compaction(self, name: str) -> tuple[str, Wound]:
        """A compaction of any session by the start of its id, with the session's key. Raises UnknownEntry."""
        key, record = self.store.find_compaction(name)
        for wound in self.session(key).compactions():
            if wound.id == record.entry.id:
                return key, wound
        raise UnknownEntry(f"There is no compaction {name}; nothing was changed.")

    # In and out -------------------------------------------------------------------------------------------------------

    def bring(self, path: Path, *, key: str | None = None, format: str = "auto", index: int | str = 0) -> Arrival:
        """Import a file; see `clew.runtime.arrival.bring`. Raises BadInput, SessionExists."""
        return bring(self.store, path, key=key, format=format, index=index, now=self._now, new_id=self._new_id)

    def export(self, key: str, format: str = "clew", *, shown: bool = False) -> Iterator[bytes]:
        """A session in a format, in pieces. Chat messages get the active branch (`shown`: the view of it alone), the
        other formats every entry."""
        row = self.store.session(key)
        return archive.write(self.store.entries(key), format, row.meta, leaf=row.leaf, shown=shown)

    # Models -----------------------------------------------------------------------------------------------------------

    def model(self, name: str) -> Model:
        """A model by `provider/model-id`, by a bare id that the settings list, or by alias; a literal id wins over an
        alias. Raises BadSettings."""
        wanted = self.full_name(name)
        if wanted not in self._models:
            self._models[wanted] = build(wanted, self.config.models, self.env, weights=self.weights)
        return self._models[wanted]

    def full_name(self, name: str) -> str:
        """`provider/model-id` for a name: as it stands, as an id some provider lists, or as an alias."""
        if "/" in name or name in self._models:
            return name
        defaults = self.config.agents.defaults
        listing = [id for id, one in self.config.models.providers.items() if any(m.id == name for m in one.models)]
        own = (defaults.model.primary or "").partition("/")[0]
        if own in listing or len(listing) == 1:
            return f"{own if own in listing else listing[0]}/{name}"
        aliases = {entry.alias: full for full, entry in defaults.models.items() if entry.alias}
        if name in aliases:
            return aliases[name]
        known = ", ".join(sorted(aliases)) or "none are set"
        raise BadSettings(
            f"`{name}` is no model: write `provider/model-id` (such as `ollama/qwen3`), or an alias ({known}). "
            "Nothing was changed."
        )

    def writers(self, name: str | None = None) -> tuple[Model, ...]:
        """Who writes briefs: the model named, or `compaction.model`, both without stand-ins, or the session's chain."""
        defaults = self.config.agents.defaults
        if exact := name or defaults.compaction.model:
            return (self.model(exact),)
        chain = [defaults.model.primary, *defaults.model.fallbacks]
        return tuple(self.model(one) for one in chain if one)

    async def limits(self, name: str | None = None) -> Limits:
        """What the session's model can take; unknown where no model is set."""
        chosen = name or self.config.agents.defaults.model.primary
        return await self.model(chosen).limits() if chosen else Limits()

    # Conversations ----------------------------------------------------------------------------------------------------

    async def default_model(self) -> Found | Missing:
        """The model to talk to where none is named: the settings', a local server's, or weights on this machine."""
        primary = self.config.agents.defaults.model.primary
        return await default_model(primary, self.config.models, self.env, self.weights)

    @asynccontextmanager
    async def converse(
        self,
        key: str = "agent:main:main",
        *,
        model: str | None = None,
        workspace: Path | None = None,
        window: int | None = None,
        ask: Ask | None = None,
        tools: Iterable[Function | Offer] = (),
        channel: str = "terminal",
        instructions: str = "",
    ) -> AsyncIterator[Conversation]:
        """An agent at work on a session, which is made if it is not there.

        `workspace` is the folder its tools work in (default: its agent's, else the current one); `ask` asks a person
        before a tool runs that wants it; `tools` are functions with type hints, or offers. Raises BadSettings where
        there is no model.
        """
        own, entry = self.of(key, strict=True), entry_of(self.config, agent_of(key))
        name = await self.model_for(key, model)
        folder = workspace or (Path(entry.workspace).expanduser() if entry and entry.workspace else Path.cwd())
        place = Workspace.of(folder.resolve(), self.config.tools.files)
        async with lent(self.config.mcp, place, self.env) as servers:
            for warning in servers.warnings:
                log.warning(warning)
            crew = Crew(
                self.store, own.config, place, name, model=own.model, full_name=own.full_name, price=self.price,
                engine=self.engine, env=self.env, now=self._now, new_id=self._new_id, tools=[*servers.offers, *tools],
                window=window, ask=ask, channel=channel, instructions=instructions,
            )  # fmt: skip
            async with crew.conversing(self._opened(key)) as conversation:
                yield conversation

    def engine(self, session: Session, operation: Operation = "agent-run") -> EngineRun:
        """The context engine that the settings name, over a session."""
        wanted = self.config.plugins.slots.context_engine
        offers = () if wanted == LEGACY else plugins.context_engines(self._manager)
        return EngineRun(wanted, offers, session, operation=operation)

    def _opened(self, key: str) -> Session:
        try:
            return self.session(key)
        except UnknownSession:
            return self.create(key)

    async def model_for(self, key: str, name: str | None) -> str:
        """The full name of the model to talk to; one that was found on this machine is made ready."""
        own = self.of(key)
        if name:
            return own.full_name(name)
        found = await own.default_model()
        if isinstance(found, Missing):
            raise BadSettings(found.message)
        if found.base_url and found.name not in self._models:
            provider = found.name.partition("/")[0]
            written = {**self.config.models.providers, provider: ProviderSettings(base_url=found.base_url)}
            self._models[found.name] = build(found.name, self.config.models.model_copy(update={"providers": written}))
        return own.full_name(found.name)

    def price(self, name: str) -> catalog.Price | None:
        """What a model costs, by its full name; None where neither the settings nor the catalog know."""
        provider, _, model = name.partition("/")
        return catalog.price(provider, model, self.config.models)

    # Compaction -------------------------------------------------------------------------------------------------------

    async def compact(
        self,
        key: str,
        *,
        focus: str | None = None,
        model: str | None = None,
        by_rules: bool = False,
        window: int | None = None,
        keep: int | None = None,
        budget: int | None = None,
        preview: bool = False,
        on_progress: Callable[[Progress], None] | None = None,
    ) -> Outcome:
        """Compact a session by hand.

        `model` writes the brief and nobody else does; `by_rules` asks neither model nor provider; `window`, `keep` and
        `budget` are tokens; `preview` shows what would come of it, asks no model and writes nothing.
        """
        self.session(key)
        own = self.of(key)
        settings = own.config.agents.defaults.compaction
        if by_rules or model:
            settings = settings.model_copy(update={"provider": None})
        chain = () if preview or by_rules else own.writers(model)
        size = window or (await own.limits()).budget
        order = Order(settings, "manual", focus, size, 0, keep, budget, chain)
        return await self._compact(key, order, preview, on_progress)

    async def fit(
        self,
        key: str,
        *,
        window: int | None = None,
        fixed: int = 0,
        incoming: int = 0,
        on_progress: Callable[[Progress], None] | None = None,
    ) -> Outcome | None:
        """Compact a session if its next request would not fit: to be called before each request. None: it fits.

        `window` is the model's, in tokens, in place of what settings, server or catalog say; `fixed` what the system
        prompt and the tools take, `incoming` the message about to be sent. A window that is not known triggers nothing.
        Raises PromptTooLarge where `fixed` alone is over the threshold.
        """
        own = self.of(key)
        settings = own.config.agents.defaults.compaction
        stored = self.session(key).window()
        size = measure(view(stored.entries), sizes_in(stored), fixed=fixed)
        limit = window or (await own.limits()).budget
        why = reason(stored, size, limit=limit, settings=settings, fixed=fixed, incoming=incoming)
        if why is None:
            return None
        outcome = await self._compact(
            key, Order(settings, why, None, limit, fixed, chain=own.writers()), False, on_progress
        )
        latch(self.store, key, settings)
        return outcome

    async def _compact(
        self, key: str, order: Order, preview: bool, on_progress: Callable[[Progress], None] | None
    ) -> Outcome:
        """One compaction by any trigger: a registered provider first, then the model or the rules; both ends logged."""
        if order.settings.provider and not preview:
            order = msgspec.structs.replace(order, given=await self._provided(key, order, order.settings.provider))
        log.info("compaction start", key=key, trigger=order.trigger, preview=preview)
        books = Books(self.store, key, self.price)
        writer = order.chain[0].name if order.chain else ""
        try:
            slot = self.config.plugins.slots.context_engine
            shipped = slot in (LEGACY, LOSSLESS)  # another one might write, and a preview writes nothing
            session = self.session(key)
            engine = self.engine(session, "manual-compact") if shipped or not preview else EngineRun.plain(session)

            async def built_in(ask: CompactionAsk, draft: str | None, flow: Flow | None) -> Outcome:
                ready = msgspec.structs.replace(order, given=draft or order.given, flow=flow or order.flow)
                return await compact(
                    self.store, key, ready, now=self._now, new_id=self._new_id, preview=preview,
                    on_progress=on_progress,
                    on_answer=lambda answer: books(Spent("compaction", answer.model or writer, answer.usage)),
                )  # fmt: skip

            async def completed(request: Request) -> Assistant:
                answer = await failover.complete(order.chain, request)
                books(Spent("compaction", answer.model or writer, answer.usage))
                return answer

            engine.bind(built_in, completed if order.chain else None, Logbook(key))
            try:
                outcome = await engine.compact(CompactionAsk(key, order.trigger, order.window, order.focus))
            finally:
                await engine.dispose()
            if isinstance(outcome, Compacted) and not preview:
                books.compacted(outcome.id, outcome.body)
        finally:
            books.save()
        log.info("compaction end", key=key, **logged(outcome))
        if isinstance(outcome, Compacted) and not preview:
            log.info("prefix break", key=key, cause="compaction")
        return outcome

    async def _provided(self, key: str, order: Order, name: str) -> str | None:
        """A registered provider's draft; None, with a warning, where it has none."""
        provider = plugins.compaction_provider(self._manager, name)
        if provider is None:
            log.warning("compaction provider unknown, the built-in summariser takes over", provider=name)
            return None
        window = self.store.window(key)
        shown = view(window.entries)
        cut, allowed = cut_for(shown, sizes_in(window), order)
        if not isinstance(cut, Cut):
            return None
        style = Style(allowed.brief, focus=focus_of(order.focus))
        texts = tuple(piece.text for piece in pieces(cut.dropped, estimate.text))
        earlier = shown.brief.summary if shown.brief else None
        material = plugins.Material(texts, earlier, instructions(style), style.focus, allowed.brief)
        try:
            return (await provider.summarise(material)).strip() or None
        except Exception as error:  # noqa: BLE001 - a plug-in may fail in any way; the built-in summariser takes over
            log.warning(
                "compaction provider failed, the built-in summariser takes over", provider=name, error=repr(error)
            )
            return None

    async def context(self, key: str, *, window: int | None = None, exact: str | None = None) -> Report:
        """Who takes how much of a session's window; `exact` names an encoding to count with instead of estimating."""
        limits = Limits(window=window, source="given") if window else await self.of(key).limits()
        count = counter(exact) if exact else None
        return self.session(key).context(window=limits.budget, source=limits.source, count=count)
