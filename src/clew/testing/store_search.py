"""What every store must find again by words: the whole history, filters, order, and an index that is derived."""

from typing import Any

import msgspec
import pytest

from clew.errors import BadInput, UnknownSession
from clew.recall.query import parse
from clew.recall.terms import terms
from clew.store.port import Draft, Search, Store
from clew.testing.scene import KEY, said, wind_up
from clew.transcript import (
    Call,
    Media,
    Message,
    Reset,
    Said,
    Shell,
    Text,
    Thinking,
    User,
    assistant,
    result,
)

CALL = Call("c1", "Bash", {"command": "make\tdeploy\nls", "deep": [{"path": "src/app/login.py"}], "n": 731})
MIXED: dict[str, Message] = {
    "words": User((Text("The retryBudget of AUTH-731 is in src/app/login.py, see parse_tree"),)),
    "call": assistant("I shall run it", CALL),
    "result": result(CALL, "GitHub said: 数据库迁移失败，请看 error_log"),
    "thought": assistant("fine", model="m"),
    "media": User((Media("image/png", data="ZZZsecretZZZ", name="login-screen.png"),)),
    "shell": Shell("git rebase --onto main", "Successfully rebased"),
    "odd": User((Text("Ｆｕｌｌ　ｗｉｄｔｈ, café, 👩‍👩‍👧 family, \x00zero \ud83d half"),)),
}


def spoken(id: str, message: Message, at: int = 1000) -> Draft:
    """A message of any kind, of ten tokens."""
    return Draft(id, at, Said(message), 10)


def fits(store: Store, words: str, *, every: bool = False, **more: Any) -> list[str]:
    """The ids of what fits a query, best first."""
    query = parse(words, every=every, roles=more.pop("roles", ()))
    wanted = Search(query.phrases, query.every, query.without, query.roles, **more)
    return [found.record.entry.id for found in store.search(KEY, wanted)]


class SearchContract:
    """A part of `clew.testing.StoreContract`."""

    @pytest.mark.parametrize(
        ("words", "found"),
        [
            ("auth-731", {"words"}),
            ("AUTH", {"words"}),
            ("login.py", {"words", "call"}),
            ("app/login", {"words", "call"}),
            ("login", {"words", "call", "media"}),
            ("retry", {"words"}),
            ("retrybudget", {"words"}),
            ("RetryBudget", {"words"}),
            ("retry_budget", {"words"}),
            ("parseTree", {"words"}),
            ('"budget the"', set()),
            ("github", {"result"}),
            ("deploy", {"call"}),
            ("path", {"call"}),
            ("command", set()),
            ("bash", {"call"}),
            ("数据", {"result"}),
            ("据数", set()),
            ("迁移失败", {"result"}),
            ("--onto", {"shell"}),
            ("full", {"odd"}),
            ("cafe", {"odd"}),
            ("CAFÉ", {"odd"}),
            ("zero", {"odd"}),
            ("ZZZsecretZZZ", set()),
            ("pondering", set()),
            ("budg", set()),
            ("login -bash", {"words", "media"}),
            ("-login", {"result", "thought", "shell", "odd"}),
        ],
    )
    def test_a_message_is_found_by_its_words(self, store: Store, words: str, found: set[str]) -> None:
        hidden = assistant("fine", model="m")
        hidden = msgspec.structs.replace(hidden, blocks=(Thinking("pondering"), *hidden.blocks))
        store.append(KEY, [spoken(id, hidden if id == "thought" else one) for id, one in MIXED.items()])
        assert set(fits(store, words)) == found

    def test_a_search_sees_all_that_was_stored_before(self, store: Store) -> None:
        for number in range(5):
            store.append(KEY, [said(f"e{number}", "needle"), said(f"side{number}", "needle aside", leaf=False)])
            wind_up(store, f"c{number}")
            assert len(fits(store, "needle")) == 2 * number + 2
            assert store.indexed(KEY) == (store.session(KEY).entries,) * 2

    def test_more_and_rarer_words_are_better_and_of_equals_the_newer(self, store: Store) -> None:
        texts = ["plain text", "plain rare", "plain text rare", "plain text", "other"]
        store.append(KEY, [said(f"e{number}", text) for number, text in enumerate(texts)])
        assert fits(store, "rare text") == ["e2", "e1", "e3", "e0"]
        assert fits(store, "rare text", limit=2) == ["e2", "e1"]
        assert fits(store, "plain") == ["e3", "e1", "e0", "e2"]
        scores = [found.score for found in store.search(KEY, Search((("rare",), ("text",))))]
        assert scores == sorted(scores, reverse=True)
        assert scores[0] > scores[-1]

    def test_every_word_may_be_asked_for(self, store: Store) -> None:
        store.append(KEY, [said("a", "one two"), said("b", "one"), said("c", "two three one")])
        assert set(fits(store, "one two", every=True)) == {"a", "c"}
        assert fits(store, '"two three" one', every=True) == ["c"]

    def test_roles_and_times_narrow_a_search(self, store: Store) -> None:
        drafts = [
            spoken("u", User((Text("word"),)), 1000),
            spoken("a", assistant("word", CALL), 3000),
            spoken("t", result(CALL, "word"), 2000),
            spoken("s", Shell("word", ""), 4000),
        ]
        store.append(KEY, drafts)
        assert set(fits(store, "word", roles=("user",))) == {"u", "s"}
        assert set(fits(store, "word", roles=("tool", "assistant"))) == {"a", "t"}
        assert set(fits(store, "word", since=2000, until=3000)) == {"a", "t"}
        assert set(fits(store, "word", before=3)) == {"u", "a"}
        assert fits(store, "word", since=5000) == fits(store, "word", until=1) == fits(store, "word", before=1) == []
        assert [found.record.seq for found in store.search(KEY, Search(roles=("user",)))] == [4, 1]
        with pytest.raises(BadInput, match="tool"):
            store.search(KEY, Search(roles=("system",)))

    def test_what_is_found_is_what_is_stored(self, store: Store) -> None:
        [record] = store.append(KEY, [said("a", "needle " + "hay " * 1000)])
        store.append(KEY, [Draft("r", 1, Reset("needle"))])
        assert [found.record for found in store.search(KEY, Search((("needle",),)))] == [record]

    def test_a_session_finds_only_what_is_its_own(self, store: Store) -> None:
        store.create("other", at=1)
        store.append("other", [said("x", "needle")])
        store.append(KEY, [said("a", "nothing")])
        assert fits(store, "needle") == fits(store, "needle", limit=0) == []
        store.delete("other")
        store.create("other", at=1)
        assert store.search("other", Search((("needle",),))) == []
        assert store.indexed("other") == (0, 0)
        for look in (
            lambda: store.search("gone", Search()),
            lambda: store.indexed("gone"),
            lambda: store.reindex("gone"),
        ):
            with pytest.raises(UnknownSession):
                look()

    def test_an_index_is_made_anew(self, store: Store) -> None:
        store.append(KEY, [said(f"e{number}", f"needle{number} hay") for number in range(50)])
        assert store.indexed(KEY) == (0, 50)
        before = fits(store, "hay needle7")
        assert store.indexed(KEY) == (50, 50)
        assert store.reindex(KEY) == 50
        assert fits(store, "hay needle7") == before
        assert before[0] == "e7"

    def test_no_text_breaks_a_search(self, store: Store) -> None:
        store.append(KEY, [said("a", 'a "quoted" AND NOT (NEAR) * ^ : {} \\ end')])
        for text in (
            '"',
            "AND",
            "NOT NEAR",
            "a*",
            "said:end",
            "^a",
            "{a b}",
            "'); DROP",
            "\x00",
            "\ud83d",
            "x" * 10_000,
        ):
            assert set(fits_any(store, text)) <= {"a"}
        assert store.search(KEY, Search(((),))) == store.search(KEY, Search(((), ("end",)), every=True)) == []
        assert fits_any(store, 'quoted" and') == ["a"]
        many = tuple((f"w{number}",) for number in range(500))
        assert store.search(KEY, Search(many)) == []
        assert store.search(KEY, Search(many, every=True)) == []

    def test_a_word_that_is_everywhere_is_still_ranked_beside_a_rare_one(self, store: Store) -> None:
        store.append(KEY, [said(f"e{number}", "common" + " rare" * (number in (3, 9))) for number in range(2500)])
        store.append(KEY, [said("alone", "rare")])
        assert set(fits(store, "rare common", limit=3)) == {"e3", "e9", "alone"}
        assert set(fits(store, "common rare", every=True)) == {"e3", "e9"}
        assert fits(store, "common", limit=2) == ["e2499", "e2498"]


def fits_any(store: Store, text: str) -> list[str]:
    """What fits a phrase of a caller's own making."""
    phrases = tuple(tuple(terms(part)) for part in [text]), (tuple(text.split(" ")),)
    return [found.record.entry.id for one in phrases for found in store.search(KEY, Search(one))][:1]
