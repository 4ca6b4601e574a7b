"""Analyses a learned automaton: dominating events, doomed states, the common story, an execution for each edge.

These are the steps of the paper's section 6.1, "Post-processing"; the story and the executions are ours."""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterable, Iterator
from collections.abc import Set as AbstractSet
from itertools import islice

from lawful.explain.automata import Automaton, is_empty, live, sources
from lawful.explain.explanation import Picture, PictureEdge
from lawful.explain.graph_search import distances
from lawful.explain.teacher import Alphabet, Execution, Word

Finder = Callable[[Word], Execution | None]
"""Gives an execution with this word, if there is one: a teacher's `example`."""

Arrow = tuple[int, int]  # an edge, by the state that it leaves and its letter

_TRIES = 20  # words looked up for one edge, where a learned loop makes words that no execution has
_STORY_WORK = 300_000  # states looked at for the longest common story


def back_edges(automaton: Automaton) -> bool:
    """Whether an accepted word goes on to another one, which no failing execution does: a sign of too small bounds."""
    alive = live(automaton)
    return any(target in alive for state in automaton.accepting & alive for target in automaton.transitions[state])


def dominating(automaton: Automaton) -> tuple[int, ...]:
    """The letters that every accepted word has: with one of them removed, no accepting state is reached any more."""
    table = automaton.transitions

    def reached_without(letter: int) -> dict[int, int]:
        return distances([automaton.initial], lambda state: table[state][:letter] + table[state][letter + 1 :])

    letters = () if is_empty(automaton) else automaton.letters
    return tuple(letter for letter in letters if automaton.accepting.isdisjoint(reached_without(letter)))


def doomed(automaton: Automaton, passing_states: AbstractSet[int] | None = None) -> frozenset[int]:
    """The live states from which acceptance is inevitable.

    Without `passing_states`, whichever letters follow: that is the paper's reading, and with a sink it leaves little
    more than the accepting states. With the states on the paths of executions that do not fail, the program's reading:
    a state is doomed if each execution that comes there fails."""
    alive = live(automaton)
    if passing_states is not None:
        return alive - passing_states
    found = automaton.accepting & alive
    while more := {state for state in alive - found if found.issuperset(automaton.transitions[state])}:
        found |= more
    return found


def visited(automaton: Automaton, words: Automaton) -> set[int]:
    """The states on the paths of these words."""
    alive = live(words)

    def steps(pair: tuple[int, int]) -> Iterator[tuple[int, int]]:
        pairs = zip(automaton.transitions[pair[0]], words.transitions[pair[1]], strict=True)
        return ((state, other) for state, other in pairs if other in alive)

    starts = [(automaton.initial, words.initial)] if words.initial in alive else []
    return {state for state, _ in distances(starts, steps)}


def story(automaton: Automaton) -> Word:
    """The longest sequence of letters that each accepted word has in this order, with others between them or not.

    A common sequence that has come so far leaves each word in some state: the set of these is all that decides how it
    can go on. A letter can follow if no word gets from there to acceptance without it. The sets are few where there is
    a story; where there are very many, what comes out is common, and may not be the longest."""
    alive = live(automaton)
    if automaton.initial not in alive:
        return ()
    letters = dominating(automaton)
    work = 0

    def after(states: frozenset[int], letter: int) -> frozenset[int] | None:
        """Where words are just after the next `letter`, or None if a word is accepted without it."""
        nonlocal work
        seen, todo, found = set(states), list(states), set()
        while todo:
            state = todo.pop()
            work += 1
            if state in automaton.accepting:
                return None
            for other, target in enumerate(automaton.transitions[state]):
                if target not in alive:
                    continue
                if other == letter:
                    found.add(target)
                elif target not in seen:
                    seen.add(target)
                    todo.append(target)
        return frozenset(found)

    best: dict[frozenset[int], Word] = {}
    start = frozenset({automaton.initial})
    nexts: dict[frozenset[int], list[tuple[int, frozenset[int]]]] = {}
    todo = [start]
    while todo:  # depth first, on the heap: words can be long
        states = todo[-1]
        if states in best:
            todo.pop()
            continue
        if states not in nexts:
            steps = ((letter, after(states, letter)) for letter in letters if work < _STORY_WORK)
            nexts[states] = [(letter, target) for letter, target in steps if target is not None]
            todo += [target for _, target in nexts[states] if target not in best]
            continue
        todo.pop()
        best[states] = max(((letter, *best[target]) for letter, target in nexts[states]), key=len, default=())
    return best[start]


class EdgeWords:
    """Which accepted words take an edge."""

    def __init__(self, automaton: Automaton) -> None:
        self._automaton = automaton
        self._sources = sources(automaton)
        self._after = distances(automaton.accepting, self._sources.__getitem__)

    def through(self, arrow: Arrow, length: int | None) -> Iterator[Word]:
        """The accepted words that take this edge, up to a length, the shortest first."""
        table, after = self._automaton.transitions, self._after
        source, letter = arrow
        if table[source][letter] not in after:
            return
        before = distances((source,), self._sources.__getitem__)
        rest = after[table[source][letter]] + 1
        # The length of the best word that begins like this one, this word, its state, whether the edge was taken.
        heap: list[tuple[int, Word, int, bool]] = []

        def push(word: Word, state: int, taken: bool) -> None:
            if taken:
                far = after.get(state)
            else:
                far = before[state] + rest if state in before else None
            if far is not None and (length is None or len(word) + far <= length):
                heapq.heappush(heap, (len(word) + far, word, state, taken))

        push((), self._automaton.initial, False)
        while heap:
            _, word, state, taken = heapq.heappop(heap)
            if taken and state in self._automaton.accepting:
                yield word
            for other, target in enumerate(table[state]):
                push((*word, other), target, taken or (state, other) == arrow)


def picture(
    automaton: Automaton,
    alphabet: Alphabet,
    *,
    length: int | None = None,
    find: Finder | None = None,
    passing_states: AbstractSet[int] | None = None,
) -> Picture:
    """The automaton without its sink, with everything marked.

    With `find`, an edge has a word, of at most this length, if an execution with it was found. Without it an edge has
    the shortest word that takes it."""
    alive = live(automaton)
    if automaton.initial not in alive:
        return Picture(1, (), ())
    table = automaton.transitions
    found = distances([automaton.initial], lambda state: (target for target in table[state] if target in alive))
    order = {state: number for number, state in enumerate(found)}
    arrows = [(state, letter) for state in order for letter in automaton.letters if table[state][letter] in alive]
    taken = _words_through_edges(automaton, arrows, length, find)
    bold = dominating(automaton)

    def edge(arrow: Arrow) -> PictureEdge:
        state, letter = arrow
        word, execution, at = taken.get(arrow) or (None, None, 0)
        place = None if execution is None or execution.places is None else execution.places[at]
        file, line = place or (alphabet.events[letter].file, alphabet.events[letter].line)
        example = None if execution is None else execution.example
        return PictureEdge(order[state], letter, order[table[state][letter]], letter in bold, file, line, word, example)

    return Picture(
        states=len(order),
        accepting=tuple(sorted(order[state] for state in automaton.accepting & alive)),
        edges=tuple(map(edge, arrows)),
        dominating=bold,
        doomed=tuple(sorted(order[state] for state in doomed(automaton, passing_states))),
        doomed_reading="paper" if passing_states is None else "program",
        story=story(automaton),
    )


_Use = tuple[Word, Execution | None, int]  # a word, an execution that has it, and where in it an edge is taken


def _words_through_edges(
    automaton: Automaton, arrows: Iterable[Arrow], length: int | None, find: Finder | None
) -> dict[Arrow, _Use]:
    """For each edge a word that takes it. One execution serves all edges on its way: to find another may be dear."""
    found: dict[Arrow, _Use] = {}
    routes = EdgeWords(automaton)
    for arrow in arrows:
        if arrow in found:
            continue
        for word in islice(routes.through(arrow, length), 1 if find is None else _TRIES):
            execution = None if find is None else find(word)
            if find is None or execution is not None:
                state = automaton.initial
                for at, letter in enumerate(word):
                    found.setdefault((state, letter), (word, execution, at))
                    state = automaton.transitions[state][letter]
                break
    return found
