"""How providers word the refusal of a request that is too large, each with its own status, fields and arithmetic."""

from collections.abc import Callable
from typing import Any, NamedTuple

import msgspec


class Refuse(msgspec.Struct, frozen=True):
    """An error as an answer. The server puts it into the error object of the wire format it is asked in."""

    status: int
    message: str
    kind: str = "invalid_request_error"
    """The error object's `type`."""
    code: str | int | None = None
    retry_after: float | None = None
    """Seconds, sent as a header."""
    more: dict[str, Any] = {}
    """Further fields of the error object."""
    raw: str | None = None
    """The whole body, where it is no error object: what a proxy sends."""


class Words(NamedTuple):
    """One provider's manner: what it adds up, and what it says."""

    counts_output: bool
    """Whether the output asked for counts towards the window."""
    refuse: Callable[[int, int, int], Refuse]
    """The refusal for tokens of input, tokens of output asked for, and the window."""


def _openai(given: int, output: int, window: int) -> Refuse:
    return Refuse(400, f"This model's maximum context length is {window} tokens. However, your messages resulted "
                  f"in {given} tokens. Please reduce the length of the messages.",
                  code="context_length_exceeded")  # fmt: skip


def _openrouter(given: int, output: int, window: int) -> Refuse:
    return Refuse(400, f"This endpoint's maximum context length is {window} tokens. However, you requested about "
                  f"{given + output} tokens ({given} of text input, {output} in the output). Please reduce the length "
                  "of either one.", code=400)  # fmt: skip


def _vllm(given: int, output: int, window: int) -> Refuse:
    return Refuse(400, f"This model's maximum context length is {window} tokens. However, you requested "
                  f"{given + output} tokens ({given} in the messages, {output} in the completion). Please reduce the "
                  "length of the messages or completion.", "BadRequestError", 400)  # fmt: skip


def _anthropic(given: int, output: int, window: int) -> Refuse:
    if given > window:
        return Refuse(400, f"prompt is too long: {given} tokens > {window} maximum")
    return Refuse(400, f"input length and `max_tokens` exceed context limit: {given} + {output} > {window}, decrease "
                  "input length or `max_tokens` and try again")  # fmt: skip


def _llamacpp(given: int, output: int, window: int) -> Refuse:
    return Refuse(400, f"request ({given} tokens) exceeds the available context size ({window} tokens), try "
                  "increasing it", "exceed_context_size_error", 400,
                  more={"n_prompt_tokens": given, "n_ctx": window})  # fmt: skip


def _groq(given: int, output: int, window: int) -> Refuse:
    return Refuse(413, "Request too large for model `scripted` in organization `org` service tier `on_demand` on "
                  f"tokens per minute (TPM): Limit {window}, Requested {given + output}, please reduce your message "
                  "size and try again.", "tokens", "rate_limit_exceeded")  # fmt: skip


def _gemini(given: int, output: int, window: int) -> Refuse:
    return Refuse(400, f"The input token count ({given}) exceeds the maximum number of tokens allowed ({window}).",
                  "INVALID_ARGUMENT", 400)  # fmt: skip


def _proxy(given: int, output: int, window: int) -> Refuse:
    return Refuse(413, "", raw="<html><head><title>413 Request Entity Too Large</title></head></html>")


WORDS: dict[str, Words] = {
    "openai": Words(False, _openai),
    "openrouter": Words(True, _openrouter),
    "vllm": Words(True, _vllm),
    "anthropic": Words(True, _anthropic),
    "llamacpp": Words(False, _llamacpp),
    "groq": Words(True, _groq),
    "gemini": Words(False, _gemini),
    "mistral": Words(False, lambda given, output, window: Refuse(
        400, f"Prompt contains {given} tokens and 0 draft tokens, too large for model with {window} maximum context "
        "length", "invalid_request_prompt", 3051)),
    "xai": Words(False, lambda given, output, window: Refuse(
        400, f"This model's maximum prompt length is {window} but the request contains {given} tokens.")),
    "moonshot": Words(True, lambda given, output, window: Refuse(
        400, f"Invalid request: Your request exceeded model token limit: {window} (requested: {given + output})")),
    "ollama": Words(False, lambda given, output, window: Refuse(
        400, f"prompt too long; exceeded max context length by {given - window} tokens", "api_error")),
    "zh": Words(False, lambda given, output, window: Refuse(400, "上下文过长，请压缩上下文")),
    "proxy": Words(False, _proxy),
}  # fmt: skip
"""Providers by name. `groq` is a limit on tokens a minute: that one request never passes."""
