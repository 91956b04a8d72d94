"""Real sessions: every line is accounted for, every message is there, and exports of them come back."""

from pathlib import Path

import pytest

from clew.store.archive import read, write
from clew.store.archive.source import parse
from clew.transcript import ToolResult, calls_of, dangling, view
from tests.unit.archive.archive_samples import entries, main, messages, records

DATA = Path(__file__).parents[4] / "shared" / "data"
CLAUDE, PI = DATA / "claude-code" / "s1-3compactions.jsonl", DATA / "pi" / "before-compaction.jsonl"
EVENTS, TAU = DATA / "claude-code" / "compaction_events.jsonl.gz", DATA / "tau-bench" / "airline_gpt4o_longest40.jsonl"
OPENHANDS = DATA / "openhands" / "multi_swe_bench_output.jsonl"
TRAJECTORIES = sorted(DATA.glob("swe-agent/*.traj"))

pytestmark = pytest.mark.skipif(not DATA.is_dir(), reason="the shared data is not on this machine")


@pytest.mark.parametrize("file", [CLAUDE, PI], ids=lambda file: file.parent.name)
def test_every_line_is_accounted_for(file: Path):
    done = read(file)
    lines = sum(1 for line in file.read_bytes().split(b"\n") if line.strip())
    assert sum(done.counts.values()) + sum(done.unknown.values()) + len(done.bad) == lines
    assert not done.unknown
    assert not done.bad
    assert len(done.drafts) == lines


def test_a_claude_code_session_starts_at_its_newest_compaction_with_all_pairs_whole():
    done = read(CLAUDE)
    assert not list(dangling(messages(done)))
    assert view(main(done)).brief.tokens_before > 100_000
    assert len(messages(done)) == done.counts["user"] + done.counts["assistant"]


def test_each_usage_of_a_claude_code_session_is_counted_once():
    turns = {raw["message"]["id"] for _, raw in parse(CLAUDE.read_bytes()).items
             if raw.get("type") == "assistant" and raw["message"]["model"] != "<synthetic>"}  # fmt: skip
    assert sum(1 for message in messages(read(CLAUDE)) if getattr(message, "usage", None)) == len(turns)


def test_a_pi_session_shows_what_its_newest_compaction_kept():
    branch = main(read(PI))
    shown = view(branch)
    assert shown.brief is not None
    assert shown.kept > 0
    assert branch[branch.index(shown.entries[0])].id == shown.brief.first_kept


@pytest.mark.parametrize("index", range(0, 27, 13))
def test_event_lists_are_read_whole(index: int):
    done = read(EVENTS, index=index)
    assert not done.unknown
    assert not list(dangling(messages(done))) or done.counts["call"] > done.counts["result"]
    assert done.meta["sessions"] == 27


@pytest.mark.parametrize("index", [0, 39])
def test_airline_runs_pair_every_result_with_its_call(index: int):
    said = messages(read(TAU, index=index))
    made = {call.id for message in said for call in calls_of(message)}
    assert all(message.call_id in made and message.tool for message in said if isinstance(message, ToolResult))


@pytest.mark.parametrize("file", [*TRAJECTORIES, OPENHANDS], ids=lambda file: file.name)
def test_other_agents_runs_are_read(file: Path):
    done = read(file)
    assert not done.unknown
    assert len(done.drafts) == sum(done.counts.values())
    assert len(list(dangling(messages(done)))) <= 1


@pytest.mark.parametrize("file", [CLAUDE, PI, TAU], ids=lambda file: file.parent.name)
def test_a_real_session_comes_back_from_clews_own_lines(file: Path):
    done = read(file)
    again = read(b"".join(write(records(entries(done)), "clew", done.meta, leaf=main(done)[-1].id)))
    assert entries(again) == entries(done)
    assert main(again) == main(done)


@pytest.mark.parametrize("format", ["claude-code", "openclaw", "pi", "openai", "anthropic"])
def test_a_real_session_keeps_its_calls_and_results_in_every_export(format: str):
    done = read(CLAUDE)
    again = messages(read(b"".join(write(records(entries(done)), format, done.meta, leaf=main(done)[-1].id))))
    before = messages(done)
    assert [call for message in again for call in calls_of(message)] == [
        call for message in before for call in calls_of(message)
    ]
    returned = [[m.blocks for m in said if isinstance(m, ToolResult)] for said in (again, before)]
    assert returned[0] == returned[1]
