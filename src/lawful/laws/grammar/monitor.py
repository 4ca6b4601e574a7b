"""The running state of a view: every group of its name, each on its own."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable
from itertools import islice
from typing import TYPE_CHECKING, Any

from lawful import core
from lawful.diagnostics import did_you_mean
from lawful.laws.grammar.machine import Key, PythonGrammarMachine, group_key
from lawful.laws.grammar.steps import Stack, flat
from lawful.laws.grammar.wording import Rejection
from lawful.laws.machine_monitor import MachineMonitor
from lawful.laws.protocol import Event, Expectation
from lawful.laws.rml.values import identical

if TYPE_CHECKING:
    from lawful._native._core import GrammarMachine
    from lawful.laws.grammar.law import GrammarLaw

_MOST_EXPECTED = 8
_NONE: Any = object()


class GrammarMonitor(MachineMonitor["PythonGrammarMachine | GrammarMachine"]):
    """The running state of a view: every group of its name, each on its own."""

    def __init__(self, law: GrammarLaw) -> None:
        self.law = law
        super().__init__()

    def _new_machine(self) -> PythonGrammarMachine | GrammarMachine:
        law = self.law
        if core.native is None:
            return PythonGrammarMachine(law.steps, law.dispatch, self._warn)
        machine: GrammarMachine = core.native.GrammarMachine(law.tables, flat(law.steps.start(self._warn)), self._warn)
        return machine

    def inline_step(self, head: Event) -> tuple[Any, int] | None:
        """The C core's machine and the terminal of messages that begin like this; None: it must see their events."""
        terminal = self.law.dispatch.find(head)
        if terminal is None or isinstance(self._machine, PythonGrammarMachine):
            return None
        return self._machine, terminal

    def warnings(self) -> tuple[str, ...]:
        return (*super().warnings(), *self._misspelled_messages())

    def _misspelled_messages(self) -> Iterable[str]:
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

    # -- the present state -----------------------------------------------------------------------

    @property
    def _accepts_all(self) -> bool:
        return self.law.steps.universal

    def _stack(self, key: Key) -> Stack:
        return self.law.steps.stacked(self._machine.frames(key))

    def rejection(self, event: Event | None = None) -> Rejection | None:
        """Why the event that was rejected (or this one) has no step; at the end, what the first group lacks."""
        event = self._rejected if event is None else event
        if event is not None:
            terminal = self.law.dispatch.find(event)
            if terminal is None:
                return None
            key = group_key(event)
            return self.law.words.rejection(key, self._stack(key), terminal, event)
        key = next(iter(self._machine.waiting()), _NONE)
        return None if key is _NONE else self.rejection_at_end(key)

    def rejection_at_end(self, group: Key) -> Rejection:
        """Why a group may not end here."""
        return self.law.words.rejection(group, self._stack(group), None, None)

    def expectation(self, event: Event | None = None) -> Expectation:
        found = self.rejection(event)
        if found is None:
            return Expectation(tuple(self._at_the_start()), {})
        others = 0
        if found.terminal is None:
            others = sum(1 for _ in self._machine.waiting()) - 1
        return _expectation(found, others)

    def _at_the_start(self) -> Iterable[str]:
        stack = self._stack(_NONE)
        for terminal in self.law.steps.expected(stack):
            if terminal < self.law.compiled.columns - 1:
                yield self.law.words.message(stack, terminal)

    def pending(self, most: int) -> tuple[Expectation, ...]:
        return tuple(_expectation(self.rejection_at_end(key), 0) for key in islice(self._machine.waiting(), most))

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

    def forget(self, object_id: int | str) -> bool:
        return False  # what is missing in a group is reported at the end

    # -- out and in -------------------------------------------------------------------------------

    def __getstate__(self) -> dict[str, Any]:
        machine = self._machine
        stacks = machine.dump(), list(machine.came), dict(machine.others)
        return super().__getstate__() | {"_state": (stacks, machine.failed)}

    def __setstate__(self, state: dict[str, Any]) -> None:
        stacks, failed = state.pop("_state")
        self.__dict__.update(state)
        self._machine = self._new_machine()
        self._machine.load(*stacks)
        self._machine.failed = failed


def _expectation(found: Rejection, others: int) -> Expectation:
    bindings = {} if found.group is None else {"groupId": found.group}
    shown = found.expected[:_MOST_EXPECTED]
    return Expectation(shown, bindings | dict(found.values), len(found.expected) - len(shown), others, found.note)
