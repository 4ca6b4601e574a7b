"""An RML law and its monitors, as the rest of Lawful sees them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property, partial
from itertools import islice
from typing import Any, Literal

from lawful import core
from lawful.diagnostics import Diagnostic
from lawful.laws.notebook import Shown
from lawful.laws.protocol import Event, Expectation, Outcome, Verdict, Watch
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
from lawful.laws.rml.subjects import RmlSubjects, subjects
from lawful.laws.rml.values import identical

_BATCH = 4096
_MOST_WARNINGS = 100


def compile(text: str, *, name: str = "<law>") -> RmlLaw:
    """Compile a law. Raises LawError with everything that is wrong with it; warnings are in `law.warnings`."""
    if not isinstance(text, str):
        raise TypeError(f"a law is text, not {type(text).__name__}")
    specification = parse(text, name=name)
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


def _recompiled(source: str, name: str) -> RmlLaw:
    return compile(source, name=name)


class RmlMonitor:
    """The running state of an RML law."""

    def __init__(self, law: RmlLaw) -> None:
        self.law = law
        self._warnings: dict[str, str] = {}
        self.events = 0
        self._numbers: Sequence[int] = ()  # of the events that are being fed
        self._machine = self._new_machine()
        self.rejected_at: int | Literal["end"] | None = None
        self.doomed_at: int | None = 0 if self._machine.doomed else None
        self._ended: Verdict | None = None

    def _new_machine(self) -> Machine:
        kind = Machine if core.native is None else core.native.Machine
        machine: Machine = kind(self.law.planner, self._warn)
        return machine

    def _warn(self, message: str) -> None:
        if message not in self._warnings and len(self._warnings) < _MOST_WARNINGS:
            number = self._numbers[self._machine.at] if self._numbers else self.events
            place = f"at event {number}" if number else "before the first event"
            self._warnings[message] = f"{message} ({place})"

    def warnings(self) -> tuple[str, ...]:
        return tuple(self._warnings.values())

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
            elif position < len(events):
                self.doomed_at = self._numbers[position]
                position += 1
        self.events = self._numbers[-1]
        self._numbers = ()
        return self.verdict

    def forgive(self) -> bool:
        if self.doomed_at is not None or not isinstance(self.rejected_at, int):
            return False
        # A machine makes no change before it knows that there is a step: it still is where it was.
        self._machine.failed = False
        self.events = self.rejected_at
        self.rejected_at = None
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
        if self._ended is not None:
            return self._ended
        return self._open_verdict

    @property
    def _open_verdict(self) -> Verdict:
        if self._machine.failed or self.doomed_at is not None:
            return Verdict.FALSE
        if self._machine.is_all:
            return Verdict.TRUE
        return Verdict.CURRENTLY_TRUE if self._machine.halts else Verdict.CURRENTLY_FALSE

    def outcome(self) -> Outcome:
        return Outcome(self._accepts, self._open_verdict, self.rejected_at, self.doomed_at, self.events)

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

    def prevented(self, number: int) -> None:
        """Of the law that was broken it is so already. Others have taken the event, and cannot give it back."""

    def again(self) -> bool:
        return False

    def forget(self, object_id: int | str) -> bool:
        return False  # what nothing more happens to costs nothing

    # -- out and in -------------------------------------------------------------------------------

    def __getstate__(self) -> dict[str, Any]:
        state = {name: value for name, value in self.__dict__.items() if name != "_machine"}
        state["_state"] = pack(self.law.planner, self._machine.dump())
        state["_failed"] = self._machine.failed
        return state

    def __setstate__(self, state: dict[str, Any]) -> None:
        packed, failed = state.pop("_state"), state.pop("_failed")
        self.__dict__.update(state)
        self._machine = self._new_machine()
        self._machine.load(unpack(self.law.planner, packed))
        self._machine.failed = failed
