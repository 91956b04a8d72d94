"""Exact counts: offline, safe on any string, and a clear word where the extra is missing."""

import sys

import pytest

from clew.errors import BadInput, CallerError
from clew.tokens.exact import ENCODINGS, counter


@pytest.mark.parametrize("name", ENCODINGS)
def test_every_vocabulary_counts_any_string(name):
    pytest.importorskip("quicktok", reason="the optional extra `exact` is not installed")
    count = counter(name)
    assert count("") == 0
    assert count("hello world") == 2
    assert count("<|endoftext|>") > 1
    assert count("a\ud800b") >= 2


def test_an_unknown_vocabulary_is_refused_with_the_known_ones():
    with pytest.raises(BadInput, match="o200k, cl100k, llama3, qwen3"):
        counter("gpt9")


def test_without_the_extra_the_error_says_how_to_install_it(monkeypatch):
    monkeypatch.setitem(sys.modules, "quicktok", None)
    with pytest.raises(CallerError, match=r"pip install 'clew\[exact\]'"):
        counter()
