"""Two hundred sessions at once: no message lost, doubled or out of order, and none in another's session."""

import asyncio
import re
from collections import Counter

import pytest

from clew.testing.server import ModelServer, Say
from tests.flow.gateway_process import Gateway, said

SESSIONS, TURNS = 200, 2
NAME = re.compile(r"\[s\d+ t\d+\]")


def echo(seen) -> Say:
    """Says the name of the newest message back, and which others it was sent."""
    names = NAME.findall(seen.raw.decode())
    return Say(f"heard {names[-1]} of {' '.join(sorted(set(names)))}", pace_s=0.001)


async def talk(client, number: int) -> list[dict]:
    """The turns of one session, each said as soon as the one before is accepted."""
    key = {"key": f"agent:main:s{number}"}
    runs = []
    for turn in range(TURNS):
        answer = await client.post("/api/session/messages", params=key, json={"text": f"[s{number} t{turn}] hello"})
        assert answer.status_code == 202, answer.text
        runs.append(answer.json()["run"])
    while True:
        ended = [(await client.get(f"/api/runs/{run}")).json() for run in runs]
        if all(one["state"] == "ended" for one in ended):
            return ended
        await asyncio.sleep(0.2)


async def everybody(gateway) -> list[list[dict]]:
    async with gateway.async_client() as client:
        return await asyncio.gather(*(talk(client, number) for number in range(SESSIONS)))


@pytest.fixture
def gateway(tmp_path):
    with ModelServer(echo) as server, Gateway(tmp_path, server) as running:
        yield running
    assert "Traceback" not in running.log


def test_all_sessions_at_once(gateway):
    ended = asyncio.run(everybody(gateway))
    assert Counter(one["outcome"] for session in ended for one in session) == {"done": SESSIONS * TURNS}
    client = gateway.client()
    for number in range(SESSIONS):
        entries = client.get("/api/session/entries", params={"key": f"agent:main:s{number}"}).json()["entries"]
        mine = [f"[s{number} t{turn}]" for turn in range(TURNS)]
        assert said(entries, "user") == [f"{name} hello" for name in mine]
        heard = [f"heard {name} of {' '.join(mine[: turn + 1])}" for turn, name in enumerate(mine)]
        assert said(entries, "assistant") == heard
    assert client.get("/api/sessions", params={"limit": 1}).json()["totalCount"] == SESSIONS
