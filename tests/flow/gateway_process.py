"""A gateway in a process of its own, over the scripted model server: for tests that end it, kill it, or load it."""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any, Self

import httpx2

from clew.testing.server import ModelServer

TOKEN = "a-token-for-tests-only"


class Gateway:
    """The process; a context manager that ends it. `log` holds what it said once it has ended."""

    def __init__(self, folder: Path, server: ModelServer, *, window: int = 32_768, **settings: Any) -> None:
        self.folder, self.log, self.url, self.port = folder, "", "", 0
        self.process: subprocess.Popen[str] | None = None
        self._clients: list[httpx2.Client] = []
        models = server.settings(models=[{"id": "any", "contextWindow": window}])
        written = {"port": 0, "auth": {"token": TOKEN}, **settings}
        config = {"models": models, "agents": {"defaults": {"model": "scripted/any"}}, "gateway": written}
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "clew.json5").write_text(json.dumps(config))

    def __enter__(self) -> Self:
        return self if self.process and self.process.poll() is None else self.start()

    def __exit__(self, *exc: object) -> None:
        self.end(signal.SIGTERM if exc == (None, None, None) else signal.SIGKILL)

    def command(self) -> list[str]:
        """How it is started."""
        code = "from clew.cli import main; main()"
        return [sys.executable, "-c", code, "gateway", "--config", str(self.folder / "clew.json5")]

    def environment(self) -> dict[str, str]:
        """A home of its own."""
        kept = {name: value for name, value in os.environ.items() if not name.startswith(("CLEW_", "OLLAMA_"))}
        return {**kept, "CLEW_HOME": str(self.folder)}

    def start(self) -> Self:
        """Start it and wait until it listens."""
        self.process = subprocess.Popen(
            self.command(), env=self.environment(), cwd=self.folder, text=True,
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
        )  # fmt: skip
        assert self.process.stdout is not None
        said = " "
        while said and not said.startswith("Clew gateway at "):  # warnings may come first
            said = self.process.stdout.readline()
            self.log += said
        assert said, self.log
        self.url = said.split()[-1]
        self.port = int(self.url.rpartition(":")[2])
        return self

    def end(self, how: signal.Signals = signal.SIGTERM) -> int:
        """End it, keep what it said, and give its exit code."""
        if self.process.poll() is None:
            self.process.send_signal(how)
        self.log += self.process.stdout.read() if not self.process.stdout.closed else ""
        self.process.wait(60)
        self.process.stdout.close()
        while self._clients:
            self._clients.pop().close()
        return self.process.returncode

    def client(self, **more: Any) -> httpx2.Client:
        """A client that has the token; closed with the process."""
        heads = {"authorization": f"Bearer {TOKEN}"}
        self._clients.append(httpx2.Client(base_url=self.url, headers=heads, timeout=30, **more))
        return self._clients[-1]

    def async_client(self, **more: Any) -> httpx2.AsyncClient:
        """The same for many requests at once."""
        limits = httpx2.Limits(max_connections=None, max_keepalive_connections=None)
        heads = {"authorization": f"Bearer {TOKEN}"}
        return httpx2.AsyncClient(base_url=self.url, headers=heads, timeout=60, limits=limits, **more)


def said(entries: list[dict[str, Any]], role: str) -> list[str]:
    """The words of one role in a page of entries, in order."""
    return [one["text"] for one in entries if one.get("role") == role]
