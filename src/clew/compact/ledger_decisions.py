"""What was decided and found out: the few sentences that say so by themselves, commit subjects, the user's choices.

Precision comes before recall: a sentence counts only from its beginning, with names in it and without a doubt, and
never inside code, a quotation, a table or an example.
"""

import re
from collections.abc import Iterator

import msgspec

from clew.compact.identifiers import CJK, find
from clew.transcript import Call


class Decision(msgspec.Struct, frozen=True):
    """One thing that holds from here on."""

    text: str
    topic: str = ""
    """What it is about: a later one on the same topic takes its place. Empty where its own words are its topic."""


_IDEOGRAPH = re.compile(rf"[{CJK}]")

ABOUT_THE_ASK = frozenset({"cause", "fix"})
"""Topics of which each ask has its own."""

SHORTEST, LONGEST = 25, 320
"""Characters of a sentence that can stand by itself."""
MOST = 3
"""Sentences taken from one answer: the last ones."""

_FENCE = re.compile(r"```.*?(?:```|\Z)|~~~.*?(?:~~~|\Z)|<(\w[\w-]*)>.*?</\1>", re.DOTALL)
_SENTENCE = re.compile(r"[^\n。！？]+?(?:[。！？]|[.!?](?=\s|$)|(?=\n)|$)")
_MARKS = re.compile(r"^\s*(?:(?:[-*+•#]+|\d+[.)])\s+)?")
_LABEL = re.compile(
    r"^\*\*([^*\n]{2,60})\*\*\s*[:—–-]*\s*"
    r"|^(?:So|Therefore|OK|Okay|Good|Right|Yes|Actually|Found it|Fixed|Ah|Good catch|It works|Great|Perfect|And|But)\b"
    r"[,.!:—–-]*\s+",
    re.IGNORECASE,
)
"""A label in bold letters, or an exclamation, before the sentence proper."""
_EXAMPLE = re.compile(r"^[\"'“‘«「>|\[(/]|^\s{4,}\S|\be\.g\.|\bfor example\b|\bexample:|[?？]$", re.IGNORECASE)
_DOUBT = re.compile(
    r"\b(?:likely|probably|maybe|perhaps|might|may|seems?|appears?|could|would|should|if|suspect|guess|think|wait|hmm|"
    r"let me|let's|need to|needs to|unclear|possibly|becoming|checking)\b|可能|也许|大概|かもしれ|아마",
    re.IGNORECASE,
)
_CAUSE = re.compile(
    r"^(?:The |This |Root )?(?:(?:real|actual|underlying|main)\s+)?(?:root cause|cause|culprit|bug|issue|problem)\b"
    r"[^.;:]{0,60}?(?:\b(?:is|was)(?: that|:)?\s|:\s)"
    r"|^(?:根本)?原因(?:是|在于|：|は)|^(?:근본 ?)?원인은",
    re.IGNORECASE,
)
_CHOICE = re.compile(
    r"^(?:(?:I|we)(?:['’]ve| have)? (?:decided|agreed|chose|settled on)\b"
    r"|(?:the )?(?:final )?decision(?: is|:| was)|decided(?: to| on| against|:)\b|conclusion:"
    r"|(?:we|the user)(?:['’]ll| will| are going to)? (?:use|go with|keep|going with|stay with)\b.+"
    r"|(?:use[ds]?|using|switched|switch|replaced?|chose|choose|kept|keep|went with|go with|moved)\b"
    r".+\b(?:instead of|rather than|in favou?r of|over)\b)"
    r"|^(?:我们)?(?:已?决定|最终(?:采用|选择)|改为|改用)|^結論|^결정",
    re.IGNORECASE,
)
_FIX = re.compile(r"^The fix (?:was|is) (?:to )?\w", re.IGNORECASE)


def decisions(text: str) -> list[Decision]:
    """The sentences of an answer that state a decision or a finding; at most MOST, the last ones."""
    found = [decision for sentence in _sentences(text) if (decision := _read(sentence)) is not None]
    return found[-MOST:]


def _sentences(text: str) -> Iterator[str]:
    for line in _FENCE.sub("\n", text).split("\n"):
        if not _EXAMPLE.search(line) or not _EXAMPLE.match(line):
            bare = _MARKS.sub("", line)
            yield from (sentence.strip() for sentence in _whole(bare))


def _whole(line: str) -> list[str]:
    """The sentences of a line. A full stop inside backticks or quotation marks ends none."""
    hidden = re.sub(r"`[^`]*`|\"[^\"]*\"|“[^”]*”", lambda quote: "x" * len(quote[0]), line)
    return [line[match.start() : match.end()] for match in _SENTENCE.finditer(hidden)]


def _read(sentence: str) -> Decision | None:
    opening, said = _opening(sentence)
    if (
        not SHORTEST <= _weight(said) <= LONGEST
        or _EXAMPLE.search(said)
        or _DOUBT.search(said)
        or said.endswith((":", ","))
    ):
        return None
    if any(said.count(mark) % 2 for mark in ("`", '"', "**")) or not _names(said):
        return None
    text = f"{opening} {said}" if said[0].islower() and opening else said[0].upper() + said[1:]
    if _FIX.match(said) or _CAUSE.match(said):
        return Decision(text, "fix" if _FIX.match(said) else "cause")
    return Decision(text, _topic(said)) if _CHOICE.match(said) else None


def _opening(sentence: str) -> tuple[str, str]:
    """What stands before a sentence proper, a label in bold letters or an exclamation, and the sentence."""
    opening, said = "", sentence
    while (label := _LABEL.match(said)) and not (label[1] and _CHOICE.match(f"{label[1]}: ")):
        opening, said = label[1] or "", said[label.end() :]
    return opening, said.lstrip("*_ ").strip()


def _names(sentence: str) -> bool:
    """Whether it names what it speaks of: a word in backticks, a name in code, a path."""
    return "`" in sentence or bool(find(sentence)) or bool(_IDEOGRAPH.search(sentence))


def _weight(sentence: str) -> int:
    """Its length in Latin letters: an ideograph says about as much as three."""
    return len(sentence) + 2 * len(_IDEOGRAPH.findall(sentence))


def _topic(sentence: str) -> str:
    """Two names that are weighed against each other are one topic, whichever of them won."""
    named = re.findall(r"`([^`]+)`", sentence) or find(sentence)
    return " ".join(sorted(set(named))) if len(set(named)) == 2 else ""


_COMMIT = re.compile(
    r"(?:^|[;&|\n(]\s*)git (?:-[Cc] \S+ )*commit\b[^\n]*?\s(?:-\w*m|--message)[ =]?"
    r"(?:\"\$\(cat <<-?\s*['\"]?\w+['\"]?\s*\n\s*(?P<here>[^\n]+)"
    r"|\"(?P<double>(?:[^\"\\\n]|\\.)+)|'(?P<single>[^'\n]+))"
)
_NO_NEWS = re.compile(r"^(?:Merge\b|Revert \"Revert|fixup!|squash!|amend!|wip\b|tmp\b|temp\b)", re.IGNORECASE)


def commits(command: str) -> list[Decision]:
    """The subject lines of the commits a command makes, without merges and those that say nothing yet."""
    if "git " not in command or "commit" not in command:
        return []
    subjects = ((match["here"] or match["double"] or match["single"]).strip() for match in _COMMIT.finditer(command))
    return [Decision(f"committed: {one}") for one in subjects if len(one) >= 8 and not _NO_NEWS.match(one)]


_ANSWERED = re.compile(r'"([^"]{1,400})"\s*=\s*"([^"]{1,400})"')


def choices(call: Call, result: str) -> list[Decision]:
    """What the user chose when the model asked: only answers that are among the options it offered."""
    offered = dict(_questions(call))
    return [
        Decision(f"the user chose: {question} → {answer}", question)
        for question, answer in _ANSWERED.findall(result)
        if answer in (labels := offered.get(question, [])) or (labels and set(answer.split(", ")) <= set(labels))
    ]


def _questions(call: Call) -> Iterator[tuple[str, list[str]]]:
    asked = call.arguments.get("questions")
    for one in asked if isinstance(asked, list) else ():
        if isinstance(one, dict) and isinstance(options := one.get("options"), list):
            labels = [str(option.get("label", "")) if isinstance(option, dict) else str(option) for option in options]
            yield str(one.get("question", "")), labels
