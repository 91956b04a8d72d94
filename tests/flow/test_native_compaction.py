"""A provider that compacts for itself, where the settings declare it: `/compact` goes to it, says so, is audited."""

import asyncio

import pytest

from clew.app import Clew
from clew.compact.brief import HEADINGS
from clew.compact.outcome import Compacted
from clew.config import Config
from clew.runtime import events
from clew.store.inmemory import InMemoryStore
from clew.testing.server import ModelServer, Refuse, Say
from clew.transcript import assistant, user
from tests.unit.compact.test_flow import GOOD

BRIEF = "\n".join(f"{heading}\n- fact{n} is so" for n, heading in enumerate(HEADINGS))
NATIVE = {"content": [{"type": "compaction", "content": BRIEF, "signature": "c2Vh"}], "stop_reason": "compaction"}


def compacted(answers, tmp_path, *, focus=None, **declared):
    """`/compact` in a session with something to wind up: outcome, events, requests."""
    told = []

    async def run(server):
        settings = server.settings("anthropic", api="anthropic-messages", models=[{"id": "any", **declared}])
        config = Config.model_validate({"models": settings, "agents": {"defaults": {"model": "anthropic/any"}}})
        clew = Clew(InMemoryStore(), config, env={})
        async with clew.converse("k", workspace=tmp_path, window=32_768) as conversation:
            conversation.listen(told.append)
            for n in range(12):
                conversation.session.append(user(f"question {n}"), assistant(f"fact{n} is so " * 300, stop="stop"))
            outcome = await conversation.compact(focus)
        await clew.aclose()
        return outcome

    with ModelServer(answers) as server:
        return asyncio.run(run(server)), told, server.requests


def test_compact_goes_to_the_provider_and_says_so(tmp_path):
    done, told, requests = compacted([Say(more=NATIVE)], tmp_path, focus="the lease", nativeCompaction=True)
    assert isinstance(done, Compacted)
    assert done.body.model == "anthropic/any (native)"
    assert [event.model for event in told if isinstance(event, events.NativeCompaction)] == ["anthropic/any"]
    (request,) = requests
    assert request.body["compaction"]["type"] == "summarize"
    assert "the lease" in request.body["compaction"]["instructions"]
    assert "context_management" not in request.body
    assert "compact-2026-01-12" in request.headers["anthropic-beta"]
    assert len(request.body["messages"]) == 24, "the conversation as it is, and no text of it"


@pytest.mark.parametrize("first", [Refuse(400, "no such parameter", "invalid_request_error"), Say("")])
def test_where_it_fails_the_built_in_compaction_goes_on(tmp_path, first):
    done, _, requests = compacted([first, *[Say(GOOD)] * 4], tmp_path, nativeCompaction=True)
    assert isinstance(done, Compacted)
    assert done.body.model == "anthropic/any"
    assert [("compaction" in request.body) for request in requests][:2] == [True, False]


def test_what_is_not_declared_is_not_asked_for(tmp_path):
    done, told, requests = compacted([Say(GOOD)] * 4, tmp_path)
    assert isinstance(done, Compacted)
    assert not any("compaction" in request.body for request in requests)
    assert not [event for event in told if isinstance(event, events.NativeCompaction)]
