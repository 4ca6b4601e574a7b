"""The one numbering of states, and the smallest automaton of a finite set of words, made while they are read."""

from __future__ import annotations

from collections.abc import Container, Iterable, Mapping, Sequence

from lawful.explain.graph_search import distances

_Signature = tuple[bool, tuple[tuple[int, int], ...]]


def acyclic(words: Iterable[Sequence[int]], letters: int) -> tuple[tuple[tuple[int, ...], ...], frozenset[int]]:
    """Transitions and accepting states, the initial state being 0.

    Daciuk, Mihov, Watson and Watson's construction for sorted input: states of words that are over are replaced
    by an equal state at once, so no more than the result and one word is held."""
    register: dict[_Signature, int] = {}
    made: list[_Signature] = []
    # Of the word read last: for each prefix whether it is a word itself, and its edges to finished states.
    ends, edges = [False], [list[tuple[int, int]]()]
    last: tuple[int, ...] = ()

    def finish(length: int) -> None:
        """Replaces what lies behind the prefix of this length by finished states."""
        for at in range(len(last), length, -1):
            signature = (ends.pop(), tuple(edges.pop()))
            edges[at - 1].append((last[at - 1], _entered(signature, register, made)))

    for word in sorted({tuple(word) for word in words}):
        if any(not 0 <= letter < letters for letter in word):
            raise ValueError(f"a word with a letter that the alphabet does not have: {word!r}")
        common = 0
        while common < min(len(word), len(last)) and word[common] == last[common]:
            common += 1
        finish(common)
        ends += [False] * (len(word) - common)
        edges += [list[tuple[int, int]]() for _ in range(len(word) - common)]
        ends[-1] = True
        last = word
    finish(0)
    root = _entered((ends[0], tuple(edges[0])), register, made)

    sink = _entered((False, ()), register, made)
    table = [[sink] * letters for _ in made]
    for state, (_, ways) in enumerate(made):
        for letter, target in ways:
            table[state][letter] = target
    return numbered(root, table, {state for state, (end, _) in enumerate(made) if end})


def _entered(signature: _Signature, register: dict[_Signature, int], made: list[_Signature]) -> int:
    state = register.get(signature)
    if state is None:
        state = register[signature] = len(made)
        made.append(signature)
    return state


def numbered(
    initial: int, transitions: Sequence[Sequence[int]] | Mapping[int, Sequence[int]], accepting: Container[int]
) -> tuple[tuple[tuple[int, ...], ...], frozenset[int]]:
    """The states that can be reached, numbered from 0, the initial one."""
    order = distances([initial], transitions.__getitem__)
    numbers = {state: number for number, state in enumerate(order)}
    rows = tuple(tuple([numbers[target] for target in transitions[state]]) for state in order)
    return rows, frozenset(number for number, state in enumerate(order) if state in accepting)
