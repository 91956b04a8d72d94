"""Serves weights on this machine: a server in a process of its own, on loopback, with a key nobody else has."""

import asyncio
import json
import os
import queue
import secrets
import subprocess
import sys
import threading
import weakref
from importlib.util import find_spec
from pathlib import Path

import msgspec

from clew.errors import BadSettings, Unreachable
from clew.models.host_child import RUNTIME
from clew.models.host_settings import LEAST_WINDOW, HostSettings
from clew.models.weights import DEFAULT, Stored

READY_S = 180.0
"""Seconds a model may take to load: 4 on a quiet machine, ten times that on a busy one with a cold disk."""

END_S = 5.0
"""Seconds the process has to end by itself."""

STEP = 256
"""The runtime rounds a window up to a multiple of this; Clew rounds it down first, so that both mean the same."""

SPIN = {"GOMP_SPINCOUNT": "20000"}
"""Where cores are shared, threads that spin for long decode four to ten times slower."""

LOG, LONGEST_LOG = "host.log", 1 << 20
"""What the runtime says, beside the weights, and the bytes after which it begins anew."""


class Address(msgspec.Struct, frozen=True):
    """Where a model is served."""

    base_url: str
    """For Chat Completions, `/v1` included."""
    key: str
    window: int
    """Tokens."""


def installed() -> bool:
    """Whether the package that runs weights is there. It is not loaded."""
    return find_spec(RUNTIME) is not None


def lacking(name: str = DEFAULT, *, weights: bool, runtime: bool) -> BadSettings:
    """The error for a model that cannot be served, with the commands that change it."""
    steps = ([] if runtime else ["pip install 'clew[local]'"]) + ([] if weights else [f"clew models pull {name}"])
    return BadSettings(
        f"local/{name} cannot run yet; nothing was sent and nothing changed.\n"
        f"It is a small real model on this CPU, and needs no key. To have it: {', then '.join(steps)}\n"
        "Or name another model: clew config set agents.defaults.model provider/model-id"
    )


class LocalHost:
    """A server of one model; an async context manager, or `start` and `stop`. It ends with whoever started it."""

    def __init__(
        self,
        weights: Stored,
        settings: HostSettings | None = None,
        *,
        log: Path | None = None,
        seconds: float = READY_S,
    ) -> None:
        """`log` is where the runtime's words go; None is beside the weights. `seconds` is how long it may load."""
        self.weights, self.settings = weights, settings or HostSettings()
        self.window = window(weights, self.settings)
        self.log, self._seconds = log or weights.path.with_name(LOG), seconds
        self._lock = threading.Lock()
        self._process: subprocess.Popen[bytes] | None = None
        self._address: Address | None = None
        self._end: weakref.finalize[..., LocalHost] | None = None

    async def __aenter__(self) -> Address:
        return await asyncio.to_thread(self.start)

    async def __aexit__(self, *_: object) -> None:
        await asyncio.to_thread(self.stop)

    @property
    def pid(self) -> int | None:
        """The process that serves, or None."""
        return self._process.pid if self._process and self._process.poll() is None else None

    def start(self) -> Address:
        """Where it serves; it is started if it does not run. Raises BadSettings without the runtime, Unreachable."""
        with self._lock:
            if self._address is None or self.pid is None:
                self._stop()
                self._address = self._started()
            return self._address

    def stop(self) -> None:
        """End it, also while it loads; one that has ended already is no mistake."""
        if process := self._process:
            process.terminate()
        with self._lock:
            self._stop()

    def _stop(self) -> None:
        if self._end is not None:
            self._end()
        self._process = self._address = self._end = None

    def _started(self) -> Address:
        if not installed():
            raise lacking(self.weights.name, weights=True, runtime=False)
        key = secrets.token_urlsafe(24)
        self._process = process = self._spawn()
        self._end = weakref.finalize(self, _ended, process)
        try:
            url = self._ready(process, key)
        except Unreachable:
            self._stop()
            raise
        return Address(f"{url}/v1", key, self.window)

    def _spawn(self) -> "subprocess.Popen[bytes]":
        fresh = not self.log.exists() or self.log.stat().st_size > LONGEST_LOG
        with self.log.open("wb" if fresh else "ab") as log:
            return subprocess.Popen(
                # -P: no module of the folder the user happens to be in is taken for one of Python's own.
                [sys.executable, "-P", "-m", "clew.models.host_child"],
                stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=log, bufsize=0, env=SPIN | dict(os.environ),
                start_new_session=True,  # Ctrl-C cancels a turn; the model stays
            )  # fmt: skip

    def _ready(self, process: "subprocess.Popen[bytes]", key: str) -> str:
        order = {
            "path": str(self.weights.path), "name": self.weights.name, "key": key, "window": self.window,
            "threads": self.settings.threads or _cores(),
        }  # fmt: skip
        try:
            url = _told(process, json.dumps(order), self._seconds)
        except queue.Empty:
            raise Unreachable(
                f"local/{self.weights.name} was not ready within {self._seconds:g} s and was ended. The history is as "
                f"it was. Its log is {self.log}."
            ) from None
        if not url:
            raise Unreachable(
                f"local/{self.weights.name} ended before it was ready (code {process.wait(END_S)}). The history is as "
                f"it was. Its log is {self.log}; damaged weights are replaced by `clew models pull`."
            )
        return url


def window(weights: Stored, settings: HostSettings) -> int:
    """The tokens a model is served with: what is set, and no more than it was trained with."""
    wanted = min(settings.context_window, weights.trained or settings.context_window)
    return max(wanted - wanted % STEP, LEAST_WINDOW)


def _told(process: "subprocess.Popen[bytes]", order: str, seconds: float) -> str:
    """Give the order and wait for the one line of answer; empty where the process ended. Raises queue.Empty."""
    assert process.stdin is not None
    lines: queue.SimpleQueue[bytes] = queue.SimpleQueue()
    threading.Thread(target=lambda out: lines.put(out.readline()), args=(process.stdout,), daemon=True).start()
    try:
        process.stdin.write(f"{order}\n".encode())
        process.stdin.flush()
    except OSError:
        return ""
    return lines.get(timeout=seconds).decode().strip()


def _ended(process: "subprocess.Popen[bytes]") -> None:
    """End a process, whatever it does."""
    process.terminate()
    try:
        process.wait(END_S)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
    for pipe in (process.stdin, process.stdout):
        if pipe is not None:
            pipe.close()


def _cores() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
