"""What a provider's refusal means: one ordered table, structured fields before words, numbers read out.

It is fed a provider's error and nothing else: a conversation may well talk about context windows.
"""

import re
from collections.abc import Callable
from typing import Any, Literal, NamedTuple

import msgspec

from clew.models.numbers import ceiling, numbers

Kind = Literal[
    "overflow_tokens", "overflow_bytes", "output_limit", "rate_limit", "quota", "pair_error", "order_error", "auth",
    "other",
]  # fmt: skip

LONGEST = 4_000
"""Characters of a refusal that are looked at; what comes later is echo."""


class Complaint(msgspec.Struct, frozen=True):
    """A refusal, understood."""

    kind: Kind
    limit: int | None = None
    """Tokens the provider takes: the window, or for `output_limit` without `input` the most output."""
    requested: int | None = None
    """Tokens the request stood for, by the provider's count."""
    input: int | None = None
    """Tokens of input alone, where the provider told them from the output asked for."""
    terminal: bool = False
    """True where this one request is above all that the provider ever takes: waiting and retrying cannot help."""
    rule: str = ""
    """The row of the table that decided."""

    @property
    def room(self) -> int | None:
        """The output that would still have fitted, where the provider's numbers say so."""
        if self.kind not in ("overflow_tokens", "output_limit") or self.limit is None:
            return None
        if self.input is None:
            return self.limit if self.kind == "output_limit" else None
        return max(self.limit - self.input, 0)


class Refusal(NamedTuple):
    """What a row looks at: lower-cased code and type, the words as they came."""

    status: int | None
    code: str
    kind: str
    text: str


class Rule(NamedTuple):
    """One row: if it holds, that is the kind."""

    name: str
    kind: Kind
    holds: Callable[[Refusal], bool]


def says(*patterns: str) -> Callable[[Refusal], bool]:
    """Holds where one of the patterns is in the words, whatever their case."""
    compiled = re.compile("|".join(patterns), re.IGNORECASE)
    return lambda refusal: compiled.search(refusal.text) is not None


def named(*names: str) -> Callable[[Refusal], bool]:
    """Holds where the code or the type is one of these."""
    return lambda refusal: refusal.code in names or refusal.kind in names


def status(*codes: int) -> Callable[[Refusal], bool]:
    """Holds for these HTTP statuses."""
    return lambda refusal: refusal.status in codes


def above_ceiling(refusal: Refusal) -> bool:
    """A rate limit per minute that this single request exceeds alone (Groq's 413 and 429)."""
    found = ceiling(refusal.text)
    return found is not None and found["requested"] > found["limit"] > 0


def greedy_output(refusal: Refusal) -> bool:
    """The sum is over the window although the input takes less than half of it: the output asked for is the fault."""
    found = numbers(refusal.text)
    given, limit = found.get("input"), found.get("limit")
    return given is not None and limit is not None and given * 2 < limit


OVERFLOW: tuple[str, ...] = (
    r"prompt (?:is )?too (?:long|large)",  # Anthropic, Bedrock, Ollama
    r"exceeds? (?:the |this )?(?:model'?s? )?context (?:limit|window)",  # Anthropic with max_tokens, OpenAI, gateways
    r"context window exceeds limit",  # MiniMax
    r"request size exceeds .*context window",  # OpenClaw
    r"input (?:is )?too long",  # Bedrock, Ollama
    r"maximum context length|exceeds (?:the )?(?:model'?s )?maximum context",  # OpenAI, vLLM, OpenRouter, Mistral
    r"context length (?:is|of) only",  # vLLM, LM Studio
    r"longer than the (?:model'?s context length|maximum model length)",  # SGLang, vLLM
    r"greater than the context length",  # LM Studio
    r"exceeds the available context size|context size has been exceeded|configured context size is",  # llama.cpp
    r"input token count .*exceeds the maximum|maximum number of (?:input )?tokens",  # Gemini, Vertex
    r"maximum prompt length is",  # xAI
    r"reduce the length of the (?:messages|input)",  # Groq, OpenAI
    r"exceeds (?:the )?maximum allowed input length|tokens \+ .?max_new_tokens.? must be <=",  # Together, TGI
    r"token count of [\d,]+ exceeds the limit of",  # GitHub Copilot
    r"model token limit|max input token limit|token limit exceeded",  # Kimi, Bedrock
    r"tokens?(?:\(s\))? in request more than max tokens?",  # Chinese gateways
    r"prompt exceeds max(?:imum)? length",  # Z.ai
    r"input length [\d,]+ tokens? exceeds the model limit",  # Mistral
    r"model_context_window_exceeded|context_window_exceeded|context[_ ]length[_ ]exceeded",  # codes quoted in words
    r"context_overflow|context overflow:",  # plug-ins
    r"too many tokens|total tokens .*exceeds? .*\b(?:max|limit)",  # Cohere
    r"content_filter.*(?:prompt|input).*(?:too long|exceed)",  # Azure
    r"truncating input.*too long",  # Ollama
    r"ran out of (?:room|space)[\s\S]*context window|context window[\s\S]*ran out of (?:room|space)",  # Codex
    r"上下文过长|上下文超出|上下文长度超|超出最大上下文|请压缩上下文|输入过长",  # Chinese proxies
)
"""How providers say that a request has too many tokens, and who says it so."""

HINTS: tuple[str, ...] = (
    r"\bcontext\b.{0,80}\boverflow",
    r"\bcontext window\b.{0,80}(?:too (?:large|long)|exceed|\bover\b|limit)",
    r"\bprompt\b.{0,80}(?:too (?:large|long)|exceed|\bover\b.*\blimit)",
    r"\b(?:request|input)\b.{0,80}\b(?:context|window|length|tokens?)\b.{0,80}(?:too (?:large|long|many)|exceed)",
)
"""Words that sound like it, asked last."""

PAIRS: tuple[str, ...] = (
    r"tool_use_id|tool_result`? blocks?|tool_use`? (?:ids|blocks?)|tool(?:Result|Use) blocks",  # Anthropic, Bedrock
    r"must be followed by tool messages|tool_call_ids? did not|role '?tool'? must be a response",  # OpenAI
    r"no tool (?:call|output) found",  # OpenAI Responses
    r"function call turn|function response (?:parts|turn)",  # Gemini
    r"same number of function calls and responses|unexpected tool call id",  # Mistral
)

ORDER: tuple[str, ...] = (
    r"must end with a user message|does not support (?:assistant message )?prefill",  # Anthropic
    r"first message must|at least one message is required",  # Anthropic
    r"roles must alternate|must be a user message",  # chat templates
    r"expected last role|last message .*must be",  # Mistral
)

RULES: tuple[Rule, ...] = (
    Rule("request above the rate's ceiling", "overflow_tokens", above_ceiling),
    Rule("long context not paid for", "other", says(r"extra usage is required|long context beta is not")),
    Rule("output too greedy", "output_limit", greedy_output),
    Rule("code: overflow", "overflow_tokens", named(
        "context_length_exceeded", "exceed_context_size_error", "context_window_exceeded",
        "model_context_window_exceeded", "context_overflow")),
    Rule("code: bytes", "overflow_bytes", named("request_too_large", "payload_too_large", "request_entity_too_large")),
    Rule("code: quota", "quota", named(
        "insufficient_quota", "billing_error", "billing_hard_limit_reached", "insufficient_balance",
        "exceeded_current_quota_error")),
    Rule("code: auth", "auth", named("authentication_error", "permission_error", "invalid_api_key")),
    Rule("status: auth", "auth", status(401, 403)),
    Rule("status: payment", "quota", status(402)),
    Rule("words: quota", "quota", says(
        r"exceeded your current quota|insufficient (?:quota|balance|credits?|funds)|credit balance is too low"
        r"|(?<![/\w])billing\b|payment required|余额不足|额度不足|配额")),
    Rule("code: rate", "rate_limit", named(
        "rate_limit_exceeded", "rate_limit_error", "too_many_requests", "overloaded_error", "throttlingexception",
        "resource_exhausted", "model_cooldown")),
    Rule("status: rate", "rate_limit", status(408, 429)),
    Rule("words: rate", "rate_limit", says(
        r"rate[ _-]?limit|too many requests|throttl|concurrency limit|model_cooldown|quota exceeded|usage limit"
        r"|resource (?:has been )?exhausted|(?:tokens|requests) per (?:minute|hour|day)|\b[tr]p[md]\b|\boverloaded\b"
        r"|service unavailable|^\W*429\b|请求过于频繁|限流")),
    Rule("reasoning refused", "other", says(
        r"reasoning is (?:mandatory|required)|requires reasoning|reasoning .*cannot be disabled")),
    Rule("configured window too small", "other", says(r"context window .*(?:too small|minimum is)")),
    Rule("image", "other", says(r"image (?:exceeds|dimensions? exceed|size)")),
    Rule("words: pairs", "pair_error", says(*PAIRS)),
    Rule("words: order", "order_error", says(*ORDER)),
    Rule("words: most output", "output_limit", says(
        r"\A(?![\s\S]*maximum context length)[\s\S]*max(?:_completion)?_tokens[^.\n]{0,60}"
        r"(?:maximum allowed number of output tokens|too large|at most)",
        r"maximum (?:number of )?output tokens|supports at most [\d,]+ (?:completion|output) tokens")),
    Rule("words: bytes", "overflow_bytes", says(
        r"request_too_large|entity too large|payload too large|request body too large|request exceeds the maximum size"
        r"|request too large \(max|too many total (?:text )?bytes|maximum (?:request )?size of \d+ ?[mk]b")),
    Rule("words: overflow", "overflow_tokens", says(*OVERFLOW)),
    Rule("status: overloaded", "rate_limit", status(503, 529)),
    Rule("status: bytes", "overflow_bytes", status(413)),
    Rule("words: 413", "overflow_bytes", says(r"^\W*413\b|\bhttp 413\b")),
    Rule("prompt template", "other", says(r"prompt template")),
    Rule("hint", "overflow_tokens", says(*HINTS)),
)  # fmt: skip
"""The first row that holds decides. A new wording is a new line here and a row of the test."""


def classify(status: int | None, code: str | None, kind: str | None, text: str) -> Complaint:
    """What a refusal means.

    `status` is the HTTP status (None where there was none, as inside a stream), `code` and `kind` are the error
    object's `code` and `type`, `text` is its message.
    """
    refusal = Refusal(status, (code or "").lower(), (kind or "").lower(), text[:LONGEST])
    rule = next((rule for rule in RULES if rule.holds(refusal)), Rule("no rule", "other", lambda _: True))
    terminal = rule.holds is above_ceiling
    counted = rule.kind in ("overflow_tokens", "output_limit")
    found = ceiling(refusal.text) if terminal else numbers(refusal.text) if counted else None
    said = found or {}
    return Complaint(rule.kind, said.get("limit"), said.get("requested"), said.get("input"), terminal, rule.name)


def read_body(body: Any) -> tuple[str | None, str | None, str]:
    """Code, type and words of an error body, wherever the provider put them; all of a body that is no object."""
    error = body.get("error", body) if isinstance(body, dict) else body
    if not isinstance(error, dict):
        return None, None, "" if error is None else str(error)
    words = [error.get("message"), error.get("detail")]
    upstream = error.get("metadata")
    if isinstance(upstream, dict):
        words.append(upstream.get("raw"))
    code, kind = (str(error[name]) if error.get(name) is not None else None for name in ("code", "type"))
    return code, kind, "\n".join(word for word in words if isinstance(word, str))
