"""What the user said first is still in the last request, however small the window and however useless the summary."""

import asyncio
from itertools import repeat

import pytest

from clew.agency import Conversation
from clew.clock import new_id, now_ms
from clew.compact.settings import CompactionSettings
from clew.models.scripted import ScriptedModel
from clew.prompt.assemble import SystemPrompt
from clew.runtime.agent import Agent
from clew.runtime.session import Session
from clew.runtime.tools import Toolbox
from clew.store.inmemory import InMemoryStore
from clew.transcript import text_of
from tests.flow.test_real_chat import ASKED, FACTS, PLANTED


@pytest.mark.parametrize("window", [1_536, 2_048])
def test_sixty_turns_keep_what_was_said_first(window):
    model = ScriptedModel(repeat("Yes."), window=window)
    (store := InMemoryStore()).create("k", at=1)
    agent = Agent(
        chain=(model,), toolbox=Toolbox(), max_output=24, compaction=CompactionSettings(fallback="ledger"),
        prompt=lambda again: SystemPrompt("You answer in one short sentence.", "", ()),
    )  # fmt: skip
    talk = Conversation(Session(store, "k", now=now_ms, new_id=new_id), lambda name: agent, now=now_ms, new_id=new_id)

    async def whole():
        return [await talk.say(words) for words in [*PLANTED, *(ASKED.format(n=n) for n in range(58))]]

    assert {end.outcome for end in asyncio.run(whole())} == {"done"}
    assert len(store.compactions("k")) >= 3
    last = "\n".join(text_of(message) for message in model.requests[-1].messages)
    assert [fact for fact in FACTS if fact not in last] == []
