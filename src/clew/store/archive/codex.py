"""Codex rollouts: response items, wrapped in time-stamped lines or (in old files) bare."""

from typing import Any

import msgspec

from clew.store.archive.field import arguments, listing, loads, mapping, moment, objects, string, whole
from clew.store.archive.gather import Gather
from clew.store.archive.harness import is_synthetic
from clew.store.archive.imported import Imported
from clew.store.archive.lineage import Row
from clew.store.archive.openai import parts_in
from clew.store.archive.source import Content
from clew.transcript import (
    Assistant,
    Block,
    Call,
    Compaction,
    Foreign,
    Ledger,
    Message,
    Said,
    Text,
    Thinking,
    ToolResult,
    Usage,
    User,
    Verdict,
    calls_of,
)

LINES = frozenset({"session_meta", "response_item", "event_msg", "turn_context", "compacted"})
"""The types of the lines of a rollout."""
ITEMS = frozenset({
    "message", "reasoning", "function_call", "function_call_output", "local_shell_call", "custom_tool_call",
    "custom_tool_call_output", "web_search_call", "image_generation_call",
})  # fmt: skip
"""The response items that are part of a conversation."""
_ALONE = ("web_search_call", "image_generation_call")
"""Calls that the provider answers itself: no result follows, so they are no calls here."""


class Speaker(msgspec.Struct):
    """What the lines so far tell about those to come."""

    provider: str = ""
    model: str = ""
    tools: dict[str, str] = {}
    spoke: Row | None = None
    """The newest answer for which no usage has been seen."""

    @property
    def name(self) -> str | None:
        """`provider/model`, as far as known."""
        return "/".join(part for part in (self.provider, self.model) if part) or None


def read(content: Content, *, at: int = 0) -> Imported:
    """One rollout file."""
    gather, speaker = Gather("codex", content, at=at), Speaker()
    for number, raw in content.items:
        if not isinstance(raw, dict):
            gather.spoil(number, "a list, not a line of a rollout")
        elif raw.get("type") in LINES and isinstance(raw.get("payload"), dict):
            _line(gather, speaker, raw)
        elif raw.get("type") in ITEMS:
            _item(gather, speaker, raw, raw, "response_item")
        else:
            known = "record_type" in raw or ("type" not in raw and "instructions" in raw)
            _describe(gather, speaker, raw)
            gather.custom(string(raw, "record_type") or string(raw, "type"), raw, known=known, at=moment(raw))
    return gather.finish()


def _line(gather: Gather, speaker: Speaker, raw: dict[str, Any]) -> None:
    kind, payload = string(raw, "type"), mapping(raw, "payload")
    if kind == "response_item":
        _item(gather, speaker, payload, raw, kind)
    elif kind == "compacted":
        gather.counts[kind] += 1
        gather.ignore(payload, {"message"})
        gather.add(_compaction(payload), at=moment(raw))
    else:
        _describe(gather, speaker, payload)
        if payload.get("type") == "token_count":
            _account(speaker, mapping(mapping(payload, "info"), "last_token_usage"))
        gather.custom(kind, raw, at=moment(raw))


def _describe(gather: Gather, speaker: Speaker, raw: dict[str, Any]) -> None:
    for key, field in (("session", "id"), ("cwd", "cwd"), ("version", "cli_version")):
        gather.note(key, string(raw, field))
    gather.note("branch", string(mapping(raw, "git"), "branch"))
    speaker.provider = string(raw, "model_provider") or speaker.provider
    speaker.model = string(raw, "model") or speaker.model
    gather.note("model", speaker.name if speaker.model else None)


def _item(gather: Gather, speaker: Speaker, raw: dict[str, Any], line: dict[str, Any], kind: str) -> None:
    message = _message(raw, speaker)
    if message is None:
        known = raw.get("type") in ITEMS or raw.get("type") == "ghost_snapshot"
        gather.custom(kind if known else f"{kind}:{string(raw, 'type')}", line, known=known, at=moment(line))
        return
    gather.counts[kind] += 1
    gather.add(Said(message), at=moment(line))
    if isinstance(message, Assistant):
        speaker.spoke = gather.rows[-1]
        speaker.tools.update((call.id, call.name) for call in calls_of(message))


def _message(raw: dict[str, Any], speaker: Speaker) -> Message | None:
    """The message of a response item; None for set-up texts and for what is no part of a conversation."""
    kind, role = string(raw, "type"), string(raw, "role")
    if kind == "message" and role == "user":
        blocks = parts_in(raw.get("content"))
        return User(blocks, synthetic=is_synthetic(blocks))
    if kind == "message" and role == "assistant":
        return Assistant(parts_in(raw.get("content")), speaker.name)
    if kind in ("function_call_output", "custom_tool_call_output"):
        call = string(raw, "call_id")
        return ToolResult(call, speaker.tools.get(call, ""), *_output(raw.get("output")))
    block = _block(raw)
    return Assistant((block,), speaker.name) if block else None


def _block(raw: dict[str, Any]) -> Block | None:
    """The one block of an item that is no message."""
    kind, call = string(raw, "type"), string(raw, "call_id") or string(raw, "id")
    if kind == "reasoning":
        said = [string(part, "text") for key in ("summary", "content") for part in objects(raw, key)]
        return Thinking("\n\n".join(said), redacted=string(raw, "encrypted_content") or None)
    if kind == "function_call":
        return Call(call, string(raw, "name"), *arguments(raw.get("arguments")))
    if kind == "custom_tool_call":
        return Call(call, string(raw, "name"), {"input": raw.get("input", "")})
    if kind == "local_shell_call":
        return Call(call, "local_shell", mapping(raw, "action"))
    return Foreign(f"codex.{kind}", raw) if kind in _ALONE else None


def _output(output: Any) -> tuple[tuple[Block, ...], bool]:
    """The blocks of a call's output, and whether it says that the call failed."""
    if isinstance(output, dict):
        return parts_in(output.get("content")), output.get("success") is False
    blocks = parts_in(output)
    return blocks, isinstance(output, str) and output.startswith("{") and _failed(output)


def _failed(output: str) -> bool:
    """Whether an output that is JSON names an exit code other than 0."""
    try:
        value = loads(output)
    except ValueError:
        return False
    return isinstance(value, dict) and mapping(value, "metadata").get("exit_code") not in (None, 0)


def _account(speaker: Speaker, raw: dict[str, Any]) -> None:
    """Put a reported usage on the answer it is for; the same report may come again and is not counted twice."""
    total, cached = whole(raw, "input_tokens"), whole(raw, "cached_input_tokens") or 0
    usage = Usage(None if total is None else max(0, total - cached), whole(raw, "output_tokens"), cached)
    row = speaker.spoke
    if usage.context and row and isinstance(row.body, Said):
        row.body = Said(msgspec.structs.replace(row.body.message, usage=usage))
        speaker.spoke = None


def _compaction(raw: dict[str, Any]) -> Compaction:
    """A compaction: its text, or the texts of the history that took the old one's place."""
    texts = [
        block.text
        for item in objects(raw, "replacement_history")
        for block in parts_in(listing(item, "content"))
        if isinstance(block, Text)
    ]
    return Compaction(
        summary=string(raw, "message") or "\n\n".join(texts),
        first_kept=None,
        tokens_before=0,
        tokens_after=0,
        trigger="budget",
        verdict=Verdict("imported"),
        ledger=Ledger(),
    )
