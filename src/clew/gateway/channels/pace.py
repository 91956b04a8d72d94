"""How much goes out, and how often somebody is told no. Pure: the time is passed in."""

from collections import OrderedDict

MOST_REMEMBERED = 1_000
"""People whose refusals are counted; of more, those told longest ago are forgotten."""


class Pace:
    """So many at once, then one every so often: a bucket that fills up again."""

    def __init__(self, at_once: int, every_s: float) -> None:
        self._most, self._every = at_once, every_s
        self._left, self._at = float(at_once), 0.0

    def wait(self, now_s: float) -> float:
        """Seconds until the next may go; 0 takes it."""
        self._left = min(self._most, self._left + (now_s - self._at) / self._every) if self._every else self._most
        self._at = now_s
        if self._left >= 1 or not self._every:
            self._left -= 1
            return 0.0
        return (1 - self._left) * self._every


class Refusals:
    """Whom to tell no: each person so often, so that nobody can make us talk without end."""

    def __init__(self, at_once: int, every_s: float) -> None:
        self._at_once, self._every = at_once, every_s
        self._paces: OrderedDict[str, Pace] = OrderedDict()

    def may(self, who: str, now_s: float) -> bool:
        """Whether to tell this one now."""
        pace = self._paces.setdefault(who, Pace(self._at_once, self._every))
        self._paces.move_to_end(who)
        while len(self._paces) > MOST_REMEMBERED:
            self._paces.popitem(last=False)
        return pace.wait(now_s) == 0
