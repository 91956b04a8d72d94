"""The provider `local`: a small model that is served from its weights as soon as it is asked, and not before."""

import asyncio
from pathlib import Path

from pydantic import SecretStr

from clew.models import weights
from clew.models.host import Address, LocalHost, installed, lacking, window
from clew.models.host_settings import HostSettings
from clew.models.port import Limits, Request
from clew.models.providers.openai import OpenAIModel
from clew.models.providers.remote import Endpoint, OnText
from clew.transcript import Assistant

PROVIDER = "local"
"""What stands before the slash in its models' names."""


class HostedModel:
    """A model over a server of its own, which ends with `close` or with this process."""

    def __init__(self, model: str, settings: HostSettings, folder: Path) -> None:
        """`folder` holds the weights. Raises BadSettings where they, or what runs them, are not on this machine."""
        found = weights.find(folder, model)
        if found is None or not installed():
            raise lacking(model, weights=found is not None, runtime=installed())
        self.name = f"{PROVIDER}/{found.name}"
        self._window = window(found, settings)
        self._host = LocalHost(found, settings)
        self._served: tuple[Address, OpenAIModel] | None = None

    @property
    def pid(self) -> int | None:
        """The process that serves it, or None where none does."""
        return self._host.pid

    async def limits(self) -> Limits:
        """The window it is served with; nothing is started to tell it."""
        return Limits(self._window, source="server")

    async def complete(self, request: Request, *, on_text: OnText = None) -> Assistant:
        """The answer; the server is started first, and again if it has ended. See the port."""
        model = await self._running()
        return await model.complete(request, on_text=on_text)

    async def close(self) -> None:
        """End the server; the next request starts another."""
        await self._let_go()
        await asyncio.to_thread(self._host.stop)

    async def _running(self) -> OpenAIModel:
        address = await asyncio.to_thread(self._host.start)
        if self._served is None or self._served[0] != address:
            await self._let_go()
            self._served = address, OpenAIModel(_endpoint(self.name, address))
        return self._served[1]

    async def _let_go(self) -> None:
        served, self._served = self._served, None
        if served is not None:
            await served[1].close()


def _endpoint(name: str, address: Address) -> Endpoint:
    provider, _, model = name.partition("/")
    limits = Limits(address.window, source="server")
    return Endpoint(provider, model, address.base_url, SecretStr(address.key), limits=limits, images=False)
