"""What one turn used, added up while it runs: a listener for `Conversation.listen`."""

from clew.agency import Conversation
from clew.runtime.events import Answered, Event
from clew.tokens.usage import Billing


class Tally:
    """Tokens and money since `start`."""

    def __init__(self, conversation: Conversation) -> None:
        self._conversation = conversation
        self.billing = Billing()
        self._price: float | None = 0.0
        conversation.listen(self)

    def __call__(self, event: Event) -> None:
        """Count an answer."""
        if isinstance(event, Answered):
            self.billing = self.billing.add(event.usage)

    async def start(self) -> None:
        """A turn begins."""
        self.billing = Billing()
        self._price = (await self._conversation.status()).price

    async def price(self) -> float | None:
        """US dollars since the start; None where a price is not known."""
        now = (await self._conversation.status()).price
        return None if now is None or self._price is None else now - self._price
