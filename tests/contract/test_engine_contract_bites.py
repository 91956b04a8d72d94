"""The contract for engines bites: of an engine that breaks one law, the test of that law fails."""

import pytest

from clew.compact.outcome import Compacted, Declined
from clew.engine import guard
from clew.engine.port import Assembled, Info
from clew.store.port import Draft
from clew.testing import EngineContract
from clew.testing.engine_scene import ID
from clew.transcript import Compaction, Ledger, Said, ToolResult, User, Verdict, calls_of, text_of, user
from tests.contract.keeper import Keeper


class NoId(Keeper):
    info = Info("", "Keeper")


class NotAsync(Keeper):
    def ingest(self, session, message):
        return False


class OptionalNotAsync(Keeper):
    def dispose(self):
        return None


class OtherArguments(Keeper):
    async def on_subagent_ended(self, child):
        return None


class AsyncTools(Keeper):
    async def tools(self):
        return ()


class Renamed(Keeper):
    @property
    def info(self):
        return Info("keeper", "Keeper", str(len(self.lines())))


class NoAnswer(Keeper):
    async def assemble(self, given):
        return list(given.messages)


class Parting(Keeper):
    async def assemble(self, given):
        return Assembled(tuple(one for one in given.messages if not isinstance(one, ToolResult)))


class Fat(Keeper):
    async def assemble(self, given):
        return Assembled((*given.messages, *given.messages[-1:] * 400) if given.budget else given.messages)


class FatAddition(Keeper):
    async def assemble(self, given):
        return Assembled(given.messages, addition="a word and " * (given.budget or 0))


class Deaf(Keeper):
    async def assemble(self, given):
        return Assembled(given.messages[:-1] or given.messages)


class Counting(Keeper):
    async def assemble(self, given):
        return Assembled((user(f"This is request {len(given.messages)}."), *given.messages))


class Sliding(Keeper):
    async def assemble(self, given):
        kept = given.messages[-6:]
        while isinstance(kept[0], ToolResult):
            kept = kept[1:]
        return Assembled(kept)


class Forgetful(Keeper):
    """Puts something at the front that another process does not know."""

    async def assemble(self, given):
        return Assembled((user(f"I am {id(self.host)}."), *given.messages))


class Ascii(Keeper):
    async def assemble(self, given):
        return Assembled(tuple(self.plain(one) for one in given.messages))

    def plain(self, one):
        if not isinstance(one, User):
            return one
        return user(text_of(one).encode("ascii", "ignore").decode(), synthetic=one.synthetic)


class Writing(Keeper):
    async def after_turn(self, turn):
        self.write()

    async def maintain(self, session, reason):
        self.write()
        return await super().maintain(session, reason)

    def write(self):
        self.number = getattr(self, "number", 0) + 1
        self.host.store.append(self.host.session, [Draft(f"mine{self.number}", 1, Said(user("a note of mine")))])


class Scribbling(Keeper):
    """Changes what the host holds in memory."""

    async def assemble(self, given):
        for call in (call for one in given.messages for call in calls_of(one)):
            call.arguments["page"] = 99
        return Assembled(given.messages)


class TakingTwice(Keeper):
    async def commit_turn(self, turn):
        with self.file.open("a") as file:
            file.write('{"turn": ""}\n')
        return "committed"


class SayingDuplicate(TakingTwice):
    """Knows the turn, says so, and writes it down again."""

    async def commit_turn(self, turn):
        self.seen = getattr(self, "seen", set())
        known = turn.turn in self.seen
        self.seen.add(turn.turn)
        await super().commit_turn(turn)
        return "duplicate" if known else "committed"


class Refusing(Keeper):
    async def commit_turn(self, turn):
        raise OSError("no disk")


class Mute(Keeper):
    async def compact(self, ask):
        return Declined("", "", "", (), 0)


class NoOutcome(Keeper):
    async def compact(self, ask):
        return None


class Growing(Keeper):
    """Commits a brief that is larger than what it stands for."""

    async def compact(self, ask):
        store, key = self.host.store, self.host.session
        body = Compaction("word " * 60_000, None, 1, 1, "manual", Verdict("accepted"), Ledger())
        now = store.session(key).generation
        draft = Draft("big", 1, body, tokens=60_000)
        store.commit(key, draft, generation=now, boundary="big", start=None, event="compaction", data={})
        return Compacted("big", body, None)


class NoBeginning(Keeper):
    async def bootstrap(self, given):
        raise RuntimeError("too many" if given.entries else "too few")


class OnlyOnce(Keeper):
    async def dispose(self):
        if getattr(self, "over", False):
            raise RuntimeError("it is over")
        self.over = True


class NoWayBack(Keeper):
    async def prepare_subagent_spawn(self, given):
        return "rolled back"


class Afraid(Keeper):
    async def on_subagent_ended(self, child, ending):
        assert ending != "deleted", "never heard of it"


class Trouble(Keeper):
    async def maintain(self, session, reason):
        raise OSError("no disk")


BITES = [
    (NoId, "it_has_the_form_of_an_engine", ()),
    (NotAsync, "it_has_the_form_of_an_engine", ()),
    (OptionalNotAsync, "it_has_the_form_of_an_engine", ()),
    (OtherArguments, "every_method_takes_what_it_is_called_with", ()),
    (AsyncTools, "every_method_takes_what_it_is_called_with", ()),
    (Renamed, "who_it_is_never_changes", ()),
    (NoAnswer, "a_request_has_whole_pairs_fits_and_ends_with_what_was_asked", (32_768,)),
    (Parting, "a_request_has_whole_pairs_fits_and_ends_with_what_was_asked", (200_000,)),
    (Fat, "a_request_has_whole_pairs_fits_and_ends_with_what_was_asked", (8_192,)),
    (FatAddition, "a_request_has_whole_pairs_fits_and_ends_with_what_was_asked", (8_192,)),
    (Fat, "a_long_session_stays_within_a_small_window", ()),
    (Deaf, "a_request_has_whole_pairs_fits_and_ends_with_what_was_asked", (None,)),
    (Counting, "a_request_begins_with_the_bytes_of_the_one_before", (200_000,)),
    (Sliding, "a_request_begins_with_the_bytes_of_the_one_before", (200_000,)),
    (Forgetful, "after_a_restart_too", ()),
    (Ascii, "characters_of_every_kind_come_through", ("主机 ✅",)),
    (Writing, "the_transcript_is_left_as_it_is", ()),
    (Scribbling, "the_transcript_is_left_as_it_is", ()),
    (TakingTwice, "a_turn_is_taken_once", ()),
    (SayingDuplicate, "a_turn_is_taken_once", ()),
    (Refusing, "a_turn_is_taken_once", ()),
    (Mute, "a_compaction_lands_or_says_why_and_the_next_turn_works", ()),
    (Mute, "a_session_with_nothing_to_compact_says_so", ()),
    (NoOutcome, "a_compaction_lands_or_says_why_and_the_next_turn_works", ()),
    (Growing, "a_compaction_lands_or_says_why_and_the_next_turn_works", ()),
    (NoBeginning, "it_begins_with_any_session", (0,)),
    (NoBeginning, "it_begins_with_any_session", (210,)),
    (OnlyOnce, "it_ends_twice_and_unused", ()),
    (NoWayBack, "it_goes_along_with_sub_agents", ()),
    (Afraid, "it_goes_along_with_sub_agents", ()),
    (Trouble, "it_goes_along_with_sub_agents", ()),
]


@pytest.fixture
def trial(tmp_path):
    """The contract over an engine of a class."""
    yield lambda kind: contract(kind, tmp_path)
    guard.quarantine.pop(ID, None)


def contract(kind, place):
    class Trial(EngineContract):
        def make(self, host):
            return kind(host, self.place / "turns.jsonl")

    trial = Trial()
    trial.place = place
    return trial


@pytest.mark.parametrize(
    ("kind", "law", "given"), [pytest.param(*bite, id=f"{bite[0].__name__}-{bite[1]}-{bite[2]}") for bite in BITES]
)
def test_an_engine_that_breaks_a_law_fails_its_test(kind, law, given, trial):
    with pytest.raises(AssertionError):
        getattr(trial(kind), f"test_{law}")(*given)


def test_every_test_of_the_contract_bites():
    laws = {name.removeprefix("test_") for name in dir(EngineContract) if name.startswith("test_")}
    assert laws == {law for _, law, _ in BITES}


def test_the_same_engine_without_the_fault_passes(trial):
    for law, given in dict.fromkeys((law, given) for _, law, given in BITES):
        getattr(trial(Keeper), f"test_{law}")(*given)
