"""What the page reads: an overview, a window as rectangles, a timeline, one brief, one entry. Nothing here changes."""

import asyncio
from typing import Annotated, Any

from fastapi import APIRouter, Query

from clew.clock import iso
from clew.compact.outcome import Compacted
from clew.errors import CallerError, ClewError
from clew.gateway import answers, timeline, window_map
from clew.gateway.hub import Hub
from clew.gateway.session_routes import ARCHIVED, Key, session_row
from clew.logs import log
from clew.models.port import Limits
from clew.prompt.report import Report, what
from clew.prune.mark import cuts, project
from clew.render import as_json
from clew.render.compaction import FAILURES, author, contents, findings, lost, verdict
from clew.runtime.session import Session, Wound, claims
from clew.store.port import SessionRow
from clew.tokens import estimate
from clew.transcript import Attempt, Compaction

LIMITS_S = 3.0
"""Seconds a model's server may take to say how large its window is; the page is shown without, then."""

Side = Annotated[float, Query(ge=100, le=8_000, description="Pixels.")]


def routes(hub: Hub) -> APIRouter:
    """All of these over a hub."""
    router = APIRouter(prefix="/api", tags=["page"])
    _overview(router, hub)
    _window(router, hub)
    _briefs(router, hub)
    return router


def _overview(router: APIRouter, hub: Hub) -> None:
    @router.get("/overview")
    async def overview(
        find: Annotated[str, Query(max_length=200, description="Part of a key or a title.")] = "",
        limit: Annotated[int, Query(ge=1, le=1_000)] = 60,
        archived: bool = False,
    ) -> dict[str, Any]:
        """The sessions with what fills them, the most recently used first, and the window they are measured by."""
        rows = await asyncio.to_thread(hub.clew.sessions)
        there = [row for row in rows if bool(row.meta.get(ARCHIVED)) == archived]
        found = [row for row in there if _names(row, find)]
        limits = await _limits(hub)
        return {
            "sessions": [session_row(hub, row) for row in found[:limit]],
            "found": len(found),
            "all": len(there),
            "model": hub.clew.config.agents.defaults.model.primary,
            "window": limits.budget,
            "windowSource": limits.source,
        }


def _names(row: SessionRow, find: str) -> bool:
    return find.casefold() in f"{row.key}\n{row.meta.get('title') or ''}".casefold()


async def _limits(hub: Hub) -> Limits:
    """The default model's; unknown where no model is set, or its server does not say."""
    try:
        return await asyncio.wait_for(hub.clew.limits(), LIMITS_S)
    except (ClewError, TimeoutError) as error:
        log.warning("window unknown", error=type(error).__name__)
        return Limits()


def _window(router: APIRouter, hub: Hub) -> None:
    @router.get("/session/window")
    async def window(key: Key, width: Side = 900, height: Side = 480, map: bool = True) -> dict[str, Any]:
        """A session's window: its size beside the thresholds, and (`map`) its contents as rectangles."""
        row = await asyncio.to_thread(hub.clew.store.session, key)
        told, model = await _report(hub, key)
        regions = await asyncio.to_thread(_drawn, hub.session(key), told, width, height) if map else []
        facts: dict[str, Any] = as_json.camel(as_json.context(told))
        for name in ("parts", "fixed", "largest"):
            facts.pop(name)
        return {**facts, "session": session_row(hub, row), "model": model, "regions": regions}

    @router.get("/session/timeline")
    async def past(
        key: Key,
        before: Annotated[int | None, Query(ge=1, le=2**53, description="The number of an entry.")] = None,
        limit: Annotated[int, Query(ge=1, le=200)] = 30,
    ) -> dict[str, Any]:
        """Turns, prunes, compactions, resets, pins and undos, the newest first, in pages."""
        return await asyncio.to_thread(timeline.page, hub.session(key), before, limit)

    @router.get("/session/entry")
    async def entry(
        key: Key,
        id: Annotated[str, Query(min_length=1, max_length=64, description="Its id, the start of it, or `#12`.")],
        most: Annotated[int, Query(ge=1, le=10_000_000, description="Characters of its text.")] = answers.MOST_TEXT,
    ) -> dict[str, Any]:
        """One entry in full, and how the model sees it now."""
        return await asyncio.to_thread(_entry, hub.session(key), id, most)


async def _report(hub: Hub, key: str) -> tuple[Report, str | None]:
    """The report on a session, with prompt and tools where it is in use, and the model it is measured by."""
    worker = hub.worker(key)
    if worker and worker.conversation:
        conversation = worker.conversation
        return await conversation.report(), (await conversation.status()).model
    limits = await _limits(hub)
    told = await asyncio.to_thread(hub.session(key).context, window=limits.budget, source=limits.source)
    return told, hub.clew.config.agents.defaults.model.primary


def _drawn(session: Session, told: Report, width: float, height: float) -> list[dict[str, Any]]:
    shown = project(session.view())
    regions = window_map.drawn(told, window_map.holders(shown), width, height)
    inner = [one for region in regions for piece in region["pieces"] for one in piece["inner"] if one["id"]]
    known = session.store.entry_many(session.key, [one["id"] for one in inner])
    for one in inner:
        record = known.get(one["id"])
        one["seq"] = record.seq if record else None
    return regions


def _entry(session: Session, name: str, most: int) -> dict[str, Any]:
    record, shown = session.find(name), session.view()
    seen = {one.id for one in shown.entries} | ({shown.boundary.id} if shown.boundary else set())
    cut = cuts(shown).get(record.entry.id)
    return {
        **answers.entry(record, most),
        "what": what(record.entry),
        "pinned": record.entry.id in session.pinned(),
        "inWindow": record.entry.id in seen,
        "shortened": sorted(cut.kinds) if cut else [],
    }


def _briefs(router: APIRouter, hub: Hub) -> None:
    @router.get("/session/compaction")
    async def compaction(
        key: Key, id: Annotated[str | None, Query(max_length=64, description="Default: the newest.")] = None
    ) -> dict[str, Any]:
        """A compaction in full: its brief line by line with sources, the audit, and what was lost."""
        return await asyncio.to_thread(_compaction, hub.session(key), id)

    @router.get("/session/preview")
    async def preview(key: Key, focus: Annotated[str | None, Query(max_length=4_000)] = None) -> dict[str, Any]:
        """What a compaction now would come to, by rules: no model is asked and nothing is written."""
        outcome = await hub.clew.compact(key, focus=focus or None, preview=True)
        if isinstance(outcome, Compacted):
            session = hub.session(key)
            return {"ok": True, "brief": await asyncio.to_thread(_told, session, outcome.body)}
        return {"ok": False, "code": outcome.code, "reason": outcome.reason, "tokens": outcome.tokens}


def _compaction(session: Session, name: str | None) -> dict[str, Any]:
    wounds = session.compactions()
    found = [wound for wound in wounds if wound.id.startswith(name or "")]
    if not found:
        which = f"compaction {name}" if name else "compaction yet"
        raise CallerError(f"Session {session.key} has no {which}; nothing was changed.")
    standing = [wound for wound in found if wound.standing == "standing"]
    wound = (standing or found)[-1]
    listing = [_short(one) for one in reversed(wounds)]
    return {**_short(wound), **_told(session, wound.body), "compactions": listing}


def _short(wound: Wound) -> dict[str, Any]:
    body = wound.body
    return {
        "id": wound.id, "at": iso(wound.at), "standing": wound.standing, "tokensBefore": body.tokens_before,
        "tokensAfter": body.tokens_after, "outcome": body.verdict.outcome, "by": author(body),
    }  # fmt: skip


def _told(session: Session, body: Compaction) -> dict[str, Any]:
    """A brief with everything that stands beside it."""
    sources = {line.number: line.sources for line in body.lines}
    wanted = dict.fromkeys(id for ids in sources.values() for id in ids)
    known = session.store.entry_many(session.key, list(wanted))
    return {
        "tokensBefore": body.tokens_before, "tokensAfter": body.tokens_after, "covered": body.covered,
        "trigger": body.trigger, "focus": body.focus, "durationMs": body.duration_ms, "by": author(body),
        "tokens": estimate.text(body.summary), "outcome": body.verdict.outcome, "verdict": verdict(body),
        "attempts": [_attempt(one) for one in body.verdict.attempts],
        "restored": body.verdict.restored, "dropped": body.verdict.dropped, "cut": body.verdict.losses,
        "ledger": contents(body.ledger), "lost": body.lost, "lostTotal": body.lost_total, "lostWords": lost(body),
        "leftOut": {name: list(texts) for name, texts in body.left_out.items()},
        "lines": [
            {
                "number": number, "text": text, "claims": claims(text),
                "sources": [
                    {"id": id, "seq": known[id].seq, "what": what(known[id].entry)}
                    for id in sources.get(number, ()) if id in known
                ],
            }
            for number, text in enumerate(body.summary.split("\n"), 1)
        ],
    }  # fmt: skip


def _attempt(one: Attempt) -> dict[str, Any]:
    failure = FAILURES.get(one.failure, one.failure) if one.failure else None
    by_rules = one.writer == "ledger"
    return {"writer": "rules" if by_rules else one.writer, "tokens": one.tokens, "failure": failure,
            "findings": findings(one.findings)}  # fmt: skip
