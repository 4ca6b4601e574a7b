"""The laws of a run, and who of them gets which events."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING

from lawful.engine.dispatch import Router, SeenBy
from lawful.engine.findings import Event
from lawful.engine.law_judge import LawJudge
from lawful.laws.protocol import Law

if TYPE_CHECKING:
    from lawful.engine.sample_tracking import SampleTracking

_UNSEEN = re.compile(r"invariant-(\w+)-unseen:")


class LawSet:
    """Laws, each with the state in which it is. Laws may come and go; `route` makes that count."""

    def __init__(
        self, laws: Sequence[Law], tracking: SampleTracking | None, *, whole_trace: bool, first_only: bool
    ) -> None:
        self._tracking = tracking
        self._whole_trace = whole_trace
        self._first_only = first_only
        self._seen: SeenBy = {}
        self.judges = [self._judge(part, law) for law in laws for part in law.parts]
        if tracking is not None:
            tracking.attach_laws(self.judges)
        self.router = self.route()

    def _judge(self, part: Law, law: Law) -> LawJudge:
        options = {"whole_trace": self._whole_trace, "first_only": self._first_only}
        return LawJudge(part, self._tracking, whole=law, **options)

    def route(self) -> Router:
        """Give events to the laws that are there now."""
        self.router = Router(self.judges, self._tracking, self._seen, whole_trace=self._whole_trace)
        return self.router

    def add(self, laws: Sequence[Law]) -> list[LawJudge]:
        """Add laws, each in its first state."""
        added = [self._judge(part, law) for law in laws for part in law.parts]
        self.judges += added
        return added

    def remove(self, name: str) -> None:
        self.judges = [each for each in self.judges if each.law.name != name]

    def pause(self, name: str, paused: bool) -> None:
        """Let a law rest; or wake it, in its first state."""
        for at, each in enumerate(self.judges):
            if each.law.name == name and each.paused != paused:
                if not paused:
                    each = self.judges[at] = self._judge(each.law, each.whole)
                each.paused = paused

    def warnings(self, *, elsewhere: bool) -> Iterator[str]:
        """What laws warn of; `elsewhere`: there are other processes, which may have seen what was not seen here."""
        for each in self.judges:
            for text in each.monitor.warnings():
                unseen = _UNSEEN.match(text)
                if unseen is None or not (elsewhere or self._seen_before(each, unseen[1])):
                    yield f"{each.law.name}: {text}"

    def _seen_before(self, judge: LawJudge, what: str) -> bool:
        """May an earlier run, which was enough, have seen what this one has not?

        Of the objects that were followed nothing may have come but that they were born.
        """
        kind = None if self._tracking is None else self._tracking.confidence.groups.get(judge.kind)
        return kind is not None and bool(kind.before or (kind.taken and what == "class"))

    def first_events(self) -> dict[str, list[Event]]:
        """The first events that laws were given in this process, a child."""
        return {each.law.name: each.first_events for each in self.judges if each.first_events}

    def prepare_for(self, first_events: Mapping[str, list[Event]]) -> None:
        """Prepare for what a child has done: those that are forked from now on have it from here."""
        for each in self.judges:
            if each.law.name in first_events:
                with suppress(Exception):  # a law that fails here fails again where it counts
                    each.prepare_for(first_events[each.law.name])
