"""Estimates: near a real tokenizer for every kind of text, and sane for any string at all."""

import base64

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bench.kinds import kinds
from bench.sizes import sessions
from clew.tokens import estimate
from clew.tokens.exact import counter
from clew.transcript import (
    Call,
    Compaction,
    Custom,
    Entry,
    Foreign,
    Ledger,
    Media,
    Pin,
    Said,
    Sender,
    Shell,
    Thinking,
    User,
    Verdict,
    assistant,
    result,
    user,
)

ANYTHING = st.text(st.characters(), max_size=400)
PIECES = st.lists(
    st.sampled_from(["word ", "Zwei\n", "{'a': 1}", "漢字", "かな", "한글 ", "  ", "0x1f", "🚀", "—"]), min_size=1
)
KINDS = kinds()


@pytest.fixture(scope="module")
def exact():
    pytest.importorskip("quicktok", reason="the optional extra `exact` is not installed")
    return counter()


@pytest.mark.parametrize("kind", KINDS)
def test_an_estimate_is_within_12_percent_on_texts_it_was_not_fitted_to(kind, exact):
    held_out = [text[:60_000] for text in KINDS[kind][1::2]][:40]
    assert sum(map(estimate.text, held_out)) == pytest.approx(sum(map(exact, held_out)), rel=0.12)


def test_an_estimate_is_within_6_percent_on_every_held_out_real_session(exact):
    real = sessions()[1::2]
    if not real:
        pytest.skip("real sessions are not on this machine: ../shared/data is absent")
    for texts in real[::3]:
        assert sum(map(estimate.text, texts)) == pytest.approx(sum(map(exact, texts)), rel=0.06)


def test_a_long_text_is_estimated_from_samples_nearly_as_well():
    mixed = "".join(text for kind in ("python", "json", "english", "logs") for text in KINDS[kind][1::2])[:400_000]
    whole = sum(estimate.text(mixed[at : at + 50_000]) for at in range(0, len(mixed), 50_000))
    assert estimate.text(mixed) == pytest.approx(whole, rel=0.12)


@given(ANYTHING)
def test_any_string_has_a_size_and_only_the_empty_one_has_none(words):
    assert estimate.text(words) == estimate.text(words)
    assert (estimate.text(words) > 0) == (words != "")


@given(PIECES, PIECES)
@settings(max_examples=60)
def test_two_texts_joined_cost_about_what_they_cost_apart(one, other):
    left, right = "".join(one), "".join(other)
    together = estimate.text(left + right)
    assert together == pytest.approx(estimate.text(left) + estimate.text(right), abs=5)


@given(PIECES, PIECES)
@settings(max_examples=60)
def test_more_text_is_never_much_smaller(one, other):
    assert estimate.text("".join(one + other)) >= estimate.text("".join(one)) - 2


@pytest.mark.parametrize("text", ["\ud800", "a\udfff" * 20, "\x00\x7f", "🏳️‍🌈" * 9, " " * 70_000, "\n" * 70_000])
def test_odd_strings_have_a_size(text):
    assert 0 < estimate.text(text) <= 3 * len(text)


def test_a_message_counts_words_reasoning_and_calls():
    call = Call("c1", "write_file", {"path": "src/a.py", "body": "print('x')\n" * 40})
    bare, full = assistant("Done."), assistant("Done.", call)
    thought = assistant("Done.", call)
    thought = type(thought)((Thinking("Let me see what the test expects here. " * 20), *thought.blocks))
    assert estimate.message(bare) < 10
    assert estimate.message(full) > estimate.message(bare) + 150
    assert estimate.message(thought) > estimate.message(full) + 100


def test_an_image_costs_the_same_whatever_its_bytes():
    small, large = (
        User((Media("image/png", data=base64.b64encode(bytes(size)).decode()),)) for size in (100, 3_000_000)
    )
    assert estimate.message(small) == estimate.message(large) == estimate.IMAGE_TOKENS + estimate.MESSAGE_TOKENS


def test_base64_inside_words_costs_what_a_tokenizer_makes_of_it(exact):
    words = "![plot](data:image/png;base64," + base64.b64encode(bytes(range(256)) * 30).decode() + ")"
    assert estimate.text(words) == pytest.approx(exact(words), rel=0.12)


def test_cut_off_arguments_unknown_blocks_senders_and_shells_are_counted():
    call = Call("c1", "write_file", raw='{"body": "' + "word " * 100)
    assert estimate.message(assistant("", call)) > 100
    assert estimate.message(User((Foreign("x", {"text": "word " * 100}),))) > 100
    assert estimate.message(user("hi", sender=Sender("u1", "Ann"))) > estimate.message(user("hi"))
    assert estimate.message(Shell("ls", "file.txt\n" * 100)) > 200
    assert estimate.message(result(call, "word " * 100)) > 90


def test_an_entry_costs_what_a_view_shows_of_it():
    def entry(body):
        return estimate.entry(Entry("1", None, 0, body))

    brief = Compaction("word " * 500, None, 1, 1, "manual", Verdict("accepted"), Ledger())
    assert entry(Said(user("hi"))) == estimate.message(user("hi"))
    assert entry(brief) > 500
    assert entry(Pin("0", "word " * 100, "user")) > 90
    assert entry(Pin("0", "word " * 100, "user", on=False)) == entry(Custom("x", "word")) == 0


@given(ANYTHING)
@settings(max_examples=30)
def test_every_weight_has_its_count(words):
    assert len(estimate.features(words)) == len(estimate.weights())
    weighed = sum(count * weight for count, weight in zip(estimate.features(words), estimate.weights(), strict=True))
    assert estimate.text(words) >= round(weighed)
