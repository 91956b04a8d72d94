"""AGENTS.md cut to size: head and tail, and between them the rules of what was taken out, line by line.

Rules in the middle of a long AGENTS.md bind as much as those at its ends (fault INSTR: rules gone from the context).
"""

import re
from collections.abc import Iterator

from clew.prompt import cut
from clew.transcript.characters import head, tail

HEAD_SHARE, RULES_SHARE, TAIL_SHARE = 45, 35, 15
"""Percent of the room for head, rules and tail (spec/context.md 8.5); what the rules leave goes to the head."""
LONGEST_LINE = 240
"""Characters of one rule."""
LEAST = 1_000
"""Characters below which a digest is not worth its frame, and the file is cut to head and tail alone."""
OMITTED = "[… {count:,} more lines with rules are not shown …]"

_RULE = re.compile(
    r"\b(?:must|never|always|required?|requires|mandatory|forbidden|prohibited|shall|only|don'?t|do not|avoid|ensure"
    r"|secrets?|passwords?|credentials?|confirm|approv\w+|tests?|commits?|deploy\w*)\b"
    r"|必须|必需|禁止|严禁|不得|不要|不能|不可|切勿|务必|始终|总是|只能|确保|密钥|密码|确认|测试|提交|部署"
    r"|\b(?:muss|müssen|nie|niemals|immer|nicht|debe|nunca|siempre|jamais|toujours|doit)\b",
    re.IGNORECASE,
)
_HEADING = re.compile(r"#{1,6} ")
_ITEM = re.compile(r"\s*(?:[-*+]|\d+[.)]) ")
_FENCE = re.compile(r"\s*(?:```|~~~)")


def to_size(text: str, most: int, name: str) -> str:
    """`text` in at most `most` characters: head, the rules of the middle, tail."""
    frame = len(_before(name, len(text), len(text))) + len(AFTER)
    room = most - frame
    if len(text) <= most or room < LEAST:
        return cut.to_size(text, most, name)
    last = tail(text, room * TAIL_SHARE // 100)
    first = head(text, room * HEAD_SHARE // 100)
    allowed = room * RULES_SHARE // 100
    rules = _rules(text[len(first) : len(text) - len(last)], allowed)
    first = head(text, room - len(last) - len(rules))
    missing = len(text) - len(first) - len(last)
    return f"{first}{_before(name, missing, len(text))}{rules}{AFTER}{last}"


AFTER = "\n[… end of the part with rules only …]\n"


def _before(name: str, missing: int, whole: int) -> str:
    return f"\n[… {missing:,} of {whole:,} characters left out here, and only rules shown; read {name} for them …]\n"


def _rules(text: str, most: int) -> str:
    """The lines that bind, in their order, those that say so most plainly first in the choice."""
    lines = list(_candidates(text))
    room = most - len(OMITTED.format(count=len(lines))) - 1
    chosen: set[int] = set()
    for number in sorted(range(len(lines)), key=lambda number: (lines[number][0], number)):
        size = len(lines[number][1]) + 1
        if size <= room:
            chosen.add(number)
            room -= size
    shown = [line for number, (_, line) in enumerate(lines) if number in chosen]
    if left := len(lines) - len(chosen):
        shown.append(OMITTED.format(count=left))
    return "\n".join(shown)


def _candidates(text: str) -> Iterator[tuple[int, str]]:
    """Lines with their rank: 0 says what must or must not be, 1 is a heading, 2 an item of a list. No code."""
    fenced = False
    for line in text.split("\n"):
        if _FENCE.match(line):
            fenced = not fenced
        elif not fenced and line.strip():
            rank = 0 if _RULE.search(line) else 1 if _HEADING.match(line) else 2 if _ITEM.match(line) else None
            if rank is not None:
                yield rank, line if len(line) <= LONGEST_LINE else f"{head(line, LONGEST_LINE - 1)}…"
