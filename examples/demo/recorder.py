"""Writes a session down in Claude Code's line format while its files change under the tools' hands."""

import json
import re
from datetime import UTC, datetime, timedelta
from typing import Any

from dice import Dice

ROOT = "/srv/dev/quayside"
MODEL = "claude-opus-4-5-20251101"
FIXED_TOKENS = 13_800
"""What system prompt and tools take of each request, in tokens."""

CHARS_PER_TOKEN = 3.13
"""Of this session's text, counted once with a real tokenizer."""


class Recorder:
    """The lines of a session, and the project it works on."""

    def __init__(self, files: dict[str, str], *, branch: str) -> None:
        self.files = files
        self.lines: list[dict[str, Any]] = []
        self._dice = Dice("recorder")
        self._session = self._dice.uuid()
        self._branch = branch
        self._now = datetime(2026, 3, 9, 8, 12, 4, 118000, tzinfo=UTC)
        self._parent: str | None = None
        self._chars = 0
        self._cached = 0
        self._message: dict[str, Any] | None = None

    def user(self, text: str, *, image: str | None = None) -> None:
        """The developer says something, with a PNG as base64 perhaps."""
        self._pause(40, 400)
        content: Any = text
        if image is not None:
            source = {"type": "base64", "media_type": "image/png", "data": image}
            content = [{"type": "image", "source": source}, {"type": "text", "text": text}]
        self._message = None
        self._snapshot()
        self._line("user", {"message": {"role": "user", "content": content}}, text)

    def think(self, text: str) -> None:
        """The agent reasons."""
        self._block({"type": "thinking", "thinking": text}, text)

    def say(self, text: str) -> None:
        """The agent answers in words."""
        self._block({"type": "text", "text": text}, text)

    def tool(self, name: str, result: str, /, *, error: bool = False, **arguments: Any) -> str:
        """The agent calls a tool, and the tool answers."""
        id = f"toolu_01{self._dice.hex(22)}"
        self._block({"type": "tool_use", "id": id, "name": name, "input": arguments}, json.dumps(arguments))
        self._message = None
        self._pause(1, 9)
        answer: dict[str, Any] = {"tool_use_id": id, "type": "tool_result", "content": result}
        if error:
            answer["is_error"] = True
        extra = {"message": {"role": "user", "content": [answer]}, "sourceToolAssistantUUID": self._parent}
        self._line("user", extra, result)
        return result

    def read(self, path: str, *, offset: int = 1, limit: int = 2000) -> None:
        """Read a file, with line numbers."""
        rows = self.files[path].splitlines()[offset - 1 : offset - 1 + limit]
        body = "\n".join(f"{number:>6}→{row}" for number, row in enumerate(rows, offset))
        more = {} if (offset, limit) == (1, 2000) else {"offset": offset, "limit": limit}
        self.tool("Read", body, file_path=f"{ROOT}/{path}", **more)

    def edit(self, path: str, old: str, new: str) -> None:
        """Replace one passage of a file."""
        if self.files[path].count(old) != 1:
            raise ValueError(f"{old!r} stands {self.files[path].count(old)} times in {path}")
        self.files[path] = self.files[path].replace(old, new)
        at = self.files[path][: self.files[path].index(new)].count("\n")
        shown = self.files[path].splitlines()[max(0, at - 2) : at + new.count("\n") + 3]
        body = "\n".join(f"{number:>6}→{row}" for number, row in enumerate(shown, max(0, at - 2) + 1))
        text = f"{ROOT}/{path} now reads:\n{body}"
        self.tool("Edit", text, file_path=f"{ROOT}/{path}", old_string=old, new_string=new, replace_all=False)

    def write(self, path: str, content: str) -> None:
        """Write a new file."""
        self.files[path] = content
        self.tool("Write", f"{ROOT}/{path} was created.", file_path=f"{ROOT}/{path}", content=content)

    def grep(self, pattern: str, under: str = "", *, most: int = 60) -> None:
        """Search the project as it is at this moment."""
        wanted, hits = re.compile(pattern), []
        for path in sorted(self.files):
            for number, row in enumerate(self.files[path].splitlines(), 1):
                if path.startswith(under) and wanted.search(row):
                    hits.append(f"{ROOT}/{path}:{number}:{row}")
        place = f"{ROOT}/{under}".rstrip("/")
        found = "\n".join(hits[:most]) or "No matches."
        self.tool("Grep", found, pattern=pattern, path=place, output_mode="content", **{"-n": True})

    def glob(self, pattern: str, suffix: str, under: str) -> None:
        """List files."""
        found = [f"{ROOT}/{path}" for path in sorted(self.files) if path.startswith(under) and path.endswith(suffix)]
        self.tool("Glob", "\n".join(found), pattern=pattern)

    def bash(self, command: str, output: str, *, code: int = 0, about: str = "") -> None:
        """Run a command."""
        failed = f"Exit code {code}\n{output}" if code else output
        self.tool("Bash", failed, error=bool(code), command=command, description=about or command[:40])

    def todos(self, *items: tuple[str, str]) -> None:
        """Write the to-do list down."""
        states = {"x": "completed", ">": "in_progress", " ": "pending"}
        listed = [
            {"content": text, "status": states[mark], "activeForm": f"Working on: {text}"} for mark, text in items
        ]
        done = sum(mark == "x" for mark, _ in items)
        self.tool("TodoWrite", f"The list was updated: {done} of {len(items)} done.", todos=listed)

    def ended(self) -> None:
        """The turn ends; the harness writes down how long it took."""
        self._pause(2, 5)
        extra = {"subtype": "turn_duration", "durationMs": self._dice.between(20_000, 480_000), "isMeta": False}
        self._line("system", extra, "")
        self._message = None

    def _block(self, block: dict[str, Any], text: str) -> None:
        self._pause(2, 14)
        if self._message is None:
            total = FIXED_TOKENS + int(self._chars / CHARS_PER_TOKEN)
            usage = {
                "input_tokens": self._dice.between(4, 12),
                "cache_creation_input_tokens": max(0, total - self._cached),
                "cache_read_input_tokens": min(self._cached, total),
                "output_tokens": self._dice.between(90, 900),
                "service_tier": "standard",
            }
            self._cached = total
            self._message = {"id": f"msg_01{self._dice.hex(22)}", "usage": usage, "request": self._dice.hex(22)}
        ends = "tool_use" if block["type"] == "tool_use" else None
        message = {
            "model": MODEL, "id": self._message["id"], "type": "message", "role": "assistant", "content": [block],
            "stop_reason": ends, "stop_sequence": None, "usage": self._message["usage"],
        }  # fmt: skip
        extra = {"message": message, "requestId": f"req_011{self._message['request']}"}
        self._line("assistant", extra, text)

    def _snapshot(self) -> None:
        id = self._dice.uuid()
        snapshot = {"messageId": id, "trackedFileBackups": {}, "timestamp": self._time()}
        line = {"type": "file-history-snapshot", "messageId": id, "snapshot": snapshot, "isSnapshotUpdate": False}
        self.lines.append(line)

    def _line(self, kind: str, extra: dict[str, Any], text: str) -> None:
        id = self._dice.uuid()
        self.lines.append({
            "parentUuid": self._parent, "isSidechain": False, "userType": "external", "cwd": ROOT,
            "sessionId": self._session, "version": "2.1.7", "gitBranch": self._branch, "slug": "steady-mooring-heron",
            "type": kind, **extra, "uuid": id, "timestamp": self._time(),
        })  # fmt: skip
        self._parent = id
        self._chars += len(text)

    def _pause(self, low: int, high: int) -> None:
        self._now += timedelta(seconds=self._dice.between(low, high), milliseconds=self._dice.below(1000))

    def _time(self) -> str:
        return self._now.isoformat(timespec="milliseconds").replace("+00:00", "Z")
