"""The engine that ships as the default: the view as it is, compaction by the runtime, nothing of its own."""

from clew.compact.outcome import Outcome
from clew.engine.port import Assembled, Assembly, CompactionAsk, Host, Info
from clew.transcript import Message

ID = "legacy"


class Legacy:
    """With it a session runs as if there were no engines at all."""

    info = Info(ID, "the built-in one", "1")

    def __init__(self, host: Host) -> None:
        self._host = host

    async def ingest(self, session: str, message: Message) -> bool:
        """Nothing is taken in: the transcript has it."""
        return False

    async def assemble(self, given: Assembly) -> Assembled:
        """The view as it is."""
        return Assembled(given.messages)

    async def compact(self, ask: CompactionAsk) -> Outcome:
        """By the runtime."""
        return await self._host.delegate_compaction(ask)
