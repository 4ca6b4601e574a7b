"""Why a history that breaks a rule may well be right: it began nothing, or nothing could have been forgotten."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence

from lawful.learning import vocabulary
from lawful.learning.history_patterns import IndexedHistory, number_of
from lawful.learning.window_protocol import Word

_SECTIONS = 0.25  # of the histories that have an end: so many have it again, after more has happened
_BEGUN = 0.75  # of the histories that are ended: so many were begun


def needs_no_end(
    history: IndexedHistory,
    ends: Sequence[int],
    begins: Iterable[frozenset[int]],
    sections: bool,
    words: Sequence[Word],
) -> bool:
    """May a history without an end be right?

    - It was never begun, where those that are ended were: a thread that did not start.
    - It was only made, and its ends are those of sections, as with locks: there was none.
    - It entered a `with`, and has not left it: then that failed, by the language.
    - It has the same method of another class, which stands for this one.
    - It ends with something else whose name says so.
    """
    if vocabulary.ends_life(words[history.last_name]):
        return True
    if any(vocabulary.alike(words[name], words[end]) for name in history.names for end in ends):
        return True
    if any(alike.isdisjoint(history.names) for alike in begins):
        return True
    if sections and all(vocabulary.makes(words[name]) for name in history.names):
        return True
    return any(vocabulary.enters(words[name]) for name in history.names)


def beginnings(good: Iterable[IndexedHistory], words: Sequence[Word]) -> list[frozenset[int]]:
    """Events whose names say that something begins, one of which nearly all histories have that are ended.

    The same method of several classes is one. Not `with`: that is a way to end.
    """
    good = list(good)
    having: Counter[str] = Counter()
    alike: dict[str, set[int]] = defaultdict(set)
    for history in good:
        mine: set[str] = set()
        for name in history.names:
            word = words[name]
            if vocabulary.begins(word) and not vocabulary.makes(word) and not vocabulary.enters(word):
                mine.add(vocabulary.last(word))
                alike[vocabulary.last(word)].add(name)
        for each in mine:
            having[each] += history.count
    return [frozenset(alike[each]) for each, number in having.items() if number >= _BEGUN * number_of(good)]


def of_sections(good: Iterable[IndexedHistory], ends: Iterable[int]) -> bool:
    """Do ends come again, in one history, after more has happened?"""
    good, ends = list(good), set(ends)
    again = sum(history.count for history in good if any(history.returns_to(name) for name in ends & history.names))
    return again >= _SECTIONS * number_of(good)


def may_go_on(history: IndexedHistory, ends: Iterable[int], words: Sequence[Word]) -> bool:
    """May what came after the end be right?

    - It was only asked about itself.
    - It entered a `with` last, which the language ends, whether that is seen or not.
    """
    if vocabulary.enters(words[history.last_name]):
        return True
    last = max(history.last[name] for name in ends if name in history.last)
    return all(vocabulary.asks(words[code >> 1]) for code in history.order[last + 1 :])
