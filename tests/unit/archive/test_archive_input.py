"""Wrong and rough input: refused with the formats named, or read with every bad line named."""

import gzip
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from clew.errors import BadInput
from clew.store.archive import detect, read
from clew.transcript import Custom, Text, User, path
from tests.unit.archive.archive_samples import bodies, entries, lines, main, messages

HI = {"type": "user", "uuid": "u", "parentUuid": None, "sessionId": "s", "message": {"role": "user", "content": "hi"}}
ASK = [User((Text("hi"),))]


@pytest.mark.parametrize(
    ("data", "why"),
    [
        pytest.param(b"", "empty", id="empty"),
        pytest.param(b" \n\n", "empty", id="blank"),
        pytest.param(b"\x7fELF\0\0\0", "binary", id="binary"),
        pytest.param(b"<!DOCTYPE html><p>no", "HTML", id="html"),
        pytest.param(b"just words\nand more", "No line", id="prose"),
        pytest.param(b"42", "no object", id="number"),
        pytest.param(b'{"a": 1}', "no session", id="other json"),
        pytest.param(b"[]", "no session", id="empty list"),
        pytest.param(b'[{"role": "user", "content": "cut', "No line", id="cut-off document"),
        pytest.param(b"\x1f\x8b\x08nonsense", "gzip", id="damaged gzip"),
        pytest.param(b"[" * 5000 + b"]" * 5000, "nested", id="nested too deeply"),
    ],
)
def test_what_is_no_session_is_refused_and_the_formats_are_named(data, why):
    with pytest.raises(BadInput, match=f"(?s){why}.*Nothing was imported.*claude-code"):
        read(data)


def test_a_directory_and_a_missing_file_are_refused(tmp_path: Path):
    with pytest.raises(BadInput, match="directory"):
        read(tmp_path)
    with pytest.raises(BadInput, match="no file"):
        read(tmp_path / "gone.jsonl")
    with pytest.raises(BadInput, match="no format docx"):
        read(lines(HI), "docx")


@pytest.mark.parametrize(
    "data",
    [
        pytest.param(b"\xef\xbb\xbf" + lines(HI), id="byte-order mark"),
        pytest.param(lines(HI, HI).replace(b"\n", b"\r\n"), id="crlf"),
        pytest.param(gzip.compress(lines(HI)), id="gzip"),
        pytest.param(gzip.compress(lines(HI)) + gzip.compress(lines({"type": "x", "sessionId": "s"})), id="two gzips"),
        pytest.param(lines(HI).decode().encode("utf-16"), id="utf-16"),
        pytest.param(lines(HI).decode(), id="text"),
        pytest.param(b"\n\n" + lines(HI) + b"\n", id="blank lines"),
    ],
)
def test_rough_but_whole_input_is_read(data):
    assert messages(read(data))[-1:] == ASK
    assert not read(data).bad


def test_bad_lines_are_named_by_number_and_the_rest_is_read():
    done = read(b"garbage\n" + lines(HI) + b'7\n[1]\n{"type": "user", "uu')
    assert [(line.number, line.why.split(":")[0]) for line in done.bad] == [
        (1, "not JSON"), (3, "JSON, but no object"), (4, "a list, not a line of a session"), (5, "not JSON"),
    ]  # fmt: skip
    assert messages(done) == ASK


def test_a_line_nested_too_deeply_is_named():
    done = read(lines(HI) + b'{"type": "user", "x": ' + b"[" * 400 + b"]" * 400 + b"}\n")
    assert [line.number for line in done.bad] == [2]


def test_a_cut_off_gzip_gives_what_it_holds():
    many = lines(*({**HI, "uuid": f"u{n}", "message": {"role": "user", "content": f"{n * n}"}} for n in range(5000)))
    done = read(gzip.compress(many)[:-3000])
    assert len(done.drafts) > 100
    assert "cut off" in done.warnings[0]


def test_lone_surrogates_nan_and_bad_bytes_are_put_up_with():
    raw = (
        b'{"type":"user","uuid":"u","parentUuid":null,"sessionId":"s","x":NaN,"message":{"content":"a\\ud800\xff\tb"}}'
    )
    done = read(raw)
    assert messages(done) == [User((Text("a��\tb"),))]
    assert "no UTF-8" in done.warnings[0]


def test_a_missing_parent_a_cycle_and_a_used_id_are_repaired_and_said():
    def said(uuid, parent):
        return {**HI, "uuid": uuid, "parentUuid": parent}

    links = [("a", None), ("b", "gone"), ("c", "d"), ("d", "c"), ("a", "d"), ("e", "d")]
    done = read(lines(*(said(uuid, parent) for uuid, parent in links)))
    assert [entry.parent for entry in entries(done)[:2]] == [None, "a"]
    assert [entry.id for entry in main(done)] == ["a", "b", "c", "d", "e"]
    assert len({draft.id for draft in done.drafts}) == 6
    assert {warning.split(" ", 1)[0] for warning in done.warnings} == {"1"}
    assert len(done.warnings) == 3


def test_a_parent_that_comes_later_in_the_file_is_stored_before_its_child():
    done = read(lines({**HI, "uuid": "b", "parentUuid": "a"}, {**HI, "uuid": "a"}))
    assert [draft.id for draft in done.drafts] == ["a", "b"]


names = st.sampled_from(["a", "b", "c", "d", None])


@settings(max_examples=80, deadline=None)
@given(st.lists(st.tuples(names, names), min_size=1, max_size=8))
def test_any_tangle_of_parents_becomes_a_tree_in_order_with_every_line_in_it(links):
    done = read(lines(*({**HI, "uuid": uuid, "parentUuid": parent} for uuid, parent in links)))
    seen = set()
    for draft in done.drafts:
        assert draft.parent is None or draft.parent in seen
        seen.add(draft.id)
    assert len(seen) == len(links)
    leaves = [draft.id for draft in done.drafts if draft.leaf]
    assert leaves == [entry.id for entry in path(entries(done), leaves[-1] if leaves else None)]


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=6),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(
        ["type", "uuid", "parentUuid", "message", "content", "role", "k", "events", "payload", "text", "usage",
         "timestamp", "history", "tool_calls", "function", "summary", "id", "parentId", "input", "source"]), inner,
        max_size=4), max_leaves=12,
)  # fmt: skip
kinds = st.sampled_from(["user", "assistant", "system", "message", "compaction", "session", "response_item",
                         "compacted", "text", "tool_use", "image", "leaf", "attachment"])  # fmt: skip


@settings(max_examples=150, deadline=None)
@given(
    st.lists(st.tuples(kinds, st.dictionaries(st.sampled_from(["message", "payload", "content", "summary", "role",
             "attachment", "timestamp", "uuid", "id"]), json_values, max_size=4)), min_size=1, max_size=4),
    st.sampled_from(["claude-code", "pi", "openclaw", "codex", "openai", "anthropic", "clew"]),
)  # fmt: skip
def test_lines_of_any_content_are_all_accounted_for(values, format):
    done = read(lines(*({**more, "type": kind} for kind, more in values)), format)
    assert sum(done.counts.values()) + sum(done.unknown.values()) + len(done.bad) == len(values)
    assert read(lines(*({**more, "type": kind} for kind, more in values)), format) == done


def test_an_unknown_line_is_kept_word_for_word():
    odd = {"type": "odd", "sessionId": "s", "deep": {"a": [1, 2.5, None]}}
    assert bodies(lines(HI, odd))[1] == Custom("claude-code.odd", odd)


def test_the_beginning_of_a_file_is_enough_to_tell_its_format():
    assert detect(lines(HI, HI)[:-20]) == "claude-code"
    assert detect(b'{"messages": [{"role": "user", "content": "cut') == "openai"
    assert detect(b'{"messages": [{"role": "user", "content": [{"type": "tool_result", "cut') == "anthropic"


def test_times_go_on_from_the_one_before_and_ids_depend_on_content_and_place():
    chat = lines({"role": "user", "content": "a"}, {"role": "user", "content": "a"})
    done = read(chat, at=5)
    assert [draft.at for draft in done.drafts] == [5, 5]
    assert done == read(chat, at=5)
    assert len({draft.id for draft in done.drafts}) == 2
