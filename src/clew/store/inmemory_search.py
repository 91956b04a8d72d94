"""Searching what is held in memory: the words of each message once, then looked through from the newest back."""

from collections.abc import Sequence

from clew.recall.message import role, searchable
from clew.recall.terms import spaced
from clew.store.port import Phrase, Record, Search
from clew.transcript import Said


class Spoken:
    """A message as search sees it."""

    def __init__(self, seq: int, at: int, role: str, said: str) -> None:
        self.seq, self.at, self.role = seq, at, role
        self.length = said.count(" ") + 1
        self._said = f" {said} "

    def holds(self, phrase: Phrase) -> bool:
        """Whether the phrase's terms stand in it in a row."""
        return f" {' '.join(phrase)} " in self._said


def spoken(records: Sequence[Record]) -> list[Spoken]:
    """The messages among entries."""
    said = [(record, record.entry.body.message) for record in records if isinstance(record.entry.body, Said)]
    return [Spoken(one.seq, one.entry.at, role(message), spaced(searchable(message))) for one, message in said]


class WordScan:
    """One session's messages that pass one search's filters. See `clew.store.rank.Index`."""

    def __init__(self, messages: Sequence[Spoken], wanted: Search) -> None:
        self._passed = [one for one in reversed(messages) if _passes(one, wanted)]

    def newest(self, limit: int, any_of: Sequence[Phrase], all_of: Sequence[Phrase] = ()) -> list[int]:
        """See the port."""
        found: list[int] = []
        for one in self._passed:
            if len(found) == limit:
                break
            if all(map(one.holds, all_of)) and (not any_of or any(map(one.holds, any_of))):
                found.append(one.seq)
        return found

    def lengths(self, seqs: Sequence[int]) -> dict[int, int]:
        """See the port."""
        asked = set(seqs)
        return {one.seq: one.length for one in self._passed if one.seq in asked}


def _passes(one: Spoken, wanted: Search) -> bool:
    return (
        (not wanted.roles or one.role in wanted.roles)
        and (wanted.since is None or one.at >= wanted.since)
        and (wanted.until is None or one.at <= wanted.until)
        and (wanted.before is None or one.seq < wanted.before)
        and not any(map(one.holds, wanted.without))
    )
