"""What went wrong: whether a result is a failure, and the one line of it that says why."""

import re

from clew.compact.ledger_plain import ends, uncoloured
from clew.transcript import ToolResult, text_of

_OPENING = re.compile(
    r"\s*(?:Exit code [1-9]|<tool_use_error>|Traceback \(most|Command failed|Process exited with code [1-9]|"
    r"(?:bash|sh|zsh): .*(?:not found|No such file))"
)
_CLOSING = re.compile(r"exit(?:ed with)? (?:code|status):? [1-9]\d*[.\])]*\s*$", re.IGNORECASE)
_NAMED = re.compile(r"^(?:[\w.:\[\]]*(?:Error|Exception|error|ERROR|fatal|panic|FAILED|FAIL)\b)")
_TELLING = re.compile(
    r"\b(?:error|fatal|panic|exception|failed|failure|fail|denied|cannot|can't|not found|no such|undefined|"
    r"invalid|refused|unexpected|timed out|conflict)\b|Error\b|错误|失败|エラー|오류",
    re.IGNORECASE,
)
_NOISE = re.compile(r"^\s*(?:Exit code \d+|Traceback \(most recent call last\):|<tool_use_error>|\[stderr\]|\^+)\s*$")
_TAG = re.compile(r"</?tool_use_error>")
_REFUSED = "The user doesn't want to proceed"
LONGEST = 200
"""Characters of an error line that are kept."""
SPOKEN = 400
"""Characters from which a line is a program or data, not something it reports."""
READ = 20_000
"""Characters of a failed result that are read."""


def failed(result: ToolResult) -> bool:
    """Whether a tool reported that it did not do what it was asked."""
    text = text_of(result)
    return result.error or bool(_OPENING.match(text)) or bool(_CLOSING.search(text[-80:]))


def refused(result: ToolResult) -> bool:
    """Whether it was the user who stopped the call."""
    return text_of(result).startswith(_REFUSED)


def error_line(text: str) -> str:
    """The line that tells most: the last one of a traceback, else the first that is or speaks of an error, else the
    last. Lines as long as minified code are read only where there is no other."""
    text = _TAG.sub("", uncoloured(ends(text, READ)))
    lines = [line.strip() for line in text.splitlines() if line.strip() and not _NOISE.match(line)]
    spoken = [line for line in lines if len(line) <= SPOKEN] or [line[:LONGEST] for line in lines]
    if not spoken:
        return ""
    if "Traceback (most recent call last)" in text:
        return spoken[-1][:LONGEST]
    told = (line for form in (_NAMED, _TELLING) for line in spoken if form.search(line))
    return next(told, spoken[-1])[:LONGEST]
