"""What a compaction keeps of what the agent needed next, measured on recorded sessions and without a judge.

    python -m bench.retention [--data FILE] [--budget 2000,4000,8000,24000] [--rounds 1,2,3] [--recall 2000] [--json]

`bench/README.md` says what the columns mean. Nothing here looks at a ledger: names are found in the recorded calls by
an extractor of the bench's own, and looked up in the finished text.
"""

import argparse
import json
import re
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from statistics import mean
from typing import Any

import msgspec

from bench import retention_recall, sessions
from clew.compact.budget import Room
from clew.compact.cut import Cut
from clew.compact.flow import compaction
from clew.compact.job import Accepted, Job
from clew.tokens import estimate
from clew.transcript import Assistant, Call, Compaction, Entry, Message, Said, Text, User, blocks_of, text_of

NEXT_CALLS = 30
ASK = 500
"""Characters of an ask that count for `asks`: what is longer holds pasted files and logs. `whole` counts all."""
ROOMY = 1_000_000
"""Tokens a history counts for here, so that the budget alone bounds its brief."""
TAIL = 20_000
"""Tokens of the kept tail."""
EDITING = ("Edit", "Write", "MultiEdit", "NotebookEdit", "edit", "write", "str_replace_editor")

NAME = re.compile(
    r"https?://[^\s\"'<>)\]`]+"
    r"|(?:~?/|\.{1,2}/)?(?:[\w.@+-]+/)+[\w.@+-]+"  # paths
    r"|\b[\w-]+\.(?:[a-z]{2,4}|json|toml|yaml|lock)\b"  # files, hosts, package.function
    r"|\b[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}\b"
    r"|(?<![\w-])--[a-z][\w-]+"  # flags
    r"|\b[A-Z][A-Z0-9]+-\d+\b|#\d+\b|\bv?\d+\.\d+\.\d+\b"
    r"|\b(?=\w*\d)\w{6,}\b"  # hashes, ids
    r"|\b\w*[a-z0-9]_\w+\b|\b[A-Z][A-Z0-9]*_\w+\b|\b[a-z]\w*[a-z0-9][A-Z]\w*\b|\b[A-Z][a-z0-9]+[A-Z]\w*\b"  # code
)


class Score(msgspec.Struct, frozen=True):
    """The figures of one text for one recorded compaction; None where there was nothing to keep."""

    need: float | None
    exact: float | None
    edited: float | None
    asks: float | None
    whole: float | None
    tokens: int
    needed: int = 0
    kept: int = 0


def names(text: str) -> list[str]:
    """The names in a call's arguments, each once."""
    return list(dict.fromkeys(name for found in NAME.findall(text) if len(name := found.rstrip(".,:;/-")) >= 4))


def stands(name: str, text: str) -> bool:
    """Whether a name stands in a text with no letter, digit or underscore next to it."""
    at = text.find(name)
    while at >= 0:
        around = text[at - 1 : at] + text[at + len(name) : at + len(name) + 1]
        if not any(mark.isascii() and (mark.isalnum() or mark == "_") for mark in around):
            return True
        at = text.find(name, at + 1)
    return False


def short(name: str) -> str:
    """A path by its last two segments, any other name as it is."""
    return name if "://" in name else "/".join([part for part in name.split("/") if part not in ("", ".", "..")][-2:])


def written(name: str, text: str) -> bool:
    """Whether a name stands in a text whole, or a path as a directory that stands there and the rest below it."""
    cuts = [at for at, mark in enumerate(name) if mark == "/" and at > 1] if name.startswith("/") else []
    return stands(name, text) or any(stands(name[:at], text) and stands(name[at + 1 :], text) for at in cuts)


def strings(value: Any) -> Iterator[str]:
    """The texts among JSON values."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict | list):
        for item in value.values() if isinstance(value, dict) else value:
            yield from strings(item)


def calls(message: Message) -> list[Call]:
    """The calls of a message."""
    return [block for block in blocks_of(message) if isinstance(block, Call)]


def words(message: Message) -> str:
    """All a message says, arguments included."""
    parts = [block.text for block in blocks_of(message) if isinstance(block, Text)]
    return "\n".join([*parts, *(text for call in calls(message) for text in strings(call.arguments))])


def messages(entries: Iterable[Entry]) -> list[Message]:
    """The messages among entries."""
    return [entry.body.message for entry in entries if isinstance(entry.body, Said)]


def needed(before: str, after: Sequence[Message], form: Callable[[str], str]) -> list[str]:
    """The names the next calls used that stood in `before` and that no user message or result gave again first."""
    found: dict[str, bool] = {}
    given, made = "", 0
    for message in after:
        for call in calls(message):
            made += 1
            if made > NEXT_CALLS:
                return [name for name, counts in found.items() if counts]
            for name in map(form, names("\n".join(strings(call.arguments)))):
                if name not in found:
                    found[name] = stands(name, before) and not stands(name, given)
        if not isinstance(message, Assistant):
            given += "\n" + words(message)
    return [name for name, counts in found.items() if counts]


def edited(call: Call) -> list[str]:
    """The file a call edited or wrote."""
    path = call.arguments.get("file_path") or call.arguments.get("path")
    return [path] if call.name in EDITING and isinstance(path, str) else []


def shingles(text: str) -> set[tuple[str, ...]]:
    """Runs of four words; of four characters where a script has no blanks."""
    parts = re.findall(
        r"[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]|[^\W\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]+", text.lower()
    )
    return {tuple(parts[at : at + 4]) for at in range(len(parts) - 3)}


class Case:
    """One recorded compaction with what should be kept of it."""

    def __init__(self, recorded: sessions.Recorded) -> None:
        self.name, self.before, self.summary = recorded.name, recorded.before, recorded.summary
        self.after, self.past = recorded.after, retention_recall.Past(recorded.before)
        said = messages(recorded.before)
        text = "\n".join(map(words, said))
        self.characters = len(text)
        self.need = needed(text, recorded.after, short)
        self.exact = needed(text, recorded.after, str)
        self.edited = list(dict.fromkeys(path for message in said for call in calls(message) for path in edited(call)))
        asked = [text_of(one) for one in said if isinstance(one, User) and not one.synthetic]
        self.asks = [ask for text in asked if (ask := shingles(text[:ASK]))]
        self.whole = [ask for text in asked if (ask := shingles(text))]

    def score(self, text: str) -> Score:
        """How much of it a text keeps."""
        there = shingles(text)
        kept = sum(stands(name, text) for name in self.need)
        return Score(
            kept / len(self.need) if self.need else None,
            share(written(name, text) for name in self.exact),
            share(stands(short(path), text) or written(path, text) for path in self.edited),
            mean(len(ask & there) / len(ask) for ask in self.asks) if self.asks else None,
            mean(len(ask & there) / len(ask) for ask in self.whole) if self.whole else None,
            estimate.text(text), len(self.need), kept,
        )  # fmt: skip

    def recalled(self, text: str, tokens: int) -> Score:
        """The same for a text together with what is found by searching, each name in time for its first use."""
        used = retention_recall.first_uses(
            self.after, NEXT_CALLS, lambda call: list(map(short, names("\n".join(strings(call.arguments)))))
        )
        told = list(retention_recall.recalled(self.past, text, self.after, NEXT_CALLS, tokens))
        kept = sum(stands(name, text) or stands(name, told[used[name]]) for name in self.need)
        return msgspec.structs.replace(
            self.score(text),
            need=kept / len(self.need) if self.need else None,
            tokens=estimate.text(text) + (estimate.text(told[-1]) if told else 0),
            kept=kept,
        )


def share(hits: Iterable[bool]) -> float | None:
    """The share of hits; None of none."""
    listed = list(hits)
    return sum(listed) / len(listed) if listed else None


def tail_start(entries: Sequence[Entry], tokens: int = TAIL) -> int:
    """Where the newest entries that fit `tokens` begin."""
    left = tokens
    for at in range(len(entries) - 1, -1, -1):
        left -= estimate.text(words(entries[at].body.message)) if isinstance(entries[at].body, Said) else 0
        if left < 0:
            return at + 1
    return 0


def brief(
    entries: Sequence[Entry], budget: int, *, rounds: int = 1, tail: Sequence[Entry] = (), draft: str = ""
) -> str:
    """The brief of entries after so many compactions, each over an equal part of them; the tail stays behind the last.

    With a draft, that is the prose a model wrote, unaudited, and the brief is it with the ledger below.
    """
    stood: Compaction | None = None
    for nth in range(rounds):
        part = tuple(entries[len(entries) * nth // rounds : len(entries) * (nth + 1) // rounds])
        cut = Cut(part, (), tuple(tail) if nth == rounds - 1 else (), ROOMY, TAIL)
        done = wind_up(
            Job(cut, budget, estimate.text, Room(ROOMY, budget), stood, given=draft or None, guard=not draft)
        )
        stood = Compaction(done.text, None, ROOMY, budget, "manual", done.verdict, done.ledger, lines=done.lines)
    return stood.summary if stood else ""


def wind_up(job: Job) -> Accepted:
    """One compaction without a model."""
    try:
        next(compaction(job))
    except StopIteration as finished:
        if isinstance(finished.value, Accepted):
            return finished.value
        raise SystemExit(f"a compaction was refused: {finished.value.reason}") from None
    raise SystemExit("a compaction without a model asked for one")


def columns(case: Case, budgets: Sequence[int], rounds: Sequence[int], recall: int = 0) -> dict[str, Score]:
    """Every text that is compared, scored for one compaction; with `recall` tokens of what is searched as well."""
    found = {"recorded summary": case.score(case.summary)} if case.summary else {}
    cut = tail_start(case.before)
    tail = "\n".join(map(words, messages(case.before[cut:])))
    for nth in rounds:
        for budget in budgets:
            label = f"brief {budget}" + (f", {nth} rounds" if nth > 1 else "")
            bare = brief(case.before, budget, rounds=nth)
            found[label] = case.score(bare)
            kept = brief(case.before[:cut], budget, rounds=nth, tail=case.before[cut:])
            found[f"{label} + tail"] = case.score(f"{kept}\n{tail}")
            if recall:
                found[f"{label} + recall {recall}"] = case.recalled(bare, recall)
                found[f"{label} + tail + recall {recall}"] = case.recalled(f"{kept}\n{tail}", recall)
        if case.summary and nth == 1:
            size = 4000 + 2 * estimate.text(case.summary)
            both = brief(case.before[:cut], size, tail=case.before[cut:], draft=case.summary)
            found["summary + ledger + tail"] = case.score(f"{both}\n{tail}")
    return found


def average(scores: Sequence[Score]) -> dict[str, float]:
    """Means over compactions; `micro` pools the needed names of all."""
    figures = {
        field: mean(kept) if (kept := [value for s in scores if (value := getattr(s, field)) is not None]) else 0.0
        for field in ("need", "exact", "edited", "asks", "whole")
    }
    total = sum(s.needed for s in scores)
    return figures | {
        "micro": sum(s.kept for s in scores) / total if total else 0.0,
        "tokens": mean(s.tokens for s in scores),
    }


def by_halves(cases: Sequence[str], scores: Sequence[Score]) -> list[float]:
    """`need` over every second session, and over the others: what another set of sessions may differ by."""
    listed = list(dict.fromkeys(name.split("#")[0] for name in cases))
    parts = [
        [s for name, s in zip(cases, scores, strict=True) if listed.index(name.split("#")[0]) % 2 == nth]
        for nth in (0, 1)
    ]
    return [average(part)["need"] for part in parts if part]


def main(argv: Sequence[str] | None = None) -> int:
    """Print the table, or with `--json` the figures."""
    parser = argparse.ArgumentParser(prog="bench.retention", description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--data", type=Path, default=sessions.COMPACTIONS, help="a file of recorded sessions")
    parser.add_argument("--budget", default="2000,4000,8000,24000", help="tokens of the brief, separated by commas")
    parser.add_argument("--rounds", default="1,2,3", help="compactions over the same history, separated by commas")
    parser.add_argument("--recall", type=int, default=0, help="tokens found by searching the history, beside the brief")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args(argv)
    if not options.data.exists():
        print(f"{options.data} is not there; name a file of recorded sessions with --data.", file=sys.stderr)
        return 2
    budgets, rounds = ([int(n) for n in given.split(",")] for given in (options.budget, options.rounds))
    cases = [Case(one) for one in sessions.recorded(options.data)]
    table: dict[str, list[Score]] = {}
    for case in cases:
        for label, score in columns(case, budgets, rounds, options.recall).items():
            table.setdefault(label, []).append(score)
    report = {label: average(scores) for label, scores in table.items()}
    halves = {label: by_halves([case.name for case in cases], scores) for label, scores in table.items()}
    speed = pace(cases)
    if options.json:
        print(json.dumps({"compactions": len(cases), "columns": report, "halves": halves, "mb_per_s": speed}))
        return 0
    print(
        f"{len(cases)} compactions, {mean(len(c.need) for c in cases):.1f} needed names each; reading {speed:.1f} MB/s"
    )
    print(
        f"{'':34}{'tokens':>8}{'need':>7}{'micro':>7}{'exact':>7}{'edited':>8}{'asks':>7}{'whole':>7}   need by halves"
    )
    for label, f in report.items():
        shares = "".join(
            f"{100 * f[name]:{width}.1f}"
            for name, width in (("need", 7), ("micro", 7), ("exact", 7), ("edited", 8), ("asks", 7), ("whole", 7))
        )
        print(f"{label:34}{f['tokens']:8.0f}{shares}   " + " / ".join(f"{100 * half:.1f}" for half in halves[label]))
    return 0


def pace(cases: Sequence[Case]) -> float:
    """Millions of characters a second that are wound up."""
    start = time.perf_counter()
    for case in cases:
        brief(case.before, 4000)
    return sum(case.characters for case in cases) / 1e6 / (time.perf_counter() - start)


if __name__ == "__main__":
    raise SystemExit(main())
