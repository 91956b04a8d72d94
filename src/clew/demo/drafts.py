"""What the model that plays along in the demo answers: a brief with faults, then one that can be mended.

Both tell the story of the shipped session. The first lacks a heading and names a ticket and a host that occur nowhere;
the second is true and well formed, and leaves out exact identifiers that the work still needs.
"""

FLAWED = """\
## Decisions
- Duplicate webhooks (QUAY-482) come from a lease of 30 s that is shorter than the request; the lease now follows from \
the timeout: timeout plus 15 s.
- The queue moves to Redis Streams on redis-prod-7.quayside.example:6380, tracked as QUAY-999.
- The rate limit (QUAY-491) is a token bucket in PostgreSQL, one statement a request.

## Open TODOs
- Roll out the release to staging.

## Pending user asks
- Cut 2.7.0-rc.1 and roll it out to staging.

## Exact identifiers
QUAY-482, QUAY-491, QUAY-999, quayside/webhooks/dispatcher.py, redis-prod-7.quayside.example:6380
"""
"""The first draft: no `## Constraints/Rules`, an invented ticket and host, and a dropped plan as if it stood."""

SOUND = """\
## Decisions
- QUAY-482: a delivery was sent twice because its lease of 30 s ran out while the request was still open; the lease \
is now the timeout plus 15 s, in `quayside/settings.py`, and `done`, `release` and `bury` check the owner before they \
write.
- The webhook timeout is 90 s. It was set to 60 s first and corrected, because the Rotterdam gateway needs up to 75 s \
at shift change.
- The plan to move the queue to Redis Streams was dropped and its ADR deleted: PostgreSQL with SKIP LOCKED stays.
- QUAY-491: the rate limit is a token bucket in PostgreSQL, 600 requests a minute with a burst of 120, 429 with \
Retry-After in the /v1 error shape; health checks do not count.
- QUAY-503: deliveries are exported as CSV, streamed, without payloads, with columns in a fixed order.
- claim() got an index on due deliveries: 3.1 ms at two million rows instead of 3.4 s.
- No other service makes a request while it holds a claim.

## Open TODOs
- The rollout of 2.7.0-rc.1 to staging is under way.

## Constraints/Rules
- Never touch migrations/ by hand; they are generated with `make migration NAME=...`.
- Always run `make lint` before a commit.
- 必须保留向后兼容：/v1 的响应字段不能改名，也不能删除，只能新增。
- 日志里不要写 payload 正文，只写 id。
- 不要直接推送到 main，先开 PR。

## Pending user asks
- Cut 2.7.0-rc.1 and roll it out to staging.

## Exact identifiers
QUAY-482, QUAY-491, QUAY-503, 2.7.0-rc.1, quayside/webhooks/dispatcher.py, quayside/webhooks/leases.py, \
quayside/api/ratelimit.py, quayside/export/deliveries.py
"""
"""The second draft: the five headings in order, true to the session, with several identifiers missing."""

PREFIX = """\
The developer asked to cut 2.7.0-rc.1 and roll it out to staging. `deploy/rollout.sh` and `deploy/staging.yaml` were \
read, the release was built, and `./deploy/rollout.sh staging 2.7.0-rc.1` failed with SQLSTATE 55P03: advisory lock \
731904221 is held by pid 48213 on staging-db-02.quayside.example:6432.
"""
"""The summary of a split turn's first part: the deploy whose end is still in sight."""

DRAFTS = (FLAWED, SOUND)
"""In the order in which the model gives them."""
