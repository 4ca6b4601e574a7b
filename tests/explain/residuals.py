"""The smallest automaton of a finite set of words, by its definition: a state for each set of ways to go on."""

from __future__ import annotations

from collections.abc import Iterable

Word = tuple[str, ...]


def size(words: Iterable[Word]) -> tuple[int, int]:
    """How many states and edges it has, without a sink."""
    after: dict[Word, set[Word]] = {}
    for word in words:
        for place in range(len(word) + 1):
            after.setdefault(word[:place], set()).add(word[place:])
    states = {frozenset(rests) for rests in after.values()}
    edges = {(frozenset(after[start[:-1]]), start[-1]) for start in after if start}
    return len(states), len(edges)


def dominating(words: Iterable[Word]) -> set[str]:
    """The events that all words have."""
    return set.intersection(*(set(word) for word in words))
