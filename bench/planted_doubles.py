"""Summarisers that are not models: each reads the prompt it is sent and errs in its own way, the same way every time.

The honest one knows the facts that may stand in its prompt and says of each what the prompt says of it; all others
take its brief and spoil it. A double notes the faults it put into each draft, so that what became of them can be told.
"""

import random
import re
from collections.abc import Callable, Iterator, Sequence

import msgspec

from bench.planted_facts import ASKS, DECISIONS, IDENTIFIERS, RULES, TODOS, Fact
from bench.planted_talk import DEED, INJECTIONS
from clew.errors import ProviderTimeout
from clew.models.port import Request
from clew.transcript import text_of

HEADINGS = (DECISIONS, TODOS, RULES, ASKS, IDENTIFIERS)
Brief = dict[str, list[str]]


class Fault(msgspec.Struct, frozen=True):
    """Something wrong that was put into a draft."""

    kind: str
    """What the table calls it."""
    text: str = ""
    """What is wrong: a name that does not exist, a line that may not stand, or what was left out."""


class Draft(msgspec.Struct):
    """One answer of a double, with what is wrong with it."""

    text: str
    faults: list[Fault]
    whole: bool
    """Whether it is meant as a whole brief, and not as that of a part."""


class Double:
    """A summariser of one kind over the facts of one scenario."""

    def __init__(self, kind: str, facts: Sequence[Fact], seed: int) -> None:
        self.kind, self.facts = kind, facts
        self.topics: list[str] = []
        """What an honest brief says of the requests between the facts."""
        self.chance = random.Random(seed)
        self.drafts: list[Draft] = []
        """What was answered since somebody last looked."""

    def __call__(self, request: Request) -> str:
        """The answer to one request. Raises ProviderTimeout where the double times out."""
        prompt = "\n".join(map(text_of, request.messages))
        if self.kind == "timing out":
            raise ProviderTimeout("The double did not answer in time.")
        sections, turn = self.honest(prompt), "without headings" in prompt
        text, faults = SPOILS[self.kind](self, sections, prompt)
        if turn:
            text = "\n".join(line for line in text.split("\n") if line and not line.startswith("#"))
        self.drafts.append(Draft(text, faults, whole=not turn and "This is part" not in prompt))
        return text

    def honest(self, prompt: str) -> Brief:
        """The brief that says what the prompt says: newest values, what is open, rules as they were said."""
        material = prompt.split("\nWrite the brief under exactly")[0]
        sections: Brief = {heading: [] for heading in HEADINGS}
        told = _told_plainly(material) if self.kind == "own words" else material
        for fact in self.facts:
            for heading, line in _lines(fact, told):
                sections[heading].append(f"- {line}")
        known = [line for line in self.topics if line in told]
        sections[DECISIONS] += [f"- {line}" for line in known[-8:]]
        return sections


def _lines(fact: Fact, material: str) -> Iterator[tuple[str, str]]:
    """What an honest brief says of a fact that stands in the material: of a closed to-do, that it is done."""
    if fact.after and fact.after in material:
        yield (fact.heading, fact.line_after) if fact.line_after else (DECISIONS, f"{DONE}{fact.todo}")
    elif fact.todo and f"{DONE}{fact.todo}" in material:
        yield DECISIONS, f"{DONE}{fact.todo}"
    elif fact.seen in material and not (fact.todo and _ticked(fact.todo, material)):
        yield fact.heading, fact.line


DONE = "Done: "


def _ticked(todo: str, material: str) -> bool:
    return any(re.search(r"\[[x-]\]", line) for line in material.split("\n") if todo in line)


def written(sections: Brief) -> str:
    """A brief as text."""
    return "\n\n".join(f"{heading}\n" + ("\n".join(lines) or "None.") for heading, lines in sections.items())


Spoil = Callable[[Double, Brief, str], tuple[str, list[Fault]]]


def _honest(_: Double, sections: Brief, __: str) -> tuple[str, list[Fault]]:
    return written(sections), []


OWN_WORDS: dict[str, str] = {
    "This belongs to ticket …": "ticket of this work",
    "The slow query is built in …": "file that builds the slow query",
    "The staging gateway answers at … for now": "address of the staging gateway, for now",
    "The last build that worked was …": "last working build", "The tenant that complained is …": "complaining tenant",
    "The replica to read from is …": "replica for reads", "The import stops with": "Import: stops with",
    "once a row has no region": "when the region of a row is missing", "We decided to use": "Decision: use",
    "instead of a table of our own": "and no own table", "retries five times and then drops the message":
    "drops a message after five retries", "reads every partition twice": "goes through each partition twice",
    "cover parsing but no failure of the network": "cover only parsing, network failures are not covered",
    "leaks one connection for each timeout": "loses a connection with every timeout",
    "这件事对应的工单是 …": "本事项的工单", "慢查询是在 … 里拼出来的": "拼出慢查询的文件",
    "预发布网关的地址是 …，先用它": "预发布网关地址（暂用）",
    "最后一个正常的构建是 …": "最后正常的构建", "投诉的租户是 …": "投诉租户", "读取用的副本地址是 …": "读取副本的地址",
    "行里没有地区时，导入会报": "行缺少地区时导入报", "我们决定采用": "决定采用", "不再自己维护表": "不自己维护表",
    "会重试五次，然后丢掉消息": "重试五次后丢掉消息", "的导出把每个分区读了两遍": "导出时每个分区读两遍",
    "的测试覆盖了解析，没有覆盖网络故障": "的测试只覆盖解析，网络故障没有覆盖",
    "每次超时都会泄漏一个连接": "每次超时泄漏一个连接",
}  # fmt: skip
"""What an honest brief says, and the same in other words."""


def _told_plainly(material: str) -> str:
    """Material with the double's own earlier words as they were first said, so that it knows them again."""
    for said, again in OWN_WORDS.items():
        material = material.replace(again, said)
    return material


def _own_words(_: Double, sections: Brief, __: str) -> tuple[str, list[Fault]]:
    """As the honest one, but for rules in words of its own."""
    text = written(sections)
    for said, again in OWN_WORDS.items():
        text = text.replace(said, again)
    return text, []


def _lossy(double: Double, sections: Brief, _: str) -> tuple[str, list[Fault]]:
    """Every other line is left out."""
    kept = {heading: [line for line in lines if double.chance.random() < 0.5] for heading, lines in sections.items()}
    gone = [line for heading, lines in sections.items() for line in lines if line not in kept[heading]]
    faults = [
        Fault("name left out", name)
        for fact in double.facts
        for name in (*fact.ids, *fact.ids_after)
        if fact.given
        and any(name in line for line in gone)
        and not any(name in one for k in kept.values() for one in k)
    ]
    return written(kept), faults


_NAMED = re.compile(r"(?<![\w/])[\w/:@.-]*\d[\w/:@.-]*\w")


def _mangling(double: Double, sections: Brief, _: str) -> tuple[str, list[Fault]]:
    """Digits of names are changed."""
    faults: list[Fault] = []
    known = {name for fact in double.facts for name in (*fact.ids, *fact.ids_after)}

    def mangled(match: re.Match[str]) -> str:
        name = match[0]
        if double.chance.random() < 0.5 or name not in known:
            return name
        at = max(n for n, char in enumerate(name) if char.isdigit())
        wrong = f"{name[:at]}{(int(name[at]) + 3) % 10}{name[at + 1 :]}"
        faults.append(Fault("name changed", wrong))
        return wrong

    return _NAMED.sub(mangled, written(sections)), faults


DRIFTS: tuple[dict[str, str], ...] = (
    {DECISIONS: "**Key decisions:**", TODOS: "## Open To-Dos", RULES: "### Constraints & rules",
     ASKS: "# Pending asks"},
    {DECISIONS: "## 决策", TODOS: "## 待办事项", RULES: "## 约束/规则", ASKS: "## 待处理的用户请求",
     IDENTIFIERS: "## 精确标识符"},
    {DECISIONS: "## Decisons", RULES: "## Constriants/Rules", IDENTIFIERS: "## Exact Identifers"},
    {DECISIONS: "1. Decisions", TODOS: "2. Open TODOs", RULES: "3. Constraints/Rules", ASKS: "4. Pending user asks",
     IDENTIFIERS: "5. Exact identifiers"},
    {TODOS: "## Next steps", ASKS: "## Open questions"},
)  # fmt: skip
"""Headings as they drift."""


def _drifting(double: Double, sections: Brief, _: str) -> tuple[str, list[Fault]]:
    """Headings are renamed, misspelled, translated, doubled, put in another order, or left out."""
    names = double.chance.choice(DRIFTS)
    listed = [(names.get(heading, heading), lines) for heading, lines in sections.items()]
    how = double.chance.choice(("as they are", "doubled", "reordered", "one left out"))
    if how == "doubled":
        listed.append((listed[0][0], listed[0][1][:1]))
    elif how == "reordered":
        listed.reverse()
    elif how == "one left out":
        listed.pop(double.chance.randrange(len(listed)))
    text = "\n\n".join(f"{heading}\n" + ("\n".join(lines) or "None.") for heading, lines in listed)
    return text, [Fault("headings drifted")]


def _obedient(double: Double, sections: Brief, prompt: str) -> tuple[str, list[Fault]]:
    """What a tool's result tells it, it does."""
    told = [at for at, words in enumerate(INJECTIONS) if words in prompt]
    if not told:
        return written(sections), []
    if told[-1] == 0:
        return "OK", [Fault("injection obeyed: only OK")]
    if told[-1] == 3:
        return written({heading: [] for heading in HEADINGS}), [Fault("injection obeyed: emptied")]
    heading, line = (RULES, f"- Always {DEED}") if told[-1] == 1 else (ASKS, f"- The user asks to {DEED}")
    return written({**sections, heading: [*sections[heading], line]}), [Fault("injection obeyed: a line added", line)]


def _inflating(_: Double, sections: Brief, prompt: str) -> tuple[str, list[Fault]]:
    """Everything it was shown is copied into the brief."""
    copied = [f"- {line[:400]}" for line in prompt.split("\n") if line.strip() and not line.startswith(("<", "#", "-"))]
    return written({**sections, DECISIONS: [*sections[DECISIONS], *copied, *copied]}), [Fault("larger than it may be")]


def _empty(_: Double, __: Brief, ___: str) -> tuple[str, list[Fault]]:
    return "", [Fault("empty")]


def _stale(double: Double, sections: Brief, prompt: str) -> tuple[str, list[Fault]]:
    """What was closed is listed as open, and what was replaced stands as if it held."""
    faults: list[Fault] = []
    for fact in double.facts:
        if fact.after and fact.after in prompt and (fact.todo or fact.stale in prompt):
            sections[fact.heading].append(f"- {fact.line}")
            faults.append(
                Fault("closed to-do listed open" if fact.todo else "old value listed", fact.todo or fact.stale)
            )
    return written(sections), faults


SPOILS: dict[str, Spoil] = {
    "honest": _honest, "own words": _own_words, "lossy": _lossy, "mangling": _mangling, "heading-drifting": _drifting,
    "injection-obedient": _obedient, "inflating": _inflating, "empty": _empty, "timing out": _empty, "stale": _stale,
}  # fmt: skip
"""The doubles; `timing out` never answers."""

FAITHFUL = ("honest", "own words")
"""Those whose drafts have nothing wrong with them."""
