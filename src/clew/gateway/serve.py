"""The process: listens, says where, ends in order."""

import socket
from collections.abc import Callable, Sequence
from pathlib import Path

import uvicorn

from clew.app import Clew
from clew.errors import BadSettings
from clew.gateway.app import Routes, application
from clew.gateway.hub import Hub
from clew.gateway.tokens import Tokens

LOOPBACK = ("127.0.0.1", "::1", "localhost")

DRAIN_MORE_S = 10
"""Seconds the server waits beyond the turns' own time before it drops connections."""


def serve(
    clew: Clew, folder: Path, workspace: Path, *, anew: bool = False, say: Callable[[str, str | None], None],
    more: Sequence[Routes] = (),
) -> None:  # fmt: skip
    """Serve until told to end. `say` is told the URL once it listens, and the token if one was made just now.

    Raises BadSettings where it may not or cannot listen.
    """
    settings = clew.config.gateway
    written = settings.auth.token.get_secret_value() if settings.auth.token else None
    if settings.host not in LOOPBACK and written is None:
        raise BadSettings(
            f"gateway.host is {settings.host}, which others can reach, and no gateway.auth.token is set. Nothing was "
            "started. Set a token, or listen on 127.0.0.1."
        )
    tokens, made = Tokens.of(written, folder, anew=anew)
    listening = _listen(settings.host, settings.port)
    host, port = listening.getsockname()[:2]
    app = application(Hub(clew, workspace=workspace), tokens, more=more)
    config = uvicorn.Config(
        app, log_config=None, access_log=False, lifespan="on", server_header=False,
        timeout_graceful_shutdown=int(settings.drain_seconds) + DRAIN_MORE_S, ws_max_size=settings.max_body_bytes,
    )  # fmt: skip
    say(f"http://{f'[{host}]' if ':' in host else host}:{port}", made)
    uvicorn.Server(config).run(sockets=[listening])


def _listen(host: str, port: int) -> socket.socket:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    listening = socket.socket(family, socket.SOCK_STREAM)
    listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listening.bind((host, port))
    except OSError as error:
        listening.close()
        raise BadSettings(
            f"The gateway cannot listen on {host}:{port} ({error.strerror}). Nothing was started. Another gateway may "
            "run there; choose another port with gateway.port, or --port."
        ) from error
    listening.listen(1024)
    return listening
