"""An import in words: what came, what was not known, what was bad, line by line."""

from collections.abc import Iterator

from rich.console import RenderableType
from rich.text import Text

from clew.render.layout import Row, fact
from clew.render.text import number, plural, visible
from clew.runtime.arrival import Arrival

MOST_BAD = 10
"""Bad lines that are named one by one."""


def arrival(came: Arrival) -> Iterator[RenderableType]:
    """What became of an imported file."""
    found = came.imported
    yield Row(
        Text(), Text.assemble(f"{found.format} file {_state(came)} ", (visible(came.key), "bold cyan")), again="  "
    )
    kinds = ", ".join(f"{number(count)} {visible(kind)}" for kind, count in found.counts.items())
    yield fact("lines", f"{kinds or 'none'} · about {number(came.tokens)} tokens")
    if found.unknown:
        kinds = ", ".join(f"{number(count)} {visible(kind)}" for kind, count in found.unknown.items())
        yield fact("unknown", f"{kinds} (kept, and never shown to a model)")
    if found.ignored:
        names = ", ".join(f"{visible(name)} ×{number(count)}" for name, count in found.ignored.items())
        yield fact("fields", f"not kept: {names}")
    for bad in found.bad[:MOST_BAD]:
        yield fact("bad line", f"{bad.number}: {bad.why}", "yellow")
    if len(found.bad) > MOST_BAD:
        yield fact("", f"… and {plural(len(found.bad) - MOST_BAD, 'more bad line')}", "yellow")
    for warning in found.warnings:
        yield fact("note", warning, "dim")


def _state(came: Arrival) -> str:
    if came.added is not None:
        return f"has grown: {plural(came.added, 'entry was', 'entries were')} added to"
    return "already here as" if came.again else "imported as"
