"""Arithmetic on the counts of learners: sums, differences, and the same under other lists of templates."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence

from lawful.learning.window_protocol import SharedHistory, SharedPair, Site, Word


class PairSum:
    """The counts of a pair, from several sets of templates."""

    def __init__(self) -> None:
        self.endings: Counter[tuple[int, int]] = Counter()
        self.contexts: dict[Site, int] = {}
        self.breaches: dict[Site, int] = {}

    def add(self, known: SharedPair) -> None:
        for rules, letters, number in known.endings:
            self.endings[rules, letters] += number
        for mine, places in ((self.contexts, known.contexts), (self.breaches, known.breaches)):
            for site, rules in places:
                mine[site] = mine.get(site, 0) | rules

    def total(self, first: Word, second: Word) -> SharedPair:
        endings = sorted((*signature, number) for signature, number in self.endings.items())
        contexts, breaches = (
            tuple(sorted(places.items(), key=lambda item: str(item[0]))) for places in (self.contexts, self.breaches)
        )
        return SharedPair(first, second, tuple(endings), contexts, breaches)


def renumbered(known: SharedPair, old: Sequence[str], new: Sequence[str]) -> SharedPair:
    """The same with the numbers that its rules have in another list of templates, all of which are in the old one."""
    if list(old) == list(new):
        return known
    moved = [2 * old.index(template) + turn for template in new for turn in (0, 1)]
    return known._replace(
        endings=tuple((_moved(rules, moved), letters, number) for rules, letters, number in known.endings),
        contexts=tuple((site, _moved(rules, moved)) for site, rules in known.contexts),
        breaches=tuple((site, _moved(rules, moved)) for site, rules in known.breaches),
    )


def _moved(rules: int, numbers: Sequence[int]) -> int:
    """A set of rules as bits, when the rule that was `numbers[n]` is now `n`."""
    return sum((rules >> number & 1) << at for at, number in enumerate(numbers))


def minus(counted: Iterable[SharedPair], others: Iterable[SharedPair]) -> Iterator[SharedPair]:
    """Counts without those of some of their runs."""
    less: dict[tuple[str, str], SharedPair] = {}
    for known in others:
        less[known.first.label, known.second.label] = known
        less[known.second.label, known.first.label] = known.turned()
    for known in counted:
        other = less.get((known.first.label, known.second.label))
        if other is None:
            yield known
            continue
        taken = {(rules, letters): number for rules, letters, number in other.endings}
        # Under another window the runs were counted otherwise: there is never less than nothing.
        left = ((rules, letters, number - taken.get((rules, letters), 0)) for rules, letters, number in known.endings)
        endings = tuple(ending for ending in left if ending[2] > 0)
        mine = dict(other.breaches)
        breaches = tuple((site, rules & ~mine.get(site, 0)) for site, rules in known.breaches)
        if endings:
            yield known._replace(endings=endings, breaches=breaches)


def histories_minus(histories: Iterable[SharedHistory], others: Iterable[SharedHistory]) -> Iterator[SharedHistory]:
    """Histories without those of some of their runs."""
    less: dict[tuple[object, ...], SharedHistory] = {_history_key(history): history for history in others}
    for history in histories:
        other = less.get(_history_key(history))
        if other is None:
            yield history
            continue
        taken = Counter({places: count for places, count, _ in other.places})
        left = tuple((places, count - taken[places], id_) for places, count, id_ in history.places)
        if history.count > other.count:
            yield history._replace(
                count=history.count - other.count, places=tuple(each for each in left if each[1] > 0)
            )


def _history_key(history: SharedHistory) -> tuple[object, ...]:
    return tuple(word.label for word in history.words), history.order
