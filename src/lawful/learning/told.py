"""What earlier runs have told: an anomaly that they had at the same place, too, is known, and no news.

An anomaly is known by the events of its rule and by the functions that it is in: lines move, and of several rules that
are broken for one cause now this one speaks and now that one.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import NamedTuple

from lawful.diagnostics import encodable
from lawful.learning.model import Anomaly, Rule, Site


class Told(NamedTuple):
    """Two events between which something was wrong in a function."""

    a: str  # labels, in alphabetical order
    b: str
    file: str
    function: str  # nothing, if nobody knows


Lines = Mapping[Told, int]  # at how many lines of the function
FunctionOf = Callable[[str | None, int | None], str]


class Earlier:
    """What earlier runs have told, and where functions are now."""

    def __init__(self, told: Lines, function: FunctionOf) -> None:
        self._told = told
        self._function = function

    def knows(self, anomaly: Anomaly) -> bool:
        """Have earlier runs told of it, at all of its places, and at as many lines of each function?"""
        return all(
            any(self._told.get(Told(*pair, *place), 0) >= lines for pair in _pairs(anomaly.rule))
            for place, lines in self._places(anomaly).items()
        )

    def told(self, anomalies: Iterable[Anomaly]) -> dict[Told, int]:
        """What later runs have to know of these anomalies, the rules included that are broken for the same cause."""
        found: Counter[Told] = Counter()
        for anomaly in anomalies:
            for place, lines in self._places(anomaly).items():
                for rule in (anomaly.rule, *anomaly.others):
                    for pair in _pairs(rule):
                        told = Told(*pair, *place)
                        found[told] = max(found[told], lines)
        return found

    def _places(self, anomaly: Anomaly) -> Counter[tuple[str, str]]:
        """By file and function: how many lines."""
        return Counter(self._place(site) for site in set(anomaly.sites))

    def _place(self, site: Site) -> tuple[str, str]:
        return encodable(site.file or ""), encodable(self._function(site.file, site.line))


def _pairs(rule: Rule) -> Iterator[tuple[str, str]]:
    """Of several ends each: which one is the most frequent may change."""
    for word in (rule.b, *rule.more):
        first, second = sorted((encodable(rule.a.label), encodable(word.label)))
        yield first, second
