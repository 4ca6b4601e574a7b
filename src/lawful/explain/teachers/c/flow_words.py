"""The control-flow graph of a program, seen through its events: the words that its text alone does not rule out."""

from __future__ import annotations

from collections import deque

from lawful.explain.automata import Automaton
from lawful.explain.teacher import Word
from lawful.explain.teachers.c.control_flow import ControlFlowGraph
from lawful.explain.teachers.c.instrument import Instrumented


class FlowWords:
    """A_cfg of the paper, projected to the events: no word of an execution is refused, but others may be let through.

    Only words that end with the error are asked for, so states that cannot lead there are left out."""

    def __init__(self, program: Instrumented) -> None:
        self.error = program.alphabet.error
        graph = ControlFlowGraph(program)
        self._failed = graph.failed
        start = graph.run()
        alive = graph.leading_to(graph.failed)
        self._edges = [
            [(letter, to) for letter, to in edges if to in alive] if state in alive else []
            for state, edges in enumerate(graph.edges)
        ]
        self._sets: dict[frozenset[int], int] = {}
        self._members: list[frozenset[int]] = []
        self._steps: list[dict[int, int]] = []
        self._start = self._number(self._closed({start} & alive))

    @property
    def empty(self) -> bool:
        """Whether no way leads to the error."""
        return not self._members[self._start]

    def shortest(self) -> int:
        """The length of the shortest word that is not ruled out, the error letter included."""
        distance = {self._start: 0}
        waiting = deque([self._start])
        while waiting:
            state = waiting.popleft()
            for letter in range(self.error + 1):
                after = self.step(state, letter)
                if letter == self.error and self._members[after]:
                    return distance[state] + 1
                if after not in distance and self._members[after]:
                    distance[after] = distance[state] + 1
                    waiting.append(after)
        return 1

    def allows(self, word: Word) -> bool:
        """Whether a word may end in the error there."""
        state = self._start
        for letter in word:
            state = self.step(state, letter)
        return self._failed in self._members[state]

    def refused(self, automaton: Automaton, longest: int) -> Word | None:
        """A shortest word that the automaton accepts and the program's text rules out."""
        away = _distances(automaton)
        first = (automaton.initial, self._start)
        came: dict[tuple[int, int], tuple[tuple[int, int], int] | None] = {first: None}
        edge = [first]
        for length in range(longest + 1):
            later: list[tuple[int, int]] = []
            for pair in edge:
                state, there = pair
                if state in automaton.accepting and self._failed not in self._members[there]:
                    return _word(came, pair)
                for letter, to in enumerate(automaton.transitions[state]):
                    after = (to, self.step(there, letter))
                    if after not in came and to in away and length + 1 + away[to] <= longest:
                        came[after] = (pair, letter)
                        later.append(after)
            edge = later
        return None

    def step(self, state: int, letter: int) -> int:
        """The set of places after one more letter."""
        known = self._steps[state].get(letter)
        if known is None:
            reached = {to for one in self._members[state] for at, to in self._edges[one] if at == letter}
            known = self._steps[state][letter] = self._number(self._closed(reached))
        return known

    def _closed(self, states: set[int]) -> frozenset[int]:
        found, waiting = set(states), list(states)
        while waiting:
            for letter, to in self._edges[waiting.pop()]:
                if letter is None and to not in found:
                    found.add(to)
                    waiting.append(to)
        return frozenset(found)

    def _number(self, states: frozenset[int]) -> int:
        if states not in self._sets:
            self._sets[states] = len(self._members)
            self._members.append(states)
            self._steps.append({})
        return self._sets[states]


def _distances(automaton: Automaton) -> dict[int, int]:
    """How far an accepting state is from each state that leads to one."""
    back: dict[int, set[int]] = {}
    for state, row in enumerate(automaton.transitions):
        for to in row:
            back.setdefault(to, set()).add(state)
    away = dict.fromkeys(automaton.accepting, 0)
    waiting = deque(away)
    while waiting:
        state = waiting.popleft()
        for before in back.get(state, ()):
            if before not in away:
                away[before] = away[state] + 1
                waiting.append(before)
    return away


def _word(came: dict[tuple[int, int], tuple[tuple[int, int], int] | None], at: tuple[int, int]) -> Word:
    word: list[int] = []
    while (before := came[at]) is not None:
        at, letter = before
        word.append(letter)
    return tuple(reversed(word))
