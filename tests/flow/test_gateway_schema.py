"""Whatever fits the gateway's own OpenAPI schema, or nearly does, is answered without a 5xx."""

import time
from collections import Counter
from contextlib import suppress

import httpx2
import pytest
from hypothesis import HealthCheck, Phase, given, seed, settings
from hypothesis.errors import Unsatisfiable

from clew.testing.server import ModelServer, Say
from tests.flow.gateway_process import TOKEN, Gateway

schemathesis = pytest.importorskip("schemathesis", reason="no schemathesis: pip install 'clew[dev]'")

from schemathesis.generation import GenerationMode  # noqa: E402

EXAMPLES, SECONDS = 12, 45
"""Requests of each kind for each path, and the time after which no further path is tried."""


@pytest.fixture(scope="module")
def gateway(tmp_path_factory):
    with (
        ModelServer(lambda seen: Say("yes"), window=32_768) as server,
        Gateway(tmp_path_factory.mktemp("gateway"), server) as running,
    ):
        yield running
    assert "Traceback" not in running.log, running.log


def test_the_schema_says_how_to_come_in_and_what_an_error_is(gateway):
    schema = gateway.client().get("/api/openapi.json").json()
    assert schema["security"] == [{"token": []}]
    assert "HTTPValidationError" not in schema["components"]["schemas"]
    operations = [one for path in schema["paths"].values() for one in path.values()]
    assert all("default" in one["responses"] for one in operations)
    assert all(one.get("summary") or one.get("description") for one in operations)


STREAMS = ("/api/events", "/api/log")
"""Paths whose answers may have no end."""


def test_no_request_that_the_schema_allows_or_nearly_allows_ends_in_a_5xx(gateway):
    schema = schemathesis.openapi.from_dict(gateway.client().get("/api/openapi.json").json())
    asked: Counter[int] = Counter()
    began = time.monotonic()
    with httpx2.Client(base_url=gateway.url, timeout=20, headers={"authorization": f"Bearer {TOKEN}"}) as client:
        for operation in (one.ok() for one in schema.get_all_operations()):
            if operation.path.startswith(STREAMS) or time.monotonic() - began > SECONDS:
                continue
            for mode in GenerationMode:
                asked += ask(operation, mode, client)
    assert {status for status in asked if status >= 500} == set(), asked
    assert asked[200] + asked[202] > 20
    assert asked[422] > 20


def ask(operation, mode, client) -> Counter[int]:
    """The statuses of some requests of one kind for one path."""
    statuses: Counter[int] = Counter()

    @seed(7)
    @settings(
        max_examples=EXAMPLES,
        database=None,
        deadline=None,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    @given(case=operation.as_strategy(generation_mode=mode))
    def each(case):
        sent = case.as_transport_kwargs(base_url=str(client.base_url))
        heads = {name: value for name, value in (sent.get("headers") or {}).items() if name.lower() != "authorization"}
        try:
            answer = client.request(
                sent["method"], sent["url"], params=sent.get("params"), headers=heads,
                json=sent.get("json"), content=sent.get("data") if isinstance(sent.get("data"), bytes | str) else None,
            )  # fmt: skip
        except (UnicodeEncodeError, ValueError, httpx2.InvalidURL, httpx2.LocalProtocolError):
            return  # the client itself cannot send that
        statuses[answer.status_code] += 1
        assert answer.status_code < 500, (sent, answer.text[:500])
        if answer.status_code >= 400:
            assert answer.json()["error"]["message"]

    with suppress(Unsatisfiable):  # there may be nothing wrong that could be asked here
        each()
    return statuses
