"""An agent built from settings: its models, its tools in a workspace, its prompt, and where its notes go."""

import os
from collections.abc import Callable, Iterable, Mapping
from datetime import datetime
from typing import Any

from clew.clock import NewId, Now
from clew.config import Config
from clew.models import catalog
from clew.models.port import Model
from clew.models.providers import ADAPTERS, split
from clew.models.providers.remote import Remote
from clew.prompt import chat, skills
from clew.prompt.assemble import Changing, SystemPrompt, assemble, standing
from clew.prompt.files import Audience, WorkspaceFile, visible
from clew.prompt.refresh import post_compaction_sections
from clew.prune.gate import Route
from clew.prune.remote import serves
from clew.prune.worth import Prices
from clew.runtime.agent import Agent
from clew.runtime.tools import Function, Toolbox
from clew.workspace import notes, prompt_files
from clew.workspace.offers import Hands
from clew.workspace.place import Workspace
from clew.workspace.port import Offer


class Staff:
    """Builds the agent of one workspace for whatever model is named."""

    def __init__(
        self,
        config: Config,
        workspace: Workspace,
        model: Callable[[str], Model],
        *,
        env: Mapping[str, str],
        now: Now,
        new_id: NewId,
        tools: Iterable[Function | Offer] = (),
        channel: str = "terminal",
        instructions: str = "",
        audience: Audience = "direct",
        place: Callable[[], chat.Place] = chat.Place,
    ) -> None:
        """`model` makes a model of its name; `tools` come beside those of the workspace; `audience` reads along.

        `place` says where the session's people write from now; it is asked for every turn.
        """
        self.config, self.workspace, self._model, self._now = config, workspace, model, now
        self._channel, self._instructions, self._audience = channel, instructions, audience
        self._place = place
        hands = Hands(workspace, config.tools, env=env, new_id=new_id)
        self.toolbox = Toolbox([*hands.offers(), *tools], keep=self._keep)

    def agent(self, name: str, *, stand_ins: Iterable[str] = (), window: int | None = None) -> Agent:
        """The agent that talks to a model, with those that stand in for it."""
        defaults = self.config.agents.defaults
        compaction, flush = defaults.compaction, defaults.compaction.memory_flush
        return Agent(
            chain=tuple(self._model(one) for one in (name, *stand_ins)),
            toolbox=self.toolbox,
            prompt=lambda again: self.prompt(name, again),
            compaction=compaction,
            flush=flush,
            writers=(self._model(compaction.model),) if compaction.model else (),
            flush_writers=(self._model(flush.model),) if flush.model else (),
            note=self._note if self._can_note() else None,
            note_path=lambda: notes.note_path(self._today()),
            refresh=self.refresh,
            rides=lambda conversation, text: cheaper(
                catalog.price(*split(name), self.config.models), conversation, text
            ),
            pruning=defaults.context_pruning,
            route=route(self._model(name)),
            prices=cache_prices(catalog.price(*split(name), self.config.models)),
            window=window,
        )

    def prompt(self, model: str, refresh: str = "") -> SystemPrompt:
        """The system prompt as the workspace is now. Nothing in its stable part changes by itself."""
        defaults, where = self.config.agents.defaults, self._place()
        files = [
            WorkspaceFile(one.name, one.text, one.error or "") for one in prompt_files.prompt_files(self.workspace)
        ]
        listed = [skills.read(one.name, one.text) for one in prompt_files.skills(self.workspace) if one.text]
        fixed = standing(
            defaults,
            self.config.skills.limits,
            instructions=self._instructions,
            tools=[tool.name for tool in self.toolbox.tools],
            skills=[skill for skill in listed if skill],
            files=visible(files, "group" if where.room and self._audience == "direct" else self._audience),
        )
        zone = datetime.now().astimezone().tzname() or ""
        return assemble(
            fixed,
            Changing(
                date=self._today(),
                zone=zone,
                channel=where.channel or self._channel,
                model=model,
                workspace=str(self.workspace.root),
                group=chat.words(where),
                refresh=refresh,
            ),
        )

    def refresh(self) -> str:
        """The sections of AGENTS.md that the settings show again after a compaction."""
        defaults = self.config.agents.defaults
        names = defaults.compaction.post_compaction_sections
        text = next((one.text for one in prompt_files.prompt_files(self.workspace) if one.name == "AGENTS.md"), None)
        most = defaults.context_limits.post_compaction_max_chars
        return post_compaction_sections(text, names, self._today(), most=most) if names and text else ""

    def _can_note(self) -> bool:
        """Whether notes can be written here, asked before a model is: one that cannot be kept costs a request."""
        folder = self.workspace.root / notes.FOLDER
        place = folder if folder.exists() else self.workspace.root
        return not self.workspace.read_only and place.is_dir() and os.access(place, os.W_OK)

    def _keep(self, tool: str, text: str) -> Any:
        return self.workspace.save_output(f"{self._now()}-{tool}.txt", text)

    def _note(self, text: str) -> str | None:
        done = notes.append_note(self.workspace, self._today(), text)
        return done.reason if isinstance(done, notes.NotNoted) else None

    def _today(self) -> str:
        return datetime.fromtimestamp(self._now() / 1000).astimezone().date().isoformat()


def route(model: Model) -> Route:
    """Where a model's requests go, as far as pruning cares."""
    provider, _, name = model.name.partition("/")
    if not isinstance(model, Remote):
        return Route(provider, name)
    at = model.endpoint
    api = next((api for api, adapter in ADAPTERS.items() if isinstance(model, adapter)), "")
    key = at.key.get_secret_value() if at.key else ""
    return Route(provider, name, api, serves(provider, api, key, at.base_url))


def cache_prices(price: catalog.Price | None) -> Prices:
    """What a model's prompt cache costs as a share of its input; the usual shares where that is not known."""
    usual, rates = Prices(), price.rates if price else None
    if rates is None or rates.input <= 0:
        return usual
    read = usual.read if rates.cache_read is None else rates.cache_read / rates.input
    write = 1.0 if rates.cache_write is None and rates.cache_read is not None else usual.write
    return Prices(read, write if rates.cache_write is None else rates.cache_write / rates.input)


def cheaper(price: catalog.Price | None, conversation: int, text: int) -> bool:
    """Whether reading a conversation of so many tokens from the cache costs less than sending it as a text of so many.

    Where no price of cached input is known nothing is said to be cheaper.
    """
    read = price.rates.cache_read if price else None
    return price is not None and read is not None and read * conversation < price.rates.input * text
