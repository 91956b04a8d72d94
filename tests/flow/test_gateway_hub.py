"""The hub and its workers: accepted once, in order, kept through every failure, and nothing waits for nothing."""

import asyncio
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from clew.app import Clew
from clew.config import Config
from clew.errors import BadInput, BadSettings, Conflict, Draining, TooBusy, UnknownEntry, UnknownSession
from clew.gateway import worker as worker_module
from clew.gateway.answers import answered
from clew.gateway.facts import ARCHIVED, INBOX, INTERRUPTED, RUNNING
from clew.gateway.hub import Hub
from clew.gateway.inbox import LARGE
from clew.models.port import Limits
from clew.runtime import events
from clew.store.sqlite import SqliteStore
from clew.transcript import Assistant, Said, User, assistant, text_of, user

K = "agent:main:main"


class Echo:
    """A model that says what it was told, when it is let."""

    name = "scripted/echo"

    def __init__(self) -> None:
        self.go = asyncio.Event()
        self.go.set()
        self.running = self.most = 0
        self.asked: list[str] = []

    async def limits(self) -> Limits:
        return Limits(window=32_768, source="settings")

    async def complete(self, request, *, on_text=None) -> Assistant:
        words = text_of(request.messages[-1])
        self.asked.append(words)
        self.running += 1
        self.most = max(self.most, self.running)
        try:
            await self.go.wait()
        finally:
            self.running -= 1
        return assistant(f"echo {words}")

    async def close(self) -> None:
        pass


class Stage:
    """A hub over a store's file."""

    def __init__(self, folder: Path, **gateway) -> None:
        self.echo = Echo()
        written = {"agents": {"defaults": {"model": "scripted/echo"}}, "gateway": gateway}
        self.store = SqliteStore(folder / "s.sqlite")
        clew = Clew(
            self.store, Config.model_validate(written), models={"scripted/echo": self.echo}, env={"CLEW_HOME": "/nix"}
        )
        self.hub = Hub(clew, workspace=folder)

    def said(self, key: str = K) -> list[str]:
        bodies = [record.entry.body for record in self.store.entries(key)]
        return [
            text_of(one.message) for one in bodies if isinstance(one, Said) and not getattr(one.message, "synthetic", 0)
        ]

    def users(self, key: str = K) -> list[str]:
        bodies = [record.entry.body for record in self.store.entries(key)]
        return [text_of(one.message) for one in bodies if isinstance(one, Said) and isinstance(one.message, User)]


@asynccontextmanager
async def staged(folder: Path, **gateway):
    stage = Stage(folder, drainSeconds=0, **gateway)
    try:
        await stage.hub.start()
        yield stage
    finally:
        stage.echo.go.set()
        await stage.hub.close()
        stage.store.close()


def test_a_message_becomes_an_entry_with_its_id_and_leaves_the_inbox(tmp_path):
    async def main():
        async with staged(tmp_path) as stage:
            run = await (await stage.hub.say(K, "hello", id="message-1")).wait()
            assert run.ended.text == "echo hello"
            assert "message-1" in stage.store.entry_many(K, ["message-1"])
            assert not {INBOX, RUNNING} & stage.store.session(K).meta.keys()

    asyncio.run(main())


def test_the_same_message_sent_many_times_at_once_is_one_turn(tmp_path):
    async def main():
        async with staged(tmp_path) as stage:
            runs = await asyncio.gather(*(stage.hub.say(K, "hello", id="message-1") for _ in range(20)))
            await runs[0].wait()
            assert set(runs) == {runs[0]}
            assert stage.said() == ["hello", "echo hello"]
            with pytest.raises(Conflict):
                await stage.hub.say("agent:main:other", "hello", id="message-1")

    asyncio.run(main())


def test_a_message_sent_again_after_a_restart_is_not_answered_again(tmp_path):
    async def main():
        async with staged(tmp_path) as stage:
            await (await stage.hub.say(K, "hello", id="message-1")).wait()
        async with staged(tmp_path) as stage:
            run = await stage.hub.say(K, "hello", id="message-1")
            assert (run.state, run.earlier) == ("ended", True)
            assert stage.echo.asked == []

    asyncio.run(main())


def test_many_at_once_are_all_kept_in_the_order_of_their_acceptance(tmp_path):
    async def main():
        async with staged(tmp_path, maxQueued=64) as stage:
            stage.echo.go.clear()
            for number in range(40):
                await stage.hub.say(K, f"m{number}")
            more = await asyncio.gather(*(stage.hub.say(K, f"n{number}") for number in range(20)))
            stored = [one["text"] for one in stage.store.session(K).meta[INBOX]]
            assert stored == [f"m{n}" for n in range(40)] + [f"n{n}" for n in range(20)]
            stage.echo.go.set()
            await asyncio.gather(*(run.wait() for run in more))
            users = stage.users()
            assert users == stored

    asyncio.run(main())


def test_the_queue_is_bounded_also_for_those_who_come_at_once(tmp_path):
    async def main():
        async with staged(tmp_path, maxQueued=4) as stage:
            stage.echo.go.clear()
            asked = (stage.hub.say(K, f"m{number}") for number in range(20))
            came = await asyncio.gather(*asked, return_exceptions=True)
            refused = [one for one in came if isinstance(one, TooBusy)]
            assert len(came) - len(refused) <= 6
            assert refused[0].retry_after_s
            stage.echo.go.set()
            await asyncio.gather(*(one.wait() for one in came if not isinstance(one, TooBusy)))
            assert len(stage.users()) == len(came) - len(refused)
            with pytest.raises(UnknownEntry):
                stage.hub.run("never-was")

    asyncio.run(main())


def test_no_more_turns_run_at_once_than_are_allowed(tmp_path):
    async def main():
        async with staged(tmp_path, maxRunning=3) as stage:
            stage.echo.go.clear()
            runs = [await stage.hub.say(f"agent:main:{number}", "hello") for number in range(8)]
            while stage.echo.running < 3:
                await asyncio.sleep(0.01)
            await asyncio.sleep(0.05)
            waiting = [run for run in runs if run.state == "queued"]
            assert len(waiting) == 5
            assert all(stage.hub.worker(run.key).busy for run in waiting), "who waits for a turn is not idle"
            stage.echo.go.set()
            await asyncio.gather(*(run.wait() for run in runs))
            assert stage.echo.most == 3

    asyncio.run(main())


def test_without_a_model_each_message_is_told_why_and_kept_and_a_model_later_sees_them(tmp_path):
    async def main():
        async with staged(tmp_path) as stage:
            model, stage.hub.clew._models = stage.hub.clew._models, {}
            heard = stage.hub.bus.listen(K)
            runs = [await stage.hub.say(K, f"m{number}") for number in range(3)]
            for run in runs:
                assert isinstance((await run.wait()).error, BadSettings | Exception)
            heard.end()
            ended = [one.event async for one in heard if isinstance(one.event, events.Ended)]
            assert [one.outcome for one in ended] == ["failed"] * 3
            assert stage.users() == ["m0", "m1", "m2"]
            assert INBOX not in stage.store.session(K).meta
            stage.hub.clew._models = model
            run = await (await stage.hub.say(K, "m3")).wait()
            assert run.ended.outcome == "done"

    asyncio.run(main())


def test_a_message_that_comes_while_an_idle_conversation_closes_is_answered(tmp_path, monkeypatch):
    monkeypatch.setattr(worker_module, "IDLE_S", 0.02)

    async def main():
        async with staged(tmp_path) as stage:
            converse = stage.hub.clew.converse

            @asynccontextmanager
            async def slow_to_close(*args, **more):
                async with converse(*args, **more) as conversation:
                    yield conversation
                await asyncio.sleep(0.05)

            stage.hub.clew.converse = slow_to_close
            for number in range(12):
                run = await stage.hub.say(K, f"m{number}")
                await asyncio.wait_for(run.wait(), 5)
                await asyncio.sleep(0.02 + number * 0.005)
            await asyncio.sleep(0.3)
            assert stage.hub.worker(K) is None, "who rests is let go"
            assert stage.users() == [f"m{n}" for n in range(12)]

    asyncio.run(main())


def test_cancelling_ends_the_turn_keeps_the_message_and_goes_on_with_the_next(tmp_path):
    async def main():
        async with staged(tmp_path) as stage:
            stage.echo.go.clear()
            first, second = await stage.hub.say(K, "one"), await stage.hub.say(K, "two")
            while not stage.echo.running:
                await asyncio.sleep(0.01)
            assert stage.hub.worker(K).cancel()
            stage.echo.go.set()
            assert (await first.wait()).ended.outcome == "cancelled"
            assert (await second.wait()).ended.outcome == "done"
            assert stage.users() == ["one", "two"]

    asyncio.run(main())


def test_a_drain_tells_who_waits_at_once_and_the_next_hub_answers(tmp_path):
    async def main():
        async with staged(tmp_path) as stage:
            stage.echo.go.clear()
            first, second = await stage.hub.say(K, "one"), await stage.hub.say(K, "two")
            while not stage.echo.running:
                await asyncio.sleep(0.01)
            await stage.hub.drain()
            assert (await first.wait()).ended.outcome == "cancelled"
            assert isinstance((await second.wait()).error, Draining)
            with pytest.raises(Draining):
                await stage.hub.say(K, "three")
        async with staged(tmp_path) as stage:
            again = stage.hub.run(second.id)
            assert (await again.wait()).ended.text == "echo two"
            assert stage.users() == ["one", "two"]

    asyncio.run(main())


def test_a_message_accepted_in_the_moment_of_the_drain_is_stored_and_not_begun(tmp_path):
    async def main():
        async with staged(tmp_path) as stage:
            await stage.hub.ensure(K)
            stage.echo.go.clear()
            saying = [asyncio.create_task(stage.hub.say(f"agent:main:{n}", "late")) for n in range(10)]
            await asyncio.sleep(0.01)
            await stage.hub.drain()
            came = await asyncio.gather(*saying, return_exceptions=True)
            kept = {run.key for run in came if not isinstance(run, BaseException)}
            assert all(isinstance(one, Draining) for one in came if isinstance(one, BaseException))
        async with staged(tmp_path) as stage:
            for key in kept:
                for _ in range(100):
                    if stage.users(key) == ["late"]:
                        break
                    await asyncio.sleep(0.02)
                assert stage.users(key) == ["late"]

    asyncio.run(main())


def test_what_a_killed_process_left_is_taken_up_once_and_an_interrupted_turn_is_told(tmp_path):
    async def main():
        with SqliteStore(tmp_path / "s.sqlite") as store:
            clew = Clew(store, env={})
            session = clew.create(K)
            session.append(user("begun"), id="begun-1")
            waiting = [{"id": "begun-1", "text": "begun", "at": 1}, {"id": "waits-1", "text": "waits", "at": 2}]
            store.describe(K, {INBOX: waiting})
            clew.create("agent:main:done").append(user("hi"), assistant("there"))
            store.describe("agent:main:done", {RUNNING: "gone"})
            clew.create("agent:gone:main")
            store.describe("agent:gone:main", {INBOX: waiting[1:]})
            clew.create("agent:main:bad")
            store.describe("agent:main:bad", {INBOX: "nonsense"})
        async with staged(tmp_path) as stage:
            told = stage.hub.bus.listen(after=0)
            stage.echo.go.clear()
            await stage.hub.start()
            assert stage.store.session(K).meta[INTERRUPTED] == "begun-1"
            cut = answered(stage.hub.run("begun-1"))
            assert (cut["ok"], cut["outcome"]) == (False, "interrupted")
            stage.echo.go.set()
            await stage.hub.run("waits-1").wait()
            told.end()
            heard = [one async for one in told]
            assert next(one.key for one in heard if isinstance(one.event, events.Interrupted)) == K
            assert not any(one.key == "agent:main:done" for one in heard)
            assert stage.users() == ["begun", "waits"]
            assert INTERRUPTED not in stage.store.session(K).meta, "after the next turn it is past"
            assert stage.store.session("agent:gone:main").meta[INBOX]

    asyncio.run(main())


def test_a_message_sent_again_after_a_restart_says_whether_it_was_answered(tmp_path):
    async def main():
        with SqliteStore(tmp_path / "s.sqlite") as store:
            session = Clew(store, env={}).create(K)
            session.append(user("cut off"), id="cut-off-1")
            session.append(user("half"), id="half-said-1")
            session.append(assistant("half an ans", stop="aborted"))
            session.append(user("whole"), id="answered-1")
            session.append(assistant("all of it", stop="stop"))
        async with staged(tmp_path) as stage:
            ids = ("cut-off-1", "half-said-1", "answered-1")
            again = [answered(await (await stage.hub.say(K, "again", id=id)).wait()) for id in ids]
            assert [(one["outcome"], one["ok"]) for one in again] == [
                ("interrupted", False), ("interrupted", False), ("earlier", True),
            ]  # fmt: skip
            assert stage.users() == ["cut off", "half", "whole"]

    asyncio.run(main())


def test_deleting_a_session_closes_its_conversation_and_refuses_one_at_work(tmp_path):
    async def main():
        async with staged(tmp_path) as stage:
            stage.echo.go.clear()
            run = await stage.hub.say(K, "hello")
            with pytest.raises(Conflict):
                await stage.hub.delete(K)
            stage.echo.go.set()
            await run.wait()
            await asyncio.sleep(0.05)
            await stage.hub.delete(K)
            with pytest.raises(UnknownSession):
                await stage.hub.say(K, "hello", create=False)
            await (await stage.hub.say(K, "anew")).wait()
            assert stage.users() == ["anew"]

    asyncio.run(main())


def test_a_session_that_is_deleted_under_a_turn_ends_the_run_with_an_error(tmp_path):
    async def main():
        async with staged(tmp_path) as stage:
            stage.echo.go.clear()
            runs = [await stage.hub.say(K, "one"), await stage.hub.say(K, "two")]
            while not stage.echo.running:
                await asyncio.sleep(0.01)
            stage.store.delete(K)  # another process did
            stage.echo.go.set()
            for run in runs:
                await asyncio.wait_for(run.wait(), 5)
                assert isinstance(run.error, UnknownSession)

    asyncio.run(main())


def test_a_new_message_takes_a_session_out_of_the_archive_and_a_turns_end_does_not(tmp_path):
    async def main():
        async with staged(tmp_path) as stage:
            await stage.hub.ensure(K)
            stage.store.describe(K, {ARCHIVED: True})
            stage.echo.go.clear()
            run = await stage.hub.say(K, "hello")
            assert ARCHIVED not in stage.store.session(K).meta
            while not stage.echo.running:
                await asyncio.sleep(0.01)
            stage.store.describe(K, {ARCHIVED: True})
            stage.echo.go.set()
            await run.wait()
            assert stage.store.session(K).meta[ARCHIVED]

    asyncio.run(main())


def test_a_large_message_does_not_stay_in_the_row_while_its_turn_runs(tmp_path):
    async def main():
        async with staged(tmp_path) as stage:
            stage.echo.go.clear()
            run = await stage.hub.say(K, "word " * LARGE)
            while not stage.echo.running:
                await asyncio.sleep(0.01)
            meta = stage.store.session(K).meta
            assert INBOX not in meta
            assert meta[RUNNING] == run.id

    asyncio.run(main())


def test_a_command_draws_no_file_outside_the_workspace(tmp_path):
    async def main():
        (tmp_path / "inside").mkdir()
        async with staged(tmp_path) as stage:
            stage.hub.workspace = tmp_path / "inside"
            for path in ("../out.svg", str(tmp_path / "out.svg"), "~/../../tmp/out.svg"):
                run = await (await stage.hub.say(K, f"/context map {path}")).wait()
                assert "outside the workspace" in run.answer.why
            await (await stage.hub.say(K, "/context map in.svg")).wait()
        assert not list(tmp_path.glob("*.svg"))
        assert (tmp_path / "inside/in.svg").exists()

    asyncio.run(main())


@pytest.mark.parametrize("key", ["", "  ", "a\0b", "a\nb", "x" * 201, "a\u2028b", "\x7f"])
def test_a_key_that_nobody_could_read_makes_no_session(tmp_path, key):
    async def main():
        async with staged(tmp_path) as stage:
            with pytest.raises(BadInput):
                await stage.hub.say(key, "hello")
            assert stage.store.sessions() == []

    asyncio.run(main())


@pytest.mark.parametrize("key", ["../../etc/passwd", "a/b/c", "ключ", "agent:main:%2e%2e", "claude-code:x"])
def test_a_key_is_a_name_and_no_path(tmp_path, key):
    async def main():
        async with staged(tmp_path) as stage:
            await (await stage.hub.say(key, "hello")).wait()
            assert stage.users(key) == ["hello"]

    asyncio.run(main())
    assert {file.name.partition("-")[0] for file in tmp_path.iterdir()} == {"s.sqlite"}


def test_runs_are_remembered_up_to_a_bound_and_one_that_runs_stays(tmp_path, monkeypatch):
    monkeypatch.setattr("clew.gateway.hub.RUNS_KEPT", 10)
    monkeypatch.setattr("clew.gateway.hub.RUNS_MORE", 5)

    async def main():
        async with staged(tmp_path) as stage:
            stage.echo.go.clear()
            held = await stage.hub.say("agent:main:held", "held")
            while not stage.echo.running:
                await asyncio.sleep(0.01)
            stage.echo.go.set()
            stage.hub.worker(held.key)._turn.cancel()
            for number in range(40):
                await (await stage.hub.say(K, f"m{number}")).wait()
            assert len(stage.hub._runs) <= 16

    asyncio.run(main())
