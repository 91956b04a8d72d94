"""The gateway as a process: it starts once a store, drains when told to end, and forgets nothing."""

import signal
import subprocess
import threading
import time

import httpx2
import pytest

from clew.store.sqlite import SqliteStore
from clew.testing.server import ModelServer, Say
from tests.flow.gateway_process import TOKEN, Gateway, said

KEY = {"key": "agent:main:main"}


@pytest.fixture
def slow():
    """A model that takes a second."""
    with ModelServer(lambda seen: Say("at last", delay_s=1.0)) as server:
        yield server


def test_a_second_gateway_on_the_same_store_is_refused_with_a_sentence(tmp_path, slow):
    with Gateway(tmp_path, slow) as gateway:
        other = subprocess.run(
            gateway.command(), env=gateway.environment(), capture_output=True, text=True, timeout=60, check=False
        )
        assert other.returncode == 1
        assert f"Another gateway (process {gateway.process.pid}) owns the sessions" in other.stderr
        assert gateway.client().get("/readyz").json() == {"ready": True}


def test_a_killed_gateway_leaves_no_lock(tmp_path, slow):
    gateway = Gateway(tmp_path, slow).start()
    gateway.end(signal.SIGKILL)
    with gateway.start():
        assert gateway.client().get("/readyz").status_code == 200


@pytest.mark.parametrize("how", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_lets_the_running_turn_end_and_keeps_what_waits(tmp_path, slow, how):
    gateway = Gateway(tmp_path, slow).start()
    client, answers = gateway.client(), []
    one = threading.Thread(
        target=lambda: answers.append(
            client.post("/api/session/messages", params=KEY, json={"text": "first", "wait": True}).json()
        )
    )
    one.start()
    time.sleep(0.5)
    taken = client.post("/api/session/messages", params=KEY, json={"text": "second"})
    gateway.process.send_signal(how)
    time.sleep(0.2)
    late, ready = (
        client.post("/api/session/messages", params=KEY, json={"text": "third"}),
        httpx2.get(gateway.url + "/readyz"),
    )
    one.join()
    assert gateway.end(how) == 0
    assert (taken.status_code, late.status_code, ready.status_code) == (202, 503, 503)
    assert int(late.headers["retry-after"]) > 0
    assert answers[0]["text"] == "at last"
    with gateway.start():
        client = gateway.client()
        for _ in range(50):
            entries = client.get("/api/session/entries", params=KEY).json()["entries"]
            if len(entries) == 4:
                break
            time.sleep(0.1)
        assert said(entries, "user") == ["first", "second"]
        assert client.get(f"/api/runs/{taken.json()['run']}").json()["outcome"] == "done"


def test_streams_are_closed_at_the_end_and_hold_nothing_up(tmp_path, slow):
    gateway = Gateway(tmp_path, slow).start()
    seen: list[str] = []

    def listen():
        with gateway.client().stream("GET", "/api/events") as answer:
            seen.extend(answer.iter_lines())
        seen.append("closed")

    listener = threading.Thread(target=listen)
    listener.start()
    time.sleep(0.5)
    began = time.monotonic()
    assert gateway.end() == 0
    listener.join(5)
    assert seen[-1] == "closed"
    assert time.monotonic() - began < 2


def test_a_turn_that_outlives_the_drain_is_cut_off_and_told(tmp_path):
    with ModelServer(lambda seen: Say("never", delay_s=30)) as server:
        gateway = Gateway(tmp_path, server, drainSeconds=0.3).start()
        gateway.client().post("/api/session/messages", params=KEY, json={"text": "long", "id": "long-one"})
        time.sleep(0.5)
        began = time.monotonic()
        assert gateway.end() == 0
        assert time.monotonic() - began < 5
    with SqliteStore(tmp_path / "clew.sqlite") as store:
        assert store.entry_many("agent:main:main", ["long-one"])
        assert not {"inbox", "running"} & store.session("agent:main:main").meta.keys()


def test_a_second_signal_waits_no_longer(tmp_path):
    with ModelServer(lambda seen: Say("never", delay_s=30)) as server:
        gateway = Gateway(tmp_path, server).start()
        gateway.client().post("/api/session/messages", params=KEY, json={"text": "long"})
        time.sleep(0.5)
        gateway.process.send_signal(signal.SIGINT)
        time.sleep(0.3)
        began = time.monotonic()
        assert gateway.end(signal.SIGINT) == 0
        assert time.monotonic() - began < 5


def test_the_token_is_nowhere(tmp_path, slow):
    with Gateway(tmp_path, slow) as gateway:
        client = gateway.client()
        schema = client.get("/api/openapi.json").text
        answers = [
            client.post("/api/session/messages", params=KEY, json={"text": 1, "token": TOKEN}).text,
            client.get(f"/api/runs/{'x' * 300}").text,
            httpx2.get(gateway.url + "/api/sessions", headers={"authorization": f"Bearer {TOKEN}x"}).text,
        ]
        kept = client.post("/api/session/messages", params=KEY, json={"text": "hello", "wait": True}).text
    files = [file.read_bytes() for file in tmp_path.iterdir() if file.is_file() and file.name != "clew.json5"]
    assert not any(TOKEN in one for one in [schema, kept, gateway.log, *answers])
    assert not any(TOKEN.encode() in one for one in files)


def test_a_made_token_is_shown_once_and_kept_as_a_hash(tmp_path, slow):
    gateway = Gateway(tmp_path, slow, auth={}).start()
    gateway.end()
    token = gateway.log.split("Token: ")[1].split()[0]
    again = gateway.start()
    answer = httpx2.get(again.url + "/api/sessions", headers={"authorization": f"Bearer {token}"})
    again.end()
    assert answer.status_code == 200
    assert again.log.count("Token: ") == 1
    kept = tmp_path / "gateway-token.sha256"
    assert token not in kept.read_text()
    assert kept.stat().st_mode & 0o777 == 0o600


def test_it_listens_elsewhere_only_with_a_token(tmp_path, slow):
    gateway = Gateway(tmp_path, slow, host="0.0.0.0", auth={})
    outcome = subprocess.run(
        gateway.command(), env=gateway.environment(), capture_output=True, text=True, timeout=60, check=False
    )
    assert outcome.returncode != 0
    assert "no gateway.auth.token is set" in outcome.stderr
