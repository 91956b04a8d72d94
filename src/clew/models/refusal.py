"""A refusal as the error that is raised for it, saying what happened, what was kept, and what to do next."""

from clew.errors import AuthFailed, BadRequest, ProviderError, RateLimited, WindowOverflow
from clew.models.overflow import Complaint, Kind

SHOWN = 400
"""Characters of the provider's own words that go into a message."""

ADVICE: dict[Kind, str] = {
    "overflow_tokens": "Compact the session, or choose a model with a larger window.",
    "overflow_bytes": "Compact the session or leave out images: the request has too many bytes.",
    "output_limit": "Ask for a shorter answer (`maxTokens`): compacting does not help.",
    "rate_limit": "Wait and try again.",
    "quota": "Check plan and payment with the provider, or choose another model.",
    "pair_error": "Tool calls and results do not match; this is a fault in Clew, please report it.",
    "order_error": "The messages are in an order this model does not take; please report it.",
    "auth": "Check the API key, and that it may use this model.",
    "other": "Check the model's id and settings.",
}

ERRORS: dict[Kind, type[ProviderError]] = {
    "rate_limit": RateLimited, "quota": RateLimited, "auth": AuthFailed, "output_limit": BadRequest,
    "pair_error": BadRequest, "order_error": BadRequest,
}  # fmt: skip
"""Which branch of the tree a kind is raised as; overflows carry numbers and are made apart."""


def refused(
    who: str, complaint: Complaint, text: str, *, status: int | None = None, retry_after: float | None = None
) -> ProviderError:
    """The error for `complaint`, which `complaint_of` finds on it again. `retry_after` is in seconds."""
    error = _branch(complaint, _message(who, complaint, text, status), status)
    error.__dict__.update(complaint=complaint, retry_after=retry_after)
    return error


def complaint_of(error: BaseException) -> Complaint | None:
    """What was understood of the refusal that `error` stands for, or None if it stands for none."""
    found = error.__dict__.get("complaint")
    return found if isinstance(found, Complaint) else None


def retry_after(error: BaseException) -> float | None:
    """The seconds the provider asked to wait, or None if it named none."""
    found = error.__dict__.get("retry_after")
    return found if isinstance(found, float) else None


def _branch(complaint: Complaint, message: str, status: int | None) -> ProviderError:
    if complaint.kind in ("overflow_tokens", "overflow_bytes"):
        return WindowOverflow(message, limit=complaint.limit, requested=complaint.requested)
    if complaint.kind == "other":
        refused_as_asked = status is None or 400 <= status < 500 or complaint.rule != "no rule"
        return (BadRequest if refused_as_asked else ProviderError)(message)
    return ERRORS[complaint.kind](message)


def _message(who: str, complaint: Complaint, text: str, status: int | None) -> str:
    words = " ".join(text.split())
    said = f"{words[:SHOWN]}…" if len(words) > SHOWN else words or "no reason given"
    code = f" ({status})" if status else ""
    advice = ADVICE[complaint.kind]
    if complaint.terminal:
        advice = f"One request may have {complaint.limit:,} tokens here: waiting and retrying cannot help."
    elif status and status >= 500 and complaint.kind == "other":
        advice = "Try again later, or choose another model."
    return f"{who} refused the request{code}: {said.rstrip('.')}. The history is as it was. {advice}"
