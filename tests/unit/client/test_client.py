"""Where a gateway is looked for, and how its event streams are read; no network."""

import pytest

from clew.client.gateway import _lines
from clew.client.place import place
from clew.client.stream import Back, Lost, Open, Sent, follow, read
from clew.config.load import parse
from clew.errors import BadInput, NoGateway, NotAllowed

SETTINGS = parse('{gateway: {port: 7000, auth: {token: "the-token-of-settings"}}}')


def test_settings_environment_and_options_say_where_in_this_order():
    env = {"CLEW_GATEWAY_URL": "https://far.example/clew/", "CLEW_GATEWAY_TOKEN": "e"}
    found = place(SETTINGS, {})
    assert (found.url, found.token, found.named) == ("http://127.0.0.1:7000", "the-token-of-settings", False)
    found = place(SETTINGS, env)
    assert (found.url, found.token, found.named) == ("https://far.example/clew", "e", True)
    assert place(SETTINGS, env, url="http://x:1", token="t").url == "http://x:1"
    assert "the-token" not in repr(place(SETTINGS, {}))


@pytest.mark.parametrize(
    ("host", "url"), [("0.0.0.0", "http://127.0.0.1:1"), ("::", "http://[::1]:1"), ("::1", "http://[::1]:1")]
)
def test_a_gateway_that_listens_everywhere_is_reached_here(host, url):
    assert place(parse(f'{{gateway: {{host: "{host}", port: 1}}}}'), {}).url == url


@pytest.mark.parametrize("url", ["nowhere", "ftp://x", "http://", "http://x:port", "file:///etc"])
def test_what_is_no_url_is_refused(url):
    with pytest.raises(BadInput, match="no gateway's URL"):
        place(SETTINGS, {}, url=url)


def test_lines_end_where_the_format_ends_them_and_nowhere_else():
    said = 'data: {"text": "a\u2028b\x85c"}\r\n\nid: 7\n'.encode()
    pieces = [said[at : at + 1] for at in range(len(said))]  # also within a character
    assert list(_lines(pieces)) == ['data: {"text": "a\u2028b\x85c"}', "", "id: 7"]


def test_events_are_read_with_their_ids_and_comments_left_out():
    lines = [": ping", "id: 3", "event: Ended", "data: one", "data: two", "", "", "data: x", "", "data: cut off"]
    assert list(read(lines)) == [Sent("3", "Ended", "one\ntwo"), Sent("3", "message", "x")]


class Streams:
    """A gateway whose streams are a list: lines, or what goes wrong."""

    def __init__(self, *streams):
        self.streams, self.heads = list(streams), []

    def lines(self, path, *, heads, quiet_s, **query):
        self.heads.append(heads)
        return self

    def __enter__(self):
        stream = self.streams.pop(0)
        if isinstance(stream, Exception):
            raise stream
        return iter(stream)

    def __exit__(self, *exc):
        return False


def test_a_lost_stream_is_told_and_taken_up_where_it_was():
    gateway = Streams(["id: 1", "data: a", ""], NoGateway(), NoGateway(), ["id: 2", "data: b", ""], NotAllowed())
    waits, seen = [], []
    with pytest.raises(NotAllowed):
        seen.extend(follow(gateway, "/x", sleep=waits.append))
    assert seen == [Open(), Sent("1", "message", "a"), Lost(), Back(), Sent("2", "message", "b"), Lost()]
    assert gateway.heads == [{}, *[{"last-event-id": "1"}] * 3, {"last-event-id": "2"}]
    assert waits == [0.5, 1.0, 2.0, 0.5]


def test_the_first_connection_has_to_stand():
    with pytest.raises(NoGateway):
        list(follow(Streams(NoGateway()), "/x", sleep=lambda _: None))
