"""Short ways to write a transcript down in the tests of the ledger."""

from clew.transcript import Call, Entry, Message, Said, assistant, result, user


def told(*messages: Message) -> list[Entry]:
    """Messages as the entries `e0`, `e1`, …"""
    return [Entry(f"e{n}", f"e{n - 1}" if n else None, n, Said(message)) for n, message in enumerate(messages)]


def ran(name: str, answer: str = "ok", *, error: bool = False, id: str = "c1", **arguments: object) -> list[Message]:
    """A tool call and its result."""
    call = Call(id, name, dict(arguments))
    return [assistant("", call), result(call, answer, error=error)]


ask, say = user, assistant
