"""Which old messages a round shortens, and how far: a pure value, the same for the same input."""

from collections.abc import Iterator, Mapping

import msgspec

from clew.prune.mark import UNCUT, Cut, calls_by_result, cuts, shortened
from clew.prune.settings import PrunableTools, PruningSettings
from clew.prune.tools import prunable
from clew.prune.trim import is_image, saved
from clew.tokens import estimate
from clew.tokens.window import Thresholds
from clew.transcript import Assistant, Entry, Message, Said, ToolResult, User, View, text_of

PROTECTED = 3
"""The newest answers behind whose start nothing is pruned, and the newest finished turns that keep their images."""

LEAST_PRUNABLE = 50_000
"""Characters that must be left in prunable results, as they are shown, before any is cleared."""

IMAGE_CHARS = 8_000
"""Characters one image counts for."""


class Plan(msgspec.Struct, frozen=True):
    """What a round would do."""

    cuts: dict[str, str] = {}
    """Entry id to `trim`, `clear` or `image`."""
    freed: int = 0
    """Tokens every further request is shorter by, estimated."""
    rewritten: int = 0
    """Tokens behind the first cut, which a cache has to take in anew."""


def results(view: View, sizes: Mapping[str, int], tokens: int, limits: Thresholds, settings: PruningSettings) -> Plan:
    """Old tool results trimmed from `trim_at` on; from `clear_at` on cleared, oldest first, until below it.

    `sizes` are those of the entries as they are sent now, `tokens` that of the whole request.
    """
    if tokens < limits.trim_at:
        return Plan()
    sheet = Sheet(view, sizes, settings.hard_clear.fixed)
    old = list(_candidates(view, settings.tools))
    long = [entry for entry, said in old if saved(said) and not sheet.marked.get(entry.id, UNCUT).shortened]
    chosen = {entry.id: "trim" for entry in long if sheet.freed(entry, "trim")}
    left = sum(sheet.left(entry, chosen.get(entry.id)) for entry, _ in old)
    over = tokens - sheet.total(chosen) - limits.clear_at
    if settings.hard_clear.enabled and over >= 0 and left >= LEAST_PRUNABLE:
        chosen |= _clear(sheet, [entry for entry, _ in old], chosen, over)
    return sheet.plan(chosen)


def images(view: View, sizes: Mapping[str, int]) -> Plan:
    """The images older than the newest finished turns, as markers. The turn that has just begun is not counted."""
    spoken = _spoken(view)
    starts = [index for index, (_, said) in enumerate(spoken) if isinstance(said, User) and not said.synthetic]
    end = starts[-1 - PROTECTED] if len(starts) > PROTECTED else 0
    sheet = Sheet(view, sizes)
    done = {name for name, cut in sheet.marked.items() if cut.kinds & {"image", "clear"}}
    return sheet.plan({entry.id: "image" for entry, said in spoken[:end] if _images(said) and entry.id not in done})


class Sheet:
    """A view as it is sent now, and what one more cut would take off it."""

    def __init__(self, view: View, sizes: Mapping[str, int], placeholder: str = "") -> None:
        self.view, self.sizes, self.placeholder = view, sizes, placeholder
        self.marked, self._calls = cuts(view), calls_by_result(view)

    def freed(self, entry: Entry, kind: str) -> int:
        """Tokens that a cut takes off an entry."""
        return max(0, self.sizes.get(entry.id, 0) - estimate.entry(self._shown(entry, kind)))

    def left(self, entry: Entry, kind: str | None) -> int:
        """Characters that are left to take off an entry, one more cut counted: none off what is cleared."""
        shown = self._shown(entry, kind).body
        if "clear" in self.marked.get(entry.id, UNCUT).kinds or not isinstance(shown, Said):
            return 0
        return len(text_of(shown.message)) + IMAGE_CHARS * _images(shown.message)

    def _shown(self, entry: Entry, kind: str | None) -> Entry:
        now = self.marked.get(entry.id, UNCUT)
        cut = Cut(now.kinds | {kind}, self.placeholder) if kind else now
        return shortened(entry, cut, self._calls.get(entry.id))

    def total(self, chosen: Mapping[str, str]) -> int:
        """Tokens that all these cuts take off."""
        return sum(self.freed(entry, chosen[entry.id]) for entry in self.view.entries if entry.id in chosen)

    def plan(self, chosen: dict[str, str]) -> Plan:
        """These cuts with what they free and what they make a cache take in anew."""
        if not chosen:
            return Plan()
        freed = self.total(chosen)
        first = next(index for index, entry in enumerate(self.view.entries) if entry.id in chosen)
        behind = sum(self.sizes.get(entry.id, 0) for entry in self.view.entries[first:])
        return Plan(chosen, freed, max(0, behind - freed))


def _clear(sheet: Sheet, old: list[Entry], trims: Mapping[str, str], over: int) -> dict[str, str]:
    """Results to clear, oldest first, until more than `over` further tokens are freed."""
    chosen: dict[str, str] = {}
    for entry in old:
        if over < 0:
            break
        before = sheet.freed(entry, "trim") if entry.id in trims else 0
        gain = sheet.freed(entry, "clear") - before
        if gain > 0 and "clear" not in sheet.marked.get(entry.id, UNCUT).kinds:
            chosen[entry.id] = "clear"
            over -= gain
    return chosen


def _spoken(view: View) -> list[tuple[Entry, Message]]:
    return [(entry, entry.body.message) for entry in view.entries if isinstance(entry.body, Said)]


def _candidates(view: View, tools: PrunableTools) -> Iterator[tuple[Entry, ToolResult]]:
    """The results between the first user message and the third answer from the end."""
    spoken = _spoken(view)
    answers = [index for index, (_, said) in enumerate(spoken) if isinstance(said, Assistant)]
    users = [index for index, (_, said) in enumerate(spoken) if isinstance(said, User)]
    start = 0 if view.brief else next(iter(users), len(spoken))
    end = answers[-PROTECTED] if len(answers) >= PROTECTED else 0
    for entry, said in spoken[start:end]:
        if isinstance(said, ToolResult) and prunable(said.tool, tools):
            yield entry, said


def _images(said: Message) -> int:
    return sum(map(is_image, said.blocks)) if isinstance(said, User | ToolResult) else 0
