"""The chat on a full screen, keys in and screen out, over a scripted model."""

import asyncio
from contextlib import asynccontextmanager

import pytest
from textual.widgets import Collapsible

from clew.transcript import Call, assistant, text_of
from clew.tui import blocks, stage
from clew.tui.app import ChatApp, is_light
from clew.tui.approval import Approval
from tests.faces.conversing import conversing, talked, until
from tests.unit.compact.test_flow import GOOD

LOOK = assistant("Let me look.", Call("c1", "read", {"path": "a[b].txt"}))


@asynccontextmanager
async def chat(conversation, size=(80, 24)):
    app = ChatApp(conversation)
    async with app.run_test(size=size) as pilot:
        await pilot.pause()
        yield app, pilot


async def typed(pilot, text: str) -> None:
    """A line written and sent."""
    await pilot.press(*["space" if one == " " else "slash" if one == "/" else one for one in text], "enter")


async def quiet(app, pilot) -> None:
    """Until nothing runs and all is shown: two looks at the screen see the same."""
    await until(lambda: app._work is None)
    await pilot.pause()
    before = ""
    for _ in range(20):
        if (now := seen(app)) == before:
            break
        before = now
        await pilot.pause(0.05)


def seen(app) -> str:
    """The screen's text, line by line."""
    return "\n".join("".join(part.text for part in line).rstrip() for line in app.screen._compositor.render_strips())


def run(work) -> None:
    asyncio.run(work)


def test_a_message_is_answered_in_markdown_and_the_fill_is_in_sight():
    async def work():
        async with chat(conversing(["It is **60** seconds."])) as (app, pilot):
            assert "~" in seen(app).splitlines()[-1]
            await typed(pilot, "how long")
            await quiet(app, pilot)
            screen = seen(app)
            assert "› how long" in screen
            assert "It is 60 seconds." in screen
            assert "/33k (0%) · scripted/demo · agent:main:main" in screen.splitlines()[-1]

    run(work())


def test_a_call_is_one_line_until_it_is_opened():
    async def work():
        async with chat(conversing([LOOK, "Done."])) as (app, pilot):
            await typed(pilot, "look")
            await quiet(app, pilot)
            fold = app.query_one(blocks.ToolFold)
            assert "▶ read a[b].txt · ✓" in seen(app)
            assert "value = 1" not in seen(app).replace("gave 1 value = 1", "")
            fold.collapsed = False
            await pilot.pause()
            assert seen(app).count("value = 1") > 5

    run(work())


def test_control_characters_of_a_model_reach_no_terminal():
    async def work():
        async with chat(conversing(["\x1b[31mred\x1b]0;title\x07 [bold]x[/bold] \u202eabc"])) as (app, pilot):
            await typed(pilot, "hi")
            await quiet(app, pilot)
            assert not {"\x1b", "\x07", "\u202e"} & set(seen(app))
            assert "[bold]x[/bold]" in seen(app)

    run(work())


def test_the_first_interrupt_cancels_and_keeps_the_words_and_the_second_leaves():
    async def work():
        conversation = conversing(["one two three four five six seven eight nine ten " * 3])
        async with chat(conversation) as (app, pilot):
            conversation.model.go.clear()
            await typed(pilot, "count")
            await until(lambda: "one two" in seen(app))
            await pilot.press("ctrl+c")
            await quiet(app, pilot)
            assert "Cancelled; what was said is kept." in seen(app)
            assert "Ctrl+C again leaves" in seen(app)
            said = conversation.session.messages()
            assert text_of(said[-1]).startswith("one two")
            await pilot.press("ctrl+c")
            await until(lambda: app.return_code is not None)
            assert app.return_value == 0

    run(work())


def test_a_message_sent_meanwhile_steers_the_turn():
    async def work():
        conversation = conversing([LOOK, "The other one, then."])
        async with chat(conversation) as (app, pilot):
            conversation.model.go.clear()
            await typed(pilot, "look")
            await until(lambda: app.stage.doing == "answering")
            await typed(pilot, "the other one")
            assert "waits for the turn's next step" in seen(app)
            conversation.model.go.set()
            await quiet(app, pilot)
            assert "taken up by the turn" in seen(app)
            assert text_of(conversation.model.requests[1].messages[-1]) == "the other one"

    run(work())


def test_a_message_that_no_step_takes_up_is_the_next_turn():
    async def work():
        conversation = conversing(["first", "second"])
        async with chat(conversation) as (app, pilot):
            conversation.model.go.clear()
            await typed(pilot, "one")
            await until(lambda: app.stage.doing == "answering")
            await typed(pilot, "two")
            conversation.model.go.set()
            await until(lambda: len(conversation.model.requests) == 2)
            await quiet(app, pilot)
            assert [text_of(m) for m in conversation.session.messages()] == ["one", "first", "two", "second"]

    run(work())


@pytest.mark.parametrize(("key", "ran"), [("ctrl+y", 1), ("escape", 0), ("enter", 0)])
def test_a_call_waits_for_a_yes(key, ran):
    from clew.runtime.tools import Toolbox, tool

    calls: list[str] = []

    @tool(gate=lambda _: "every command is asked for")
    def shell(command: str) -> str:
        """Run it."""
        calls.append(command)
        return "ran"

    async def work():
        asked: list[ChatApp] = []

        async def ask(call, why):
            return await asked[0].ask(call, why)

        answers = [assistant("", Call("c1", "shell", {"command": "rm -rf build"})), "ok"]
        async with chat(conversing(answers, desk=Toolbox([shell]), ask=ask)) as (app, pilot):
            asked.append(app)
            await typed(pilot, "clean up")
            await until(lambda: isinstance(app.screen, Approval))
            await pilot.pause()
            assert "command: rm -rf build" in seen(app)
            assert "every command is asked for" in seen(app)
            await pilot.press("y", "e", "s", "n")
            assert isinstance(app.screen, Approval)  # letters answer nothing: somebody may be in mid-sentence
            await pilot.press(key)
            await quiet(app, pilot)
        assert len(calls) == ran

    run(work())


def test_an_interrupt_at_the_question_cancels_the_turn():
    from clew.runtime.tools import Toolbox, tool

    @tool(gate=lambda _: "asked for")
    def shell(command: str) -> str:
        """Run it."""
        raise AssertionError("it ran")

    async def work():
        asked: list[ChatApp] = []

        async def ask(call, why):
            return await asked[0].ask(call, why)

        answers = [assistant("", Call("c1", "shell", {"command": "x"})), "ok"]
        async with chat(conversing(answers, desk=Toolbox([shell]), ask=ask)) as (app, pilot):
            asked.append(app)
            await typed(pilot, "go")
            await until(lambda: isinstance(app.screen, Approval))
            await pilot.press("ctrl+c")
            await quiet(app, pilot)
            assert "Cancelled" in seen(app)

    run(work())


def test_a_compaction_is_shown_as_it_happens_and_opens_to_the_way_back():
    async def work():
        conversation = talked(conversing([GOOD, GOOD]))
        async with chat(conversation) as (app, pilot):
            conversation.model.go.clear()
            await typed(pilot, "/compact the facts")
            await until(lambda: "tokens so far" in seen(app))
            assert "🧹 Compacting" in seen(app)
            conversation.model.go.set()
            await quiet(app, pilot)
            fold = app.query_one(blocks.CompactionFold)
            assert "🧹 Compacted (" in seen(app)
            assert "⚙️ Compacted (" in seen(app)
            assert "🧹1" in seen(app).splitlines()[-1]
            fold.collapsed = False
            await pilot.pause()
            assert "clew trace agent:main:main" in seen(app)

    run(work())


def test_a_compaction_can_be_cancelled_and_changes_nothing():
    async def work():
        conversation = talked(conversing([GOOD, GOOD]))
        async with chat(conversation) as (app, pilot):
            conversation.model.go.clear()
            await typed(pilot, "/compact")
            await until(lambda: "tokens so far" in seen(app))
            await pilot.press("ctrl+c")
            await quiet(app, pilot)
            assert "Compaction cancelled; the history is as it was" in seen(app)
            assert conversation.session.row().compactions == 0

    run(work())


def test_a_command_that_changes_the_session_waits_for_the_turn():
    async def work():
        conversation = conversing(["words and words and words and words"])
        async with chat(conversation) as (app, pilot):
            conversation.model.go.clear()
            await typed(pilot, "hi")
            await until(lambda: app.stage.doing == "answering")
            await typed(pilot, "/new")
            assert "/new cannot run beside a turn" in seen(app)
            assert app.composer.text == "/new"
            conversation.model.go.set()
            await quiet(app, pilot)
            await pilot.press("enter")
            await quiet(app, pilot)
            assert "New session started." in seen(app)
            assert conversation.session.messages() == []

    run(work())


def test_a_session_taken_up_again_shows_its_last_turns_and_its_brief():
    async def work():
        conversation = talked(conversing([GOOD, GOOD]), turns=12)
        await conversation.compact()
        conversation.session.append(LOOK)
        async with chat(conversation) as (app, pilot):
            first = app.stage.children[0]
            assert isinstance(first, blocks.BriefFold)
            said = [one.text for one in app.query(blocks.Said)]
            assert said[-1] == "question 11"
            assert "read a[b].txt" in seen(app)
            assert isinstance(first, Collapsible)
            await pilot.press("up")
            assert app.composer.text == "question 11"

    run(work())


def test_a_huge_past_is_shown_in_part():
    async def work():
        async with chat(talked(conversing([]), turns=8, size=1_500)) as (app, _):
            assert len(app.query(blocks.Answer)) == 1
            assert "earlier messages in the window" in str(app.stage.children[0].render())

    run(work())


def test_lines_history_and_completion():
    async def work():
        conversation = conversing(["a", "b"])
        async with chat(conversation) as (app, pilot):
            await pilot.press("o", "n", "e", "ctrl+j", "t", "w", "o", "enter")
            await quiet(app, pilot)
            assert text_of(conversation.session.messages()[0]) == "one\ntwo"
            await pilot.press("x", "up", "up", "up")
            assert app.composer.text == "one\ntwo"
            await pilot.press("down", "down", "down")
            assert app.composer.text == "x"
            app.composer.text = ""
            await pilot.press("slash", "c", "o")
            await pilot.pause()
            assert "/context  /compact" in seen(app)
            await pilot.press("m", "tab")
            assert app.composer.text == "/compact "

    run(work())


def test_ctrl_d_leaves_only_where_nothing_is_written():
    async def work():
        async with chat(conversing([])) as (app, pilot):
            await pilot.press("a", "ctrl+d")
            assert app.return_code is None
            await pilot.press("backspace", "ctrl+d")
            await until(lambda: app.return_code is not None)

    run(work())


@pytest.mark.parametrize("size", [(80, 24), (40, 12), (20, 6), (200, 60)])
def test_it_holds_at_any_size(size):
    async def work():
        async with chat(talked(conversing([LOOK, "Done."]), turns=2), size) as (app, pilot):
            await typed(pilot, "go")
            await quiet(app, pilot)
            await typed(pilot, "/status")
            await quiet(app, pilot)
            await pilot.resize_terminal(40, 12)
            await pilot.pause()
            assert "%" in seen(app).splitlines()[-1]
            assert max(map(len, seen(app).splitlines())) <= 40

    run(work())


def test_light_and_dark():
    async def work():
        async with chat(conversing([])) as (app, pilot):
            before = app.theme
            await pilot.press("ctrl+t")
            assert app.theme != before

    run(work())
    assert [is_light(one) for one in ("0;15", "15;0", "", "0;default;15", "x")] == [True, False, False, True, False]


def test_a_failed_turn_says_what_was_kept_and_the_chat_goes_on():
    from clew.errors import AuthFailed

    async def work():
        async with chat(conversing([AuthFailed("no key"), "back"])) as (app, pilot):
            await typed(pilot, "hi")
            await quiet(app, pilot)
            assert "The turn failed; what was said is kept. no key" in seen(app)
            await typed(pilot, "again")
            await quiet(app, pilot)
            assert "back" in seen(app)

    run(work())


def test_what_stays_on_the_screen_is_bounded(monkeypatch):
    monkeypatch.setattr(stage, "MOST_CHARS", 2_000)

    async def work():
        async with chat(conversing(["word " * 150] * 6)) as (app, pilot):
            for _ in range(6):
                await typed(pilot, "x")
                await quiet(app, pilot)
            assert len(app.query(blocks.Answer)) in (2, 3)

    run(work())
