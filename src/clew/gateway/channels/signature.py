"""Signatures of requests and answers: HMAC-SHA256 over a time and the body, as GitHub and Stripe sign theirs.

The time is a part of what is signed, so that an old request cannot be sent again as a new one.
"""

import hashlib
import hmac
from typing import Literal

TIMESTAMP, SIGNATURE = "x-clew-timestamp", "x-clew-signature"
"""The headers: seconds since 1970-01-01 UTC, and `sha256=` with the digest in hex."""

OLDEST_S = 300
"""A request that was signed longer ago is refused."""

AHEAD_S = 30
"""So far may the sender's clock be ahead of ours."""

Problem = Literal["unsigned", "stale", "wrong_signature"]


def sign(secret: str, timestamp: int | str, body: bytes) -> str:
    """The signature of a body that is sent at a time, as its header has it."""
    return f"sha256={hmac.new(secret.encode(), f'{timestamp}.'.encode() + body, hashlib.sha256).hexdigest()}"


def problem(secret: str, timestamp: str | None, signature: str | None, body: bytes, *, now_s: float) -> Problem | None:
    """What is wrong with a signed request; None where nothing is. The digest is compared in constant time."""
    if not timestamp or not signature or not (timestamp.isascii() and timestamp.isdigit() and len(timestamp) <= 12):
        return "unsigned"
    if not hmac.compare_digest(sign(secret, timestamp, body).encode(), signature.encode("utf-8", "replace")):
        return "wrong_signature"
    if not now_s - OLDEST_S <= int(timestamp) <= now_s + AHEAD_S:
        return "stale"
    return None
