"""What was said, as values: messages, entries, branches, pairs, and the view of them."""

from clew.transcript.branch import boundary, path
from clew.transcript.codec import SCHEMA, clean, decode, encode
from clew.transcript.entry import (
    Attempt,
    Body,
    Compaction,
    Custom,
    Entry,
    Finding,
    Ledger,
    LedgerItem,
    Line,
    ModelChange,
    Node,
    Pin,
    PruneMark,
    Reset,
    Said,
    Trigger,
    Undo,
    Verdict,
    kind_of,
)
from clew.transcript.message import (
    Assistant,
    Block,
    Call,
    Foreign,
    Media,
    Message,
    Sender,
    Shell,
    Text,
    Thinking,
    ToolResult,
    Usage,
    User,
    assistant,
    blocks_of,
    calls_of,
    result,
    shell_text,
    text_of,
    user,
)
from clew.transcript.pairing import dangling, groups, mend
from clew.transcript.view import View, brief_text, view

__all__ = [
    "SCHEMA", "Assistant", "Attempt", "Block", "Body", "Call", "Compaction", "Custom", "Entry", "Finding", "Foreign",
    "Ledger", "LedgerItem", "Line", "Media", "Message", "ModelChange", "Node", "Pin", "PruneMark", "Reset", "Said",
    "Sender", "Shell", "Text", "Thinking", "ToolResult", "Trigger", "Undo", "Usage", "User", "Verdict", "View",
    "assistant", "blocks_of", "boundary", "brief_text", "calls_of", "clean", "dangling", "decode", "encode", "groups",
    "kind_of",
    "mend", "path", "result", "shell_text", "text_of", "user", "view",
]  # fmt: skip
