"""One thread judges at a time, and none while the process forks; meanwhile the inline check of messages is closed."""

from __future__ import annotations

from _thread import allocate_lock, get_ident
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from lawful.engine.inline_messages import InlineMessages


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
        """Does this thread judge? A handler of a signal may ask in the midst of it."""
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
        """From now on, messages wait. Those that were judged inline have come before."""
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
