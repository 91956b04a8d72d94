"""Tokens: made once, kept as a hash, compared whole."""

import pytest

from clew.errors import BadSettings
from clew.gateway.door import hosts_of
from clew.gateway.serve import is_loopback
from clew.gateway.tokens import FILE, Tokens


def test_a_made_token_fits_until_a_new_one_is_made(tmp_path):
    tokens, made = Tokens.of(None, tmp_path)
    again, shown = Tokens.of(None, tmp_path)
    assert tokens.fits(made)
    assert again.fits(made)
    assert shown is None
    anew, other = Tokens.of(None, tmp_path, anew=True)
    assert anew.fits(other)
    assert not anew.fits(made)


@pytest.mark.parametrize("given", [None, "", "x", "é", "\ud800", "a" * 100_000])
def test_nothing_else_fits(tmp_path, given):
    assert not Tokens.of(None, tmp_path)[0].fits(given)


def test_a_kept_file_that_is_no_hash_is_made_anew(tmp_path):
    (tmp_path / FILE).write_bytes(b"\xff\x00 garbage")
    tokens, made = Tokens.of(None, tmp_path)
    assert tokens.fits(made)


@pytest.mark.parametrize(
    "written", ["short", "sixteen-är-lång-x", "has a space in it", "has\na-line-in-it-x", " " * 20]
)
def test_a_token_that_is_set_is_long_and_plain(tmp_path, written):
    with pytest.raises(BadSettings) as told:
        Tokens.of(written, tmp_path)
    assert written not in str(told.value)


def test_hosts_are_those_of_this_machine_and_those_that_are_set():
    assert hosts_of("0.0.0.0", ["box.lan"]) == {"localhost", "127.0.0.1", "::1", "box.lan"}
    assert [is_loopback(one) for one in ("localhost", "127.0.0.2", "::1", "0.0.0.0", "", "::", "box.lan")] == [
        True, True, True, False, False, False, False,
    ]  # fmt: skip
