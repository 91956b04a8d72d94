"""An old message that a search found, as it is told again."""

import msgspec


class Hit(msgspec.Struct, frozen=True):
    """One message of the past."""

    id: str
    role: str
    at: int
    """Milliseconds since 1970-01-01 UTC."""
    text: str
    """Its words and the values of its calls' arguments."""
    score: float = 1.0
    """How well it fits its search; bigger is better."""
