"""Values that were put in the place of others: the sentences that say so, and how an old value is marked in a text.

A sentence counts only where it names both values, of one kind, and says which one holds: `the port is B, not A` behind
a word like `correction`, `moved from A to B`, `A was replaced by B`. What a tool returned replaces nothing.
"""

import re
from collections.abc import Iterable, Iterator, Mapping

from clew.compact.identifiers import find, kind, occurs, strong
from clew.compact.ledger_plain import ends
from clew.transcript import LedgerItem

REPLACED = "replaced"
"""The state of an identifier that another took the place of: its text is then the other one."""

READ = 20_000
"""Characters of a message that are read for corrections."""
LONGEST = 400
"""Characters of a sentence; what is longer is a paste."""

_SENTENCE = re.compile(r"[^\n。！？]+?(?:[。！？]|[.!](?=\s|$)|(?=\n)|$)")
_BLOCK = re.compile(r"```.*?(?:```|\Z)|^\s*>.*$", re.DOTALL | re.MULTILINE)
_CUE = re.compile(
    r"\b(?:correction|corrected|actually|sorry|wrong|mistake|mistaken|i meant|outdated|stale|changed|moved|now)\b"
    r"|更正|纠正|改正|说错|搞错|弄错|写错|现在|变了|訂正|정정",
    re.IGNORECASE,
)
"""What has to be said where `B, not A` alone could mean two things that both hold."""
_CHANGE = r"\b(?:renam|chang|mov|switch|migrat|bump|updat|upgrad|downgrad|replac|correct|swap|point)\w*\b"
_FORMS: tuple[tuple[re.Pattern[str], bool, bool], ...] = tuple(
    (re.compile(form, re.IGNORECASE), old_first, cue)
    for form, old_first, cue in (
        (r"\x01[\s,;:(—–-]*(?:and )?(?:not|no longer)\s\W*(?:\w+\s){0,2}\W*\x02", False, True),
        (r"\x01.{0,6}(?:不是|而不是|而非|不再是|ではなく)\s?\W*\x02", False, True),
        (r"\b(?:not|no longer)\s\W*\x01.{0,20}\bbut\s\W*(?:\w+\s){0,2}\W*\x02", True, True),
        (r"(?:不是|不再是)\s?\W*\x01.{0,4}(?:而?是|改为|改成)\s?\W*\x02", True, False),
        (_CHANGE + r"[^.;]{0,60}?\x01\W*\s(?:to|with|by|into)\s\W*(?:\w+\s){0,2}\W*\x02", True, False),
        (r"\x01\W*\s(?:is|was|were|has been|have been|got)\s(?:now\s)?(?:replaced|superseded|renamed|changed|moved)\s"
         r"(?:by|to|with|into)\s\W*(?:\w+\s){0,2}\W*\x02", True, False),
        (r"\x01\W*\s(?:replaces|supersedes|takes the place of)\s\W*(?:\w+\s){0,2}\W*\x02", False, False),
        (r"\x01[^\x02]{0,6}(?:改成|改为|改用|换成|换为|更新为|更名为|迁移到|迁到|移到|升级到|已?被)了?\s?\W*\x02",
         True, False),
    )
)  # fmt: skip
"""Forms of a correction over two masked names; whether the first named is the old one; whether a cue must stand too."""


def corrections(text: str) -> Iterator[tuple[str, str]]:
    """The pairs of an old value and the one that holds, in the order they are said."""
    for match in _SENTENCE.finditer(_BLOCK.sub("\n", ends(text, READ))):
        sentence = match[0].strip()
        if len(sentence) <= LONGEST and (pair := _pair(sentence)):
            yield pair


def _pair(sentence: str) -> tuple[str, str] | None:
    names = [name for name in find(sentence) if strong(name)]
    if len(names) != 2 or kind(names[0]) != kind(names[1]):
        return None
    first, second = sorted(names, key=sentence.find)
    at = sentence.find(second, sentence.find(first) + len(first))
    if at < 0:
        return None
    masked = f"{sentence[:at]}\x02{sentence[at + len(second) :]}".replace(first, "\x01", 1)
    for form, old_first, cue in _FORMS:
        if form.search(masked) and (not cue or _CUE.search(masked)):
            return (first, second) if old_first else (second, first)
    return None


def replaced(identifiers: Iterable[LedgerItem]) -> dict[str, str]:
    """Old values of a ledger, each with the one that holds now."""
    direct = {item.key: item.text for item in identifiers if item.state == REPLACED}
    return {old: last for old in direct if (last := _last(old, direct)) != old}


def _last(name: str, direct: Mapping[str, str]) -> str:
    passed = {name}
    while (after := direct.get(name)) and after not in passed:
        passed.add(name := after)
    return name


def notes(text: str, changed: Mapping[str, str]) -> list[str]:
    """What there is to note on a text that holds old values and does not say what holds now."""
    return [
        f"{old} was replaced by {new}"
        for old, new in changed.items()
        if old in text and occurs(old, text) and not occurs(new, text)
    ]


NOTE = re.compile(r"\((?:\S+ was replaced by \S+(?:; )?)+\)")
"""The notes behind a line."""


def marked(line: str, changed: Mapping[str, str]) -> str:
    """A line with its notes behind it."""
    return f"{line} ({'; '.join(said)})" if changed and (said := notes(line, changed)) else line
