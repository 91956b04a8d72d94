# ruff: noqa: E501 -- the lines are texts of the session, which break where the session breaks them
"""The files of `quayside` that the story turns on, written out by hand."""

DISPATCHER = '''"""Sends webhooks: claims deliveries, posts them, writes down what came of it."""

import asyncio
import logging
from dataclasses import dataclass
from datetime import timedelta

import httpx

from quayside.clock import Clock
from quayside.settings import Settings
from quayside.webhooks.leases import Lease, LeaseLost, Leases
from quayside.webhooks.retry import next_attempt
from quayside.webhooks.signing import sign

log = logging.getLogger(__name__)

LEASE_SECONDS = 30
"""How long a delivery belongs to one worker. Chosen in 2023, when a request could take ten seconds at most."""


@dataclass(slots=True)
class Dispatcher:
    """One worker. Several run at once, on several machines, over one table."""

    leases: Leases
    http: httpx.AsyncClient
    settings: Settings
    clock: Clock
    name: str

    async def run_once(self) -> int:
        """Claim what is due and send it; how many deliveries were claimed."""
        claimed = await self.leases.claim(self.settings.webhook_batch, owner=self.name, seconds=LEASE_SECONDS)
        async with asyncio.TaskGroup() as group:
            for lease in claimed:
                group.create_task(self._deliver(lease))
        return len(claimed)

    async def _deliver(self, lease: Lease) -> None:
        body = lease.payload
        headers = {
            "Content-Type": "application/json",
            "X-Quay-Signature": sign(body, lease.secret),
            "X-Quay-Delivery-Id": lease.delivery_id,
        }
        started = self.clock.now()
        try:
            answer = await self.http.post(
                lease.url, content=body, headers=headers, timeout=self.settings.webhook_timeout_seconds
            )
        except httpx.TimeoutException:
            await self._later(lease, "timeout")
        except httpx.TransportError as error:
            await self._later(lease, type(error).__name__)
        else:
            took = self.clock.now() - started
            if answer.is_success:
                await self.leases.done(lease, status=answer.status_code, took=took)
            else:
                await self._later(lease, f"status {answer.status_code}")

    async def _later(self, lease: Lease, reason: str) -> None:
        wait = next_attempt(lease.attempts, ceiling=timedelta(hours=self.settings.webhook_retry_ceiling_hours))
        if wait is None:
            await self.leases.bury(lease, reason=reason)
            return
        try:
            await self.leases.release(lease, after=wait, reason=reason)
        except LeaseLost:
            log.warning("webhook.lease_lost", extra={"delivery": lease.delivery_id, "owner": self.name})
'''

LEASES = '''"""Who may send a delivery, and until when. The lease is a row's owner and a time; the database's clock decides."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from psycopg import AsyncConnection
from psycopg.rows import class_row


class LeaseLost(Exception):
    """Another worker took the delivery over; ERR_DELIVERY_LEASE_LOST in the logs."""


@dataclass(frozen=True, slots=True)
class Lease:
    """A delivery that this worker may send."""

    delivery_id: str
    subscription_id: str
    url: str
    secret: bytes
    payload: bytes
    attempts: int
    owner: str
    epoch: int


CLAIM = """
UPDATE webhook_deliveries d
   SET owner = %(owner)s, leased_until = now() + make_interval(secs => %(seconds)s), attempts = attempts + 1
  FROM webhook_subscriptions s
 WHERE d.id IN (SELECT id FROM webhook_deliveries
                 WHERE state = 'due' AND due_at <= now() AND (leased_until IS NULL OR leased_until < now())
                 ORDER BY due_at LIMIT %(count)s FOR UPDATE SKIP LOCKED)
   AND s.id = d.subscription_id
RETURNING d.id AS delivery_id, s.id AS subscription_id, s.url, s.secret, d.payload, d.attempts, d.owner, d.epoch
"""


class Leases:
    """The table `webhook_deliveries`."""

    def __init__(self, connection: AsyncConnection[Any]) -> None:
        self._connection = connection

    async def claim(self, count: int, *, owner: str, seconds: int) -> Sequence[Lease]:
        """Up to `count` due deliveries, now leased to `owner`."""
        async with self._connection.cursor(row_factory=class_row(Lease)) as cursor:
            await cursor.execute(CLAIM, {"owner": owner, "seconds": seconds, "count": count})
            return await cursor.fetchall()

    async def done(self, lease: Lease, *, status: int, took: timedelta) -> None:
        """The delivery arrived."""
        await self._connection.execute(
            "UPDATE webhook_deliveries SET state = 'done', status = %s, took_ms = %s WHERE id = %s",
            (status, took.total_seconds() * 1000, lease.delivery_id),
        )

    async def release(self, lease: Lease, *, after: timedelta, reason: str) -> None:
        """Not this time: due again after a while. Raises LeaseLost."""
        cursor = await self._connection.execute(
            "UPDATE webhook_deliveries SET owner = NULL, leased_until = NULL, due_at = now() + %s, reason = %s"
            " WHERE id = %s AND owner = %s",
            (after, reason, lease.delivery_id, lease.owner),
        )
        if cursor.rowcount != 1:
            raise LeaseLost(lease.delivery_id)

    async def bury(self, lease: Lease, *, reason: str) -> None:
        """Never again: the owner of the subscription gets a notice."""
        await self._connection.execute(
            "UPDATE webhook_deliveries SET state = 'dead', reason = %s WHERE id = %s", (reason, lease.delivery_id)
        )
'''

RETRY = '''"""When a delivery that failed is tried again."""

from datetime import timedelta

STEPS = (5, 30, 120, 600, 1800, 7200, 21600)
"""Seconds after the first, second, … failure."""


def next_attempt(attempts: int, *, ceiling: timedelta) -> timedelta | None:
    """The wait after `attempts` failures, or None once the ceiling is passed."""
    if attempts <= len(STEPS):
        return timedelta(seconds=STEPS[attempts - 1])
    spent = sum(STEPS) + (attempts - len(STEPS)) * STEPS[-1]
    return timedelta(seconds=STEPS[-1]) if timedelta(seconds=spent) < ceiling else None
'''

SETTINGS = '''"""What operators may set, read from the environment once at start."""

from pydantic import Field, PostgresDsn
from pydantic_settings import BaseSettings, SettingsConfigDict


class Settings(BaseSettings):
    """Variables are named QUAY_ and the field."""

    model_config = SettingsConfigDict(env_prefix="QUAY_", frozen=True)

    database: PostgresDsn = PostgresDsn("postgresql://quayside@127.0.0.1:5432/quayside")
    """Where the rows are; through pgbouncer (port 6432) everywhere but on laptops."""
    webhook_batch: int = Field(32, ge=1, le=256)
    """Deliveries a worker claims at once."""
    webhook_timeout_seconds: float = Field(10.0, gt=0)
    """Seconds a receiver may take to answer."""
    webhook_retry_ceiling_hours: int = Field(48, ge=1)
    """Hours after which a delivery is given up."""
    metrics_bind: str = "10.40.7.21:9090"
    """Address of the metrics page."""
    public_url: str = "https://staging.quayside.example:8443"
    """How the outside reaches this service."""
    export_rows: int = Field(250_000, ge=1)
    """Rows an export may have before it is refused with E7C11."""
'''

ROLLOUT = """#!/usr/bin/env bash
# Roll one version out to one environment: migrate, then replace the pods, then look at their health.
set -euo pipefail
env="$1" version="$2"
image="registry.quayside.example/quayside/api:${version}"
case "$env" in
    staging) db="staging-db-02.quayside.example" ; url="https://staging.quayside.example:8443" ;;
    production) echo "production goes through the release board" >&2 ; exit 64 ;;
    *) echo "no environment ${env}" >&2 ; exit 64 ;;
esac
kubectl --context "quay-${env}" set image deployment/api "api=${image}" --record=false
python -m quayside.migrate --host "$db" --port 6432 --lock-key 731904221 --lock-timeout 20s
kubectl --context "quay-${env}" rollout status deployment/api --timeout=300s
curl --fail --silent --show-error --max-time 10 "${url}/healthz"
"""

TESTS = '''"""The dispatcher: each delivery goes out, and goes out once."""

from datetime import timedelta

import pytest

from quayside.webhooks.dispatcher import Dispatcher
from tests.doubles import FrozenClock, Receiver, memory_leases


@pytest.fixture
def receiver():
    return Receiver(answers=[200])


async def test_a_due_delivery_is_sent_and_done(receiver, settings):
    leases = memory_leases(due=1)
    assert await Dispatcher(leases, receiver.client, settings, FrozenClock(), "w1").run_once() == 1
    assert receiver.seen == [leases.rows[0].delivery_id]
    assert leases.rows[0].state == "done"


async def test_a_refusal_is_tried_again_later(settings):
    leases, receiver = memory_leases(due=1), Receiver(answers=[503, 200])
    worker = Dispatcher(leases, receiver.client, settings, FrozenClock(), "w1")
    await worker.run_once()
    leases.clock.advance(timedelta(seconds=6))
    await worker.run_once()
    assert [row.state for row in leases.rows] == ["done"]


@pytest.mark.parametrize("status", [301, 400, 404, 410, 429, 500, 502, 503])
async def test_anything_but_success_keeps_the_delivery(status, settings):
    leases, receiver = memory_leases(due=1), Receiver(answers=[status])
    await Dispatcher(leases, receiver.client, settings, FrozenClock(), "w1").run_once()
    assert leases.rows[0].state == "due"
'''

STAGING = """apiVersion: apps/v1
kind: Deployment
metadata:
  name: api
  namespace: quay-staging
  labels: {app: api, team: harbour-platform}
spec:
  replicas: 3
  strategy: {type: RollingUpdate, rollingUpdate: {maxSurge: 1, maxUnavailable: 0}}
  template:
    metadata:
      annotations: {prometheus.io/scrape: "true", prometheus.io/port: "9090"}
    spec:
      containers:
        - name: api
          image: registry.quayside.example/quayside/api:2.6.4
          args: ["serve", "--workers", "4", "--max-in-flight", "32", "--graceful-timeout", "25s"]
          env:
            - {name: QUAY_DATABASE, valueFrom: {secretKeyRef: {name: api-db, key: dsn}}}
            - {name: QUAY_WEBHOOK_TIMEOUT_SECONDS, value: "10"}
            - {name: QUAY_WEBHOOK_BATCH, value: "32"}
          ports: [{containerPort: 8443, name: https}, {containerPort: 9090, name: metrics}]
          readinessProbe: {httpGet: {path: /healthz, port: https, scheme: HTTPS}, periodSeconds: 5}
          resources: {requests: {cpu: 250m, memory: 384Mi}, limits: {memory: 768Mi}}
"""

LIMITER = '''"""How often a tenant may ask: a bucket of tokens in the database, filled by time and emptied by requests."""

from dataclasses import dataclass
from typing import Any

from psycopg import AsyncConnection

TAKE = """
INSERT INTO rate_buckets AS b (tenant_id, tokens, filled_at) VALUES (%(tenant)s, %(burst)s - 1, now())
ON CONFLICT (tenant_id) DO UPDATE
   SET tokens = LEAST(%(burst)s, b.tokens + EXTRACT(epoch FROM now() - b.filled_at) * %(rate)s) - 1, filled_at = now()
 WHERE LEAST(%(burst)s, b.tokens + EXTRACT(epoch FROM now() - b.filled_at) * %(rate)s) >= 1
RETURNING tokens
"""


@dataclass(frozen=True, slots=True)
class Taken:
    """A request may go on; `left` more may follow at once."""

    left: int


@dataclass(frozen=True, slots=True)
class Full:
    """A request has to wait."""

    retry_after_seconds: float


class Buckets:
    """The table `rate_buckets`, one row a tenant."""

    def __init__(self, connection: AsyncConnection[Any]) -> None:
        self._connection = connection

    async def take(self, tenant: str, *, per_minute: int, burst: int) -> Taken | Full:
        """Take one token in one statement, so that two machines never share it."""
        rate = per_minute / 60
        cursor = await self._connection.execute(TAKE, {"tenant": tenant, "burst": burst, "rate": rate})
        row = await cursor.fetchone()
        return Taken(int(row[0])) if row else Full(1 / rate)
'''

LIMITER_TESTS = '''"""The bucket: bursts pass, floods wait, and /v1 keeps its shape."""

import pytest

from quayside.api.ratelimit import Buckets, Full, Taken


async def test_a_burst_passes_and_the_next_request_waits(database):
    buckets = Buckets(database)
    taken = [await buckets.take("tn_9fK2xQ71LmZ0", per_minute=60, burst=5) for _ in range(6)]
    assert [type(one) for one in taken] == [Taken] * 5 + [Full]
    assert taken[-1].retry_after_seconds == pytest.approx(1.0)


async def test_two_connections_never_share_a_token(database, other_database, many):
    outcomes = await many(40, lambda n: Buckets((database, other_database)[n % 2]).take("t", per_minute=1, burst=10))
    assert sum(isinstance(one, Taken) for one in outcomes) == 10


async def test_a_refused_request_keeps_the_shape_of_errors_in_v1(client):
    answers = [await client.get("/v1/berths") for _ in range(61)]
    assert answers[-1].status_code == 429
    assert set(answers[-1].json()) == {"detail"}
    assert answers[-1].headers["Retry-After"] == "1"
'''

EXPORT = '''"""Deliveries as CSV, streamed: a tenant's whole year costs no more memory than one page of it."""

import csv
import io
from collections.abc import AsyncIterator

from quayside.errors import TooMany
from quayside.webhooks.history import History

COLUMNS = ("delivery_id", "subscription_id", "event", "state", "status", "attempts", "took_ms", "created_at")
"""No payload: bodies may hold names of crew members, and an export leaves the house."""


async def lines(history: History, tenant: str, *, limit: int) -> AsyncIterator[str]:
    """The export line by line, header first. Raises TooMany (E7C11) before the first line if it would be too long."""
    if await history.count(tenant) > limit:
        raise TooMany("deliveries", limit=limit, code="E7C11")
    yield _line(COLUMNS)
    async for row in history.stream(tenant):
        yield _line([row[column] for column in COLUMNS])


def _line(cells: object) -> str:
    """One line after RFC 4180; a cell that a spreadsheet would take for a formula gets an apostrophe."""
    buffer = io.StringIO()
    safe = [f"'{cell}" if str(cell).startswith(("=", "+", "-", "@")) else cell for cell in cells]
    csv.writer(buffer).writerow(safe)
    return buffer.getvalue()
'''

FILES = {
    "quayside/webhooks/dispatcher.py": DISPATCHER,
    "quayside/webhooks/leases.py": LEASES,
    "quayside/webhooks/retry.py": RETRY,
    "quayside/settings.py": SETTINGS,
    "deploy/rollout.sh": ROLLOUT,
    "deploy/staging.yaml": STAGING,
    "tests/webhooks/test_dispatcher.py": TESTS,
}
