"""A view with its grammar as a law, and its monitors, as the rest of Lawful sees them."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from itertools import islice
from typing import Any, Literal

from lawful import core
from lawful.diagnostics import Diagnostic, Source, did_you_mean
from lawful.laws.grammar import syntax
from lawful.laws.grammar.functions import files, load
from lawful.laws.grammar.groups import Binding
from lawful.laws.grammar.machine import Dispatch, Key, Machine, group_key
from lawful.laws.grammar.model import Grammar
from lawful.laws.grammar.native import NativeMachine, tables
from lawful.laws.grammar.program import Program
from lawful.laws.grammar.steps import Steps
from lawful.laws.grammar.wording import Rejection, Words
from lawful.laws.notebook import Shown
from lawful.laws.protocol import Event, Expectation, Outcome, Verdict, Watch
from lawful.laws.rml.values import identical

_BATCH = 4096
_MOST_WARNINGS = 100
_MOST_EXPECTED = 8


class GrammarLaw(Shown):
    """A compiled view with its grammar. It can be pickled; so can its monitors."""

    def __init__(
        self,
        view_source: Source,
        grammar_source: Source,
        view: syntax.View,
        program: Program,
        warnings: tuple[Diagnostic, ...],
        groups: Mapping[str, tuple[Binding, ...]] | None = None,
        classes: Mapping[str, str] | None = None,
    ) -> None:
        self.source = view_source.text
        self.name = view_source.name
        self.view = view
        self.program = program
        self.warnings = warnings
        self.groups = groups or {}
        """What groups are in a running program."""
        self.classes = classes or {}
        """Where classes of the view are, by qualified names."""
        self._grammar_source = grammar_source

    def __repr__(self) -> str:
        return f"<GrammarLaw {self.name}>"

    def __reduce__(self) -> tuple[Any, ...]:
        other = self._grammar_source
        if self.view.file is None:
            return _recompiled, (self.source, self.name, None, None, files())
        return _recompiled, (self.source, self.name, other.text, other.name, files())

    @property
    def grammar(self) -> Grammar:
        return self.program.grammar

    @property
    def regular(self) -> bool:
        """Is it an automaton, which takes constant memory? Otherwise memory grows with how deep messages nest."""
        return self.program.regular

    @property
    def group(self) -> str | None:
        """The name of the groups that it speaks of; None: any."""
        return None if self.view.group is None else self.view.group.text

    @cached_property
    def steps(self) -> Steps:
        return Steps(self.program)

    @cached_property
    def dispatch(self) -> Dispatch:
        return Dispatch(self.program, self.group)

    @cached_property
    def tables(self) -> Any:
        """The program for the C core; None if there is none."""
        if core.native is None:
            return None
        return tables(core.native, self.steps, self.dispatch)

    @cached_property
    def words(self) -> Words:
        return Words(self.steps, self._grammar_source)

    @cached_property
    def watches(self) -> tuple[Watch, ...]:
        group = () if self.group is None else (("group", (self.group,)),)
        return tuple(
            Watch((("event", (message.direction,)), ("name", (message.method.text,)), *group))
            for message in self.view.messages
        )

    @property
    def selective(self) -> bool:
        return True

    @property
    def subjects(self) -> None:
        """It is about groups, not about objects."""
        return None

    @property
    def every(self) -> None:
        """Time is told by events only."""
        return None

    @property
    def parts(self) -> tuple[GrammarLaw, ...]:
        return (self,)

    def monitor(self) -> GrammarMonitor:
        return GrammarMonitor(self)

    def check(self, events: Iterable[Event]) -> Outcome:
        """Check a whole trace."""
        if isinstance(events, str | bytes | Mapping):
            raise TypeError(
                "a trace is events, one after the other; lawful.events.open_trace(path) reads them from a file"
            )
        monitor = self.monitor()
        rest = iter(events)
        while batch := list(islice(rest, _BATCH)):
            monitor.feed(batch)
        monitor.end()
        return monitor.outcome()


def _recompiled(
    source: str, name: str, grammar: str | None, grammar_name: str | None, functions: tuple[str, ...] = ()
) -> GrammarLaw:
    from lawful.laws.grammar.loading import compile

    for path in functions:
        load(path)
    return compile(source, name=name, grammar=grammar, grammar_name=grammar_name)


class GrammarMonitor:
    """The running state of a view: every group of its name, each on its own."""

    def __init__(self, law: GrammarLaw) -> None:
        self.law = law
        self.events = 0
        self.rejected_at: int | Literal["end"] | None = None
        self.doomed_at: int | None = None
        self._numbers: Sequence[int] = ()  # of the events that are being fed
        self._warnings: dict[str, str] = {}
        self._ended: Verdict | None = None
        self._rejected: Event | None = None
        self._fed: Sequence[int] = ()  # the numbers of the last events
        self._machine = self._new_machine()

    def _new_machine(self) -> Machine | NativeMachine:
        law = self.law
        if core.native is None or law.tables is None:
            return Machine(law.steps, law.dispatch, self._warn)
        return NativeMachine(core.native, law.tables, law.steps, self._warn)

    def _warn(self, message: str) -> None:
        if message not in self._warnings and len(self._warnings) < _MOST_WARNINGS:
            place = f"at event {self._numbers[self._machine.at]}" if self._numbers else "before the first event"
            self._warnings[message] = f"{message} ({place})"

    def warnings(self) -> tuple[str, ...]:
        return (*self._warnings.values(), *self._slips())

    def _slips(self) -> Iterable[str]:
        """Messages of the view that never came, where one came that is nearly called so."""
        others = {name: kind for kind, name in self._machine.others}
        if not others or self._ended is None:
            return
        for terminal, message in enumerate(self.law.view.messages):
            if terminal in self._machine.came:
                continue
            name = message.method.text
            near = name if name in others else did_you_mean(name, others)
            if near is not None and (near == name or near not in self.law.dispatch.by_name):
                yield (
                    f"`{message.direction} {name}` of the view never came, but `{others[near]} {near}` did, "
                    "which is not in the view: is one of them misspelled?"
                )

    # -- events -----------------------------------------------------------------------------------

    def step(self, event: Event) -> Verdict:
        return self.feed([event])

    def feed(self, events: Iterable[Event], numbers: Sequence[int] | None = None) -> Verdict:
        if not isinstance(events, list):
            events = list(events)
        if not events:
            return self.verdict
        self._numbers = numbers or range(self.events + 1, self.events + len(events) + 1)
        position = 0
        while position < len(events) and not self._machine.failed:
            position = self._machine.feed(events, position, self.doomed_at is None)
            if self._machine.failed:
                self.rejected_at = self._numbers[position]
                self._rejected = events[position]
            elif position < len(events):
                self.doomed_at = self._numbers[position]
                position += 1
        self.events = self._numbers[-1]
        self._fed, self._numbers = self._numbers, ()
        return self.verdict

    def forgive(self) -> bool:
        if self.doomed_at is not None or not isinstance(self.rejected_at, int):
            return False
        # A step that fails changes nothing: the machine still is where it was.
        self._machine.failed = False
        self.events = self.rejected_at
        self.rejected_at = self._rejected = None
        return True

    def end(self) -> Verdict:
        if self._ended is None:
            accepted = self._accepts
            if not accepted and self.rejected_at is None:
                self.rejected_at = "end"
            self._ended = Verdict.TRUE if accepted else Verdict.FALSE
        return self._ended

    # -- what is known now ------------------------------------------------------------------------

    @property
    def _accepts(self) -> bool:
        return not self._machine.failed and self._machine.halts

    @property
    def verdict(self) -> Verdict:
        return self._open_verdict if self._ended is None else self._ended

    @property
    def _open_verdict(self) -> Verdict:
        if self._machine.failed or self.doomed_at is not None:
            return Verdict.FALSE
        if self.law.steps.universal:
            return Verdict.TRUE
        return Verdict.CURRENTLY_TRUE if self._machine.halts else Verdict.CURRENTLY_FALSE

    def outcome(self) -> Outcome:
        return Outcome(self._accepts, self._open_verdict, self.rejected_at, self.doomed_at, self.events)

    def rejection(self, event: Event | None = None) -> Rejection | None:
        """Why the event that was rejected (or this one) has no step; at the end, what the first group lacks."""
        event = self._rejected if event is None else event
        if event is not None:
            terminal = self.law.dispatch.find(event)
            if terminal is None:
                return None
            key = group_key(event)
            return self.law.words.rejection(key, self._machine.stack(key), terminal, event)
        key = next(self._machine.waiting(), _NONE)
        return None if key is _NONE else self.law.words.rejection(key, self._machine.stack(key), None, None)

    def rejection_at_end(self, group: Key) -> Rejection:
        """Why a group may not end here."""
        return self.law.words.rejection(group, self._machine.stack(group), None, None)

    def expectation(self, event: Event | None = None) -> Expectation:
        found = self.rejection(event)
        if found is None:
            return Expectation(tuple(self._at_the_start()), {})
        others = 0
        if found.terminal is None:
            others = sum(1 for _ in self._machine.waiting()) - 1
        return _expectation(found, others)

    def _at_the_start(self) -> Iterable[str]:
        stack = self._machine.stack(_NONE)
        for terminal in self.law.steps.expected(stack):
            if terminal < self.law.program.columns - 1:
                yield self.law.words.message(stack, terminal)

    def pending(self, most: int) -> tuple[Expectation, ...]:
        words, machine = self.law.words, self._machine
        keys = islice(machine.waiting(), most)
        return tuple(_expectation(words.rejection(key, machine.stack(key), None, None), 0) for key in keys)

    def relevant(self, event: Event, values: Iterable[Any]) -> bool:
        """Is it a message of the view, of one of these groups? Without an id, it is about the objects it mentions."""
        terminal = self.law.dispatch.find(event)
        if terminal is None:
            return False
        wanted = list(values)
        if not wanted:
            return True
        if "groupId" in event:
            return any(identical(event["groupId"], value) for value in wanted)
        attributes = (event.get("targetId"), *self.law.words.attributes(terminal, event).values())
        return any(identical(each, value) for each in attributes for value in wanted)

    def prevented(self, number: int) -> None:
        # If it was this law that was broken, it is so already.
        place = bisect_left(self._fed, number)
        if place == len(self._fed) or self._fed[place] != number or self.rejected_at is not None:
            return
        if self._machine.undo(place):
            self.doomed_at = None if self.doomed_at == number else self.doomed_at

    def again(self) -> bool:
        return False

    def forget(self, object_id: int | str) -> bool:
        return False  # objects are not followed, groups are

    # -- out and in -------------------------------------------------------------------------------

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in self.__dict__.items() if name != "_machine"} | {
            "_state": self._machine.dump()
        }

    def __setstate__(self, state: dict[str, Any]) -> None:
        state = state | {"_fed": ()}  # what has been pickled is not taken back
        dumped = state.pop("_state")
        self.__dict__.update(state)
        self._machine = self._new_machine()
        self._machine.load(dumped)


_NONE: Any = object()


def _expectation(found: Rejection, others: int) -> Expectation:
    bindings = {} if found.group is None else {"groupId": found.group}
    shown = found.expected[:_MOST_EXPECTED]
    return Expectation(shown, bindings | dict(found.values), len(found.expected) - len(shown), others, found.note)
