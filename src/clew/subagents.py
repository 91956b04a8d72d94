"""Sub-agents: a task done in a session of its own, by a function for programs and a tool for the model.

A child has its own transcript, prompt and account; its parent gets its last words as a result. An isolated child knows
its task alone, a forked one the parent's view as it was. The context engine is told before and after, and what it
prepared is taken back where the child could not begin.
"""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager

import msgspec

from clew.agency import Conversation
from clew.clock import NewId, Now
from clew.engine.port import Ending, Mode, Spawn
from clew.errors import BadInput
from clew.prune.mark import project
from clew.runtime.compaction import sizes_in, view_tokens
from clew.runtime.engine_run import EngineRun
from clew.runtime.session import Session
from clew.runtime.turn import SETTLED, unfinished
from clew.transcript import Assistant, Message, dangling, mend
from clew.workspace.port import Offer, Output

FORK_TOKENS = 100_000
"""A parent's view larger than this is not copied: the child then begins with its task alone, and is told so."""

TITLE = 80
"""Characters of a task that name its session."""

MODES: tuple[Mode, ...] = ("isolated", "fork")

NOTE = "The conversation so far is too long to be copied; the task was done without it."

Converse = Callable[[str], AbstractAsyncContextManager[Conversation]]
"""A conversation on the child session of this key, which is there already."""


class Spawned(msgspec.Struct, frozen=True):
    """What became of a sub-agent."""

    key: str
    """Of its session, which stays."""
    mode: Mode
    """How it really began."""
    outcome: str
    """As `Ended.outcome` names it."""
    text: str
    """Its last words; where it did not end well, why."""
    note: str = ""


class SubAgents:
    """What begins the sub-agents of one session."""

    def __init__(self, parent: Session, engine: EngineRun, converse: Converse, *, now: Now, new_id: NewId) -> None:
        self._parent, self._engine, self._converse = parent, engine, converse
        self._now, self._new_id = now, new_id

    async def spawn(self, task: str, context: Mode = "isolated") -> Spawned:
        """Do a task in a session of its own and wait for it. Cancelling ends the child as it ends any turn.

        Raises BadInput for an empty task or an unknown context, and what making the child raises; then there is none.
        """
        if not task.strip() or context not in MODES:
            what = f"{context!r} is no context; use isolated or fork" if task.strip() else "the task is empty"
            raise BadInput(f"No sub-agent was begun: {what}.")
        mode, note = self._mode(context)
        key = f"{self._parent.key}:sub:{self._new_id()}"
        async with self._begun(Spawn(self._parent.key, key, mode), task) as child:
            ending: Ending = "failed"
            try:
                ended = await child.say(task)
                ending = "completed" if ended.outcome == "done" else "failed"
            except asyncio.CancelledError:
                ending = "cancelled"
                raise
            finally:
                await self._engine.ended(key, ending)
        return Spawned(key, mode, ended.outcome, ended.text or ended.detail, note)

    @asynccontextmanager
    async def _begun(self, given: Spawn, task: str) -> AsyncIterator[Conversation]:
        """A child ready to be spoken to; where it cannot begin, all that was prepared for it is taken back."""
        rollback, store = await self._engine.prepare(given), self._parent.store
        made = begun = False
        try:
            store.create(given.child, at=self._now(), meta={"parent": given.parent, "title": task[:TITLE]})
            made = True
            if given.mode == "fork":
                self._copy(Session(store, given.child, now=self._now, new_id=self._new_id))
            async with self._converse(given.child) as child:
                begun = True
                yield child
        except BaseException:
            if not begun and rollback:
                rollback()
            if made and not begun:
                store.delete(given.child)
            raise

    def _copy(self, child: Session) -> None:
        """The parent's view as the beginning of a child; the ask it may end with is no turn that was cut short."""
        child.append(*forked(self._parent))
        child.store.describe(child.key, {SETTLED: unfinished(child)})

    def _mode(self, context: Mode) -> tuple[Mode, str]:
        window = self._parent.window()
        if context == "fork" and view_tokens(self._parent.view(), sizes_in(window)) > FORK_TOKENS:
            return "isolated", NOTE
        return context, ""

    def offer(self) -> Offer:
        """The tool for the model."""
        return Offer(self._spawn_agent, "spawn_agent")

    async def _spawn_agent(self, task: str, context: Mode = "isolated") -> Output:
        """Have another agent do a task on its own and wait for its answer.

        Use it for work whose details you do not need afterwards: a search through many files, a check, a draft. It has
        the same tools, and its answer is all you get to see.

        Args:
            task: All that it has to know and what it is to answer with.
            context: "isolated" knows the task alone; "fork" knows this conversation as well.
        """
        done = await self.spawn(task, context)
        words = f"{done.note}\n{done.text}".strip() or "It ended without a word."
        return Output(f"[sub-agent {done.key}]\n{words}", error=done.outcome != "done")


def forked(parent: Session) -> list[Message]:
    """The parent's view as a child begins with it: an answer whose calls are still under way is left out."""
    shown = project(parent.view()).messages()
    last = next((at for at in reversed(range(len(shown))) if isinstance(shown[at], Assistant)), 0)
    return mend(shown[:last] if any(dangling(shown[last:])) else shown)
