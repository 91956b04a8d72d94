# ruff: noqa: E501 -- the lines are texts of the session, which break where the session breaks them
"""What the commands of the story print: test runs, logs, query plans, histories. Invented, and each one different."""

import json
import re
import struct
import zlib
from base64 import b64encode
from datetime import UTC, datetime, timedelta

from dice import Dice

WORKERS = ("dispatch-0", "dispatch-1", "dispatch-2")
CARRIERS = ("hooks.northline.example", "edi.rotterdam-gateway.example", "api.blueboxes.example", "in.sternwave.example")


def pytest_run(files: dict[str, str], under: str, failures: dict[str, str], *, seed: str) -> str:
    """A verbose run of the tests under a folder; `failures` maps names of tests to their tracebacks."""
    dice, rows, failed, total = Dice(f"pytest/{seed}"), [], [], 0
    found = [(path, name) for path in sorted(files) if path.startswith(under)
             for name in re.findall(r"^async def (test_\w+)", files[path], re.MULTILINE)]  # fmt: skip
    for number, (path, name) in enumerate(found, 1):
        total += 1
        bad = failures.get(name)
        failed += [f"{'_' * 20} {name} {'_' * 20}\n\n{bad}\n"] if bad else []
        rows.append(
            f"{path}::{name} {'FAILED' if bad else 'PASSED'}".ljust(104) + f"[{100 * number // len(found):>3}%]"
        )
    head = (
        f"platform linux -- Python 3.12.9, pytest-8.4.1, asyncio-1.1.0, seed {dice.hex(8)}\ncollected {total} items\n"
    )
    took = f"{dice.between(3, 40)}.{dice.between(10, 99)}s"
    counts = f"{len(failed)} failed, {total - len(failed)} passed" if failed else f"{total} passed"
    return "\n".join(
        [head, *rows, *(["", "=== FAILURES ===", *failed] if failed else []), f"=== {counts} in {took} ==="]
    )


def log(count: int, *, seed: str, twice: str | None = None) -> str:
    """Lines of the dispatchers' log as JSON; one delivery may be sent twice."""
    dice, at, rows = Dice(f"log/{seed}"), datetime(2026, 3, 8, 21, 14, 2, tzinfo=UTC), []
    for number in range(count):
        at += timedelta(milliseconds=dice.between(40, 2600))
        repeated = twice is not None and number in (count // 4, count // 4 + 5)
        name = (
            "webhook.sent"
            if repeated
            else dice.pick(("webhook.sent", "webhook.sent", "webhook.claimed", "webhook.later"))
        )
        row = {"ts": at.isoformat(timespec="milliseconds"), "level": "info", "event": name,
               "delivery": twice if repeated else dice.uuid(), "worker": dice.pick(WORKERS),
               "host": dice.pick(CARRIERS), "took_ms": dice.between(31_000, 44_000) if repeated else dice.between(12, 9_900)}  # fmt: skip
        if name == "webhook.later":
            row |= {"level": "warning", "reason": dice.pick(("timeout", "status 502", "ReadError", "status 429"))}
        rows.append(json.dumps(row))
    return "\n".join(rows)


def commits(count: int, *, seed: str, marked: dict[int, tuple[str, str]] | None = None) -> str:
    """A history, one commit a line; `marked` gives the hash and subject of certain lines."""
    dice, rows = Dice(f"git/{seed}"), []
    verbs = ("Teach", "Let", "Stop", "Move", "Split", "Measure", "Bound", "Name", "Cache", "Drop")
    what = ("the planner", "quota checks", "tide gauges", "the invoice run", "berth search", "pilot rosters", "the board",
            "manifest parsing", "lease renewal", "the event bus", "CSV imports", "key rotation")  # fmt: skip
    how = ("reading the clock once", "past the page limit", "without a second query", "on the replica", "under load",
           "for suspended tenants", "before the tide turns", "in one transaction", "with the new tariff")  # fmt: skip
    people = ("Ines Duarte", "Tomasz Wolny", "陈思远", "Aoife Brennan", "Mbali Khoza")
    for number in range(count):
        hash, subject = (
            dice.hex(10),
            f"{dice.pick(verbs)} {dice.pick(what)} {dice.pick(how)} (#{dice.between(900, 1900)})",
        )
        hash, subject = (marked or {}).get(number, (hash, subject))
        rows.append(
            f"{hash} {datetime(2026, 3, 8, tzinfo=UTC) - timedelta(days=number * 2):%Y-%m-%d} {dice.pick(people)}: {subject}"
        )
    return "\n".join(rows)


def plan(*, seed: str, seconds: float, index: bool) -> str:
    """A query plan, with or without the index that helps."""
    dice = Dice(f"plan/{seed}")
    scan = (
        "Index Scan using webhook_deliveries_due on webhook_deliveries" if index else "Seq Scan on webhook_deliveries"
    )
    rows, removed = dice.between(24, 32), 0 if index else dice.between(900_000, 2_400_000)
    return f"""Update on webhook_deliveries d  (cost=0.43..{dice.between(300, 9000)}.{dice.between(10, 99)} rows=32 width=210) (actual time={seconds:.3f}..{seconds + 1.8:.3f} rows={rows} loops=1)
  ->  Nested Loop  (actual rows={rows} loops=1)
        ->  LockRows  (actual rows={rows} loops=1)
              ->  {scan}  (actual time={seconds / 3:.3f}..{seconds:.3f} rows={rows} loops=1)
                    Filter: ((state = 'due'::text) AND (due_at <= now()))
                    Rows Removed by Filter: {removed}
                    Buffers: shared hit={dice.between(40, 900)} read={0 if index else dice.between(20_000, 60_000)}
        ->  Index Scan using webhook_subscriptions_pkey on webhook_subscriptions s  (actual rows=1 loops={rows})
Planning Time: 0.{dice.between(100, 999)} ms
Execution Time: {seconds * 1000:.2f} ms"""


def table(count: int, *, seed: str) -> str:
    """Deliveries that were sent more than once, as psql prints them."""
    dice = Dice(f"table/{seed}")
    rows = [
        " delivery_id                          | subscription   | times | first_owner | last_owner | gap_s",
        "-" * 96,
    ]
    for _ in range(count):
        first, last = dice.some(WORKERS, 2)
        rows.append(
            f" {dice.uuid()} | sub_{dice.hex(10)} |     {dice.between(2, 4)} | {first}  | {last} | {dice.between(30, 47)}.{dice.below(10)}"
        )
    return "\n".join([*rows, f"({count} rows)"])


def metrics(*, seed: str) -> str:
    """A page of metrics."""
    dice, rows = Dice(f"metrics/{seed}"), []
    for host in CARRIERS:
        for bound in ("0.5", "1", "2.5", "5", "10", "30", "60", "90", "+Inf"):
            rows.append(f'quay_webhook_seconds_bucket{{host="{host}",le="{bound}"}} {dice.between(100, 99_000)}')
        rows.append(f'quay_webhook_timeouts_total{{host="{host}"}} {dice.between(0, 1900)}')
    for worker in WORKERS:
        rows.append(f'quay_lease_lost_total{{worker="{worker}",code="ERR_DELIVERY_LEASE_LOST"}} {dice.between(3, 800)}')
        rows.append(f'quay_inflight{{worker="{worker}"}} {dice.between(0, 32)}')
    return "\n".join(rows)


def pods(version: str, *, seed: str, bad: str | None = None) -> str:
    """The pods of staging."""
    dice, rows = Dice(f"pods/{seed}"), ["NAME                    READY   STATUS             RESTARTS   AGE   IMAGE"]
    for number in range(3):
        state = bad if bad and number == 2 else "Running"
        ready = "0/1" if bad and number == 2 else "1/1"
        rows.append(f"api-{dice.hex(10)}-{dice.hex(5)}   {ready}     {state:<16}   {dice.between(0, 4)}          "
                    f"{dice.between(2, 59)}m   registry.quayside.example/quayside/api:{version}")  # fmt: skip
    return "\n".join(rows)


def png(width: int, height: int) -> str:
    """A small chart of latency as a PNG in base64: bars, a line at the limit."""
    dice = Dice("png")
    heights = [dice.between(4, height // 2) if x % 9 else height - 6 for x in range(width)]
    rows = bytearray()
    for y in range(height):
        rows.append(0)
        for x in range(width):
            bar, limit = height - y <= heights[x], y == height // 4
            rows += b"\xd0\x30\x30" if limit else (b"\x30\x60\xa0" if bar else b"\xf4\xf4\xf0")
    header = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    # Stored, not compressed, so that the bytes do not depend on a machine's zlib.
    packed = zlib.compress(bytes(rows), 0)
    return b64encode(
        b"\x89PNG\r\n\x1a\n" + _chunk(b"IHDR", header) + _chunk(b"IDAT", packed) + _chunk(b"IEND", b"")
    ).decode()


def _chunk(kind: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
