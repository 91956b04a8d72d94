"""What the calls of common agents did to files, and the lists they wrote."""

import pytest

from clew.compact.toolcalls import Effect, Task, boxes, command, effects, task, tasks
from clew.transcript import Call

PATCH = "*** Begin Patch\n*** Update File: a.py\n@@\n*** Add File: b.py\n+x\n*** Delete File: c.py\n*** End Patch"


@pytest.mark.parametrize(
    ("name", "arguments", "done"),
    [
        ("Read", {"file_path": "/a.py"}, [("read", "/a.py")]),
        ("MultiEdit", {"file_path": "/a.py", "edits": []}, [("edited", "/a.py")]),
        ("write", {"path": "a.py", "content": "x"}, [("created", "a.py")]),
        ("str_replace_editor", {"command": "view", "path": "/a.py"}, [("read", "/a.py")]),
        ("str_replace_editor", {"command": "create", "path": "/a.py"}, [("created", "/a.py")]),
        ("mcp__files__delete_file", {"path": "/a.py"}, [("deleted", "/a.py")]),
        ("apply_patch", {"input": PATCH}, [("edited", "a.py"), ("created", "b.py"), ("deleted", "c.py")]),
        ("Bash", {"command": "cd x && rm -f a.py && mv b.py c.py"},
         [("deleted", "x/a.py"), ("deleted", "x/b.py"), ("created", "x/c.py")]),
        ("bash", {"command": "cd /p/src && sed -i '' 's|from \"../tui/|from \"./new/|g' mode.ts && mv lib core/"},
         [("edited", "/p/src/mode.ts"), ("deleted", "/p/src/lib"), ("created", "/p/src/core/lib")]),
        ("bash", {"command": "sed -i '' 's/main-new/main/g' src/cli.ts"}, [("edited", "src/cli.ts")]),
        ("bash", {"command": "grep -n '=> c.text' x; rm *.html $f 2>/dev/null # > y.txt"}, []),
        ("exec", {"command": "sed -i 's/a/b/' src/a.py; cat src/b.py | head -3"},
         [("edited", "src/a.py"), ("read", "src/b.py")]),
        ("shell", {"command": ["bash", "-lc", "echo hi > out.txt"]}, [("created", "out.txt")]),
        ("bash", {"command": "cat <<EOF > a.txt\nrm -rf b.txt\nEOF\n"}, [("created", "a.txt")]),
        ("bash", {"command": "make test 2>&1 > /dev/null"}, []),
        ("get_weather", {"path": "a"}, []),
    ],
)  # fmt: skip
def test_effects(name, arguments, done):
    assert effects(Call("c", name, arguments)) == [Effect(*one) for one in done]


def test_a_command_given_as_words_is_one_command():
    assert command(Call("c", "shell", {"command": ["git", "status"]})) == "git status"
    assert command(Call("c", "Read", {"file_path": "x"})) is None


@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("TodoWrite", {"todos": [{"content": "one", "status": "completed"}, {"content": "two", "status": "pending"}]}),
        ("update_plan", {"plan": [{"step": "one", "status": "completed"}, {"step": "two", "status": "pending"}]}),
        ("task_tracker", {"task_list": [{"title": "one", "status": "done"}, {"title": "two", "status": "todo"}]}),
        ("todo_write", {"text": "- [x] one\n- [ ] two"}),
    ],
)  # fmt: skip
def test_lists_of_every_agent_read_alike(name, arguments):
    assert tasks(Call("c", name, arguments)) == [Task("one", "done"), Task("two", "open")]


def test_single_tasks_and_boxes():
    assert task(Call("c", "TaskCreate", {"subject": "one"})) == Task("one", "open")
    assert task(Call("c", "TaskUpdate", {"taskId": 3, "status": "completed"})) == Task("", "done", "3")
    assert boxes("1. [ ] a\n* [-] b\ntext [x] no") == [Task("a", "open"), Task("b", "cancelled")]
