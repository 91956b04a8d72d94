"""Results cut to the window: what is kept, that characters stay whole, and that the rest can be found."""

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from clew.runtime.tool_size import fit, limit
from clew.tokens import estimate
from clew.transcript import Media, Text
from clew.workspace.port import Output

WORDS = st.text("abc def 0 你好世界 é 😀👩\u200d👩\u200d👧🇩🇪e\u0301\r\n", max_size=400)


@pytest.mark.parametrize(
    ("window", "most"),
    [(None, 4_000), (2_048, 614), (4_096, 1_228), (8_192, 2_457), (32_768, 4_000), (100_000, 8_000), (1 << 20, 16_000)],
)
def test_a_result_takes_at_most_a_share_of_the_window(window: int | None, most: int) -> None:
    assert limit(window) == most


MORE = re.compile(
    r'\n?\[lines [\d,]+ to [\d,]+ are shown; for more, read "a.txt" with offset (\d+)(?: and column (\d+))?\]$'
)


MORE = re.compile(
    r'\n\[lines [\d,]+ to [\d,]+ are shown; for more, read "a.txt" with offset (\d+)(?: and column (\d+))?\]$'
)


def shown(output: Output, most: int, saved: list[str] | None = None) -> str:
    def save(text: str) -> str:
        assert saved is not None
        saved.append(text)
        return ".clew/outputs/x.txt"

    block = fit(output, most, None if saved is None else save)[0]
    assert isinstance(block, Text)
    return block.text


def test_what_fits_is_left_as_it_is() -> None:
    saved: list[str] = []
    assert shown(Output("a\nb\n", closing="[exit code 0]"), 100, saved) == "a\nb\n[exit code 0]"
    assert saved == []


@settings(max_examples=60, deadline=None)
@given(WORDS, st.integers(1, 60), st.integers(150, 900), st.sampled_from(["head", "ends"]), st.booleans())
def test_a_cut_result_fits_and_says_where_the_rest_is(words: str, times: int, most: int, keep: str, kept: bool) -> None:
    text = words * times
    saved: list[str] | None = [] if kept else None
    output = Output(text, keep=keep, closing="[exit code 1]", path="a.txt" if keep == "head" else None)  # type: ignore[arg-type]
    got = shown(output, most, saved)
    assert estimate.text(got) <= most
    assert got.endswith("[exit code 1]")
    if "left out here" in got:
        assert saved is None or saved == [text]
        assert ("were not kept" in got) == (saved is None)


@settings(max_examples=60, deadline=None)
@given(WORDS, st.integers(150, 400))
def test_reading_on_from_where_it_was_cut_gives_every_character_once(words: str, most: int) -> None:
    text = (words + "x") * 40
    line, column, at, last = 1, 1, 0, -1
    while at > last:
        got = shown(Output(text[at:], path="a.txt", line=line, column=column, keep="head"), most)
        notice = MORE.search(got)
        if notice is None:
            break
        line, column, last = int(notice[1]), int(notice[2] or 1), at
        at = sum(len(part) + 1 for part in text.split("\n")[: line - 1]) + column - 1
        assert text[last:at].removesuffix("\n") == got[: notice.start()]
    assert got == text[at:]


@pytest.mark.parametrize("character", ["👩‍👩‍👧", "🇩🇪", "e\u0301", "👍🏽", "你", "📁"])
@pytest.mark.parametrize("shift", range(6))
def test_no_character_is_cut_in_two(character: str, shift: int) -> None:
    got = shown(Output("a" * shift + character * 3_000), 300)
    head, tail = re.split(r"\n\[[\d,]+ characters are left out here[^\n]*\n", got)
    assert head[shift:] == character * (len(head[shift:]) // len(character))
    assert tail == character * (len(tail) // len(character))


def test_beginning_and_end_are_kept_at_the_ends_of_lines() -> None:
    text = "".join(f"line {n}\n" for n in range(5_000))
    saved: list[str] = []
    got = shown(Output(text), 500, saved)
    head, notice, tail = re.split(r"(\[[\d,]+ characters are left out here.*)\n", got)
    assert head.endswith("\n")
    assert tail.startswith("line ")
    assert tail.endswith("line 4999\n")
    lines = head.count("\n")
    assert notice.endswith(f'for them, read ".clew/outputs/x.txt" with offset {lines + 1}]')
    gone = int(notice[1:].split(" ")[0].replace(",", ""))
    assert gone == len(text) - len(head) - len(tail)


def test_a_middle_that_was_never_held_is_counted() -> None:
    output = Output("a\n" * 50_000, tail="z\n" * 50_000, between=1_000_000, path="o.txt")
    got = shown(output, 500)
    gone = int(re.search(r"\[([\d,]+) characters", got)[1].replace(",", ""))  # type: ignore[index]
    kept = got.count("a\n") * 2 + got.count("z\n") * 2
    assert gone >= 1_200_000 - kept
    assert got.endswith("z\n")


def test_media_are_shown_whole_or_named() -> None:
    large = Media("image/png", "A" * 8_000_000, name="a.png")
    assert fit(Output("see", (large,)), 100) == (
        Text("see"), Text("[image/png a.png: 6,000,000 bytes are too many to be shown]")
    )  # fmt: skip
    picture = Media("image/png", "A" * 100_000)
    assert fit(Output("", (picture,)), 10) == (picture,)
    assert fit(Output("", ()), 10) == (Text("(no output)"),)
