"""Model names as clients of the OpenAI endpoint send them, and the agent behind each: its models and its settings."""

from collections.abc import Iterator
from typing import Any

import msgspec

from clew.app import Clew
from clew.config.agents import MAIN, agent_of, settings_of
from clew.errors import BadSettings
from clew.gateway.openai_errors import Refused
from clew.gateway.openai_request import Asked
from clew.memory.settings import MemoryFlushSettings
from clew.prompt.assemble import SystemPrompt
from clew.prompt.sections import PromptPart, Side
from clew.runtime.agent import Agent
from clew.runtime.relay import Lent
from clew.staff import cache_prices, cheaper, route

DEFAULT = "clew"
"""The model name that means: the agent's own model."""


class Target(msgspec.Struct, frozen=True):
    """Who answers: an agent's settings, and a model."""

    agent: str
    clew: Clew
    """Clew with the agent's settings."""
    model: str
    """`provider/model-id`."""


async def target(clew: Clew, name: str, session: str | None) -> Target:
    """Who is meant by a model's name, in the session of that key. Raises Refused."""
    agent = agent_of(session) if session else MAIN
    agents = {MAIN, *(one.id for one in clew.config.agents.list)}
    if name in agents:
        if session and name != agent:
            raise Refused(
                f"Session {session} belongs to the agent `{agent}`, not to `{name}`; nothing was sent.", param="model"
            )
        agent = name
    key = session or f"agent:{agent}:main"
    own, as_set = clew.of(key, strict=True), name == DEFAULT or name in agents
    try:
        full = await clew.model_for(key, None if as_set else name)
        own.model(full)
    except BadSettings as error:
        if as_set:
            raise
        words = f"The model `{name}` does not exist: {error} `GET /v1/models` lists those there are."
        raise Refused(words, param="model", code="model_not_found", status=404) from error
    return Target(agent, own, full)


def built(target: Target, asked: Asked) -> Agent:
    """The agent for one request: its prompt and its tools are the client's."""
    clew, name = target.clew, target.model
    defaults = clew.config.agents.defaults
    price, compaction = clew.price(name), defaults.compaction
    stand_ins = [clew.full_name(one) for one in defaults.model.fallbacks]
    sides: tuple[tuple[Side, str], ...] = (("stable", asked.system), ("dynamic", asked.dynamic))
    parts = tuple(PromptPart(side, "system prompt", "client", text) for side, text in sides if text)
    prompt = SystemPrompt(asked.system, asked.dynamic, parts)
    return Agent(
        chain=tuple(clew.model(one) for one in dict.fromkeys([name, *stand_ins])),
        toolbox=Lent(asked.tools),
        prompt=lambda again: prompt,
        compaction=compaction,
        flush=MemoryFlushSettings(enabled=False),
        writers=(clew.model(compaction.model),) if compaction.model else (),
        rides=lambda conversation, text: cheaper(price, conversation, text),
        pruning=defaults.context_pruning,
        route=route(clew.model(name)),
        prices=cache_prices(price),
        max_output=asked.max_output,
    )


def listed(clew: Clew) -> Iterator[dict[str, Any]]:
    """The agents, and the models that the settings name, as `/v1/models` tells of them."""
    config = clew.config
    agents = [DEFAULT, MAIN, *(one.id for one in config.agents.list)]
    defaults = [config.agents.defaults, *(settings_of(config, one).agents.defaults for one in agents[2:])]
    named = [name for one in defaults for name in (one.model.primary, *one.model.fallbacks, *one.models) if name]
    declared = [f"{id}/{model.id}" for id, one in config.models.providers.items() for model in one.models]
    for name in dict.fromkeys(agents):
        yield _model(name, "clew")
    for name in dict.fromkeys([*(_full(clew, one) for one in named), *declared]):
        yield _model(name, name.partition("/")[0])


def _full(clew: Clew, name: str) -> str:
    try:
        return clew.full_name(name)
    except BadSettings:  # a mistake in the settings is told when that model is asked for
        return name


def _model(name: str, owner: str) -> dict[str, Any]:
    return {"id": name, "object": "model", "created": 0, "owned_by": owner}
