"""The model of who has set none: a server that runs already, else small weights on this machine, else how to get one.

The one place that says in which order they are looked for.
"""

from collections.abc import Callable, Mapping
from pathlib import Path

import msgspec

from clew.models import host, weights
from clew.models.discover import TIMEOUT_S, discover
from clew.models.host_settings import HostSettings
from clew.models.settings import ModelsSettings


class Found(msgspec.Struct, frozen=True):
    """A model to talk to."""

    name: str
    """`provider/model-id`."""
    source: str
    """`settings`, `server` (one that runs already) or `weights` (to be served by Clew)."""
    base_url: str | None = None
    """Where a server was found."""
    window: int | None = None
    """Tokens, where they are known already."""


class Missing(msgspec.Struct, frozen=True):
    """There is none, and what is lacking for a small one on this machine."""

    weights: bool
    """Whether some are here."""
    runtime: bool
    """Whether what runs them is here."""

    @property
    def message(self) -> str:
        """What to do, in three lines."""
        size = next(one.size or 0 for one in weights.KNOWN if one.name == weights.DEFAULT) / 1e9
        steps = [] if self.runtime else ["pip install 'clew[local]'"]
        steps += [] if self.weights else [f"clew models pull  ({size:.1f} GB)"]
        return (
            "No model is set, and no local server runs (Ollama, llama.cpp, LM Studio, vLLM); nothing was sent.\n"
            f"A small real model on this CPU, without a key:  {',  then  '.join(steps)}\n"
            "Any other:  clew config set agents.defaults.model provider/model-id,  its key in the environment"
        )


async def default_model(
    primary: str | None,
    settings: ModelsSettings,
    env: Mapping[str, str],
    folder: Path,
    *,
    timeout_s: float = TIMEOUT_S,
    runtime: Callable[[], bool] = host.installed,
) -> Found | Missing:
    """The model to talk to.

    `primary` is what is set, `folder` holds the weights, `timeout_s` bounds each question to a server, `runtime` says
    whether weights can be run.
    """
    if primary:
        return Found(primary, "settings")
    server = await discover(settings, env, timeout_s=timeout_s)
    if server is not None:
        return Found(server.name, "server", server.base_url, server.window)
    return on_this_machine(settings.local, folder, runtime=runtime())


def on_this_machine(settings: HostSettings, folder: Path, *, runtime: bool) -> Found | Missing:
    """The best of the weights that are here, if they can be run. Asks nobody."""
    here = weights.stored(folder)
    if here and runtime:
        return Found(f"local/{here[0].name}", "weights", window=host.window(here[0], settings))
    return Missing(bool(here), runtime)
