"""An RML law, as the rest of Lawful sees it.

Laws of the catalogue are tested, and most have recorded facts about the events they wait for. Such a law is parsed when
its first event comes. The running program may have changed how modules are imported by then, so this module imports at
the top whatever a running law needs. Only the checks of a law's text are imported late: few callers need them.
"""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Any

import msgspec

from lawful.laws.law_base import LawBase
from lawful.laws.protocol import Language, Watch
from lawful.laws.rml import syntax, watches
from lawful.laws.rml.monitor import RmlMonitor
from lawful.laws.rml.parser import parse
from lawful.laws.rml.patterns import Direct
from lawful.laws.rml.planner import Planner, plan
from lawful.laws.rml.subjects import RmlSubjects, subjects

if TYPE_CHECKING:
    from lawful.diagnostics import Diagnostic


class LawFacts(msgspec.Struct, frozen=True):
    """Facts about a law that hold before it is read. It has no parts, and a trace without events keeps it."""

    watches: tuple[Watch, ...] | None
    selective: bool
    tracks_objects: bool
    ignores_unseen_end: bool
    """Is it so before the first event?"""


def compile(text: str, *, name: str = "<law>") -> RmlLaw:
    """Compile a law. Raises LawError with everything that is wrong with it; warnings are in `law.warnings`."""
    if not isinstance(text, str):
        raise TypeError(f"a law is text, not {type(text).__name__}")
    from lawful.laws.rml.checker import find_errors

    law = RmlLaw(text, name)
    find_errors(law.specification, text, name=name)
    return law


class RmlLaw(LawBase):
    """An RML specification without errors. It can be pickled; so can its monitors."""

    language: Language = "rml"
    every: None = None
    """It needs no ticks: only events move its time."""

    def __init__(self, source: str, name: str, facts: LawFacts | None = None, *, part: bool = False) -> None:
        """`facts` are the recorded facts of a law of the catalogue; `part` says that this is a part of another law."""
        self.source = source
        self.name = name
        self.facts = facts
        self._part = part

    def __reduce__(self) -> tuple[Any, ...]:
        return RmlLaw, (self.source, self.name, self.facts)

    @cached_property
    def specification(self) -> syntax.Specification:
        return parse(self.source, name=self.name)

    @cached_property
    def warnings(self) -> tuple[Diagnostic, ...]:
        """Likely mistakes in its text. Finding them takes longer than finding errors; a run does not need them."""
        from lawful.laws.rml.law_warnings import check

        # The warnings about the whole law cover its parts.
        return () if self._part else tuple(check(self.specification, self.source, name=self.name))

    @cached_property
    def planner(self) -> Planner:
        return plan(self.specification)

    @cached_property
    def named_patterns(self) -> tuple[Direct, ...]:
        """The patterns of the events that it is about."""
        return watches.named_patterns(self.planner.compiled, self.specification)

    @cached_property
    def watches(self) -> tuple[Watch, ...] | None:
        if self.facts is not None:
            return self.facts.watches
        return watches.watches(self.planner.compiled, self.specification)

    @cached_property
    def selective(self) -> bool:
        return watches.is_selective(self.specification) if self.facts is None else self.facts.selective

    @cached_property
    def tracks_objects(self) -> bool:
        """Does the end of an object concern it by its id alone, which it knows from the events before, if at all?"""
        if self.facts is not None:
            return self.facts.tracks_objects
        return watches.tracks_objects(self.specification, self.watches)

    @cached_property
    def subjects(self) -> RmlSubjects | None:
        return subjects(self.planner.compiled, self.specification)

    @property
    def parts(self) -> tuple[RmlLaw, ...]:
        return self._parts or (self,)

    @cached_property
    def _parts(self) -> tuple[RmlLaw, ...]:
        if self.facts is not None:
            return ()
        from lawful.laws.rml.law_parts import asked_parts

        return tuple(
            RmlLaw(text, f"{self.name}: {name}", part=True)
            for name, text in asked_parts(self.source, self.specification)
        )

    def monitor(self) -> RmlMonitor:
        return RmlMonitor(self)
