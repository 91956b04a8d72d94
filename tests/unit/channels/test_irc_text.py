"""Text on IRC: plain in, lines that fit out, and whom a line is meant for."""

import pytest
import regex
from hypothesis import given
from hypothesis import strategies as st

from clew.gateway.channels.irc_text import LINE_BYTES, addressed, lines, plain, room_for


def test_colours_and_codes_are_taken_out() -> None:
    assert plain("\x02bold\x02 \x0304,12red\x03 \x1funder\x0f\x16 \x04ff0000hex\x04") == "bold red under hex"
    assert plain("a\x01b\x00c\u202ed") == "abcd"


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("clew: hello", "hello"), ("clew, hello", "hello"), ("Clew hello", "hello"), ("clew:hello", "hello"),
        ("clew: /compact", "/compact"), ("clew", None), ("clewer: hello", None), ("hello clew", None), ("", None),
        ("clew_: hello", "hello"), ("clew's fault", None),
    ],
)  # fmt: skip
def test_only_lines_that_begin_with_the_nick_are_meant_for_us(line, said) -> None:
    assert addressed(line, ("clew", "clew_")) == said


@given(st.text(max_size=2_000), st.integers(20, 400))
def test_lines_fit_and_hold_nothing_the_protocol_means(text, most) -> None:
    for line in lines(text, most, most_lines=10_000):
        assert 0 < len(line.encode()) <= most
        assert not regex.search(r"[\x00-\x1f\x7f]", line)


@given(st.text(st.sampled_from("aé漢🙂 "), max_size=500), st.integers(20, 60))
def test_no_letter_is_lost(text, most) -> None:
    assert "".join(lines(text, most, most_lines=10_000)).replace(" ", "") == text.replace(" ", "")


def test_a_character_of_many_code_points_stays_whole() -> None:
    family = "👩‍👩‍👧‍👦"
    cut = lines(family * 20, 60)
    assert all(len(line) % len(family) == 0 for line in cut)


def test_an_answer_cannot_give_the_server_an_order() -> None:
    assert lines("hi\r\nQUIT :bye\n\x01ACTION waves\x01", 400) == ["hi", "QUIT :bye", "ACTION waves"]


def test_a_long_answer_ends_with_how_much_is_left() -> None:
    cut = lines("\n".join(map(str, range(100))), 400)
    assert len(cut) == 30
    assert cut[-1] == "… (71 more lines are left out)"


def test_a_line_with_its_prefix_is_within_the_protocol() -> None:
    text = "x" * room_for("clew", "#room")
    prefix = f":clew!{'u' * 11}@{'h' * 64} PRIVMSG #room :"
    assert len(f"{prefix}{text}\r\n".encode()) <= LINE_BYTES
