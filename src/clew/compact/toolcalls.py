"""What a tool call of the common agents did: which files, which command, which to-do list.

The tables name the tools of Claude Code, Pi, OpenClaw, Codex, SWE-agent, OpenHands and aider, and the names that tools
written against an OpenAI-style interface usually have. A tool that is in no table has no effect that is known.
"""

import re
from collections.abc import Iterator
from typing import Any

import msgspec

from clew.compact.ledger_shell import steps
from clew.transcript import Call


class Effect(msgspec.Struct, frozen=True):
    """One thing a call did to one file."""

    kind: str
    """`read`, `edited`, `created` or `deleted`."""
    path: str


class Task(msgspec.Struct, frozen=True):
    """One item of a to-do list."""

    text: str
    state: str
    """`open`, `active`, `done` or `cancelled`."""
    key: str = ""
    """The tool's own id of it, where it has one."""


EFFECTS: dict[str, str] = {
    "read": "read", "readfile": "read", "viewfile": "read", "view": "read", "openfile": "read", "open": "read",
    "catfile": "read", "notebookread": "read", "getfile": "read", "fsread": "read", "readmanyfiles": "read",
    "edit": "edited", "multiedit": "edited", "editfile": "edited", "strreplace": "edited", "replace": "edited",
    "strreplaceeditor": "edited", "strreplacebasededittool": "edited", "searchreplace": "edited", "insert": "edited",
    "notebookedit": "edited", "applydiff": "edited", "fileedit": "edited", "editor": "edited",
    "replaceinfile": "edited",
    "insertcontent": "edited", "patchfile": "edited", "updatefile": "edited", "fsedit": "edited", "append": "edited",
    "write": "created", "writefile": "created", "createfile": "created", "create": "created", "writetofile": "created",
    "savefile": "created", "fswrite": "created", "filewrite": "created", "newfile": "created",
    "delete": "deleted", "deletefile": "deleted", "removefile": "deleted", "remove": "deleted", "rm": "deleted",
}  # fmt: skip
"""What a tool does to the file it is given, by its name without case, dashes and underscores."""

SUBCOMMANDS: dict[str, str] = {
    "view": "read", "create": "created", "str_replace": "edited", "insert": "edited", "undo_edit": "edited",
    "write": "created", "edit": "edited", "delete": "deleted", "read": "read", "append": "edited",
}  # fmt: skip
"""What an editor tool does where its `command` argument says."""

PATHS = (
    "file_path", "path", "filePath", "filename", "file", "notebook_path", "target_file", "relative_path", "filepath",
    "absolute_path", "file_name", "abs_path", "paths",
)  # fmt: skip
COMMANDS = ("command", "cmd", "script", "commands", "input", "code")
SHELLS = frozenset(
    "bash shell exec execute executebash executecommand runcommand run runshellcommand terminal localshell "
    "runterminalcmd shellcommand execcommand cmd powershell unifiedexec runinterminal cmdrun process".split()
)
PATTERNS = ("pattern", "query", "regex", "search_term", "q", "glob")
_PATCH = re.compile(
    r"^\*\*\* (Add|Update|Delete) File: (.+)$|^\*\*\* (Move) to: (.+)$|^(\+\+\+) (?:b/)?(\S+)", re.MULTILINE
)
_PATCHED = {"Add": "created", "Update": "edited", "Delete": "deleted", "Move": "created", "+++": "edited"}
_TASKS = re.compile(r"todo|plan|task|checklist", re.IGNORECASE)
_WORDING = ("content", "step", "title", "subject", "task", "text", "description", "name")
_STATES = {
    "pending": "open", "open": "open", "todo": "open", "not_started": "open", "not-started": "open", "blocked": "open",
    "in_progress": "active", "in-progress": "active", "active": "active", "doing": "active", "started": "active",
    "completed": "done", "complete": "done", "done": "done", "closed": "done", "finished": "done", "resolved": "done",
    "cancelled": "cancelled", "canceled": "cancelled", "deleted": "cancelled", "dropped": "cancelled",
}  # fmt: skip
BOX = re.compile(r"^[ \t]*(?:[-*+]|\d+[.)])[ \t]+\[([ xX~/-])\][ \t]+(.+?)[ \t]*$", re.MULTILINE)
_BOXED = {" ": "open", "x": "done", "X": "done", "~": "active", "/": "active", "-": "cancelled"}


def plain(name: str) -> str:
    """A tool's name as the tables have it: without case, dashes, underscores and a server's prefix."""
    return re.sub(r"[^a-z0-9]", "", name.rsplit("__", 1)[-1].rsplit(".", 1)[-1].lower())


def effects(call: Call) -> list[Effect]:
    """What a call did to files, in order; a shell command is read for its plain words, a patch for its headers."""
    if (line := command(call)) is not None:
        return [Effect(*step) for step in steps(line)] + list(_patched(line))
    does = EFFECTS.get(plain(call.name))
    if does == "edited" and isinstance(verb := call.arguments.get("command"), str):
        does = SUBCOMMANDS.get(verb, does)
    named = [Effect(does, path) for path in paths(call)] if does else []
    return named or [effect for text in _texts(call) for effect in _patched(text)]


def paths(call: Call) -> list[str]:
    """The paths among a call's arguments."""
    given = next((call.arguments[name] for name in PATHS if call.arguments.get(name)), ())
    listed = given if isinstance(given, list) else [given]
    return [path.strip() for path in listed if isinstance(path, str) and path.strip()]


def command(call: Call) -> str | None:
    """The shell command a call ran; None where it ran none."""
    if plain(call.name) not in SHELLS:
        return None
    given = next((call.arguments[name] for name in COMMANDS if call.arguments.get(name)), None)
    if isinstance(given, list):
        words = [str(word) for word in given]
        return words[2] if len(words) == 3 and words[1].startswith("-") else " ".join(words)
    return given if isinstance(given, str) else None


def pattern(call: Call) -> str | None:
    """What a call searched for; None where it searched for nothing."""
    given = next((call.arguments[name] for name in PATTERNS if call.arguments.get(name)), None)
    return given if isinstance(given, str) else None


def tasks(call: Call) -> list[Task] | None:
    """The whole to-do list a call wrote; None where it wrote none. An empty list clears the one before."""
    if not _TASKS.search(call.name):
        return None
    for value in call.arguments.values():
        if isinstance(value, list) and all(isinstance(item, dict) for item in value):
            found = [task for item in value if (task := _task(item))]
            if found or not value:
                return found
        elif isinstance(value, str) and (boxed := boxes(value)):
            return boxed
    return None


def task(call: Call) -> Task | None:
    """The one to-do item a call created or changed (`TaskCreate`, `TaskUpdate`); its text may be empty on a change."""
    if not _TASKS.search(call.name) or not ({"taskId", "task_id", "subject"} & call.arguments.keys()):
        return None
    key = call.arguments.get("taskId") or call.arguments.get("task_id") or ""
    state = _STATES.get(str(call.arguments.get("status", "")).lower(), "" if key else "open")
    return Task(str(call.arguments.get("subject") or ""), state, str(key))


def boxes(text: str) -> list[Task]:
    """The check boxes of a text, `- [ ]` and `- [x]`."""
    return [Task(words, _BOXED[mark]) for mark, words in BOX.findall(text)] if "[" in text else []


def _task(item: dict[str, Any]) -> Task | None:
    words = next((str(item[name]) for name in _WORDING if item.get(name)), "")
    given = item.get("status", item.get("state", item.get("done", item.get("completed"))))
    state = "done" if given is True else _STATES.get(str(given).lower(), "open")
    return Task(words, state) if words and given is not None else None


def _patched(text: str) -> Iterator[Effect]:
    if "*** " in text or "+++ " in text:
        for match in _PATCH.finditer(text):
            verb, path = (part for part in match.groups() if part is not None)
            yield Effect(_PATCHED[verb], path.strip())


def _texts(call: Call) -> Iterator[str]:
    yield from (value for value in call.arguments.values() if isinstance(value, str))
    if call.raw:
        yield call.raw
