"""What is told of a session in a list, by a gateway and by whoever reads the store itself. Knows no web framework."""

from typing import Any

from clew.config import Config
from clew.config.agents import agent_of, settings_of
from clew.errors import BadSettings
from clew.gateway.facts import ARCHIVED, INTERRUPTED
from clew.models import catalog
from clew.render import as_json
from clew.runtime import house, lineage
from clew.store.port import DAMAGED, SessionRow


def told(row: SessionRow, config: Config, now: int) -> dict[str, Any]:
    """A row as data: sizes are the conversation's, without what every request sends beside it."""
    out: dict[str, Any] = as_json.camel(as_json.session(row))
    meta, agent = out.pop("meta", {}), agent_of(row.key)
    model, window = in_use(row, config)
    return {
        **out, "agent": agent, "agentId": agent, "title": meta.get("title"), "format": meta.get("format"),
        "model": model, "contextTokens": window, "totalTokens": row.window_tokens,
        "compactionCount": row.compactions, "updatedAt": row.updated, "ageMs": max(0, now - row.updated),
        "archived": bool(meta.get(ARCHIVED)), "interrupted": meta.get(INTERRUPTED),
        "damaged": meta.get(DAMAGED),
        "running": None, "queued": 0,
    }  # fmt: skip


def in_use(row: SessionRow, config: Config) -> tuple[str | None, int | None]:
    """The model of a session's newest request, or the one its agent would ask, and that one's window, if known."""
    known = row.meta.get(lineage.FACT)
    model = known.get("model") if isinstance(known, dict) else None
    try:
        model = model or settings_of(config, agent_of(row.key)).agents.defaults.model.primary
    except BadSettings:
        model = model or config.agents.defaults.model.primary
    if not isinstance(model, str):
        return None, None
    learnt = row.meta.get(house.LEARNT)
    windows = [catalog.limits(*_parts(model), config.models).budget, learnt.get(model) if isinstance(learnt, dict)
               else None]  # fmt: skip
    return model, min((size for size in windows if size), default=None)


def _parts(model: str) -> tuple[str, str]:
    provider, _, name = model.partition("/")
    return provider, name
