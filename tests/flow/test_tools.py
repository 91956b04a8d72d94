"""Python functions as tools: what a model is told of them, and every outcome of a call as a result."""

import asyncio
import contextvars
import dataclasses
import enum
import json
import threading
from collections.abc import Awaitable, Callable
from functools import partial
from typing import Annotated, Any, Literal

import msgspec
import pytest
from pydantic import BaseModel, Field

from clew.errors import BadInput, StoreBusy
from clew.runtime.tools import Toolbox, tool
from clew.transcript import Call, Media, Text, ToolResult, text_of

PICTURE = Media("image/png", "aGk=")


def search(query: str, limit: int = 5, kind: Literal["web", "news"] = "web") -> str:
    """Look something up.

    Only public pages are found.

    Args:
        query: What to look for,
            in any language.
        limit (int): How many to find.

    Returns:
        The findings.
    """
    return f"{query} {limit} {kind}"


async def add(a: int, b: int) -> dict[str, int]:
    """Add two numbers.

    :param a: The first.
    :param int b: The second.
    """
    return {"sum": a + b}


def numpy(where: str, deep: bool = False) -> None:
    """Go.

    Parameters
    ----------
    where : str
        A place.
    deep : bool
        How.
    """


def made(run: Callable[..., Any], **arguments: object) -> ToolResult:
    box = Toolbox([run])
    return asyncio.run(box.run(Call("c1", box.tools[0].name, arguments)))


def test_a_function_tells_a_model_what_it_does() -> None:
    (one,) = Toolbox([search]).tools
    assert (one.name, one.description) == ("search", "Look something up.\n\nOnly public pages are found.")
    assert one.schema == {
        "type": "object",
        "properties": {
            "query": {"type": "string", "description": "What to look for, in any language."},
            "limit": {"type": "integer", "default": 5, "description": "How many to find."},
            "kind": {"type": "string", "enum": ["web", "news"], "default": "web"},
        },
        "required": ["query"],
        "additionalProperties": False,
    }


@pytest.mark.parametrize(
    ("run", "described"),
    [(add, {"a": "The first.", "b": "The second."}), (numpy, {"where": "A place.", "deep": "How."})],
)
def test_other_manners_of_docstring_are_read(run: Callable[..., Any], described: dict[str, str]) -> None:
    (one,) = Toolbox([run]).tools
    assert {name: part["description"] for name, part in one.schema["properties"].items()} == described
    assert "\n" not in one.description


def test_tools_stand_in_one_order_with_the_same_bytes() -> None:
    one, other = Toolbox([search, add, numpy]), Toolbox([numpy, add, search])
    assert [each.name for each in one.tools] == ["add", "numpy", "search"]
    assert msgspec.json.encode(one.tools) == msgspec.json.encode(other.tools)


class Point(BaseModel):
    """A place on a map."""

    x: float
    y: float


class Colour(enum.Enum):
    RED = "red"


def many(
    json: str, model_x: int, _y: Annotated[int, Field(ge=1)], at: Point, c: Colour = Colour.RED, o: object = object
) -> str:
    """Take many."""
    return f"{json} {model_x} {_y} {at.x} {c.name} {o is object}"


def test_any_name_and_any_hint_can_be_an_argument() -> None:
    result = made(many, json="j", model_x=1, _y=2, at={"x": 1, "y": 2})
    assert text_of(result) == "j 1 2 1.0 RED True"
    assert Toolbox([many]).tools[0].schema["required"] == ["json", "model_x", "_y", "at"]


class Counter:
    def __init__(self) -> None:
        self.count = 0

    def up(self, by: int = 1) -> int:
        """Count."""
        self.count += by
        return self.count

    async def __call__(self, by: int) -> int:
        """Count, in a while."""
        return self.up(by)


def loose(**more: int) -> dict[str, int]:
    """Take anything."""
    return more


@pytest.mark.parametrize(
    ("run", "arguments", "text"),
    [
        pytest.param(Counter().up, {}, "1", id="a method"),
        pytest.param(tool(name="count")(Counter()), {"by": "3"}, "3", id="an object that is called"),
        pytest.param(tool(name="half")(partial(search, limit=2)), {"query": "x"}, "x 2 web", id="a partial"),
        pytest.param(add, {"a": 1, "b": "2"}, '{"sum":3}', id="async, and a number as text"),
        pytest.param(loose, {"a": 1}, '{"a":1}', id="arguments of any name"),
        pytest.param(lambda: None, {}, "", id="a lambda has no name"),
    ],
)
def test_whatever_can_be_called_can_be_a_tool(run: Callable[..., Any], arguments: dict[str, Any], text: str) -> None:
    if not text:
        with pytest.raises(BadInput, match="no name for a tool"):
            Toolbox([run])
        return
    assert text_of(made(run, **arguments)) == text


def test_what_cannot_be_called_by_name_is_no_tool() -> None:
    with pytest.raises(BadInput, match="a cannot be given by name"):
        _ = Toolbox([tool(name="f")(lambda *a: None)]).tools


def test_a_name_is_used_once() -> None:
    with pytest.raises(BadInput, match="same name: add"):
        Toolbox([add, tool(name="add")(search)])


WRONG = [
    pytest.param({}, "`query` is missing", id="missing"),
    pytest.param({"query": "x", "limit": "many"}, "`limit`: input should be a valid integer", id="wrong type"),
    pytest.param({"query": "x", "kind": "tv"}, "`kind`: input should be 'web' or 'news', but is 'tv'", id="no choice"),
    pytest.param({"query": "x", "page": 2}, "`page` is no argument of it. It takes query, limit, kind.", id="unknown"),
]


@pytest.mark.parametrize(("arguments", "said"), WRONG)
def test_wrong_arguments_name_the_field(arguments: dict[str, Any], said: str) -> None:
    result = made(search, **arguments)
    assert result.error
    assert text_of(result).startswith("`search` was not run: ")
    assert said in text_of(result)


def test_arguments_that_are_no_object_are_quoted() -> None:
    result = asyncio.run(Toolbox([search]).run(Call("c1", "search", {}, raw='{"query": "cut off')))
    assert (result.error, result.call_id) == (True, "c1")
    assert """begin with '{"query": "cut off'. Send them again""" in text_of(result)


def test_a_tool_that_is_not_there_lists_those_that_are() -> None:
    result = asyncio.run(Toolbox([search, add]).run(Call("c1", "functions.Serch", {})))
    assert result.error
    assert "Did you mean `search`? The tools are: add, search." in text_of(result)


def raises(error: BaseException) -> Callable[[], Any]:
    def fails() -> None:
        raise error

    return fails


FAILURES = [
    pytest.param(ValueError("no such city"), "`fails` failed: ValueError: no such city", id="an exception"),
    pytest.param(KeyError(), "`fails` failed: KeyError", id="one without words"),
    pytest.param(StopIteration(1), "`fails` failed: RuntimeError: StopIteration: 1", id="one that threads swallow"),
    pytest.param(SystemExit(2), "`fails` failed: SystemExit: 2", id="a program that ends itself"),
    pytest.param(StoreBusy("Busy. Try again."), "Busy. Try again.", id="one of ours"),
    pytest.param(asyncio.CancelledError(), "`fails` failed: CancelledError", id="a cancelling of its own"),
]


@pytest.mark.parametrize(("error", "said"), FAILURES)
@pytest.mark.parametrize("where", ["thread", "loop"])
def test_a_failure_is_a_result(error: BaseException, said: str, where: str) -> None:
    async def fails() -> None:
        raise error

    if where == "loop" and isinstance(error, StopIteration):
        said = "`fails` failed: RuntimeError: coroutine raised StopIteration"
    result = made(fails if where == "loop" else raises(error))
    assert (result.error, text_of(result)) == (True, said)


@dataclasses.dataclass
class Plain:
    a: int


class Ours(msgspec.Struct):
    a: int


RETURNED = [
    pytest.param("words", (Text("words"),), id="text"),
    pytest.param("", (Text("(no output)"),), id="empty text"),
    pytest.param(None, (Text("Done."),), id="nothing"),
    pytest.param({"名": [1, None, 1.5]}, (Text('{"名":[1,null,1.5]}'),), id="JSON"),
    pytest.param([], (Text("[]"),), id="an empty list"),
    pytest.param(["a", "b"], (Text('["a","b"]'),), id="a list of texts"),
    pytest.param(Plain(1), (Text('{"a":1}'),), id="a dataclass"),
    pytest.param(Point(x=1, y=2), (Text('{"x":1.0,"y":2.0}'),), id="a model"),
    pytest.param({"x": Ours(1)}, (Text('{"x":{"a":1}}'),), id="a struct"),
    pytest.param(float("nan"), (Text('"NaN"'),), id="not a number"),
    pytest.param(PICTURE, (PICTURE,), id="an image"),
    pytest.param([Text("see"), PICTURE, "end"], (Text("see\nend"), PICTURE), id="text and an image"),
    pytest.param("a\ud800b\0c", (Text("a�b�c"),), id="what no provider takes"),
    pytest.param({"a": "\udc00"}, (Text('{"a":"�"}'),), id="the same inside a value"),
]


@pytest.mark.parametrize(("returned", "blocks"), RETURNED)
def test_what_a_tool_returns_becomes_blocks(returned: object, blocks: tuple[object, ...]) -> None:
    def gives() -> object:
        return returned

    assert made(gives) == ToolResult("c1", "gives", blocks)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("returned", "said"),
    [(b"\xff\0", "returned 2 bytes, which are no text"), (object(), "a object, which is neither text nor JSON")],
)
def test_what_is_neither_text_nor_json_is_refused(returned: object, said: str) -> None:
    def gives() -> object:
        return returned

    result = made(gives)
    assert result.error
    assert said in text_of(result)


def test_a_function_that_waits_does_not_stop_the_loop() -> None:
    inside, go_on = threading.Event(), threading.Event()

    def waits() -> str:
        inside.set()
        return "done" if go_on.wait(5) else "stuck"

    async def both() -> ToolResult:
        task = asyncio.create_task(Toolbox([waits]).run(Call("c1", "waits")))
        while not inside.is_set():
            await asyncio.sleep(0.01)
        go_on.set()
        return await task

    assert text_of(asyncio.run(both())) == "done"


def test_a_function_sees_the_context_it_was_called_in() -> None:
    user = contextvars.ContextVar("user", default="nobody")

    def who() -> str:
        return user.get()

    async def asked() -> ToolResult:
        user.set("me")
        return await Toolbox([who]).run(Call("c1", "who"))

    assert text_of(asyncio.run(asked())) == "me"


def test_cancelling_goes_through_to_the_tool() -> None:
    ended = []

    async def slow() -> None:
        try:
            await asyncio.sleep(60)
        finally:
            ended.append(True)

    async def cancelled() -> None:
        task = asyncio.create_task(Toolbox([slow]).run(Call("c1", "slow")))
        await asyncio.sleep(0.05)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(cancelled())
    assert ended == [True]


def answer(yes: bool, asked: list[tuple[str, str]]) -> Callable[[Call, str], Awaitable[bool]]:
    async def ask(call: Call, why: str) -> bool:
        asked.append((json.dumps(call.arguments), why))
        return yes

    return ask


@pytest.mark.parametrize(
    ("amount", "yes", "text", "times"),
    [
        pytest.param(5, None, "paid 5", 0, id="nobody has to be asked"),
        pytest.param(50, True, "paid 50", 1, id="they say yes"),
        pytest.param(
            50, False, "The user doesn't want to proceed with this call; it was not run.", 1, id="they say no"
        ),
        pytest.param(50, None, "`pay` was not run: it is much, and there is nobody to ask.", 0, id="nobody is there"),
        pytest.param("x", True, "`pay` was not run: `amount`", 0, id="a wrong call is never asked for"),
    ],
)
def test_a_person_is_asked_where_the_tool_wants_it(amount: object, yes: bool | None, text: str, times: int) -> None:
    @tool(gate=lambda given: "it is much" if given["amount"] > 9 else None)
    def pay(amount: int) -> str:
        """Pay."""
        return f"paid {amount}"

    asked: list[tuple[str, str]] = []
    ask = None if yes is None else answer(yes, asked)
    result = asyncio.run(Toolbox([pay]).run(Call("c1", "pay", {"amount": amount}), ask=ask))
    assert text_of(result).startswith(text)
    assert (len(asked), result.error) == (times, not text.startswith("paid"))


def test_a_tool_can_still_be_called_as_the_function_it_is() -> None:
    assert tool(search)("x") == "x 5 web"
