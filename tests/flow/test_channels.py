"""The webhook: signed, taken in once, answered; and that who may not do a thing does not do it by any route."""

import asyncio
import json
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import Any

import pytest

from clew.errors import BadSettings
from clew.gateway.channel_routes import routes
from clew.gateway.channels.replies import Replies
from clew.gateway.channels.rules import COMMAND, TALK
from clew.gateway.channels.signature import SIGNATURE, TIMESTAMP, problem
from clew.gateway.hub import Hub
from clew.store.inmemory import InMemoryStore
from clew.store.sqlite import SqliteStore
from clew.transcript import Said, User
from tests.flow.gateway_scene import SECRET, gateway, settings, stored, webhook

ANN = "agent:main:webhook:ann"


def users(store: Any, key: str) -> list[User]:
    found = [record.entry.body for record in store.entries(key)]
    return [one.message for one in found if isinstance(one, Said) and isinstance(one.message, User)]


def play(scene: Any) -> Any:
    return asyncio.run(scene)


@pytest.fixture
def store():
    with InMemoryStore() as store:
        yield store


def test_a_signed_message_is_answered_in_the_response(store, tmp_path):
    async def scene():
        async with gateway(store, settings(webhook("ann")), tmp_path) as there:
            return await there.send(id="m1", sender="ann", name="Ann", text="hello")

    answer = play(scene())
    assert answer.status_code == 200
    assert (answer.json()["ok"], answer.json()["text"]) == (True, "You said: hello")
    (said,) = users(store, ANN)
    assert said.sender is not None
    assert said.sender.id == "ann"


@pytest.mark.parametrize(
    ("how", "code"),
    [
        pytest.param({"secret": "another-secret-at-all"}, "wrong_signature", id="another secret"),
        pytest.param({"at": 1_000_000_000}, "stale", id="an old request"),
        pytest.param({"at": 99_000_000_000}, "stale", id="from the future"),
    ],
)
def test_what_is_not_signed_well_is_refused(store, tmp_path, how, code):
    async def scene():
        async with gateway(store, settings(webhook("*")), tmp_path) as there:
            bare = await there.client.post("/channels/webhook", json={"id": "1"})
            return bare, await there.send(id="m1", sender="ann", text="hello", **how)

    bare, answer = play(scene())
    assert (bare.status_code, bare.json()["error"]["code"]) == (401, "unsigned")
    assert (answer.status_code, answer.json()["error"]["code"]) == (401, code)
    assert stored(store) == []


@pytest.mark.parametrize("message", [{}, {"id": "", "sender": "ann", "text": "x"}, {"id": "1", "sender": "ann"},
                                     {"id": "1", "sender": "ann", "text": "x", "role": "system"},
                                     {"id": "1", "sender": "ann", "text": "x", "timestamp": 99_000_000_000},
                                     {"id": "1", "sender": 1, "text": "x"}])  # fmt: skip
def test_a_message_that_is_none_is_refused_and_not_repeated(store, tmp_path, message):
    async def scene():
        async with gateway(store, settings(webhook("*")), tmp_path) as there:
            return await there.send(**message)

    answer = play(scene())
    assert (answer.status_code, answer.json()["error"]["code"]) == (400, "bad_input")
    assert stored(store) == []


def test_a_body_beyond_a_mebibyte_is_refused_before_it_is_read(store, tmp_path):
    async def scene():
        async with gateway(store, settings(webhook("*")), tmp_path) as there:
            return await there.send(id="m1", sender="ann", text="x" * 2_000_000)

    assert play(scene()).status_code == 413


def test_the_same_message_is_one_turn_however_often_it_comes(store, tmp_path):
    async def scene():
        async with gateway(store, settings(webhook("ann")), tmp_path) as there:
            first = await asyncio.gather(*(there.send(id="m1", sender="ann", text="hello") for _ in range(20)))
            return [*first, await there.send(id="m1", sender="ann", text="hello")], len(there.model.requests)

    answers, requests = play(scene())
    assert requests == 1
    assert len({answer.text for answer in answers}) == 1
    assert len(users(store, ANN)) == 1


def test_nor_is_it_another_turn_after_a_restart(tmp_path):
    def again(text: str, id: str) -> Any:
        async def scene():
            with SqliteStore(tmp_path / "clew.sqlite") as store:
                async with gateway(store, settings(webhook("ann")), tmp_path) as there:
                    answer = (await there.send(id=id, sender="ann", text=text)).json()
                    return answer, len(there.model.requests), store.session(ANN).entries

        return play(scene())

    first, _, _ = again("hello", "m1")
    second, requests, entries = again("hello", "m1")
    assert (second, requests, entries) == (first, 0, 2)
    again("/reset", "m2")
    *_, before = again("/status", "m3")
    reset, _, after = again("/reset", "m2")
    assert "before" in reset["text"]
    assert before == after


def test_a_turn_that_failed_is_not_tried_again_by_the_same_message(tmp_path):
    def once(answers: list[Any], id: str) -> Any:
        async def scene():
            with SqliteStore(tmp_path / "clew.sqlite") as store:
                async with gateway(store, settings(webhook("ann")), tmp_path, iter(answers)) as there:
                    return (await there.send(id=id, sender="ann", text="hello")).json()

        return play(scene())

    assert once([], "m1")["ok"] is False
    assert once(["Never."], "m1")["outcome"] == "failed"
    assert once([], "m2")["ok"] is False  # has the entry of the first, since nothing came in between
    assert once(["Never."], "m2")["text"] != "Never."
    assert once(["Now."], "m3")["text"] == "Now."


def test_a_slow_answer_is_fetched_by_sending_the_message_again(store, tmp_path):
    async def scene():
        async with gateway(store, settings(webhook("ann", waitSeconds=0)), tmp_path) as there:
            first = await there.send(id="m1", sender="ann", text="hello")
            await there.hub.run(first.json()["run"]).wait()
            return first, await there.send(id="m1", sender="ann", text="hello")

    first, second = play(scene())
    assert first.status_code == 202
    assert (second.status_code, second.json()["text"]) == (200, "You said: hello")


def test_two_hundred_messages_at_once(tmp_path):
    async def scene(store):
        async with gateway(store, settings(webhook("*")), tmp_path) as there:
            people = [(f"m{nth}", f"person{nth % 40}") for nth in range(200)]
            return await asyncio.gather(*(there.send(id=id, sender=who, text=f"I am {id}") for id, who in people))

    with SqliteStore(tmp_path / "clew.sqlite") as store:
        answers = play(scene(store))
        assert {answer.status_code for answer in answers} == {200}
        assert [answer.json()["text"] for answer in answers] == [f"You said: I am m{nth}" for nth in range(200)]
        assert len(store.sessions()) == 40
        assert all(row.entries == 10 for row in store.sessions())


# Who may what ---------------------------------------------------------------------------------------------------------


LINES = ["hello", "/compact", "/new", "/reset", "/model other/one", "/usage full", "/context map a.svg", "/status"]


@pytest.mark.parametrize("line", LINES)
@pytest.mark.parametrize("room", ["", "ops"])
def test_who_is_not_on_the_list_gets_a_refusal_and_leaves_nothing(store, tmp_path, caplog, line, room):
    async def scene():
        async with gateway(store, settings(webhook("ann")), tmp_path) as there:
            await there.send(id="m0", sender="ann", room=room, text="hello")
            before = stored(store)
            answer = await there.send(id="m1", sender="eve-the-stranger", room=room, text=line)
            return answer, before == stored(store), len(there.model.requests)

    with caplog.at_level("INFO", "clew"):
        answer, unchanged, requests = play(scene())
    assert (answer.status_code, answer.json()["error"]["code"]) == (403, "not_allowed")
    assert answer.json()["error"]["message"] == (TALK if line == "hello" else COMMAND)
    assert (unchanged, requests) == (True, 1)
    assert not list(tmp_path.glob("*.svg"))
    assert "refused" in caplog.text
    assert not any("stranger" in str(vars(record)) for record in caplog.records)


@pytest.mark.parametrize("line", LINES[1:-1])
def test_who_may_talk_may_not_command_where_a_list_says_so(store, tmp_path, line):
    async def scene():
        config = settings(webhook("ann", "bob"), commands={"allowFrom": {"webhook": ["bob"]}})
        async with gateway(store, config, tmp_path) as there:
            await there.send(id="m0", sender="ann", room="ops", text="hello")
            before = stored(store)
            refused = await there.send(id="m1", sender="ann", room="ops", text=line)
            unchanged = before == stored(store)
            looked = await there.send(id="m2", sender="ann", room="ops", text="/status")
            return refused, unchanged, looked, await there.send(id="m3", sender="bob", room="ops", text="/reset")

    refused, unchanged, looked, reset = play(scene())
    assert (refused.status_code, unchanged) == (403, True)
    assert (looked.status_code, reset.status_code) == (200, 200)
    assert reset.json()["ok"]


def test_a_compaction_is_refused_by_every_route(store, tmp_path):
    async def scene():
        async with gateway(store, settings(webhook("ann")), tmp_path) as there:
            await there.send(id="m0", sender="ann", text="hello")
            before, api, key = stored(store), "/api/session", {"key": ANN}
            said = {"text": "/compact", "wait": True}
            answers = [
                await there.send(id="m1", sender="eve", text="/compact"),
                await there.send(id="m2", sender="ann", text="/compact", secret="another-secret-at-all"),
                await there.client.post(f"{api}/messages", params=key, json=said),
                await there.client.post(f"{api}/compact", params=key, json={}),
                await there.ask("POST", f"{api}/messages", token="wrong", params=key, json=said),
                await there.ask("POST", f"{api}/compact", token="wrong", params=key, json={}),
                await there.ask("POST", f"{api}/messages", params=key, json={**said, "sender": "eve"}),
            ]
            return [answer.status_code for answer in answers], before == stored(store), len(there.model.requests)

    assert play(scene()) == ([403, 401, 401, 401, 401, 401, 403], True, 1)


def test_a_person_cannot_read_a_room_by_its_name(store, tmp_path):
    async def scene():
        async with gateway(store, settings(webhook("*")), tmp_path) as there:
            await there.send(id="m1", sender="ann", room="ops", text="hello")
            await there.send(id="m1", sender="#ops", text="hello")
            return len(store.sessions())

    assert play(scene()) == 2


# Rooms ----------------------------------------------------------------------------------------------------------------


def test_a_room_is_told_behind_the_boundary_and_private_notes_are_not(store, tmp_path):
    (tmp_path / "MEMORY.md").write_text("Ann's password hint is `tulip`.")
    (tmp_path / "AGENTS.md").write_text("Be kind.")

    async def scene():
        async with gateway(store, settings(webhook("*")), tmp_path) as there:
            await there.send(id="m1", sender="ann", name="Ann", room="ops", topic="Plans", people=3, text="hello")
            await there.send(id="m2", sender="bob", name="Bob", room="ops", topic="Other plans", people=4, text="hi")
            await there.send(id="m3", sender="ann", name="Ann", text="hello")
            return there.model.requests

    first, second, alone = play(scene())
    assert first.system == second.system
    assert "Be kind." in first.system
    assert "tulip" not in first.system + first.dynamic
    assert "tulip" in alone.system
    assert '"Plans"' in first.dynamic
    assert '"Other plans"' in second.dynamic
    assert "People in the room: 4." in second.dynamic
    assert "The group" not in alone.dynamic
    assert [one.sender.name for one in users(store, "agent:main:webhook:#ops")] == ["Ann", "Bob"]


def test_a_room_stays_a_group_on_every_face(store, tmp_path):
    """A room's session that is opened over the API shows no more of the workspace than in the room."""
    (tmp_path / "MEMORY.md").write_text("Ann's password hint is `tulip`.")

    async def scene():
        async with gateway(store, settings(webhook("*")), tmp_path) as there:
            await there.send(id="m1", sender="ann", room="ops", text="hello")
        async with gateway(store, settings({}), tmp_path) as there:
            said = {"text": "hello", "wait": True}
            await there.ask("POST", "/api/session/messages", params={"key": "agent:main:webhook:#ops"}, json=said)
            return there.model.requests

    (request,) = play(scene())
    assert "tulip" not in request.system
    assert "## The group" in request.dynamic


def test_a_session_that_becomes_a_rooms_while_it_is_open_is_a_group_from_then_on(store, tmp_path):
    (tmp_path / "MEMORY.md").write_text("Ann's password hint is `tulip`.")

    async def scene():
        async with gateway(store, settings(webhook("*")), tmp_path) as there:
            said = {"text": "hello", "wait": True}
            await there.ask("POST", "/api/session/messages", params={"key": "agent:main:webhook:#ops"}, json=said)
            await there.send(id="m1", sender="ann", room="ops", text="hello")
            return there.model.requests

    before, after = play(scene())
    assert "tulip" in before.system
    assert "tulip" not in after.system + after.dynamic


# Answers that are posted ----------------------------------------------------------------------------------------------


class Receiver:
    """A real HTTP server that takes answers, failing as often as it is told."""

    def __init__(self, *statuses: int) -> None:
        left, got = list(statuses), []

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["content-length"]))
                got.append((dict(self.headers.items()), body))
                self.send_response(left.pop(0) if left else 200)
                self.end_headers()

            def log_message(self, *_: Any) -> None:
                pass

        self.got, self._http = got, ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self._http.server_address[1]}/answers"

    def __enter__(self) -> "Receiver":
        self._thread = Thread(target=self._http.serve_forever, args=(0.02,), daemon=True)
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._http.shutdown()
        self._http.server_close()
        self._thread.join()


def test_an_answer_is_posted_signed_and_again_where_that_failed(store, tmp_path, caplog):
    async def scene(url):
        async with gateway(store, settings(webhook("ann", replyUrl=url)), tmp_path) as there:
            taken = await there.send(id="m1", sender="ann", room="ops", text="hello")
            for _ in range(400):
                if len(receiver.got) == 2:
                    break
                await asyncio.sleep(0.02)
            return taken

    with Receiver(503) as receiver, caplog.at_level("INFO", "clew"):
        taken = play(scene(receiver.url))
    assert taken.status_code == 202
    heads, body = receiver.got[-1]
    heads = {name.lower(): value for name, value in heads.items()}
    assert problem(SECRET, heads[TIMESTAMP], heads[SIGNATURE], body, now_s=int(heads[TIMESTAMP])) is None
    told = json.loads(body)
    assert (told["id"], told["room"], told["text"]) == ("m1", "ops", "You said: hello")
    assert told["run"] == taken.json()["run"]
    assert "posted again" in caplog.text


def deliver(url: str, answers: int, **more: Any) -> None:
    async def scene():
        replies = Replies(url, SECRET, now=lambda: 0, first_s=0.01, **more)
        for nth in range(answers):
            replies.offer({"run": str(nth)})
        replies.start()
        await replies.stop(10)

    play(scene())


def test_answers_come_in_order_whatever_fails(caplog):
    with Receiver(500, 429, 200, 404, 502) as receiver, caplog.at_level("INFO", "clew"):
        deliver(receiver.url, 3)
    runs = [json.loads(body)["run"] for _, body in receiver.got]
    assert runs == ["0", "0", "0", "1", "2", "2"]
    assert "given up" in caplog.text


def test_a_receiver_that_is_not_there_costs_no_more_than_its_answers(caplog):
    with Receiver() as gone:
        url = gone.url
    with caplog.at_level("INFO", "clew"):
        deliver(url, 2)
    assert sum(record.message == "an answer was given up" for record in caplog.records) == 2


def test_no_more_answers_wait_than_a_few(caplog):
    with Receiver() as receiver, caplog.at_level("INFO", "clew"):
        deliver(receiver.url, 10, most=4)
    assert [json.loads(body)["run"] for _, body in receiver.got] == ["0", "7", "8", "9"]


# Settings -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "channels",
    [
        pytest.param({"webhook": {"enabled": True}}, id="no secret"),
        pytest.param({"webhook": {"enabled": True, "secret": "short"}}, id="a short secret"),
        pytest.param({"webhook": {"enabled": True, "secret": "${NOT_SET_ANYWHERE}"}}, id="a variable that is not set"),
        pytest.param(webhook(agent="nobody"), id="no such agent"),
        pytest.param({"irc": {"enabled": True, "agent": "nobody"}}, id="no such agent on IRC"),
    ],
)
def test_a_channel_that_cannot_be_is_told_before_anything_starts(store, tmp_path, channels):
    from clew.app import Clew

    hub = Hub(Clew(store, settings(channels), env={}), workspace=tmp_path)
    with pytest.raises(BadSettings, match=r"(?i)nothing was"):
        routes(hub)


def test_a_channel_that_is_off_is_not_there(store, tmp_path):
    async def scene():
        async with gateway(store, settings({}), tmp_path) as there:
            return await there.send(id="m1", sender="ann", text="hello")

    assert play(scene()).status_code == 404
