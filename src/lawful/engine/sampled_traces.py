"""Traces under the eyes of laws about objects, judged on samples of these."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from lawful.engine.findings import time_of
from lawful.engine.run import LawRun
from lawful.engine.sample_tracking import SampleTracking
from lawful.errors import TraceError
from lawful.events.reader import open_trace

if TYPE_CHECKING:
    from lawful.confidence.engine import Counted, Demand
    from lawful.laws.protocol import Law


class SampledTraces:
    """Judges traces one after the other; objects of different traces are different objects."""

    def __init__(self, laws: Sequence[Law], demand: Demand, *, skip_bad: bool = False, history: int = 10) -> None:
        self._laws = laws
        self._demand = demand
        self._skip_bad = skip_bad
        self._history = history
        tracking = SampleTracking(laws, demand)
        self.confidence = tracking.confidence
        self.total = LawRun(laws, history=history, tracking=tracking)
        """What was found in all of them."""
        self.total.processes = 0
        self.errors: list[TraceError] = []
        self.bad_lines: dict[str, int] = {}
        self.counted: dict[str, Counted] = {}
        """By trace."""

    def judge(self, source: str) -> None:
        """Read a trace to its end. A fault of it is kept in `errors`; what was found before it stays found."""
        before = self.confidence.counted()
        run = LawRun(
            self._laws,
            history=self._history,
            tracking=SampleTracking(self._laws, self._demand, confidence=self.confidence),
        )
        try:
            with open_trace(source, skip_bad=self._skip_bad) as reader:
                for batch in reader.batches():
                    run.deliver(batch)
                    # Events that do not concern a law tell it the time.
                    time = time_of(batch[-1]) if batch else None
                    if time is not None:
                        run.tick(time)
                if reader.bad_lines:
                    self.bad_lines[source] = reader.bad_lines
            run.end()
        except TraceError as error:
            self.errors.append(error)
        except KeyboardInterrupt as error:
            if run.fault is error:  # it is none of the laws'
                run.fault = None
                run.faults.clear()
            self._add(run)  # what was found so far stays found
            raise
        self._add(run)
        after = self.confidence.counted()
        self.counted[source] = {key: tally.without(before[key]) for key, tally in after.items()}

    def _add(self, run: LawRun) -> None:
        snapshot = run.snapshot()
        del snapshot["samples"]  # which is counted already
        self.total.merge(snapshot)
        self.total.processes = 0
