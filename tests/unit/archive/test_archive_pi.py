"""Pi's and OpenClaw's lines: three versions, compactions, resets, leaf controls, and the way back."""

import pytest

from clew.store.archive import read, write
from clew.transcript import (
    Assistant,
    Call,
    Compaction,
    Custom,
    ModelChange,
    Pin,
    Reset,
    Said,
    Shell,
    Text,
    Thinking,
    ToolResult,
    Usage,
    User,
    view,
)
from tests.unit.archive.archive_samples import bodies, brief, chain, entries, lines, main, messages, records

AT = "2025-12-08T22:41:05.306Z"


def entry(kind, id, parent, **more):
    return {"type": kind, "id": id, "parentId": parent, "timestamp": AT, **more}


def said(id, parent, text):
    return entry("message", id, parent, message={"role": "user", "content": text, "timestamp": 1765233665292})


def head(version):
    return {"type": "session", "version": version, "id": "s", "timestamp": AT, "cwd": "/w"}


def test_v1_has_no_ids_and_names_what_it_kept_by_line():
    first, second = ({"type": "message", "timestamp": AT, "message": {"role": "user", "content": t}} for t in "ab")
    compaction = {"type": "compaction", "timestamp": AT, "summary": "sum", "firstKeptEntryIndex": 2, "tokensBefore": 9}
    done = read(lines({"type": "session", "id": "s", "cwd": "/w"}, first, second, compaction))
    branch = main(done)
    assert branch[2].body.first_kept == branch[1].id
    assert [e.body.message for e in view(branch).entries] == [User((Text("b"),))]
    assert [e.id for e in branch] == [e.id for e in main(read(lines({"type": "session", "id": "s"}, first, second,
                                                                    compaction)))]  # fmt: skip


def test_every_role_and_block_has_its_value():
    content = [{"type": "thinking", "thinking": "hm", "thinkingSignature": "sig"}, {"type": "text", "text": "hi"},
               {"type": "toolCall", "id": "c", "name": "read", "arguments": {"p": 1}}]  # fmt: skip
    spoken = {"role": "assistant", "content": content, "provider": "anthropic", "model": "m", "stopReason": "toolUse",
              "usage": {"input": 1, "output": 2, "cacheRead": 3, "cacheWrite": 4}}  # fmt: skip
    returned = {"role": "toolResult", "toolCallId": "c", "toolName": "read", "content": "no", "isError": True}
    shell = {"role": "bashExecution", "command": "ls", "output": "a", "exitCode": 2}
    got = messages(read(lines(head(3), entry("message", "1", None, message=spoken),
                              entry("message", "2", "1", message=returned),
                              entry("message", "3", "2", message=shell))))  # fmt: skip
    assert got == [
        Assistant((Thinking("hm", "sig"), Text("hi"), Call("c", "read", {"p": 1})), "anthropic/m", Usage(1, 2, 3, 4),
                  "tools"),
        ToolResult("c", "read", (Text("no"),), True), Shell("ls", "a", 2),
    ]  # fmt: skip


def test_what_the_model_never_saw_is_kept_as_it_came():
    hidden = {"role": "bashExecution", "command": "ls", "output": "a", "excludeFromContext": True}
    done = read(lines(head(3), said("1", None, "a"), entry("message", "2", "1", message=hidden)))
    assert [e.body.kind for e in entries(done) if isinstance(e.body, Custom)] == ["pi.session", "pi.message"]
    assert not done.unknown


def test_a_leaf_control_moves_the_end_of_the_session():
    done = read(lines(head(4), said("1", None, "a"), said("2", "1", "b"),
                      entry("leaf", "l", "2", targetId="1", appendParentId="1")))  # fmt: skip
    assert [e.id for e in main(done)] == ["1"]
    assert done.format == "openclaw"


def test_a_stale_writer_cannot_escape_a_reset():
    reset = entry("reset", "r", "1", reason="new")
    done = read(lines(head(4), said("1", None, "a"), reset, said("2", "r", "b"), said("3", "1", "stale")))
    assert [e.id for e in main(done)] == ["1", "r", "2", "3"]
    assert any("newest reset" in warning for warning in done.warnings)


def test_a_side_entry_never_becomes_the_leaf():
    side = {**said("2", "1", "note"), "appendMode": "side"}
    assert [e.id for e in main(read(lines(head(4), said("1", None, "a"), side)))] == ["1"]


def test_model_changes_and_titles_are_read():
    change = entry("model_change", "2", "1", provider="openai", modelId="gpt")
    done = read(lines(head(3), said("1", None, "a"), change, entry("session_info", "3", "2", name="Fix it")))
    assert ModelChange("openai/gpt") in [e.body for e in entries(done)]
    assert (done.meta["model"], done.meta["title"]) == ("openai/gpt", "Fix it")


def test_a_first_kept_entry_that_is_not_there_keeps_nothing_and_is_said():
    compaction = entry("compaction", "2", "1", summary="sum", firstKeptEntryId="gone", tokensBefore=1)
    done = read(lines(head(3), said("1", None, "a"), compaction))
    assert main(done)[-1].body.first_kept is None
    assert any("first kept" in warning for warning in done.warnings)


@pytest.mark.parametrize("format", ["pi", "openclaw"])
def test_an_export_comes_back_with_every_kind_of_entry(format):
    branch = chain(User((Text("go"),)), User((Text("note"),), synthetic=True), Assistant((Call("c", "x", {"a": 1}),),
                   "p/m", Usage(1, 2, 3, 4), "tools"), ToolResult("c", "x", (Text("ok"),), True), Shell("ls", "a", 1),
                   brief("# sum", "e0002"), Pin("e0000", "go", "user"), ModelChange("p/n"),
                   Reset("new", "e0004"))  # fmt: skip
    done = read(b"".join(write(records(branch), format, {"session": "s"})))
    assert done.format == format
    assert entries(done)[1:] == branch


def test_an_openclaw_export_says_where_the_session_goes_on():
    branch = chain(User((Text("a"),)), User((Text("b"),)))
    done = read(b"".join(write(records(branch), "openclaw", leaf="e0000")))
    assert [e.id for e in main(done)] == ["e0000"]


def test_compactions_keep_their_ledger_through_an_export():
    done = read(b"".join(write(records(chain(brief("# sum"))), "openclaw")))
    assert bodies(b"".join(write(records(entries(done)), "openclaw")))[-1] == brief("# sum")
    assert isinstance(entries(done)[-1].body, Compaction)
    assert Said(User(())) not in [e.body for e in entries(done)]
