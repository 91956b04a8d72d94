"""The rules a user stated, in the user's own words, and the sentences that lift one. Knows words, no grammar.

A rule is what the user demands of the agent from here on: an order at the beginning of a clause, or what you (or
something the agent makes) must or must not. How software behaves is none, and what was pasted, quoted, logged or is
code is somebody else's.
"""

import re
from collections.abc import Iterator, Sequence

from clew.compact.ledger_rule_words import LIFTS, WORDS
from clew.compact.words import features

_RULE = re.compile("|".join(WORDS.values()), re.IGNORECASE)
_LIFT = re.compile("|".join(LIFTS.values()), re.IGNORECASE)
_SENTENCE = re.compile(r"[^\n。！？]+?(?:[。！？؟]+|(?<!e\.g)(?<!i\.e)(?<!etc)[.!?]+(?=\s|$)|(?=\n)|$)")
_BULLET = re.compile(r"^\s*(?:(?:[-*+•#]+|\d+[.)])\s+)+")
_HIDDEN = re.compile(r"`[^`\n]*`|\"[^\"\n]*\"|“[^”\n]*”|«[^»\n]*»|「[^」\n]*」|(?<!\w)'[^'\n]{3,}'(?!\w)")
_BLOCK = re.compile(r"```.*?(?:```|\Z)|~~~.*?(?:~~~|\Z)|<([a-zA-Z][\w-]*)(?:\s[^>\n]*)?>.*?</\1>", re.DOTALL)
_STRANGE = re.compile(
    r"^\s*(?:>|[{}|]|\[[\]{\"\d]|\$ |@@|[+-]{3} |at \S+ ?\(|File \"|\d{4}-\d\d-\d\d[T ]\d|//|/\*|\*/|"
    r"\"[\w-]+\":|#include|"
    r"\w*(?:Error|Exception|Warning)\b\s*:?|(?:ERROR|WARN|INFO|DEBUG|error|fatal|panic)\b\s*[:\[(]|"
    r"import \S+ from |from \S+ import |def \w+\(|class \w+[:({]|(?:export |async )?function \w*\(|"
    r"(?:const|let|var) \w+ =)"
    r"|\\n|\":\s*[\"{\[]|\);\s*$|[{}]\s*$|=>|\x1b",
)
"""What a line has that the user did not write: a quotation, JSON, a log, a diff, a program."""
_HEADING = re.compile(r"^#{1,4}\s+(.+)$", re.MULTILINE)
_OF_RULES = re.compile(
    r"rule|constraint|convention|guideline|important|must|规则|约束|规范|ルール|규칙|regla|regel|правил", re.IGNORECASE
)
_SUBORDINATE = re.compile(
    r"^(?:when(?:ever)?|if|before|after|while|unless|until|once|every time|each time|for|in|on|during|with|without|as|"
    r"from|at|under|to|because|since|by|where|wenn|falls|si|cuando|quand|если|когда)\b",
    re.IGNORECASE,
)
"""What opens a clause that says when a demand holds: it is not cut off."""
_CUT = re.compile(r"[,;:–—]\s+(?:(?:and|but|so|then|also|or)\s+)?|\s-\s+|\s(?:but|and also)\s+")
_POINTING = re.compile(
    r"^\W*(?:\w+\W+){0,4}?(?:(?:it|them|do so)\b|(?:this|that|these|those)(?=\s*(?:[.,;!]|$)))", re.IGNORECASE
)
"""An order about something that only the sentence before it names."""

_THAT_RULE = re.compile(r"\b(?:that|this) (?:rule|restriction|constraint)|[这那](?:条|个规则)", re.IGNORECASE)

SHORTEST, LONGEST = 4, 300
"""Characters of a sentence that can be a rule; a longer one is a paragraph that happens to hold the word."""
CONTEXT = 140
"""Characters of the sentence before that are taken along where a rule only points at what it is about."""
PASTED = 4000
"""Characters from which a message counts as pasted: its rules are somebody else's unless they stand at its edges."""
EDGE = 1200
DOCUMENT = 3
"""Headings from which a message is a document: of it count what stands before them, and sections that give rules."""


def stated(text: str) -> list[str]:
    """The clauses of a user's message that state a rule, verbatim, in order. Questions, quotations, code are none."""
    found: dict[str, None] = {}
    before = ""
    for sentence in sentences(text):
        if (rule := _clause(sentence)) and not _LIFT.search(_masked(sentence)):
            led = f"{before} {rule}" if before and len(before) <= CONTEXT and _POINTING.match(rule) else rule
            found[led] = None
        before = sentence
    return list(found)


def lifting(text: str) -> list[str]:
    """The sentences of a user's message that lift a rule."""
    return [sentence for sentence in sentences(text) if sentence[-1] not in "?？؟" and _LIFT.search(_masked(sentence))]


def lifted(sentence: str, standing: Sequence[str]) -> list[int]:
    """Which of the rules that stand, oldest first, a sentence lifts: those about the same; of none, the newest."""
    said = features(sentence) - _POLARITY
    alike = [at for at, rule in enumerate(standing) if _overlap(said, features(rule) - _POLARITY)]
    return alike or ([len(standing) - 1] if standing and _THAT_RULE.search(sentence) else [])


def sentences(text: str) -> Iterator[str]:
    """What the user wrote himself, sentence by sentence, without bullets."""
    own = _own(_BLOCK.sub("\n", text))
    own = own if len(own) < PASTED else f"{own[:EDGE]}\n{own[-EDGE:]}"
    for line in own.split("\n"):
        if not _STRANGE.search(line):
            hidden = _masked(bare := _BULLET.sub("", line))
            yield from filter(None, (bare[part.start() : part.end()].strip() for part in _SENTENCE.finditer(hidden)))


def _own(text: str) -> str:
    """A document without the sections that describe something."""
    headings = list(_HEADING.finditer(text))
    if len(headings) < DOCUMENT:
        return text
    ends = [heading.start() for heading in headings[1:]] + [len(text)]
    ruling = (text[h.end() : end] for h, end in zip(headings, ends, strict=True) if _OF_RULES.search(h[1]))
    return "\n".join([text[: headings[0].start()], *ruling])


def _masked(sentence: str) -> str:
    """A sentence with what stands in quotation marks or backticks made unreadable; its length stays."""
    return _HIDDEN.sub(lambda quote: "\x00" * len(quote[0]), sentence)


def _clause(sentence: str) -> str:
    """The part of a sentence that carries a demand, from the clause it opens with; empty where there is none."""
    hidden = _masked(sentence)
    if sentence[-1] in "?？؟" or not (match := _RULE.search(hidden)):
        return ""
    at = match.start()
    cuts = [cut.end() for cut in _CUT.finditer(hidden) if cut.end() <= max(match.end() - 1, at) and cut.start() <= at]
    if cuts and not _SUBORDINATE.match(hidden):
        sentence = sentence[cuts[-1] :].strip()
    return sentence if SHORTEST <= len(sentence) <= LONGEST else ""


_POLARITY = frozenset(
    """never always must may can now again don do not forget rule no longer correc ensure sure make only
    不要 必须 现在 可以 不用 用再""".split()
)
"""Features that say whether something is demanded or lifted, not what."""
OVERLAP = 0.6
"""Of the shorter one's features that a rule and what lifts it must have in common."""


def _overlap(said: set[str], rule: set[str]) -> bool:
    least = min(len(said), len(rule))
    return bool(least) and len(said & rule) / least >= OVERLAP
