"""The chat commands on a conversation: what they change, and in which words they say it."""

import asyncio
import json
import logging

import pytest
from rich.console import Console

from clew.commands.command import parse
from clew.commands.run import run
from clew.render.chat import answer
from clew.runtime.logbook import Logbook
from clew.transcript import text_of, user
from tests.faces.conversing import conversing, talked
from tests.unit.compact.test_flow import GOOD


def give(conversation, line: str) -> str:
    """A command carried out, as it is read at 80 columns."""
    command = parse(line)
    assert command is not None
    console = Console(width=80, record=True, file=open("/dev/null", "w"), highlight=False)  # noqa: SIM115
    with console.file:
        for part in answer(asyncio.run(run(command, conversation))):
            console.print(part)
        return console.export_text()


def test_help_names_every_command():
    said = give(conversing([]), "/help")
    assert all(
        f"/{name}" in said for name in ("context", "compact", "status", "new", "reset", "usage", "verbose", "model")
    )


def test_a_command_that_is_none_sends_nothing_and_names_the_nearest():
    conversation = conversing([])
    assert "Did you mean /status?" in give(conversation, "/sttus")
    assert conversation.session.row().entries == 0


def test_status_shows_compactions_only_where_there_are_any():
    conversation = talked(conversing([GOOD, GOOD, "ok"]))
    assert "🧹" not in give(conversation, "/status")
    assert "⚙️ Compacted (" in give(conversation, "/compact the facts")
    said = give(conversation, "/status")
    assert "🧹 Compactions: 1" in said
    assert "/33k" in said


def test_compact_says_what_the_window_holds_now_and_the_way_back():
    said = give(talked(conversing([GOOD, GOOD])), "/compact: the facts")
    assert "• Context ~" in said
    assert "clew undo agent:main:main" in said


def test_nothing_to_compact_is_no_failure():
    said = give(conversing([]), "/compact")
    assert "⚙️ Compaction skipped: nothing compactable in this session yet • Context ~" in said


def test_a_refused_compaction_says_what_was_kept():
    from clew.compact.settings import CompactionSettings

    said = give(talked(conversing([""] * 9, compaction=CompactionSettings(fallback="cancel"))), "/compact")
    assert "⚙️ Compaction failed: " in said
    assert "the history is as it was" in said


def test_the_window_is_unknown_and_not_guessed():
    assert "/?" in give(conversing([], window=None), "/status")


def test_usage_goes_through_its_modes_and_remembers():
    conversation = conversing(["hello"])
    assert [give(conversation, "/usage")[:13] for _ in range(4)] == [
        "/usage tokens", "/usage full: ", "/usage off: n", "/usage tokens",
    ]  # fmt: skip
    assert conversation.session.row().meta["responseUsage"] == "tokens"
    assert "It is /usage" in give(conversation, "/usage often")


def test_verbose_is_switched_and_set():
    conversation = conversing([])
    give(conversation, "/verbose")
    assert conversation.verbose
    give(conversation, "/verbose off")
    assert not conversation.verbose


def test_new_empties_the_window_and_keeps_the_transcript():
    conversation = talked(conversing([]), turns=2)
    said = give(conversation, "/new")
    assert "New session started." in said
    assert "keeps 5 entries" in said
    assert conversation.session.messages() == []
    assert [text_of(r.entry.body.message) for r in conversation.session.store.entries("agent:main:main", limit=1)] == [
        "question 0"
    ]


def test_new_takes_a_model_or_a_first_message():
    conversation = conversing([])
    done = asyncio.run(run(parse("/new other/model hello you"), conversation))
    assert (done.model.name, done.message) == ("other/model", "hello you")
    assert asyncio.run(run(parse("/reset hello you"), conversation)).message == "hello you"


def test_model_shows_and_changes():
    conversation = conversing([])
    assert "scripted/demo answers, window 32,768" in give(conversation, "/model")
    assert "other/model answers from here on, window 8,192" in give(conversation, "/model other/model")
    assert conversation.model.name == "other/model"


def test_context_lists_maps_and_is_json():
    conversation = talked(conversing([]), turns=3)
    assert "assistant words" in give(conversation, "/context")
    assert "hard-clear" in give(conversation, "/context detail")
    assert "conversation" in give(conversation, "/context map")
    assert json.loads(give(conversation, "/context json"))["window"] == 32_768
    assert "It is /context" in give(conversation, "/context everything")


@pytest.mark.parametrize("name", ["map.svg", "map.png"])
def test_the_map_is_written_to_a_new_file_only(tmp_path, name):
    conversation = talked(conversing([]), turns=3)
    conversation.workspace = str(tmp_path)
    assert "Wrote " in give(conversation, f"/context map {name}")
    assert (tmp_path / name).stat().st_size > 500
    assert "exists already" in give(conversation, f"/context map {name}")
    assert "neither in .svg nor in .png" in give(conversation, "/context map it.txt")


def test_every_compaction_is_logged_at_both_ends_with_sizes_reason_and_duration(caplog):
    conversation = talked(conversing([GOOD, GOOD, "fine", GOOD, GOOD]))
    conversation.listen(Logbook(conversation.session.key))
    with caplog.at_level(logging.INFO, "clew"):
        asyncio.run(conversation.compact())
        asyncio.run(conversation.compact())
        asyncio.run(conversation.say(user("and so on")))
    logged = [r for r in caplog.records if r.message.startswith("compaction")]
    assert [r.message for r in logged] == ["compaction start", "compaction end"] * 2
    assert (logged[0].trigger, logged[0].tokens > 9_000) == ("manual", True)
    assert logged[1].outcome == "compacted"
    assert logged[1].attempts == 2
    assert logged[1].tokensAfter < logged[1].tokensBefore
    assert logged[3].outcome == "skipped"
    assert all(r.durationMs >= 0 for r in logged if r.message == "compaction end")
    assert "fact1" not in caplog.text
