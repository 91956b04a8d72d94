"""OpenAI and Anthropic messages: parts, calls, raw arguments, system prompts, several sessions, there and back."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from clew.errors import BadInput
from clew.store.archive import detect, read, write
from clew.transcript import Assistant, Call, Custom, Foreign, Media, Said, Text, Thinking, ToolResult, Usage, User
from tests.unit.archive.archive_samples import (
    bodies,
    brief,
    calls,
    chain,
    entries,
    lines,
    messages,
    records,
    text_blocks,
)

CHAT = [
    {"role": "system", "content": "be brief"},
    {"role": "user", "content": [{"type": "text", "text": "look"},
                                 {"type": "image_url", "image_url": {"url": "data:image/png;base64,aGk="}}]},
    {"role": "assistant", "content": None, "reasoning_content": "hm", "tool_calls": [
        {"id": "c", "type": "function", "function": {"name": "read", "arguments": '{"p": 1}'}},
        {"id": "d", "type": "function", "function": {"name": "read", "arguments": '{"p": '}}]},
    {"role": "tool", "tool_call_id": "c", "content": "ok"},
]  # fmt: skip
READ = [
    Custom("openai.system", CHAT[0]),
    Said(User((Text("look"), Media("image/png", "aGk=")))),
    Said(Assistant((Thinking("hm"), Call("c", "read", {"p": 1}), Call("d", "read", {}, '{"p": ')))),
    Said(ToolResult("c", "read", (Text("ok"),))),
]


@pytest.mark.parametrize("shape", [lambda: CHAT, lambda: {"messages": CHAT}, lambda: {"traj": CHAT, "task_id": 1}])
def test_chat_messages_are_read_from_a_list_and_from_an_object(shape):
    assert bodies(lines(shape())) == READ


def test_chat_messages_are_read_a_line_each():
    assert bodies(lines(*CHAT)) == READ
    assert detect(lines(*CHAT)) == "openai"


def test_a_document_over_many_lines_is_read_as_one():
    assert len(bodies(b'[\n  {"role": "user",\n   "content": "a"},\n  {"role": "assistant", "content": "b"}\n]')) == 2


def test_the_old_function_call_is_paired_by_name():
    call = {"role": "assistant", "content": "", "function_call": {"name": "f", "arguments": "{}"}}
    got = messages(read(lines(call, {"role": "function", "name": "f", "content": "1"})))
    assert got == [Assistant((Call("f", "f"),)), ToolResult("f", "f", (Text("1"),))]


def test_one_of_several_sessions_is_taken_and_the_others_are_mentioned():
    data = lines(*({"messages": [{"role": "user", "content": word}]} for word in "abc"))
    done = read(data, index=1)
    assert messages(done) == [User((Text("b"),))]
    assert done.meta["sessions"] == 3
    with pytest.raises(BadInput, match="holds 3 sessions"):
        read(data, index=3)


ANTHROPIC = {
    "system": [{"type": "text", "text": "be brief"}], "model": "claude-x", "messages": [
        {"role": "user", "content": "go"},
        {"role": "assistant", "usage": {"input_tokens": 1, "output_tokens": 2}, "stop_reason": "tool_use", "content": [
            {"type": "thinking", "thinking": "hm", "signature": "sig"}, {"type": "redacted_thinking", "data": "xx"},
            {"type": "tool_use", "id": "c", "name": "read", "input": {"p": 1}},
            {"type": "server_tool_use", "id": "s", "name": "web_search", "input": {}}]},
        {"role": "user", "content": [
            {"type": "tool_result", "tool_use_id": "c", "is_error": True, "content": [{"type": "text", "text": "no"}]},
            {"type": "text", "text": "and now?"}]},
    ],
}  # fmt: skip


def test_anthropic_messages_become_values():
    server = ANTHROPIC["messages"][1]["content"][3]
    assert bodies(lines(ANTHROPIC)) == [
        Custom("anthropic.system", ANTHROPIC["system"]),
        Said(User((Text("go"),))),
        Said(Assistant((Thinking("hm", "sig"), Thinking("", redacted="xx"), Call("c", "read", {"p": 1}),
                        Foreign("anthropic.server_tool_use", server)), None, Usage(1, 2), "tools")),
        Said(ToolResult("c", "read", (Text("no"),), True)),
        Said(User((Text("and now?"),))),
    ]  # fmt: skip


@pytest.mark.parametrize(("data", "format"), [(lines({"messages": CHAT}), "openai"), (lines(ANTHROPIC), "anthropic")])
def test_a_list_of_messages_comes_back_from_its_own_export(data, format):
    first = entries(read(data))
    again = read(b"".join(write(records(first), format)))
    assert [said.blocks for said in messages(again)] == [said.blocks for said in messages(read(data))]
    assert entries(again)[0].body == first[0].body


@pytest.mark.parametrize("format", ["openai", "anthropic"])
def test_a_system_prompt_crosses_from_one_format_to_the_other(format):
    for data in (lines({"messages": CHAT}), lines(ANTHROPIC)):
        out = b"".join(write(records(entries(read(data))), format))
        assert b"be brief" in out
        assert isinstance(entries(read(out, format))[0].body, Custom)


@pytest.mark.parametrize("format", ["openai", "anthropic"])
def test_a_compaction_is_exported_as_the_model_read_it_and_is_no_ask(format):
    told = records(chain(User((Text("go"),)), Assistant((Text("ok"),)), brief("# sum")))
    opening = messages(read(b"".join(write(told, format, shown=True)), format))[0]
    assert "# sum" in opening.blocks[0].text
    assert opening.synthetic
    assert b"# sum" not in b"".join(write(told, format))


def test_only_the_branch_to_the_leaf_is_exported():
    branch = chain(User((Text("one"),)), Assistant((Text("two"),)), User((Text("three"),)))
    out = b"".join(write(records(branch), "openai", leaf="e0001"))
    assert b"two" in out
    assert b"three" not in out


turns = st.one_of(
    st.builds(User, st.lists(text_blocks, min_size=1, max_size=2).map(tuple)),
    st.builds(lambda text, made: Assistant((text, *made)), text_blocks, st.lists(calls, max_size=2)),
    st.builds(lambda id, text: ToolResult(id, "", (text,)), st.text("xyz", min_size=1, max_size=3), text_blocks),
)


def flat(said):
    """Every block with the role it was said in: Anthropic joins neighbours of one role."""
    return [(type(message).__name__, getattr(message, "call_id", None), block) for message in said
            for block in message.blocks]  # fmt: skip


@settings(max_examples=60, deadline=None)
@given(st.lists(turns, min_size=1, max_size=6), st.sampled_from(["openai", "anthropic"]))
def test_roles_texts_calls_and_results_survive_the_way_there_and_back(said, format):
    out = b"".join(write(records(chain(*said)), format))
    assert flat(messages(read(out, format))) == flat(said)
