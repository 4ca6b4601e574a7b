"""A view with its grammar as a law, and its monitors, as the rest of Lawful sees them."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Mapping
from functools import cached_property
from itertools import islice
from typing import Any

from lawful import core
from lawful.diagnostics import Diagnostic, Source, did_you_mean
from lawful.laws.grammar.compiled_grammar import CompiledGrammar
from lawful.laws.grammar.functions import files, load
from lawful.laws.grammar.groups import Binding
from lawful.laws.grammar.machine import Dispatch, Key, PythonGrammarMachine, group_key
from lawful.laws.grammar.native import NativeGrammarMachine, tables
from lawful.laws.grammar.resolved_grammar import Grammar
from lawful.laws.grammar.steps import Steps
from lawful.laws.grammar.syntax import View
from lawful.laws.grammar.wording import Rejection, Words
from lawful.laws.law_base import LawBase
from lawful.laws.machine_monitor import MachineMonitor
from lawful.laws.protocol import Event, Expectation, Language, Watch
from lawful.laws.rml.values import identical

_MOST_EXPECTED = 8


class GrammarLaw(LawBase):
    """A compiled view with its grammar. It and its monitors can be pickled."""

    language: Language = "view"
    tracks_objects = False

    def __init__(
        self,
        view_source: Source,
        grammar_source: Source,
        view: View,
        compiled: CompiledGrammar,
        warnings: tuple[Diagnostic, ...],
        groups: Mapping[str, tuple[Binding, ...]] | None = None,
        classes: Mapping[str, str] | None = None,
    ) -> None:
        self.source = view_source.text
        self.name = view_source.name
        self.view = view
        self.compiled = compiled
        self.warnings = warnings
        self.groups = groups or {}
        """What groups are in a running program."""
        self.classes = classes or {}
        """Where classes of the view are, by qualified names."""
        self._grammar_source = grammar_source

    def __reduce__(self) -> tuple[Any, ...]:
        other = self._grammar_source
        if self.view.file is None:
            return _recompiled, (self.source, self.name, None, None, files())
        return _recompiled, (self.source, self.name, other.text, other.name, files())

    @property
    def grammar(self) -> Grammar:
        return self.compiled.grammar

    @property
    def regular(self) -> bool:
        """Is it an automaton, which takes constant memory? Otherwise memory grows with how deep messages nest."""
        return self.compiled.regular

    @property
    def group(self) -> str | None:
        """The name of the groups that it speaks of; None: any."""
        return None if self.view.group is None else self.view.group.text

    @cached_property
    def steps(self) -> Steps:
        return Steps(self.compiled)

    @cached_property
    def dispatch(self) -> Dispatch:
        return Dispatch(self.compiled, self.group)

    @cached_property
    def tables(self) -> Any:
        """The compiled grammar for the C core; None without it."""
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

    @cached_property
    def subjects(self) -> GroupSubjects:
        return GroupSubjects(self)

    @property
    def every(self) -> None:
        """Only events carry the time."""
        return None

    @property
    def parts(self) -> tuple[GrammarLaw, ...]:
        return (self,)

    def monitor(self) -> GrammarMonitor:
        return GrammarMonitor(self)


class GroupSubjects:
    """The groups that a view is about, each for itself: a life is one group, from its first message on.

    It ends when the object is gone, or the task, that stands for the group. Messages that do not name their group
    belong to no life.
    """

    classes: tuple[str, ...] = ()
    """Messages name their groups; Python classes play no part."""

    binding: str | None = "groupId"
    """By this name an expectation says of which group it is; its other bindings are data."""

    by_target = False

    def __init__(self, law: GrammarLaw) -> None:
        self.label = "" if law.group is None else f"group {law.group}"
        self._find = law.dispatch.find

    def of(self, event: Event) -> int | str | None:
        if event.get("event") == "gone":
            key = event.get("targetId")
        else:
            key = None if self._find(event) is None else group_key(event)
        return key if key.__class__ in (int, str) else None


def _recompiled(
    source: str, name: str, grammar: str | None, grammar_name: str | None, functions: tuple[str, ...] = ()
) -> GrammarLaw:
    # The only cycle in this package: `loading` makes laws, and a pickled law is made again from its text.
    from lawful.laws.grammar.loading import compile

    for path in functions:
        load(path)
    return compile(source, name=name, grammar=grammar, grammar_name=grammar_name)


class GrammarMonitor(MachineMonitor[PythonGrammarMachine | NativeGrammarMachine]):
    """The running state of a view: every group of its name, each on its own."""

    def __init__(self, law: GrammarLaw) -> None:
        self.law = law
        super().__init__()

    def _new_machine(self) -> PythonGrammarMachine | NativeGrammarMachine:
        law = self.law
        if core.native is None or law.tables is None:
            return PythonGrammarMachine(law.steps, law.dispatch, self._warn)
        return NativeGrammarMachine(core.native, law.tables, law.steps, self._warn)

    def inline_step(self, head: Event) -> tuple[Any, int] | None:
        """The C core's machine and the terminal of messages that begin like this; None: it must see their events."""
        terminal = self.law.dispatch.find(head)
        if terminal is None or not isinstance(self._machine, NativeGrammarMachine):
            return None
        return self._machine.core, terminal

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
            if terminal < self.law.compiled.columns - 1:
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

    def forget(self, object_id: int | str) -> bool:
        return False  # what is missing in a group is reported at the end

    # -- out and in -------------------------------------------------------------------------------

    def __getstate__(self) -> dict[str, Any]:
        return super().__getstate__() | {"_state": self._machine.dump()}

    def __setstate__(self, state: dict[str, Any]) -> None:
        dumped = state.pop("_state")
        self.__dict__.update(state)
        self._machine = self._new_machine()
        self._machine.load(dumped)


_NONE: Any = object()


def _expectation(found: Rejection, others: int) -> Expectation:
    bindings = {} if found.group is None else {"groupId": found.group}
    shown = found.expected[:_MOST_EXPECTED]
    return Expectation(shown, bindings | dict(found.values), len(found.expected) - len(shown), others, found.note)
