"""`clew chat` without a full screen: pipes, prompts, questions, Ctrl-C."""

import os
import pty
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from clew.store.sqlite import SqliteStore
from clew.testing.server import Say
from clew.transcript import Call, text_of
from tests.faces.test_agent_cli import clew, served


def test_lines_of_a_pipe_are_turns_and_its_end_is_the_end(home):
    with served(home, ["first answer", "second answer"]) as server:
        done = clew("chat", stdin="one\n\ntwo \\\nlines\n")
    assert (done.exit_code, done.stdout) == (0, "first answer\nsecond answer\n")
    assert server.requests[1].body["messages"][-1]["content"] == "two \nlines"


def test_commands_are_answered_and_not_sent(home):
    with served(home, ["hello"]) as server:
        done = clew("chat", "--plain", stdin="/status\n/usage tokens\nhi\n//status\n/nonsense\n")
    assert "scripted/any" in done.stdout
    assert "There is no command /nonsense" in done.stdout
    assert "in / " in done.stderr
    assert [one.body["messages"][-1]["content"] for one in server.requests][:2] == ["hi", "/status"]


def test_a_call_is_one_line_beside_the_answer(home):
    (home / "a.txt").write_text("alpha\nbeta\n", encoding="utf-8")
    with served(home, [Say(calls=(Call("c1", "read", {"path": "a.txt"}),)), "alpha and beta"]):
        done = clew("chat", stdin="read it\n")
    assert done.stdout == "alpha and beta\n"
    assert "→ read a.txt" in done.stderr
    assert "✓ " in done.stderr


def test_verbose_tells_of_compactions_that_ran_by_themselves(home):
    long = "one more fact about the matter. " * 700
    with served(home, lambda seen: f"noted. {long[:4_000]}", compaction={"fallback": "ledger"}):
        done = clew("chat", stdin="/verbose\n" + "".join(f"{n}: {long}\n" for n in range(7)))
    assert "🧹 Auto-compaction complete (count 1)." in done.stderr
    assert "🧹 Compacting context..." not in done.stderr


class Person:
    """Somebody at a terminal who talks to `clew chat --plain`."""

    def __init__(self, home: Path, *words: str) -> None:
        self.master, slave = pty.openpty()
        env = {**os.environ, "CLEW_HOME": str(home), "TERM": "dumb"}
        command = [sys.executable, "-m", "clew", "chat", "--plain", *words]
        self.process = subprocess.Popen(
            command, cwd=home, env=env, stdin=slave, stdout=slave, stderr=slave, start_new_session=True
        )
        os.close(slave)
        self.seen, self.at = b"", 0

    def __enter__(self) -> "Person":
        return self

    def __exit__(self, *_: object) -> None:
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()
        os.close(self.master)

    def sees(self, words: str, seconds: float = 15.0) -> None:
        end = time.monotonic() + seconds
        os.set_blocking(self.master, False)
        while (found := self.seen.find(words.encode(), self.at)) < 0:
            assert time.monotonic() < end, self.seen.decode()
            try:
                self.seen += os.read(self.master, 65_536)
            except BlockingIOError:
                time.sleep(0.02)
        self.at = found + len(words.encode())

    def types(self, line: str) -> None:
        os.write(self.master, f"{line}\n".encode())

    def interrupts(self) -> None:
        self.process.send_signal(signal.SIGINT)


@pytest.mark.parametrize(("answer", "made"), [("y", True), ("n", False), ("", False)])
def test_a_person_is_asked_before_a_command_runs(home, answer, made):
    asks = Say(calls=(Call("c1", "exec", {"command": "touch made"}),))
    with served(home, [asks, "Right."]), Person(home) as person:
        person.sees("› ")
        person.types("make it")
        person.sees("[y/N]")
        person.types(answer)
        person.sees("Right.")
    assert (home / "made").exists() is made


def test_the_first_interrupt_cancels_and_keeps_the_second_leaves(home):
    with served(home, [Say("word " * 400, pace_s=0.05), "still here"]), Person(home) as person:
        person.sees("› ")
        person.types("talk")
        person.sees("word word")
        person.interrupts()
        person.sees("Cancelled; what was said is kept.")
        person.types("and now?")
        person.sees("still here")
        person.sees("› ")
        person.interrupts()
        person.sees("ends the chat")
        person.interrupts()
        assert person.process.wait(10) == 0
    with SqliteStore(home / "clew.sqlite") as store:
        said = [text_of(r.entry.body.message) for r in store.entries("agent:main:main")]
    assert [said[0], said[1][:9], said[2:]] == ["talk", "word word", ["and now?", "still here"]]


def test_the_end_of_input_ends_the_chat(home):
    with served(home, []), Person(home) as person:
        person.sees("› ")
        os.write(person.master, b"\x04")
        assert person.process.wait(10) == 0
