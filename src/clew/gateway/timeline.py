"""A session's past as a person tells it: turns, and between them what was pruned, compacted, reset and taken back.

It is read backwards in pages, since the newest counts most and a session may have any length.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from clew.clock import iso
from clew.prune.mark import Cut, shortened
from clew.render.compaction import author, verdict
from clew.runtime.session import Session, Wound
from clew.store.port import Record
from clew.tokens import estimate
from clew.transcript import (
    Assistant,
    Compaction,
    Custom,
    ModelChange,
    Pin,
    PruneMark,
    Reset,
    Said,
    Shell,
    ToolResult,
    Undo,
    User,
    calls_of,
)
from clew.transcript.message import text_of

CHUNK, CHUNKS = 200, 5
"""Entries read at once, and how often that is done for a page; a turn longer than that is told in parts."""

EXCERPT = 400
"""Characters of a turn's first and last words."""

Item = dict[str, Any]


def page(session: Session, before: int | None, limit: int) -> dict[str, Any]:
    """About `limit` items older than entry number `before`, the newest first, and where the next page begins."""
    high = before or session.row().entries + 1
    low = high
    records: list[Record] = []
    items: list[Item] = []
    for _ in range(CHUNKS):
        top, low = low, max(1, low - CHUNK)
        records = [*session.store.entries(session.key, after=low - 1, limit=top - low), *records] if top > low else []
        items = _whole(_grouped(records), begun=low == 1)
        if len(items) > limit or low == 1:
            break
    items = items or _grouped(records)
    cut = _cut(items, limit)
    rest = items[cut]["seq"] if cut else (items[0]["seq"] if items and low > 1 else None)
    return {"items": _told(session, items[cut:])[::-1], "next": rest if rest != 1 else None, "entries": high - 1}


def _grouped(records: Iterable[Record]) -> list[Item]:
    """The records as items in order of their first entry, each with the records it is made of."""
    items: list[Item] = []
    turn: Item | None = None
    for record in records:
        body = record.entry.body
        if isinstance(body, Custom):
            continue
        if not isinstance(body, Said):
            items.append({"seq": record.seq, "last": record.seq, "begins": False, "records": [record]})
            continue
        begins = isinstance(body.message, User) and not body.message.synthetic
        if turn is None or begins:
            turn = {"seq": record.seq, "last": record.seq, "begins": begins, "records": []}
            items.append(turn)
        turn["records"].append(record)
        turn["last"] = record.seq
    return items


def _whole(items: list[Item], *, begun: bool) -> list[Item]:
    """The items from the first that is there from its beginning."""
    if begun:
        return items
    first = next((nth for nth, item in enumerate(items) if item["begins"]), len(items))
    return items[first:]


def _cut(items: Sequence[Item], limit: int) -> int:
    """Where a page of about `limit` items begins, so that no turn is parted."""
    at = max(0, len(items) - limit)
    while at and any(item["last"] > items[at]["seq"] for item in items[:at]):
        at -= 1
    return at


def _told(session: Session, items: Sequence[Item]) -> list[Item]:
    wounds = {wound.id: wound for wound in session.compactions()}
    marks = [one["records"][0].entry.body for one in items]
    wanted = [target for mark in marks for target in _targets(mark)]
    known = session.store.entry_many(session.key, list(dict.fromkeys(wanted)))
    return [_item(item, wounds, known) for item in items]


def _targets(body: Any) -> Iterable[str]:
    match body:
        case PruneMark():
            return body.cuts
        case Pin():
            return (body.target,)
    return ()


def _item(item: Item, wounds: Mapping[str, Wound], known: Mapping[str, Record]) -> Item:
    records: list[Record] = item["records"]
    first = records[0]
    told = {"seq": item["seq"], "last": item["last"], "id": first.entry.id, "at": iso(first.entry.at)}
    match first.entry.body:
        case Said():
            return {**told, "kind": "turn", "partial": not item["begins"], **_turn(records)}
        case Compaction() as body:
            return {**told, "kind": "compaction", **_compaction(body, wounds.get(first.entry.id))}
        case PruneMark() as body:
            return {**told, "kind": "prune", **_prune(body, known)}
        case Undo() as body:
            undone = wounds.get(body.target)
            sizes = {"before": undone.body.tokens_after, "after": undone.body.tokens_before} if undone else {}
            return {**told, "kind": "undo", "compaction": body.target, **sizes}
        case Pin() as body:
            target = known.get(body.target)
            named = {"target": body.target, "targetSeq": target.seq if target else None}
            return {**told, "kind": "pin", "on": body.on, "role": body.role, "text": body.text[:EXCERPT], **named}
        case Reset() as body:
            return {**told, "kind": "reset", "reason": body.reason}
        case ModelChange() as body:
            return {**told, "kind": "model", "model": body.model}
    return {**told, "kind": "other"}


def _turn(records: Sequence[Record]) -> Item:
    messages = [record.entry.body.message for record in records if isinstance(record.entry.body, Said)]
    calls = Counter(call.name for message in messages for call in calls_of(message))
    answers = (text_of(message) for message in reversed(messages) if isinstance(message, Assistant))
    opening = messages[0] if isinstance(messages[0], User | Shell) else None
    return {
        "text": text_of(opening)[:EXCERPT] if opening else "",
        "answer": next(filter(None, answers), "")[:EXCERPT],
        "entries": len(records),
        "calls": [{"tool": name, "count": count} for name, count in calls.most_common()],
        "errors": sum(isinstance(message, ToolResult) and message.error for message in messages),
        "tokens": sum(record.tokens for record in records),
    }


def _compaction(body: Compaction, wound: Wound | None) -> Item:
    known = body.verdict.outcome != "imported" or bool(body.tokens_before)
    return {
        "before": body.tokens_before if known else None,
        "after": body.tokens_after if known else None,
        "covered": body.covered,
        "trigger": body.trigger,
        "outcome": body.verdict.outcome,
        "verdict": verdict(body),
        "by": author(body),
        "standing": wound.standing if wound else "undone",
        "lost": body.lost_total,
    }


def _prune(body: PruneMark, known: Mapping[str, Record]) -> Item:
    """What a mark shortened: its entries as they were said, and as this mark alone shows them."""
    before = after = 0
    for target, kind in body.cuts.items():
        if (record := known.get(target)) is None or not isinstance(record.entry.body, Said):
            continue
        shown = shortened(record.entry, Cut(frozenset({kind}), body.placeholder), None).body
        before += estimate.message(record.entry.body.message)
        after += estimate.message(shown.message) if isinstance(shown, Said) else 0
    counts = Counter(body.cuts.values())
    return {"trimmed": counts["trim"], "cleared": counts["clear"], "images": counts["image"],
            "before": before, "after": after}  # fmt: skip
