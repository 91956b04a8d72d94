"""IRC, against a real server: who is answered and where, who is refused, and that it comes back by itself."""

import asyncio
from typing import Any

import pytest

from clew.store.inmemory import InMemoryStore
from clew.store.sqlite import SqliteStore
from clew.transcript import Said, User
from tests.flow.gateway_scene import Gateway, echo, gateway, settings, stored
from tests.flow.irc_server import IrcServer, Person, irc

__all__ = ["irc"]

ROOM = "agent:main:irc:#clew"


def on_irc(server: IrcServer, *allowed: str, **more: Any) -> dict[str, Any]:
    return {"irc": {"enabled": True, "port": server.port, "channels": ["#clew"], "allowFrom": list(allowed), **more}}


def play(scene: Any) -> Any:
    return asyncio.run(asyncio.wait_for(scene, 90))


@pytest.fixture
def store():
    with InMemoryStore() as store:
        yield store


async def quiet(there: Gateway, *people: Person) -> None:
    """Wait until nothing is on its way any more."""
    for person in people:
        person.send("PING :done")
        await person.until("PONG", "done")
    while any(run.state != "ended" for run in there.hub.runs()):
        await asyncio.sleep(0.02)
    await asyncio.sleep(0.2)


def test_a_person_is_answered_in_private_and_in_a_room(irc, store, tmp_path):
    async def scene():
        async with gateway(store, settings(on_irc(irc, "ann")), tmp_path) as there:
            ann = await Person("ann").connect(irc.port, "#clew")
            await ann.there("#clew", "clew")
            ann.say("#clew", "nobody is meant by this")
            ann.say("#clew", "clew: \x02hello\x02 room")
            in_room = await ann.until("PRIVMSG #clew")
            ann.say("clew", "hello you")
            alone = await ann.until("PRIVMSG ann")
            await ann.close()
            return in_room, alone, there.model.requests

    in_room, alone, requests = play(scene())
    assert in_room.endswith(":ann: You said: hello room")
    assert alone.endswith(":You said: hello you")
    assert [row.key for row in store.sessions()] == ["agent:main:irc:ann", ROOM]
    said = [one.entry.body.message for one in store.entries(ROOM) if isinstance(one.entry.body, Said)]
    assert isinstance(said[0], User)
    assert said[0].sender is not None
    assert said[0].sender.name == "ann"
    assert said[0].sender.id.startswith("ann!")
    assert '"Plans for the week"' in requests[0].dynamic
    assert "People in the room: 2." in requests[0].dynamic
    assert '"#clew"' not in requests[0].system
    assert "The group" not in requests[1].dynamic


def test_strangers_are_refused_once_and_leave_nothing(irc, store, tmp_path, caplog):
    async def scene():
        async with gateway(store, settings(on_irc(irc, "ann")), tmp_path) as there:
            ann, eve = (
                await Person("ann").connect(irc.port, "#clew"),
                await Person("mallory").connect(irc.port, "#clew"),
            )
            await eve.there("#clew", "clew")
            ann.say("#clew", "clew: hello")
            await ann.until("You said: hello")
            await quiet(there, ann, eve)
            before, heard = stored(store), []
            for target, line in (("#clew", "clew: /compact"), ("clew", "/compact"), ("clew", "/new"),
                                 ("#clew", "clew: /reset"), ("clew", "/model a/b")):  # fmt: skip
                eve.say(target, line)
                heard.append(await eve.until("NOTICE mallory", "not allowed to give that command"))
            for _ in range(5):
                eve.say("clew", "hello")
            heard.append(await eve.until("NOTICE mallory", "not allowed to talk"))
            await quiet(there, eve, ann)
            more = [line for line in eve.lines if "NOTICE mallory" in line]
            same = before == stored(store)
            await ann.close()
            await eve.close()
            return heard, more, same, len(there.model.requests)

    with caplog.at_level("INFO", "clew"):
        heard, more, same, requests = play(scene())
    assert (len(heard), more, same, requests) == (6, [], True, 1)
    assert not any("mallory" in str(vars(one)) for one in caplog.records if one.message == "refused")


def test_who_may_talk_may_not_command_where_a_list_says_so(irc, store, tmp_path):
    async def scene():
        config = settings(on_irc(irc, "*"), commands={"allowFrom": ["ann"]})
        async with gateway(store, config, tmp_path) as there:
            ann, bob = await Person("ann").connect(irc.port, "#clew"), await Person("bob").connect(irc.port, "#clew")
            await ann.there("#clew", "clew")
            bob.say("#clew", "clew: hello")
            await bob.until("You said: hello")
            await quiet(there, bob)
            before = stored(store)
            bob.say("#clew", "clew: /reset")
            await bob.until("NOTICE bob", "not allowed")
            same = before == stored(store)
            bob.say("#clew", "clew: /help compact")
            await bob.until("PRIVMSG #clew", "/compact")
            await quiet(there, bob)
            ann.say("#clew", "clew: /reset")
            await ann.until("PRIVMSG #clew", ":ann: ")
            await ann.close()
            await bob.close()
            return same, store.session(ROOM).generation, there.model.requests

    same, generation, requests = play(scene())
    assert (same, generation) == (True, 1)
    assert 'only "ann" may give them' in requests[0].dynamic


def test_a_long_answer_comes_whole_in_lines_that_fit(irc, store, tmp_path):
    text = " ".join(f"漢字{nth:03}🙂" for nth in range(120))

    async def scene():
        async with gateway(store, settings(on_irc(irc, "ann")), tmp_path, iter([text])) as there:
            ann = await Person("ann").connect(irc.port, "#clew")
            await ann.there("#clew", "clew")
            ann.say("clew", "tell me all")
            heard: list[str] = []
            while "119🙂" not in "".join(heard):
                heard.append(await ann.until("PRIVMSG ann"))
            await ann.close()
            return heard, there

    heard, _ = play(scene())
    assert len(heard) > 4
    assert all(len(line.encode()) + 2 <= 512 for line in heard)
    assert " ".join(line.partition(" PRIVMSG ann :")[2] for line in heard) == text


def test_a_name_that_is_taken_is_no_end(irc, store, tmp_path):
    async def scene():
        other = await Person("clew").connect(irc.port)
        async with gateway(store, settings(on_irc(irc, "ann")), tmp_path):
            ann = await Person("ann").connect(irc.port, "#clew")
            await ann.there("#clew", "clew_")
            ann.say("#clew", "clew_: hello")
            heard = await ann.until("PRIVMSG #clew")
            await ann.close()
            await other.close()
            return heard

    heard = play(scene())
    assert heard.startswith(":clew_!")
    assert heard.endswith(":ann: You said: hello")


def test_it_comes_back_when_the_server_does(irc, store, tmp_path, caplog):
    async def scene():
        async with gateway(store, settings(on_irc(irc, "ann")), tmp_path):
            for text in ("first", "second"):
                ann = await Person("ann").connect(irc.port, "#clew")
                await ann.there("#clew", "clew")
                ann.say("#clew", f"clew: {text}")
                await ann.until(f"You said: {text}")
                await ann.close()
                if text == "first":
                    await asyncio.to_thread(irc.stop)
                    await asyncio.sleep(0.5)
                    await asyncio.to_thread(irc.start)

    with caplog.at_level("INFO", "clew"):
        play(scene())
    assert "irc connection lost" in caplog.text


def test_a_server_with_a_password(store, tmp_path):
    server = IrcServer(tmp_path / "irc", password="open sesame")
    server.start()

    async def scene():
        config = settings(on_irc(server, "ann", password="open sesame"))
        async with gateway(store, config, tmp_path):
            ann = await Person("ann").connect(server.port, "#clew", password="open sesame")
            await ann.there("#clew", "clew")
            ann.say("clew", "hello")
            heard = await ann.until("PRIVMSG ann")
            await ann.close()
            return heard

    try:
        assert play(scene()).endswith("You said: hello")
    finally:
        server.stop()


@pytest.mark.parametrize("trusted", [True, False])
def test_an_encrypted_connection_is_made_to_a_server_that_proves_who_it_is(
    store, tmp_path, monkeypatch, caplog, trusted
):
    server = IrcServer(tmp_path / "irc", tls=True)
    if trusted:
        monkeypatch.setenv("SSL_CERT_FILE", str(server.certificate))
    server.start()

    async def scene():
        async with gateway(store, settings(on_irc(server, "ann", port=server.tls_port, tls=True)), tmp_path):
            ann = await Person("ann").connect(server.port, "#clew")
            if trusted:
                await ann.there("#clew", "clew")
                ann.say("#clew", "clew: hello")
                await ann.until("You said: hello")
            else:
                while "cannot be reached" not in caplog.text:
                    await asyncio.sleep(0.02)
            await ann.close()

    try:
        with caplog.at_level("INFO", "clew"):
            play(scene())
    finally:
        server.stop()
    assert ("irc connected" in caplog.text) is trusted


def test_a_server_that_is_not_there_keeps_nothing_from_running(store, tmp_path):
    async def scene():
        config = settings({"irc": {"enabled": True, "port": 1, "allowFrom": ["ann"]}})
        async with gateway(store, config, tmp_path) as there:
            return await there.ask("GET", "/readyz")

    assert play(scene()).status_code == 200


def test_what_was_taken_in_before_a_restart_is_answered_after_it(irc, tmp_path):
    """The first gateway ends while a message waits; the second one answers it, where it was said."""

    async def scene():
        ann = await Person("ann").connect(irc.port, "#clew")
        with SqliteStore(tmp_path / "clew.sqlite") as store:
            config = settings(on_irc(irc, "ann"), gateway={"drainSeconds": 0})
            async with gateway(store, config, tmp_path) as there:
                await ann.there("#clew", "clew")
                there.hub._slots = asyncio.Semaphore(0)  # no turn begins
                ann.say("#clew", "clew: are you there")
                while not there.hub.runs():
                    await asyncio.sleep(0.02)
                await there.hub.runs()[0].accepted.wait()
        with SqliteStore(tmp_path / "clew.sqlite") as store:
            async with gateway(store, settings(on_irc(irc, "ann")), tmp_path):
                heard = await ann.until("PRIVMSG #clew", "You said", seconds=30)
        await ann.close()
        return heard

    assert play(scene()).endswith(":ann: You said: are you there")


def test_nobody_makes_it_speak_without_end(irc, store, tmp_path):
    """A flood from an allowed person is answered one after the other, and what is too much is told so."""

    async def scene():
        config = settings(on_irc(irc, "ann"), gateway={"maxQueued": 2, "drainSeconds": 5})
        async with gateway(store, config, tmp_path) as there:
            ann = await Person("ann").connect(irc.port)
            for nth in range(4):
                ann.say("clew", f"line {nth}")
            await ann.until("PRIVMSG ann")
            await quiet(there, ann)
            await ann.close()
            return len(there.model.requests)

    assert 1 <= play(scene()) <= 4


def test_a_line_the_library_cannot_read_is_left_out(store, tmp_path, caplog):
    """Not ngircd: a server that sends nonsense between the lines that matter."""

    async def scene():
        said: list[str] = []

        async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            while line := await reader.readline():
                said.append(line.decode())
                if line.startswith(b"USER"):
                    writer.write(b":srv 001 clew :hi\r\n\xff\xfe\x00\r\n:\r\n:x QUIT\r\n:a!b@c PRIVMSG\r\n  \r\n")
                    writer.write(b":ann!a@h PRIVMSG clew :hello\r\n:clew!c@h PRIVMSG clew :to myself\r\n")
            writer.close()

        server = await asyncio.start_server(serve, "127.0.0.1", 0)
        port = server.sockets[0].getsockname()[1]
        config = settings({"irc": {"enabled": True, "port": port, "allowFrom": ["*"]}})
        async with gateway(store, config, tmp_path, iter([echo])):
            while not any("You said: hello" in line for line in said):
                await asyncio.sleep(0.02)
        server.close()
        return said

    with caplog.at_level("INFO", "clew"):
        said = play(scene())
    assert sum("PRIVMSG" in line for line in said) == 1
    assert "irc line cannot be read" in caplog.text
