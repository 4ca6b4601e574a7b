"""An RML law and its monitors, as the rest of Lawful sees them."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cached_property, partial
from itertools import islice
from typing import Any

from lawful import core
from lawful.diagnostics import Diagnostic
from lawful.laws.notebook import Shown
from lawful.laws.protocol import Event, Expectation, Outcome, Watch
from lawful.laws.rml import patterns, syntax
from lawful.laws.rml.checker import check, find_errors
from lawful.laws.rml.compiler import compile_specification
from lawful.laws.rml.expectation import expectation, pending
from lawful.laws.rml.machine import Machine
from lawful.laws.rml.outline import is_selective, watches
from lawful.laws.rml.parser import parse
from lawful.laws.rml.parts import asks_for_parts, parts
from lawful.laws.rml.planner import Planner
from lawful.laws.rml.portable import pack, unpack
from lawful.laws.rml.printer import format_spec
from lawful.laws.rml.recursion import deeply
from lawful.laws.rml.strangers import knows_by_id
from lawful.laws.rml.subjects import RmlSubjects, subjects
from lawful.laws.rml.values import identical
from lawful.laws.stepping import MachineMonitor, check_trace

_STRANGER: Event = {"event": "gone", "targetId": "<a stranger>"}  # no object has such an id


def compile(text: str, *, name: str = "<law>", known_good: bool = False) -> RmlLaw:
    """Compile a law. Raises LawError with everything that is wrong with it; warnings are in `law.warnings`.

    A law that is known to be good is not looked through for errors.
    """
    if not isinstance(text, str):
        raise TypeError(f"a law is text, not {type(text).__name__}")
    specification = parse(text, name=name)
    if not known_good:
        find_errors(specification, text, name=name)
    return RmlLaw(text, name, specification)


class RmlLaw(Shown):
    """A compiled RML specification. It can be pickled; so can its monitors."""

    def __init__(self, source: str, name: str, specification: syntax.Specification, *, part: bool = False) -> None:
        self.source = source
        self.name = name
        self.specification = specification
        self._part = part

    def __repr__(self) -> str:
        return f"<RmlLaw {self.name}>"

    def __reduce__(self) -> tuple[Any, ...]:
        return _recompiled, (self.source, self.name)

    @cached_property
    def warnings(self) -> tuple[Diagnostic, ...]:
        """What is odd about its text. It takes longer to find than errors do, and who runs a law does not ask."""
        # What is to be said about the text of parts was said about the whole.
        return () if self._part else tuple(check(self.specification, self.source, name=self.name))

    @cached_property
    def planner(self) -> Planner:
        return deeply(lambda: Planner(compile_specification(self.specification)))

    @cached_property
    def watches(self) -> tuple[Watch, ...] | None:
        return deeply(lambda: watches(self))

    @cached_property
    def selective(self) -> bool:
        return is_selective(self.specification)

    @cached_property
    def subjects(self) -> RmlSubjects | None:
        return deeply(lambda: subjects(self))

    @cached_property
    def acquainted(self) -> bool:
        """Does the end of an object concern it by its id alone, which it knows from the events before, if at all?"""
        return knows_by_id(self.specification, self.watches)

    @property
    def every(self) -> None:
        """Time is told by events only."""
        return None

    @property
    def parts(self) -> tuple[RmlLaw, ...]:
        return self._parts or (self,)

    @cached_property
    def _parts(self) -> tuple[RmlLaw, ...]:
        if not asks_for_parts(self.source):
            return ()
        return deeply(
            lambda: tuple(
                RmlLaw(format_spec(part), f"{self.name}: {name}", part, part=True)
                for name, part in parts(self.specification)
            )
        )

    def monitor(self) -> RmlMonitor:
        return RmlMonitor(self)

    def check(self, events: Iterable[Event]) -> Outcome:
        """Check a whole trace."""
        return check_trace(self.monitor(), events)


def _recompiled(source: str, name: str) -> RmlLaw:
    return compile(source, name=name)


class RmlMonitor(MachineMonitor[Machine]):
    """The running state of an RML law."""

    def __init__(self, law: RmlLaw) -> None:
        self.law = law
        super().__init__()
        if self._machine.doomed:
            self.doomed_at = 0

    def _new_machine(self) -> Machine:
        kind = Machine if core.native is None else core.native.Machine
        machine: Machine = kind(self.law.planner, self._warn)
        return machine

    @property
    def _accepts_all(self) -> bool:
        return self._machine.is_all

    def expectation(self, event: Event | None = None) -> Expectation:
        state = self._machine.dump()
        return deeply(lambda: expectation(self.law.planner, state, event))

    def pending(self, most: int) -> tuple[Expectation, ...]:
        state = self._machine.dump()
        return deeply(lambda: tuple(islice(pending(self.law.planner, state), most)))

    def relevant(self, event: Event, values: Iterable[Any]) -> bool:
        wanted = list(values)
        table = self.law.planner.program.patterns
        for tree, size in zip(table.trees, table.captures, strict=True):
            found: list[Any] = [None] * size
            if patterns.is_universal(tree) or not deeply(partial(patterns.match, tree, event, found)):
                continue
            if not wanted or any(identical(value, other) for value in found for other in wanted):
                return True
        return False

    @property
    def aloof(self) -> bool:
        """Would the end of an object of which no event has told yet change nothing now?"""
        return self.law.acquainted and self._machine.ignores(_STRANGER)

    def prevented(self, number: int) -> None:
        """Of the law that was broken it is so already. Others have taken the event, and cannot give it back."""

    def forget(self, object_id: int | str) -> bool:
        return False  # what nothing more happens to costs nothing

    # -- out and in -------------------------------------------------------------------------------

    def __getstate__(self) -> dict[str, Any]:
        state = pack(self.law.planner, self._machine.dump())
        return super().__getstate__() | {"_state": state, "_failed": self._machine.failed}

    def __setstate__(self, state: dict[str, Any]) -> None:
        packed, failed = state.pop("_state"), state.pop("_failed")
        self.__dict__.update(state)
        self._machine = self._new_machine()
        self._machine.load(unpack(self.law.planner, packed))
        self._machine.failed = failed
