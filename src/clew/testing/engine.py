"""What every context engine must do, as tests to inherit; the laws stand in `clew.engine.port`.

    class TestMine(EngineContract):
        def make(self, host):
            return Mine(host)

Real turns run through the runtime with a scripted model, with the engine in place of the built-in one.
"""

import asyncio
import inspect
from abc import ABC, abstractmethod
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import msgspec
import pytest

from clew.compact.outcome import Compacted, Declined, Skipped
from clew.engine import guard
from clew.engine.port import Assembled, Assembly, ContextEngine, Ending, Host, Seen, Spawn
from clew.prune.mark import project
from clew.runtime.compaction import sizes_in, view_tokens
from clew.runtime.session import Session
from clew.store.port import Store
from clew.testing.engine_scene import ID, KEY, EngineScene, shared, size
from clew.testing.scene import WORDS
from clew.tokens import estimate
from clew.transcript import User, encode, mend, text_of

ARGUMENTS = {
    "ingest": 2, "assemble": 1, "compact": 1, "bootstrap": 1, "maintain": 2, "ingest_batch": 2, "after_turn": 1,
    "commit_turn": 1, "prepare_subagent_spawn": 1, "on_subagent_ended": 2, "dispose": 0, "tools": 0,
}  # fmt: skip
"""How many arguments each method is called with."""

WINDOWS = (4_096, 8_192, 32_768, 200_000, None)
"""Tokens; None is a window nobody knows."""

SCRIPTS = (
    "请把部署主机上的超时改成九十秒,然后告诉我结果。",
    "Bitte die Größe prüfen: naïve café, œuvre.",
    "👩‍👩‍👧 🇩🇪 ✅ 🏳️‍🌈 done?",
    WORDS,
)
"""Messages whose characters careless engines break."""

ENDINGS: tuple[Ending, ...] = ("completed", "failed", "cancelled", "deleted")


class EngineContract(ABC):
    """The tests for any engine. A subclass says how to make one."""

    place: Path
    """A folder for this test alone, for an engine that keeps files: the same for all engines it makes."""

    @abstractmethod
    def make(self, host: Host) -> ContextEngine:
        """An engine over the session of this host."""

    def kept(self) -> Any:
        """What the engine keeps, as something to compare: the files in `place`, unless a subclass knows better."""
        return {
            path.relative_to(self.place): path.read_bytes() for path in sorted(self.place.rglob("*")) if path.is_file()
        }

    @pytest.fixture(autouse=True)
    def _room(self, tmp_path: Path) -> Iterator[None]:
        self.place = tmp_path
        yield
        guard.quarantine.pop(ID, None)

    def scene(self, *, window: int | None = None, store: Store | None = None) -> EngineScene:
        """A session run by the engine."""
        return EngineScene(self.make, window=window, store=store)

    # Who it is --------------------------------------------------------------------------------------------------------

    def test_it_has_the_form_of_an_engine(self) -> None:
        engine = self.scene().watched.engine
        assert isinstance(engine, ContextEngine)
        assert guard.problems(engine, engine.info.id) == []

    def test_every_method_takes_what_it_is_called_with(self) -> None:
        engine = self.scene().watched.engine
        for name, count in ARGUMENTS.items():
            if callable(method := getattr(engine, name, None)):
                _bound(name, method, count)

    def test_who_it_is_never_changes(self) -> None:
        scene = self.scene(window=8_192)
        before = scene.watched.engine.info
        scene.fill(30)
        scene.say("look at a page", "and go on")
        scene.compact()
        scene.dispose()
        assert scene.watched.engine.info == before

    # What it assembles ------------------------------------------------------------------------------------------------

    @pytest.mark.parametrize("window", WINDOWS)
    def test_a_request_has_whole_pairs_fits_and_ends_with_what_was_asked(self, window: int | None) -> None:
        scene = self.scene(window=window)
        scene.fill(12)
        ended = scene.say("look at a page", "remember: OPS-7 stays closed", "look at one more page", "thanks")
        assert ended.outcome == "done", ended
        assert len(scene.watched.assembled) >= 6
        for given, assembled in scene.watched.assembled:
            _sound(given, assembled, owns=scene.watched.info.owns_compaction)

    def test_a_long_session_stays_within_a_small_window(self) -> None:
        scene = self.scene(window=8_192)
        for n in range(12):
            scene.fill(3)
            assert scene.say(f"look at a page, for OPS-{n}").outcome == "done"
        for given, assembled in scene.watched.assembled:
            _sound(given, assembled, owns=scene.watched.info.owns_compaction)

    @pytest.mark.parametrize("window", [200_000, 16_384])
    def test_a_request_begins_with_the_bytes_of_the_one_before(self, window: int) -> None:
        scene = self.scene(window=window)
        scene.fill(8)
        scene.say("look at a page", "remember: OPS-7 stays closed", "what of OPS-3?", "look at one more page", "thanks")
        sent = scene.sent()
        assert len(sent) >= 7
        for at, (before, after) in enumerate(pairwise(sent), 1):
            assert at in scene.broken or shared(before, after), f"request {at + 1} does not extend request {at}"

    def test_after_a_restart_too(self) -> None:
        scene = self.scene(window=200_000)
        scene.fill(8)
        scene.say("remember: OPS-7 stays closed", "look at a page")
        scene.dispose()
        again = self.scene(window=200_000, store=scene.store)
        again.say("thanks")
        assert shared(scene.sent()[-1], again.sent()[0]), "a restart changed what requests begin with"

    @pytest.mark.parametrize("words", SCRIPTS, ids=["chinese", "accents", "emoji", "odd"])
    def test_characters_of_every_kind_come_through(self, words: str) -> None:
        scene = self.scene()
        scene.say(words, f"remember: {words}", "and?")
        said = [text_of(one) for one in scene.sent()[-1].messages if isinstance(one, User)]
        assert [words, f"remember: {words}", "and?"] == [
            one for one in said if one in (words, f"remember: {words}", "and?")
        ]
        assert sum(text_of(one) == words for one in scene.session.messages()) == 1

    # The transcript ---------------------------------------------------------------------------------------------------

    def test_the_transcript_is_left_as_it_is(self) -> None:
        scene = self.scene(window=8_192)
        scene.fill(25)
        before, cached = scene.lines(), scene.session.window().entries
        scene.say("look at a page", "remember: OPS-7 stays closed")
        scene.compact()
        scene.say("thanks")
        scene.dispose()
        assert scene.lines()[: len(before)] == before
        assert [encode(one) for one in cached] == before, "what the host holds of the session was changed in place"

    # Turns handed over ------------------------------------------------------------------------------------------------

    def test_a_turn_is_taken_once(self) -> None:
        scene = self.scene(window=200_000)
        if not hasattr(scene.watched.engine, "commit_turn"):
            pytest.skip("it has no commit_turn")
        scene.say("look at a page", "remember: OPS-7 stays closed", "thanks")
        taken = list(scene.watched.committed)
        assert [answer for _, answer in taken] == ["committed"] * 3
        before, row = _plainly(scene), scene.row()
        kept = self.kept()
        for turn, _ in [*taken, *taken[::-1]]:
            assert asyncio.run(scene.watched.engine.commit_turn(turn)) == "duplicate"
        assert (self.kept(), scene.row()) == (kept, row), "a turn that was handed over twice changed something"
        assert _plainly(scene) == before, "a turn that was handed over twice changed what is assembled"
        assert scene.store.owed() == []

    # Compaction -------------------------------------------------------------------------------------------------------

    def test_a_compaction_lands_or_says_why_and_the_next_turn_works(self) -> None:
        scene = self.scene(window=32_768)
        scene.fill(40)
        scene.say("look at a page")
        before, stored = _shown(scene.session), len(scene.lines())
        outcome = scene.compact()
        assert isinstance(outcome, Compacted | Skipped | Declined)
        assert isinstance(outcome, Compacted) or outcome.reason.strip(), "it does not say why nothing was compacted"
        assert _shown(scene.session) <= before, "a compaction made the view larger"
        assert len(scene.lines()) <= stored + 1
        assert scene.say("thanks").outcome == "done"
        if isinstance(outcome, Compacted):
            assert size(scene.sent()[-1]) < size(scene.sent()[-2]), "the request after a compaction is no smaller"

    def test_a_session_with_nothing_to_compact_says_so(self) -> None:
        scene = self.scene(window=32_768)
        outcome = scene.compact()
        assert isinstance(outcome, Skipped | Declined)
        assert outcome.reason.strip()
        assert scene.say("hello").outcome == "done"

    # Beginning and end ------------------------------------------------------------------------------------------------

    @pytest.mark.parametrize("rounds", [0, 210], ids=["empty", "500 entries"])
    def test_it_begins_with_any_session(self, rounds: int) -> None:
        scene = self.scene(window=200_000)
        scene.fill(rounds, words=2)
        assert scene.row().entries >= (500 if rounds else 0)
        assert scene.say("look at a page").outcome == "done"
        if prepare := getattr(scene.watched.engine, "bootstrap", None):
            assert isinstance(asyncio.run(prepare(Seen(KEY, scene.row().entries))), bool)

    def test_it_ends_twice_and_unused(self) -> None:
        scene = self.scene()
        scene.say("hello")
        scene.dispose()
        scene.dispose()
        unused = self.scene(store=scene.store)
        unused.dispose()
        unused.dispose()

    def test_it_goes_along_with_sub_agents(self) -> None:
        scene = self.scene()
        scene.say("hello")
        engine: Any = scene.watched.engine
        if hasattr(engine, "prepare_subagent_spawn"):
            for mode in ("isolated", "fork"):
                back = asyncio.run(engine.prepare_subagent_spawn(Spawn(KEY, f"{KEY}:sub:{mode}", mode)))
                assert back is None or callable(back)
                assert back is None or back() is None
        if hasattr(engine, "on_subagent_ended"):
            for ending in ENDINGS:
                asyncio.run(engine.on_subagent_ended(f"{KEY}:sub:{ending}", ending))
        assert scene.say("thanks").outcome == "done"


def _bound(name: str, method: Any, count: int) -> None:
    """Fails where a method cannot be called with so many arguments, or has to be awaited where nobody does."""
    try:
        inspect.signature(method).bind(*range(count))
    except TypeError as error:
        raise AssertionError(f"`{name}` is called with {count} arguments: {error}") from None
    if name == "tools":
        assert not inspect.iscoroutinefunction(method), "`tools` is not waited for"


def _sound(given: Assembly, assembled: Assembled, *, owns: bool) -> None:
    """Fails where what was assembled breaks a law that can be seen on it alone."""
    assert isinstance(assembled, Assembled)
    sent = [*assembled.messages, *(assembled.append if given.first else ())]
    assert mend(sent) == sent, "a call was parted from its result"
    asked = [one for one in given.messages if isinstance(one, User) and not one.synthetic][-1]
    assert asked in sent, f"the newest message of the user is missing: {text_of(asked)!r}"
    if given.budget is not None:
        whole = sum(map(estimate.message, given.messages))
        most = given.budget if owns else max(given.budget, whole)
        assert guard.size(assembled) <= most, f"{guard.size(assembled):,} tokens for a budget of {given.budget:,}"


def _shown(session: Session) -> int:
    """The tokens of the view as it is sent."""
    stored = session.window()
    return view_tokens(session.view(), sizes_in(stored))


def _plainly(scene: EngineScene) -> bytes:
    """What the engine assembles of the view as it is now, in the middle of a turn."""
    messages = tuple(mend(project(scene.session.view()).messages()))
    assembled = asyncio.run(scene.watched.engine.assemble(Assembly(KEY, messages, 200_000, "hm", first=False)))
    return msgspec.json.encode(assembled)
