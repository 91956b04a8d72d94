"""The process in which a small model runs: `python -m clew.models.host_child`, started by `clew.models.host` alone.

It reads one line of JSON from its standard input, says when and where it is ready, and ends when the input ends: so
it never outlives whoever started it. The key comes by the same way, where no list of processes shows it.
"""

import json
import os
import sys
from importlib import import_module
from typing import Any

RUNTIME = "xllamacpp"
"""The package that runs weights: the server of llama.cpp as a Python extension."""

CACHE_MIB = 512
"""Memory for prompts whose beginnings may come again."""

WARNINGS = 2
"""What the runtime says: errors and warnings, not ten lines for every request."""


def serve(order: dict[str, Any]) -> Any:
    """A running server on loopback, one request at a time: two would give another text, and little speed."""
    runtime = import_module(RUNTIME)
    params = runtime.CommonParams()
    params.model.path = order["path"]
    params.model_alias = {order["name"]}
    params.hostnames = ["127.0.0.1"]
    params.port = 0
    params.api_keys = [order["key"]]
    params.n_ctx = order["window"]
    params.n_parallel = 1
    params.cpuparams.n_threads = params.cpuparams_batch.n_threads = order["threads"]
    params.use_jinja = True
    params.cache_ram_mib = CACHE_MIB
    params.verbosity = WARNINGS
    # It serves and does nothing else: no page, no network, no view into the prompts of others.
    params.ui = params.endpoint_slots = params.load_mtp = False
    params.offline = params.no_mmproj = True
    return runtime.Server(params)


def main() -> None:
    """Serve until the input ends."""
    answers = os.fdopen(os.dup(sys.stdout.fileno()), "w")
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())  # what the runtime prints belongs in the log
    order = sys.stdin.buffer.readline()
    if order:
        server = serve(json.loads(order))
        print(server.listening_address, file=answers, flush=True)
        sys.stdin.buffer.read()
    os._exit(0)  # the runtime's own threads would be waited for


if __name__ == "__main__":
    main()
