"""SWE-agent trajectories: the `history` of a `.traj` file, chat messages whose user turns are mostly observations."""

from typing import Any

import msgspec

from clew.store.archive.field import listing, mapping, string
from clew.store.archive.gather import Gather
from clew.store.archive.imported import Imported
from clew.store.archive.openai import take
from clew.store.archive.source import Content
from clew.transcript import Assistant, Said, User


def read(content: Content, document: dict[str, Any], *, at: int = 0) -> Imported:
    """The history of a trajectory. The first user turn is the task; later ones are what the environment showed."""
    gather, tools, answered = Gather("swe-agent", content, at=at), dict[str, str](), False
    gather.note("title", string(mapping(document, "info"), "instance_id") or string(document, "environment"))
    gather.ignore(document, {"history", "environment"})
    for raw in listing(document, "history"):
        take(gather, raw, tools)
        row = gather.rows[-1]
        message = row.body.message if isinstance(row.body, Said) else None
        answered = answered or isinstance(message, Assistant)
        if isinstance(message, User) and answered:
            row.body = Said(msgspec.structs.replace(message, synthetic=True))
    return gather.finish()
