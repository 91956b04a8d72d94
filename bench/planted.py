"""Planted facts through repeated compactions, with summarisers that err in known ways and no judge.

    python -m bench.planted [--rounds 5] [--seeds 12] [--double NAME] [--kind NAME] [--exchanges 9] [--json]

`bench/README.md` says what the rows mean.
"""

import argparse
import asyncio
import json
import sys
from collections import Counter, defaultdict
from collections.abc import Sequence
from itertools import repeat

import msgspec

from bench.planted_doubles import FAITHFUL, SPOILS, Double
from bench.planted_facts import KINDS, LANGS, Fact, Lang, facts
from bench.planted_laws import Check, Seen, formed, kept, mended
from bench.planted_talk import Teller
from clew.app import Clew
from clew.compact.audit import blocking
from clew.config import Config
from clew.models.scripted import ScriptedModel
from clew.runtime.compaction import Compacted, Declined
from clew.runtime.session import Session
from clew.store.inmemory import InMemoryStore
from clew.transcript import Attempt

KEEP = 500
"""Tokens of the kept tail: nearly all of each round is wound up."""

SMALL = 8_192
"""The window of the summarising model in every third seed: it reads its material in parts there."""

MUST = (
    "names the user gave", "names the agent gave", "pinned words", "rules of the user's", "closed to-dos not open",
    "old values marked",
    "no injection among rules, asks, to-dos", "five headings, once each", "smaller than before", "landed",
    "nothing lost where nothing landed",
)  # fmt: skip
"""The laws: each holds for every double, in every round."""


class Scenario(msgspec.Struct, frozen=True):
    """One conversation with its summariser."""

    double: str
    lang: Lang
    seed: int
    fallback: str


class Tally(msgspec.Struct):
    """What was counted over scenarios."""

    checks: dict[tuple[str, str, str], list[int]] = {}
    """Times it held and times it was looked at, by law, double and kind."""
    faults: dict[tuple[str, str], list[int]] = {}
    """Faults caught and put in, by double and kind of fault."""
    drafts: int = 0
    """Whole drafts of the honest doubles."""
    blocked: dict[str, int] = {}
    """Of these, those refused, by the code of the finding."""
    refused: int = 0
    taken: int = 0
    """Lines of honest drafts that were taken out or cut off."""
    failures: list[str] = []

    def note(self, scenario: Scenario, nth: int, check: Check) -> None:
        """Count one check."""
        counted = self.checks.setdefault((check.law, scenario.double, check.kind), [0, 0])
        counted[0] += check.holds
        counted[1] += 1
        if not check.holds:
            who = f"{scenario.double}, {scenario.lang}, seed {scenario.seed}, fallback {scenario.fallback}"
            self.failures.append(f"{check.law}: {check.kind} {check.about} ({who}, round {nth + 1})")

    def add(self, other: "Tally") -> None:
        """Take another's counts in."""
        for mine, theirs in ((self.checks, other.checks), (self.faults, other.faults)):
            for key, (held, looked) in theirs.items():
                counted = mine.setdefault(key, [0, 0])  # type: ignore[call-overload]
                counted[0] += held
                counted[1] += looked
        self.drafts += other.drafts
        self.blocked = dict(Counter(self.blocked) + Counter(other.blocked))
        self.refused += other.refused
        self.taken += other.taken
        self.failures += other.failures


def play(scenario: Scenario, *, rounds: int = 5, exchanges: int = 9, kinds: Sequence[str] = tuple(KINDS)) -> Tally:
    """One scenario from its first message to its last compaction."""
    planted = facts(scenario.lang, scenario.seed, rounds, kinds)
    return asyncio.run(_play(scenario, planted, rounds, exchanges))


async def _play(scenario: Scenario, planted: list[Fact], rounds: int, exchanges: int) -> Tally:
    double, teller, tally = (
        Double(scenario.double, planted, scenario.seed),
        Teller(scenario.lang, scenario.seed),
        Tally(),
    )
    name = f"doubles/{scenario.double.replace(' ', '-')}"
    model = ScriptedModel(repeat(double), name=name, window=None if scenario.seed % 3 else SMALL)
    settings = {"agents": {"defaults": {"compaction": {"fallback": scenario.fallback}}}}
    count = iter(range(1, 1_000_000))
    with Clew(
        InMemoryStore(), Config.model_validate(settings), models={name: model}, env={},
        now=lambda: next(count), fresh_id=lambda: f"id{next(count):07d}",
    ) as clew:  # fmt: skip
        session = clew.create("k")
        for nth in range(rounds):
            _tell(session, teller, double, planted, nth, exchanges)
            before = session.messages()
            outcome = await clew.compact("k", model=name, keep=KEEP)
            landed = isinstance(outcome, Compacted)
            if scenario.fallback == "ledger":
                tally.note(scenario, nth, Check("landed", "", landed, getattr(outcome, "code", "")))
            if not landed:
                tally.note(scenario, nth, Check("nothing lost where nothing landed", "", session.messages() == before))
            seen = Seen.of(outcome.body.summary if isinstance(outcome, Compacted) else "", session.messages())
            _judge(tally, scenario, nth, outcome, planted, double, seen)
    return tally


def _tell(session: Session, teller: Teller, double: Double, planted: list[Fact], nth: int, exchanges: int) -> None:
    talk = teller.talk(nth, planted, exchanges)
    double.topics += talk.topics
    pins = {id(fact.said): fact for fact in planted if fact.pinned}
    for group in talk.groups:
        records = session.append(*group)
        if fact := pins.get(id(group)):
            session.pin(records[0 if fact.carrier == "user" else 1].entry.id)


def _judge(
    tally: Tally, scenario: Scenario, nth: int, outcome: object, planted: list[Fact], double: Double, seen: Seen
) -> None:
    """Hold what stands now against the laws, and the drafts against what was stored of them."""
    drafts, double.drafts = double.drafts, []
    attempts: tuple[Attempt, ...] = ()
    if isinstance(outcome, Compacted):
        attempts = outcome.body.verdict.attempts
        smaller = outcome.body.tokens_after < outcome.body.tokens_before
        for check in (*kept(planted, nth, seen), *formed(seen), Check("smaller than before", "", smaller)):
            tally.note(scenario, nth, check)
    elif isinstance(outcome, Declined):
        attempts = outcome.attempts
    for fault in (fault for draft in drafts if draft.whole for fault in draft.faults):
        counted = tally.faults.setdefault((scenario.double, fault.kind), [0, 0])
        counted[0] += not isinstance(outcome, Compacted) or mended(fault, planted, nth, seen)
        counted[1] += 1
    if scenario.double in FAITHFUL:
        own = [one for one in attempts if one.writer.startswith("doubles/") and not one.failure]
        tally.drafts += len(own)
        tally.refused += sum(bool(blocking(one.findings)) for one in own)
        found = Counter(finding.code for one in own for finding in blocking(one.findings))
        tally.blocked = dict(Counter(tally.blocked) + found)
        tally.taken += len(outcome.body.verdict.dropped) if isinstance(outcome, Compacted) else 0


def scenarios(seeds: int, doubles: Sequence[str] = tuple(SPOILS), langs: Sequence[Lang] = LANGS) -> list[Scenario]:
    """Every double in both languages with so many seeds; one seed in four gives up where no draft passes."""
    return [
        Scenario(double, lang, seed, "cancel" if seed % 4 == 3 else "ledger")
        for double in doubles
        for lang in langs
        for seed in range(seeds)
    ]


def shares(tally: Tally, by: int) -> dict[str, dict[str, tuple[int, int]]]:
    """Per law what held and what was looked at, by double (1) or by kind of fact (2)."""
    found: dict[str, dict[str, list[int]]] = defaultdict(dict)
    for key, (held, looked) in tally.checks.items():
        counted = found[key[0]].setdefault(key[by], [0, 0])
        counted[0] += held
        counted[1] += looked
    return {law: {name: (held, looked) for name, (held, looked) in row.items()} for law, row in found.items()}


def main(argv: Sequence[str] | None = None) -> int:
    """Print the tables, or with `--json` the figures. Ends with 1 where a law did not hold."""
    parser = argparse.ArgumentParser(prog="bench.planted", description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--rounds", type=int, default=5, help="compactions of each conversation")
    parser.add_argument("--seeds", type=int, default=12, help="conversations for each double and language")
    parser.add_argument("--exchanges", type=int, default=9, help="requests between the facts in each round")
    parser.add_argument("--double", action="append", choices=sorted(SPOILS), help="only this one; may be repeated")
    parser.add_argument("--kind", action="append", choices=sorted(KINDS), help="only these facts; may be repeated")
    parser.add_argument("--show", type=int, default=8, help="broken laws that are listed")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args(argv)
    kinds = tuple(options.kind or KINDS)
    tally = Tally()
    for scenario in scenarios(options.seeds, tuple(options.double or SPOILS)):
        tally.add(play(scenario, rounds=options.rounds, exchanges=options.exchanges, kinds=kinds))
    broken = [one for one in tally.failures if one.split(":")[0] in MUST]
    if options.json:
        print(json.dumps(figures(tally) | {"broken": broken}, ensure_ascii=False))
    else:
        print_tables(tally, kinds)
        print("\n".join(f"BROKEN {one}" for one in broken[: options.show]), file=sys.stderr)
    return 1 if broken else 0


def figures(tally: Tally) -> dict[str, object]:
    """All that was counted, as plain data."""
    return {
        "doubles": shares(tally, 1),
        "kinds": shares(tally, 2),
        "faults": [[double, kind, *counts] for (double, kind), counts in tally.faults.items()],
        "honest": {"drafts": tally.drafts, "refused": tally.refused, "findings": tally.blocked, "taken": tally.taken},
    }


def print_tables(tally: Tally, kinds: Sequence[str]) -> None:
    """The laws by double, the facts by kind, the faults by double, and how often honest drafts were refused."""
    doubles = [name for name in SPOILS if any(key[1] == name for key in tally.checks)]
    print("What holds, %".ljust(42) + "".join(f"{name[:12]:>14}" for name in doubles))
    for law, row in shares(tally, 1).items():
        print(f"{law:42}" + "".join(f"{_share(row.get(name)):>14}" for name in doubles))
    print("\nBy kind of fact, %".ljust(43) + "".join(f"{name[:12]:>14}" for name in kinds))
    for law, row in shares(tally, 2).items():
        if set(row) & set(kinds):
            print(f"{law:42}" + "".join(f"{_share(row.get(name)):>14}" for name in kinds))
    print("\nFaults put into drafts, and of these caught")
    for (double, kind), (caught, put) in tally.faults.items():
        print(f"  {double:20}{kind:36}{put:7} {_share((caught, put)):>7} %")
    total = [sum(counts) for counts in zip(*tally.faults.values(), strict=True)] if tally.faults else [0, 0]
    print(f"  {'all':56}{total[1]:7} {_share((total[0], total[1])):>7} %")
    if tally.drafts:
        share = 100 * tally.refused / tally.drafts
        print(
            f"\nHonest drafts: {tally.drafts}, refused {tally.refused} ({share:.1f} %) {dict(tally.blocked) or ''}; "
            f"lines taken out of them: {tally.taken}"
        )


def _share(counts: tuple[int, int] | None) -> str:
    return f"{100 * counts[0] / counts[1]:.1f}" if counts and counts[1] else "–"


if __name__ == "__main__":
    raise SystemExit(main())
