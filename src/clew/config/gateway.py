"""Settings of the gateway: where it listens, who may ask, and how much it takes on at once."""

from typing import Annotated, Literal

from pydantic import BeforeValidator, Field, SecretStr

from clew.settings import Names, Settings

PORT = 18_789
"""OpenClaw's own, so that what points to one finds the other."""


class GatewayAuth(Settings):
    """Who may ask."""

    mode: Literal["token"] = "token"
    """A bearer token; there is no other mode."""
    token: SecretStr | None = None
    """The token; `${NAME}` for an environment variable. None makes one, kept as a hash beside the store and shown
    once."""


class Webhook(Settings):
    """A channel over signed HTTP requests."""

    enabled: bool = False
    """Whether it is there."""
    secret: SecretStr | None = None
    """What requests and answers are signed with (HMAC-SHA256); `${NAME}` for an environment variable."""
    allow_from: Names = ()
    """Senders that may talk, and give commands where `commands.allowFrom` says nothing else; `*` is everybody. Empty:
    nobody."""
    reply_url: str | None = None
    """Where answers are posted, signed alike; None answers in the response."""
    wait_seconds: Annotated[float, Field(ge=0, le=600)] = 30.0
    """How long a request waits for its answer; after that it is told the run, and the answer comes when the same
    message is sent again."""
    agent: str = "main"
    """The agent that answers."""


class Irc(Settings):
    """A channel on an IRC network."""

    enabled: bool = False
    """Whether it is there."""
    host: str = "127.0.0.1"
    """The server."""
    port: Annotated[int, Field(ge=1, le=65_535)] = 6_667
    """Its port."""
    tls: bool = False
    """Whether the connection is encrypted."""
    nick: str = "clew"
    """The name on the network."""
    password: SecretStr | None = None
    """The server's password, where it wants one; `${NAME}` for an environment variable."""
    channels: Names = ()
    """Rooms to join. In a room only lines that begin with the nick are answered."""
    allow_from: Names = ()
    """Who may talk, and give commands where `commands.allowFrom` says nothing else: nicks, or masks such as
    `ann!*@*.example.org`; `*` is everybody. Empty: nobody. A nick alone proves nothing where anybody may take it."""
    agent: str = "main"
    """The agent that answers."""


class Channels(Settings):
    """Ways in for people who do not sit at this machine."""

    webhook: Webhook = Webhook()
    """Signed HTTP requests."""
    irc: Irc = Irc()
    """An IRC network."""


def _by_channel(written: object) -> object:
    return {"*": written} if isinstance(written, list | tuple) else written


class Commands(Settings):
    """Lines that begin with a slash, in chats with people who do not sit at this machine."""

    allow_from: Annotated[
        dict[str, Names] | None, BeforeValidator(_by_channel, json_schema_input_type=dict[str, Names] | Names | None)
    ] = None
    """Senders whose commands may change something. A list holds for all channels; a map has a list for each channel by
    its name (`irc`, `webhook`), and `*` for the others. `*` as a sender is everybody. None: whoever may talk."""


class GatewaySettings(Settings):
    """The process that owns the sessions of a store and serves many clients."""

    host: str = "127.0.0.1"
    """Where it listens. Anything but loopback needs `auth.token` to be set."""
    port: Annotated[int, Field(ge=0, le=65_535)] = PORT
    """The port; 0 takes a free one and says which."""
    auth: GatewayAuth = GatewayAuth()
    """Who may ask."""
    allowed_hosts: Names = ()
    """Further names the gateway is reached by; a request for another host is refused, so that no web page can reach it
    under a name of its own."""
    allowed_origins: Names = ()
    """Web pages that may ask, besides its own."""
    max_queued: Annotated[int, Field(ge=1, le=1_000)] = 16
    """Messages that may wait for one session; the next one is told to come back later."""
    max_running: Annotated[int, Field(ge=1, le=1_000)] = 64
    """Turns that may run at once; further ones wait."""
    max_body_bytes: Annotated[int, Field(ge=1_024)] = 8_388_608
    """Bytes of a request; a larger one is refused."""
    drain_seconds: Annotated[float, Field(ge=0, le=600)] = 30.0
    """How long running turns may go on once the process is told to end."""
