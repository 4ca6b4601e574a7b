"""An RML law and its monitors, as the rest of Lawful sees them.

A law that ships is known to be good, and of most it is known what they wait for. It is read when its first event comes.
That is in the midst of the program, which may have changed how modules are imported: what a running law needs is there
before, and only what is for others is imported by whoever asks.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import cached_property, partial
from itertools import islice
from typing import TYPE_CHECKING, Any

from lawful import core
from lawful.laws.law_html import Shown
from lawful.laws.machine_monitor import MachineMonitor, check_trace
from lawful.laws.protocol import Event, Expectation, Language, Outcome, Verdict, Watch
from lawful.laws.rml import patterns
from lawful.laws.rml.compiler import Direct, compile_specification
from lawful.laws.rml.expectation import expectation, pending
from lawful.laws.rml.known import LawFacts
from lawful.laws.rml.machine import RmlMachine
from lawful.laws.rml.named import named
from lawful.laws.rml.parser import parse
from lawful.laws.rml.planner import Planner
from lawful.laws.rml.recursion import with_deep_recursion
from lawful.laws.rml.values import identical

if TYPE_CHECKING:
    from lawful.diagnostics import Diagnostic
    from lawful.laws.rml import syntax
    from lawful.laws.rml.subjects import RmlSubjects

_UNSEEN_END: Event = {"event": "gone", "targetId": "<an unseen object>"}  # no object has such an id


def compile(text: str, *, name: str = "<law>") -> RmlLaw:
    """Compile a law. Raises LawError with everything that is wrong with it; warnings are in `law.warnings`."""
    if not isinstance(text, str):
        raise TypeError(f"a law is text, not {type(text).__name__}")
    from lawful.laws.rml.checker import find_errors

    law = RmlLaw(text, name)
    find_errors(law.specification, text, name=name)
    return law


class RmlLaw(Shown):
    """An RML specification without errors. It can be pickled; so can its monitors."""

    language: Language = "rml"

    def __init__(self, source: str, name: str, facts: LawFacts | None = None, *, part: bool = False) -> None:
        """`facts` is what need not be found out. A part of a law is there for the whole."""
        self.source = source
        self.name = name
        self.facts = facts
        self._part = part

    def __repr__(self) -> str:
        return f"<RmlLaw {self.name}>"

    def __reduce__(self) -> tuple[Any, ...]:
        return RmlLaw, (self.source, self.name, self.facts)

    @cached_property
    def specification(self) -> syntax.Specification:
        return parse(self.source, name=self.name)

    @cached_property
    def warnings(self) -> tuple[Diagnostic, ...]:
        """What is odd about its text. It takes longer to find than errors do, and who runs a law does not ask."""
        from lawful.laws.rml.checker import check

        # What is to be said about the text of parts was said about the whole.
        return () if self._part else tuple(check(self.specification, self.source, name=self.name))

    @cached_property
    def planner(self) -> Planner:
        return with_deep_recursion(lambda: Planner(compile_specification(self.specification)))

    @cached_property
    def named(self) -> tuple[Direct, ...]:
        """The patterns of the events that it is about."""
        return with_deep_recursion(lambda: named(self.planner.compiled, self.specification))

    @cached_property
    def watches(self) -> tuple[Watch, ...] | None:
        if self.facts is not None:
            return self.facts.watches
        from lawful.laws.rml.outline import watches

        return with_deep_recursion(lambda: watches(self))

    @cached_property
    def selective(self) -> bool:
        if self.facts is not None:
            return self.facts.selective
        from lawful.laws.rml.outline import is_selective

        return is_selective(self.specification)

    @cached_property
    def subjects(self) -> RmlSubjects | None:
        from lawful.laws.rml.subjects import subjects

        return with_deep_recursion(lambda: subjects(self))

    @cached_property
    def tracks_objects(self) -> bool:
        """Does the end of an object concern it by its id alone, which it knows from the events before, if at all?"""
        if self.facts is not None:
            return self.facts.tracks_objects
        from lawful.laws.rml.unseen_objects import tracks_objects

        return tracks_objects(self.specification, self.watches)

    @property
    def every(self) -> None:
        """Time is told by events only."""
        return None

    @property
    def parts(self) -> tuple[RmlLaw, ...]:
        return self._parts or (self,)

    @cached_property
    def _parts(self) -> tuple[RmlLaw, ...]:
        if self.facts is not None:
            return ()
        from lawful.laws.rml.law_parts import asks_for_parts, parts

        if not asks_for_parts(self.source):
            return ()
        from lawful.laws.rml.printer import format_spec

        return with_deep_recursion(
            lambda: tuple(
                RmlLaw(format_spec(part), f"{self.name}: {name}", part=True) for name, part in parts(self.specification)
            )
        )

    def monitor(self) -> RmlMonitor:
        return RmlMonitor(self)

    def check(self, events: Iterable[Event]) -> Outcome:
        """Check a whole trace."""
        return check_trace(self.monitor(), events)


class RmlMonitor(MachineMonitor[RmlMachine]):
    """The running state of an RML law."""

    def __init__(self, law: RmlLaw) -> None:
        self.law = law
        super().__init__()
        if law.facts is None and self._machine.dead:
            self.doomed_at = 0

    def _new_machine(self) -> RmlMachine:
        kind = RmlMachine if core.native is None else core.native.RmlMachine
        machine: RmlMachine = kind(self.law.planner, self._warn)
        return machine

    @property
    def _at_first(self) -> Verdict | None:
        return None if self.law.facts is None else Verdict.CURRENTLY_TRUE

    @property
    def _accepts_all(self) -> bool:
        return self._machine.is_all

    def expectation(self, event: Event | None = None) -> Expectation:
        state = self._machine.dump()
        return with_deep_recursion(lambda: expectation(self.law.planner, state, event))

    def pending(self, most: int) -> tuple[Expectation, ...]:
        state = self._machine.dump()
        return with_deep_recursion(lambda: tuple(islice(pending(self.law.planner, state), most)))

    def relevant(self, event: Event, values: Iterable[Any]) -> bool:
        wanted = list(values)
        for option in self.law.named:
            found: list[Any] = [None] * len(option.names)
            if patterns.is_universal(option.tree) or not with_deep_recursion(
                partial(patterns.match, option.tree, event, found)
            ):
                continue
            if not wanted or any(identical(value, other) for value in found for other in wanted):
                return True
        return False

    @property
    def ignores_unseen_end(self) -> bool:
        """Would the end of an object of which no event has told yet change nothing now?"""
        if self.law.facts is not None and not self.prepared:
            return self.law.facts.ignores_unseen_end
        return self.law.tracks_objects and self._machine.ignores(_UNSEEN_END)

    def prevented(self, number: int) -> None:
        """Of the law that was broken it is so already. Others have taken the event, and cannot give it back."""

    def forget(self, object_id: int | str) -> bool:
        return False  # what nothing more happens to costs nothing

    # -- out and in -------------------------------------------------------------------------------

    def __getstate__(self) -> dict[str, Any]:
        from lawful.laws.rml.state_pickling import pack

        state = pack(self.law.planner, self._machine.dump())
        return super().__getstate__() | {"_state": state, "_failed": self._machine.failed}

    def __setstate__(self, state: dict[str, Any]) -> None:
        from lawful.laws.rml.state_pickling import unpack

        packed, failed = state.pop("_state"), state.pop("_failed")
        self.__dict__.update(state)
        self._machine.load(unpack(self.law.planner, packed))
        self._machine.failed = failed
