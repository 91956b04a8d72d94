"""Sessions over HTTP: list, make, talk, look, compact, undo, pin, reset, archive, delete.

A session is named by the query parameter `key`, since keys hold colons and may hold slashes.
"""

import asyncio
from typing import Annotated, Any

from fastapi import APIRouter, Query, Response
from pydantic import BaseModel, ConfigDict, Field

from clew.agency import Conversation
from clew.commands.run import usage_mode
from clew.compact.outcome import Compacted
from clew.config.agents import MAIN, agent_of
from clew.errors import BadInput, Conflict
from clew.gateway.answers import answered, entry, plain_words
from clew.gateway.facts import ARCHIVED as ARCHIVED
from clew.gateway.hub import Hub
from clew.gateway.rows import told
from clew.gateway.tending import tended
from clew.gateway.worker import Run
from clew.render import as_json
from clew.render.treemap_svg import svg
from clew.runtime.session import Wound
from clew.store.port import SessionRow

Key = Annotated[str, Query(min_length=1, max_length=200, description="The session's key.")]
Text = Annotated[str, Field(min_length=1, max_length=4_000_000)]


class Body(BaseModel):
    """A request's body: keys as written here, and no others."""

    model_config = ConfigDict(extra="forbid", str_strip_whitespace=False)


class NewSession(Body):
    """A session to be made."""

    key: Annotated[str | None, Field(min_length=1, max_length=200)] = None
    agent: Annotated[str, Field(pattern=r"^[a-z0-9][a-z0-9_-]{0,63}$")] = MAIN
    title: Annotated[str | None, Field(max_length=200)] = None


class NewMessage(Body):
    """Something to say. `id` makes it the same message however often it is sent."""

    text: Text
    id: Annotated[str | None, Field(pattern=r"^[A-Za-z0-9_-]{8,64}$")] = None
    wait: bool = False
    sender: Annotated[str | None, Field(min_length=1, max_length=200, pattern=r"\S")] = None


class CompactBody(Body):
    """A compaction."""

    focus: Annotated[str | None, Field(max_length=4_000)] = None
    preview: bool = False


class PinBody(Body):
    """A message to be kept for good, by its number, its id or the start of it."""

    entry: Annotated[str, Field(min_length=1, max_length=64)]
    on: bool = True


class ResetBody(Body):
    """A fresh window."""

    model: Annotated[str | None, Field(min_length=1, max_length=200)] = None


class ArchiveBody(Body):
    """Put away, or back."""

    archived: bool = True


class DeleteBody(Body):
    """A session's key once more, so that no session goes by mistake."""

    confirm: Annotated[str, Field(max_length=200)]


def routes(hub: Hub) -> APIRouter:
    """All of these over a hub."""
    router = APIRouter(prefix="/api", tags=["sessions"])
    _listing(router, hub)
    _talking(router, hub)
    _looking(router, hub)
    _changing(router, hub)
    return router


def _listing(router: APIRouter, hub: Hub) -> None:
    @router.get("/sessions")
    async def sessions(
        agent: str | None = None,
        active: Annotated[int | None, Query(ge=1, le=5_256_000, description="Minutes.")] = None,
        limit: Annotated[int, Query(ge=1, le=10_000)] = 100,
        archived: bool = False,
    ) -> dict[str, Any]:
        """The sessions, the most recently used first."""
        since = hub.now() - active * 60_000 if active else None
        rows = await asyncio.to_thread(lambda: hub.clew.sessions(active_since=since))
        found = [row for row in rows if (agent is None or agent_of(row.key) == agent)]
        found = [row for row in found if bool(row.meta.get(ARCHIVED)) == archived]
        return {
            "count": len(found[:limit]),
            "totalCount": len(found),
            "hasMore": len(found) > limit,
            "sessions": [session_row(hub, row) for row in found[:limit]],
        }

    @router.post("/sessions", status_code=201)
    async def make(body: NewSession) -> dict[str, Any]:
        """Make a session."""
        key = body.key or f"agent:{body.agent}:{hub.fresh_id()}"
        if "agent" in body.model_fields_set and agent_of(key) != body.agent:
            raise BadInput(f"{key} belongs to the agent {agent_of(key)}, not to {body.agent}; nothing was made.")
        meta: dict[str, Any] = {"title": body.title} if body.title else {}
        return session_row(hub, await hub.make(key, **meta))

    @router.get("/session")
    async def one(key: Key) -> dict[str, Any]:
        """One session: its row, what runs and waits, and, while it is used, model and window."""
        row = await asyncio.to_thread(hub.clew.store.session, key)
        worker = hub.worker(key)
        status = await worker.conversation.status() if worker and worker.conversation else None
        told = session_row(hub, row)
        if status is not None and worker is not None and worker.conversation is not None:
            told["status"] = {
                "model": status.model, "window": status.limits.budget, "tokens": status.size.tokens,
                "source": status.size.source, "fixed": status.fixed, "engine": status.engine,
                "usage": usage_mode(worker.conversation),
            }  # fmt: skip
        return told


def _talking(router: APIRouter, hub: Hub) -> None:
    @router.post("/session/messages", status_code=202)
    async def say(key: Key, body: NewMessage, response: Response) -> dict[str, Any]:
        """Say something. It is stored when this answers; `wait` waits for the turn's end. Lines that begin with a
        slash are commands, as in a chat."""
        run = await hub.say(key, body.text, id=body.id, sender=body.sender or "")
        if body.wait:
            await run.wait()
            response.status_code = 200
        return answered(run)

    @router.get("/runs/{id}")
    async def run(id: str) -> dict[str, Any]:
        """What became of a run."""
        return answered(hub.run(id))

    @router.post("/session/cancel")
    async def cancel(key: Key) -> dict[str, bool]:
        """End the turn that runs; what was said is kept."""
        await asyncio.to_thread(hub.clew.store.session, key)
        worker = hub.worker(key)
        return {"cancelled": bool(worker and worker.cancel())}


def _looking(router: APIRouter, hub: Hub) -> None:
    @router.get("/session/entries")
    async def entries(
        key: Key,
        after: Annotated[int, Query(ge=0, le=2**53)] = 0,
        limit: Annotated[int, Query(ge=1, le=1_000)] = 100,
    ) -> dict[str, Any]:
        """The history in order, in pages."""

        def page() -> dict[str, Any]:
            found = list(hub.clew.store.entries(key, after=after, limit=limit))
            last = found[-1].seq if len(found) == limit else None
            return {"entries": [entry(record) for record in found], "next": last}

        return await asyncio.to_thread(page)

    @router.get("/session/context")
    async def context(key: Key) -> dict[str, Any]:
        """Who takes how much of the window."""
        return as_json.camel(as_json.context(await _report(hub, key)))  # type: ignore[no-any-return]

    @router.get("/session/context.svg", response_class=Response)
    async def picture(key: Key) -> Response:
        """The same as a picture."""
        report = await _report(hub, key)
        return Response(svg(report, key), media_type="image/svg+xml")

    @router.get("/session/compactions")
    async def compactions(key: Key) -> dict[str, Any]:
        """All compactions, oldest first, without their ledgers."""
        found = await asyncio.to_thread(lambda: hub.session(key).compactions())
        return {"compactions": [_wound(key, one) for one in found]}

    @router.get("/session/trace")
    async def trace(
        key: Key, compaction: str | None = None, line: Annotated[int | None, Query(ge=1)] = None
    ) -> dict[str, Any]:
        """The lines of a brief with the entries behind each."""
        wound, threads = await asyncio.to_thread(lambda: hub.session(key).trace(line, compaction=compaction))
        return as_json.camel(as_json.threads(key, wound, threads))  # type: ignore[no-any-return]

    @router.get("/session/cost")
    async def cost(key: Key) -> dict[str, Any]:
        """What the session cost, and what each change of the prefix saved."""
        return await asyncio.to_thread(lambda: plain_words(hub.session(key)))


def _changing(router: APIRouter, hub: Hub) -> None:
    @router.post("/session/compact")
    async def compact(key: Key, body: CompactBody) -> dict[str, Any]:
        """Wind the old part up now. `ok` is false where that failed; a session with work under way is refused."""
        if body.preview:
            return as_json.camel(as_json.outcome(await hub.clew.compact(key, focus=body.focus, preview=True), key))  # type: ignore[no-any-return]
        outcome = await tended(
            hub, key, lambda conversation: conversation.compact(body.focus),
            lambda: hub.clew.compact(key, focus=body.focus),
        )  # fmt: skip
        told = as_json.camel(as_json.outcome(outcome, key))
        if isinstance(outcome, Compacted):
            told["result"] = {name: value for name, value in told["result"].items() if name in RESULT}
        return told  # type: ignore[no-any-return]

    @router.post("/session/undo")
    async def undo(key: Key) -> dict[str, Any]:
        """Take the newest compaction back."""
        _idle(hub, key)
        id, before, after = await asyncio.to_thread(hub.clew.undo, key)
        hub.changed(key, "undo")
        return {"ok": True, "key": key, "compaction": id, "tokensBefore": before, "tokensAfter": after}

    @router.post("/session/pin")
    async def pin(key: Key, body: PinBody) -> dict[str, Any]:
        """Keep a message for good, or let it go again."""
        session = hub.session(key)
        record = await asyncio.to_thread(session.pin if body.on else session.unpin, body.entry)
        hub.changed(key, "pin")
        return {"ok": True, "key": key, "id": record.entry.id}

    @router.post("/session/reset")
    async def reset(key: Key, body: ResetBody) -> dict[str, Any]:
        """A fresh window, with another model if one is named; the transcript keeps everything."""

        async def afresh(conversation: Conversation) -> None:
            if body.model:
                await conversation.use(body.model)
            conversation.reset("reset")

        await _value(await hub.upkeep(key, afresh))
        return {"ok": True, "key": key}

    @router.post("/session/archive")
    async def archive(key: Key, body: ArchiveBody) -> dict[str, Any]:
        """Put a session away, or back; nothing of it changes."""
        await asyncio.to_thread(hub.clew.store.describe, key, {ARCHIVED: body.archived or None})
        hub.changed(key, "archive")
        return {"ok": True, "key": key, "archived": body.archived}

    @router.delete("/session")
    async def delete(key: Key, body: DeleteBody) -> dict[str, Any]:
        """Remove a session for good. There is no way back."""
        if body.confirm != key:
            raise BadInput(f"Nothing was deleted: `confirm` has to be the key, {key}.")
        await hub.delete(key)
        hub.changed(key, "deleted")
        return {"ok": True, "key": key, "status": "deleted"}


RESULT = ("tokensBefore", "tokensAfter", "id", "model", "verdict", "durationMs", "trigger", "covered", "lostTotal")
"""What is told of a compaction; its brief, ledger and lines have routes of their own."""


def session_row(hub: Hub, row: SessionRow) -> dict[str, Any]:
    """A session's row with what runs and waits."""
    return {**told(row, hub.clew.config, hub.now()), **hub.state(row.key)}


async def _report(hub: Hub, key: str) -> Any:
    worker = hub.worker(key)
    if worker and worker.conversation:
        return await worker.conversation.report()
    return await hub.clew.context(key)


def _wound(key: str, one: Wound) -> dict[str, Any]:
    told: dict[str, Any] = as_json.camel(as_json.wound(key, one))
    return {name: value for name, value in told.items() if name not in ("ledger", "lines", "nodes")}


def _idle(hub: Hub, key: str) -> None:
    worker = hub.worker(key)
    if worker and worker.busy:
        what = "has an active run" if worker.running else "has queued work"
        raise Conflict(f"Session {key} {what}; nothing was changed. Ask again when it is done.")


async def _value(run: Run) -> Run:
    await run.wait()
    if run.error is not None:
        raise run.error
    return run
