"""The hooks a plug-in can fill, and the plug-ins found through Python's entry points (group `clew.plugins`)."""

from collections.abc import Sequence
from importlib.metadata import entry_points
from typing import Protocol, cast

import msgspec
import pluggy

from clew.engine.lossless import ID as LOSSLESS
from clew.engine.lossless import Lossless
from clew.engine.port import EngineOffer
from clew.logs import log

hookspec = pluggy.HookspecMarker("clew")
hookimpl = pluggy.HookimplMarker("clew")
"""Marks a function of a plug-in as the filling of a hook."""


class Material(msgspec.Struct, frozen=True):
    """What a compaction provider is given to summarise."""

    messages: tuple[str, ...]
    """The messages that are wound up, as labelled text, oldest first; media are markers."""
    previous: str | None
    """The earlier brief."""
    instructions: str
    """What a brief must look like: the five headings and the rules."""
    focus: str | None
    """What the user asked the brief to look at."""
    max_output: int
    """Tokens the brief may take."""


class CompactionProvider(Protocol):
    """Writes briefs in a model's place; named by `compaction.provider`.

    Its text goes through the same repair and audit as a model's. A failure, an empty answer or one that does not pass
    hands on to the built-in summariser.
    """

    @property
    def id(self) -> str:
        """What the setting names it by."""
        ...

    async def summarise(self, material: Material) -> str:
        """A brief of the material."""
        ...


class Hooks:
    """What a plug-in can provide."""

    @hookspec
    def context_engines(self) -> Sequence[EngineOffer]:  # type: ignore[empty-body]
        """Context engines to register; `plugins.slots.contextEngine` names the one that runs."""

    @hookspec
    def compaction_providers(self) -> Sequence[CompactionProvider]:  # type: ignore[empty-body]
        """Compaction providers to register."""


GROUP = "clew.plugins"
"""The entry points in which plug-ins are looked for."""

broken: dict[str, str] = {}
"""Installed plug-ins that could not be loaded or asked in this process, by name, with the reason."""


def load() -> pluggy.PluginManager:
    """A plug-in manager with every installed plug-in registered that can be; the others are told of in the log."""
    manager = pluggy.PluginManager("clew")
    manager.add_hookspecs(Hooks)
    for found in entry_points(group=GROUP):
        if manager.has_plugin(found.name):
            continue
        try:
            manager.register(found.load(), name=found.name)
        except (Exception, SystemExit) as error:  # noqa: BLE001 - a plug-in may fail in any way, and others are there
            _broken(found.name, error)
    return manager


def context_engines(manager: pluggy.PluginManager) -> tuple[EngineOffer, ...]:
    """The engines there are: those that ship, then those of plug-ins. Of two with one id the first one counts."""
    offered = [EngineOffer(LOSSLESS, Lossless)]
    for filling in manager.hook.context_engines.get_hookimpls():
        try:
            offered += cast(Sequence[EngineOffer], filling.function())
        except (Exception, SystemExit) as error:  # noqa: BLE001 - a plug-in may fail in any way, and others are there
            _broken(filling.plugin_name, error)
    return tuple(offered)


def _broken(name: str, error: BaseException) -> None:
    broken[name] = " ".join(f"{type(error).__name__}: {error}".split())
    log.warning("plug-in cannot be used", plugin=name, error=broken[name])


def compaction_provider(manager: pluggy.PluginManager, name: str) -> CompactionProvider | None:
    """The provider registered under a name; the first one where two plug-ins use the same."""
    offered = (provider for some in manager.hook.compaction_providers() for provider in some)
    return next((provider for provider in offered if provider.id == name), None)
