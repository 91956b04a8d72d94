"""Signed requests: what fits, what does not, what is too old."""

import pytest

from clew.gateway.channels.signature import OLDEST_S, problem, sign

SECRET, BODY, NOW = "a-secret-of-the-webhook", b'{"id": "1"}', 1_800_000_000


def signed(at: int = NOW, body: bytes = BODY, secret: str = SECRET) -> tuple[str, str]:
    return str(at), sign(secret, at, body)


def test_a_signed_request_has_no_problem() -> None:
    assert problem(SECRET, *signed(), BODY, now_s=NOW) is None


def test_the_signature_is_the_one_others_compute() -> None:
    import hashlib
    import hmac

    told = hmac.new(SECRET.encode(), b"1800000000." + BODY, hashlib.sha256).hexdigest()
    assert sign(SECRET, NOW, BODY) == f"sha256={told}"


@pytest.mark.parametrize(
    ("at", "signature", "body", "found"),
    [
        pytest.param(None, None, BODY, "unsigned", id="nothing at all"),
        pytest.param(str(NOW), "", BODY, "unsigned", id="no signature"),
        pytest.param("²", sign(SECRET, "²", BODY), BODY, "unsigned", id="a time that is no number"),
        pytest.param("-1", sign(SECRET, "-1", BODY), BODY, "unsigned", id="a time before time"),
        pytest.param(*signed(), b"{}", "wrong_signature", id="another body"),
        pytest.param(str(NOW + 1), sign(SECRET, NOW, BODY), BODY, "wrong_signature", id="another time"),
        pytest.param(*signed(secret="another-secret"), BODY, "wrong_signature", id="another secret"),
        pytest.param(str(NOW), "sha256=ü", BODY, "wrong_signature", id="not ASCII"),
        pytest.param(*signed(NOW - OLDEST_S - 1), BODY, "stale", id="older than five minutes"),
        pytest.param(*signed(NOW + 60), BODY, "stale", id="from the future"),
    ],
)
def test_what_is_wrong_is_said(at, signature, body, found) -> None:
    assert problem(SECRET, at, signature, body, now_s=NOW) == found


def test_five_minutes_old_is_young_enough() -> None:
    assert problem(SECRET, *signed(NOW - OLDEST_S), BODY, now_s=NOW) is None
