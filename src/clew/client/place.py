"""Where a gateway is, and what it is shown: from what was given, the environment, or the settings, in this order."""

from collections.abc import Mapping
from urllib.parse import urlsplit

import msgspec

from clew.config import Config
from clew.errors import BadInput

URL, TOKEN = "CLEW_GATEWAY_URL", "CLEW_GATEWAY_TOKEN"
"""Environment variables."""

ANYWHERE = {"": "127.0.0.1", "0.0.0.0": "127.0.0.1", "::": "[::1]"}
"""A gateway that listens on every address of its machine is reached on this one."""


class Place(msgspec.Struct, frozen=True):
    """A gateway's place."""

    url: str
    """Without a slash at its end."""
    token: str | None
    named: bool
    """Whether somebody named it, so that it is this one or none."""

    def __repr__(self) -> str:
        """Without the token."""
        return f"Place({self.url!r})"


def place(config: Config, env: Mapping[str, str], *, url: str | None = None, token: str | None = None) -> Place:
    """The gateway that is meant. Raises BadInput for what is no URL."""
    named = url or env.get(URL) or ""
    written = config.gateway.auth.token
    shown = token or env.get(TOKEN) or (written.get_secret_value() if written else None)
    if not named:
        host = ANYWHERE.get(config.gateway.host, config.gateway.host)
        return Place(f"http://{f'[{host}]' if ':' in host.strip('[]') and host[0] != '[' else host}:"
                     f"{config.gateway.port}", shown, named=False)  # fmt: skip
    try:
        parts = urlsplit(named)
        _ = parts.port
    except ValueError:
        parts = urlsplit("")
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise BadInput(f"{named} is no gateway's URL; nothing was asked. Write it like http://127.0.0.1:18789.")
    return Place(named.rstrip("/"), shown, named=True)


def is_near(url: str) -> bool:
    """Whether a URL leads to this machine, past any proxy."""
    return (urlsplit(url).hostname or "") in ("127.0.0.1", "::1", "localhost")
