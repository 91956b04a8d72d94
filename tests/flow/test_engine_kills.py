"""A process killed at any moment of a hand-over: the engine takes each turn once, whole and in order."""

import json
import random
import sqlite3
import subprocess
import sys
import threading

import pytest

from clew.store.sqlite import SqliteStore
from clew.testing.server import ModelServer, Say
from clew.transcript import Assistant, Call, Said, User, calls_of, text_of

WINDOW = 32_768

KILLS = 12

TALK = """
import asyncio, json, random, sqlite3, sys
from pathlib import Path
from clew import plugins
from clew.app import Clew
from clew.config import Config
from clew.engine.port import Assembled, EngineOffer, Info, delegate_compaction
from clew.runtime.events import Admitted, Ended
from clew.store.sqlite import SqliteStore
from clew.transcript import text_of
file, settings, name, turns, trouble = Path(sys.argv[1]), json.loads(sys.argv[2]), sys.argv[3], int(sys.argv[4]), float(sys.argv[5])
dice = random.Random(name)

class Ledger:
    info = Info("ledger", "Ledger")
    def __init__(self, host):
        self.host, self.base = host, sqlite3.connect(file.with_suffix(".taken"), isolation_level=None)
        self.base.execute("create table if not exists taken (n integer primary key, turn text unique, said text)")
    async def ingest(self, session, message):
        return False
    async def assemble(self, given):
        return Assembled(given.messages)
    async def compact(self, ask):
        return await delegate_compaction(self.host, ask)
    async def commit_turn(self, turn):
        print("Committing", now, flush=True)
        await asyncio.sleep(dice.uniform(0, 0.04))
        if dice.random() < trouble:
            raise OSError("no disk")
        said = json.dumps([text_of(one) for one in turn.messages])
        new = self.base.execute("insert or ignore into taken (turn, said) values (?, ?)", (turn.turn, said)).rowcount
        print("Taken" if new else "Known", now, flush=True)
        await asyncio.sleep(dice.uniform(0, 0.04))
        if dice.random() < trouble:
            raise OSError("the disk is there, its answer was lost")
        return "committed" if new else "duplicate"

class Plugin:
    @plugins.hookimpl
    def context_engines(self):
        return [EngineOffer("ledger", Ledger)]

def stamp(number: str) -> str:
    "Stamps a number."
    return f"stamped {number}"

async def main():
    global now
    manager, now = plugins.load(), ""
    manager.register(Plugin())
    clew = Clew(SqliteStore(file), Config.model_validate(settings), manager=manager, env={})
    async with clew.converse("k", workspace=file.parent, tools=[stamp]) as talk:
        talk.listen(lambda e: print(type(e).__name__, now, flush=True) if isinstance(e, Admitted | Ended) else None)
        for n in range(turns):
            now = f"{name}-{n}"
            await talk.say(f"message {now}")

asyncio.run(main())
"""  # noqa: E501


class Model:
    """Calls the tool about every other time, then answers."""

    def __init__(self):
        self.dice, self.number = random.Random(11), 0

    def __call__(self, seen) -> Say:
        if self.dice.random() < 0.5:
            return Say("Stamped. " * 4, pace_s=0.002)
        self.number += 1
        return Say("", calls=(Call(f"c{self.number}", "stamp", {"number": f"n{self.number}"}),), delay_s=0.005)


def started(file, server, name, turns, trouble):
    settings = {
        "models": server.settings(models=[{"id": "any", "contextWindow": WINDOW}]),
        "agents": {"defaults": {"model": "scripted/any"}},
        "plugins": {"slots": {"contextEngine": "ledger"}},
    }
    command = [sys.executable, "-c", TALK, str(file), json.dumps(settings), name, str(turns), str(trouble)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def killed(file, server, name, seconds, since, nth):
    """What a process said that was killed so many seconds after it told for the nth time of an event."""
    with started(file, server, name, 10_000, 0.1) as child:
        lines, seen = [], 0
        while seen < nth:
            lines.append(child.stdout.readline())
            assert lines[-1], f"it ended by itself: {child.stderr.read()}"
            seen += lines[-1].startswith(since)
        threading.Timer(seconds, child.kill).start()
        out, errors = child.communicate(timeout=60)
    assert not errors, errors
    return [line.split() for line in [*lines, *out.splitlines()] if line.strip()]


def finished(store):
    """The turns that ended with an answer: the entry that began each, and its words."""
    turns, open_turn = [], None
    for record in store.entries("k"):
        if not isinstance(record.entry.body, Said):
            continue
        message = record.entry.body.message
        if isinstance(message, User) and not message.synthetic:
            open_turn = (record.entry.id, [])
        open_turn[1].append(text_of(message))
        if isinstance(message, Assistant) and not any(calls_of(message)) and message.stop != "aborted":
            turns.append(open_turn)
    return turns


def taken(file):
    with sqlite3.connect(file.with_suffix(".taken")) as base:
        rows = base.execute("select turn, said from taken order by n").fetchall()
    base.close()
    return [(turn, json.loads(said)) for turn, said in rows]


@pytest.mark.parametrize("seed", [7])
def test_kills_at_random_moments_hand_every_turn_over_once_whole_and_in_order(tmp_path, seed):
    file, dice, told, owing = tmp_path / "s.sqlite", random.Random(seed), [], 0
    with ModelServer(Model(), window=WINDOW) as server:
        for kill in range(KILLS):
            since, nth = dice.choice(["Committing", "Taken", "Ended", "Admitted"]), dice.randint(1, 4)
            told += killed(file, server, f"p{kill}", dice.uniform(0, 0.05), since, nth)
            with SqliteStore(file) as store:
                turns, waiting = finished(store), [one.turn for one in store.owed()]
            done = taken(file)
            assert done == turns[: len(done)], "in order, each once, whole"
            assert [turn for turn, _ in turns[len(done) :]] == [one for one in waiting if one not in dict(done)]
            owing += bool(waiting)
        with started(file, server, "last", 2, 0.0) as last:
            _, errors = last.communicate(timeout=60)
        assert (last.returncode, errors) == (0, "")
    with SqliteStore(file) as store:
        assert taken(file) == finished(store)
        assert store.owed() == []
        assert len(finished(store)) > KILLS
    assert owing >= KILLS // 4, "kills left turns to be handed over"
    assert sum(line[0] == "Known" for line in told) > 0, "a turn was handed over again that had been taken"
