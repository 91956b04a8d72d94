"""Text as it was meant: without what a terminal draws colours with, and of a very long one its two ends."""

import re

COLOUR = re.compile(
    r"\x1b\][^\x07\x1b]{0,200}(?:\x07|\x1b\\)|\x1b\[[0-9;?]{0,20}[ -/]?[@-~]|\x1b[=>()#][0-9A-B]?"
    r"|(?:\\u001b|\\x1b|\\033|\\e)?\[(?:\d{1,3}(?:;\d{1,3}){0,4})m"
)
"""What a terminal takes for colour and cursor, also where it was escaped, and where its first character got lost."""

_FADED = re.compile(r"\[\d{1,3}(?:;\d{1,3})*m")


def uncoloured(text: str) -> str:
    """A text without a terminal's escape sequences."""
    if "\x1b" in text:
        text = COLOUR.sub("", text).replace("\x1b", "")
    return COLOUR.sub("", text) if _FADED.search(text) else text


def ends(text: str, most: int) -> str:
    """A text, or of a longer one its two ends, cut at line breaks: `most` characters in all."""
    if len(text) <= most:
        return text
    head, tail = text[: most // 2], text[-(most // 2) :]
    return f"{head[: head.rfind(chr(10)) + 1] or head}\n{tail[tail.find(chr(10)) + 1 :] or tail}"
