"""Rivest and Schapire's search for what a counterexample teaches."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from lawful.explain.automata import Automaton
from lawful.explain.teacher import Word


def breaking_point(
    word: Word, access: Sequence[Word], automaton: Automaton, accepts: Callable[[Word], bool]
) -> tuple[int, int]:
    """The state before, and the place of, a step of a word that the automaton takes wrongly, found by bisection.

    `access` has for each state the word that stands for it. Just after the step, what is left of the word tells the
    state's own continuation by that letter from the state that the automaton goes to."""
    states = [automaton.initial]
    for letter in word:
        states.append(automaton.transitions[states[-1]][letter])

    def told(place: int) -> bool:
        return accepts(access[states[place]] + word[place:])

    low, high = 0, len(word)
    first = told(0)
    while high - low > 1:
        middle = (low + high) // 2
        if told(middle) == first:
            low = middle
        else:
            high = middle
    return states[low], low


def breaking_suffix(word: Word, access: Sequence[Word], automaton: Automaton, accepts: Callable[[Word], bool]) -> Word:
    """The end of the word that tells two continuations apart which the automaton takes for one."""
    _, place = breaking_point(word, access, automaton, accepts)
    return word[place + 1 :]
