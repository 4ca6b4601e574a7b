"""The smallest automaton of a finite set of words, by its definition: a state for each set of ways to go on."""

from __future__ import annotations

from collections.abc import Iterable

from lawful.explain import Explanation

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


def saved(found: Explanation, passing: Iterable[Word]) -> set[int]:
    """The states of a picture that executions come through and do not fail."""
    table, states = found.picture.table(len(found.alphabet)), set()
    for word in passing:
        state: int | None = 0
        for letter in found.alphabet.word(*word):
            states.add(state)
            state = None if state is None else table[state][letter]
        states.add(state)
    return {state for state in states if state is not None}
