"""Messages that the C core judges where they are sent, for which no event is made."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any

from lawful import core
from lawful.engine.evidence import RecentEvents
from lawful.engine.findings import Event
from lawful.engine.law_judge import LawJudge
from lawful.engine.routing import Routes

_MOST_STEPS = 16  # that laws may take for a message without an event
_MOST_TAKEN_BACK = 2  # of these, that one law can take back

Steps = tuple[tuple[int, Any, int], ...]
"""For each step that a law takes: the place of the event, the machine and the terminal."""


class InlineMessages:
    """Implements `InlineJudge` by the C core's inline check, which may be used only while no thread judges events.

    `close` and `reopen` are called around everything that judges, or that changes laws.
    """

    def __init__(self, recent: RecentEvents, routes: Callable[[], Routes[LawJudge]], *, enabled: bool) -> None:
        """`routes` says which laws get an event."""
        self._routes = routes
        self.inline_check: Any = core.native.InlineCheck() if enabled and core.native is not None else None
        self.barred = False  # it stays closed: a child process needs an event for all that it judges
        self._recent = recent
        if self.inline_check is not None:
            self.inline_check.max_per_group, self.inline_check.max_overall = recent.most, recent.others

    @property
    def count(self) -> int:
        """How many were judged since `take`."""
        return 0 if self.inline_check is None else int(self.inline_check.count)

    @property
    def threads(self) -> int:
        """The highest number of a thread that has sent one."""
        return 0 if self.inline_check is None or self.barred else int(self.inline_check.thread)

    def take(self, first: int) -> tuple[int, float]:
        """Keep the messages that were judged as recent events, numbered from `first` on: their number, and the time."""
        if not self.count:
            return 0, 0.0
        count, entries = self.inline_check.take(first)
        self._recent.add(entries)
        seconds, self.inline_check.seconds = self.inline_check.seconds, 0.0
        return count, seconds

    def close(self) -> None:
        """From now on, messages wait for us."""
        if self.inline_check is not None:
            self.inline_check.enabled = False

    def reopen(self, allowed: bool) -> None:
        if self.inline_check is not None:
            self.inline_check.enabled = allowed and not self.barred

    def laws_changed(self) -> None:
        """Laws have come, or gone."""
        if self.inline_check is not None:
            self.inline_check.version += 1

    def inline_steps(self, headers: Sequence[Event]) -> tuple[Steps | None, int]:
        """The steps of laws for messages whose events begin like this, and the version of the laws that this is for.

        None: a law must see the events.
        """
        version, routes = self.inline_check.version, self._routes()
        found: list[tuple[int, Any, int]] = []
        for place, header in enumerate(headers):
            steps = [each.monitor.inline_step(header) for each in routes[header["event"], header["name"]]]
            if not steps or None in steps:
                return None, version
            found += ((place, *step) for step in steps if step is not None)
        machines = Counter(id(machine) for _, machine, _ in found)
        if not found or len(found) > _MOST_STEPS or max(machines.values()) > _MOST_TAKEN_BACK:
            return None, version
        return tuple(found), version
