"""What somebody said is finished or cancelled, so that a brief does not list it as open: words, no grammar."""

import re
from collections.abc import Iterable, Iterator, Sequence

import msgspec

from clew.compact import identifiers
from clew.compact.ledger_plain import ends
from clew.compact.words import features, normal, share
from clew.transcript import LedgerItem

COVERED = 0.75
"""Of an item's features that a sentence must hold to be about it; of its exact names, all."""

FEW = 3
"""Features below which an item says too little to be found in a sentence: then its words must be the same."""

READ = 20_000
"""Characters of a message that are read."""

_SENTENCE = re.compile(r"[^\n。！？]+?(?:[。！？]|[.!?](?=\s|$)|(?=\n)|$)")
_CLOSED = re.compile(
    r"\b(?:done|finished|completed?|merged|shipped|closed|resolved|cancel(?:l?ed)?|dropped|obsolete|implemented|"
    r"no longer (?:needed|necessary|wanted)|not needed (?:any ?more|now)|(?:drop|skip|forget) (?:that|this|the|it)|"
    r"(?:take|took|taken|strike) (?:it|that|this) off)\b|^[-*+•]?\s*\[[xX-]\]"
    r"|已经?(?:做完|完成|合并|修复|解决|取消|关闭|上线)|做完了|完成了|取消了|不用做|不需要做|不做了|搞定了",
    re.IGNORECASE,
)
_DOUBT = re.compile(
    r"\b(?:not (?!needed)|isn['’]t|aren['’]t|hasn['’]t|haven['’]t|wasn['’]t|until|when|once|if|after|before|unless|"
    r"will|would|should|must|still|to be|needs?|almost|nearly|half)\b|[?？]"
    r"|没有?(?:完成|做)|未完成|尚未|还没|如果|等到|之后|以后再",
    re.IGNORECASE,
)
"""What makes a sentence with such a word no report that something is over."""


class Closings(msgspec.Struct, frozen=True):
    """What is known of which to-do items are open and which are not."""

    open: tuple[str, ...] = ()
    """Items of a list that the agent keeps, as they stand on it."""
    settled: tuple[str, ...] = ()
    """Such items that were done or cancelled."""
    said: tuple[str, ...] = ()
    """Sentences of user and agent in the order they were said, from old to new."""

    def settles(self, line: str) -> bool:
        """Whether a line lists something that is done or cancelled.

        The list counts first; else the newest sentence about it, if that says that it is over.
        """
        if any(_holds(line, item) for item in self.open):
            return False
        if any(_holds(line, item) for item in self.settled):
            return True
        about = next((said for said in reversed(self.said) if _covers(said, line)), None)
        return about is not None and closing(about)


def closings(todos: Iterable[LedgerItem], said: Iterable[str]) -> Closings:
    """What the to-do items of a ledger and the words of user and agent, from old to new, tell of open work."""
    listed = list(todos)
    return Closings(
        tuple(one.text for one in listed if one.state in ("open", "active")),
        tuple(one.text for one in listed if one.state in ("done", "cancelled")),
        tuple(sentence for text in said for sentence in _sentences(text)),
    )


def closing(sentence: str) -> bool:
    """Whether a sentence says that something is over."""
    return bool(_CLOSED.search(sentence)) and not _DOUBT.search(sentence)


def _sentences(text: str) -> Iterator[str]:
    yield from (bare for match in _SENTENCE.finditer(ends(text, READ)) if (bare := match[0].strip()))


def _holds(line: str, item: str) -> bool:
    """Whether a line is a to-do item, with words beside it or not."""
    said, wanted = _bare(line), _bare(item)
    return wanted == said or (len(features(item)) >= FEW and wanted in said)


def _bare(text: str) -> str:
    return normal(re.sub(r"^\s*(?:[-*+•]|\d+[.)])?\s*(?:\[[ xX~/-]\])?\s*", "", text)).rstrip(".。")


def _covers(sentence: str, line: str) -> bool:
    wanted = features(line)
    if len(wanted) < FEW or share(wanted, features(sentence)) < COVERED:
        return False
    names: Sequence[str] = [name for name in identifiers.find(line) if identifiers.strong(name)]
    return all(identifiers.occurs(name, sentence) for name in names)
