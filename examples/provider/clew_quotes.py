"""A compaction provider that quotes: the newest words of both sides stand in the brief as they were said."""

import textwrap

from clew.plugins import CompactionProvider, Material, hookimpl

SHARE = 6
"""Quotations take at most this part of the brief: rules need the rest for the ledger."""

CHARACTERS = 3
"""Characters a token takes at the least in most text: counting so, the quotations stay within their share."""

BRIEF = """## Decisions
{quotations}

## Open TODOs
None.

## Constraints/Rules
None.

## Pending user asks
None.

## Exact identifiers
None."""


class Quotes:
    """Writes a brief out of the conversation's own words. A real provider would ask a service here."""

    id = "quotes"

    async def summarise(self, material: Material) -> str:
        """The newest lines that fit, oldest first. An empty answer hands on to Clew's own summariser."""
        room = material.max_output * CHARACTERS // SHARE
        lines: list[str] = []
        for message in reversed(material.messages):
            # Cut at a blank: half an identifier would be an invented one, and the audit would refuse it.
            line = f"- {textwrap.shorten(message, 300, placeholder=' …')}"
            room -= len(line)
            if room < 0:
                break
            lines.append(line)
        return BRIEF.format(quotations="\n".join(reversed(lines))) if lines else ""


@hookimpl
def compaction_providers() -> list[CompactionProvider]:
    """Clew's hook: the providers this package brings."""
    return [Quotes()]
