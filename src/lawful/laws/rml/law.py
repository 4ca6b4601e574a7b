"""An RML law, as the rest of Lawful sees it.

A law that ships is known to be good, and of most it is known what they wait for. It is read when its first event comes.
That is in the midst of the program, which may have changed how modules are imported. So what a running law needs is
imported at the top; only what checks a law's text is imported by whoever asks, because few do and it takes long.
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
    """It wants no ticks: only events tell the time."""

    def __init__(self, source: str, name: str, facts: LawFacts | None = None, *, part: bool = False) -> None:
        """`facts` is what need not be found out. A part of a law is there for the whole."""
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
        """What is odd about its text. It takes longer to find than errors do, and who runs a law does not ask."""
        from lawful.laws.rml.law_warnings import check

        # What is to be said about the text of parts was said about the whole.
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
