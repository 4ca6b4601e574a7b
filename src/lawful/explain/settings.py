"""How an explanation is to be made: what the command line's options and the API's keywords set."""

from __future__ import annotations

import math
from dataclasses import dataclass, field, fields, replace
from typing import Any, Literal

from lawful.errors import LawfulError
from lawful.explain.bounds import Range
from lawful.explain.compared_program import END
from lawful.explain.learning_run import LearnerName
from lawful.explain.teacher import EventKeys, Limits
from lawful.explain.teachers.python.options import EventKind, ExplorationWay

TeacherName = Literal["one-run", "asking"]


@dataclass(frozen=True)
class ExplainSettings:
    """How an explanation is to be made."""

    events: tuple[str, ...] = ()  # patterns of the events that are letters; none: the nearest to the error
    kinds: tuple[EventKind | Literal["learn"], ...] = ()
    """Which kinds of events: entries, branches, calls, emits (Python) or learn (C); none: what the program suggests."""

    error: str | None = None  # an exception, an assertion by its line, `end`; None: whatever goes wrong
    inputs: object = None  # of a Python function: `file.py:name`, or an iterable, a strategy, a function
    way: ExplorationWay = "auto"  # how a Python program is explored
    teacher: TeacherName = (
        "one-run"  # how a C program is explored: one symbolic run, or a process of CBMC for each question
    )
    samples: int = 2000  # how many inputs a Python program is tested on, where not all can be tried
    seed: int = 0  # of the choice of these
    include: tuple[str, ...] = ()  # folders in which the headers of a C program are looked for
    define: tuple[str, ...] = ()  # macros of a C program, as NAME or NAME=VALUE
    learner: LearnerName = "auto"
    within: Range = Range()  # noqa: RUF009 - it cannot be changed
    limits: Limits = field(default_factory=Limits)
    most_events: int | None = None
    also: EventKeys = ()  # events of other versions of a Python program, to be seen in this one too

    def __post_init__(self) -> None:
        for name in ("events", "kinds", "include", "define"):
            value = getattr(self, name)
            object.__setattr__(self, name, (value,) if isinstance(value, str) else tuple(value))
        for seconds in (self.limits.seconds, self.limits.seconds_per_execution):
            if seconds is not None and not math.isfinite(seconds):
                raise LawfulError("usage", f"{seconds:g} is not a number of seconds")

    @property
    def ends(self) -> bool:
        """Whether the program's end takes the place of the error."""
        return self.error == END


_BOUNDS = frozenset(each.name for each in fields(Range))
_LIMITS = frozenset(each.name for each in fields(Limits))


def with_changes(settings: ExplainSettings | None, changes: dict[str, Any]) -> ExplainSettings:
    """Settings with changes, also of what bounds and limits are made of."""
    settings = settings or ExplainSettings()
    within = {name: value for name, value in changes.items() if name in _BOUNDS}
    limits = {name: value for name, value in changes.items() if name in _LIMITS}
    rest = {name: value for name, value in changes.items() if name not in _BOUNDS | _LIMITS}
    settings = replace(settings, **rest)
    return replace(settings, within=replace(settings.within, **within), limits=replace(settings.limits, **limits))
