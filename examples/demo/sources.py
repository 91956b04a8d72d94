# ruff: noqa: E501 -- the lines are texts of the session, which break where the session breaks them
"""The invented web service `quayside`: berths booked, vessels tracked, webhooks sent. Its files, as a tree of texts.

Files about one noun of the harbour are put together from parts, each noun with its own fields, rules and numbers. The
files that the story turns on are written out in `pivotal.py`.
"""

from string import Template

from dice import Dice

NOUNS: dict[str, tuple[str, list[str], str]] = {
    "berth": ("berths", ["quay:str", "length_m:float", "draught_m:float", "bollards:int", "shore_power:bool"], "A place at a quay where one vessel can lie."),
    "booking": ("bookings", ["berth_id:str", "vessel_imo:str", "starts_at:datetime", "ends_at:datetime", "state:str"], "A berth held for a vessel from one tide to another."),
    "vessel": ("vessels", ["imo:str", "name:str", "flag:str", "gross_tonnage:int", "loa_m:float"], "A ship as the register knows it."),
    "carrier": ("carriers", ["scac:str", "name:str", "contact_email:str", "credit_days:int"], "A line that sends vessels and pays for berths."),
    "tariff": ("tariffs", ["code:str", "per_metre_cents:int", "minimum_cents:int", "valid_from:date", "valid_to:date"], "What an hour at a quay costs, and from when to when."),
    "invoice": ("invoices", ["number:str", "carrier_id:str", "total_cents:int", "currency:str", "due_on:date"], "A bill to a carrier, numbered without gaps."),
    "pilot": ("pilots", ["badge:str", "grade:str", "on_call:bool", "last_trip_at:datetime"], "A person who brings vessels in."),
    "manifest": ("manifests", ["booking_id:str", "lines:int", "hazardous:bool", "received_at:datetime"], "What a vessel says it carries."),
    "container": ("containers", ["number:str", "iso_type:str", "tare_kg:int", "seal:str", "reefer:bool"], "A box on a manifest."),
    "inspection": ("inspections", ["container_id:str", "inspector:str", "outcome:str", "notes:str"], "A look into a container, and what was found."),
    "gauge": ("gauges", ["station:str", "datum:str", "level_cm:int", "read_at:datetime"], "A tide gauge and its last reading."),
    "mooring": ("moorings", ["booking_id:str", "lines_ashore:int", "first_line_at:datetime", "all_fast_at:datetime"], "The moment a vessel is made fast."),
    "tenant": ("tenants", ["slug:str", "plan:str", "region:str", "suspended:bool"], "A harbour that rents the service."),
    "apikey": ("api_keys", ["tenant_id:str", "prefix:str", "digest:str", "scopes:str", "last_used_at:datetime"], "A key by which a program acts for a tenant."),
    "quota": ("quotas", ["tenant_id:str", "per_minute:int", "burst:int", "soft:bool"], "How often a tenant may ask."),
    "notice": ("notices", ["audience:str", "subject:str", "body_key:str", "sent_at:datetime"], "A word to people: mail, text message or board."),
}  # fmt: skip

RULES = {
    "berth": "a vessel longer than the berth minus two metres does not fit",
    "booking": "two bookings of one berth never overlap, not by a second",
    "vessel": "an IMO number has a check digit and it has to be right",
    "carrier": "a carrier in arrears for more than its credit days cannot book",
    "tariff": "tariffs of one code follow each other without gap or overlap",
    "invoice": "a number that was given out is never given out again",
    "pilot": "eight hours of rest lie between two trips",
    "manifest": "a hazardous manifest needs a berth of class two",
    "container": "the number ends in a check digit after ISO 6346",
    "inspection": "an outcome once written is amended, never changed",
    "gauge": "a reading older than twenty minutes is stale and is not shown",
    "mooring": "all fast comes after the first line, or the clock is wrong",
    "tenant": "a suspended tenant reads and does not write",
    "apikey": "the key itself is shown once and only its digest is stored",
    "quota": "a soft quota warns, a hard one answers 429",
    "notice": "nobody gets the same notice twice within an hour",
}

SQL_TYPES = {"str": "text", "int": "integer", "float": "double precision", "bool": "boolean",
             "datetime": "timestamptz", "date": "date"}  # fmt: skip


def tree() -> dict[str, str]:
    """The generated files by their path under the project."""
    files: dict[str, str] = {}
    for noun in NOUNS:
        plural = NOUNS[noun][0]
        files[f"quayside/models/{noun}.py"] = model(noun)
        files[f"quayside/repositories/{plural}.py"] = repository(noun)
        files[f"quayside/services/{plural}.py"] = service(noun)
        files[f"quayside/api/v1/{plural}.py"] = routes(noun)
        files[f"tests/services/test_{plural}.py"] = tests(noun)
        files[f"migrations/{1000 + 17 * len(files)}_{plural}.sql"] = migration(noun)
    return files


def names(noun: str) -> dict[str, str]:
    """The words a template needs for a noun."""
    plural, fields, about = NOUNS[noun]
    first, second = fields[0].split(":")[0], fields[1].split(":")[0]
    return {"noun": noun, "Noun": noun.capitalize(), "plural": plural, "about": about, "rule": RULES[noun],
            "first": first, "second": second, "last": fields[-1].split(":")[0],
            "columns": ", ".join(field.split(":")[0] for field in fields)}  # fmt: skip


def fill(template: str, **words: object) -> str:
    """A template with its words put in."""
    return Template(template.strip("\n")).substitute({key: str(value) for key, value in words.items()})


def model(noun: str) -> str:
    dice, words = Dice(f"model/{noun}"), names(noun)
    fields = [field.split(":") for field in NOUNS[noun][1]]
    lines = [f'"""{words["about"]}"""', "", "from __future__ import annotations", "",
             "from dataclasses import dataclass, field, replace", "from datetime import UTC, date, datetime, timedelta",
             "from typing import Any, Self", "", "from quayside.errors import Invalid", "from quayside.ids import fresh",
             "", ""]  # fmt: skip
    lines += ["@dataclass(frozen=True, slots=True)", f"class {words['Noun']}:",
              f'    """{words["about"]} The rule: {words["rule"]}."""', "",
              f'    id: str = field(default_factory=lambda: fresh("{noun[:3]}"))']  # fmt: skip
    lines += [f"    {name}: {kind} | None = None" for name, kind in fields]
    lines += ["    version: int = 1", "    created_at: datetime = field(default_factory=lambda: datetime.now(UTC))", ""]
    for name, kind in fields:
        lines += checks(dice, words["Noun"], name, kind)
    parts = dice.some(MODEL_PARTS, 4)
    body = "\n".join(lines)
    limits = {"n": dice.between(3, 90), "m": dice.between(100, 4000), "code": dice.hex(4).upper()}
    return body + "\n" + "\n\n".join(fill(part, **words, **limits) for part in parts) + "\n"


def checks(dice: Dice, noun: str, name: str, kind: str) -> list[str]:
    low, high = dice.between(0, 12), dice.between(40, 9000)
    bodies = {
        "str": [f"        if self.{name} is not None and not 1 <= len(self.{name}.strip()) <= {high % 200 + 20}:",
                f'            raise Invalid("{noun}.{name}", "has between 1 and {high % 200 + 20} characters")'],
        "int": [f"        if self.{name} is not None and not {low} <= self.{name} <= {high}:",
                f'            raise Invalid("{noun}.{name}", f"{{self.{name}}} is outside {low}..{high}")'],
        "float": [f"        if self.{name} is not None and not {low}.5 <= self.{name} < {high}.25:",
                  f'            raise Invalid("{noun}.{name}", "is no plausible measure")'],
        "bool": [f"        if self.{name} not in (True, False, None):",
                 f'            raise Invalid("{noun}.{name}", "is yes, no or unknown")'],
        "datetime": [f"        if self.{name} is not None and self.{name}.tzinfo is None:",
                     f'            raise Invalid("{noun}.{name}", "needs a time zone")'],
        "date": [f"        if self.{name} is not None and self.{name}.year < {1990 + low}:",
                 f'            raise Invalid("{noun}.{name}", "lies before the harbour was opened")'],
    }  # fmt: skip
    return [f"    def check_{name}(self) -> None:", *bodies[kind], ""]


MODEL_PARTS = [
    '''
    def touched(self, **changes: Any) -> Self:
        """The same ${noun} with changes, one version on. Raises Invalid if the outcome breaks the rule."""
        changed = replace(self, version=self.version + 1, **changes)
        for name in dir(changed):
            if name.startswith("check_"):
                getattr(changed, name)()
        return changed
''',
    '''
    @property
    def label(self) -> str:
        """How people call this ${noun} on the board; ${n} characters at most, so that the display does not wrap."""
        words = [str(part) for part in (self.${first}, self.${second}) if part]
        joined = " / ".join(words) or self.id
        return joined if len(joined) <= ${n} else joined[: ${n} - 1] + "…"
''',
    '''
    def to_row(self) -> dict[str, Any]:
        """The columns of `${plural}`: ${columns}."""
        row = {"id": self.id, "version": self.version, "created_at": self.created_at}
        for column in ("${first}", "${second}", "${last}"):
            row[column] = getattr(self, column)
        return row
''',
    '''
    @classmethod
    def from_row(cls, row: dict[str, Any]) -> Self:
        """A ${noun} from a row; columns that a newer release added are passed over, see ADR-${n}."""
        known = {name: row[name] for name in row if name in cls.__slots__}
        if len(row) - len(known) > ${n}:
            raise Invalid("${plural}", f"row {row.get('id')} has too many unknown columns (E${code})")
        return cls(**known)
''',
    '''
    def is_stale(self, now: datetime, *, after: timedelta = timedelta(minutes=${n})) -> bool:
        """Whether the ${noun} has not been seen for a while; the board then greys it out."""
        return now - self.created_at > after and self.${last} is None
''',
    """
    def __lt__(self, other: Self) -> bool:
        # Sorted by ${first}, then by age: the yard office reads the list from the top and stops after ${n} lines.
        mine, theirs = (str(self.${first}), self.created_at), (str(other.${first}), other.created_at)
        return mine < theirs
""",
    '''
    def weight(self) -> int:
        """What the planner counts this ${noun} for, between 0 and ${m}; found by trial in the winter of QUAY-${n}1."""
        score = ${m} // 4 if self.${last} else ${m} // 9
        return min(${m}, score + 7 * self.version)
''',
]


def repository(noun: str) -> str:
    dice, words = Dice(f"repository/{noun}"), names(noun)
    head = fill(
        '''
"""Rows of `${plural}` in PostgreSQL. Every statement stands here and nowhere else."""

import logging
from collections.abc import AsyncIterator, Sequence
from datetime import datetime
from typing import Any

from psycopg import AsyncConnection, errors, sql
from psycopg.rows import dict_row

from quayside.errors import Conflict, Missing, Stale
from quayside.models.${noun} import ${Noun}

log = logging.getLogger(__name__)

PAGE = ${n}
"""Rows fetched at a time: below ${n} the round trips to the database dominate, above it memory does."""


class ${Noun}Repository:
    """${about}"""

    def __init__(self, connection: AsyncConnection[Any]) -> None:
        self._connection = connection
''', **words, n=dice.between(80, 900))  # fmt: skip
    parts = dice.some(REPOSITORY_PARTS, 6)
    limits = [{"n": dice.between(2, 60), "m": dice.between(100, 9000), "code": dice.hex(4).upper()} for _ in parts]
    return (
        head + "\n\n" + "\n\n".join(fill(part, **words, **one) for part, one in zip(parts, limits, strict=True)) + "\n"
    )


REPOSITORY_PARTS = [
    '''
    async def get(self, id: str) -> ${Noun}:
        """One ${noun}. Raises Missing."""
        async with self._connection.cursor(row_factory=dict_row) as cursor:
            await cursor.execute("SELECT * FROM ${plural} WHERE id = %s AND deleted_at IS NULL", (id,))
            row = await cursor.fetchone()
        if row is None:
            raise Missing("${noun}", id)
        return ${Noun}.from_row(row)
''',
    '''
    async def add(self, one: ${Noun}) -> None:
        """Store a new ${noun}. Raises Conflict where ${rule}."""
        row = one.to_row()
        names = sql.SQL(", ").join(map(sql.Identifier, row))
        marks = sql.SQL(", ").join(sql.Placeholder() * len(row))
        try:
            await self._connection.execute(
                sql.SQL("INSERT INTO ${plural} ({}) VALUES ({})").format(names, marks), list(row.values())
            )
        except errors.ExclusionViolation as error:
            raise Conflict("${noun}", one.id, "overlaps with another (23P01)") from error
        except errors.UniqueViolation as error:
            raise Conflict("${noun}", one.id, "exists already (23505)") from error
''',
    '''
    async def save(self, one: ${Noun}) -> None:
        """Store a changed ${noun}, if nobody else changed it meanwhile. Raises Stale."""
        cursor = await self._connection.execute(
            "UPDATE ${plural} SET ${first} = %s, ${second} = %s, version = %s WHERE id = %s AND version = %s",
            (one.${first}, one.${second}, one.version, one.id, one.version - 1),
        )
        if cursor.rowcount != 1:
            log.info("${noun}.stale", extra={"id": one.id, "version": one.version, "code": "E${code}"})
            raise Stale("${noun}", one.id)
''',
    '''
    async def find(self, *, ${first}: Any = None, since: datetime | None = None, limit: int = PAGE) -> list[${Noun}]:
        """The newest ${plural} first. `limit` is capped at ${m}: the page in the office asked for everything once."""
        where, values = ["deleted_at IS NULL"], []
        if ${first} is not None:
            where.append("${first} = %s")
            values.append(${first})
        if since is not None:
            where.append("created_at >= %s")
            values.append(since)
        query = f"SELECT * FROM ${plural} WHERE {' AND '.join(where)} ORDER BY created_at DESC LIMIT %s"
        async with self._connection.cursor(row_factory=dict_row) as cursor:
            await cursor.execute(query, (*values, min(limit, ${m})))
            return [${Noun}.from_row(row) async for row in cursor]
''',
    '''
    async def stream(self, tenant_id: str) -> AsyncIterator[${Noun}]:
        """All ${plural} of a tenant, through a server-side cursor, so that ${m}0 rows cost no more memory than ${n}."""
        async with self._connection.cursor(f"${plural}_{tenant_id}", row_factory=dict_row) as cursor:
            cursor.itersize = PAGE
            await cursor.execute("SELECT * FROM ${plural} WHERE tenant_id = %s ORDER BY id", (tenant_id,))
            async for row in cursor:
                yield ${Noun}.from_row(row)
''',
    '''
    async def claim(self, count: int, *, owner: str, seconds: int = ${n}) -> list[${Noun}]:
        """Take up to `count` free ${plural} for `owner`, passing over rows that another worker holds."""
        async with self._connection.cursor(row_factory=dict_row) as cursor:
            await cursor.execute(
                """
                UPDATE ${plural} SET owner = %(owner)s, leased_until = now() + make_interval(secs => %(seconds)s)
                WHERE id IN (SELECT id FROM ${plural} WHERE leased_until IS NULL OR leased_until < now()
                             ORDER BY created_at LIMIT %(count)s FOR UPDATE SKIP LOCKED)
                RETURNING *
                """,
                {"owner": owner, "seconds": seconds, "count": count},
            )
            return [${Noun}.from_row(row) async for row in cursor]
''',
    '''
    async def count_by_${second}(self, values: Sequence[Any]) -> dict[Any, int]:
        """How many ${plural} there are for each value; values without any are left out. One statement, not ${n}."""
        cursor = await self._connection.execute(
            "SELECT ${second}, count(*) FROM ${plural} WHERE ${second} = ANY(%s) GROUP BY ${second}", (list(values),)
        )
        return {value: count async for value, count in cursor}
''',
    '''
    async def retire(self, id: str, *, reason: str) -> None:
        """Hide a ${noun}. The row stays for ${n} months: auditors ask for it, last time under INC-${m}."""
        cursor = await self._connection.execute(
            "UPDATE ${plural} SET deleted_at = now(), deleted_because = %s WHERE id = %s AND deleted_at IS NULL",
            (reason[:${m}], id),
        )
        if not cursor.rowcount:
            raise Missing("${noun}", id)
''',
]


def service(noun: str) -> str:
    dice, words = Dice(f"service/{noun}"), names(noun)
    other = dice.pick([name for name in NOUNS if name != noun])
    words |= {"other": other, "Other": other.capitalize(), "others": NOUNS[other][0]}
    head = fill(
        '''
"""What may be done with ${plural}. It knows the rule (${rule}) and leaves statements to the repository."""

import asyncio
import logging
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from decimal import ROUND_HALF_EVEN, Decimal

from quayside.clock import Clock
from quayside.errors import Forbidden, Invalid, Missing, TooMany
from quayside.events import Bus, Event
from quayside.models.${noun} import ${Noun}
from quayside.repositories.${others} import ${Other}Repository
from quayside.repositories.${plural} import ${Noun}Repository

log = logging.getLogger(__name__)

GRACE = timedelta(minutes=${n})
"""How late a change may come and still count; from the harbour bylaws, paragraph ${p}."""


@dataclass(slots=True)
class ${Noun}Service:
    """${about}"""

    ${plural}: ${Noun}Repository
    ${others}: ${Other}Repository
    bus: Bus
    clock: Clock
''', **words, n=dice.between(5, 55), p=dice.between(3, 41))  # fmt: skip
    parts = dice.some(SERVICE_PARTS, 6)
    limits = [{"n": dice.between(2, 50), "m": dice.between(60, 5000), "code": dice.hex(4).upper()} for _ in parts]
    return (
        head + "\n\n" + "\n\n".join(fill(part, **words, **one) for part, one in zip(parts, limits, strict=True)) + "\n"
    )


SERVICE_PARTS = [
    '''
    async def open(self, one: ${Noun}, *, by: str) -> ${Noun}:
        """Take in a new ${noun} and tell the bus. Raises Invalid, Conflict, TooMany."""
        if len(await self.${plural}.find(${first}=one.${first}, limit=${n} + 1)) > ${n}:
            raise TooMany("${plural}", limit=${n})
        await self.${plural}.add(one)
        await self.bus.send(Event("${noun}.opened", id=one.id, by=by, at=self.clock.now()))
        log.info("${noun}.opened", extra={"id": one.id, "by": by})
        return one
''',
    '''
    async def amend(self, id: str, *, by: str, **changes: object) -> ${Noun}:
        """Change a ${noun} within its grace; afterwards only the harbour master may (E${code})."""
        before = await self.${plural}.get(id)
        late = self.clock.now() - before.created_at > GRACE
        if late and not by.startswith("master:"):
            raise Forbidden(f"${noun} {id} can no longer be changed by {by}", code="E${code}")
        after = before.touched(**changes)
        await self.${plural}.save(after)
        await self.bus.send(Event("${noun}.amended", id=id, by=by, changed=sorted(changes)))
        return after
''',
    '''
    async def match(self, id: str) -> tuple[${Noun}, list[str]]:
        """A ${noun} with the ${others} that suit it, the best first, ${n} at most."""
        one = await self.${plural}.get(id)
        scored: list[tuple[int, str]] = []
        for candidate in await self.${others}.find(limit=${m}):
            score = one.weight() - abs(candidate.weight() - ${m} // 3)
            if score > 0:
                scored.append((score, candidate.id))
        scored.sort(reverse=True)
        return one, [candidate for _, candidate in scored[:${n}]]
''',
    '''
    async def price(self, id: str, *, hours: Decimal) -> Decimal:
        """What the ${noun} costs for some hours, rounded to the cent the way the auditors do it (half to even)."""
        if hours <= 0 or hours > ${m}:
            raise Invalid("hours", f"{hours} is not between 0 and ${m}")
        one = await self.${plural}.get(id)
        base = Decimal(one.weight()) * Decimal("0.${n}")
        surcharge = Decimal("1.${n}") if self.clock.now().weekday() >= 5 else Decimal(1)
        return (base * hours * surcharge).quantize(Decimal("0.01"), rounding=ROUND_HALF_EVEN)
''',
    '''
    async def sweep(self) -> int:
        """Retire ${plural} that nobody touched for ${m} hours; how many they were. Runs every ${n} minutes."""
        limit = self.clock.now() - timedelta(hours=${m})
        old = [one for one in await self.${plural}.find(limit=${m}) if one.created_at < limit]
        for one in old:
            await self.${plural}.retire(one.id, reason=f"untouched since {one.created_at:%Y-%m-%d}")
        if old:
            log.warning("${noun}.swept", extra={"count": len(old), "oldest": old[-1].id})
        return len(old)
''',
    '''
    async def refresh(self, ids: list[str]) -> dict[str, str]:
        """Each ${noun}'s state, asked for ${n} at a time; one that is gone is `missing` and spoils nothing."""
        gate, states = asyncio.Semaphore(${n}), {}

        async def one(id: str) -> None:
            async with gate:
                try:
                    found = await self.${plural}.get(id)
                except Missing:
                    states[id] = "missing"
                else:
                    states[id] = "stale" if found.is_stale(self.clock.now()) else "fresh"

        await asyncio.gather(*(one(id) for id in ids))
        return states
''',
    '''
    async def hand_over(self, id: str, *, to: str, by: str) -> None:
        """Give a ${noun} to another owner. Both sides get a notice; neither can undo it after ${n} minutes."""
        if to == by:
            raise Invalid("to", "is already the owner")
        one = await self.${plural}.get(id)
        await self.${plural}.save(one.touched(${second}=to))
        for side, word in ((by, "given"), (to, "received")):
            await self.bus.send(Event(f"${noun}.{word}", id=id, audience=side, window_min=${n}))
''',
    '''
    async def report(self, *, year: int, month: int) -> list[dict[str, object]]:
        """One line for each ${noun} of a month, as the port authority wants it (form ${code}-${n})."""
        start = datetime(year, month, 1, tzinfo=UTC)
        lines = []
        for number, one in enumerate(await self.${plural}.find(since=start, limit=${m}), 1):
            lines.append({"no": number, "id": one.id, "${first}": one.${first}, "label": one.label, "form": "${code}"})
        return lines
''',
]


def routes(noun: str) -> str:
    dice, words = Dice(f"routes/{noun}"), names(noun)
    head = fill(
        '''
"""HTTP for ${plural}, version 1. The shapes here are promised to callers: fields are added, never renamed or removed."""

from typing import Annotated

from fastapi import APIRouter, Depends, Header, HTTPException, Query, Response, status
from pydantic import BaseModel, ConfigDict

from quayside.api.auth import Caller, require
from quayside.api.deps import ${noun}_service
from quayside.api.pages import Page, cursor
from quayside.services.${plural} import ${Noun}Service

router = APIRouter(prefix="/v1/${plural}", tags=["${plural}"])
Service = Annotated[${Noun}Service, Depends(${noun}_service)]


class ${Noun}Out(BaseModel):
    """A ${noun} as callers see it."""

    model_config = ConfigDict(from_attributes=True)

    id: str
    ${first}: str | None = None
    ${last}: object | None = None
    version: int
''', **words)  # fmt: skip
    parts = dice.some(ROUTE_PARTS, 4)
    limits = [{"n": dice.between(5, 60), "m": dice.between(100, 2000), "code": dice.hex(4).upper()} for _ in parts]
    return (
        head
        + "\n\n\n"
        + "\n\n\n".join(fill(part, **words, **one) for part, one in zip(parts, limits, strict=True))
        + "\n"
    )


ROUTE_PARTS = [
    '''
@router.get("/{id}", response_model=${Noun}Out)
async def read_${noun}(id: str, service: Service, caller: Annotated[Caller, Depends(require("${plural}:read"))]) -> object:
    """One ${noun}. 404 also where it belongs to another tenant: whether it exists is nobody else's business."""
    one = await service.${plural}.get(id)
    if not caller.may_see(one):
        raise HTTPException(status.HTTP_404_NOT_FOUND, detail={"code": "E${code}", "id": id})
    return one
''',
    '''
@router.get("", response_model=Page[${Noun}Out])
async def list_${plural}(
    service: Service,
    caller: Annotated[Caller, Depends(require("${plural}:read"))],
    ${first}: Annotated[str | None, Query(max_length=${n})] = None,
    after: Annotated[str | None, Query()] = None,
    limit: Annotated[int, Query(ge=1, le=${m})] = ${n},
) -> object:
    """A page of ${plural}, the newest first; `next` in the answer is the cursor of the page after it."""
    found = await service.${plural}.find(${first}=${first}, limit=limit + 1)
    return Page(items=found[:limit], next=cursor(found[limit]) if len(found) > limit else None)
''',
    '''
@router.post("", response_model=${Noun}Out, status_code=status.HTTP_201_CREATED)
async def create_${noun}(
    body: dict[str, object],
    service: Service,
    response: Response,
    caller: Annotated[Caller, Depends(require("${plural}:write"))],
    idempotency_key: Annotated[str | None, Header(max_length=${n})] = None,
) -> object:
    """Open a ${noun}. The same Idempotency-Key within ${m} minutes gets the first answer again."""
    if idempotency_key and (known := await caller.replay(idempotency_key, minutes=${m})):
        response.headers["Idempotent-Replay"] = "true"
        return known
    return await service.open(service.parse(body), by=caller.name)
''',
    '''
@router.patch("/{id}", response_model=${Noun}Out)
async def amend_${noun}(
    id: str,
    body: dict[str, object],
    service: Service,
    caller: Annotated[Caller, Depends(require("${plural}:write"))],
    if_match: Annotated[str | None, Header()] = None,
) -> object:
    """Change a ${noun}. Without If-Match the answer is 428: two clerks once overwrote each other (INC-${m})."""
    if if_match is None:
        raise HTTPException(status.HTTP_428_PRECONDITION_REQUIRED, detail={"code": "E${code}"})
    return await service.amend(id, by=caller.name, **body)
''',
    '''
@router.delete("/{id}", status_code=status.HTTP_204_NO_CONTENT)
async def retire_${noun}(
    id: str, reason: Annotated[str, Query(min_length=${n})], service: Service,
    caller: Annotated[Caller, Depends(require("${plural}:admin"))],
) -> None:
    """Hide a ${noun}; the reason is read by people, so it has at least ${n} characters."""
    await service.${plural}.retire(id, reason=f"{caller.name}: {reason}")
''',
]


def tests(noun: str) -> str:
    dice, words = Dice(f"tests/{noun}"), names(noun)
    head = fill(
        '''
"""The rule of ${plural}: ${rule}."""

from datetime import UTC, datetime, timedelta
from decimal import Decimal

import pytest

from quayside.errors import Conflict, Forbidden, Invalid, Missing, TooMany
from quayside.models.${noun} import ${Noun}
from tests.doubles import FrozenClock, ListBus, memory_${plural}

NOON = datetime(2026, ${month}, ${day}, 12, tzinfo=UTC)


@pytest.fixture
def service():
    return memory_${plural}(clock=FrozenClock(NOON), bus=ListBus())
''', **words, month=dice.between(1, 12), day=dice.between(1, 28))  # fmt: skip
    parts = dice.some(TEST_PARTS, 5)
    limits = [{"n": dice.between(3, 60), "m": dice.between(100, 3000), "id": dice.hex(8)} for _ in parts]
    return (
        head
        + "\n\n\n"
        + "\n\n\n".join(fill(part, **words, **one) for part, one in zip(parts, limits, strict=True))
        + "\n"
    )


TEST_PARTS = [
    """
async def test_a_new_${noun}_is_told_to_the_bus(service):
    one = await service.open(${Noun}(id="${noun}-${id}"), by="clerk:${n}")
    assert [event.name for event in service.bus.sent] == ["${noun}.opened"]
    assert service.bus.sent[0].id == one.id == "${noun}-${id}"
""",
    """
async def test_a_late_change_of_a_${noun}_is_the_masters_alone(service):
    await service.open(${Noun}(id="${noun}-${id}"), by="clerk:1")
    service.clock.advance(timedelta(hours=${n}))
    with pytest.raises(Forbidden):
        await service.amend("${noun}-${id}", by="clerk:1", ${second}="x")
    assert (await service.amend("${noun}-${id}", by="master:2", ${second}="x")).version == 2
""",
    """
@pytest.mark.parametrize("hours", [Decimal(0), Decimal(-${n}), Decimal(99999)])
async def test_hours_that_make_no_sense_have_no_price(service, hours):
    await service.open(${Noun}(id="${noun}-${id}"), by="clerk:1")
    with pytest.raises(Invalid, match="hours"):
        await service.price("${noun}-${id}", hours=hours)
""",
    """
async def test_one_missing_${noun}_spoils_nothing(service):
    await service.open(${Noun}(id="${noun}-${id}"), by="clerk:1")
    states = await service.refresh(["${noun}-${id}", "${noun}-none"])
    assert states == {"${noun}-${id}": "fresh", "${noun}-none": "missing"}
""",
    """
async def test_the_rule_holds_under_${n}_writers(service, many):
    outcomes = await many(${n}, lambda n: service.open(${Noun}(id=f"${noun}-{n % 3}"), by=f"clerk:{n}"))
    assert sum(isinstance(outcome, Conflict) for outcome in outcomes) == ${n} - 3
""",
    """
async def test_sweeping_twice_retires_once(service):
    await service.open(${Noun}(id="${noun}-${id}", created_at=NOON - timedelta(days=${m})), by="clerk:1")
    assert [await service.sweep(), await service.sweep()] == [1, 0]
    with pytest.raises(Missing):
        await service.${plural}.get("${noun}-${id}")
""",
    """
async def test_the_report_of_a_month_is_numbered_from_one(service):
    for n in range(${n}):
        await service.open(${Noun}(id=f"${noun}-{n:03}"), by="clerk:1")
    lines = await service.report(year=2026, month=NOON.month)
    assert [line["no"] for line in lines] == list(range(1, ${n} + 1))
""",
]


def migration(noun: str) -> str:
    dice, words = Dice(f"migration/{noun}"), names(noun)
    columns = [f"    {name} {SQL_TYPES[kind]}," for name, kind in (field.split(":") for field in NOUNS[noun][1])]
    return "\n".join([
        f"-- Generated by `make migration NAME={words['plural']}`; do not edit.", f"-- checksum: {dice.hex(40)}",
        "BEGIN;", f"CREATE TABLE {words['plural']} (", "    id text PRIMARY KEY,", *columns,
        "    tenant_id text NOT NULL REFERENCES tenants (id),", "    version integer NOT NULL DEFAULT 1,",
        "    owner text,", "    leased_until timestamptz,", "    created_at timestamptz NOT NULL DEFAULT now(),",
        "    deleted_at timestamptz,", "    deleted_because text", ");",
        f"CREATE INDEX {words['plural']}_{words['first']} ON {words['plural']} ({words['first']}) "
        "WHERE deleted_at IS NULL;", "COMMIT;", "",
    ])  # fmt: skip
