"""A process killed at any moment of a turn: the next one goes on with all that was accepted, and does nothing twice."""

import json
import random
import subprocess
import sys
import threading
from collections import Counter
from pathlib import Path

import pytest

from clew.clock import new_id, now_ms
from clew.runtime.session import Session
from clew.runtime.turn import unfinished
from clew.store.sqlite import SqliteStore
from clew.testing.server import ModelServer, Say
from clew.transcript import Call, Said, User, text_of
from tests.flow.test_long_sessions import broken_pairs, purpose
from tests.unit.compact.test_flow import GOOD

WINDOW = 8_192

TALK = """
import asyncio, json, sys
from pathlib import Path
from clew.app import Clew
from clew.config import Config
from clew.runtime.events import Admitted, Ended, Interrupted
from clew.store.sqlite import SqliteStore
file, models, name = Path(sys.argv[1]), json.loads(sys.argv[2]), sys.argv[3]

def stamp(number: str, lines: int) -> str:
    "Stamps a number."
    with file.with_suffix(".stamps").open("a") as stamps:
        stamps.write(number + "\\n")
    return f"stamped {number}: done and written\\n" * lines

async def main():
    clew = Clew(SqliteStore(file), Config.model_validate({"models": models, "agents": {"defaults": {"model": "scripted/any"}}}), env={})
    async with clew.converse("k", workspace=file.parent, tools=[stamp]) as talk:
        talk.listen(lambda e: print(type(e).__name__, now, flush=True) if isinstance(e, Admitted | Ended | Interrupted) else None)
        for n in range(10_000):
            now = f"{name}-{n}"
            await talk.say(f"message {now} " + "and some more words " * 40)

asyncio.run(main())
"""  # noqa: E501


class Model:
    """Calls the tool up to three times at once, never with the same number, then answers; writes briefs and notes."""

    def __init__(self) -> None:
        self.chance, self.number = random.Random(11), 0

    def __call__(self, seen) -> Say:
        if purpose(seen) != "turn":
            return Say(GOOD, delay_s=0.02) if purpose(seen) == "compaction" else Say("NO_REPLY", delay_s=0.02)
        if self.chance.random() < 0.4:
            return Say("All of them are stamped. " * 8, pace_s=0.002)
        return Say("I stamp.", calls=tuple(self.call() for _ in range(self.chance.randint(1, 3))), delay_s=0.01)

    def call(self) -> Call:
        self.number += 1
        return Call(f"c{self.number}", "stamp", {"number": f"n{self.number}", "lines": self.chance.randint(1, 60)})


def killed(file: Path, server: ModelServer, name: str, seconds: float, since: str) -> list[str]:
    """What a process said that talked until it was killed, so many seconds after it first told of an event `since`."""
    models = server.settings(models=[{"id": "any", "contextWindow": WINDOW}])
    command = [sys.executable, "-c", TALK, str(file), json.dumps(models), name]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as child:
        lines = [child.stdout.readline()]
        while lines[-1] and not lines[-1].startswith(since):
            lines.append(child.stdout.readline())
        threading.Timer(seconds, child.kill).start()
        out, errors = child.communicate(timeout=60)
    assert not errors, errors
    assert lines[-1], "it ended by itself"
    return [line.strip() for line in [*lines, *out.splitlines()] if line.strip()]


def stored(file: Path) -> tuple[list[str], bool]:
    """The names of the user's messages, and whether the last turn was left unfinished."""
    with SqliteStore(file) as store:
        said = [r.entry.body.message for r in store.entries("k") if isinstance(r.entry.body, Said)]
        names = [text_of(one).split()[1] for one in said if isinstance(one, User) and not one.synthetic]
        return names, unfinished(Session(store, "k", now=now_ms, new_id=new_id)) is not None


@pytest.mark.parametrize("seed", [5])
def test_kills_at_random_moments_lose_nothing_double_nothing_and_leave_no_call_dangling(tmp_path, seed):
    file, dice, left = tmp_path / "s.sqlite", random.Random(seed), False
    accepted: list[str] = []
    with ModelServer(Model(), window=WINDOW) as server:
        for nth in range(8):
            said = killed(file, server, f"p{nth}", dice.uniform(0, 0.6), "Admitted" if nth % 4 == 1 else "Ended")
            assert (said[0].split()[0] == "Interrupted") == left
            accepted += [line.split()[1] for line in said if line.startswith("Admitted")]
            names, left = stored(file)
            assert Counter(names).most_common(1)[0][1] == 1
            assert [name for name in names if name in accepted] == accepted
            assert len(set(names) - set(accepted)) <= nth + 1
        stamps = file.with_suffix(".stamps").read_text().split()
        assert len(stamps) == len(set(stamps)) > 10
        assert {seen.status for seen in server.requests} <= {0, 200}
        assert not any(broken_pairs(seen) for seen in server.requests)
        assert {"turn", "compaction"} <= {purpose(seen) for seen in server.requests}
