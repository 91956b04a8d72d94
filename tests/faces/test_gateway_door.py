"""The gateway's door over real sockets: who is let in, what is refused, and what a refusal gives away."""

import base64
import json
import os
import socket
import threading
import time

import httpx2
import pytest
from websockets.exceptions import ConnectionClosed, InvalidStatus
from websockets.sync.client import connect

from clew.gateway.door import HEADERS, WRONG
from clew.testing.server import ModelServer, Say
from tests.flow.gateway_process import TOKEN, Gateway

KEY = {"key": "agent:main:main"}
MOST = 100_000


@pytest.fixture(scope="module")
def gateway(tmp_path_factory):
    with (
        ModelServer(lambda seen: Say("<img src=x onerror=alert(1)>")) as server,
        Gateway(tmp_path_factory.mktemp("gateway"), server, maxBodyBytes=MOST) as running,
    ):
        yield running
    assert "Traceback" not in running.log
    assert TOKEN not in running.log


def raw(gateway, data: bytes, seconds: float = 10) -> tuple[int, bytes]:
    """What comes back for bytes: the status and all of it."""
    with socket.create_connection(("127.0.0.1", gateway.port), timeout=seconds) as line:
        line.sendall(data)
        came = b""
        while not came.endswith(b"}") and (piece := line.recv(65_536)):
            came += piece
    return int(came.split()[1]) if came else 0, came


def head(method: str, path: str, *more: str, host: str = "localhost", token: str | None = TOKEN) -> bytes:
    lines = [
        f"{method} {path} HTTP/1.1",
        f"Host: {host}",
        *([f"Authorization: Bearer {token}"] if token else []),
        *more,
    ]
    return "\r\n".join([*lines, "", ""]).encode("utf-8")


@pytest.mark.parametrize(
    "host",
    ["evil.example", "localhost.evil.example", "evil@localhost", "localhost#x", "[::1", "localhost:x",
     "127.0.0.1.nip.io", "2130706433", "", "localhost:18789:1", "localhost\t.evil"],
)  # fmt: skip
def test_another_name_does_not_come_in(gateway, host):
    assert raw(gateway, head("GET", "/api/sessions", host=host))[0] in (400, 421)


@pytest.mark.parametrize("host", ["localhost", "LOCALHOST:1", "127.0.0.1", "[::1]:18789"])
def test_its_own_names_do(gateway, host):
    assert raw(gateway, head("GET", "/api/sessions", host=host))[0] == 200


@pytest.mark.parametrize(
    "origin", ["https://evil.example", "null", "http://localhost:3000", "http://localhost.evil.example", "", "file://"]
)
def test_another_origin_does_not_come_in_token_or_not(gateway, origin):
    for path in ("/api/sessions", "/healthz", "/login"):
        status, said = raw(gateway, head("POST", path, f"Origin: {origin}", "Content-Length: 0", host="localhost:1"))
        assert status == 403
        assert b"access-control" not in said.lower()


def test_a_websocket_of_another_page_does_not_open(gateway):
    url = f"ws://127.0.0.1:{gateway.port}/api/ws"
    for heads in ({"Origin": "https://evil.example", "Authorization": f"Bearer {TOKEN}"}, {}):
        with pytest.raises(InvalidStatus) as refused, connect(url, additional_headers=heads):
            pass
        assert refused.value.response.status_code == 403


@pytest.mark.parametrize(
    "given",
    [
        "",
        "Bearer",
        "Bearer ",
        f"Bearer {TOKEN}x",
        f"Bearer {TOKEN[:-1]}",
        f"Basic {TOKEN}",
        f"bearer\t{TOKEN}",
        "Bearer ñ",
    ],
)
def test_a_wrong_token_is_told_the_same_whatever_is_wrong(gateway, given):
    status, said = raw(gateway, head("GET", "/api/sessions", f"Authorization: {given}", token=None))
    assert status in (401, 429)
    assert TOKEN.encode() not in said


@pytest.mark.parametrize(
    ("body", "status"),
    [
        pytest.param(b"[" * 10_000 + b"]" * 10_000, 400, id="ten thousand levels"),
        pytest.param(b'{"text":' + b'{"a":' * 10_000, 400, id="ten thousand levels, open"),
        pytest.param(b'{"text": "\xff\xfe"}', 422, id="no UTF-8"),
        pytest.param(b"\x00\x00", 422, id="NUL"),
        pytest.param(b'{"text": "\\ud800"}', 422, id="half a character"),
        pytest.param(b'{"text": "x", "\\ud800": 1}', 422, id="half a character as a name"),
        pytest.param(b'{"text": "x", "text": 1e999}', 422, id="a number beyond numbers"),
        pytest.param(b'{"text": NaN}', 422, id="no number"),
        pytest.param(b'{"text": ' + b"9" * 50_000 + b"}", 422, id="a number of 50,000 digits"),
        pytest.param(b'{"text": "x", "wait": "maybe"}', 422, id="no boolean"),
        pytest.param(b"", 422, id="nothing"),
        pytest.param(b'"' + b"x" * MOST + b'"', 413, id="too large"),
    ],
)
def test_a_bad_body_is_refused_and_nothing_else_happens(gateway, body, status):
    heads = {"content-type": "application/json"}
    answer = gateway.client().post("/api/session/messages", params={"key": "bad"}, content=body, headers=heads)
    assert (answer.status_code in (status, 400)) if status == 422 else (answer.status_code == status), answer.text
    assert answer.json()["error"]["message"]
    assert gateway.client().get("/api/session", params={"key": "bad"}).status_code == 404


def test_a_body_without_a_length_is_counted_as_it_comes(gateway):
    pieces = iter([b"x" * 10_000] * 50)
    answer = gateway.client().post("/api/session/messages", params=KEY, content=pieces)
    assert answer.status_code == 413


SMUGGLED = b"GET /api/sessions HTTP/1.1\r\nHost: localhost\r\n\r\n"


@pytest.mark.parametrize(
    "heads",
    [
        ["Content-Length: 5", "Content-Length: 6"],
        ["Content-Length: 5", "Transfer-Encoding: chunked"],
        ["Transfer-Encoding: chunked, identity"],
        ["Transfer-Encoding: xchunked"],
        ["Content-Length: -1"],
        ["Content-Length: +5"],
        ["Content-Length: 0x5"],
        ["Content-Length: 99999999999999999999999"],
        ["Content-Length : 5"],
        ["Host: evil.example", "Content-Length: 0"],
        ["Authorization: Bearer x", "Content-Length: 0"],
        ["X: " + "y" * 200_000, "Content-Length: 0"],
        ["A: b\x00c", "Content-Length: 0"],
    ],
)
def test_a_request_that_two_readers_would_read_differently_is_refused(gateway, heads):
    with socket.create_connection(("127.0.0.1", gateway.port), timeout=5) as line:
        line.settimeout(2)
        line.sendall(head("POST", "/api/session/messages?key=k", *heads) + b"0\r\n\r\nX")
        came = b""
        try:
            while piece := line.recv(65_536):
                came += piece
        except (TimeoutError, ConnectionResetError):
            pass
    statuses = [int(part.split()[0]) for part in came.split(b"HTTP/1.1 ")[1:]]
    assert all(400 <= one < 500 for one in statuses), came
    assert len(statuses) <= 2


def test_every_answer_carries_the_headers(gateway):
    client = gateway.client()
    answers = [
        client.get("/healthz"), client.get("/"), client.get("/nowhere"), client.post("/healthz"),
        client.get("/api/sessions"), client.get("/api/session", params={"key": "none"}),
        httpx2.get(gateway.url + "/api/sessions"), client.get("/healthz", headers={"host": "evil.example"}),
        client.post("/api/session/messages", params=KEY, content=b"{"), client.get("/api/openapi.json"),
    ]  # fmt: skip
    for answer in answers:
        for name, _ in HEADERS:
            assert name.decode() in answer.headers, (answer.url, name)
        assert "default-src 'none'" in answer.headers["content-security-policy"] or answer.url.path == "/"
        assert "server" not in answer.headers


def test_a_cookie_is_the_browsers_alone_and_needs_an_origin_to_change_anything(gateway):
    origin = f"http://127.0.0.1:{gateway.port}"
    with httpx2.Client(base_url=gateway.url) as browser:
        answer = browser.post("/login", json={"token": TOKEN}, headers={"origin": origin})
        flags = answer.headers["set-cookie"].lower()
        assert all(flag in flags for flag in ("httponly", "samesite=strict", "path=/"))
        assert TOKEN not in flags
        cookie = answer.headers["set-cookie"].split(";")[0]
    with httpx2.Client(base_url=gateway.url, headers={"cookie": cookie}) as browser:
        assert browser.get("/api/sessions").status_code == 200
        say = {"params": KEY, "json": {"text": "/status", "wait": True}}
        assert browser.post("/api/session/messages", **say).status_code == 403
        assert (
            browser.post("/api/session/messages", headers={"origin": "http://evil.example"}, **say).status_code == 403
        )
        assert browser.post("/api/session/messages", headers={"origin": origin}, **say).status_code == 200
    for forged in (
        cookie[:-1],
        cookie.replace(".", ".é"),
        "clew_gateway=x.",
        "clew_gateway=.x",
        'clew_gateway="\\377.x"',
        "=;=;",
    ):
        heads = {"cookie": forged.encode()}
        assert httpx2.get(gateway.url + "/api/sessions", headers=heads).status_code in (401, 429), forged


def test_words_of_a_model_come_as_data_and_never_as_a_page(gateway):
    answer = gateway.client().post("/api/session/messages", params=KEY, json={"text": "<script>", "wait": True})
    assert answer.headers["content-type"] == "application/json"
    assert answer.headers["x-content-type-options"] == "nosniff"
    assert answer.json()["text"].startswith("<img")
    svg = gateway.client().get("/api/session/context.svg", params={"key": "agent:main:main"})
    assert b"<script" not in svg.content
    assert "default-src 'none'" in svg.headers["content-security-policy"]


def test_a_websocket_hears_a_turn_and_a_client_that_leaves_is_let_go(gateway):
    url = f"ws://127.0.0.1:{gateway.port}/api/ws?key=agent:main:ws"
    heads = {"Authorization": f"Bearer {TOKEN}"}
    with connect(url, additional_headers=heads) as line:
        gateway.client().post("/api/session/messages", params={"key": "agent:main:ws"}, json={"text": "hi"})
        types = []
        while "Ended" not in types:
            types.append(json.loads(line.recv(timeout=10))["event"]["type"])
        assert types[0] == "Admitted"
        line.send("x" * 1_000)
    with connect(url, additional_headers=heads) as line:
        line.send(os.urandom(200_000))
        with pytest.raises(ConnectionClosed):
            line.recv(timeout=10)


def test_a_slow_reader_neither_grows_the_process_nor_holds_others_up(gateway):
    def resident() -> int:
        with open(f"/proc/{gateway.process.pid}/statm") as file:
            return int(file.read().split()[1]) * 4_096

    slow = []
    try:
        for _ in range(10):
            line = socket.create_connection(("127.0.0.1", gateway.port))
            line.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 2_048)
            line.sendall(head("GET", "/api/events"))
            line.recv(100)
            slow.append(line)
        key = base64.b32encode(os.urandom(5)).decode()
        client, body = gateway.client(), {"text": "w" * 20_000, "wait": True}
        client.post("/api/session/messages", params={"key": key}, json=body)
        before, began = resident(), time.monotonic()
        for _ in range(40):
            assert client.post(
                "/api/session/messages", params={"key": key}, json={"text": "/help", "wait": True}
            ).is_success
        for _ in range(10):
            assert client.post(
                "/api/session/messages", params={"key": key}, json={"text": "hi", "wait": True}
            ).is_success
        assert resident() - before < 40_000_000
        assert time.monotonic() - began < 30
    finally:
        for line in slow:
            line.close()


def test_many_wrong_tokens_are_told_to_come_back_later_and_the_right_one_comes_in(gateway):
    def wrong(_=None):
        return httpx2.get(gateway.url + "/api/sessions", headers={"authorization": "Bearer wrong"})

    answers = []
    threads = [threading.Thread(target=lambda: answers.append(wrong())) for _ in range(WRONG + 5)]
    for one in threads:
        one.start()
    for one in threads:
        one.join()
    last = wrong()
    assert last.status_code == 429
    assert int(last.headers["retry-after"]) > 0
    assert {one.status_code for one in answers} <= {401, 429}
    assert gateway.client().get("/api/sessions").status_code == 200
    guess = httpx2.post(gateway.url + "/login", json={"token": "a guess of the right length"})
    assert guess.status_code == 429


def test_a_cookie_is_worth_nothing_once_it_was_logged_out(tmp_path):
    with ModelServer() as server, Gateway(tmp_path, server) as gateway:  # one nobody has tried wrong tokens on
        logged_out(gateway)


def logged_out(gateway):
    url, own = f"http://127.0.0.1:{gateway.port}", {"origin": f"http://127.0.0.1:{gateway.port}"}
    with httpx2.Client(base_url=url) as client:
        came = client.post("/login", json={"token": TOKEN}, headers=own)
        cookie = {"cookie": came.headers["set-cookie"].partition(";")[0]}
        assert client.get("/api/sessions", headers=cookie).status_code == 200
        assert client.post("/logout", headers={**cookie, **own}).status_code == 200
    with httpx2.Client(base_url=url) as client:
        assert client.get("/api/sessions", headers=cookie).status_code == 401


@pytest.mark.parametrize(
    ("method", "path", "body", "status"),
    [
        ("POST", "/api/session/messages?key=agent:main:s", {"text": "/reset", "sender": ""}, 422),
        ("POST", "/api/session/messages?key=agent:main:s", {"text": "/reset", "sender": " "}, 422),
        ("POST", "/api/sessions", {"agent": "ops", "key": "agent:main:z"}, 400),
        ("POST", "/api/session/pin?key=agent:main:main", {"entry": "#" + "9" * 24}, 404),
    ],
    ids=["no name", "a blank name", "an agent that is not the key's", "a number beyond any"],
)
def test_what_only_looks_right_is_refused_in_the_form_of_every_error(gateway, method, path, body, status):
    heads = {"authorization": f"Bearer {TOKEN}"}
    with httpx2.Client(base_url=f"http://127.0.0.1:{gateway.port}", headers=heads) as client:
        client.post("/api/session/messages", params=KEY, json={"text": "hi", "wait": True})
        came = client.request(method, path, json=body)
    assert came.status_code == status
    assert came.json()["error"]["message"]
