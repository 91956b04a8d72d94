"""What every request of a session begins with, remembered from turn to turn, so that a change of it is told.

A provider's cache holds a prompt by the bytes it begins with: another model, other tools or another system prompt (a
file of the workspace was edited, a day has passed) make the next request start anew, also after a restart.
"""

import hashlib
from collections.abc import Sequence

import msgspec

from clew.models.port import Tool
from clew.prompt.assemble import SystemPrompt
from clew.runtime.session import Session

FACT = "prefix"
"""Under which a session's row remembers what its newest requests began with."""


def changed(session: Session, model: str, tools: Sequence[Tool], prompt: SystemPrompt, *, tell: bool = True) -> str:
    """Remember what requests begin with from here on; the cause of a break nobody has told of: `model`, `tools`,
    `prompt`, or nothing.

    A compaction, reset or undo in between was told by whoever did it, and changes of the prompt that come with it
    (sections shown again) are a part of that break. `tell` False only remembers.
    """
    row = session.row()
    now = {
        "model": model,
        "tools": _digest(msgspec.json.encode(tools)),
        "prompt": _digest(f"{prompt.stable}\0{prompt.dynamic}".encode()),
        "generation": row.generation,
    }
    known = row.meta.get(FACT)
    if known == now:
        return ""
    session.store.describe(session.key, {FACT: now})
    if not tell or not isinstance(known, dict):
        return ""
    other = [name for name in ("model", "tools", "prompt") if known.get(name) != now[name]]
    if known.get("generation") != row.generation:
        other = [name for name in other if name == "model"]
    return other[0] if other else ""


def _digest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()[:16]
