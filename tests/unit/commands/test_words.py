"""How full, how it ended, what happened: the words for people, and what the log is told."""

import msgspec
import pytest

from clew.compact.outcome import Declined, Skipped
from clew.render import chat, cost, events, status
from clew.runtime import events as run
from clew.runtime.logbook import record
from clew.tokens.billing import Billing
from clew.tokens.usage import Size
from clew.transcript import Call, Text, ToolResult, Usage

SECRET = "sk-live-do-not-log-this"


@pytest.mark.parametrize(
    ("tokens", "source", "window", "words"),
    [
        (12_000, "reported", 32_000, "12k/32k (38%)"),
        (12_000, "estimated", 32_000, "~12k/32k (38% est)"),
        (None, "unknown", 200_000, "?/200k"),
        (12_000, "reported", None, "12k/?"),
        (10_000_000, "reported", 8_000, "10M/8.0k (999%)"),
    ],
)
def test_how_full_a_window_is(tokens, source, window, words):
    assert status.used(Size(tokens, source), window) == words


def test_the_meter_fills_with_the_window():
    assert [status.meter(one) for one in (None, 0, 38, 100, 999)] == [
        "▱▱▱▱▱▱▱▱▱▱", "▱▱▱▱▱▱▱▱▱▱", "▰▰▰▰▱▱▱▱▱▱", "▰▰▰▰▰▰▰▰▰▰", "▰▰▰▰▰▰▰▰▰▰",
    ]  # fmt: skip


def test_the_cache_share_is_of_all_that_was_sent():
    assert cost.cached(Billing(input=100, cache_read=800, cache_write=100, requests=1)).startswith("80% hit")


def test_nothing_to_compact_is_skipped_and_not_failed():
    assert chat.label(Skipped("empty", "…", 5)) == "Compaction skipped: nothing compactable in this session yet"
    assert chat.label(Skipped("already_compacted", "…", 5)) == "Compaction skipped: session is already compacted"
    assert chat.label(Declined("timeout", "the model timed out", "", (), 5)) == "Compaction failed: the model timed out"


def test_the_footer_says_what_a_mode_asks_for():
    spent = Billing(input=1_200, output=34, cache_read=800, requests=2, money=0.5)
    assert chat.footer(spent, "off") == ""
    assert chat.footer(spent, "tokens") == "2.0k in / 34 out"
    assert "40% hit" in chat.footer(spent, "full")
    assert chat.footer(spent, "full").endswith("$0.5000")
    assert chat.footer(msgspec.structs.replace(spent, unpriced=1), "full").endswith("price unknown")


def test_notices_are_given_once_a_compaction_to_who_asked_for_them():
    told = [run.Compacting("budget", 30_000), run.Compacted("compacted", "accepted", 30_000, 6_000, count=2)]

    def said(**asked):
        notices = events.Notices()
        return [line for event in told for line in notices.of(event, **asked)]

    assert said(notify=False, verbose=False) == []
    assert said(notify=True, verbose=False) == ["🧹 Compacting context...", "🧹 Compaction complete"]
    assert said(notify=False, verbose=True) == ["🧹 Auto-compaction complete (count 2)."]
    told[0] = run.Compacting("manual", 30_000)
    assert said(notify=True, verbose=True) == []


def test_a_tool_that_nobody_could_be_asked_about_says_how_to_allow_it():
    refused = ToolResult("c1", "exec", (Text("not run: …, and there is nobody to ask. Go on without it"),), error=True)
    assert "tools.exec.allow" in (events.line(run.Returned(refused, 3)) or "")


def test_a_line_about_a_tool_cannot_move_the_cursor():
    line = events.line(run.Called(Call("c", "exec", {"command": "echo \x1b[2J\nrm"}))) or ""
    assert line == "→ exec echo [2J rm"


@pytest.mark.parametrize(
    ("event", "part"),
    [
        (run.Ended("overflow", detail="too long", steps=2), "/compact"),
        (run.Ended("too_large", detail="x", facts={"fixed": 9_000, "window": 8_000}), "fixed 9,000, window 8,000"),
        (run.Ended("failed", code="steps", detail="200 requests"), "say how to go on. 200 requests"),
        (run.Ended("loop"), "same call"),
    ],
)
def test_a_turn_that_did_not_end_well_says_what_to_do(event, part):
    assert part in (events.line(event) or "")


ALL = [
    run.Admitted("e1"), run.Asking("m", 10, 1), run.Words(SECRET), run.Called(Call("c", "exec", {"command": SECRET})),
    run.Returned(ToolResult("c", "exec", (Text(SECRET),)), 5), run.Waiting("m", 1.0, SECRET),
    run.Switched("m", "n", SECRET), run.Flushing(), run.Flushed("failed", SECRET), run.Compacting("budget", 10),
    run.CompactionStep("merge", 1, 1, 1, 2, 40), run.Compacted("declined", "timeout", 10, 10, attempts=2),
    run.Trimmed(2, 100), run.PrefixBreak("trim"), run.Spent("flush", "m", Usage(input=3)),
    run.Answered("m", Usage(input=3), "stop"), run.EngineTrouble("e", "compact", SECRET),
    run.NativeCompaction("m", SECRET),
    run.Ended("failed", SECRET, code="auth", detail=SECRET), run.Interrupted("e0"),
]  # fmt: skip


def test_no_words_of_anybody_reach_the_log():
    assert {type(one) for one in ALL} == {one for one in run.Event.__subclasses__() if one.__module__ == run.__name__}
    records = [record(one) for one in ALL]
    assert SECRET not in str(records)
    assert sum(one is None for one in records) == 2, "only the answer's words and a compaction's steps are left out"
