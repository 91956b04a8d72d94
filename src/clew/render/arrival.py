"""An import in words: what came, what was not known, what was bad, line by line."""

from collections.abc import Iterator

from rich.text import Text

from clew.app import Arrival
from clew.render.text import number, plural, visible

MOST_BAD = 10
"""Bad lines that are named one by one."""


def arrival(came: Arrival) -> Iterator[Text]:
    """What became of an imported file."""
    found = came.imported
    state = "already here as" if came.again else "imported as"
    yield Text.assemble((f"{found.format} file {state} ", ""), (visible(came.key), "bold cyan"))
    kinds = ", ".join(f"{number(count)} {visible(kind)}" for kind, count in found.counts.items())
    yield Text(f"  {'lines':<10} {kinds or 'none'} · about {number(came.tokens)} tokens")
    if found.unknown:
        kinds = ", ".join(f"{number(count)} {visible(kind)}" for kind, count in found.unknown.items())
        yield Text(f"  {'unknown':<10} {kinds} (kept, and never shown to a model)")
    if found.ignored:
        names = ", ".join(f"{visible(name)} ×{number(count)}" for name, count in found.ignored.items())
        yield Text(f"  {'fields':<10} not kept: {names}")
    for bad in found.bad[:MOST_BAD]:
        yield Text(f"  {'bad line':<10} {bad.number}: {visible(bad.why)}", style="yellow")
    if len(found.bad) > MOST_BAD:
        yield Text(f"  {'':<10} … and {plural(len(found.bad) - MOST_BAD, 'more bad line')}", style="yellow")
    for warning in found.warnings:
        yield Text(f"  {'note':<10} {visible(warning)}", style="dim")
