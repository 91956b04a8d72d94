"""A cut never falls inside what people see as one character, and looks at little of the text."""

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clew.transcript.characters import LONGEST, ROW, border, head, tail

CHARACTERS = [
    pytest.param(unicodedata.normalize("NFD", "한"), id="Hangul, decomposed"),
    pytest.param("กำ", id="Thai sara am"),
    pytest.param("ｶﾞ", id="half-width kana with a voice mark"),
    pytest.param("क्ष", id="Devanagari conjunct"),
    pytest.param("👨\u200d👩\u200d👧\u200d👦", id="family"),
    pytest.param("👩🏽\u200d🦰", id="skin and hair"),
    pytest.param("🏴\U000e0067\U000e0062\U000e0065\U000e006e\U000e0067\U000e007f", id="flag of tags"),
    pytest.param("🇩🇪", id="flag"),
    pytest.param("❤\ufe0f", id="variation"),
    pytest.param("e\u0301\u0323", id="accents"),
    pytest.param("\ud83d\ude00", id="halves"),
    pytest.param("\r\n", id="line end"),
    pytest.param("日", id="one code point"),
]


class Watched(str):
    """Text that counts how much of it is looked at."""

    looked_at = 0

    def __getitem__(self, key):
        found = str.__getitem__(self, key)
        self.looked_at += len(found)
        return found


@pytest.mark.parametrize("character", CHARACTERS)
@pytest.mark.parametrize("before", ["", "n"])
def test_no_cut_falls_inside_a_character(character, before):
    text = before + character * 80
    for most in range(0, len(text) + 2, 1 if len(text) < 200 else 3):
        first, last = head(text, most), tail(text, most)
        assert max(len(first), len(last)) <= most
        assert len(first.removeprefix(before)) % len(character) == 0
        assert (before + character * 80).endswith(last)
        assert (len(last) - (len(before) if last.startswith("n") else 0)) % len(character) == 0
        assert first == text or most - len(first) < len(character)


@pytest.mark.parametrize("step", [1, -1])
def test_a_row_of_accents_without_end_is_cut_all_the_same(step):
    assert border("e" + "\u0301" * 9_000, 4_000, step) == 4_000


PIECES = st.sampled_from(
    ["ab\n", "日本", "e\u0301", "\u0301" * 70, "👩\u200d🦰", "🇩🇪" * 3_000, "\U0001f1e9", "क्ष", "\r\n", "\ud83d"]
)


@given(st.lists(PIECES, max_size=12), st.integers(-3, 20_000), st.sampled_from([1, -1]))
def test_a_cut_looks_at_little_however_long_the_text_is_and_moves_little(pieces, at, step):
    text = Watched("".join(pieces) * 3)
    place = border(text, at, step)
    assert 0 <= place <= len(text)
    assert at <= 0 or at >= len(text) or 0 <= (place - at) * step < LONGEST
    assert text.looked_at <= ROW + 10 * LONGEST


def test_flags_pair_from_the_start_of_their_row():
    text = "n" + "🇩🇪" * (ROW // 2 - LONGEST)
    assert {border(text, at, -1) % 2 for at in range(2, len(text), 37)} == {1}
