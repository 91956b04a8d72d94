"""The tools of a session: what a model is told of them, and a call carried out with every outcome as a result.

A tool is a Python function with type hints and a docstring, or an offer of the workspace or of a server. Nothing a tool
does ends a turn: a failure, a refusal, wrong arguments are results that say what to do next. Only cancelling does.
"""

import asyncio
import inspect
from collections.abc import Callable, Iterable, Mapping
from difflib import get_close_matches
from functools import cached_property, partial
from typing import Any, overload

import msgspec
from pydantic_core import PydanticSerializationError, to_json, to_jsonable_python

from clew.errors import BadInput, ClewError
from clew.models.port import Tool
from clew.runtime.tool_function import ToolFunction
from clew.runtime.tool_size import fit, limit
from clew.transcript import Call, Foreign, Media, Text, ToolResult
from clew.transcript.codec import scrub
from clew.workspace.port import Approval, Gate, Offer, Output

Function = Callable[..., Any]

Keep = Callable[[str, str], str | None]
"""Keeps the text of a tool, given its name, that is too long to show; where `read` finds it, or None."""

DONE = "Done."
"""What stands for a function that returns nothing."""
DECLINED = "The user doesn't want to proceed with this call; it was not run."
"""How a result begins that a person refused; the ledger of a compaction knows it by these words."""


@overload
def tool(function: Function, /) -> Offer:
    """A function as a tool, as it stands."""


@overload
def tool(*, name: str = "", description: str | None = None, gate: Gate | None = None) -> Callable[[Function], Offer]:
    """What makes a function a tool under another name."""


def tool(
    function: Function | None = None, /, *, name: str = "", description: str | None = None, gate: Gate | None = None
) -> Offer | Callable[[Function], Offer]:
    """A function as a tool, with or without arguments: `@tool` or `@tool(name="search")`.

    `name` and `description` stand in place of the function's own; `gate` says of a call's arguments why a person has to
    be asked before it runs. A function needs none of this to be a tool.
    """
    if function is not None:
        return Offer(function)
    return lambda given: Offer(given, name, description, gate=gate)


class Toolbox:
    """Tools by name."""

    def __init__(self, tools: Iterable[Function | Offer] = (), *, keep: Keep | None = None) -> None:
        """`keep` keeps results that are too long, so that the model can read on. Raises BadInput for a name used
        twice."""
        ready = [ToolFunction(one if isinstance(one, Offer) else Offer(one)) for one in tools]
        self._tools = {one.name: one for one in sorted(ready, key=lambda one: one.name)}
        self._keep = keep
        if len(self._tools) < len(ready):
            names = [one.name for one in ready]
            twice = sorted({name for name in names if names.count(name) > 1})
            raise BadInput(f"Two tools have the same name: {', '.join(twice)}. Give one of them another.")

    @cached_property
    def tools(self) -> tuple[Tool, ...]:
        """What a model is told, by name: the same bytes for the same tools.

        Raises BadInput for a function whose arguments JSON cannot hold.
        """
        return tuple(one.tool for one in self._tools.values())

    async def run(self, call: Call, *, ask: Approval | None = None, window: int | None = None) -> ToolResult:
        """Carry a call out. Its result is cut to what a window of so many tokens bears.

        `ask` asks a person where a tool wants that; None means that there is nobody to ask. Cancelling the task cancels
        the tool; one that runs on a thread ends by itself.
        """
        output = await self._outcome(call, ask)
        save = partial(self._keep, call.name) if self._keep and call.name in self._tools else None
        return ToolResult(call.id, call.name, fit(output, limit(window), save), output.error)

    async def _outcome(self, call: Call, ask: Approval | None) -> Output:
        found = self._tools.get(call.name)
        if found is None:
            return _failure(self._unknown(call.name))
        if call.raw is not None:
            return _failure(
                f"`{call.name}` was not run: its arguments are no JSON object but {len(call.raw):,} characters that "
                f"begin with {call.raw[:200]!r}. Send them again, complete and valid."
            )
        try:
            arguments = found.bind(call.arguments)
            if (refusal := await _refusal(found.offer, call, arguments, ask)) is not None:
                return _failure(refusal)
            return output_of(await _run(found.offer.run, arguments), call.name)
        except ClewError as error:
            return _failure(str(error))
        except asyncio.CancelledError as error:
            if (task := asyncio.current_task()) is not None and task.cancelling():
                raise
            return _failure(f"`{call.name}` failed: {_named(error)}")
        except (Exception, SystemExit) as error:  # noqa: BLE001 - a tool may fail in any way; the model is told how
            return _failure(f"`{call.name}` failed: {_named(error)}")

    def _unknown(self, name: str) -> str:
        names = list(self._tools)
        close = get_close_matches(name.rpartition(".")[2].lower(), names, n=1, cutoff=0.7)
        hint = f" Did you mean `{close[0]}`?" if close else ""
        return f"There is no tool `{name[:64]}`; nothing was run.{hint} The tools are: {', '.join(names) or 'none'}."


async def _refusal(offer: Offer, call: Call, arguments: Mapping[str, Any], ask: Approval | None) -> str | None:
    """Why a call does not run; None where it may."""
    why = offer.gate(dict(arguments)) if offer.gate else None
    if why is None:
        return None
    if ask is None:
        return (
            f"`{call.name}` was not run: {why}, and there is nobody to ask. Go on without it, or tell the user what you"
            " wanted to run; the settings say what runs without asking."
        )
    if await ask(call, why):
        return None
    return f"{DECLINED} Do not try it in another way: go on without it, or ask the user what to do instead."


async def _run(run: Function, arguments: dict[str, Any]) -> object:
    """What a function returns, which a thread waits for where the function is not async."""
    if inspect.iscoroutinefunction(run):
        return await run(**arguments)
    returned, error = await asyncio.to_thread(_caught, run, arguments)
    if error is not None:
        raise error
    return await returned if inspect.isawaitable(returned) else returned


def _caught(run: Function, arguments: dict[str, Any]) -> tuple[Any, BaseException | None]:
    """What a function returned or raised, as a value: a StopIteration would never get out of a thread."""
    try:
        return run(**arguments), None
    except StopIteration as error:
        return None, RuntimeError(f"StopIteration: {error}")
    except (Exception, SystemExit) as error:  # noqa: BLE001 - it is raised again where it is waited for
        return None, error


def output_of(returned: object, name: str) -> Output:
    """What a tool returned, as text and blocks: text as it is, values as JSON. Raises BadInput for what is neither."""
    match returned:
        case Output():
            return returned
        case ToolResult():
            return _of_blocks(returned.blocks, returned.error)
        case None:
            return Output(DONE)
        case str():
            return Output(returned)
        case Text() | Media() | Foreign():
            return _of_blocks((returned,))
        case list() | tuple() if returned and all(isinstance(one, Text | Media | Foreign | str) for one in returned):
            if any(not isinstance(one, str) for one in returned):
                return _of_blocks(tuple(Text(one) if isinstance(one, str) else one for one in returned))
        case bytes() | bytearray() | memoryview():
            raise BadInput(f"`{name}` ran and returned {len(returned):,} bytes, which are no text; they were not kept.")
    return Output(_json(returned, name))


def _of_blocks(blocks: tuple[Any, ...], error: bool = False) -> Output:
    words = "\n".join(block.text for block in blocks if isinstance(block, Text))
    return Output(words, tuple(block for block in blocks if not isinstance(block, Text)), error)


def _json(value: object, name: str) -> str:
    try:
        return to_json(scrub(to_jsonable_python(value, fallback=_plain)), inf_nan_mode="strings").decode()
    except (PydanticSerializationError, ValueError, TypeError):
        raise BadInput(
            f"`{name}` ran and returned a {type(value).__name__}, which is neither text nor JSON; what it returned was "
            "not kept."
        ) from None


def _plain(value: object) -> object:
    """A value of msgspec's as plain data."""
    if isinstance(value, msgspec.Struct):
        return msgspec.to_builtins(value)
    raise TypeError(type(value).__name__)


def _failure(text: str) -> Output:
    return Output(text, error=True)


def _named(error: BaseException) -> str:
    return f"{type(error).__name__}: {error}" if str(error) else type(error).__name__
