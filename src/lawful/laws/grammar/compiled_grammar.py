"""A grammar as tables: states, and for each state and message a transition of straight code.

The state of a group is a stack of frames. A frame is a number, its state, and the values that are kept there. A state
waits for a message: at a terminal of some rule, or where a nonterminal begins. Frames below wait for what is above
them to be done. What happens between two messages is known beforehand, because the next message chooses the rule: all
of it is one transition, which takes the frame away and puts others in its place, or none, and then its results go to
the frame below. A rule that ends with a nonterminal leaves no frame behind if nothing remains to be done. A regular
grammar therefore never has more than one frame: it is an automaton with guards.

All of it is numbers and small tuples, so that a machine in another language can take it over as it is.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import IntEnum
from typing import NamedTuple

from lawful.laws.grammar.resolved_grammar import Grammar, Rule, Term

NO_STEP = -1


class Load(NamedTuple):
    """Copy an attribute of the message from the event into the next register."""

    owner: str  # the terminal
    name: str
    parameter: int | None  # its position
    field: str | None  # of the event

    def __str__(self) -> str:
        return f"{self.owner}.{self.name}"


class Set(NamedTuple):
    """Compute a value into the next register."""

    value: Term


class Assert(NamedTuple):
    condition: Term
    number: int  # in `Grammar.assertions`
    known: tuple[tuple[str, Term], ...] = ()  # attributes that its rule, and those around it, have been given


Instruction = Load | Set | Assert


class NewFrame(NamedTuple):
    """What is put on the stack: a state, and the registers whose values it keeps."""

    state: int
    values: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Transition:
    code: tuple[Instruction, ...]
    frames: tuple[NewFrame, ...]  # lowest first; none: this part is done
    results: tuple[int, ...]  # registers; if it is done
    taken: bool  # has the message been consumed? If not, it goes to the frame below
    frame_size: int  # registers that come from the frame,
    results_size: int  # and that come from above


class Ending(IntEnum):
    """May the trace end in this state, as far as this frame is concerned?"""

    NEVER = 0
    BY_VALUES = 1  # assertions decide
    ALWAYS = 2


@dataclass(slots=True)
class State:
    """Where a frame can be: before a symbol of a rule, or where a nonterminal begins."""

    rule: int | None  # None: where a nonterminal begins
    position: int
    nonterminal: int
    waits: bool  # for a message; else for the frame above
    names: tuple[str, ...]  # of the values it keeps
    ending: Ending
    lost: tuple[tuple[Term, ...], ...] = ()  # if one of each of these is false, nothing can be accepted any more
    resume: int = NO_STEP  # the transition when what is above is done


@dataclass(slots=True)
class CompiledGrammar:
    """The tables. The end of the trace is the column after the last terminal."""

    grammar: Grammar
    states: list[State] = field(default_factory=list)
    transitions: list[Transition] = field(default_factory=list)
    table: list[int] = field(default_factory=list)  # states times (terminals + 1)
    attributes: list[Load] = field(default_factory=list)  # all that are loaded
    choices: list[dict[int, Rule]] = field(default_factory=list)  # of each nonterminal, by the next message
    start: Transition = field(init=False)  # makes the first stack of a group

    @property
    def columns(self) -> int:
        return len(self.grammar.terminals) + 1

    @property
    def regular(self) -> bool:
        """Is one frame enough?"""
        return all(len(each.frames) <= 1 for each in self.transitions)

    @property
    def universal(self) -> bool:
        """Is everything accepted?"""
        if not self.regular or any(isinstance(each, Assert) for made in self.transitions for each in made.code):
            return False
        for number, state in enumerate(self.states):
            steps = self.table[number * self.columns : (number + 1) * self.columns - 1]
            if state.ending is not Ending.ALWAYS or NO_STEP in steps:
                return False
            if not all(self.transitions[step].frames for step in steps):
                return False
        return True
