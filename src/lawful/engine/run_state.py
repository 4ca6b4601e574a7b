"""What the dashboard shows of a run, in JSON's types, made again not too often."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from lawful.diagnostics import all_encodable
from lawful.engine.wording import describe, message
from lawful.pristine_os import clock

if TYPE_CHECKING:
    from lawful.confidence.summary import ClassSummary
    from lawful.engine.findings import Finding

T = TypeVar("T")

MOST_MOVES = 50
_MOST_HISTORY = 20
_MOST_POINTS = 120
_SHARE = 400  # making a value takes at most this part of the time


@dataclass(frozen=True)
class Mark:
    """The parts of a reported finding that may change."""

    count: int
    muted: bool
    withdrawn: bool  # the rule that it breaks is not a rule any more


def finding_json(number: int, finding: Finding, mark: Mark) -> dict[str, Any]:
    shown: dict[str, Any] = all_encodable(
        {
            "number": number,
            "law": finding.law,
            "message": message(finding),
            "file": finding.file,
            "line": finding.line,
            "time": finding.first_time,
            "last": finding.last_time,
            **asdict(mark),
            "anomaly": finding.anomaly is not None,
            "history": _history(finding),
        }
    )
    return shown


def _history(finding: Finding) -> list[dict[str, Any]]:
    """The events that led there: of an anomaly, those of its first bad use."""
    if finding.anomaly is not None:
        scenes = finding.anomaly.bad[:1]
        places = [(name, site) for scene in scenes for name, site in scene.events]
        return [{"number": None, "text": str(name), "file": site.file, "line": site.line} for name, site in places]
    return [
        {"number": at, "text": describe(event), "file": event.get("file"), "line": event.get("line")}
        for at, event in finding.history[-_MOST_HISTORY:]
    ]


def thinned(series: Sequence[T]) -> Sequence[T]:
    """As many points of a curve as a screen shows."""
    return series[:: max(1, len(series) // _MOST_POINTS)]


def class_json(kind: ClassSummary) -> dict[str, Any]:
    shown: dict[str, Any] = all_encodable(
        {
            "name": kind.class_name,
            "state": kind.state,
            "rate": kind.rate,
            "created": kind.created,
            "sampled": kind.sampled,
            "alive": kind.alive,
            "laws": [
                {
                    "law": law.law,
                    "state": law.state.value,
                    "samples": law.samples,
                    "violations": law.violations,
                    "unknown": law.unknown,
                    "needed": law.needed,
                    "confidence": law.confidence,
                    "bound": law.bound,
                }
                for law in kind.laws
            ],
            "moves": [
                {"time": move.time, "from": move.source, "to": move.target, "why": move.why}
                for move in kind.moves[-MOST_MOVES:]
            ],
            "series": [
                {"time": p.time, "rate": p.rate, "clean": p.clean, "overhead": p.overhead} for p in thinned(kind.series)
            ],
        }
    )
    return shown


class Remade(Generic[T]):
    """One such value: made anew if it would be another one, but not so often that the program would notice."""

    def __init__(self, make: Callable[[], T], key: Callable[[], object]) -> None:
        """As long as `key` is the same, so is the value."""
        self._make = make
        self._key = key
        self._made: tuple[object, T] | None = None
        self._due = 0.0

    def get(self) -> T:
        key = self._key()
        if self._made is None or (key != self._made[0] and clock.monotonic() >= self._due):
            began = time.thread_time()  # on a machine that is busy with others, much more time passes
            self._made = key, self._make()
            self._due = clock.monotonic() + (time.thread_time() - began) * _SHARE
        return self._made[1]

    def forget(self) -> None:
        """Somebody has changed something: make it anew next time."""
        self._made = None
