"""Whole conversations through the real SDKs against a real server: 300 turns, every window, every way to run over it.

The server counts with a real tokenizer, not with Clew's estimates, and keeps each request as the bytes it came in.
"""

import asyncio
import json
import random
import re
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from itertools import pairwise

import pytest

from clew.app import Clew
from clew.config import Config
from clew.runtime import events
from clew.store.inmemory import InMemoryStore
from clew.testing.server import WORDS, ModelServer, Refuse, Say
from clew.tokens import estimate
from clew.tokens.exact import counter
from clew.transcript import Call, Compaction, Said, assistant, text_of, user
from clew.transcript.branch import boundary
from tests.unit.compact.test_flow import GOOD

OPENAI, ANTHROPIC = "openai-completions", "anthropic-messages"
BOTH = pytest.mark.parametrize("api", [OPENAI, ANTHROPIC])
WORDS_OF = {
    "en": "the deploy of host batch-03 failed with exit code 2 while the lease of build 7f3a9c was held by worker-9; ",
    "zh": "部署在主机上失败了，退出代码是二，因为租约仍由另一个进程持有；请在重试之前检查日志。",
    "code": "def lease(seconds: int = 90) -> Lease:\n    return Lease(owner=HOST, until=now() + seconds * 1_000)\n",
}


def page(topic: str, size: int) -> str:
    """A page of so many lines about something."""
    return "".join(f"{topic} {line}: {WORDS_OF[topic.split('-')[0]]}\n" for line in range(size))


class Script:
    """A model that calls tools for a few steps of each turn, then answers; its briefs are good, empty or bad by turns."""

    def __init__(self, seed: int = 1, *, largest: int = 300, most_calls: int = 3, briefs=(GOOD, "", "no brief")) -> None:
        self.chance, self.largest, self.most_calls, self.briefs = random.Random(seed), largest, most_calls, briefs
        self.asked = dict.fromkeys(("turn", "flush", "compaction"), 0)

    def __call__(self, seen) -> Say:
        kind = purpose(seen)
        self.asked[kind] += 1
        if kind == "flush":
            return Say("- the user wants three attempts" if self.asked[kind] % 2 else "NO_REPLY")
        if kind == "compaction":
            return Say(self.briefs[self.asked[kind] % len(self.briefs)])
        if self.chance.random() < 0.45:
            return Say(f"完成了。{WORDS_OF['zh']}" * self.chance.randint(1, 4))
        return Say("I look.", calls=tuple(self.call(nth) for nth in range(self.chance.randint(1, self.most_calls))))

    def call(self, nth: int) -> Call:
        number = f"t{self.asked['turn']}c{nth}"
        size = self.largest if self.chance.random() < 0.06 else self.chance.randint(0, 12)
        return Call(number, "page", {"topic": f"{self.chance.choice(list(WORDS_OF))}-{number}", "size": size})


def purpose(seen) -> str:
    """What a request was for: a turn, notes, or a brief (asked for alone, or at the conversation's end)."""
    last = json.dumps(seen.body["messages"][-1])
    if not seen.body.get("tools") or "handover brief for an agent" in last:
        return "compaction"
    return "flush" if "Write down what must outlast it" in last else "turn"


class Talk:
    """A conversation with all that was told and all that was sent."""

    def __init__(self, server, conversation) -> None:
        self.server, self.conversation = server, conversation
        self.told: list[events.Event] = []
        self.breaks: list[tuple[int, str]] = []
        conversation.listen(self.hear)

    def hear(self, event) -> None:
        self.told.append(event)
        if isinstance(event, events.PrefixBreak):
            self.breaks.append((len(self.server.requests), event.cause))

    def of(self, kind):
        return [event for event in self.told if isinstance(event, kind)]

    async def say(self, text: str):
        return await self.conversation.say(text)

    @property
    def main(self):
        """The requests of turns that were answered or refused, with their place among all requests."""
        return [(at, seen) for at, seen in enumerate(self.server.requests) if purpose(seen) == "turn"]


@asynccontextmanager
async def talking(server, tmp_path, api=OPENAI, *, told=None, clew=None, model="scripted/any", **defaults) -> AsyncIterator[Talk]:
    """A conversation over a store in memory, with the workspace's tools and `page`; `told` is the window settings say."""
    models = server.settings(api=api, models=[{"id": "any", **({"contextWindow": told} if told else {})}])
    config = Config.model_validate({"models": models, "agents": {"defaults": {"model": model, **defaults}}})
    clew = clew or Clew(InMemoryStore(), config, env={})
    async with clew.converse("k", workspace=tmp_path, tools=[page]) as conversation:
        yield Talk(server, conversation)
    await clew.aclose()


def messages_as_sent(seen) -> str:
    """The messages' own bytes, without the marks that say where a cache may end."""
    raw = re.sub(r',"cache_control":\{"type":"ephemeral"\}', "", seen.raw.decode())
    at = raw.index('"messages":') + len('"messages":')
    return raw[at : json.JSONDecoder().raw_decode(raw, at)[1]]


def extends(earlier, later) -> bool:
    """Whether a request's bytes go on from another's: tools and system prompt alike, messages behind the same ones."""
    fixed = all(earlier.body.get(name) == later.body.get(name) for name in ("tools", "system"))
    return fixed and messages_as_sent(later).startswith(messages_as_sent(earlier).rstrip('"}]'))


def unexplained(talk: Talk) -> list[tuple[int, int]]:
    """Pairs of consecutive requests of turns that neither extend one another nor have a logged break between them."""
    places = {at for at, _ in talk.breaks}
    return [
        (first, second)
        for (first, earlier), (second, later) in pairwise(talk.main)
        if not extends(earlier, later) and not any(first < at <= second for at in places)
    ]


def broken_pairs(seen) -> list[str]:
    """Calls not answered right behind themselves, in order, and results of no call, in either format."""
    wrong: list[str] = []
    waiting: list[str] = []
    for message in seen.body["messages"]:
        parts = message["content"] if isinstance(message.get("content"), list) else []
        results = [part["tool_use_id"] for part in parts if part["type"] == "tool_result"]
        results += [message["tool_call_id"]] if message["role"] == "tool" else []
        wrong += [one for one in results if one not in waiting]
        waiting = [one for one in waiting if one not in results]
        if message["role"] == "assistant":
            wrong, calls = wrong + waiting, [part["id"] for part in parts if part["type"] == "tool_use"]
            waiting = calls + [call["id"] for call in message.get("tool_calls") or ()]
        elif message["role"] == "user":
            wrong, waiting = wrong + waiting, []
    return wrong + waiting
