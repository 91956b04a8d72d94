"""What of a ledger a text does not show: the asks, rules, pins, to-dos and files that neither brief nor tail holds."""

import re
from collections.abc import Callable

from clew.compact.identifiers import find, occurs
from clew.compact.ledger_paths import legible
from clew.transcript import Ledger, LedgerItem

OPENING = 32
"""Characters by whose sight an ask that was cut counts as shown."""

_QUOTING = re.compile(r"^(?:\s*(?:[>»]|[-*+•]\s))+", re.MULTILINE)


def unrendered(ledger: Ledger, text: str) -> dict[str, tuple[LedgerItem, ...]]:
    """The facts of a ledger that `text`, a brief with the tail behind it, does not show, by section; none if all are.

    Looked for are asks, rules that stand, pins, open to-dos and files. An ask counts as shown where its beginning is, a
    rule and a to-do where all its words stand, a pin where every line of it does, a file where its path can be read.
    """
    flat = _flat(text)
    seen = {name for found in find(text) for name in legible(found)}
    checks: dict[str, tuple[frozenset[str] | None, Callable[[LedgerItem], bool]]] = {
        "asks": (frozenset({"open", "answered"}), lambda ask: _flat(ask.text)[:OPENING].rstrip() in flat),
        "rules": (frozenset({""}), lambda rule: _flat(rule.text) in flat),
        "pins": (None, lambda pin: _flat(pin.text) in flat),
        "todos": (frozenset({"open", "active"}), lambda todo: _flat(todo.text) in flat),
        "files": (None, lambda file: file.key in seen or occurs(file.key, text)),
    }
    lost = {
        section: tuple(one for one in getattr(ledger, section) if (not live or one.state in live) and not shown(one))
        for section, (live, shown) in checks.items()
    }
    return {section: items for section, items in lost.items() if items}


def _flat(text: str) -> str:
    """Words on one line, without the marks of quotations and bullets before them."""
    return " ".join(_QUOTING.sub("", text).split())
