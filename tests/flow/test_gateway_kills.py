"""A gateway killed at any moment under load: what was accepted is there, once and in order; turns cut off are told."""

import asyncio
import random
import re
import signal
from collections import Counter

import httpx2

from clew.clock import new_id, now_ms
from clew.gateway.facts import INTERRUPTED
from clew.runtime.session import Session
from clew.runtime.turn import SETTLED, unfinished
from clew.store.sqlite import SqliteStore
from clew.testing.server import ModelServer, Say
from clew.transcript import Said, User, text_of
from tests.flow.gateway_process import Gateway

SESSIONS, KILLS = 200, 3


class Talkers:
    """Clients that say one thing after another, each with an id, until the gateway is gone."""

    def __init__(self, seed: int) -> None:
        self.dice = random.Random(seed)
        self.accepted: dict[str, list[str]] = {f"agent:main:s{n}": [] for n in range(SESSIONS)}
        self.tried: dict[str, list[str]] = {key: [] for key in self.accepted}

    async def against(self, gateway: Gateway, seconds: float) -> None:
        """Talk, and kill the gateway after so long."""
        async with gateway.async_client() as client:
            talking = [asyncio.create_task(self.talk(client, key)) for key in self.accepted]
            await asyncio.sleep(seconds)
            await asyncio.to_thread(gateway.end, signal.SIGKILL)
            await asyncio.gather(*talking)

    async def talk(self, client, key: str) -> None:
        """A message that was perhaps not taken in is sent again, with the id it had."""
        while True:
            left = self.tried[key][-1:] if self.tried[key][-1:] != self.accepted[key][-1:] else []
            id = left[0] if left else f"{key.rpartition(':')[2]}-{len(self.tried[key]):08}"
            if not left:
                self.tried[key].append(id)
            try:
                answer = await client.post("/api/session/messages", params={"key": key}, json={"text": id, "id": id})
            except httpx2.TransportError:
                return
            if answer.status_code == 202:
                self.accepted[key].append(id)
            else:
                assert answer.status_code == 429, answer.text
                await asyncio.sleep(0.2)


def users(store: SqliteStore, key: str) -> list[str]:
    """What was said in a session, in order."""
    if key not in {row.key for row in store.sessions()}:
        return []
    bodies = [record.entry.body for record in store.entries(key)]
    return [text_of(one.message) for one in bodies if isinstance(one, Said) and isinstance(one.message, User)]


def cut_off(file) -> tuple[set[str], set[str]]:
    """The sessions whose last turn never ended, by the store of a process that was killed; and those of which that
    was said before."""
    with SqliteStore(file) as store:
        rows = [row for row in store.sessions() if row.entries]
        ends = {row.key: unfinished(Session(store, row.key, now=now_ms, new_id=new_id)) for row in rows}
        left = {row.key for row in rows if ends[row.key] not in (None, row.meta.get(SETTLED))}
        return left, {row.key for row in rows if row.meta.get(INTERRUPTED)}


def interrupted(gateway: Gateway) -> set[str]:
    """The sessions of which a gateway that starts says that a turn was cut off."""
    said = len(gateway.log)
    gateway.start()
    return set(re.findall(r"turn interrupted \(key: ([^,]+),", gateway.log[said:]))


def test_kills_under_load_lose_nothing_and_double_nothing(tmp_path, request):
    talkers, dice, some = Talkers(3), random.Random(3), set()
    with ModelServer(lambda seen: Say(f"answer to {len(seen.raw)}", delay_s=dice.uniform(0, 0.2))) as server:
        gateway = Gateway(tmp_path, server, maxRunning=16, maxQueued=4)
        request.addfinalizer(lambda: gateway.process and gateway.end(signal.SIGKILL))
        for _ in range(KILLS):
            gateway.start()
            asyncio.run(talkers.against(gateway, dice.uniform(0.2, 2.0)))
            left, before = cut_off(tmp_path / "clew.sqlite")
            told = interrupted(gateway)
            assert left - before <= told <= left
            some |= left
            asyncio.run(talkers.against(gateway, dice.uniform(0.2, 1.0)))
        gateway.start()
        settle(gateway, talkers)
        assert gateway.end() == 0
        assert "Traceback" not in gateway.log
    with SqliteStore(tmp_path / "clew.sqlite") as store:
        for key, accepted in talkers.accepted.items():
            stored = users(store, key) if talkers.tried[key] else []
            assert max(Counter(stored).values(), default=1) == 1
            assert [one for one in stored if one in set(accepted)] == accepted
            assert set(stored) <= set(talkers.tried[key])
    assert sum(map(len, talkers.accepted.values())) > 100
    assert some, "no kill came in the middle of a turn"


def settle(gateway: Gateway, talkers: Talkers) -> None:
    """Wait until nothing runs and nothing waits."""

    async def quiet() -> None:
        async with gateway.async_client() as client:
            for _ in range(300):
                rows = (await client.get("/api/sessions", params={"limit": SESSIONS})).json()["sessions"]
                if not any(row["running"] or row["queued"] for row in rows):
                    return
                await asyncio.sleep(0.2)
            raise AssertionError("it never came to rest")

    asyncio.run(quiet())
