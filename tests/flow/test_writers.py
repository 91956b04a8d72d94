"""Who writes a brief: the model named, the one set, the session's chain, a registered provider, or rules."""

import asyncio
import json
import logging
from collections.abc import Sequence

import pluggy
import pytest

from clew.app import Clew
from clew.compact.outcome import Compacted, Declined, Outcome
from clew.config.load import parse
from clew.errors import Unreachable
from clew.logs import to_file
from clew.models.scripted import ScriptedModel
from clew.plugins import Hooks, Material, hookimpl
from clew.store.inmemory import InMemoryStore
from tests.unit.compact.test_flow import GOOD, HISTORY

CHAIN = "model: {primary: 'a/one', fallbacks: ['b/two']}"


class Offered:
    """A plug-in with one provider that answers as it was told to."""

    id = "mine"

    def __init__(self, answer: str | Exception) -> None:
        self.answer, self.seen = answer, []

    async def summarise(self, material: Material) -> str:
        self.seen.append(material)
        if isinstance(self.answer, Exception):
            raise self.answer
        return self.answer

    @hookimpl
    def compaction_providers(self) -> Sequence["Offered"]:
        return [self]


def compacted(settings: str, offered: Offered | None = None, **more) -> tuple[Outcome, dict[str, ScriptedModel]]:
    """What comes of a compaction under these defaults, where `a/one` cannot be reached and all others answer."""
    models = {name: ScriptedModel([GOOD], name=name) for name in ("b/two", "c/three", "nick")}
    models["a/one"] = ScriptedModel([Unreachable("gone")] * 3, name="a/one")
    manager = pluggy.PluginManager("clew")
    manager.add_hookspecs(Hooks)
    if offered:
        manager.register(offered)
    config = parse(f"{{agents: {{defaults: {{{settings}}}}}}}")
    with Clew(InMemoryStore(), config, models=models, manager=manager) as clew:
        clew.create("k").append(*[entry.body.message for entry in HISTORY])
        return asyncio.run(clew.compact("k", keep=0, **more)), models


def test_the_chain_of_the_session_stands_in_where_no_writer_is_set():
    done, models = compacted(CHAIN)
    assert isinstance(done, Compacted)
    assert (len(models["a/one"].requests), len(models["b/two"].requests)) == (1, 1)


@pytest.mark.parametrize(("settings", "named"), [(f"{CHAIN}, compaction: {{model: 'a/one'}}", None), (CHAIN, "a/one")])
def test_a_writer_that_is_set_or_named_has_no_stand_in(settings, named):
    done, models = compacted(settings, model=named)
    assert isinstance(done, Declined)
    assert done.code == "unreachable"
    assert models["b/two"].requests == []


@pytest.mark.parametrize(("name", "writer"), [("short", "c/three"), ("c/three", "c/three"), ("nick", "nick")])
def test_a_writer_is_named_by_alias_and_a_literal_name_wins(name, writer):
    done, _ = compacted("models: {'c/three': {alias: 'short'}, 'b/two': {alias: 'nick'}}", model=name)
    assert isinstance(done, Compacted)
    assert done.body.model == writer


def test_a_provider_writes_in_the_models_place_and_forces_safeguard():
    offered = Offered(GOOD)
    done, models = compacted("compaction: {provider: 'mine', model: 'b/two', mode: 'default'}", offered, focus="retry")
    assert isinstance(done, Compacted)
    assert (done.body.mode, models["b/two"].requests) == ("safeguard", [])
    [material] = offered.seen
    assert material.focus == "retry"
    assert any("AUTH-731" in message for message in material.messages)


@pytest.mark.parametrize("answer", [RuntimeError("broken"), "", "  \n", "no brief at all"])
def test_where_a_provider_fails_the_model_takes_over_with_its_audit(answer):
    done, models = compacted("compaction: {provider: 'mine', model: 'b/two'}", Offered(answer))
    assert isinstance(done, Compacted)
    assert (done.body.model, len(models["b/two"].requests)) == ("b/two", 1)


def test_a_provider_that_nobody_registered_is_no_failure():
    done, _ = compacted("compaction: {provider: 'other', model: 'b/two'}", Offered(GOOD))
    assert isinstance(done, Compacted)
    assert done.body.model == "b/two"


@pytest.fixture
def logged(tmp_path):
    """Reads the log that is written meanwhile; afterwards the logger is as it was."""
    logger = logging.getLogger("clew")
    before = [*logger.handlers], logger.level, logger.propagate
    to_file(tmp_path)
    yield lambda: [json.loads(line) for line in (tmp_path / "clew.log").read_text("utf-8").splitlines()]
    for handler in {*logger.handlers} - {*before[0]}:
        logger.removeHandler(handler)
        handler.close()
    logger.level, logger.propagate = before[1:]


def test_the_log_has_start_and_end_with_sizes_and_no_words(logged):
    compacted("", by_rules=True)
    start, end, broke = logged()
    assert (start["event"], start["trigger"], end["event"]) == ("compaction start", "manual", "compaction end")
    assert (broke["event"], broke["cause"]) == ("prefix break", "compaction")
    assert end["tokensAfter"] < end["tokensBefore"]
    assert {"attempts", "durationMs", "outcome"} <= end.keys()
    assert "AUTH-731" not in json.dumps([start, end])
