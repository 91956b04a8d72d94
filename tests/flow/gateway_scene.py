"""A gateway on loopback over a store, with a scripted model: for flows that come in from outside."""

import asyncio
import json
import socket
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from itertools import repeat
from pathlib import Path
from typing import Any

import httpx2
import uvicorn

from clew.app import Clew
from clew.config import Config
from clew.gateway.app import application
from clew.gateway.channels.signature import SIGNATURE, TIMESTAMP, sign
from clew.gateway.hub import Hub
from clew.gateway.tokens import Tokens
from clew.models.scripted import ScriptedModel
from clew.store.port import Store
from clew.transcript import text_of

TOKEN, SECRET = "a-token-for-the-tests", "a-secret-for-the-tests"


def free_port() -> int:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return int(free.getsockname()[1])


def echo(request: Any) -> str:
    """An answer that holds what was said last."""
    return f"You said: {text_of(request.messages[-1])}"


class Gateway:
    """What a test holds of it."""

    def __init__(self, url: str, hub: Hub, model: ScriptedModel, client: httpx2.AsyncClient) -> None:
        self.url, self.hub, self.model, self.client = url, hub, model, client

    async def send(self, *, secret: str = SECRET, at: int | None = None, **message: Any) -> httpx2.Response:
        """A signed message over the webhook."""
        now = int(time.time())
        body = json.dumps({"timestamp": now, **message}).encode()
        stamp = now if at is None else at
        heads = {TIMESTAMP: str(stamp), SIGNATURE: sign(secret, stamp, body), "content-type": "application/json"}
        return await self.client.post("/channels/webhook", content=body, headers=heads)

    async def ask(self, method: str, path: str, *, token: str = TOKEN, **more: Any) -> httpx2.Response:
        """A request to the API."""
        return await self.client.request(method, path, headers={"authorization": f"Bearer {token}"}, **more)


def settings(channels: dict[str, Any], **more: Any) -> Config:
    return Config.model_validate({
        "channels": channels, "gateway": {"drainSeconds": 5},
        "agents": {"defaults": {"model": "scripted/demo"}}, **more,
    })  # fmt: skip


def webhook(*allowed: str, **more: Any) -> dict[str, Any]:
    return {"webhook": {"enabled": True, "secret": SECRET, "allowFrom": list(allowed), **more}}


def stored(store: Store) -> list[Any]:
    """All that a store holds, to be compared."""
    return [(row, [record.entry for record in store.entries(row.key)]) for row in store.sessions()]


@asynccontextmanager
async def gateway(
    store: Store, config: Config, place: Path, answers: Iterator[Any] | None = None
) -> AsyncIterator[Gateway]:
    """Served over a real socket until the block ends; the store stays open."""
    model = ScriptedModel(repeat(echo) if answers is None else answers)
    hub = Hub(Clew(store, config, models={"scripted/demo": model}, env={"CLEW_HOME": str(place)}), workspace=place)
    tokens, _ = Tokens.of(TOKEN, place)
    listening = socket.create_server(("127.0.0.1", 0), backlog=512)
    server = uvicorn.Server(uvicorn.Config(application(hub, tokens), log_config=None, access_log=False, lifespan="on"))
    serving = asyncio.create_task(server.serve(sockets=[listening]))
    url = f"http://127.0.0.1:{listening.getsockname()[1]}"
    async with httpx2.AsyncClient(
        base_url=url, trust_env=False, timeout=60, limits=httpx2.Limits(max_connections=None)
    ) as client:
        while not server.started:
            assert not serving.done(), serving.exception()
            await asyncio.sleep(0.01)
        try:
            yield Gateway(url, hub, model, client)
        finally:
            server.should_exit = True
            await serving
