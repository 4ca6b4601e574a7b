"""Languages from languages: union, intersection, differences, projection. Each result is minimal."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from lawful.errors import LawfulError
from lawful.explain.automata import tables
from lawful.explain.automata.automaton import Automaton
from lawful.explain.automata.tables import BOTH, LEFT, RIGHT, Tables
from lawful.explain.graph_search import distances


def _tables(automaton: Automaton) -> Tables:
    return automaton.initial, automaton.transitions, automaton.accepting


def minimise(automaton: Automaton) -> Automaton:
    """The smallest automaton of the same language, in the one numbering: equal languages give equal automata."""
    return Automaton(automaton.labels, 0, *tables.minimal(_tables(automaton)))


def relabelled(automaton: Automaton, labels: Sequence[str]) -> Automaton:
    """The same language over other labels, which must include the automaton's own; no word has a letter that is new."""
    labels = tuple(labels)
    if labels == automaton.labels:
        return automaton
    own = {label: letter for letter, label in enumerate(automaton.labels)}
    if not own.keys() <= set(labels):
        raise ValueError(f"{labels!r} does not include {automaton.labels!r}")
    columns = [own.get(label) for label in labels]
    sink = len(automaton)
    rows = [tuple([sink if column is None else row[column] for column in columns]) for row in automaton.transitions]
    rows.append((sink,) * len(labels))
    return Automaton(labels, automaton.initial, tuple(rows), automaton.accepting)


def aligned(left: Automaton, right: Automaton) -> tuple[Automaton, Automaton]:
    """Both over the labels of either. A last label that they share, the error, stays last."""
    if left.labels == right.labels:
        return left, right
    last = left.labels[-1:] if left.labels[-1:] == right.labels[-1:] else ()
    labels = [label for label in dict.fromkeys((*left.labels, *right.labels)) if label not in last]
    labels += last
    return relabelled(left, labels), relabelled(right, labels)


def _product(left: Automaton, right: Automaton, taken: int) -> Automaton:
    left, right = aligned(left, right)
    return Automaton(left.labels, 0, *tables.product(_tables(left), _tables(right), taken))


def intersection(left: Automaton, right: Automaton) -> Automaton:
    """What both accept."""
    return _product(left, right, BOTH)


def union(left: Automaton, right: Automaton) -> Automaton:
    """What at least one accepts."""
    return _product(left, right, LEFT | RIGHT | BOTH)


def difference(left: Automaton, right: Automaton) -> Automaton:
    """What the left accepts and the right does not."""
    return _product(left, right, LEFT)


def equivalent(left: Automaton, right: Automaton, longest: int | None = None) -> tuple[int, ...] | None:
    """None if the languages are equal, or else the shortest word that exactly one accepts, in the letters of `aligned`.

    With `longest`, only words up to that length count."""
    return _search(left, right, LEFT | RIGHT, longest)


def included(left: Automaton, right: Automaton, longest: int | None = None) -> tuple[int, ...] | None:
    """None if the right accepts all that the left does, or else the shortest word that it does not."""
    return _search(left, right, LEFT, longest)


def disjoint(left: Automaton, right: Automaton, longest: int | None = None) -> tuple[int, ...] | None:
    """None if no word is accepted by both, or else the shortest."""
    return _search(left, right, BOTH, longest)


def _search(left: Automaton, right: Automaton, taken: int, longest: int | None) -> tuple[int, ...] | None:
    left, right = aligned(left, right)
    return tables.search(_tables(left), _tables(right), taken, longest)


def project(automaton: Automaton, hidden: Iterable[str], most: int = 100_000) -> Automaton:
    """The words with these labels left out: hides these events.

    There may be far more states on the way than in the result: an error, if they become more than `most`."""
    out = set(hidden)
    unknown = out - set(automaton.labels)
    if unknown:
        raise ValueError(f"labels that the automaton does not have: {sorted(unknown)}")
    kept = [letter for letter, label in enumerate(automaton.labels) if label not in out]
    silent = [letter for letter, label in enumerate(automaton.labels) if label in out]
    reached = _silently(automaton, silent)
    # Sets of states are the bits of one number.
    ways = [[reached[row[letter]] for letter in kept] for row in automaton.transitions]
    start = reached[automaton.initial]
    numbers, order, rows = {start: 0}, [start], []
    for states in order:
        row = []
        members = list(_bits(states))
        for column in range(len(kept)):
            target = 0
            for state in members:
                target |= ways[state][column]
            if target not in numbers:
                if len(order) == most:
                    raise LawfulError(
                        "explain-too-large",
                        f"without {', '.join(sorted(out))} the automaton would have more than {most:,} states",
                        hint="hide other events, or fewer",
                    )
                numbers[target] = len(order)
                order.append(target)
            row.append(numbers[target])
        rows.append(tuple(row))
    yes = sum(1 << state for state in automaton.accepting)
    accepting = frozenset(number for number, states in enumerate(order) if states & yes)
    return minimise(Automaton(tuple(automaton.labels[letter] for letter in kept), 0, tuple(rows), accepting))


def _silently(automaton: Automaton, silent: Sequence[int]) -> list[int]:
    """For each state, the states that silent letters lead to, itself included."""
    table = automaton.transitions

    def steps(state: int) -> list[int]:
        return [table[state][letter] for letter in silent]

    return [sum(1 << reached for reached in distances([state], steps)) for state in range(len(automaton))]


def _bits(number: int) -> Iterable[int]:
    while number:
        lowest = number & -number
        yield lowest.bit_length() - 1
        number ^= lowest
