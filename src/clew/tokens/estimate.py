"""What a text is thought to cost in tokens, by the classes of its characters. Needs no vocabulary and no network."""

from clew.transcript import Entry, Message, Said, text_of


def text(words: str) -> int:
    """The estimated tokens of a text."""
    return (len(words) + 3) // 4


def message(said: Message) -> int:
    """The estimated tokens of a message as it is sent."""
    return text(text_of(said)) + 4


def entry(one: Entry) -> int:
    """The estimated tokens an entry takes in a view; 0 for what is never shown."""
    return message(one.body.message) if isinstance(one.body, Said) else 0
