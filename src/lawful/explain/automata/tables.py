"""The loops over states and letters: product, minimisation, search for a word, in C or here; words to automata."""

from __future__ import annotations

from collections.abc import Container, Iterable, Mapping, Sequence

from lawful import core
from lawful.explain.graph_search import distances

Rows = tuple[tuple[int, ...], ...]
Tables = tuple[int, Rows, frozenset[int]]  # initial state, transitions, accepting states

LEFT, RIGHT, BOTH, NEITHER = 0b0100, 0b0010, 0b1000, 0b0001
"""What a product accepts, by which of two automata accept: bits to be put together."""

_ROUNDS = 8
_Signature = tuple[bool, tuple[tuple[int, int], ...]]


def minimal(tables: Tables) -> tuple[Rows, frozenset[int]]:
    """The smallest automaton of the same language; its initial state is 0."""
    if core.native is not None:
        found: tuple[Rows, frozenset[int]] = core.native.automaton_minimal(*tables)
        return found
    return python_minimal(tables)


def product(left: Tables, right: Tables, taken: int) -> tuple[Rows, frozenset[int]]:
    """The smallest automaton that accepts what `taken` says of what these two accept; both have the same letters."""
    if core.native is not None:
        found: tuple[Rows, frozenset[int]] = core.native.automaton_product(*left, *right, taken)
        return found
    return python_product(left, right, taken)


def search(left: Tables, right: Tables, taken: int, longest: int | None = None) -> tuple[int, ...] | None:
    """The shortest word of the product, the first in order of letters; none if it is longer than `longest`."""
    if core.native is not None:
        found: tuple[int, ...] | None = core.native.automaton_search(
            *left, *right, taken, -1 if longest is None else longest
        )
        return found
    return python_search(left, right, taken, longest)


def python_product(left: Tables, right: Tables, taken: int) -> tuple[Rows, frozenset[int]]:
    """`product` in Python."""
    (first, ours, yes), (second, theirs, also) = left, right
    width = len(theirs)
    numbers, order = {first * width + second: 0}, [(first, second)]
    rows: list[list[int]] = []
    for one, other in order:
        row = []
        for here, there in zip(ours[one], theirs[other], strict=True):
            key = here * width + there
            number = numbers.get(key)
            if number is None:
                number = numbers[key] = len(order)
                order.append((here, there))
            row.append(number)
        rows.append(row)
    accepting = {
        number for number, (one, other) in enumerate(order) if taken >> (2 * (one in yes) + (other in also)) & 1
    }
    return _refined(rows, accepting)


def python_minimal(tables: Tables) -> tuple[Rows, frozenset[int]]:
    """`minimal` in Python."""
    rows, accepting = numbered(*tables)
    return _refined(rows, accepting)


def python_search(left: Tables, right: Tables, taken: int, longest: int | None = None) -> tuple[int, ...] | None:
    """`search` in Python."""
    (first, ours, yes), (second, theirs, also) = left, right
    met, order, came = {(first, second)}, [(first, second)], [(-1, -1)]
    length, level_ends = 0, 1
    for place, (one, other) in enumerate(order):
        if place == level_ends:
            length, level_ends = length + 1, len(order)
        if longest is not None and length > longest:
            return None
        if taken >> (2 * (one in yes) + (other in also)) & 1:
            return _word_to(came, place)
        for letter, pair in enumerate(zip(ours[one], theirs[other], strict=True)):
            if pair not in met:
                met.add(pair)
                order.append(pair)
                came.append((place, letter))
    return None


def _word_to(came: list[tuple[int, int]], place: int) -> tuple[int, ...]:
    word = []
    while place:
        place, letter = came[place]
        word.append(letter)
    return tuple(reversed(word))


def _refined(rows: list[list[int]] | Rows, accepting: set[int] | frozenset[int]) -> tuple[Rows, frozenset[int]]:
    """The states that no word tells apart as one; all can be reached from state 0.

    A few of Moore's rounds over all states are fast here, and most often enough. Where states differ only in long
    words, there would be as many rounds as these have letters: then Hopcroft's algorithm goes on."""
    block = [int(state in accepting) for state in range(len(rows))]
    columns, count = list(zip(*rows, strict=True)), len(set(block))
    for _ in range(_ROUNDS):
        numbers: dict[tuple[int, ...], int] = {}
        after = (map(block.__getitem__, column) for column in columns)
        block = [numbers.setdefault(key, len(numbers)) for key in zip(block, *after, strict=True)]
        if len(numbers) == count:
            break
        count = len(numbers)
    else:
        _split(block, count, columns)
    chosen: dict[int, int] = {}
    for state, number in enumerate(block):
        chosen.setdefault(number, state)
    return numbered(
        block[0],
        {number: [block[target] for target in rows[state]] for number, state in chosen.items()},
        {number for number, state in chosen.items() if state in accepting},
    )


def _split(block: list[int], count: int, columns: list[tuple[int, ...]]) -> None:
    """Hopcroft's algorithm: refines the numbers of the states' blocks, in place."""
    blocks: list[set[int]] = [set() for _ in range(count)]
    for state, number in enumerate(block):
        blocks[number].add(state)
    before: list[list[list[int]]] = []
    for column in columns:
        sources: list[list[int]] = [[] for _ in block]
        for state, target in enumerate(column):
            sources[target].append(state)
        before.append(sources)
    # A block that is waiting is used with every letter.
    waiting = list(range(count))
    while waiting:
        splitter = tuple(blocks[waiting.pop()])
        for sources in before:
            touched: dict[int, set[int]] = {}
            for target in splitter:
                for state in sources[target]:
                    touched.setdefault(block[state], set()).add(state)
            for number, inside in touched.items():
                whole = blocks[number]
                if len(inside) == len(whole):
                    continue
                whole -= inside
                if len(inside) > len(whole):
                    blocks[number], inside = inside, whole
                # If the old block was not waiting, the smaller part is enough; if it was, both parts are waiting now.
                waiting.append(len(blocks))
                for state in inside:
                    block[state] = len(blocks)
                blocks.append(inside)


def acyclic(words: Iterable[Sequence[int]], letters: int) -> tuple[tuple[tuple[int, ...], ...], frozenset[int]]:
    """Transitions and accepting states, the initial state being 0.

    Daciuk, Mihov, Watson and Watson's construction for sorted words: it replaces each finished state by an equal one
    at once, so that it holds no more than the result and one word."""
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
    if signature not in register:
        register[signature] = len(made)
        made.append(signature)
    return register[signature]


def numbered(
    initial: int, transitions: Sequence[Sequence[int]] | Mapping[int, Sequence[int]], accepting: Container[int]
) -> tuple[tuple[tuple[int, ...], ...], frozenset[int]]:
    """The states that can be reached, numbered from 0, the initial one."""
    order = distances([initial], transitions.__getitem__)
    numbers = {state: number for number, state in enumerate(order)}
    rows = tuple(tuple([numbers[target] for target in transitions[state]]) for state in order)
    return rows, frozenset(number for number, state in enumerate(order) if state in accepting)
