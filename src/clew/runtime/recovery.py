"""A request was too large: compact, trim, ask again, at most three times, and replay nothing."""

from clew.compact.outcome import Compacted
from clew.errors import Exhausted, ProviderError, WindowOverflow
from clew.models.refusal import complaint_of
from clew.runtime.house import House
from clew.tokens.window import OVERFLOW_ATTEMPTS


class Recovery:
    """The attempts of one request; a successful answer starts afresh."""

    def __init__(self, house: House) -> None:
        self.house = house
        self.attempts = 0

    def succeeded(self) -> None:
        """An answer came: the next overflow has all its attempts."""
        self.attempts = 0

    async def overflowed(self, error: ProviderError | None) -> None:
        """Make room after a refusal (None: an answer cut off by the window). Raises Exhausted where there is none."""
        cause = str(error) if error else "The next request does not fit the model's window."
        complaint = complaint_of(error) if error else None
        if complaint and complaint.terminal:
            raise Exhausted(cause, attempts=0, terminal=True)
        self.attempts += 1
        if self.attempts > OVERFLOW_ATTEMPTS:
            raise Exhausted(cause, attempts=OVERFLOW_ATTEMPTS)
        if not await self._make_room(error):
            raise Exhausted(cause, attempts=self.attempts)

    async def _make_room(self, error: ProviderError | None) -> bool:
        """A compaction first; where there is nothing to compact, shorter results, the newest ones at last."""
        house, known = self.house, await self.house.window()
        learnt = error.limit if isinstance(error, WindowOverflow) else None
        window = min((size for size in (known, learnt) if size), default=None)
        outcome = await house.compact("overflow", window, required=True, attempt=self.attempts)
        if isinstance(outcome, Compacted):
            return True
        return bool(house.pruning.trim(keep=1) or house.pruning.trim(keep=0))
