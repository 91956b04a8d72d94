"""What a session's age costs: opening its window, appending to it, compacting it, at 1,000 to 100,000 entries.

    python -m bench.store [--sizes 1000 10000 100000] [--window 400] [--json]

Every session ends in the same window, so that only its history differs. Opening counts a fresh handle on the file, the
session's row and its window; the ratio is against the shortest session. An append is one entry and durable.
"""

import argparse
import json
import os
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory

from clew.store.port import Draft
from clew.store.sqlite import SqliteStore
from clew.testing.scene import KEY, brief, said
from clew.transcript import view

APPENDS = 300
ROUNDS = 15
BATCH = 1000


def main() -> None:
    """Build the sessions, time them, print a table or JSON."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sizes", type=int, nargs="+", default=[1_000, 10_000, 100_000])
    parser.add_argument("--window", type=int, default=400, help="entries in the window")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    with TemporaryDirectory() as folder:
        rows = [measured(Path(folder) / f"{size}.db", size, options.window) for size in options.sizes]
        disk = syncs_per_second(Path(folder) / "plain")
    for row in rows:
        row["open_ratio"] = round(row["open_ms"] / rows[0]["open_ms"], 2)
    print(json.dumps({"disk_syncs_per_s": disk, "sessions": rows}) if options.json else table(rows, disk))


def measured(path: Path, size: int, window: int) -> dict[str, float]:
    """One session of `size` entries with a window of `window`: milliseconds and rates."""
    began = time.perf_counter()
    with SqliteStore(path) as store:
        store.create(KEY, at=0)
        for first in range(0, size, BATCH):
            store.append(KEY, [message(number, size) for number in range(first, min(first + BATCH, size))])
        build = time.perf_counter() - began
        store.commit(KEY, brief("c0"), generation=0, boundary="c0", start=f"e{window}", event="compaction", data={})
        return {
            "entries": size,
            "megabytes": round(sum(file.stat().st_size for file in path.parent.glob(f"{path.name}*")) / 1e6, 1),
            "import_per_s": round(size / build),
            "open_ms": ms(lambda: opened(path)),
            "window_ms": ms(lambda: view(store.window(KEY).entries)),
            "row_ms": ms(lambda: store.session(KEY)),
            "append_per_s": appends(store),
            "compaction_ms": compactions(store, window),
            "history_per_s": round(size / timed(lambda: sum(1 for _ in store.entries(KEY)))),
        }


def message(number: int, size: int) -> Draft:
    """Every tenth entry is a long tool result. Ids count down to the end, so that all sessions end alike."""
    return said(f"e{size - number}", "words and more " * (1000 if number % 10 == 0 else 40))


def opened(path: Path) -> None:
    """A fresh handle, the row, the window, the view of it."""
    with SqliteStore(path) as store:
        view(store.window(KEY).entries)


def appends(store: SqliteStore) -> int:
    """Durable single appends a second."""
    drafts = [said(f"single{number}", "words and more " * 40) for number in range(APPENDS)]
    return round(APPENDS / timed(lambda: [store.append(KEY, [draft]) for draft in drafts]))


def compactions(store: SqliteStore, window: int) -> float:
    """The lock is held this long for one compaction: milliseconds, median."""

    def compact(number: int) -> None:
        now, draft = store.session(KEY).generation, brief(f"c{number}")
        start = f"e{window}"
        store.commit(KEY, draft, generation=now, boundary=draft.id, start=start, event="compaction", data={})

    return round(median(timed(partial(compact, number)) for number in range(1, ROUNDS + 1)) * 1000, 2)


def syncs_per_second(path: Path) -> int:
    """What the disk allows at most: 4 KB written and synced, again and again."""
    with path.open("wb") as file:

        def sync() -> None:
            file.write(b"x" * 4096)
            file.flush()
            os.fsync(file.fileno())

        return round(1 / median(timed(sync) for _ in range(APPENDS)))


def ms(call: Callable[[], object]) -> float:
    """The median duration of a call, in milliseconds."""
    return round(median(timed(call) for _ in range(ROUNDS)) * 1000, 2)


def timed(call: Callable[[], object]) -> float:
    """The duration of a call, in seconds."""
    began = time.perf_counter()
    call()
    return time.perf_counter() - began


def table(rows: list[dict[str, float]], disk: int) -> str:
    """The rows in columns, and what the disk allows."""
    lines = ["  ".join(f"{name:>13}" for name in rows[0])]
    lines += ["  ".join(f"{value:>13,}" for value in row.values()) for row in rows]
    return "\n".join([*lines, f"The disk alone: {disk:,} syncs of 4 KB a second."])


if __name__ == "__main__":
    main()
