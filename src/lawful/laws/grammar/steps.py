"""A compiled grammar ready to run: stacks of frames, and the step that a message takes on one."""

from __future__ import annotations

from typing import Any, NamedTuple

from lawful.laws.grammar.compiled_grammar import NO_STEP, Assert, CompiledGrammar, Ending, Transition
from lawful.laws.grammar.evaluation import Evaluate, Failed, Run, Warn, expression, runner
from lawful.laws.protocol import Event
from lawful.laws.rml.values import NoValue


class Cell(NamedTuple):
    """A frame on a stack. Stacks are shared lists: a step that fails leaves the old one as it was."""

    state: int
    values: tuple[Any, ...]
    below: Cell | None
    ending: int  # of this frame and all below


Stack = Cell | None
"""None: the grammar is done, and no further message may come."""

Frames = list[tuple[int, tuple[Any, ...]]]
"""The same in plain values: states and what they keep, lowest frame first."""

_NOTHING: Event = {}
_new = tuple.__new__


class Failure(NamedTuple):
    """An assertion that does not hold."""

    error: Failed
    cell: Cell  # the frame in whose rule it stands
    results: tuple[Any, ...]  # what the symbol that has just ended gave to it
    known: dict[str, Any]  # values computed since then


class _Transition(NamedTuple):
    run: Run | None
    frames: tuple[tuple[int, tuple[int, ...], int], ...]  # state, registers, ending
    results: tuple[int, ...]
    taken: bool
    results_size: int


def silent(_message: str) -> None:
    """For those who only ask what would be."""


class Steps:
    """A compiled grammar, ready to run. It is shared by all monitors of a law."""

    def __init__(self, compiled: CompiledGrammar) -> None:
        self.compiled = compiled
        self._columns = compiled.columns
        self._end = compiled.columns - 1
        self._table = compiled.table
        self._transitions = [self._ready(each) for each in compiled.transitions]
        self._start = self._ready(compiled.start)
        self._resumes = [state.resume for state in compiled.states]
        self._lost: dict[int, list[list[Evaluate]]] = {
            number: [[expression(each) for each in rule] for rule in state.lost]
            for number, state in enumerate(compiled.states)
            if state.lost
        }
        self.can_be_lost = bool(self._lost)
        self.universal = compiled.universal

    def _ready(self, made: Transition) -> _Transition:
        states = self.compiled.states
        frames = tuple((frame.state, frame.values, int(states[frame.state].ending)) for frame in made.frames)
        return _Transition(runner(made.code), frames, made.results, made.taken, made.results_size)

    def start(self, warn: Warn) -> Stack:
        """The stack of a group from which no message has come yet."""
        registers: list[Any] = []
        if self._start.run is not None:
            self._start.run(registers, _NOTHING, warn)
        return _pushed(self._start, registers, None)

    def step(self, stack: Stack, terminal: int, event: Event, warn: Warn) -> tuple[bool, Stack]:
        """Take a message: was there a step, and what is the stack then? Raises `Failed` where an assertion fails."""
        while stack is not None:
            number = self._table[stack.state * self._columns + terminal]
            if number == NO_STEP:
                break
            transition = self._transitions[number]
            registers = list(stack.values)
            if transition.run is not None:
                try:
                    transition.run(registers, event, warn)
                except Failed as failed:
                    failed.place = number, registers, stack, ()
                    raise
            below = stack.below
            if transition.frames:
                return True, _pushed(transition, registers, below)
            stack = self._return(transition, registers, below, event, warn)
            if transition.taken:
                return True, stack
        return False, stack

    def _return(self, transition: _Transition, registers: list[Any], below: Stack, event: Event, warn: Warn) -> Stack:
        """Hand results to the frames below, as long as each of them is done with that."""
        while below is not None:
            results = [registers[number] for number in transition.results]
            transition = self._transitions[self._resumes[below.state]]
            registers = [*below.values, *results] if transition.results_size else list(below.values)
            if transition.run is not None:
                try:
                    transition.run(registers, event, warn)
                except Failed as failed:
                    failed.place = self._resumes[below.state], registers, below, tuple(results)
                    raise
            below = below.below
            if transition.frames:
                return _pushed(transition, registers, below)
        return None

    def ends(self, stack: Stack) -> bool:
        """May the trace end here? (Values that an end lacks cause no warning, because the trace may go on.)"""
        if stack is None or stack.ending == Ending.ALWAYS:
            return True
        if stack.ending == Ending.NEVER:
            return False
        try:
            return self.end(stack, silent)
        except Failed:
            return False

    def end(self, stack: Stack, warn: Warn) -> bool:
        """Let the trace end here; raises `Failed` if an assertion does not hold."""
        return self.step(stack, self._end, _NOTHING, warn)[1] is None

    def failure(self, stack: Stack, terminal: int, event: Event) -> Failure | None:
        """Which assertion keeps a message, or the end, from being taken, and in which frame it stands."""
        try:
            self.step(stack, terminal, event, silent)
        except Failed as failed:
            number, registers, cell, results = failed.place
            return Failure(failed, cell, results, self._known(number, registers, failed))
        return None

    def _known(self, number: int, registers: list[Any], failed: Failed) -> dict[str, Any]:
        """The attributes that were known where an assertion of a transition has failed."""
        transition = self.compiled.transitions[number]
        filled = transition.frame_size + transition.results_size
        for each in transition.code:
            if not isinstance(each, Assert):
                filled += 1
            elif filled == len(registers) and each.number == failed.assertion:
                values = ((name, expression(value)(registers)) for name, value in each.known)
                return dict(reversed(list(values)))  # of two of a name, the inner one
        return {}

    def is_lost(self, stack: Stack) -> bool:
        """Do the values that are kept forbid every alternative there is?"""
        if stack is None:
            return False
        alternatives = self._lost.get(stack.state)
        return alternatives is not None and all(
            any(_fails(each, stack.values) for each in rule) for rule in alternatives
        )

    def stacked(self, frames: Frames) -> Stack:
        """The opposite of `flat`."""
        below: Stack = None
        for state, values in frames:
            ending = int(self.compiled.states[state].ending)
            below = Cell(state, tuple(values), below, ending if below is None else min(ending, below.ending))
        return below

    def expected(self, stack: Stack) -> list[int]:
        """The messages that would be taken here, whatever their values; the end is the last column."""
        return [terminal for terminal in range(self._columns) if self.is_expected(stack, terminal)]

    def is_expected(self, stack: Stack, terminal: int) -> bool:
        states = [state for state, _ in flat(stack)]
        while states:
            number = self._table[states.pop() * self._columns + terminal]
            if number == NO_STEP:
                return False
            if self._transitions[number].taken:
                return True
            # It is not taken, so this frame is done. Frames below resume, until one waits for a message.
            frames: tuple[Any, ...] = ()
            while states and not frames:
                frames = self._transitions[self._resumes[states.pop()]].frames
            states += (state for state, _, _ in frames)
        return terminal == self._end


def _pushed(transition: _Transition, registers: list[Any], below: Stack) -> Stack:
    for state, values, ending in transition.frames:
        ending = ending if below is None or ending < below.ending else below.ending
        # What Cell(...) does, without the detour: this is on the path of every message.
        below = _new(Cell, (state, tuple([registers[number] for number in values]), below, ending))
    return below


def _fails(condition: Evaluate, values: tuple[Any, ...]) -> bool:
    try:
        return condition(list(values)) is not True
    except NoValue:
        return True


def flat(stack: Stack) -> Frames:
    frames: Frames = []
    while stack is not None:
        frames.append((stack.state, stack.values))
        stack = stack.below
    return frames[::-1]
