"""The whole tree of settings, composed of the groups that each floor keeps beside its code."""

from typing import Annotated, Any, ClassVar

from pydantic import BeforeValidator, Field, Strict

from clew.compact.settings import CompactionSettings
from clew.config.gateway import Channels, Commands, GatewaySettings
from clew.memory.settings import MemoryFlushSettings
from clew.models.settings import ModelsSettings
from clew.prompt.settings import PromptSettings, SkillsSettings
from clew.prune.settings import PruningSettings
from clew.settings import NOT_YET, Names, Settings
from clew.workspace.settings import McpSettings, ToolsSettings


class Compaction(CompactionSettings):
    """When a session is compacted, who writes the brief, and what is kept as it was."""

    memory_flush: MemoryFlushSettings = MemoryFlushSettings()
    """The silent turn before a compaction in which the model writes lasting notes."""


class ModelChoice(Settings):
    """The model of a session, and those that stand in when its provider fails."""

    primary: str | None = None
    """`provider/model-id`, or an alias. None: no model; briefs are then written by rules."""
    fallbacks: Names = ()
    """Tried in this order when the provider of the one before fails. Empty: none."""


def _choice(written: object) -> object:
    return {"primary": written} if isinstance(written, str) else written


class ModelEntry(Settings):
    """What is known of one model in the list of models."""

    alias: str | None = None
    """A short name for the model. None: it has none."""
    params: dict[str, Any] = Field(default={}, json_schema_extra=NOT_YET)
    """Provider parameters for its requests."""


class SubagentSettings(Settings):
    """Agents that do a task in a session of their own."""

    enabled: bool = False
    """Whether the model is lent the tool `spawn_agent`. A program can always spawn one."""


class AgentDefaults(PromptSettings):
    """What holds for every agent."""

    model: Annotated[ModelChoice, BeforeValidator(_choice, json_schema_input_type=ModelChoice | str)] = ModelChoice()
    """The model: `provider/model-id`, or `{primary, fallbacks}`."""
    models: dict[str, ModelEntry] = {}
    """Models by `provider/model-id`, with their aliases."""
    compaction: Compaction = Compaction()
    """Winding old messages up into a brief."""
    context_pruning: PruningSettings = PruningSettings()
    """Showing old tool results shortened."""
    subagents: SubagentSettings = SubagentSettings()
    """Agents that do a task in a session of their own."""


class AgentEntry(AgentDefaults):
    """One agent: what is set here stands in place of the defaults, key by key."""

    id: Annotated[str, Field(pattern=r"^[a-z0-9][a-z0-9_-]{0,63}$")]
    """What its sessions are called by: `agent:ID:main`."""
    workspace: str | None = None
    """The folder its tools work in; `~` is the home folder. None: where the process was started."""


class Agents(Settings):
    """Agents."""

    defaults: AgentDefaults = AgentDefaults()
    """What holds for every agent."""
    list: Annotated[tuple[AgentEntry, ...], Strict(False)] = ()
    """Agents with a workspace and settings of their own. `main` is there without being listed."""


class Slots(Settings):
    """Places of which a plug-in fills one."""

    context_engine: str = "legacy"
    """The id of the context engine. `legacy` is the built-in one."""


class PluginEntry(Settings):
    """What is set for one plug-in."""

    enabled: bool = Field(default=True, json_schema_extra=NOT_YET)
    """Whether the plug-in is loaded."""
    config: dict[str, Any] = Field(default={}, json_schema_extra=NOT_YET)
    """The plug-in's own settings; it checks them."""


class Plugins(Settings):
    """Plug-ins."""

    slots: Slots = Slots()
    """Places of which a plug-in fills one."""
    entries: dict[str, PluginEntry] = {}
    """Plug-ins by id."""


class Config(Settings):
    """Everything that can be set."""

    RETIRED: ClassVar[dict[str, str]] = {
        "env": "Clew has no such section; set the variables in the environment of the process",
    }

    agents: Agents = Agents()
    """Agents: their model, compaction, pruning."""
    models: ModelsSettings = ModelsSettings()
    """Where models are served."""
    tools: ToolsSettings = ToolsSettings()
    """What the model may do in the workspace."""
    mcp: McpSettings = McpSettings()
    """Servers that lend tools over the Model Context Protocol."""
    skills: SkillsSettings = SkillsSettings()
    """Skills the agent is told of."""
    plugins: Plugins = Plugins()
    """Plug-ins: slots and entries."""
    gateway: GatewaySettings = GatewaySettings()
    """The process that owns the sessions of a store and serves many clients."""
    channels: Channels = Channels()
    """Ways in for people who do not sit at this machine, served by the gateway."""
    commands: Commands = Commands()
    """Lines that begin with a slash, and who may say them."""
    schema_url: str | None = Field(default=None, alias="$schema")
    """Where an editor finds the schema of this file; Clew does not read it."""
