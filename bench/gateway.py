"""What the gateway costs: its start, its memory, its share of a turn's time, and how throughput grows with sessions.

    python -m bench.gateway [--sessions 1 2 4 8 32 200] [--turns 4] [--delay 0.05] [--json]

The model server is scripted and runs in a process of its own; an answer takes `--delay` seconds there. Every session
says its turns one after the other and waits for each. The bare proxy is an asyncio server in a process of its own that
hands the same request to the same model server and hands the answer back: no store, no session, no prompt. A ratio is
the gateway's latency over the proxy's, at the same number of sessions. `fsync` is what one durable write takes here.
"""

import argparse
import asyncio
import contextlib
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import httpx2

TOKEN = "a-token-of-the-bench"
ROUNDS = 5
"""Starts that are measured; the middle one counts."""

SERVER = """
import sys, threading
from clew.testing.server import ModelServer, Say
with ModelServer(lambda seen: Say("an answer of some words", delay_s=float(sys.argv[1])), window=32_768) as server:
    print(server.url, flush=True)
    sys.stdin.read()
"""

PROXY = """
import asyncio, sys, httpx2
async def main():
    limits = httpx2.Limits(max_connections=None, max_keepalive_connections=None, keepalive_expiry=20)
    client = httpx2.AsyncClient(base_url=sys.argv[1], limits=limits, timeout=60)
    async def serve(reader, writer):
        try:
            while head := await reader.readuntil(b"\\r\\n\\r\\n"):
                length = next(int(line.split(b":")[1]) for line in head.lower().split(b"\\r\\n") if line.startswith(b"content-length"))
                body = await reader.readexactly(length)
                answer = await client.post("/v1/chat/completions", content=body, headers={"content-type": "application/json"})
                writer.write(b"HTTP/1.1 200 OK\\r\\ncontent-type: application/json\\r\\ncontent-length: %d\\r\\n\\r\\n" % len(answer.content))
                writer.write(answer.content)
                await writer.drain()
        except (asyncio.IncompleteReadError, ConnectionError):
            writer.close()
    server = await asyncio.start_server(serve, "127.0.0.1", 0, backlog=1024)
    print("http://127.0.0.1:%d" % server.sockets[0].getsockname()[1], flush=True)
    await server.serve_forever()
asyncio.run(main())
"""  # noqa: E501


@contextlib.contextmanager
def running(command: Sequence[str], **more: Any) -> Iterator[tuple[subprocess.Popen[str], str]]:
    """A process and the URL it says it listens at."""
    process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, **more)
    assert process.stdout is not None
    try:
        yield process, process.stdout.readline().split()[-1]
    finally:
        process.send_signal(signal.SIGTERM)
        process.communicate(timeout=60)


@contextlib.contextmanager
def gateway(folder: Path, models: str) -> Iterator[tuple[subprocess.Popen[str], str]]:
    """`clew gateway` over a store of its own."""
    folder.mkdir(parents=True, exist_ok=True)
    provider = {"baseUrl": f"{models}/v1", "api": "openai-completions", "apiKey": "none"}
    provider["models"] = [{"id": "any", "contextWindow": 32_768}]  # type: ignore[assignment]
    written = {
        "models": {"providers": {"scripted": provider}}, "agents": {"defaults": {"model": "scripted/any"}},
        "gateway": {"port": 0, "auth": {"token": TOKEN}, "maxRunning": 1_000},
    }  # fmt: skip
    (folder / "clew.json5").write_text(json.dumps(written))
    command = [sys.executable, "-c", "from clew.cli import main; main()", "gateway"]
    with running(
        [*command, "--config", str(folder / "clew.json5")], env={**os.environ, "CLEW_HOME": str(folder)}, cwd=folder
    ) as it:
        yield it


def starts(folder: Path, models: str) -> dict[str, float]:
    """Seconds from the command to a `ready`, and memory then, in MiB."""
    took, memory = [], 0.0
    for number in range(ROUNDS):
        began = time.monotonic()
        with gateway(folder / f"start{number}", models) as (process, url):
            while httpx2.get(f"{url}/readyz").status_code != 200:
                time.sleep(0.01)
            took.append(time.monotonic() - began)
            memory = max(memory, resident(process.pid))
    return {"startS": sorted(took)[ROUNDS // 2], "readyMiB": memory}


def resident(pid: int) -> float:
    """MiB of a process."""
    pages = int(Path(f"/proc/{pid}/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / 2**20


async def load(
    url: str, path: str, bodies: Sequence[dict[str, Any]], turns: int, keys: str, pid: int
) -> tuple[list[float], float, float]:
    """The latencies of so many turns of each session, all at once, the seconds all of it took, and a process's CPU.

    A first turn of each, which opens connections and sessions, is not among them.
    """
    limits = httpx2.Limits(max_connections=None, max_keepalive_connections=None)
    heads, took = {"authorization": f"Bearer {TOKEN}"}, []
    async with httpx2.AsyncClient(base_url=url, headers=heads, timeout=120, limits=limits) as client:

        async def session(number: int, times: int) -> None:
            key = {"key": f"agent:main:{keys}{number}"} if keys else None
            for _ in range(times):
                began = time.monotonic()
                answer = await client.post(path, params=key, json=bodies[number])
                answer.raise_for_status()
                took.append(time.monotonic() - began)

        await asyncio.gather(*(session(number, 1) for number in range(len(bodies))))
        took.clear()
        began, cpu = time.monotonic(), spent(pid)
        await asyncio.gather(*(session(number, turns) for number in range(len(bodies))))
        return sorted(took), time.monotonic() - began, spent(pid) - cpu


def compared(
    sessions: int, turns: int, gate: tuple[subprocess.Popen[str], str], proxy: str, request: dict[str, Any]
) -> dict[str, float]:
    """One number of sessions through both."""
    said = [{"text": f"hello from {number}", "wait": True} for number in range(sessions)]
    pid, every = gate[0].pid, sessions * turns
    ours, seconds, cpu = asyncio.run(load(gate[1], "/api/session/messages", said, turns, f"n{sessions}-", pid))
    bare, bare_s, _ = asyncio.run(load(proxy, "/v1/chat/completions", [request] * sessions, turns, "", pid))
    return {
        "sessions": sessions, "turnsPerS": every / seconds, "proxyPerS": every / bare_s,
        "cpuMsPerTurn": 1_000 * cpu / every,
        "p50Ms": 1_000 * at(ours, 0.5), "p99Ms": 1_000 * at(ours, 0.99), "proxyP50Ms": 1_000 * at(bare, 0.5),
        "proxyP99Ms": 1_000 * at(bare, 0.99), "ratioP50": at(ours, 0.5) / at(bare, 0.5),
        "ratioP99": at(ours, 0.99) / at(bare, 0.99), "MiB": resident(gate[0].pid),
    }  # fmt: skip


def at(values: Sequence[float], share: float) -> float:
    """The value below which a share of them lies."""
    return values[min(len(values) - 1, int(share * len(values)))]


def spent(pid: int) -> float:
    """Seconds of CPU a process has used."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def fsync_ms(folder: Path) -> float:
    """What one durable write of a page takes, in the middle of a hundred."""
    took = []
    with (folder / "probe").open("wb") as file:
        for _ in range(100):
            began = time.monotonic()
            file.write(b"x" * 4_096)
            file.flush()
            os.fsync(file.fileno())
            took.append(time.monotonic() - began)
    return 1_000 * sorted(took)[50]


def measured(sessions: Sequence[int], turns: int, delay: float) -> dict[str, Any]:
    """All figures."""
    with TemporaryDirectory() as name, running([sys.executable, "-c", SERVER, str(delay)]) as (_, models):
        folder = Path(name)
        request = {"model": "any", "messages": [{"role": "user", "content": "hello " * 1_200}]}
        figures: dict[str, Any] = {**starts(folder, models), "fsyncMs": fsync_ms(folder)}
        with gateway(folder / "load", models) as gate, running([sys.executable, "-c", PROXY, models]) as (_, proxy):
            figures["rows"] = [compared(number, turns, gate, proxy, request) for number in sessions]
    return figures


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--sessions", type=int, nargs="+", default=[1, 2, 4, 8, 32, 200])
    parser.add_argument("--turns", type=int, default=4)
    parser.add_argument("--delay", type=float, default=0.05)
    parser.add_argument("--json", action="store_true")
    asked = parser.parse_args()
    figures = measured(asked.sessions, asked.turns, asked.delay)
    if asked.json:
        print(json.dumps(figures, indent=2))
        return
    print(f"start to ready {figures['startS']:.2f} s, {figures['readyMiB']:.0f} MiB; fsync {figures['fsyncMs']:.1f} ms")
    for row in figures["rows"]:
        print("  ".join(f"{name} {value:.4g}" for name, value in row.items()))


if __name__ == "__main__":
    main()
