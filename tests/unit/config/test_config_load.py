"""Settings from JSON5: what a pasted snippet gives, and every mistake at once."""

from pathlib import Path

import pytest

from clew.config import Config, check, load, not_yet, parse
from clew.errors import BadSettings

PASTED = """
// as the documentation shows it
{
  agents: {
    defaults: {
      model: { primary: "anthropic/claude-opus-4-6", fallbacks: ["openai/gpt-5.1"] },
      models: { "anthropic/claude-opus-4-6": { alias: "opus" } },
      compaction: {
        mode: "safeguard",
        model: "ollama/qwen3:8b",
        timeoutSeconds: 900,
        keepRecentTokens: 50000,
        identifierPolicy: "strict",
        qualityGuard: { enabled: true, maxRetries: 1 },
        midTurnPrecheck: { enabled: false },
        postCompactionSections: ["Session Startup", "Red Lines"],
        maxActiveTranscriptBytes: "20mb",
        notifyUser: true,
        memoryFlush: { enabled: true, softThresholdTokens: 6000, forceFlushTranscriptBytes: "2mb" },
      },
      contextPruning: {
        mode: "cache-ttl",
        ttl: "1h",
        tools: { allow: ["exec", "read"], deny: ["*image*"] },
        hardClear: { enabled: true, placeholder: "[gone]" },
      },
    },
  },
  models: {
    providers: {
      ollama: { baseUrl: "http://127.0.0.1:11434/v1", api: "openai-completions", models: [{ id: "qwen3:8b" }] },
    },
  },
  plugins: { slots: { contextEngine: "legacy" }, entries: { mine: { enabled: true, config: { a: 1 } } } },
}
"""


def problems(text: str) -> dict[str, str]:
    return {mistake.key: mistake.problem for mistake in check(text)}


def compaction(inner: str) -> str:
    return "{agents: {defaults: {compaction: {" + inner + "}}}}"


def test_a_snippet_pasted_from_the_documentation_is_understood_whole() -> None:
    defaults = parse(PASTED).agents.defaults
    assert defaults.compaction.max_active_transcript_bytes == 20 * 1024 * 1024
    assert defaults.compaction.memory_flush.soft_threshold_tokens == 6000
    assert defaults.context_pruning.ttl == 3600
    assert defaults.context_pruning.tools.deny == ("*image*",)
    assert defaults.models["anthropic/claude-opus-4-6"].alias == "opus"
    assert defaults.model.fallbacks == ("openai/gpt-5.1",)


def test_an_empty_text_gives_the_defaults() -> None:
    assert parse("") == parse("{}") == Config()


def test_a_model_may_be_written_as_a_bare_text() -> None:
    assert parse('{agents: {defaults: {model: "openai/gpt-5.1"}}}').agents.defaults.model.primary == "openai/gpt-5.1"


def test_every_mistake_is_told_at_once_with_its_full_key() -> None:
    found = problems("""{agents: {defaults: {
        compaction: {mode: "gentle", qualityGuard: {maxRetries: 4}, keepRecentTokens: true},
        contextPruning: {ttl: "soon"}}}}""")
    assert found == {
        "agents.defaults.compaction.mode": "should be 'safeguard' or 'default', but is 'gentle'",
        "agents.defaults.compaction.qualityGuard.maxRetries": "should be less than or equal to 3, but is 4",
        "agents.defaults.compaction.keepRecentTokens": "should be a valid integer, but is True",
        "agents.defaults.contextPruning.ttl": '\'soon\' is no duration; write a text such as "5m" or "1h"',
    }


@pytest.mark.parametrize(
    ("text", "hint"),
    [
        pytest.param(compaction("keepRecentToken: 1"), "compaction.keepRecentTokens?", id="a slip"),
        pytest.param(compaction("keep_recent_tokens: 1"), "compaction.keepRecentTokens?", id="snake case"),
        pytest.param("{keepRecentTokens: 1}", "agents.defaults.compaction.keepRecentTokens?", id="the wrong place"),
        pytest.param("{agent: {}}", "did you mean agents?", id="a section"),
        pytest.param("{browser: {port: 1}}", "Clew has no section 'browser'", id="a section of another program"),
        pytest.param('{models: {providers: {x: {baseURL: ""}}}}', "models.providers.x.baseUrl?", id="below a map"),
    ],
)
def test_an_unknown_key_is_refused_with_the_nearest_name(text: str, hint: str) -> None:
    with pytest.raises(BadSettings) as caught:
        parse(text)
    assert hint in str(caught.value)


RETIRED = [
    *("reserveTokens", "reserveTokensFloor", "maxHistoryShare", "customInstructions", "identifierInstructions"),
    *("memoryFlush.prompt", "memoryFlush.systemPrompt"),
]


@pytest.mark.parametrize("key", RETIRED)
def test_a_retired_key_of_compaction_is_refused_by_name(key: str) -> None:
    group, _, name = key.rpartition(".")
    inner = f"{group}: {{{name}: 1}}" if group else f"{name}: 1"
    assert problems(compaction(inner))[f"agents.defaults.compaction.{key}"].startswith("retired: ")


@pytest.mark.parametrize(
    "key", ["softTrim", "softTrimRatio", "hardClearRatio", "keepLastAssistants", "minPrunableToolChars"]
)
def test_a_retired_threshold_of_pruning_is_said_to_be_built_in(key: str) -> None:
    found = problems(f"{{agents: {{defaults: {{contextPruning: {{{key}: 1}}}}}}}}")
    assert "threshold is built in" in found[f"agents.defaults.contextPruning.{key}"]


def test_a_syntax_error_is_told_with_its_line_and_column() -> None:
    assert problems("{\n  agents: }") == {"": 'not JSON5: line 2: unexpected "}" at column 11'}


def test_a_key_written_twice_is_a_mistake() -> None:
    assert "Duplicate" in problems("{agents: {}, agents: {}}")[""]


def test_a_list_as_the_whole_file_is_a_mistake() -> None:
    assert "outermost" in problems("[1]")[""]


def test_a_secret_is_never_quoted_in_a_mistake() -> None:
    found = check('{models: {providers: {x: {apiKey: {source: "sk-secret-1"}, baseUrl: 5}}}}')
    assert found
    assert not any("sk-secret" in str(mistake) for mistake in found)


def test_keys_that_nothing_reads_yet_are_named() -> None:
    config = parse(compaction("postIndexSync: 'off', keepRecentTokens: 9"))
    assert not_yet(config) == ("agents.defaults.compaction.postIndexSync",)


@pytest.mark.parametrize(("written", "size"), [('"20mb"', 20 << 20), ('"1.5 KB"', 1536), ("0", 0), ('"512"', 512)])
def test_sizes_are_numbers_or_texts(written: str, size: int) -> None:
    text = compaction(f"maxActiveTranscriptBytes: {written}")
    assert parse(text).agents.defaults.compaction.max_active_transcript_bytes == size


@pytest.mark.parametrize(
    ("written", "seconds"), [('"5m"', 300), ('"1h"', 3600), ('"90s"', 90), ('"2"', 120), ("2", 120)]
)
def test_a_bare_duration_counts_minutes(written: str, seconds: float) -> None:
    text = f"{{agents: {{defaults: {{contextPruning: {{ttl: {written}}}}}}}}}"
    assert parse(text).agents.defaults.context_pruning.ttl == seconds


def test_no_file_where_nobody_named_one_means_the_defaults(tmp_path: Path) -> None:
    assert load(None, {"CLEW_HOME": str(tmp_path)}) == Config()


@pytest.mark.parametrize("named", ["argument", "environment"])
def test_a_named_file_that_is_not_there_is_an_error(tmp_path: Path, named: str) -> None:
    missing = tmp_path / "absent.json5"
    with pytest.raises(BadSettings, match="cannot be read"):
        load(missing if named == "argument" else None, {"CLEW_CONFIG": str(missing)})


def test_a_file_that_is_not_text_is_left_as_it_is(tmp_path: Path) -> None:
    (tmp_path / "clew.json5").write_bytes(b"{\xff}")
    with pytest.raises(BadSettings, match="not UTF-8"):
        load(None, {"CLEW_HOME": str(tmp_path)})


def test_an_argument_wins_over_the_environment(tmp_path: Path) -> None:
    (tmp_path / "a.json5").write_text(compaction("keepRecentTokens: 7"), "utf-8")
    (tmp_path / "b.json5").write_text(compaction("keepRecentTokens: 8"), "utf-8")
    config = load(tmp_path / "a.json5", {"CLEW_CONFIG": str(tmp_path / "b.json5")})
    assert config.agents.defaults.compaction.keep_recent_tokens == 7
