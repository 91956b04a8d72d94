"""The host of a context engine: what the runtime lends it, and what it tells of it."""

from collections.abc import Awaitable, Callable

from clew.compact.flow import Flow
from clew.compact.outcome import Outcome
from clew.engine.guard import Trouble, raised_by_host
from clew.engine.port import CAPABILITIES, CompactionAsk
from clew.errors import ModelError
from clew.models.port import Request
from clew.runtime.session import Session
from clew.transcript import Assistant

FACT = "engine"
"""Under which a session's row remembers what its engine did wrong last, for `clew doctor` and `/status`."""

BuiltIn = Callable[[CompactionAsk, str | None, Flow | None], Awaitable[Outcome]]
Complete = Callable[[Request], Awaitable[Assistant]]


class SessionHost:
    """The host of one session's engine. Whoever runs the session binds what compacts and what answers."""

    label = "Clew"

    def __init__(self, session: Session) -> None:
        self.store, self.session = session.store, session.key
        self.capabilities = CAPABILITIES
        self._compact: BuiltIn | None = None
        self._complete: Complete | None = None

    def bind(self, compact: BuiltIn, complete: Complete | None = None) -> None:
        """Have these two do the work from here on."""
        self._compact, self._complete = compact, complete

    async def complete(self, request: Request) -> Assistant:
        """See the port."""
        try:
            if self._complete is None:
                raise ModelError("The engine asked for a model, and there is none here. Nothing was changed; name one.")
            return await self._complete(request)
        except Exception as error:
            raised_by_host(error)
            raise

    async def delegate_compaction(
        self, ask: CompactionAsk, *, draft: str | None = None, flow: Flow | None = None
    ) -> Outcome:
        """See the port."""
        if self._compact is None:
            raise RuntimeError("nothing runs the session, so it cannot be compacted")
        try:
            return await self._compact(ask, draft, flow)
        except Exception as error:
            raised_by_host(error)
            raise


def note(session: Session, trouble: Trouble | None) -> None:
    """Keep what an engine did wrong with its session; None: all is well again."""
    row = session.row()
    kept = None if trouble is None else {
        "id": trouble.engine, "method": trouble.method, "error": trouble.error, "quarantined": trouble.quarantined,
    }  # fmt: skip
    if row.meta.get(FACT) != kept:
        session.store.describe(session.key, {FACT: kept})
