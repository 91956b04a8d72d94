"""How large a view is: anchored on what the provider reported last, estimated where nothing was.

What was billed is another matter: a sum over all requests so far, kept by `clew.tokens.billing`. The two never mix.
"""

from collections.abc import Mapping
from typing import Literal

import msgspec

from clew.transcript import Assistant, Compaction, Custom, Entry, ModelChange, Pin, PruneMark, Said, Undo, Usage, View

LOWEST_FACTOR, HIGHEST_FACTOR = 0.5, 2.0
"""How far a reported size may pull the estimates. More than that is no other tokenizer but other contents."""
CUT = "clew.cut"
"""The kind of the entry that a history ends with when it is cut short: what was reported before it counts no more."""
SMOOTHING = 0.3
"""The weight of the newest report in a calibration."""


class Size(msgspec.Struct, frozen=True):
    """The size of a view in tokens, with where the number comes from."""

    tokens: int | None
    """None is unknown, which is neither 0 nor full."""
    source: Literal["reported", "estimated", "unknown"]
    anchored_on: str | None = None
    """The entry whose reported usage the number starts from."""
    estimated_part: int = 0
    """How much of `tokens` is an estimate."""


def measure(view: View, sizes: Mapping[str, int], *, fixed: int = 0, calibration: float = 1.0) -> Size:
    """The size of a view as the next request will carry it.

    `sizes` maps entry ids to estimated tokens, as the store keeps them; `fixed` is the estimate of what no entry holds
    (system prompt, tools), used only where nothing was reported, since a report includes it. `calibration` scales
    every estimate. A size that is needed and missing makes the whole unknown.
    """
    for index in range(len(view.entries) - 1, view.kept - 1, -1):
        entry = view.entries[index]
        if isinstance(entry.body, Undo | ModelChange | PruneMark) or _is_cut(entry):
            break  # older reports are of another view, or from another tokenizer
        if (anchor := _reported(entry)) is not None:
            own = () if _usage(entry).output else (entry,)
            return _sum(view, (*own, *view.entries[index + 1 :]), sizes, calibration, anchor, entry.id)
    opening = (view.boundary,) if view.boundary and view.brief else ()
    return _sum(view, (*opening, *view.entries), sizes, calibration, 0, None, fixed)


def calibrate(reported: int | None, estimated: int | None, previous: float = 1.0) -> float:
    """The factor for a model's estimates after one more report of the same contents, between 0.5 and 2.

    Both numbers must cover the same parts of the same request. Unknown or zero numbers teach nothing.
    """
    if not reported or not estimated or reported < 0 or estimated < 0:
        return previous
    factor = min(max(reported / estimated, LOWEST_FACTOR), HIGHEST_FACTOR)
    return previous + SMOOTHING * (factor - previous)


def _sum(
    view: View,
    entries: tuple[Entry, ...],
    sizes: Mapping[str, int],
    calibration: float,
    reported: int,
    anchor: str | None,
    fixed: int = 0,
) -> Size:
    shown = [entry for entry in entries if _shown(entry, view)]
    if any(entry.id not in sizes for entry in shown):
        return Size(None, "unknown")
    estimate = round(calibration * (fixed + sum(sizes[entry.id] for entry in shown)))
    return Size(reported + estimate, "reported" if anchor else "estimated", anchor, estimate)


def _shown(entry: Entry, view: View) -> bool:
    """Whether an entry takes room of its own: a pin does only once its message has left the view."""
    if isinstance(entry.body, Pin):
        pin = entry.body
        return pin in view.pins() and all(other.id != pin.target for other in view.entries)
    return isinstance(entry.body, Said | Compaction)


def _is_cut(entry: Entry) -> bool:
    return isinstance(entry.body, Custom) and entry.body.kind == CUT


def _usage(entry: Entry) -> Usage:
    said = entry.body.message if isinstance(entry.body, Said) else None
    if not isinstance(said, Assistant) or said.usage is None or said.stop in ("aborted", "error"):
        return Usage()
    return said.usage


def _reported(entry: Entry) -> int | None:
    """The context size reported with an entry; None without one, or with a report that leaves the prompt out."""
    usage = _usage(entry)
    return usage.context if _prompt(usage) > 0 else None


def _prompt(usage: Usage) -> int:
    return sum(part or 0 for part in (usage.input, usage.cache_read, usage.cache_write))
