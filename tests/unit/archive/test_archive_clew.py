"""Clew's own lines: every transcript comes back exactly, in bytes and in values."""

import msgspec
import pytest
from hypothesis import given, settings

from clew.errors import BadInput, NewerSchema
from clew.store.archive import read, write
from clew.transcript import Text, User, path
from tests.unit.archive.archive_samples import chain, entries, lines, main, records, transcripts


@settings(max_examples=80, deadline=None)
@given(transcripts())
def test_every_transcript_comes_back_exactly(tree):
    out = b"".join(write(records(tree), "clew", {"title": "t"}))
    done = read(out)
    assert entries(done) == tree
    assert [draft.tokens for draft in done.drafts] == [record.tokens for record in records(tree)]
    assert b"".join(write(records(entries(done)), "clew", done.meta)) == out


@settings(max_examples=40, deadline=None)
@given(transcripts())
def test_the_active_branch_comes_back(tree):
    leaf = tree[0].id if tree else None
    assert main(read(b"".join(write(records(tree), "clew", leaf=leaf)))) == path(tree, leaf)


def test_a_newer_export_is_refused():
    with pytest.raises(NewerSchema, match="upgrade Clew"):
        read(lines({"type": "clew-session", "schema": 99, "meta": {}}))


def test_a_damaged_line_is_named_and_the_rest_is_read():
    out = b"".join(write(records(chain(User((Text("a"),)), User((Text("b"),)))), "clew")).splitlines(keepends=True)
    broken = {"tokens": 1, "entry": {"id": "x", "parent": None, "at": 0, "body": {"type": "never"}}}
    done = read(b"".join([*out[:2], msgspec.json.encode(broken) + b"\n", *out[2:]]))
    assert [line.number for line in done.bad] == [3]
    assert len(done.drafts) == 2


def test_lone_surrogates_do_not_leave_the_house():
    out = b"".join(write(records(chain(User((Text("a\ud800b"),)))), "clew"))
    assert "a�b" in out.decode("utf-8")


@pytest.mark.parametrize("format", ["claude-code", "openclaw", "pi", "openai", "anthropic"])
def test_no_export_writes_a_lone_surrogate(format):
    assert "a�b" in b"".join(write(records(chain(User((Text("a\ud800b"),)))), format)).decode("utf-8")


def test_there_is_no_export_to_what_cannot_be_written():
    with pytest.raises(BadInput, match="claude-code, openclaw"):
        write([], "docx")
