"""Old results cleared by the provider itself: when that is possible, and what a request has to ask for."""

from collections.abc import Iterable
from typing import Any
from urllib.parse import urlsplit

from clew.prune.settings import PrunableTools
from clew.prune.tools import prunable

EDIT = "clear_tool_uses_20250919"
BETA = "context-management-2025-06-27"
"""The header `anthropic-beta` a request with edits needs."""

HOST = "api.anthropic.com"
OAUTH = "sk-ant-oat"
"""What a token begins with that is no API key."""

TRIGGER, KEPT, CLEARED = 50_000, 3, 12_500
"""Tokens of input from which the provider clears, the newest uses it keeps, and the tokens it clears at least."""


def serves(provider: str, api: str, key: str, base_url: str) -> bool:
    """Whether a route clears old results itself: Anthropic's own endpoint, asked with an API key."""
    keyed = bool(key.strip()) and not key.startswith(OAUTH)
    default = not base_url or urlsplit(base_url).hostname == HOST
    return provider.lower() == "anthropic" and api == "anthropic-messages" and keyed and default


def context_edits(window: int | None, tools: PrunableTools, names: Iterable[str]) -> dict[str, Any]:
    """What a request asks for: clearing from 30 % of the window on, at least 5 % of it, never the tools kept out.

    `names` are those of the tools the request lends and of those that were called.
    """
    size = window or 0
    literal = {name.strip() for name in tools.deny if name.strip() and "*" not in name}
    kept = {name for name in names if not prunable(name, tools)}
    edit = {
        "type": EDIT,
        "trigger": {"type": "input_tokens", "value": max(TRIGGER, size * 30 // 100)},
        "keep": {"type": "tool_uses", "value": KEPT},
        "clear_at_least": {"type": "input_tokens", "value": max(CLEARED, size * 5 // 100)},
        "exclude_tools": sorted(literal | kept),
        "clear_tool_inputs": False,
    }
    return {"edits": [edit]}


def cleared(management: object) -> tuple[int, int]:
    """Results and tokens of input the provider cleared, as the answer's `context_management` says; else zeros."""
    edits = management.get("applied_edits") if isinstance(management, dict) else None
    ours = [edit for edit in edits or () if isinstance(edit, dict) and edit.get("type") == EDIT]
    return _sum(ours, "cleared_tool_uses"), _sum(ours, "cleared_input_tokens")


def _sum(edits: list[dict[str, Any]], field: str) -> int:
    return sum(n for edit in edits if isinstance(n := edit.get(field), int) and not isinstance(n, bool) and n > 0)
