"""The one numbering of states: breadth-first from the initial state, letter by letter."""

from __future__ import annotations

from collections.abc import Container, Mapping, Sequence


def numbered(
    initial: int, transitions: Sequence[Sequence[int]] | Mapping[int, Sequence[int]], accepting: Container[int]
) -> tuple[tuple[tuple[int, ...], ...], frozenset[int]]:
    """The states that can be reached, numbered from 0, the initial one."""
    numbers, order = {initial: 0}, [initial]
    for state in order:
        for target in transitions[state]:
            if target not in numbers:
                numbers[target] = len(order)
                order.append(target)
    rows = tuple(tuple([numbers[target] for target in transitions[state]]) for state in order)
    return rows, frozenset(number for number, state in enumerate(order) if state in accepting)
