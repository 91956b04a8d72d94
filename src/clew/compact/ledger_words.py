"""Words cut to a length without losing their two ends, and sentences in which a model says what it decided."""

import re
from collections.abc import Sequence

_DECIDING = re.compile(
    r"\b(?:I(?:'ll| will|'m going to) (?:use|keep|go with|implement|add|remove|replace|revert|move|switch|fix)"
    r"|(?:let's|we(?:'ll| will)) (?:use|keep|go with)|decided|decision|root cause|instead of|turns out|confirmed"
    r"|the (?:fix|issue|problem|bug) (?:is|was)|the (?:right|correct|best|simplest) (?:fix|approach|way|solution)"
    r"|conclusion|in summary)\b|决定|原因是|改为|采用|結論|原因は|결정|원인은",
    re.IGNORECASE,
)
_SENTENCE = re.compile(r"[^\n。！？]{12,400}?(?:[。！？]|[.!:](?=\s|$)|(?=\n)|$)")
_BULLET = re.compile(r"^\s*(?:[-*+•>#]+|\d+[.)])\s+")
_ANSWERED = re.compile(r'"([^"]{1,400})"\s*=\s*"([^"]{1,400})"')
_COMMIT = re.compile(r"\bgit commit\b.*?-m\s+(?:\"\$\(cat <<'?EOF'?\n)?[\"']?([^\n\"']{8,200})", re.DOTALL)
_REMINDER = re.compile(r"<system-reminder>.*?</system-reminder>", re.DOTALL)


def ends(text: str, most: int) -> str:
    """`text` in at most about `most` characters: two thirds from its head, one third from its tail, the gap named."""
    if len(text) <= most:
        return text
    mark = f" [… {len(text) - most} characters left out …] "
    head = max(0, most - len(mark)) * 2 // 3
    tail = max(0, most - len(mark) - head)
    return (
        f"{text[:head].rstrip()}{mark}{text[len(text) - tail :].lstrip()}"
        if most > 2 * len(mark)
        else f"{text[: max(1, most - 1)]}…"
    )


def level(lengths: Sequence[int], room: int) -> int:
    """The length to which each may go so that all fit `room`: short ones stay whole, long ones share the rest."""
    left = room
    for nth, length in enumerate(sorted(lengths)):
        share = left // (len(lengths) - nth)
        if length > share:
            return max(share, 0)
        left -= length
    return max(lengths, default=0)


def asked(text: str) -> str:
    """A user's message without what a harness put into it."""
    return (_REMINDER.sub("", text) if "<system-reminder>" in text else text).strip()


def decisions(text: str) -> list[str]:
    """The sentences of a model's answer that say what was found or decided; at most three, the last ones."""
    found = [_BULLET.sub("", sentence).strip() for sentence in _SENTENCE.findall(text) if _DECIDING.search(sentence)]
    return [sentence for sentence in found if len(sentence) >= 20 and not sentence.endswith(":")][-3:]


def answers(text: str) -> list[str]:
    """What a user chose when a tool asked: `question → answer`."""
    return [f"{question} → {answer}" for question, answer in _ANSWERED.findall(text)]


def commits(command: str) -> list[str]:
    """The subject lines of the commits a command makes."""
    return [match.strip() for match in _COMMIT.findall(command)] if "git commit" in command else []
