"""The settings of one agent among several: the defaults with what is set for it in their place."""

from typing import TypeVar

from clew.config.tree import AgentDefaults, AgentEntry, Config
from clew.errors import BadSettings
from clew.settings import Settings

MAIN = "main"
"""The agent that is there without being listed."""

Group = TypeVar("Group", bound=Settings)


def agent_of(key: str) -> str:
    """The agent a session's key names: `agent:ID:…`; `main` for any other key."""
    kind, _, rest = key.partition(":")
    return rest.partition(":")[0] if kind == "agent" and rest.partition(":")[0] else MAIN


def entry_of(config: Config, agent: str) -> AgentEntry | None:
    """What is set for an agent; None for one that has nothing of its own. Raises BadSettings for one that is none."""
    found = next((one for one in config.agents.list if one.id == agent), None)
    if found is None and agent != MAIN:
        known = ", ".join(dict.fromkeys([MAIN, *(one.id for one in config.agents.list)]))
        raise BadSettings(f"There is no agent `{agent}` (there are: {known}). Nothing was begun; see agents.list.")
    return found


def settings_of(config: Config, agent: str) -> Config:
    """The whole tree as it holds for an agent. Raises BadSettings."""
    entry = entry_of(config, agent)
    if entry is None:
        return config
    own = {name: getattr(entry, name) for name in entry.model_fields_set & AgentDefaults.model_fields.keys()}
    defaults = _over(config.agents.defaults, own)
    return config.model_copy(update={"agents": config.agents.model_copy(update={"defaults": defaults})})


def _over(below: Group, own: dict[str, object]) -> Group:
    """Settings with others in their place; of a group, only the keys that are set."""
    new: dict[str, object] = {}
    for name, value in own.items():
        there = getattr(below, name)
        if isinstance(value, Settings) and type(value) is type(there):
            new[name] = _over(there, {key: getattr(value, key) for key in value.model_fields_set})
        else:
            new[name] = value
    return below.model_copy(update=new)
