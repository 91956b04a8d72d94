"""What a channel is to the gateway: something that is started after the sessions and stopped before them."""

from typing import Protocol


class Channel(Protocol):
    """A way in for people. What they say goes over a `Desk`; what they are told goes back the same way.

    1. `start` returns at once, whether or not the network is there; a network that is away is tried again.
    2. `stop` takes nothing more in, has what is under way answered for so many seconds, and then lets go.
    3. Nothing that comes in is trusted: it is text for a session, or it is refused.
    """

    name: str
    """As session keys and settings call it."""

    async def start(self) -> None:
        """Begin."""
        ...

    async def stop(self, patience_s: float) -> None:
        """End."""
        ...
