"""Further fields of a request, which are in Chat Completions' words, as the Messages API has them."""

from typing import Any

CHOICES = {"auto": "auto", "none": "none", "required": "any"}
"""What a model may do with its tools, in both formats' words."""


def further(more: dict[str, Any], *, tools: bool) -> dict[str, Any]:
    """The fields that this format has: how tools are chosen (only where there are `tools`) and where to stop."""
    sent: dict[str, Any] = {}
    if stop := more.get("stop"):
        sent["stop_sequences"] = [stop] if isinstance(stop, str) else list(stop)
    if tools and (choice := _choice(more)):
        sent["tool_choice"] = choice
    return sent


def _choice(more: dict[str, Any]) -> dict[str, Any] | None:
    wanted, alone = more.get("tool_choice"), more.get("parallel_tool_calls") is False
    if isinstance(wanted, dict):
        choice = {"type": "tool", "name": (wanted.get("function") or {}).get("name", "")}
    elif wanted in CHOICES:
        choice = {"type": CHOICES[wanted]}
    elif alone:
        choice = {"type": "auto"}
    else:
        return None
    return {**choice, "disable_parallel_tool_use": True} if alone and choice["type"] != "none" else choice
