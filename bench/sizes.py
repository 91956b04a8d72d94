"""How right and how fast the estimates of sizes are: `python -m bench.sizes [--json] [--fit [--more DIR]]`.

Each kind of text is judged on documents the weights were not fitted to, against exact counts; then real sessions, where
they are on this machine; then speed. `--fit` prints the weights of `clew.tokens.estimate` anew.
"""

import argparse
import gzip
import json
import statistics
import sys
import time
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

from bench.kinds import kinds
from clew.tokens import estimate
from clew.tokens.exact import ENCODINGS, counter
from clew.transcript import clean

SESSIONS = Path(__file__).resolve().parents[2] / "shared/data/claude-code/compaction_events.jsonl.gz"
ROUNDS = 5
"""Timings of which the median is reported."""
BLOCK = 1_024
"""Characters of a block that weights are fitted to."""
BLOCKS_PER_KIND = 400
SESSION_SHARE = 4
"""How much the blocks of real sessions weigh in the fit, where a kind weighs 1."""
MORE_SHARE = 0.3
"""How much each further text weighs in the fit."""
DAMPING = 1e-4
"""Of the ridge: keeps weights of rare shapes near 0."""

Row = dict[str, Any]


def main() -> None:
    """Run what the command line asks for."""
    options = argparse.ArgumentParser(prog="python -m bench.sizes", description=__doc__.splitlines()[0])
    options.add_argument("--json", action="store_true", help="print one JSON object instead of a table")
    options.add_argument("--fit", action="store_true", help="fit the weights anew and print them")
    options.add_argument("--more", type=Path, help="a folder of further texts to fit on, one file a kind")
    chosen = options.parse_args()
    if chosen.fit:
        print_weights(fit(chosen.more))
        return
    found = report()
    print(json.dumps(found, ensure_ascii=False, indent=1) if chosen.json else table(found))


def report() -> Row:
    """All figures: by kind, over real sessions, and the speeds."""
    held_out = {kind: documents[1::2] for kind, documents in kinds().items()}
    real = sessions()
    texts = [text for session in real for text in session] or [text for one in held_out.values() for text in one]
    return {
        "kinds": {kind: judge(documents) for kind, documents in held_out.items()},
        "sessions": judge_sessions(real[1::2]) if real else None,
        "speed": speeds(texts),
    }


def judge(documents: Sequence[str]) -> Row:
    """The estimate of some texts beside the exact counts of each vocabulary."""
    characters = sum(map(len, documents))
    estimated = sum(map(estimate.text, documents))
    exact = {name: sum(map(counter(name), documents)) for name in ENCODINGS}
    return {
        "characters": characters,
        "exact": exact["o200k"],
        "estimate": estimated,
        "chars/4": round(characters / 4 / exact["o200k"], 2),
        "error %": {name: round(100 * (estimated / count - 1), 1) for name, count in exact.items()},
    }


def judge_sessions(real: Sequence[Sequence[str]]) -> Row:
    """Some sessions together, and how far single ones are off."""
    count = counter()
    sizes = [abs(100 * (sum(map(estimate.text, one)) / sum(map(count, one)) - 1)) for one in real]
    return {
        **judge([text for session in real for text in session]),
        "sessions": len(real),
        "median session %": round(statistics.median(sizes), 1),
        "worst session %": round(max(sizes), 1),
        "sessions within 6 %": sum(size <= 6 for size in sizes),
    }


def sessions() -> list[list[str]]:
    """The texts of real sessions: what was said, thought, called and returned. Empty where they are absent."""
    if not SESSIONS.exists():
        print("Real sessions are skipped: ../shared/data is not on this machine.", file=sys.stderr)
        return []
    with gzip.open(SESSIONS, "rt", encoding="utf-8") as lines:
        return [[text for event in json.loads(line)["events"] if (text := _words(event))] for line in lines]


def _words(event: Row) -> str:
    if event.get("input") is not None:
        return clean(json.dumps(event["input"], ensure_ascii=False))
    return clean(event.get("t") or "")


def speeds(texts: Sequence[str]) -> dict[str, float]:
    """Millions of UTF-8 bytes a second and core, each the median of rounds that take turns."""
    size = sum(len(text.encode()) for text in texts) / 1e6
    ways: dict[str, Callable[[str], object]] = {
        "estimate": estimate.text,
        "chars/4": lambda text: len(text) // 4,
        "exact o200k": counter(),
    }
    taken: dict[str, list[float]] = {name: [] for name in ways}
    for _ in range(ROUNDS):
        for name, way in ways.items():
            taken[name].append(_seconds(way, texts))
    return {name: round(size / statistics.median(rounds), 1) for name, rounds in taken.items()}


def _seconds(way: Callable[[str], object], texts: Iterable[str]) -> float:
    began = time.process_time()
    for text in texts:
        way(text)
    return time.process_time() - began


def fit(more: Path | None = None) -> list[float]:
    """The weights that make the relative errors over blocks of the fitting half least, kinds weighing alike."""
    import numpy as np  # noqa: PLC0415 -- comes with the exact counter; nothing but the fit needs it

    count = counter()
    rows, targets = [], []
    for share, texts in _material(more):
        blocks = [text[at : at + BLOCK] for text in texts for at in range(0, len(text), BLOCK)]
        blocks = [block for block in blocks if len(block) > BLOCK // 16][:: max(1, len(blocks) // BLOCKS_PER_KIND)]
        for block in blocks:
            weight = (share / len(blocks)) ** 0.5
            rows.append(np.array(estimate.features(block)) * weight / count(block))
            targets.append(weight)
    scale = np.sqrt((np.array(rows) ** 2).sum(0)) + 1e-12
    counts = np.array(rows) / scale
    square = counts.T @ counts + DAMPING * np.eye(len(scale))
    return [float(weight) for weight in np.linalg.solve(square, counts.T @ np.array(targets)) / scale]


def _material(more: Path | None) -> Iterable[tuple[float, list[str]]]:
    """What to fit on, with its share: the even documents of each kind and of the sessions, and what else is given."""
    for documents in kinds().values():
        yield 1, documents[0::2]
    if real := sessions():
        yield SESSION_SHARE, ["\n".join(session) for session in real[0::2]]
    for file in sorted(more.glob("*.txt")) if more else ():
        yield MORE_SHARE, [clean(file.read_text(encoding="utf-8"))]


def print_weights(weights: Sequence[float]) -> None:
    """The weights under the names they have in the estimator."""
    names: list[object] = ["CHARACTER", "HEAVY_CHARACTER", *estimate.RUNS, *estimate.SINGLES, *estimate.PAIRS]
    names += estimate.SCRIPT_WEIGHTS
    for name, weight, shipped in zip(names, weights, estimate.weights(), strict=True):
        print(f"{name!s:18} {weight:7.3f}   shipped {shipped:7.3f}")


def table(found: Row) -> str:
    """The report as lines for a terminal."""
    head = f"{'held-out texts':16}{'chars':>10}{'exact':>9}{'estimate':>9}{'chars/4':>9}"
    lines = [head + "".join(f"{name + ' %':>10}" for name in ENCODINGS)]
    lines += [_line(kind, row) for kind, row in found["kinds"].items()]
    if real := found["sessions"]:
        lines += [_line("real sessions", real)]
        lines += [f"  {name}: {real[name]}" for name in list(real)[-4:]]
    lines += [f"{name}: {speed:,.0f} MB/s" for name, speed in found["speed"].items()]
    return "\n".join(lines)


def _line(kind: str, row: Row) -> str:
    numbers = f"{row['characters']:>10,}{row['exact']:>9,}{row['estimate']:>9,}{row['chars/4']:>9}"
    return f"{kind:16}{numbers}" + "".join(f"{error:>+10.1f}" for error in row["error %"].values())


if __name__ == "__main__":
    main()
