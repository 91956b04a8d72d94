"""Claude Code's lines: the tree, parallel calls, usage, compactions, wrappers."""

import pytest

from clew.store.archive import read, write
from clew.transcript import Compaction, Custom, Media, Said, Text, Undo, Usage, User, dangling, view
from tests.unit.archive.archive_samples import bodies, brief, chain, entries, lines, main, messages, records


def line(kind, uuid, parent, content=None, **more):
    said = {} if content is None else {"message": {"role": kind, "content": content, **more.pop("message", {})}}
    return {"type": kind, "uuid": uuid, "parentUuid": parent, "timestamp": "2026-01-23T14:21:43.537Z",
            "sessionId": "s", "cwd": "/w", **said, **more}  # fmt: skip


def call(uuid, parent, id, turn, output=1):
    use = {"type": "tool_use", "id": id, "name": "Bash", "input": {"command": id}}
    usage = {"input_tokens": 5, "output_tokens": output}
    return line("assistant", uuid, parent, [use], message={"id": turn, "model": "claude-x", "usage": usage})


def answer(uuid, parent, id, content="ok"):
    return line("user", uuid, parent, [{"type": "tool_result", "tool_use_id": id, "content": content}])


PARALLEL = [
    line("user", "u", None, "go"), call("a1", "u", "c1", "m"), call("a2", "a1", "c2", "m", output=9),
    answer("r1", "a1", "c1"), answer("r2", "a2", "c2"),
    line("assistant", "z", "r2", [{"type": "text", "text": "done"}]),
]  # fmt: skip


def test_a_plain_session_keeps_ids_parents_times_and_facts():
    done = read(lines(line("user", "u", None, "go"), line("assistant", "a", "u", [{"type": "text", "text": "hi"}])))
    assert [(entry.id, entry.parent, entry.at) for entry in entries(done)] == [
        ("u", None, 1769178103537), ("a", "u", 1769178103537),
    ]  # fmt: skip
    assert done.format == "claude-code"
    assert done.meta["cwd"] == "/w"


def test_parallel_results_that_hang_beside_the_main_line_are_put_back_into_it():
    done = read(lines(*PARALLEL))
    assert [entry.id for entry in main(done)] == ["u", "a1", "a2", "r1", "r2", "z"]
    assert not list(dangling(messages(done)))
    assert any("parallel" in warning for warning in done.warnings)


def test_usage_of_an_answer_spread_over_lines_stands_on_its_last_line_only():
    said = [message for message in messages(read(lines(*PARALLEL))) if getattr(message, "usage", None)]
    assert [message.usage for message in said] == [Usage(5, 9)]


def test_an_abandoned_branch_stays_and_is_not_the_active_one():
    done = read(lines(line("user", "u", None, "go"), line("user", "x", "u", "old"), line("user", "y", "u", "new")))
    assert [entry.id for entry in main(done)] == ["u", "y"]
    assert {draft.id: draft.leaf for draft in done.drafts} == {"u": True, "x": False, "y": True}


def test_a_side_chain_is_no_part_of_the_main_line_unless_it_is_alone():
    side = line("user", "s", None, "sub", isSidechain=True)
    assert [entry.id for entry in main(read(lines(line("user", "u", None, "go"), side)))] == ["u"]
    assert [entry.id for entry in main(read(lines(side)))] == ["s"]


def test_a_recorded_compaction_opens_the_view_and_the_history_stays_below_it():
    boundary = line("system", "b", None, subtype="compact_boundary", logicalParentUuid="u",
                    compactMetadata={"trigger": "manual", "preTokens": 156699})  # fmt: skip
    summary = line("user", "k", "b", "This session is being continued", isCompactSummary=True)
    done = read(lines(line("user", "u", None, "go"), boundary, summary, line("user", "n", "k", "next")))
    found = next(body for body in bodies(lines(boundary, summary)) if isinstance(body, Compaction))
    assert (found.trigger, found.tokens_before, found.verdict.outcome) == ("manual", 156699, "imported")
    assert [entry.id for entry in main(done)] == ["u", "b", "k", "n"]
    assert [entry.id for entry in view(main(done)).entries] == ["n"]


@pytest.mark.parametrize(
    ("content", "more"),
    [
        pytest.param("<command-name>/exit</command-name>", {}, id="slash command"),
        pytest.param("<local-command-stdout>bye</local-command-stdout>", {}, id="output of one"),
        pytest.param("Caveat: The messages below were generated", {}, id="caveat"),
        pytest.param("anything", {"isMeta": True}, id="marked as meta"),
    ],
)
def test_what_a_harness_put_there_is_no_ask(content, more):
    assert bodies(lines(line("user", "u", None, content, **more))) == [Said(User((Text(content),), synthetic=True))]


def test_an_ask_beside_a_reminder_is_still_an_ask():
    both = [{"type": "text", "text": "<system-reminder>x</system-reminder>"}, {"type": "text", "text": "fix it"}]
    assert [said.synthetic for said in messages(read(lines(line("user", "u", None, both))))] == [False]


def test_hook_output_is_synthetic_and_a_queued_prompt_is_an_ask():
    hook = line("attachment", "h", None, attachment={"type": "hook_success", "content": "saved"})
    queued = line("attachment", "q", "h", attachment={"type": "queued_command", "prompt": "and the tests"})
    first, second = messages(read(lines(hook, queued)))
    assert first.synthetic
    assert second == User((Text("and the tests"),))


def test_an_image_in_a_result_is_media():
    image = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "aGk="}}
    said = messages(read(lines(call("a", None, "c", "m"), answer("r", "a", "c", [image]))))
    assert said[1].blocks == (Media("image/png", "aGk="),)
    assert said[1].tool == "Bash"


def test_results_and_words_of_one_line_become_entries_and_the_last_has_its_id():
    content = [{"type": "tool_result", "tool_use_id": "c", "content": "ok"}, {"type": "text", "text": "and now?"}]
    done = read(lines(call("a", None, "c", "m"), line("user", "u", "a", content), line("user", "v", "u", "go")))
    branch = main(done)
    assert [entry.id for entry in branch if len(entry.id) == 1] == ["a", "u", "v"]
    assert branch[2].parent == branch[1].id
    assert done.counts == {"assistant": 1, "user": 2}


def test_lines_that_are_no_messages_are_kept_as_they_came_and_unknown_ones_counted():
    snapshot = {"type": "file-history-snapshot", "messageId": "m", "snapshot": {"a": 1}}
    done = read(lines(line("user", "u", None, "go"), snapshot, {"type": "novelty", "x": 1}))
    assert [entry.body for entry in entries(done)][1:] == [
        Custom("claude-code.file-history-snapshot", snapshot),
        Custom("claude-code.novelty", {"type": "novelty", "x": 1}),
    ]  # fmt: skip
    assert (done.counts, done.unknown) == ({"user": 1, "file-history-snapshot": 1}, {"novelty": 1})
    assert [entry.id for entry in main(done)] == ["u"]


def test_fields_without_a_place_are_counted():
    assert read(lines(line("user", "u", None, "go", toolUseResult={"stdout": "x"}))).ignored == {"toolUseResult": 1}


def test_an_export_comes_back_with_compaction_undo_and_foreign_lines():
    kept = {"type": "system", "uuid": "7b1e7a54-94c8-4c0e-9d1e-aaaaaaaaaaaa", "parentUuid": None, "subtype": "x"}
    branch = chain(User((Text("go"),)), brief("# sum"), Undo("e0001"), Custom("claude-code.system", kept),
                   User((Text("on"),)))  # fmt: skip
    done = read(b"".join(write(records(branch), "claude-code")))
    assert kept in [body.data for body in (entry.body for entry in entries(done)) if isinstance(body, Custom)]
    found = next(entry.body for entry in entries(done) if isinstance(entry.body, Compaction))
    assert (found.summary, found.tokens_before) == ("# sum", 100)
    assert Undo("e0001") in [entry.body for entry in entries(done)]
    assert [entry.body.message for entry in main(done)[-1:]] == [User((Text("on"),))]
