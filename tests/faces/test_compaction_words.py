"""A compaction, sessions and compactions in words: the verdict first, nothing broken at any width, arithmetic right."""

from io import StringIO

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console

from clew.compact.cut import Cut
from clew.compact.outcome import Compacted, Declined, Skipped
from clew.render import compaction as words
from clew.render import listing
from clew.render.text import age, columns, example, moment, one_line, path_end, visible
from clew.runtime.session import Wound
from clew.store.port import SessionRow
from clew.transcript import Attempt, Compaction, Finding, Ledger, Verdict

HEADING, LANGUAGE = Finding("missing_section", "## Decisions"), Finding("other_language", "the session speaks Han")
PENDING = Finding("settled_ask_pending", "- Cut the release.")
LOST = tuple(f"src/quayside/webhooks/dispatcher/module_{n}.py" for n in range(200))
BODY = Compaction(
    summary="## Decisions\n- one", first_kept="e9", tokens_before=150_885, tokens_after=24_907, trigger="manual",
    verdict=Verdict("repaired", (Attempt("m/x", (HEADING,), tokens=7055), Attempt("m/x", tokens=7313)), ("A-1",)),
    ledger=Ledger(), model="m/x", lost=LOST, lost_total=202, covered=339, duration_ms=400,
)  # fmt: skip


def body(**changes):
    return msgspec.structs.replace(BODY, **changes)


def printed(lines, width=80):
    console = Console(width=width, file=StringIO(), soft_wrap=True, highlight=False)
    for line in [lines] if hasattr(lines, "__rich_console__") else lines:
        console.print(line)
    return console.file.getvalue()


def told(of, **more):
    width = more.pop("width", 80)
    return printed(words.outcome(Compacted("01abc", of, Cut((), (), (), 0, 0)), "demo", **more), width)


@pytest.mark.parametrize(
    ("outcome", "attempts", "said"),
    [
        ("repaired", BODY.verdict.attempts, "the brief passed on attempt 2 after repair."),
        ("accepted", (Attempt("m/x"),), "the brief passed on attempt 1 as drafted."),
        ("accepted", (Attempt("m/x", (LANGUAGE,)),), "accepted on attempt 1 as drafted although the brief is not in"),
        ("repaired", (Attempt("m/x", (PENDING,)),), "passed on attempt 1 after rules took out 0 lines."),
        ("fallback", (Attempt("ledger"),), "the brief was written by rules."),
        ("fallback", (Attempt("m/x", failure="timeout"), Attempt("ledger")), "rules because m/x failed: it did not"),
        ("fallback", (Attempt("m/x", (HEADING,)), Attempt("ledger")), "by rules because the draft did not pass."),
    ],
)
def test_the_first_line_is_the_verdict(outcome, attempts, said):
    shown = " ".join(told(body(verdict=Verdict(outcome, attempts)), width=300).split())
    assert shown.startswith("Compacted demo: 150,885 → 24,907 tokens; the brief ")
    assert said in shown


@pytest.mark.parametrize("width", [40, 60, 80, 120])
def test_rows_wrap_below_their_words_and_never_beyond_the_width(width):
    lines = told(BODY, width=width, no_model=True).splitlines()
    assert all(columns(line) <= width for line in lines)
    assert all(line[:2] == "  " and (line[2] != " " or line[:13].isspace()) for line in lines if line[2:3] == " ")
    assert not any(line != line.rstrip() for line in lines)


def test_what_is_lost_adds_up_and_paths_are_shortened_from_the_left():
    shown = " ".join(told(BODY).split())
    assert "202 identifiers" in shown
    assert "…/dispatcher/module_0.py, …/dispatcher/module_1.py, …/dispatcher/module_2.py, … 199 more" in shown


def test_attempts_say_what_their_size_is_of_and_restored_says_when():
    shown = told(BODY, budget=8_000)
    assert "attempt 1  m/x, brief of 7,055 tokens:\n             · a heading is missing: “## Decisions”" in shown
    assert "attempt 2  m/x, brief of 7,313 tokens: no findings" in shown
    assert "restored   1, put back by rules before the audit looked: A-1" in shown
    assert "tokens of 8,000; by m/x" in shown.replace(" of 8,000 tokens;", " tokens of 8,000;")


@pytest.mark.parametrize(
    ("changes", "typed", "said"),
    [
        ({"focus": "ids", "model": None}, "ids", "the focus is for a model; rules ignore it"),
        ({"focus": "x" * 800}, "x" * 801, "cut to its first 800 characters"),
        ({}, "  ", "empty"),
    ],
)
def test_what_became_of_a_focus_is_said(changes, typed, said):
    assert said in told(body(**changes), focus=typed)


def test_a_lost_race_says_whose_brief_was_thrown_away_and_where_to_look():
    shown = " ".join(printed(words.outcome(Declined("conflict", "", "", (), 10), "a b")).split())
    assert "somebody else compacted, reset or undid the session" in shown
    assert "this brief was thrown away" in shown
    assert "clew compactions 'a b'" in shown
    assert "as it was" not in shown
    assert "--model" not in shown


def test_other_refusals_keep_their_advice():
    shown = printed(words.outcome(Declined("timeout", "the model slept", "", (), 10), "k"))
    assert "Not compacted: the model slept." in shown
    assert "--by-rules" in shown
    assert "nothing was changed" in printed(words.outcome(Skipped("empty", "there is no message", 0), "k"))


IMPORTED = body(verdict=Verdict("imported"), model=None, tokens_before=0, tokens_after=0, lost=(), lost_total=0)


def test_what_an_import_does_not_know_is_called_unknown():
    shown = printed(words.shown("k", Wound("01abc", 0, IMPORTED, "standing"), "codex"))
    assert "sizes unknown" in shown
    assert "by codex" in shown
    assert "when       unknown" in shown
    listed = printed(listing.compactions([Wound("01abc", 0, IMPORTED, "standing")], 10**12, "codex"), 120)
    assert listed.splitlines()[1].split() == ["01abc", *["unknown"] * 3, "imported", "codex", "standing"]
    assert "rules" not in listed
    assert (age(0, 10**12), moment(0)) == ("unknown", "unknown")


ROWS = [
    SessionRow(key, 1, 10**12 - 300_000, None, 1, None, 1, 123_456, 12, 151_000, 1, {"format": "claude-code"})
    for key in ("work", "claude-code:0f2c6f0e-93b5-4a5b-8d7c-2a53f1f0a111")
]
WOUNDS = [
    Wound(f"01m8qbjanyxjp8dpwq0{n}", 10**12, one, standing)
    for n, (one, standing) in enumerate(
        [
            (BODY, "superseded"),
            (IMPORTED, "undone"),
            (body(model="openrouter/qwen/qwen3-coder-480b-instruct"), "standing"),
        ]
    )
]


@pytest.mark.parametrize("width", [40, 60, 70, 80, 100, 120])
@pytest.mark.parametrize(
    "made", [lambda: listing.sessions(ROWS, 10**12), lambda: listing.compactions(WOUNDS, 10**12 + 9 * 60_000)]
)
def test_a_listing_breaks_no_heading_number_or_name(width, made):
    shown = printed(made(), width)
    assert all(columns(line) <= width for line in shown.splitlines() if " " in line)
    for whole in ("151k", ROWS[1].key) if "work" in shown else ("151k", "unknown", WOUNDS[0].id, "superseded"):
        assert whole in shown
    assert ("window" in shown.splitlines()[0] or "before" in shown.splitlines()[0]) == (width >= 80)


def test_a_narrow_terminal_gets_a_block_a_row():
    assert printed(listing.sessions(ROWS[:1], 10**12 + 175 * 60_000), 60) == (
        "work\n  123,456 entries · window 151k · compacted 12 · used 3h ·\n  claude-code\n"
    )


@pytest.mark.parametrize(
    ("milliseconds", "said"), [(5_000, "5s"), (300_000, "5m"), (3 * 3_600_000, "3h"), (9**11, "363d")]
)
def test_an_age_has_one_unit(milliseconds, said):
    assert age(1, 1 + milliseconds) == said


FAMILY = "👩\u200d👩\u200d👧\u200d👦"


@pytest.mark.parametrize(
    ("text", "seen"),
    [
        (f"{FAMILY} ❤️\u200d🔥 👩🏽\u200d💻", f"{FAMILY} ❤️\u200d🔥 👩🏽\u200d💻"),
        ("a\u200db \u200d👩 👩\u200d x", "ab 👩 👩 x"),
        ("a\u202eb\u2066c\u061cd\u200ee\u00adf\ufeffg\u200bh\u2028i\U000e0041j", "abcdefghij"),
        ("\x1b[31mred\x07\x9b", "[31mred"),
        ("lone \ud83d here", "lone  here"),
    ],
)
def test_joined_pictures_stay_whole_and_what_cannot_be_seen_goes(text, seen):
    assert visible(text) == seen


@given(st.text(alphabet=st.sampled_from("aé笔👩\u200d❤️ /\n"), max_size=40), st.integers(2, 30))
def test_one_line_keeps_to_its_width_and_ends_in_no_joiner(text, width):
    line = one_line(text, width)
    assert columns(line) <= width
    assert "\n" not in line
    assert not line.removesuffix("…").endswith("\u200d")


@pytest.mark.parametrize(
    ("path", "shown"),
    [("a/b.py", "a/b.py"), ("src/app/auth/login.py", "…/auth/login.py"), ("x/" + "y" * 40, "…/" + "y" * 13 + "…")],
)
def test_a_path_keeps_its_end(path, shown):
    assert path_end(path, 16) == shown


def test_an_example_is_a_quotation_a_path_or_a_name():
    assert example("- Cut the release.") == "“Cut the release.”"
    assert example("https://example.org/" + "a/" * 40).startswith("https://example.org/")
    assert example("AUTH-731") == "AUTH-731"
