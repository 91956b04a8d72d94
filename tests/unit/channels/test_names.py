"""Names of sessions and messages: nobody's is another's, and none breaks a key."""

from hypothesis import given
from hypothesis import strategies as st

from clew.gateway.channels.names import key_of, message_id, redacted

NAMES = st.text(min_size=1, max_size=200)


def test_keys_as_they_are_read() -> None:
    assert key_of("main", "irc", "ann") == "agent:main:irc:ann"
    assert key_of("main", "irc", "ann", "#clew") == "agent:main:irc:#clew"
    assert key_of("main", "webhook", "ann", "ops") == key_of("main", "webhook", "bob", "#ops")
    assert key_of("main", "webhook", "a:b c") == "agent:main:webhook:a%3Ab%20c"


@given(NAMES, NAMES)
def test_no_person_has_a_rooms_session(person, room) -> None:
    assert key_of("main", "webhook", person) != key_of("main", "webhook", "x", room)


@given(NAMES, NAMES)
def test_two_people_have_two_sessions(one, other) -> None:
    assert (key_of("main", "webhook", one) == key_of("main", "webhook", other)) is (one == other)


@given(NAMES)
def test_a_key_is_one_the_hub_takes(name) -> None:
    key = key_of("main", "webhook", name)
    assert len(key) <= 200
    assert key.isascii()
    assert key.isprintable()
    assert key.count(":") == 3


def test_an_id_is_of_one_message_of_one_person() -> None:
    first = message_id("webhook", "k", "ann", "1")
    assert first == message_id("webhook", "k", "ann", "1")
    others = [("k", "bob", "1"), ("k", "ann", "2"), ("l", "ann", "1")]
    assert first not in {message_id("webhook", *other) for other in others}
    assert len(first) <= 64


def test_the_log_does_not_name_people() -> None:
    assert "ann" not in redacted("ann")
    assert redacted("ann") == redacted("ann") != redacted("bob")
