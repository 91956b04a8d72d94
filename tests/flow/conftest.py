"""Real small models on the CPU for the flows that want one: fetched once, served on loopback, ended with the run."""

import os
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

TOOLS = Path(__file__).resolve().parents[3] / "shared" / "tools"
WEIGHTS = Path(os.environ.get("CLEW_MODELS", Path(__file__).resolve().parents[2] / ".cache" / "models"))
Serve = Callable[[str, int], str]


def _weights(name: str) -> Path:
    if not (TOOLS / "fetch_model.py").exists():
        pytest.skip("no model weights: the tools that fetch them are not beside the project")
    WEIGHTS.mkdir(parents=True, exist_ok=True)
    done = subprocess.run(
        [sys.executable, TOOLS / "fetch_model.py", name, WEIGHTS],
        capture_output=True,
        text=True,
        timeout=900,
        check=False,
    )
    if done.returncode:
        pytest.skip(f"no model weights for {name}: {done.stderr.strip()[-200:]}")
    return Path(done.stdout.strip().splitlines()[-1])


def _free_port() -> int:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port: int = free.getsockname()[1]
        return port


@pytest.fixture(scope="session")
def serve() -> Iterator[Serve]:
    """Serves a model (`135m`, `0.5b`, `1.5b`) with a context of so many tokens; gives the base URL."""
    pytest.importorskip("xllamacpp", reason="no local model runtime: pip install 'clew[local]'")
    running: dict[tuple[str, int], tuple[str, subprocess.Popen[bytes]]] = {}

    def start(name: str, context: int) -> str:
        if (name, context) not in running:
            port = _free_port()
            command = [sys.executable, TOOLS / "serve_model.py", "--model", _weights(name), "--port", str(port)]
            process = subprocess.Popen(
                [*command, "--ctx", str(context), "--slots", "1"],
                env={**os.environ, "GOMP_SPINCOUNT": "20000"},
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
            )
            running[name, context] = f"http://127.0.0.1:{port}/v1", process
            _wait(f"http://127.0.0.1:{port}/health", process)
        return running[name, context][0]

    yield start
    for _, process in running.values():
        process.terminate()
        process.wait(30)


def _wait(url: str, process: subprocess.Popen[bytes], seconds: float = 180) -> None:
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        if process.poll() is not None:
            pytest.skip(f"the model server ended at once with code {process.returncode}")
        try:
            with urllib.request.urlopen(url, timeout=2) as answer:
                if answer.status == 200:
                    return
        except OSError:
            time.sleep(0.5)
    pytest.fail("the model server did not become healthy")
