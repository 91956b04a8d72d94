"""Sixty short turns with a real small model in a small window: it is compacted again and again, and the facts stay.

Only names and codes are asserted, never a model's words or seconds.
"""

import asyncio

import pytest

from clew.agency import Conversation
from clew.clock import new_id, now_ms
from clew.compact.settings import CompactionSettings
from clew.models.providers import build
from clew.models.settings import ModelsSettings
from clew.prompt.assemble import SystemPrompt
from clew.runtime import events
from clew.runtime.agent import Agent
from clew.runtime.session import Session
from clew.runtime.tools import Toolbox
from clew.store.inmemory import InMemoryStore
from clew.transcript import Compaction, text_of

pytestmark = pytest.mark.real_model

WINDOW = 2_048
PLANTED = [
    "Ticket BILL-2087 is about the nightly export on batch-03.internal:8443. Say yes.",
    "A rule for all of this work: never delete rows in invoices. Say yes.",
]
FACTS = ("BILL-2087", "batch-03.internal:8443", "never delete rows in invoices")
ASKED = (
    "Step {n}: the file src/billing/part_{n}.py was read, its {n} tests pass, and nothing else changed. "
    "It was looked at with care, there was not much to say of it, and we go on with the file behind it. Say yes."
)


class Heard:
    """A model that keeps what it was sent."""

    def __init__(self, model) -> None:
        self._model, self.requests = model, []
        self.name, self.limits, self.close = model.name, model.limits, model.close

    async def complete(self, request, *, on_text=None):
        self.requests.append(request)
        return await self._model.complete(request, on_text=on_text)


def test_sixty_turns_are_compacted_and_keep_what_was_said_first(serve):
    settings = ModelsSettings.model_validate({"providers": {"llamacpp": {"baseUrl": serve("0.5b", WINDOW)}}})
    model, told = Heard(build("llamacpp/local", settings, {})), []
    (store := InMemoryStore()).create("k", at=1)
    policy = CompactionSettings(fallback="ledger", timeout_seconds=600, quality_guard={"max_retries": 0})
    agent = Agent(
        chain=(model,), toolbox=Toolbox(), max_output=24, compaction=policy,
        prompt=lambda again: SystemPrompt("You answer in one short sentence.", "", ()),
    )  # fmt: skip
    talk = Conversation(Session(store, "k", now=now_ms, new_id=new_id), lambda name: agent, now=now_ms, new_id=new_id)
    talk.listen(told.append)

    async def whole():
        said = [*PLANTED, *(ASKED.format(n=n) for n in range(58))]
        ends = [await talk.say(words) for words in said]
        await model.close()
        return ends

    ends = asyncio.run(whole())
    assert {end.outcome for end in ends} == {"done"}
    written = [record.entry.body for record in store.compactions("k")]
    assert len(written) >= 3
    assert all(isinstance(body, Compaction) and body.verdict.outcome for body in written)
    last = "\n".join(text_of(message) for message in model.requests[-1].messages)
    assert [fact for fact in FACTS if fact not in last] == []
    assert not [event for event in told if isinstance(event, events.Switched)]
    assert talk.session.window().session.entries >= 120
