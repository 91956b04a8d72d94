"""Entries go to canonical JSON and back; what is not an entry, or not ours to read, is refused."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clew.errors import DamagedStore, NewerSchema
from clew.transcript import SCHEMA, Call, Custom, Entry, Pin, Said, Thinking, assistant, decode, encode, user
from tests.unit.making import turns

TEXT = st.text(st.characters(exclude_categories=[]), max_size=60)


@given(turns())
def test_there_and_back_again(messages):
    for at, message in enumerate(messages):
        entry = Entry(f"e{at}", None, at, Said(message))
        assert decode(encode(entry)) == entry


@given(TEXT)
def test_any_text_can_be_stored_and_is_valid_unicode_afterwards(text):
    stored = encode(Entry("e", None, 1, Said(user(text))))
    stored.decode("utf-8")
    assert encode(decode(stored)) == stored


def test_a_lone_surrogate_deep_in_arguments_becomes_a_replacement():
    entry = Entry("e", None, 1, Said(assistant("", Call("c", "run", {"deep": [{"x": "a\ud83db"}]}))))
    assert decode(encode(entry)).body.message.blocks[0].arguments == {"deep": [{"x": "a�b"}]}


def test_emoji_survive_and_equal_entries_have_equal_bytes():
    first = Entry("e", None, 1, Said(assistant("📁 文件", Call("c", "run", {"b": 1, "a": 2}))))
    second = Entry("e", None, 1, Said(assistant("📁 文件", Call("c", "run", {"a": 2, "b": 1}))))
    assert encode(first) == encode(second)
    assert "📁 文件".encode() in encode(first)


def test_thinking_keeps_its_signature_with_its_text():
    entry = Entry("e", None, 1, Said(assistant("x")))
    signed = Entry("e", None, 1, Said(type(entry.body.message)((Thinking("why", "sig"),))))
    assert decode(encode(signed)).body.message.blocks == (Thinking("why", "sig"),)


@pytest.mark.parametrize("data", [b"", b"{", b"[]", b'{"id":"a"}', b"\xff\xfe", b'{"id":1,"parent":null,"at":1}'])
def test_what_is_no_entry_is_damage(data):
    with pytest.raises(DamagedStore, match="left untouched"):
        decode(data)


def test_a_newer_schema_is_refused_and_not_guessed_at():
    with pytest.raises(NewerSchema, match="upgrade Clew"):
        decode(encode(Entry("e", None, 1, Pin("t", "x", "user"))), schema=SCHEMA + 1)


def test_custom_data_comes_back_as_it_was():
    entry = Entry("e", "d", 1, Custom("vendor.x", {"n": [1, None, "ü"]}))
    assert decode(encode(entry)) == entry
