"""When a round may run, and what the provider is asked to clear by itself."""

import pytest

from clew.prune import remote
from clew.prune.gate import Route, on, opens, ttl
from clew.prune.settings import PrunableTools, PruningSettings

CLAUDE = Route("anthropic", "claude-opus-5-5", "anthropic-messages")
OPENAI = Route("openai", "gpt-5", "openai-completions")
LOCAL = Route("ollama", "qwen3", "openai-completions")
ON = PruningSettings(mode="cache-ttl")
MINUTE = 60_000


@pytest.mark.parametrize(
    ("settings", "route", "is_on"),
    [
        (PruningSettings(), CLAUDE, True), (PruningSettings(), OPENAI, False), (PruningSettings(), LOCAL, False),
        (PruningSettings(mode="off"), CLAUDE, False), (ON, OPENAI, True), (ON, LOCAL, False),
        (ON, Route("openrouter", "deepseek/v4"), True), (ON, Route("openrouter", "qwen/qwen3"), False),
        (ON, Route("google", "gemini-2.5-pro"), True), (ON, Route("google", "gemini-1.5-pro"), False),
        (ON, Route("mine", "claude", "anthropic-messages"), True),
    ],
)  # fmt: skip
def test_off_but_for_anthropic_and_never_without_a_cache_that_lapses(settings, route, is_on):
    assert on(settings, route) is is_on


@pytest.mark.parametrize(
    ("written", "route", "seconds"),
    [({}, CLAUDE, 3_600), ({}, OPENAI, 300), ({"ttl": "5m"}, CLAUDE, 300), ({"ttl": 90}, OPENAI, 5_400)],
)
def test_an_hour_is_seeded_for_anthropic_and_five_minutes_elsewhere(written, route, seconds):
    assert ttl(PruningSettings.model_validate(written), route) == seconds


@pytest.mark.parametrize(
    ("touched", "now", "runs"),
    [(None, 99 * MINUTE, False), (0, 5 * MINUTE - 1, False), (0, 5 * MINUTE, True), (0, 9 * MINUTE, True)],
)
def test_nothing_runs_within_the_lifetime_or_before_a_request_succeeded(touched, now, runs):
    assert opens(ON, OPENAI, touched, now) is runs


def test_a_lifetime_of_nothing_never_prunes_and_the_provider_that_clears_needs_no_round():
    assert not opens(PruningSettings(mode="cache-ttl", ttl=0), OPENAI, 0, 99 * MINUTE)
    assert not opens(ON, Route("anthropic", "c", "anthropic-messages", remote=True), 0, 999 * MINUTE)


@pytest.mark.parametrize(
    ("provider", "api", "key", "url", "serves"),
    [
        ("anthropic", "anthropic-messages", "sk-ant-api03", "https://api.anthropic.com", True),
        ("Anthropic", "anthropic-messages", "k", "", True),
        ("anthropic", "anthropic-messages", "sk-ant-oat01-x", "", False),
        ("anthropic", "anthropic-messages", " ", "", False),
        ("anthropic", "openai-completions", "k", "", False),
        ("anthropic", "anthropic-messages", "k", "https://api.anthropic.com.evil.example", False),
        ("proxy", "anthropic-messages", "k", "https://api.anthropic.com", False),
    ],
)
def test_the_server_side_route_is_anthropics_own_endpoint_with_an_api_key(provider, api, key, url, serves):
    assert remote.serves(provider, api, key, url) is serves


@pytest.mark.parametrize(
    ("window", "trigger", "least"), [(None, 50_000, 12_500), (200_000, 60_000, 12_500), (10**6, 300_000, 50_000)]
)
def test_the_provider_clears_from_thirty_percent_and_at_least_five(window, trigger, least):
    (edit,) = remote.context_edits(window, PrunableTools(), ["read"])["edits"]
    assert (edit["trigger"]["value"], edit["clear_at_least"]["value"], edit["keep"]["value"]) == (trigger, least, 3)
    assert (edit["type"], edit["exclude_tools"]) == ("clear_tool_uses_20250919", [])


def test_tools_that_may_not_be_pruned_are_excluded_by_name():
    tools = PrunableTools(allow=("read*",), deny=("secret", "read_key*"))
    (edit,) = remote.context_edits(None, tools, ["write", "read", "read_keys"])["edits"]
    assert edit["exclude_tools"] == ["read_keys", "secret", "write"]


@pytest.mark.parametrize(
    ("management", "told"),
    [
        ({"applied_edits": [{"type": remote.EDIT, "cleared_tool_uses": 4, "cleared_input_tokens": 900}]}, (4, 900)),
        ({"applied_edits": [{"type": "other", "cleared_tool_uses": 4}, 7]}, (0, 0)),
        ({"applied_edits": [{"type": remote.EDIT, "cleared_tool_uses": True, "cleared_input_tokens": -1}]}, (0, 0)),
        ({"applied_edits": None}, (0, 0)), (None, (0, 0)),
    ],
)  # fmt: skip
def test_what_the_provider_cleared_is_read_with_care(management, told):
    assert remote.cleared(management) == told
