"""Transcripts for tests: short ways to write one, and strategies that generate any."""

from hypothesis import strategies as st

from clew.tokens import estimate
from clew.transcript import Call, Entry, Message, Said, Text, ToolResult, assistant, result, user


def entries(*messages: Message, start: int = 0) -> list[Entry]:
    """Messages as a chain of entries `e0`, `e1`, … one second apart."""
    numbered = enumerate(messages, start)
    return [Entry(f"e{at}", f"e{at - 1}" if at else None, at * 1000, Said(message)) for at, message in numbered]


def sizes(made: list[Entry]) -> dict[str, int]:
    """Their estimated sizes by id."""
    return {entry.id: estimate.entry(entry) for entry in made}


def call(name: str, number: int, **arguments: object) -> Call:
    """A tool call with an id of its own."""
    return Call(f"c{number}", name, arguments)


WORDS = st.text("abc def ghi 你好世界 éß😀\n", min_size=1, max_size=120)


@st.composite
def turns(draw: st.DrawFn, most: int = 6) -> list[Message]:
    """A valid conversation: users, then assistants with any number of calls, each answered, in any order."""
    made: list[Message] = []
    number = 0
    for _ in range(draw(st.integers(1, most))):
        made.append(user(draw(WORDS)))
        for _ in range(draw(st.integers(0, 3))):
            calls = [call("tool", number + nth, path=draw(WORDS)) for nth in range(draw(st.integers(1, 3)))]
            number += len(calls)
            made.append(assistant(draw(WORDS), *calls))
            made += [result(one, draw(WORDS) * draw(st.integers(1, 8))) for one in draw(st.permutations(calls))]
        made.append(assistant(draw(WORDS)))
    return made


@st.composite
def broken(draw: st.DrawFn) -> list[Message]:
    """A conversation with messages missing, doubled and out of order, as crashes and foreign tools leave them."""
    made = draw(turns())
    kept = [message for message in made if draw(st.integers(0, 4))]
    extra = draw(st.lists(st.sampled_from(kept), max_size=2)) if kept else []
    return [*kept, *extra]


def orphan(call_id: str = "gone") -> ToolResult:
    """A result whose call is nowhere."""
    return ToolResult(call_id, "tool", (Text("left over"),))
