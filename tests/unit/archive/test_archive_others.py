"""Codex rollouts, event lists, SWE-agent and OpenHands."""

from itertools import pairwise

from clew.store.archive import from_events, read
from clew.transcript import Assistant, Call, Compaction, Foreign, Text, Thinking, ToolResult, Usage, User
from tests.unit.archive.archive_samples import bodies, entries, lines, messages

AT = "2026-02-01T10:00:00.000Z"


def item(**payload):
    return {"timestamp": AT, "type": "response_item", "payload": payload}


def event(**payload):
    return {"timestamp": AT, "type": "event_msg", "payload": payload}


HEAD = {"timestamp": AT, "type": "session_meta", "payload": {"id": "s", "cwd": "/w", "model_provider": "openai"}}
TURN = {"timestamp": AT, "type": "turn_context", "payload": {"model": "gpt-x", "cwd": "/w"}}
COUNT = event(type="token_count", info={"last_token_usage": {"input_tokens": 10, "cached_input_tokens": 4,
                                                             "output_tokens": 3}})  # fmt: skip


def test_a_rollout_becomes_messages_with_model_and_tool_names():
    failed = '{"output": "no", "metadata": {"exit_code": 1}}'
    got = messages(read(lines(
        HEAD, TURN, item(type="message", role="user", content=[{"type": "input_text", "text": "go"}]),
        item(type="reasoning", summary=[{"type": "summary_text", "text": "hm"}], encrypted_content="xx"),
        item(type="function_call", name="shell", arguments='{"command": ["ls"]}', call_id="c"),
        item(type="function_call_output", call_id="c", output=failed),
    )))  # fmt: skip
    assert got == [
        User((Text("go"),)), Assistant((Thinking("hm", redacted="xx"),), "openai/gpt-x"),
        Assistant((Call("c", "shell", {"command": ["ls"]}),), "openai/gpt-x"),
        ToolResult("c", "shell", (Text(failed),), True),
    ]  # fmt: skip


def test_reported_usage_goes_to_the_answer_before_it_once():
    spoken = item(type="message", role="assistant", content=[{"type": "output_text", "text": "hi"}])
    late = event(type="token_count", info={"last_token_usage": {"input_tokens": 99, "output_tokens": 9}})
    got = messages(read(lines(HEAD, spoken, COUNT, late, spoken)))
    assert [message.usage for message in got] == [Usage(6, 3, 4), None]


def test_the_other_calls_of_a_rollout_have_values_too():
    got = messages(read(lines(
        HEAD, item(type="local_shell_call", call_id="l", action={"type": "exec", "command": ["ls"]}),
        item(type="custom_tool_call", call_id="p", name="apply_patch", input="*** Begin"),
        item(type="custom_tool_call_output", call_id="p", output="Done"), item(type="web_search_call", status="done"),
    )))  # fmt: skip
    assert [message.blocks[0] for message in got] == [
        Call("l", "local_shell", {"type": "exec", "command": ["ls"]}), Call("p", "apply_patch", {"input": "*** Begin"}),
        Text("Done"), Foreign("codex.web_search_call", {"type": "web_search_call", "status": "done"}),
    ]  # fmt: skip


def test_set_up_texts_are_no_asks_and_a_compaction_is_one():
    context = item(type="message", role="user", content=[{"type": "input_text", "text": "<environment_context>x"}])
    done = read(lines(HEAD, context, {"timestamp": AT, "type": "compacted", "payload": {"message": "sum"}}))
    assert [message.synthetic for message in messages(done)] == [True]
    assert [e.body.summary for e in entries(done) if isinstance(e.body, Compaction)] == ["sum"]


def test_an_old_rollout_without_wrapping_is_read_and_every_line_counted():
    head = {"id": "s", "timestamp": AT, "instructions": None}
    said = {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "go"}]}
    done = read(lines(head, {"record_type": "state"}, said, {"timestamp": AT, "type": "new_thing", "payload": {}}))
    assert (done.format, messages(done)) == ("codex", [User((Text("go"),))])
    assert sum(done.counts.values()) + sum(done.unknown.values()) == 4
    assert done.unknown == {"new_thing": 1}


EVENTS = [
    {"k": "user", "t": "go"}, {"k": "think", "t": "hm"}, {"k": "call", "name": "Bash", "id": "c", "input": {"a": 1}},
    {"k": "result", "t": "ok", "name": "Bash", "id": "c"},
    {"k": "boundary", "meta": {"preTokens": 7, "trigger": "auto"}},
    {"k": "summary", "t": "sum"}, {"k": "meta", "t": "<x>"}, {"k": "odd", "t": "?"},
]  # fmt: skip


def test_event_lists_become_entries_one_an_event():
    done = read(lines({"session": "s", "events": EVENTS}))
    assert messages(done)[3] == ToolResult("c", "Bash", (Text("ok"),))
    assert next(e.body.tokens_before for e in entries(done) if isinstance(e.body, Compaction)) == 7
    assert len(done.drafts) == len(EVENTS)
    assert done.unknown == {"odd": 1}


def test_equal_beginnings_of_event_lists_get_equal_ids():
    assert from_events(EVENTS[:3]) == from_events(EVENTS)[:3]
    assert all(draft.parent == before.id for before, draft in pairwise(from_events(EVENTS)))


def test_swe_agent_turns_after_the_task_are_observations():
    history = [{"role": "system", "content": "x"}, {"role": "user", "content": "task"},
               {"role": "assistant", "content": "ls"}, {"role": "user", "content": "a b"}]  # fmt: skip
    done = read(lines({"history": history, "trajectory": [], "info": {}}))
    assert done.format == "swe-agent"
    assert [message.synthetic for message in messages(done) if isinstance(message, User)] == [False, True]


def test_openhands_actions_become_calls_and_observations_results():
    response = {
        "id": "r",
        "model": "m",
        "usage": {"prompt_tokens": 5, "completion_tokens": 2},
        "choices": [
            {"message": {"tool_calls": [{"id": "c", "function": {"name": "bash", "arguments": '{"command": "ls"}'}}]}}
        ],
    }
    meta = {"function_name": "bash", "tool_call_id": "c", "model_response": response}  # fmt: skip
    run = {"id": 1, "action": "run", "source": "agent", "args": {"command": "ls", "thought": "look"}}
    seen = {"id": 2, "observation": "run", "cause": 1, "content": "a", "extras": {"metadata": {"exit_code": 2}}}
    asked = {"id": 0, "action": "message", "source": "user", "args": {"content": "go"}}
    row = {
        "instance_id": "i",
        "history": [asked, {**run, "tool_call_metadata": meta}, {**seen, "tool_call_metadata": meta}],
    }
    assert messages(read(lines(row))) == [
        User((Text("go"),)), Assistant((Text("look"), Call("c", "bash", {"command": "ls"})), "m", Usage(5, 2)),
        ToolResult("c", "bash", (Text("a"),), True),
    ]  # fmt: skip
    assert len(bodies(lines(row))) == 3
