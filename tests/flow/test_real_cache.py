"""What the bench counts as reused, held against a real llama.cpp server's own count of the prompt tokens it reused."""

import asyncio
from itertools import pairwise

import msgspec
import pytest

from bench.cache import alike
from clew.agency import Conversation
from clew.clock import new_id
from clew.compact.settings import CompactionSettings
from clew.models.providers import build
from clew.models.settings import ModelsSettings
from clew.prompt.assemble import SystemPrompt
from clew.prune.gate import Route
from clew.prune.settings import PruningSettings
from clew.runtime import events
from clew.runtime.agent import Agent
from clew.runtime.session import Session
from clew.runtime.tools import Toolbox
from clew.store.inmemory import InMemoryStore
from clew.transcript import Call, assistant, result, user
from tests.flow.test_real_chat import Heard

pytestmark = pytest.mark.real_model

WINDOW = 16_384
MINUTE = 60_000
LINE = "part {n} of page {page}: the lease of build 7f3a{n} is held by worker {n} until it is renewed\n"


def filled(now) -> Session:
    """A session with six long old results."""
    (store := InMemoryStore()).create("k", at=1)
    session = Session(store, "k", now=now, new_id=new_id)
    for page in range(6):
        call = Call(f"c{page}", "read", {"path": f"page{page}.txt"})
        words = "".join(LINE.format(n=n, page=page) for n in range(70 if page < 3 else 10))
        session.append(user(f"Look at page {page}."), assistant("", call), result(call, words), assistant("Seen."))
    return session


def test_the_servers_count_of_reused_tokens_agrees_with_the_benchs_within_five_percent(serve):
    settings = ModelsSettings.model_validate({"providers": {"llamacpp": {"baseUrl": serve("135m", WINDOW)}}})
    model, told, clock = Heard(build("llamacpp/local", settings, {})), [], [1_000_000_000]
    agent = Agent(
        chain=(model,), toolbox=Toolbox(), max_output=8, window=WINDOW, compaction=CompactionSettings(enabled=False),
        pruning=PruningSettings(mode="cache-ttl"), route=Route("openai", "gpt-5"),
        prompt=lambda again: SystemPrompt("You answer in one word.", "", ()),
    )  # fmt: skip
    session = filled(lambda: clock[0])
    talk = Conversation(session, lambda name: agent, now=lambda: clock[0], new_id=new_id)
    talk.listen(told.append)

    async def whole():
        for n in range(8):
            clock[0] += 6 * MINUTE if n == 4 else 1_000
            assert (await talk.say(f"Message {n}. Say yes.")).outcome == "done"
        await model.close()

    asyncio.run(whole())
    answered = [event.usage for event in told if isinstance(event, events.Answered)]
    assert [event.cause for event in told if isinstance(event, events.PrefixBreak)] == ["prune"]
    written = [[msgspec.json.encode(message) for message in request.messages] for request in model.requests]
    shares = [alike(*pair)[1] / sum(map(len, pair[1])) for pair in pairwise(written)]
    counted = [share * used.context for share, used in zip(shares, answered[1:], strict=True)]
    reused = [used.cache_read for used in answered[1:]]
    print(
        [(round(ours), theirs, used.context) for ours, theirs, used in zip(counted, reused, answered[1:], strict=True)]
    )
    assert sum(counted) == pytest.approx(sum(reused), rel=0.05)
    assert reused[3] < reused[2]  # the request after the break
