"""Messages that the C core judges where they are sent, without events; and the lock that holds them back."""

from __future__ import annotations

from _thread import allocate_lock, get_ident
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from lawful import core
from lawful.engine.dispatch import Routes
from lawful.engine.evidence import RecentEvents
from lawful.engine.findings import Event

_MOST_STEPS = 16  # that laws may take for a message without an event
_MOST_TAKEN_BACK = 2  # of these, that one law can take back

Steps = tuple[tuple[int, Any, int], ...]  # of laws: the place of the event, the machine and the terminal


class InlineMessages:
    """Implements `InlineJudge` by the C core's inline check, open only while no thread judges or changes laws."""

    def __init__(self, recent: RecentEvents, routes: Callable[[], Routes], *, enabled: bool) -> None:
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
        """From now on, messages wait."""
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
        """The steps of laws for messages with such events (None: a law needs the events), and the laws' version."""
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


class JudgingLock:
    """Held by the thread that judges, or that changes laws."""

    def __init__(self, inline: InlineMessages, taken: Callable[[], None], may_open: Callable[[], bool]) -> None:
        """`taken` takes over messages that were judged inline; `may_open` says whether they may be, between batches."""
        self._inline = inline
        self._taken = taken
        self._may_open = may_open
        self._lock = allocate_lock()
        self._judging: int | None = None  # the thread that judges
        self._forking = False

    @property
    def mine(self) -> bool:
        """Does this thread judge? A signal handler may ask in the middle of it."""
        return self._judging == get_ident()

    @contextmanager
    def judge(self) -> Iterator[None]:
        """Hold the lock to judge. Events of a signal handler wait meanwhile: see `mine`."""
        with self._lock:
            self._judging = get_ident()
            try:
                self._close()
                yield
            finally:
                self._judging = None
                self.reopen()

    @contextmanager
    def change(self) -> Iterator[None]:
        """Hold the lock to change something."""
        with self._lock:
            self._close()
            try:
                yield
            finally:
                self.reopen()

    def settle(self) -> None:
        """Take over the messages that were judged inline, so that few of them wait."""
        if self._inline.count and not self.mine:
            with self._lock:
                self._taken()

    def _close(self) -> None:
        """From now on, messages wait. Those that were judged inline come before."""
        self._inline.close()
        self._taken()

    def reopen(self) -> None:
        self._inline.reopen(self._may_open())

    def before_fork(self) -> None:
        """No other thread is judging while the process forks."""
        self._forking = not self.mine
        if self._forking:
            self._lock.acquire()
            self._close()  # until the next event, which brings the clock back

    def after_fork_in_parent(self) -> None:
        if self._forking:
            self._lock.release()

    def after_fork_in_child(self) -> None:
        if self._forking:
            self._lock = allocate_lock()
        self._inline.barred = True
        self.reopen()
