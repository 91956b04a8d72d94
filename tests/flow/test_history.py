"""A session's history looked through: found by words, pattern, time and role; described; opened word for word."""

import asyncio
import sqlite3
import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from clew.engine.history import History
from clew.engine.history_tools import offers
from clew.engine.opening import Opened
from clew.errors import AmbiguousName, BadInput, DamagedStore, UnknownEntry, UnknownSession
from clew.recall.exact import exact
from clew.runtime.tools import Toolbox
from clew.store.inmemory import InMemoryStore
from clew.store.port import Draft, Store
from clew.store.sqlite import SqliteStore
from clew.transcript import (
    Body,
    Call,
    Compaction,
    Entry,
    Ledger,
    Media,
    Message,
    Node,
    Reset,
    Said,
    Text,
    Thinking,
    ToolResult,
    Undo,
    User,
    Verdict,
    assistant,
    encode,
    result,
    text_of,
    user,
)
from tests.unit.making import WORDS, turns

KEY = "agent:main:x"
DAY = 86_400_000
START = 1_795_996_800_000
"""2026-11-30 00:00 UTC."""
READ = Call("c1", "read", {"path": "src/auth/login.py", "lines": [1, 20]})

TALK: list[Message] = [
    user("请修复登录超时，工单 AUTH-731。"),
    assistant("I look at the retry budget first.", READ),
    result(READ, "def login(user):\n    retryBudget = 3\n" + "    pass  # filler\n" * 400 + "    raise LoginTimeout\n"),
    assistant("登录超时已修复，从 60 秒改为 90 秒。"),
    user("Now look at redis-prod-7:6380, the payments cache."),
    assistant("The cache answers, the retry budget is spent."),
]


@pytest.fixture(params=["memory", "sqlite"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Store]:
    with InMemoryStore() if request.param == "memory" else SqliteStore(tmp_path / "s.sqlite") as made:
        yield made


def filled(store: Store, *bodies: Message | Body) -> History:
    """A session of entries `e1`, `e2`, … six hours apart."""
    store.create(KEY, at=START)
    for body in bodies:
        add(store, body)
    return History(store, KEY)


def add(store: Store, body: Message | Body, **more: object) -> None:
    number = store.session(KEY).entries + 1
    said = Said(body) if isinstance(body, Message) else body
    store.append(KEY, [Draft(f"e{number}", START + number * DAY // 4, said, 10, **more)])  # type: ignore[arg-type]


def wind_up(store: Store, kept: str | None, *nodes: Node, previous: str | None = None) -> str:
    row = store.session(KEY)
    name = f"e{row.entries + 1}"
    body = Compaction(
        f"## Decisions\n- what {name} says", kept, 100, 10, "manual", Verdict("accepted"), Ledger(),
        previous=previous or row.boundary, nodes=nodes,
    )  # fmt: skip
    draft = Draft(name, START + 9 * DAY, body, 5)
    store.commit(KEY, draft, generation=row.generation, boundary=name, start=kept, event="compaction", data={})
    return name


def seqs(history: History, words: str = "", **more: object) -> list[int]:
    return [hit.seq for hit in history.search(words, **more).hits]  # type: ignore[arg-type]


FOUND = [
    pytest.param("超时", {1, 4}, id="two characters of Chinese"),
    pytest.param("AUTH-731", {1}, id="an id"),
    pytest.param("src/auth/login.py", {2}, id="a path in a call"),
    pytest.param("retry budget", {2, 3, 6}, id="words and a name written in one"),
    pytest.param('"retry budget is"', {6}, id="a phrase"),
    pytest.param("LoginTimeout", {3}, id="the end of a long result"),
    pytest.param("redis-prod-7:6380", {5}, id="a host"),
    pytest.param("cache -payments", {6}, id="a word that must not be there"),
    pytest.param("nonesuch", set(), id="nothing"),
]


@pytest.mark.parametrize(("words", "found"), FOUND)
def test_words_of_any_kind_are_found(store: Store, words: str, found: set[int]) -> None:
    assert set(seqs(filled(store, *TALK), words)) == found


def test_an_excerpt_shows_what_was_meant_and_where_it_stands(store: Store) -> None:
    history = filled(store, *TALK)
    (hit,) = history.search("LoginTimeout").hits
    assert (hit.role, hit.tool, hit.speaker, hit.in_view, hit.node) == ("tool", "read", "result of read", True, None)
    start, end = hit.excerpt.marks[0]
    assert hit.excerpt.text[start:end] == "LoginTimeout"
    assert hit.excerpt.text.startswith("…")
    assert "LoginTimeout" in history.expand("#3", offset=hit.offset, limit=400).pieces[0].text


def test_roles_times_and_patterns_narrow_a_search(store: Store) -> None:
    history = filled(store, *TALK)
    assert seqs(history, "retry budget", roles=("assistant",)) == [6, 2]
    assert set(seqs(history, "超时", until=START + DAY // 2)) == {1}
    assert seqs(history, since=START + DAY, until=START + DAY + DAY // 4) == [5, 4]
    assert seqs(history, regex=r"\d+:\d+") == [5]
    assert seqs(history, "cache", regex=r"answers\b") == [6]
    assert seqs(history, roles=("user",)) == [5, 1]


def test_a_hit_says_what_it_was_compacted_into(store: Store) -> None:
    history = filled(store, *TALK)
    name = wind_up(store, "e5")
    add(store, user("redis again"))
    assert {hit.seq: (hit.node, hit.in_view) for hit in history.search("超时 redis").hits} == {
        1: (name, False), 4: (name, False), 5: (None, True), 8: (None, True),
    }  # fmt: skip


def test_what_lies_on_a_side_branch_is_not_in_view(store: Store) -> None:
    history = filled(store, *TALK)
    add(store, user("a sub-agent at work"), leaf=False, parent="e2")
    (hit,) = history.search("sub-agent").hits
    assert (hit.in_view, hit.node) == (False, None)


@pytest.mark.parametrize("query", [{"words": "needle"}, {"regex": "needle"}, {"words": "needle", "regex": "eed"}])
def test_pages_of_a_search_show_every_hit_once(store: Store, query: dict[str, str]) -> None:
    history = filled(store, *(user(f"needle {n}" if n % 3 else "hay") for n in range(40)))
    found, cursor = [], None
    while True:
        page = history.search(limit=7, cursor=cursor, **query)  # type: ignore[arg-type]
        found += [hit.seq for hit in page.hits]
        add(store, user("needle that came later"))
        if (cursor := page.cursor) is None:
            break
    assert sorted(found) == [n + 1 for n in range(40) if n % 3]


def test_a_hostile_pattern_is_refused_in_words_and_in_time(store: Store) -> None:
    history = filled(store, user("a" * 5_000))
    began = time.monotonic()
    with pytest.raises(BadInput, match="takes too long"):
        history.search(regex=r"(a|a)+$b")
    assert time.monotonic() - began < 3


@pytest.mark.parametrize("asked", [{"regex": "("}, {"roles": ("system",)}, {"words": "x", "cursor": "before:7"}, {}])
def test_a_search_that_is_asked_wrongly_says_so(store: Store, asked: dict[str, object]) -> None:
    with pytest.raises(BadInput, match="nothing was searched"):
        filled(store, *TALK).search(**asked)  # type: ignore[arg-type]


# Describe -------------------------------------------------------------------------------------------------------------


def leaf(first: int, last: int) -> Node:
    return Node(f"n0-e{first}", 0, f"e{first}", f"e{last}", f"## Decisions\nNone.\n- leaf of {first}", tokens=10 * last)


def test_ordinary_compactions_are_described_as_a_chain(store: Store) -> None:
    history = filled(store, *TALK)
    first, second = wind_up(store, "e3"), wind_up(store, "e6")
    outline = history.outline()
    assert [(card.id, card.first, card.last) for card in outline.roots] == [(second, 1, 5)]
    assert (outline.view, outline.start, outline.entries) == (6, 1, 8)
    found = history.describe(second)
    assert (found.own, [card.id for card in found.children]) == ((3, 5), [first])
    assert found.card.opening == f"what {second} says"
    assert (found.card.since, found.card.until) == (START + DAY // 4, START + 5 * DAY // 4)
    assert found.card.tokens == 50


def test_the_summaries_of_the_engine_are_described_as_a_graph(store: Store) -> None:
    history = filled(store, *TALK)
    top = Node("n1-e1", 1, "e1", "e4", "over both", ("n0-e1", "n0-e3"), 60, "scripted/any")
    wind_up(store, "e5", leaf(1, 2), leaf(3, 4), top)
    assert [card.id for card in history.outline().roots] == ["n1-e1"]
    found = history.describe("n1")
    assert [card.opening for card in found.children] == ["leaf of 1", "leaf of 3"]
    assert (found.text, found.card.writer, found.own) == ("over both", "scripted/any", None)
    assert [piece.seq for piece in history.expand("n0-e3").pieces] == [3, 4] or history.expand("n0-e3").next
    with pytest.raises(AmbiguousName, match="More than one summary"):
        history.describe("n0")


def test_a_compaction_taken_back_is_described_no_more(store: Store) -> None:
    history = filled(store, *TALK)
    first, second = wind_up(store, "e3"), wind_up(store, "e5")
    row = store.session(KEY)
    undo = Draft("u1", START, Undo(second))
    store.commit(KEY, undo, generation=row.generation, boundary=first, start="e3", event="undo", data={})
    assert [card.id for card in history.outline().roots] == [first]
    with pytest.raises(UnknownEntry, match=f"There are {first}"):
        history.describe(second)


def test_what_lies_before_a_reset_has_no_summary_and_can_be_opened(store: Store) -> None:
    history = filled(store, *TALK[:2])
    wind_up(store, "e2")
    row = store.session(KEY)
    reset = Draft("r", START, Reset())
    store.commit(KEY, reset, generation=row.generation, boundary="r", start=None, event="reset", data={})
    assert (history.outline().roots, history.outline().start) == ((), 4)
    for message in TALK[2:]:
        add(store, message)
    name = wind_up(store, "e7")
    assert [(card.first, card.last) for card in history.outline().roots] == [(4, 6)]
    assert history.search("AUTH-731").hits[0].node is None
    assert history.search("AUTH-731").hits[0].in_view is False
    assert history.expand("#1").pieces[0].text == text_of(TALK[0])
    assert name in history.graph().by_id


def test_a_session_that_was_never_compacted_has_no_summary(store: Store) -> None:
    history = filled(store, *TALK)
    assert history.outline().roots == ()
    with pytest.raises(UnknownEntry, match="no summary yet"):
        history.describe("zz")


# Expand ---------------------------------------------------------------------------------------------------------------


def joined(history: History, name: str, *, to: str | None = None, limit: int) -> dict[int, str]:
    """All pages of what a name stands for, the texts of each entry one behind the other."""
    found: dict[int, str] = {}
    offset = 0
    while True:
        page: Opened = history.expand(name, to=to, offset=offset, limit=limit)
        for piece in page.pieces:
            assert len(found.get(piece.seq, "")) == piece.start
            found[piece.seq] = found.get(piece.seq, "") + piece.text
        if page.next is None:
            return found
        name, to, offset = page.next.name, page.next.to, page.next.offset


@settings(max_examples=40, deadline=None)
@given(turns(most=3), st.integers(1, 400))
def test_the_pages_of_anything_join_to_what_is_stored(messages: list[Message], limit: int) -> None:
    with InMemoryStore() as store:
        history = filled(store, *messages)
        stored = {record.seq: exact(record.entry) for record in store.entries(KEY)}
        assert joined(history, "#1", to=f"#{len(messages)}", limit=limit) == stored


@given(WORDS)
def test_the_words_of_a_message_are_given_as_they_are(text: str) -> None:
    assert exact(Entry("a", None, 0, Said(user(text)))) == text
    assert exact(Entry("a", None, 0, Said(ToolResult("c", "t", (Text(text),))))) == text


def test_no_character_is_parted(store: Store) -> None:
    family = "👩‍👩‍👧"
    history = filled(store, user((family + "e\u0301") * 50))
    text = joined(history, "#1", limit=7)[1]
    assert text == (family + "e\u0301") * 50
    page, pieces = history.expand("#1", limit=7), []
    while page.next:
        pieces.append(page.pieces[0].text)
        page = history.expand("#1", offset=page.next.offset, limit=7)
    assert all(piece[0] in "👩e" and piece[-1] in "👧\u0301" for piece in pieces)


def test_calls_results_and_reasoning_are_whole_and_media_are_named(store: Store) -> None:
    picture = Media("image/png", "aGVsbG8=", name="shot.png")
    history = filled(store, assistant("I read.", READ), User((Text("see"), picture)), assistant("so"))
    store.append(KEY, [Draft("t", START, Said(assistant("hm")))])
    text = history.expand("#1", to="#2").pieces
    assert text[0].text == 'I read.\n[call c1 of read] {"lines":[1,20],"path":"src/auth/login.py"}'
    assert text[1].text == "see\n[image/png shot.png, 5 bytes]"
    assert "aGVsbG8=" in history.raw("#2").decode()
    assert exact(Entry("x", None, 0, Said(assistant("a")))) == "a"
    assert exact(Entry("x", None, 0, Said(User((Thinking("so it is"),))))) == "[reasoning] so it is"


def test_the_bytes_of_an_entry_are_those_of_the_codec(store: Store) -> None:
    history = filled(store, *TALK)
    for record in store.entries(KEY):
        assert history.raw(record.entry.id) == encode(record.entry)
        assert len(history.raw(f"#{record.seq}")) == record.size


def test_entries_are_opened_by_number_id_and_the_start_of_one(store: Store) -> None:
    store.create(KEY, at=START)
    store.append(KEY, [Draft(one, START, Said(user(one))) for one in ("abc-1", "abd-2")])
    history = History(store, KEY)
    for name in ("#1", "abc-1", "abc"):
        assert [piece.id for piece in history.expand(name).pieces] == ["abc-1"]
    with pytest.raises(AmbiguousName):
        history.expand("ab")


@pytest.mark.parametrize(
    ("asked", "words"),
    [
        ({"name": "#99"}, "has entries #1 to #6; there is no #99"),
        ({"name": "#0"}, "there is no #0"),
        ({"name": "#²"}, "there is no #²"),
        ({"name": "zz"}, "Name an entry by its number, such as #12"),
        ({"name": ""}, "Name an entry"),
        ({"name": "#3", "to": "#1"}, "comes before"),
        ({"name": "#1", "offset": 9_999}, "has 20 characters"),
        ({"name": "#1", "offset": -1}, "0 or more"),
    ],
)
def test_what_cannot_be_opened_is_said(store: Store, asked: dict[str, object], words: str) -> None:
    with pytest.raises((UnknownEntry, BadInput), match=words.replace("(", r"\(")):
        filled(store, *TALK).expand(**asked)  # type: ignore[arg-type]


def test_a_range_of_very_many_entries_comes_in_pages(store: Store) -> None:
    history = filled(store, *(user("x") for _ in range(450)))
    page = history.expand("#1", to="#450")
    assert len(page.pieces) == 200
    assert page.next is not None
    assert (page.next.name, page.next.to) == ("#201", "#450")


# Tools ----------------------------------------------------------------------------------------------------------------


def called(history: History, tool: str, /, **given: object) -> ToolResult:
    return asyncio.run(Toolbox(offers(history)).run(Call("c1", tool, dict(given))))


def test_a_model_is_offered_three_tools_with_what_they_take() -> None:
    with InMemoryStore() as store:
        box = Toolbox(offers(filled(store)))
    assert [tool.name for tool in box.tools] == ["history_describe", "history_expand", "history_search"]
    search = box.tools[2].schema["properties"]
    assert list(search) == ["query", "regex", "roles", "since", "until", "limit", "cursor"]
    assert all(one.get("description") for tool in box.tools for one in tool.schema["properties"].values())


def test_a_model_finds_describes_and_opens_what_left_its_view(store: Store) -> None:
    history = filled(store, *TALK)
    name = wind_up(store, "e5")
    found = text_of(called(history, "history_search", query="AUTH-731"))
    assert f"#1 · 2026-11-30 06:00 · user · compacted into {name}" in found
    assert 'name="#1"' in found
    top = text_of(called(history, "history_describe"))
    assert f"- {name} (depth 0): #1 to #4, 4 entries, about 40 tokens" in top
    assert f"- what {name} says" in text_of(called(history, "history_describe", node=name))
    opened = text_of(called(history, "history_expand", name=name, limit=2_000))
    assert text_of(TALK[0]) in opened
    assert "--- It goes on: history_expand" in opened


def test_a_page_of_chinese_takes_no_more_tokens_than_one_of_english(store: Store) -> None:
    history = filled(store, user("登录超时已修复。" * 3_000))
    opened = text_of(called(history, "history_expand", name="#1"))
    assert len(opened) < 6_000
    assert "characters are left out" not in opened


@pytest.mark.parametrize(
    ("tool", "given", "words"),
    [
        ("history_search", {"query": "zebra"}, "Nothing was found"),
        ("history_search", {"query": "x", "since": "yesterday"}, "is no day or time"),
        ("history_search", {"query": "x", "roles": ["system"]}, "`roles.0`"),
        ("history_search", {"regex": "("}, "is broken"),
        ("history_search", {}, "nothing was searched"),
        ("history_describe", {"node": "gone"}, "There is no summary"),
        ("history_expand", {"name": "#77"}, "there is no #77"),
        ("history_expand", {}, "`name` is missing"),
    ],
)
def test_what_goes_wrong_is_a_result_in_words(store: Store, tool: str, given: dict[str, object], words: str) -> None:
    assert words in text_of(called(filled(store, *TALK), tool, **given))


def test_a_session_that_is_not_there_is_unknown(store: Store) -> None:
    with pytest.raises(UnknownSession):
        History(store, "nope").search("x")


# Where something is damaged -------------------------------------------------------------------------------------------


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """A session of six messages, of which a brief of its own stands for two and two."""
    path = tmp_path / "d.sqlite"
    with SqliteStore(path) as store:
        filled(store, *TALK)
        wind_up(store, "e3")
        wind_up(store, "e5")
    return path


def damage(file: Path, statement: str) -> None:
    with closing(sqlite3.connect(file)) as raw:
        raw.execute(statement)
        raw.commit()


@pytest.mark.parametrize("number", [1, 3, 4, 6])
def test_an_entry_that_cannot_be_read_hides_no_other(file: Path, number: int) -> None:
    damage(file, f"UPDATE entries SET data = x'00' WHERE id = 'e{number}'")
    with SqliteStore(file) as store:
        history = History(store, KEY)
        assert set(seqs(history, "", roles=("user", "assistant", "tool"))) == set(range(1, 7)) - {number}
        assert [one.id for one in history.outline().roots] == ["e8"]
        pieces = history.expand("e8").pieces
        assert [piece.seq for piece in pieces] == [1, 2, 3, 4]
        assert [piece.seq for piece in pieces if "cannot be read" in piece.text] == [number] * (number < 5)
        with pytest.raises(DamagedStore, match=f"Entry #{number} cannot be read"):
            history.expand(f"#{number}")


def test_a_compaction_that_cannot_be_read_leaves_the_newer_ones(file: Path) -> None:
    damage(file, "UPDATE entries SET data = x'00' WHERE id = 'e7'")
    with SqliteStore(file) as store:
        history = History(store, KEY)
        assert [one.id for one in history.outline().roots] == ["e8"]
        assert seqs(history, "AUTH-731") == [1]
    damage(file, "UPDATE entries SET data = x'00' WHERE id = 'e8'")
    with SqliteStore(file) as store:
        assert History(store, KEY).outline().roots == ()
        assert seqs(History(store, KEY), "AUTH-731") == [1]


def test_an_entry_that_was_deleted_is_missing_and_no_other_is_opened_for_it(file: Path) -> None:
    damage(file, "DELETE FROM entries WHERE id = 'e2'")
    damage(file, "DELETE FROM entries WHERE id = 'e8'")
    with SqliteStore(file) as store:
        for name in ("#2", "#8"):
            with pytest.raises(UnknownEntry, match=f"has lost its entry {name}"):
                History(store, KEY).expand(name)
