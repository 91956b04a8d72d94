"""A conversation with a scripted model, as the faces are given one."""

import asyncio
from collections.abc import Callable

from clew.agency import Conversation
from clew.clock import new_id, now_ms
from clew.models.scripted import ScriptedModel
from clew.prompt.assemble import SystemPrompt
from clew.runtime.agent import Agent
from clew.runtime.session import Session
from clew.store.inmemory import InMemoryStore
from clew.transcript import assistant, user
from tests.flow.test_turn import NO_FLUSH, Desk


class Paced(ScriptedModel):
    """A scripted model that waits before each piece of an answer until it may go on."""

    def __init__(self, *args, **more) -> None:
        super().__init__(*args, **more)
        self.go = asyncio.Event()
        self.go.set()

    async def complete(self, request, *, on_text=None):
        pieces: list[str] = []
        answer = await super().complete(request, on_text=pieces.append)
        for piece in pieces:
            await asyncio.sleep(0)
            if on_text:
                on_text(piece)
            await self.go.wait()
        return answer


def conversing(answers, *, window=32_768, ask=None, desk=None, key="agent:main:main", **settings) -> Conversation:
    """A conversation over an empty session."""
    store = InMemoryStore()
    store.create(key, at=now_ms())
    session = Session(store, key, now=now_ms, new_id=new_id)
    model = Paced(answers, window=window)
    made: dict[str, ScriptedModel] = {"scripted/demo": model}

    def build(name: str | None) -> Agent:
        chosen = made.setdefault(name or "scripted/demo", ScriptedModel(answers, window=8_192, name=name or ""))
        return Agent(
            chain=(chosen,), toolbox=desk or Desk(), prompt=lambda *_: SystemPrompt("Be brief.", "", ()),
            flush=NO_FLUSH,
            **settings,
        )  # fmt: skip

    return Conversation(session, build, now=now_ms, new_id=new_id, ask=ask, workspace="")


def talked(conversation: Conversation, turns: int = 12, size: int = 300) -> Conversation:
    """The same after a long talk."""
    for n in range(turns):
        conversation.session.append(
            user(f"question {n}"), assistant(f"answer {n} " + f"fact{n} is so " * size, stop="stop")
        )
    return conversation


async def until(true: Callable[[], bool], seconds: float = 10.0) -> None:
    """Wait until something holds."""
    async with asyncio.timeout(seconds):
        while not true():
            await asyncio.sleep(0.01)
