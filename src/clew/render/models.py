"""Small models in words: which are known and here, how far a download is, and which model is taken."""

from collections.abc import Iterator, Sequence

from rich.table import Table
from rich.text import Text

from clew.models.default import Found, Missing
from clew.models.host import Address
from clew.models.pull import Pulled, Step
from clew.models.weights import KNOWN, Stored
from clew.render.text import number, percent, visible

STEPS = {"fetch": "fetching", "check": "checking"}
"""What is done with weights, in words."""

SOURCES = {
    "settings": "it is set",
    "server": "a server that runs on this machine",
    "weights": "served by Clew itself, on the CPU",
}
"""Why a model is taken."""


def listing(here: Sequence[Stored]) -> Table:
    """The weights that are known and those that are here, one a row."""
    table = Table(box=None, pad_edge=False, header_style="dim")
    for column in ("model", "size", "window", "licence", "here"):
        table.add_column(column, justify="right" if column in ("size", "window") else "left", no_wrap=column == "model")
    found = {one.name: one for one in here}
    for one in KNOWN:
        licence = one.notice.rpartition(", ")[2]
        table.add_row(f"local/{one.name}", size(one.size), number(one.trained), licence, _yes(one.name in found))
    known = {one.name for one in KNOWN}
    for other in here:
        if other.name not in known:
            table.add_row(f"local/{visible(other.name)}", size(other.size), number(other.trained), "", _yes(True))
    return table


def chosen(choice: Found | Missing) -> Iterator[Text]:
    """Which model a chat would take, and why; or what to do to have one."""
    if isinstance(choice, Missing):
        yield Text(choice.message)
        return
    where = f" at {choice.base_url}" if choice.base_url else ""
    window = f", window {number(choice.window)}" if choice.window else ""
    yield Text(f"Taken: {visible(choice.name)} ({SOURCES[choice.source]}{where}{window})")


def pulled(done: Pulled) -> Iterator[Text]:
    """Weights that are there now."""
    was = "was here already, and its hash is right" if done.again else f"{size(done.size)}, SHA-256 right"
    yield Text(f"local/{done.weights.name}: {was}")
    yield Text(f"  {done.path}")
    yield Text(f"  {done.weights.notice}", style="dim")


def next_step(*, runtime: bool) -> Text:
    """What to do with weights that are here."""
    if not runtime:
        return Text("What runs it is missing: pip install 'clew[local]'")
    return Text("Talk to it: clew chat. Expect about 15 tokens a second of the largest on two cores.")


def step(at: Step) -> str:
    """How far a download is."""
    of = f" of {size(at.total)}, {percent(at.done, at.total)}" if at.total else ""
    return f"{STEPS[at.what]} {size(at.done)}{of}"


def serving(name: str, address: Address) -> Iterator[Text]:
    """A server that runs, with what another program needs to use it."""
    yield Text(f"local/{name} answers at {address.base_url} (window {number(address.window)}), key {address.key}")
    yield Text("It speaks OpenAI's Chat Completions. Ctrl-C ends it.", style="dim")


def size(count: int | None) -> str:
    """Bytes in megabytes."""
    return "unknown" if count is None else f"{count / 1e6:,.0f} MB"


def _yes(here: bool) -> str:
    return "yes" if here else "–"
