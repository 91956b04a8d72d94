"""A shell command in the workspace: its own process group, no terminal, no input, bounded time, bounded output.

It has all the rights of the user who runs Clew: the workspace is where it starts, not a wall around it. That is why it
is asked for. A process that leaves the group on purpose (`setsid`) is not followed.
"""

import asyncio
import os
import shutil
import signal
from asyncio.subprocess import DEVNULL, Process
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager, suppress

from clew.errors import BadInput
from clew.transcript import clean
from clew.workspace.capture import Capture
from clew.workspace.place import Workspace
from clew.workspace.port import Output

DRAIN_S = 0.3
"""Seconds that output may still come when the shell has ended and something it started holds the pipe."""
GRACE_S = 2.0
"""Seconds between the request to end and the end."""
CHUNK = 1 << 16

QUIET = {"TERM": "dumb", "NO_COLOR": "1", "PAGER": "cat", "GIT_PAGER": "cat", "GIT_TERMINAL_PROMPT": "0"}
"""What keeps programs from colours, pagers and questions nobody can answer."""


async def execute(workspace: Workspace, command: str, *, timeout_s: float, env: Mapping[str, str], name: str) -> Output:
    """Run a command and give back what it wrote, both streams as they came, and its exit code.

    `name` is the file's, in the folder of outputs, where it writes more than can be held. Raises BadInput where it
    cannot be started. Cancelling the task ends the whole group.
    """
    capture = Capture(workspace, name)
    async with _started(workspace, command, {**env, **QUIET}) as (process, reader):
        pump = asyncio.create_task(_pump(reader, capture))
        try:
            ended = await _ended(process, timeout_s)
            if not ended:
                await _end(process)
            await asyncio.wait({pump}, timeout=DRAIN_S)
            left = ended and _signal(process, signal.SIGKILL)
            await asyncio.wait({pump}, timeout=DRAIN_S)
        finally:
            pump.cancel()
            capture.close()
    return capture.output(closing=_closing(process, timeout_s if not ended else None, left), error=not ended)


@asynccontextmanager
async def _started(
    workspace: Workspace, command: str, env: Mapping[str, str]
) -> AsyncIterator[tuple[Process, asyncio.StreamReader]]:
    """The running command and the pipe it writes to; at the end neither is left."""
    if os.name != "posix":
        raise BadInput("`exec` needs a POSIX system (Linux or macOS); nothing was run.")
    workspace.to_change(".")
    pipe, reader, write_end = await _pipe()
    try:
        try:
            process = await _start(workspace, command, env, write_end)
        finally:
            os.close(write_end)
        try:
            yield process, reader
        finally:
            if process.returncode is None:
                await _end(process)
            _signal(process, signal.SIGKILL)
    finally:
        pipe.close()


async def _pipe() -> tuple[asyncio.ReadTransport, asyncio.StreamReader, int]:
    """A pipe of our own: the one asyncio makes for a process is waited for even after the process has ended."""
    read_end, write_end = os.pipe()
    reader = asyncio.StreamReader()
    pipe, _ = await asyncio.get_running_loop().connect_read_pipe(
        lambda: asyncio.StreamReaderProtocol(reader), os.fdopen(read_end, "rb", 0)
    )
    return pipe, reader, write_end


async def _start(workspace: Workspace, command: str, env: Mapping[str, str], write_end: int) -> Process:
    try:
        return await asyncio.create_subprocess_exec(
            shutil.which("bash") or "/bin/sh", "-c", clean(command), cwd=workspace.root, env=env, stdin=DEVNULL,
            stdout=write_end, stderr=write_end, start_new_session=True,
        )  # fmt: skip
    except (OSError, ValueError) as error:
        raise BadInput(f"The command cannot be started ({error}); nothing was run.") from error


async def _ended(process: Process, timeout_s: float) -> bool:
    """Whether it ended in time."""
    with suppress(TimeoutError):
        async with asyncio.timeout(timeout_s):
            await process.wait()
    return process.returncode is not None


async def _end(process: Process) -> None:
    """Ask the group to end, and end it where it does not. Nothing that happens meanwhile keeps it alive."""
    _signal(process, signal.SIGTERM)
    try:
        with suppress(TimeoutError):
            async with asyncio.timeout(GRACE_S):
                await process.wait()
    finally:
        _signal(process, signal.SIGKILL)
    await process.wait()


def _signal(process: Process, which: signal.Signals) -> bool:
    """Send a signal to the group; False where nothing of it is left."""
    try:
        os.killpg(process.pid, which)
    except (ProcessLookupError, PermissionError):
        return False
    return True


async def _pump(reader: asyncio.StreamReader, capture: Capture) -> None:
    while chunk := await reader.read(CHUNK):
        capture.add(chunk)


def _closing(process: Process, late_s: float | None, left: bool) -> str:
    notes = ["what it had left running was ended"] if left else []
    code = process.returncode
    if late_s is not None:
        notes.insert(0, f"not done after {late_s:g} s, so it was ended; `timeout_s` gives it longer")
    elif code is not None and code < 0:
        notes.append(f"ended by signal {-code} ({signal.strsignal(-code)}), exit code {128 - code}")
    else:
        notes.append(f"exit code {code}")
    return f"[{'; '.join(notes)}]"
