"""Draft, mend, audit, ask again: a whole compaction as a generator that yields requests and returns a verdict.

Nothing here waits, writes or knows a clock. Whoever holds a model runs it, and whoever holds a store keeps the verdict.
The rungs, each of which lands or hands on to the next: a draft that passes after deterministic repair; a draft that
passes once the model was told what was wrong; the last draft with what is wrong taken out; a brief written by rules.
"""

from collections.abc import Callable, Generator, Sequence

import msgspec

from clew.compact import brief
from clew.compact.brief import Ask, Stage, Style
from clew.compact.job import Accepted, Failure, Job, Refused, Reply
from clew.compact.review import Review
from clew.compact.serialize import Piece, chunks, clip, pieces
from clew.transcript import Said

SMALLEST_CHUNK = 200
"""Tokens of conversation below which a chunk is not halved again when the model's window overflows."""

Requests = Generator[Ask, Reply | Failure, Accepted | Refused]
Flow = Callable[[Job], Requests]
"""A whole compaction: what to ask for, and in the end what to store or why nothing is."""


class Drafted(msgspec.Struct, frozen=True):
    """A draft, and the request it answered."""

    text: str
    prompt: str
    cut_off: bool = False


Drafting = Generator[Ask, Reply | Failure, Drafted | Failure]


def compaction(job: Job) -> Requests:
    """One compaction: yields what to ask, is sent what came back, returns what to store or why nothing is."""
    review = Review(job)
    if job.given and (accepted := review.examine(job.given, writer=job.given_by)):
        return accepted
    if job.writer is None:
        return review.by_rules()
    if job.rides and (riding := (yield from _ride(job, review))):
        return riding
    turn = ""
    if job.cut.history and job.cut.prefix:
        started = yield from _distil(job, pieces(job.cut.prefix, job.count), "turn", previous=None)
        turn = "" if isinstance(started, Failure) else started.text
    material = job.cut.history if turn else job.cut.dropped
    earlier = job.previous.summary if job.previous else None
    drafted = yield from _distil(job, pieces(material, job.count), "chunk", previous=earlier)
    if isinstance(drafted, Failure):
        review.failed(drafted)
        return review.give_up(drafted.code, drafted.message)
    return (yield from _refine(job, review, drafted, turn))


def _ride(job: Job, review: Review) -> Generator[Ask, Reply | Failure, Accepted | Refused | None]:
    """A brief asked for at the end of the conversation itself, corrections too: all before the question is cached.

    None where nothing like a brief came back: a model that only goes on with the conversation is asked apart from it.
    """
    kept = sum(isinstance(entry.body, Said) for entry in job.cut.tail)
    prompt = brief.ride_prompt(_style(job), kept=kept)
    reply = yield _ask(job, prompt, "ride")
    if isinstance(reply, Failure):
        review.failed(reply)
        return None
    drafted = Drafted(_whole(reply), prompt, reply.cut_off)
    if not brief.begun(drafted.text):
        return review.examine(drafted.text, cut_off=drafted.cut_off)
    return (yield from _refine(job, review, drafted, "", "ride"))


def _refine(job: Job, review: Review, drafted: Drafted, turn: str, stage: Stage = "merge") -> Requests:
    """Audit a draft; ask again with the findings while attempts are left; then take out what is wrong, or give up."""
    attempts = job.retries + 1 if job.guard else 1
    text, cut_off = drafted.text, drafted.cut_off
    for attempt in range(1, attempts + 1):
        if accepted := review.examine(text, turn=turn, cut_off=cut_off):
            return accepted
        if attempt < attempts:
            prompt = brief.correction(drafted.prompt, clip(text, 4 * job.room.output), review.findings)
            reply = yield _ask(job, prompt, stage, attempt=attempt + 1)
            if isinstance(reply, Failure):
                review.failed(reply)
                break
            text, cut_off = _whole(reply), reply.cut_off
    return review.salvage(text, turn=turn) or review.give_up("quality" if text.strip() else "empty")


def _distil(job: Job, found: Sequence[Piece], stage: Stage, *, previous: str | None) -> Drafting:
    """One draft of any amount of material: in parts that fit the summarising model, and the parts made one."""
    packed = chunks(found, job.room.chunk) or [[]]
    if len(packed) == 1 and previous and job.count(previous) > job.room.chunk // 2:
        previous = clip(previous, 2 * job.room.chunk)
    done: list[Drafted] = []
    for part, chunk in enumerate(packed, 1):
        drafted = yield from _part(job, chunk, stage, part, len(packed), previous if part == 1 else None)
        if isinstance(drafted, Failure):
            return drafted
        done.append(drafted)
    return (yield from _merge(job, done, stage)) if len(done) > 1 else done[0]


def _part(job: Job, chunk: Sequence[Piece], stage: Stage, part: int, parts: int, previous: str | None) -> Drafting:
    """One stretch of conversation; if the model's window turns out too small for it, its halves."""
    prompt = _prompt(job, chunk, stage, part, parts, previous)
    reply = yield _ask(job, prompt, stage, part=part, parts=parts)
    if isinstance(reply, Reply):
        return Drafted(_whole(reply), prompt, reply.cut_off)
    halves = _halved(chunk)
    if reply.code != "overflow" or not halves:
        return reply
    done: list[Drafted] = []
    for half in halves:
        drafted = yield from _part(job, half, stage, part, parts, previous if half is halves[0] else None)
        if isinstance(drafted, Failure):
            return drafted
        done.append(drafted)
    return (yield from _merge(job, done, stage))


def _halved(chunk: Sequence[Piece]) -> list[list[Piece]]:
    """A chunk in two; a single piece is cut to half its size; nothing where it is too small for that."""
    if sum(piece.tokens for piece in chunk) < 2 * SMALLEST_CHUNK:
        return []
    if len(chunk) > 1:
        return [list(chunk[: len(chunk) // 2]), list(chunk[len(chunk) // 2 :])]
    (piece,) = chunk
    return [[Piece(piece.id, clip(piece.text, len(piece.text) // 2), piece.tokens // 2)]]


def _merge(job: Job, done: Sequence[Drafted], stage: Stage) -> Drafting:
    """The briefs of the parts made one, in as many rounds as the model's window asks for."""
    if len(done) == 1:
        return done[0]
    groups = _batches(job, done)
    if len(groups) > 1:
        merged: list[Drafted] = []
        for group in groups:
            one = yield from _merge(job, group, stage)
            if isinstance(one, Failure):
                return one
            merged.append(one)
        return (yield from _merge(job, merged, stage))
    texts = [drafted.text for drafted in done]
    if stage == "turn":
        return Drafted("\n".join(texts), "")
    prompt = brief.merge_prompt(_style(job), texts, previous=None)
    reply = yield _ask(job, prompt, "merge")
    return reply if isinstance(reply, Failure) else Drafted(_whole(reply), prompt, reply.cut_off)


def _batches(job: Job, done: Sequence[Drafted]) -> list[list[Drafted]]:
    """Briefs of parts in runs that fit one request, at least two in each, so that every round leaves fewer."""
    runs: list[list[Drafted]] = [[]]
    used = 0
    for drafted in done:
        size = job.count(drafted.text)
        if len(runs[-1]) >= 2 and used + size > job.room.chunk:
            runs.append([])
            used = 0
        runs[-1].append(drafted)
        used += size
    return runs


def _prompt(job: Job, chunk: Sequence[Piece], stage: Stage, part: int, parts: int, previous: str | None) -> str:
    if stage == "turn":
        return brief.turn_prompt(chunk, output=job.room.output // 2)
    return brief.chunk_prompt(_style(job), chunk, part=part, parts=parts, previous=previous)


def _ask(job: Job, prompt: str, stage: Stage, *, part: int = 1, parts: int = 1, attempt: int = 1) -> Ask:
    output = job.room.output // 2 if stage == "turn" else job.room.output
    return Ask(brief.SYSTEM, prompt, output, stage, part, parts, attempt, job.retries + 1 if job.guard else 1)


def _style(job: Job) -> Style:
    return Style(job.room.output, strict=job.strict, focus=job.focus, keep_all=job.mode == "default")


def _whole(reply: Reply) -> str:
    """An answer without the line it broke off in."""
    text = reply.text.strip()
    return text.rsplit("\n", 1)[0] if reply.cut_off and "\n" in text else text
