"""One compaction from the window as it stands to the entry that is committed, or to the reason why nothing was."""

import asyncio
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import msgspec

from clew.clock import NewId, Now
from clew.compact.brief import focus_of
from clew.compact.budget import BRIEF_FLOOR, Budget, budget, room
from clew.compact.cut import Cut, Skip, plan
from clew.compact.flow import Flow, compaction
from clew.compact.job import Accepted, Job, Refused
from clew.compact.outcome import Compacted, Declined, Outcome, Skipped
from clew.compact.settings import CompactionSettings
from clew.compact.trigger import Load, due
from clew.errors import Conflict, PromptTooLarge
from clew.models.drive import OnAnswer, Progress, drive
from clew.models.port import Limits, Model, Request
from clew.prune.mark import cuts, project
from clew.store.port import Draft, Record, Slice, Store
from clew.tokens import estimate
from clew.tokens.usage import Size
from clew.tokens.window import compact_at
from clew.transcript import Compaction, Trigger, View, brief_text, view


class Order(msgspec.Struct, frozen=True):
    """What is asked of one compaction."""

    settings: CompactionSettings
    trigger: Trigger = "manual"
    focus: str | None = None
    window: int | None = None
    """The window of the model the session talks to, in tokens; None where it is unknown."""
    fixed: int = 0
    """Tokens the system prompt and the tools take of every request."""
    keep: int | None = None
    """Tokens the tail may take, in place of the setting."""
    budget: int | None = None
    """Tokens the brief may take, in place of what the window suggests."""
    chain: tuple[Model, ...] = ()
    """Who writes the brief: the first that answers. Empty: rules do."""
    base: Request | None = None
    """The conversation's own request, where a summary request may extend it: the same model, its cache warm."""
    given: str | None = None
    """A draft from a registered compaction provider, an engine or the model's own provider."""
    given_by: str = ""
    """Who wrote that draft; empty for the provider that the settings name."""
    flow: Flow = compaction
    """What asks for the brief and settles on it."""


def view_tokens(shown: View, sizes: Mapping[str, int]) -> int:
    """The estimated size of a view: its brief as sent, and its entries."""
    opening = estimate.text(brief_text(shown.brief.summary)) if shown.brief else 0
    return opening + sum(sizes.get(entry.id, 0) for entry in shown.entries)


def sizes_in(window: Slice) -> dict[str, int]:
    """The sizes of a window's entries as they are sent, in tokens by id: as stored, but for those shown shortened."""
    sizes, shown = {record.entry.id: record.tokens for record in window.records}, view(window.entries)
    marked = cuts(shown)
    for entry in project(shown).entries if marked else ():
        if entry.id in marked:
            sizes[entry.id] = estimate.entry(entry)
    return sizes


def stored_bytes(window: Slice) -> int:
    """Bytes of what the model sees of a window: its brief's text and its entries, not the ledger kept beside them."""
    boundary = window.boundary.entry.id if window.boundary else None
    shown = view(window.entries)
    brief = len(shown.brief.summary.encode()) if shown.brief else 0
    return brief + sum(record.size for record in window.records if record.entry.id != boundary)


LATCH = "byteLatch"
"""Under which a session's row remembers the bytes that a compaction could not get below `maxActiveTranscriptBytes`."""


def reason(
    window: Slice, size: Size, *, limit: int | None, settings: CompactionSettings, fixed: int = 0, incoming: int = 0
) -> Trigger | None:
    """Why a session has to be compacted before its next request; None while it fits.

    `limit` is the model's window in tokens, None where it is unknown; `fixed` what prompt and tools take of it. Raises
    PromptTooLarge where that leaves no room for a conversation: compacting could not help.
    """
    if limit and compact_at(limit, fixed) is None:
        raise _no_room(fixed, max(0, (size.tokens or 0) - fixed), limit)
    load = Load(size, fixed, incoming, stored_bytes(window))
    most = settings.max_active_transcript_bytes
    latch = window.session.meta.get(LATCH)
    return due(load, window=limit, max_bytes=most, enabled=settings.enabled, latched=latch)


def latch(store: Store, key: str, settings: CompactionSettings) -> None:
    """Remember, after a compaction, the bytes that are left above the limit, or that there are none."""
    window, most = store.window(key), settings.max_active_transcript_bytes
    left = stored_bytes(window) if most else 0
    kept = left if most and left >= most else None
    if window.session.meta.get(LATCH) != kept:
        store.describe(key, {LATCH: kept})


def _no_room(fixed: int, history: int, window: int) -> PromptTooLarge:
    return PromptTooLarge(
        f"The system prompt and the tools take about {fixed:,} tokens of a window of {window:,}; the conversation has "
        f"{history:,}. No compaction can make that fit. Nothing was sent, and all that was said is kept. Shorten the "
        "workspace files, take tools away, or choose a model with a larger window.",
        fixed=fixed,
        history=history,
        window=window,
    )


def cut_for(shown: View, sizes: Mapping[str, int], order: Order) -> tuple[Cut | Skip, Budget]:
    """Where the view would be cut, and what tail and brief may take."""
    total = view_tokens(shown, sizes)
    wanted = order.settings.keep_recent_tokens if order.keep is None else order.keep
    allowed = budget(view_tokens=total, keep_recent=wanted, window=order.window, fixed=order.fixed)
    keep = order.keep if order.keep is not None and not order.window else allowed.keep
    cut = plan(shown.entries, sizes, keep=keep, kept=shown.kept, floor=BRIEF_FLOOR)
    return cut, Budget(keep, order.budget or allowed.brief)


async def compact(
    store: Store,
    key: str,
    order: Order,
    *,
    now: Now,
    new_id: NewId,
    preview: bool = False,
    on_progress: Callable[[Progress], None] | None = None,
    on_answer: OnAnswer | None = None,
) -> Outcome:
    """Compact a session, or (`preview`) show what would come of it without asking a model and without writing.

    The window is read, the brief is written without any lock, and the result is committed only if no other compaction,
    reset or undo came in between. Cancelling the task leaves everything as it was. `on_answer` is given each answer of
    the model, for the account, whatever comes of it.
    """
    started = time.monotonic()
    window = store.window(key)
    shown, sizes = view(window.entries), sizes_in(window)
    before = view_tokens(shown, sizes)
    cut, allowed = cut_for(shown, sizes, order)
    if isinstance(cut, Skip):
        return Skipped(cut.code, cut.reason, before)
    chain = () if preview else order.chain
    job = _job(order, shown, cut, allowed, chain, await _limits(chain))
    verdict = await drive(
        order.flow(job),
        chain,
        timeout_s=float(order.settings.timeout_seconds),
        on_progress=on_progress,
        base=order.base,
        on_answer=on_answer,
    )
    if isinstance(verdict, Refused):
        return Declined(verdict.code, verdict.reason, verdict.detail, verdict.attempts, before)
    body = _body(order, shown, cut, verdict, before, round(1000 * (time.monotonic() - started)))
    if body.tokens_after >= before:
        return Declined("not_smaller", Refused("not_smaller").reason, "", verdict.verdict.attempts, before)
    if preview:
        return Compacted("", body, cut, preview=True)
    await asyncio.sleep(0)  # a cancel that came while rules were at work takes effect here, before anything is written
    return _commit(store, key, window, body, cut, now, new_id)


async def _limits(chain: Sequence[Model]) -> Limits:
    return await chain[0].limits() if chain else Limits()


def _job(order: Order, shown: View, cut: Cut, allowed: Budget, chain: Sequence[Model], limits: Limits) -> Job:
    settings = order.settings
    return Job(
        cut=cut,
        budget=allowed.brief,
        count=estimate.text,
        room=room(limits.budget, allowed.brief, max_output=limits.max_output),
        previous=shown.brief,
        writer=chain[0].name if chain else None,
        given=order.given,
        rides=bool(chain) and order.base is not None,
        given_by=order.given_by or f"provider:{settings.provider}",
        focus=focus_of(order.focus),
        mode="safeguard" if settings.provider else settings.mode,
        strict=settings.identifier_policy == "strict",
        guard=settings.quality_guard.enabled,
        retries=settings.quality_guard.max_retries,
        recent_turns=settings.recent_turns_preserve,
        fallback=settings.fallback,
    )


def _body(order: Order, shown: View, cut: Cut, verdict: Accepted, before: int, duration_ms: int) -> Compaction:
    return Compaction(
        summary=verdict.text,
        first_kept=cut.first_kept,
        tokens_before=before,
        tokens_after=estimate.text(brief_text(verdict.text)) + cut.tail_tokens,
        trigger=order.trigger,
        verdict=verdict.verdict,
        ledger=verdict.ledger,
        model=verdict.model,
        mode="safeguard" if order.settings.provider else order.settings.mode,
        focus=focus_of(order.focus),
        lines=verdict.lines,
        previous=shown.boundary.id if shown.boundary else None,
        lost=verdict.lost,
        lost_total=verdict.lost_total,
        left_out=verdict.left_out,
        covered=len(cut.dropped),
        duration_ms=duration_ms,
        nodes=verdict.nodes,
    )


def _commit(
    store: Store, key: str, window: Slice, body: Compaction, cut: Cut, now: Now, new_id: NewId
) -> Compacted | Declined:
    """Boundary, counters and event in one transaction, or nothing if the session's boundary moved meanwhile."""
    draft = Draft(new_id(), now(), body, tokens=estimate.text(brief_text(body.summary)))
    try:
        record: Record = store.commit(
            key,
            draft,
            generation=window.session.generation,
            boundary=draft.id,
            start=body.first_kept,
            event="compaction",
            data=event_data(body),
        )
    except Conflict as conflict:
        return Declined("conflict", str(conflict), "", body.verdict.attempts, body.tokens_before)
    return Compacted(record.entry.id, body, cut)


def event_data(body: Compaction) -> dict[str, Any]:
    """What a log says of a compaction: sizes, reasons and counts, never words of the conversation."""
    return {
        "trigger": body.trigger,
        "outcome": body.verdict.outcome,
        "model": body.model,
        "attempts": len(body.verdict.attempts),
        "tokensBefore": body.tokens_before,
        "tokensAfter": body.tokens_after,
        "durationMs": body.duration_ms,
    }


def logged(outcome: Outcome) -> dict[str, Any]:
    """What a log says of how a compaction ended."""
    if isinstance(outcome, Compacted):
        return {"preview": outcome.preview, **event_data(outcome.body)}
    more = {"attempts": len(outcome.attempts)} if isinstance(outcome, Declined) else {}
    return {"outcome": type(outcome).__name__.lower(), "reason": outcome.code, "tokens": outcome.tokens, **more}
