"""Facts that are planted in a conversation, twelve kinds of them, each said by four carriers in two languages.

A fact knows the messages that say it, what must be readable afterwards, and the line a good brief has for it. Nothing
here looks at Clew's ledger or audit: names are made here and looked up in the finished text.
"""

import json
import random
from collections.abc import Sequence
from typing import Literal

import msgspec

from clew.transcript import Call, Message, assistant, result, user

Lang = Literal["en", "zh"]
Carrier = Literal["user", "assistant", "call", "result"]
Place = Literal["start", "middle", "end"]

LANGS: tuple[Lang, ...] = ("en", "zh")
CARRIERS: tuple[Carrier, ...] = ("user", "assistant", "call", "result")
PLACES: tuple[Place, ...] = ("start", "middle", "end")

DECISIONS, TODOS, RULES, ASKS, IDENTIFIERS = (
    "## Decisions", "## Open TODOs", "## Constraints/Rules", "## Pending user asks", "## Exact identifiers",
)  # fmt: skip


class Fact(msgspec.Struct, frozen=True):
    """One planted fact."""

    kind: str
    lang: Lang
    carrier: Carrier
    place: Place
    planted: int
    """The round, counted from 0, before whose compaction it is said."""
    said: tuple[Message, ...]
    """The messages that say it, closed in themselves."""
    heading: str
    """Where an honest brief has it."""
    line: str
    """What an honest brief says of it."""
    seen: str
    """By what an honest summariser knows it in its prompt."""
    ids: tuple[str, ...] = ()
    """Names that must be readable, exactly."""
    words: tuple[str, ...] = ()
    """Lines that must be readable, word for word."""
    pinned: bool = False
    later: tuple[Message, ...] = ()
    """What closes or corrects it, said one round later."""
    after: str = ""
    """By what an honest summariser knows that it was closed or corrected."""
    line_after: str = ""
    """What an honest brief says of it then; empty: nothing."""
    ids_after: tuple[str, ...] = ()
    stale: str = ""
    """The value that no longer holds."""
    todo: str = ""
    """The words of a to-do item."""

    @property
    def given(self) -> bool:
        """Whether somebody spoke of it; else it only stood in what a tool returned."""
        return self.carrier != "result"


KINDS: dict[str, tuple[Carrier, ...]] = {
    "ticket": CARRIERS, "path": CARRIERS, "url": CARRIERS, "hash": CARRIERS, "uuid": CARRIERS,
    "rule": ("user",), "pinned": ("user", "assistant"),
    "open to-do": ("user", "assistant", "call"), "closed to-do": ("user", "assistant", "call"),
    "replaced value": ("user", "assistant"), "decision": ("user", "assistant", "call"),
    "failure": ("result", "assistant", "user"),
}  # fmt: skip
"""The kinds, and the carriers that can say each."""

SENTENCES: dict[str, dict[Lang, str]] = {
    "ticket": {"en": "This belongs to ticket {0}.", "zh": "这件事对应的工单是 {0}。"},
    "path": {"en": "The slow query is built in {0}.", "zh": "慢查询是在 {0} 里拼出来的。"},
    "url": {"en": "The staging gateway answers at {0} for now.", "zh": "预发布网关的地址是 {0}，先用它。"},
    "hash": {"en": "The last build that worked was {0}.", "zh": "最后一个正常的构建是 {0}。"},
    "uuid": {"en": "The tenant that complained is {0}.", "zh": "投诉的租户是 {0}。"},
    "decision": {
        "en": "We decided to use `{0}` instead of a table of our own.",
        "zh": "我们决定采用 `{0}`，不再自己维护表。",
    },
    "failure": {"en": "The import stops with {0} once a row has no region.", "zh": "行里没有地区时，导入会报 {0}。"},
}
"""What is said of a name, by kind."""

REPLACED: dict[Lang, tuple[str, str]] = {
    "en": ("The replica to read from is {0}.", "Correction: the replica to read from is {1}, not {0}."),
    "zh": ("读取用的副本地址是 {0}。", "更正：读取用的副本地址是 {1}，不是 {0}。"),
}
RULE: dict[Lang, str] = {
    "en": "Never write to the table {0} without asking me.",
    "zh": "没有问过我，不要写入 {0} 这张表。",
}
PIN: dict[Lang, tuple[str, ...]] = {
    "en": (
        "Before any release of {0}:",
        "1. stop the consumers of {1}",
        "2. tell the people on call, then wait 15 min",
    ),
    "zh": ("发布 {0} 之前：", "1. 先停掉 {1} 的消费者", "2. 通知值班同事，再等 15 分钟"),
}
TODO: dict[Lang, str] = {"en": "Write the rollback test for {0}", "zh": "给 {0} 写回滚测试"}
TODO_SAID: dict[Lang, tuple[str, str]] = {
    "en": ("Still to do: {0}.", "That one is finished and merged: {0}. Take it off the list."),
    "zh": ("还要做：{0}。", "这一项已经做完并合并了：{0}。请从清单里去掉。"),
}


class Maker:
    """Makes names of each form, never the same twice."""

    def __init__(self, seed: int) -> None:
        self.chance = random.Random(seed)

    def digits(self, count: int) -> str:
        """Digits, the first of them not 0."""
        return str(self.chance.randrange(10 ** (count - 1), 10**count))

    def hexadecimal(self, count: int) -> str:
        """Hexadecimal digits, letters and numbers among them."""
        return "c4" + "".join(self.chance.choice("0123456789abcdef") for _ in range(count - 2))

    def name(self, kind: str) -> str:
        """A fresh name for a fact of a kind."""
        if kind == "ticket":
            return f"{self.chance.choice(('PAY', 'OPS', 'CORE', 'DATA'))}-{self.digits(5)}"
        if kind == "path":
            part = self.chance.choice(("billing", "ledger", "ingest", "search"))
            return f"/srv/quay/services/{part}/query_{self.digits(4)}.py"
        if kind in ("url", "replaced value"):
            return f"https://node-{self.digits(3)}.quay.example:{self.digits(4)}/v{self.digits(1)}/read"
        if kind == "uuid":
            return "-".join(self.hexadecimal(size) for size in (8, 4, 4, 4, 12))
        if kind == "decision":
            return f"quaylib@{self.digits(1)}.{self.digits(2)}.{self.digits(1)}"
        if kind == "failure":
            return f"E{self.digits(6)}"
        return self.hexadecimal(12) if kind == "hash" else f"orders_{self.digits(6)}"


def make(kind: str, lang: Lang, carrier: Carrier, place: Place, planted: int, maker: Maker) -> Fact:
    """A fact of a kind, with names of its own."""
    whole = {"rule": _rule, "pinned": _pinned, "open to-do": _todo, "closed to-do": _todo, "replaced value": _replaced}
    if build := whole.get(kind):
        return build(kind, lang, carrier, place, planted, maker)
    name = maker.name(kind)
    sentence = SENTENCES[kind][lang].format(name)
    said = failing(sentence, name, maker) if (kind, carrier) == ("failure", "result") else None
    heading = DECISIONS if kind in ("decision", "failure") else IDENTIFIERS
    line = sentence if heading == DECISIONS else f"{name}: {sentence.replace(name, '…')}"
    return Fact(
        kind, lang, carrier, place, planted, said or carry(carrier, lang, sentence, name, maker), heading, line, name,
        ids=(name,),
    )  # fmt: skip


def _rule(kind: str, lang: Lang, carrier: Carrier, place: Place, planted: int, maker: Maker) -> Fact:
    name = maker.name(kind)
    rule = RULE[lang].format(name)
    said = carry(carrier, lang, rule, name, maker)
    return Fact(kind, lang, carrier, place, planted, said, RULES, rule, rule, ids=(name,), words=(rule,))


def _pinned(kind: str, lang: Lang, carrier: Carrier, place: Place, planted: int, maker: Maker) -> Fact:
    names = (maker.name("ticket"), maker.name("table"))
    lines = tuple(line.format(*names) for line in PIN[lang])
    said = carry(carrier, lang, "\n".join(lines), names[0], maker)
    return Fact(
        kind, lang, carrier, place, planted, said, RULES, lines[1][3:], lines[1], ids=names, words=lines, pinned=True
    )


def _replaced(kind: str, lang: Lang, carrier: Carrier, place: Place, planted: int, maker: Maker) -> Fact:
    old, new = maker.name(kind), maker.name(kind)
    first, then = (one.format(old, new) for one in REPLACED[lang])
    now = REPLACED[lang][0].format(new)
    return Fact(
        kind, lang, carrier, place, planted, carry(carrier, lang, first, old, maker), IDENTIFIERS,
        f"{old}: {first.replace(old, '…')}", old, ids=(old,), later=carry(carrier, lang, then, new, maker), after=new,
        line_after=f"{new}: {now.replace(new, '…')}", ids_after=(new,), stale=old,
    )  # fmt: skip


def _todo(kind: str, lang: Lang, carrier: Carrier, place: Place, planted: int, maker: Maker) -> Fact:
    name = maker.name("table")
    todo = TODO[lang].format(name)
    said, done = listed(carrier, lang, todo, maker)
    fact = Fact(kind, lang, carrier, place, planted, said, TODOS, todo, todo, ids=(name,), todo=todo)
    if kind == "open to-do":
        return fact
    after = {
        "user": TODO_SAID[lang][1].format(todo),
        "assistant": f"- [x] {todo}",
        "call": f'status="completed", subject={json.dumps(todo, ensure_ascii=False)}',
    }[carrier]
    return msgspec.structs.replace(fact, later=done, after=after)


def listed(carrier: Carrier, lang: Lang, todo: str, maker: Maker) -> tuple[tuple[Message, ...], tuple[Message, ...]]:
    """A to-do item as it is taken up and as it is closed."""
    if carrier == "user":
        first, then = (one.format(todo) for one in TODO_SAID[lang])
        return carry("user", lang, first, todo, maker), carry("user", lang, then, todo, maker)
    if carrier == "assistant":
        return carry("assistant", lang, f"- [ ] {todo}", todo, maker), carry(
            "assistant", lang, f"- [x] {todo}", todo, maker
        )
    return _todo_calls(lang, todo, maker, "pending"), _todo_calls(lang, todo, maker, "completed")


def _todo_calls(lang: Lang, todo: str, maker: Maker, status: str) -> tuple[Message, ...]:
    name = "TaskCreate" if status == "pending" else "TaskUpdate"
    call = Call(f"call_{maker.digits(9)}", name, {"taskId": _key(todo), "subject": todo, "status": status})
    return (user(NOTED[lang]), assistant("", call), result(call, "ok"), assistant(DONE[lang]))


def _key(todo: str) -> str:
    return str(sum(map(ord, todo)) % 9000 + 1000)


NOTED: dict[Lang, str] = {"en": "Keep the list of work up to date, please.", "zh": "请更新一下工作清单。"}
DONE: dict[Lang, str] = {"en": "Noted.", "zh": "记下了。"}
GOING: dict[Lang, str] = {"en": "Go on with what is next.", "zh": "请继续下一步。"}


def carry(carrier: Carrier, lang: Lang, sentence: str, name: str, maker: Maker) -> tuple[Message, ...]:
    """A sentence as a small exchange said by a carrier."""
    if carrier == "user":
        return (user(sentence), assistant(DONE[lang]))
    if carrier == "assistant":
        return (user(GOING[lang]), assistant(sentence))
    if carrier == "call":
        call = Call(f"call_{maker.digits(9)}", "Bash", {"command": f"quayctl note --on {name} '{sentence}'"})
        return (user(GOING[lang]), assistant("", call), result(call, "ok, 1 object"), assistant(DONE[lang]))
    call = Call(f"call_{maker.digits(9)}", "Bash", {"command": "quayctl status"})
    lines = [f"worker {n}: idle since {n + 3} s" for n in range(12)]
    lines.insert(6, sentence)
    return (user(GOING[lang]), assistant("", call), result(call, "\n".join(lines)), assistant(DONE[lang]))


def failing(sentence: str, name: str, maker: Maker) -> tuple[Message, ...]:
    """A command that fails with a code."""
    call = Call(f"call_{maker.digits(9)}", "Bash", {"command": f"quayctl import --file rows-{maker.digits(4)}.csv"})
    out = f"reading rows\n{sentence}\nError: {name}: import stopped\nExit code 3"
    return (user("Import the rows."), assistant("", call), result(call, out, error=True), assistant("It failed."))


def facts(lang: Lang, seed: int, rounds: int, kinds: Sequence[str] = tuple(KINDS)) -> list[Fact]:
    """All kinds in the first round and a few more in each later one; seeds turn places and carriers until all met."""
    maker, made = Maker(7_000 + seed * 2 + (lang == "zh")), []
    for planted in range(rounds):
        for nth, kind in enumerate(kinds):
            if planted and (nth + planted + seed) % 4:
                continue
            able = KINDS[kind]
            place = PLACES[(nth + seed + planted) % 3]
            made.append(make(kind, lang, able[(seed // 3 + nth + planted) % len(able)], place, planted, maker))
    return made
