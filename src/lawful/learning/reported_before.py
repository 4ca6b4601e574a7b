"""Reports of earlier runs: an anomaly that they reported at the same place is known, and not new.

An anomaly is known by the events of its rule and by the functions that it is in: lines move, and of several rules that
are broken for one cause now this one speaks and now that one.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from lawful.diagnostics import encodable
from lawful.learning.ranking import OLD_BAR
from lawful.learning.window_protocol import Anomaly, Rule, Site


class ReportKey(NamedTuple):
    """Two events between which something was wrong in a function."""

    a: str  # labels, in alphabetical order
    b: str
    file: str
    function: str  # empty if unknown


class ReportRecord(NamedTuple):
    """The reports of one run, for later ones."""

    new: Mapping[ReportKey, int]  # at how many lines of the function
    again: Collection[ReportKey]  # earlier runs had it, too
    files: Collection[str | None]  # that it has been to


FunctionOf = Callable[[str | None, int | None], str]


class ReportedBefore:
    """The reports of earlier runs, and where functions are now."""

    def __init__(self, reported: Mapping[ReportKey, int], function: FunctionOf) -> None:
        self._reported = reported
        self._function = function

    def split(self, anomalies: Sequence[Anomaly]) -> tuple[list[Anomaly], list[Anomaly]]:
        """Those that are new, and those that earlier runs had.

        They had them at all of their places, and at as many lines of each function. If there are more now, what has
        changed is new. An anomaly that they had and did not report needs a higher score, or it is in neither list.
        """
        taken: dict[ReportKey, set[Site]] = defaultdict(set)
        known = {id(each) for each in sorted(anomalies, key=lambda each: each.changed) if self._knows(each, taken)}
        fresh = (each for each in anomalies if id(each) not in known)
        new = [each for each in fresh if not each.old or each.score >= OLD_BAR]
        return new, [each for each in anomalies if id(each) in known]

    def _knows(self, anomaly: Anomaly, taken: dict[ReportKey, set[Site]]) -> bool:
        """`taken` are the lines at which others of this run were known."""
        found: list[tuple[ReportKey, set[Site]]] = []
        for place, sites in self._places(anomaly).items():
            keys = [ReportKey(*pair, *place) for pair in _pairs(anomaly.rule)]
            if all(len(taken[key] | sites) > self._reported.get(key, 0) for key in keys):
                return False
            found += ((key, sites) for key in keys)
        for key, sites in found:
            taken[key] |= sites
        return True

    def report_record(
        self, new: Iterable[Anomaly], known: Iterable[Anomaly], files: Collection[str | None]
    ) -> ReportRecord:
        """A record of these anomalies for later runs, with all rules that are broken for the same cause."""
        fresh, again = self._keys_of(new), self._keys_of(known)
        lines = {key: len(sites | again.get(key, set())) for key, sites in fresh.items()}
        return ReportRecord(lines, again.keys(), files)

    def _keys_of(self, anomalies: Iterable[Anomaly]) -> dict[ReportKey, set[Site]]:
        found: dict[ReportKey, set[Site]] = defaultdict(set)
        for anomaly in anomalies:
            for place, sites in self._places(anomaly).items():
                for rule in (anomaly.rule, *anomaly.others):
                    for pair in _pairs(rule):
                        found[ReportKey(*pair, *place)] |= sites
        return found

    def _places(self, anomaly: Anomaly) -> dict[tuple[str, str], set[Site]]:
        """By file and function: the lines."""
        found: dict[tuple[str, str], set[Site]] = defaultdict(set)
        for site in anomaly.sites or (Site(None, None),):
            found[self._place(site)].add(site)
        return found

    def _place(self, site: Site) -> tuple[str, str]:
        return encodable(site.file or ""), encodable(self._function(site.file, site.line))


def _pairs(rule: Rule) -> Iterator[tuple[str, str]]:
    """One pair for each end: the most frequent end may change from run to run."""
    for word in (rule.b, *rule.more):
        first, second = sorted((encodable(rule.a.label), encodable(word.label)))
        yield first, second
