"""What one turn used, added up while it runs: a listener for `Conversation.listen`."""

from clew.agency import Conversation
from clew.runtime.events import Answered, Event, Spent
from clew.tokens.billing import Billing


class Tally:
    """Tokens and money since `start`, housekeeping included."""

    def __init__(self, conversation: Conversation) -> None:
        self._conversation = conversation
        self.billing = Billing()
        conversation.listen(self)

    def __call__(self, event: Event) -> None:
        """Count an answer."""
        if isinstance(event, Answered | Spent):
            self.billing = self.billing.add(event.usage, self._conversation.price(event.model))

    def start(self) -> None:
        """A turn begins."""
        self.billing = Billing()
