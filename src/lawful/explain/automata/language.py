"""What an automaton accepts: its words in order, their number, and the states that matter."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from lawful.explain.automata.automaton import Automaton
from lawful.explain.graph_search import distances


def reachable(automaton: Automaton) -> list[int]:
    """The states that some word leads to, breadth-first."""
    return list(distances([automaton.initial], automaton.transitions.__getitem__))


def live(automaton: Automaton) -> frozenset[int]:
    """The states on the way of some accepted word: those that can be reached, and reach an accepting one."""
    here = set(reachable(automaton))
    before = sources(automaton)
    return frozenset(distances(automaton.accepting & here, lambda state: here & before[state]))


def sources(automaton: Automaton) -> list[set[int]]:
    """For each state, the states with a step to it."""
    found: list[set[int]] = [set() for _ in automaton.transitions]
    for state, row in enumerate(automaton.transitions):
        for target in row:
            found[target].add(state)
    return found


def is_empty(automaton: Automaton) -> bool:
    """Whether no word is accepted."""
    return automaton.accepting.isdisjoint(reachable(automaton))


def words(automaton: Automaton, max_length: int | None = None) -> Iterator[tuple[int, ...]]:
    """Accepted words, shorter ones first, those of one length in order of letters.

    Without a greatest length they end only if the language is finite."""
    alive = live(automaton)
    # ways[n]: the steps that can still be followed by just n letters more.
    ahead = {state for state in alive if state in automaton.accepting}
    ways: list[dict[int, list[tuple[int, int]]]] = []
    while ahead and (max_length is None or len(ways) <= max_length):
        if automaton.initial in ahead:
            yield from _words_of_length(automaton.initial, ways)
        steps = {
            state: [(letter, target) for letter, target in enumerate(automaton.transitions[state]) if target in ahead]
            for state in alive
        }
        ways.append({state: found for state, found in steps.items() if found})
        ahead = set(ways[-1])


def _words_of_length(initial: int, ways: list[dict[int, list[tuple[int, int]]]]) -> Iterator[tuple[int, ...]]:
    """All words of the length for which there are ways, depth first."""
    pending: list[tuple[tuple[int, ...], int]] = [((), initial)]
    while pending:
        word, state = pending.pop()
        if len(word) == len(ways):
            yield word
        else:
            steps = ways[len(ways) - len(word) - 1][state]
            pending += [((*word, letter), target) for letter, target in reversed(steps)]


def count(automaton: Automaton, max_length: int) -> int:
    """How many words of at most this length are accepted."""
    alive = live(automaton)
    here = Counter([automaton.initial] if automaton.initial in alive else [])
    total = 0
    for _ in range(max_length + 1):
        total += sum(number for state, number in here.items() if state in automaton.accepting)
        after: Counter[int] = Counter()
        for state, number in here.items():
            for target in automaton.transitions[state]:
                if target in alive:
                    after[target] += number
        here = after
    return total
