"""One formula for all executions of a program within bounds, as CBMC writes it, in an incremental SAT solver."""

from __future__ import annotations

import re
import time
import weakref
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from pysat.solvers import Solver

from lawful.explain.automata import Automaton
from lawful.explain.teacher import Word

_PIECE = 5000  # conflicts after which the solver comes back
_SIZES = (0, 2, 4, 8, 16)  # bits of a small number

_NAME = re.compile(
    r"(?:__lawful_(?P<what>w(?P<place>\d+)|length|fails)"
    r"|__lawful_input_(?P<number>\d+)::\d+::(?P<part>value|mark|at)!0@(?P<frame>\d+))#1$"
)


class SolverTimeout(Exception):
    """The seconds that the solver was given are over."""


class _InputBits(NamedTuple):
    """An input that may be taken: its number, its bits, whether it is taken, and after how many others."""

    number: int
    value: list[int]
    mark: int
    at: list[int]


class Formula:
    """The word, its length, and whether it fails are variables; every question is about them."""

    def __init__(self, path: Path, error: int) -> None:
        self.error = error
        clauses, names, top = _read(path)
        self._top = top
        self.true = self.new()
        clauses.append([self.true])
        self._take(names)
        self._solver = Solver(name="glucose4", bootstrap_with=clauses)
        # Also where nobody closes it: when Python ends, the solver's own way to do so is gone before the solver.
        self.close = weakref.finalize(self, self._solver.delete)
        self._shorter: dict[int, int] = {}
        self._blocking = self.new()  # assumed, it blocks the failures that were enumerated before
        self._model: list[int] = []

    def _take(self, names: Iterable[tuple[str, list[str]]]) -> None:
        places: dict[int, list[int]] = {}
        inputs: dict[tuple[str, str], dict[str, list[int]]] = {}  # by number and call
        self.length: list[int] = []
        self.fails = -self.true
        for name, given in names:
            said = _NAME.match(name)
            if said is None:
                continue
            bits = [self.true if bit == "TRUE" else -self.true if bit == "FALSE" else int(bit) for bit in given]
            if said["place"] is not None:
                places[int(said["place"])] = bits
            elif said["what"] == "length":
                self.length = bits
            elif said["what"] == "fails":
                self.fails = bits[0]
            else:
                inputs.setdefault((said["number"], said["frame"]), {})[said["part"]] = bits
        self.letters = [places[place] for place in range(len(places)) if place in places]
        self._inputs = [
            _InputBits(int(number), parts.get("value", []), parts["mark"][0], parts["at"])
            for (number, _), parts in inputs.items()
            if parts.get("mark") and parts.get("at")
        ]

    def new(self) -> int:
        """A variable of our own."""
        self._top += 1
        return self._top

    def add(self, clause: list[int]) -> None:
        """A clause for all questions to come."""
        self._solver.add_clause(clause)

    def solve(self, assumptions: Sequence[int], seconds: float | None = None) -> bool:
        """Whether an execution is as is assumed.

        The solver works in pieces: between them, this looks at the clock, and Python handles Ctrl-C."""
        ends = None if seconds is None else time.monotonic() + seconds
        while True:
            self._solver.conf_budget(_PIECE)
            answer = self._solver.solve_limited(assumptions=assumptions, expect_interrupt=True)
            if answer is not None:
                break
            if ends is not None and time.monotonic() > ends:
                raise SolverTimeout
        if answer:
            self._model = self._solver.get_model()
        return bool(answer)

    def holds(self, literal: int) -> bool:
        """Whether a literal is true in the last model."""
        value = self._model[abs(literal) - 1] > 0
        return value is (literal > 0)

    def number(self, bits: Sequence[int]) -> int:
        """A number in the last model."""
        return sum(1 << place for place, bit in enumerate(bits) if self.holds(bit))

    def found(self) -> Word:
        """The word in the last model, with its error letter."""
        length, failed = self.number(self.length), self.holds(self.fails)
        word = tuple(self.number(self.letters[place]) for place in range(length - failed))
        return (*word, self.error) if failed else word

    def spelling(self, word: Word) -> list[int] | None:
        """The literals that make an execution begin with these events, if its word can be so long."""
        if len(word) > len(self.letters):
            return None
        return [literal for bits, letter in zip(self.letters, word, strict=False) for literal in equal(bits, letter)]

    def exactly(self, word: Word) -> list[int] | None:
        """The literals that make an execution have this word."""
        failed = word[-1:] == (self.error,)
        spelling = self.spelling(word[:-1] if failed else word)
        if spelling is None:
            return None
        return [self.fails if failed else -self.fails, *equal(self.length, len(word)), *spelling]

    def at_most(self, length: int) -> int:
        """A literal under which no word is longer."""
        if length not in self._shorter:
            literal = self._shorter[length] = self.new()
            for longer in range(length + 1, len(self.letters) + 2):
                self.add([-literal, *differs(self.length, longer)])
        return self._shorter[length]

    def failures(self, length: int, seconds: float | None = None) -> Iterator[Word]:
        """The failing words that were not enumerated before."""
        while self.solve([self._blocking, self.fails, self.at_most(length)], seconds):
            word = self.found()
            self.add([-self._blocking, *differs(self.length, len(word)), *self.apart(word[:-1])])
            yield word

    def apart(self, word: Word) -> list[int]:
        """The clause that keeps an execution from beginning with these events."""
        return [part for bits, letter in zip(self.letters, word, strict=False) for part in differs(bits, letter)]

    def inputs(self, assumptions: Sequence[int]) -> list[tuple[int, str]]:
        """The inputs that an execution takes that is as is assumed, in their order, and small where they can be."""
        if not self.solve(assumptions):
            return []
        fixed = self._small(list(assumptions))
        fixed += [bit if self.holds(bit) else -bit for one in self._inputs for bit in one.value]
        # A taken input is marked, but a marked one need not be taken: each is tried without.
        sure: set[int] = set()
        while True:
            marked = [one for one in self._inputs if self.holds(one.mark)]
            doubtful = next((one for one in marked if one.mark not in sure), None)
            if doubtful is None:
                break
            model = self._model
            if self.solve([*fixed, -doubtful.mark]):
                fixed.append(-doubtful.mark)
            else:
                self._model = model
                sure.add(doubtful.mark)
        taken = sorted(marked, key=lambda one: self.number(one.at))
        return [(one.number, "".join("1" if self.holds(bit) else "0" for bit in reversed(one.value))) for one in taken]

    def _small(self, fixed: list[int]) -> list[int]:
        """Makes the inputs small, one after the other, and gives what then has to be assumed."""
        done: set[int] = set()
        while True:
            marked = [one for one in self._inputs if self.holds(one.mark) and one.mark not in done]
            if not marked:
                return fixed
            one = min(marked, key=lambda one: self.number(one.at))
            done.add(one.mark)
            model = self._model
            for kept in _SIZES:
                high = one.value[kept:]
                if high and any(self.solve([*fixed, *side]) for side in ([-bit for bit in high], high)):
                    break
            else:
                self._model = model
            fixed += [bit if self.holds(bit) else -bit for bit in one.value]

    def running(self, automaton: Automaton, length: int) -> tuple[int, list[list[int]]]:
        """Clauses that let an automaton run along the word: a literal that switches them on, and for each place the
        literals of the states. The state that it is in is true; others can be true too."""
        active = self.new()
        states = [[self.new() for _ in automaton.transitions] for _ in range(min(length, len(self.letters)) + 1)]
        self.add([-active, states[0][automaton.initial]])
        for place, bits in enumerate(self.letters[: len(states) - 1]):
            for letter in range(self.error):
                other = differs(bits, letter)
                for state, row in enumerate(automaton.transitions):
                    self.add([-active, -states[place][state], states[place + 1][row[letter]], *other])
        return active, states


def equal(bits: Sequence[int], number: int) -> list[int]:
    """The literals that make bits a number."""
    return [bit if number >> place & 1 else -bit for place, bit in enumerate(bits)]


def differs(bits: Sequence[int], number: int) -> list[int]:
    """The clause that keeps bits from being a number."""
    return [-literal for literal in equal(bits, number)]


def _read(path: Path) -> tuple[list[list[int]], list[tuple[str, list[str]]], int]:
    """The clauses, the names of variables in the comments, and the number of the last variable."""
    names: list[tuple[str, list[str]]] = []
    rest: list[str] = []
    top = 0
    with path.open(encoding="utf-8", errors="replace") as lines:
        for line in lines:
            first = line[:1]
            if first == "c":
                parts = line.split()
                if len(parts) > 2 and parts[1].startswith("__lawful_"):
                    names.append((parts[1], parts[2:]))
            elif first == "p":
                top = int(line.split()[2])
            else:
                rest.append(line)
    # All at once: there may be a million clauses.
    numbers = list(map(int, "".join(rest).split()))
    clauses: list[list[int]] = []
    begin, count = 0, len(numbers)
    while begin < count:
        end = numbers.index(0, begin)
        clauses.append(numbers[begin:end])
        begin = end + 1
    return clauses, names, top
