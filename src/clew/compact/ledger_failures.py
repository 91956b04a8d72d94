"""What went wrong: whether a result is a failure, and the one line of it that says why."""

import re

from clew.transcript import ToolResult, text_of

_OPENING = re.compile(
    r"\s*(?:Exit code [1-9]|<tool_use_error>|Traceback \(most|Command failed|Process exited with code [1-9]|"
    r"(?:bash|sh|zsh): .*(?:not found|No such file))"
)
_CLOSING = re.compile(r"exit(?:ed with)? (?:code|status):? [1-9]\d*[.\])]*\s*$", re.IGNORECASE)
_TELLING = re.compile(
    r"\b(?:error|fatal|panic|exception|failed|failure|fail|denied|cannot|can't|not found|no such|undefined|"
    r"invalid|refused|unexpected|timed out|conflict)\b|Error\b|错误|失败|エラー|오류",
    re.IGNORECASE,
)
_NOISE = re.compile(r"^\s*(?:Exit code \d+|Traceback \(most recent call last\):|<tool_use_error>|\[stderr\])\s*$")
_TAG = re.compile(r"</?tool_use_error>")
_REFUSED = "The user doesn't want to proceed"
LONGEST = 200
"""Characters of an error line that are kept."""


def failed(result: ToolResult) -> bool:
    """Whether a tool reported that it did not do what it was asked."""
    text = text_of(result)
    return result.error or bool(_OPENING.match(text)) or bool(_CLOSING.search(text[-80:]))


def refused(result: ToolResult) -> bool:
    """Whether it was the user who stopped the call."""
    return text_of(result).startswith(_REFUSED)


def error_line(text: str) -> str:
    """The line that tells most: the last one of a traceback, else the first that speaks of an error, else the last."""
    lines = [
        line.strip() for line in _TAG.sub("", text[:20_000]).splitlines() if line.strip() and not _NOISE.match(line)
    ]
    if not lines:
        return ""
    if "Traceback (most recent call last)" in text:
        return lines[-1][:LONGEST]
    return next((line for line in lines if _TELLING.search(line)), lines[-1])[:LONGEST]
