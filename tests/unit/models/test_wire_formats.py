"""Requests as both wire formats write them."""

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from clew.models.port import Request, Tool
from clew.models.providers import anthropic_format, openai_format
from clew.models.providers.wire import CallIds
from clew.transcript import (
    Assistant,
    Call,
    Media,
    Shell,
    Text,
    Thinking,
    ToolResult,
    User,
    assistant,
    mend,
    result,
    user,
)

CALL = Call("c1", "read", {"path": "a.py"})
PNG = Media("image/png", data="aGk=")
FORMATS = pytest.mark.parametrize("wire", [openai_format, anthropic_format])


def sent(wire, *messages, **more):
    return wire.messages(Request(messages), **more)


def words():
    return st.text(max_size=8)


def transcripts():
    call = st.builds(Call, st.sampled_from(["a", "b", "", "x" * 70, "no way!"]), st.just("t"))
    return st.lists(
        st.one_of(
            st.builds(user, words()),
            st.builds(lambda text, calls: assistant(text, *calls), words(), st.lists(call, max_size=3)),
            st.builds(lambda one, text: result(one, text), call, words()),
            st.builds(Shell, words(), words()),
        ),
        max_size=12,
    )


@settings(max_examples=60)
@given(transcripts())
def test_turns_alternate_and_begin_with_the_user_in_the_messages_format(messages):
    roles = [message["role"] for message in sent(anthropic_format, *mend(messages))]
    assert roles == ["user" if nth % 2 == 0 else "assistant" for nth in range(len(roles))]


@settings(max_examples=60)
@given(transcripts())
def test_each_call_has_its_result_under_one_valid_id_used_once(messages):
    chat, strict = (sent(wire, *mend(messages)) for wire in (openai_format, anthropic_format))
    asked = [call["id"] for message in chat for call in message.get("tool_calls", ())]
    blocks = [block for message in strict for block in message["content"]]
    used = [block["id"] for block in blocks if block["type"] == "tool_use"]
    assert asked == [message["tool_call_id"] for message in chat if message["role"] == "tool"]
    assert used == [block["tool_use_id"] for block in blocks if block["type"] == "tool_result"]
    assert len(set(used)) == len(used)
    assert all(name.replace("_", "a").replace("-", "a").isalnum() and len(name) <= 40 for name in asked)


@settings(max_examples=60)
@given(transcripts())
def test_no_text_that_is_sent_is_blank_in_the_messages_format(messages):
    blocks = [block for message in sent(anthropic_format, *mend(messages)) for block in message["content"]]
    assert all(block["text"].strip() for block in blocks if block["type"] == "text")


@FORMATS
def test_the_same_messages_are_the_same_bytes_and_more_messages_begin_with_them(wire):
    history = [user("go"), assistant("", CALL), result(CALL, "x = 1"), assistant("done")]
    whole = sent(wire, *history, user("and now"), assistant("", CALL), result(CALL, "y"))
    assert sent(wire, *history) == whole[:4]


@FORMATS
def test_messages_of_one_role_become_one(wire):
    assert len(sent(wire, user("one"), Shell("ls", "a.py"), user("two"))) == 1


def test_the_system_prompt_comes_first_in_chat_completions():
    assert openai_format.messages(Request((user("hi"),), system="be kind"))[0] == {
        "role": "system",
        "content": "be kind",
    }


def test_an_image_is_a_data_url_in_one_format_and_a_source_in_the_other():
    asked = User((Text("what is it?"), PNG))
    assert sent(openai_format, asked)[0]["content"][1]["image_url"]["url"] == "data:image/png;base64,aGk="
    assert sent(anthropic_format, asked)[0]["content"][1]["source"] == {
        "type": "base64",
        "media_type": "image/png",
        "data": "aGk=",
    }


def test_a_picture_a_tool_returned_follows_its_result_where_results_are_words():
    chat = sent(openai_format, user("see"), assistant("", CALL), ToolResult("c1", "read", (PNG,)))
    assert [message["role"] for message in chat] == ["user", "assistant", "tool", "user"]
    assert chat[-1]["content"][0]["type"] == "image_url"


@FORMATS
def test_a_model_that_reads_no_images_gets_a_note(wire):
    shown = json.dumps(sent(wire, User((PNG,)), images=False))
    assert "image/png" in shown
    assert PNG.data not in shown


def test_reasoning_goes_back_only_sealed_and_only_to_who_sealed_it():
    thought = (Thinking("hm", signature="s"), Thinking("loose"), Thinking("", redacted="r"), Text("so"))
    kinds = [
        [block["type"] for block in sent(anthropic_format, user("?"), Assistant(thought, model=model))[1]["content"]]
        for model in ("anthropic/claude-opus-5-5", "openai/gpt-5")
    ]
    assert kinds == [["thinking", "redacted_thinking", "text"], ["text"]]


@FORMATS
def test_arguments_that_were_cut_off_are_sent_as_an_object(wire):
    cut = Call("c1", "write", raw='{"path": "a')
    assert "unparsed" in json.dumps(sent(wire, user("go"), assistant("", cut), result(cut, "no")))


@FORMATS
def test_a_lone_surrogate_is_sent_as_valid_text(wire):
    broken = Call("c1", "t", {"x": "\ud83d"})
    lists = sent(wire, user("a\ud83d"), assistant("b\ud83d", broken), result(broken, "c\ud83d"))
    assert json.dumps(lists, ensure_ascii=False).encode()


def test_marks_stay_within_the_four_the_api_allows():
    body = {
        "system": [{"type": "text", "text": "s"}],
        "tools": [anthropic_format.tool(Tool("t", "d", {"type": "object"}))],
        "messages": sent(anthropic_format, user("a"), assistant("b"), user("c"), assistant("d"), user("e")),
    }
    anthropic_format.mark(body)
    marks = [
        block["content"][-1].get("cache_control") is not None for block in body["messages"] if block["role"] == "user"
    ]
    assert marks == [False, True, True]
    assert json.dumps(body).count("cache_control") == 3


def test_an_id_used_twice_is_sent_as_two():
    ids = CallIds(longest=40)
    first, second = ids.of_call(CALL), ids.of_call(CALL)
    assert (first, ids.of_result("c1"), ids.of_result("c1")) == ("c1", "c1", second)
    assert second != first
