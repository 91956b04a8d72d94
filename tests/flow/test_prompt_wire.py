"""Both parts of the system prompt on the wire: the stable bytes are the same in every request, whatever changes."""

import asyncio
import json

import pytest

from clew.models.port import Request, Tool
from clew.models.providers import build
from clew.models.settings import ModelsSettings
from clew.prompt.assemble import Changing, Standing, assemble
from clew.prompt.files import WorkspaceFile
from clew.testing.server import ModelServer
from clew.transcript import assistant, user

BOTH = pytest.mark.parametrize("api", ["openai-completions", "anthropic-messages"])
STANDING = Standing(tools=("read",), files=(WorkspaceFile("AGENTS.md", "Never push. 绝不推送 \ud83d\n" * 100),))
TOOLS = (Tool("read", "Reads.", {"type": "object"}),)


def asked(api, requests):
    """What the server saw of each request."""

    async def run(server):
        model = build("scripted/any", ModelsSettings.model_validate(server.settings(api=api)), {})
        try:
            for request in requests:
                await model.complete(request)
        finally:
            await model.close()

    with ModelServer(lambda seen: "well") as server:
        asyncio.run(run(server))
        return server.requests


def turns(count):
    """One conversation over several days."""
    said = []
    for day in range(1, count + 1):
        said += [user(f"turn {day}")]
        prompt = assemble(STANDING, Changing(date=f"2026-11-{day:02}", channel=f"channel {day % 2}"))
        yield Request(tuple(said), system=prompt.stable, dynamic=prompt.dynamic, tools=TOOLS)
        said += [assistant("well")]


def system_bytes(seen):
    """The system prompt as it came: the JSON of it, which a provider's cache is keyed by."""
    field = seen.body["system"] if "system" in seen.body else seen.body["messages"][0]["content"]
    return json.dumps(field, ensure_ascii=False).encode()


@BOTH
def test_the_stable_prefix_is_the_same_bytes_while_the_rest_changes(api):
    stable = json.dumps(assemble(STANDING, Changing()).stable, ensure_ascii=False).encode()[1:-1]
    seen = asked(api, turns(5))
    assert {system_bytes(one).count(stable) for one in seen} == {1}
    assert len({system_bytes(one).partition(stable)[0] for one in seen}) == 1
    assert len({system_bytes(one) for one in seen}) == 5


def test_only_the_stable_block_is_marked_and_four_marks_are_not_passed():
    for seen in asked("anthropic-messages", turns(5)):
        stable, dynamic = seen.body["system"]
        assert ("cache_control" in stable, "cache_control" in dynamic) == (True, False)
        assert seen.raw.count(b'"cache_control"') <= 4


def test_a_prompt_that_only_changes_is_not_marked():
    (seen,) = asked("anthropic-messages", [Request((user("hi"),), dynamic="today", tools=TOOLS)])
    assert "cache_control" not in seen.body["system"][0]
    assert "cache_control" in seen.body["tools"][0]


def test_chat_completions_get_one_system_message_with_the_stable_part_first():
    (seen,) = asked("openai-completions", [Request((user("hi"),), system="be kind", dynamic="today")])
    assert [message["role"] for message in seen.body["messages"]] == ["system", "user"]
    assert seen.body["messages"][0]["content"] == "be kind\n\ntoday"


@BOTH
def test_an_empty_prompt_is_not_sent(api):
    (seen,) = asked(api, [Request((user("hi"),), system=" ", dynamic="")])
    assert "system" not in seen.body
    assert [message["role"] for message in seen.body["messages"]] == ["user"]


@BOTH
def test_the_servers_cache_holds_the_stable_part_over_a_change_of_day(api):
    first, second = asked(api, list(turns(2)))
    assert second.cached > 0.8 * first.tokens
