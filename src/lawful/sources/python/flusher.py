"""Hands over what the tracer has gathered, ten times a second, on a thread that the program does not notice."""

from __future__ import annotations

import gc
import signal

# Imported by name, and early: programs replace these functions (gevent does), and the replacements would make this
# thread one of the program's own. The functions of `signal` are Python, and laws may be about them.
from _signal import pthread_sigmask, valid_signals  # type: ignore[import-not-found]
from _thread import LockType, allocate_lock, get_native_id, start_new_thread
from collections.abc import Callable
from time import sleep

from lawful.pristine_os import clock, exists

INTERVAL = 0.1
_PATIENCE = 1.0


class Flusher:
    """A thread of the interpreter's lowest kind: `threading` does not list it and does not wait for it."""

    def __init__(
        self, flush: Callable[[], None], interval: float = INTERVAL, ready: Callable[[], bool] | None = None
    ) -> None:
        """`ready` is asked before each time, and may wait for a while until something is to be done."""
        self._flush = flush
        self._interval = interval
        self._ready = ready
        self._stop: LockType | None = None  # held until the thread must end
        self._stopped = allocate_lock()
        self._native: int | None = None

    @property
    def running(self) -> bool:
        return self._stop is not None

    def start(self) -> None:
        """Begin; nothing happens if it has begun, or if the system allows no more threads."""
        if self._stop is not None:
            return
        stop, stopped = allocate_lock(), allocate_lock()
        stop.acquire()
        stopped.acquire()
        self._native = None
        try:
            start_new_thread(self._loop, (stop, stopped))
        except RuntimeError:
            return
        self._stop, self._stopped = stop, stopped

    def stop(self, *, wait: bool = True) -> None:
        """End, and wait until the thread is gone; not if the caller itself is what the thread may be waiting for."""
        if self._stop is None:
            return
        self._stop.release()
        self._stop = None
        if wait:
            self._stopped.acquire()
            wait_until_gone(self._native)

    def forget(self) -> None:
        """In a child process the thread does not exist."""
        self._stop = None

    def _loop(self, stop: LockType, stopped: LockType) -> None:
        self._native = get_native_id()
        block_signals()
        try:
            while not stop.acquire(timeout=self._interval):
                if self._ready is not None and not self._ready():
                    continue
                # A collection could free objects of the program, and run its finalisers on this thread.
                collecting = gc.isenabled()
                gc.disable()
                try:
                    self._flush()
                finally:
                    if collecting:
                        gc.enable()
        finally:
            stopped.release()


def block_signals() -> None:
    """Signals are the program's, and come to its own threads, not to this one."""
    pthread_sigmask(signal.SIG_BLOCK, valid_signals())


def wait_until_gone(native: int | None) -> None:
    """Wait for a thread that is about to leave: the interpreter counts the system's threads when it forks."""
    end = clock.monotonic() + _PATIENCE
    while exists(f"/proc/self/task/{native}") and clock.monotonic() < end:
        sleep(0)
