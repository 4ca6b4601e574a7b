"""Hands over what the tracer has gathered, ten times a second, on a thread that the program does not notice."""

from __future__ import annotations

import _thread
import gc
import os
import signal
import time
from collections.abc import Callable

INTERVAL = 0.1
_PATIENCE = 1.0


class Flusher:
    """A thread of the interpreter's lowest kind: `threading` does not list it and does not wait for it."""

    def __init__(self, flush: Callable[[], None], interval: float = INTERVAL) -> None:
        self._flush = flush
        self._interval = interval
        self._stop: _thread.LockType | None = None
        self._stopped = _thread.allocate_lock()
        self._native: int | None = None

    @property
    def running(self) -> bool:
        return self._stop is not None

    def start(self) -> None:
        """Begin; nothing happens if it has begun, or if the system allows no more threads."""
        if self._stop is not None:
            return
        stop, stopped = _thread.allocate_lock(), _thread.allocate_lock()
        stop.acquire()
        stopped.acquire()
        self._native = None
        try:
            _thread.start_new_thread(self._loop, (stop, stopped))
        except RuntimeError:
            return
        self._stop, self._stopped = stop, stopped

    def stop(self) -> None:
        """End, and wait until the thread is gone."""
        if self._stop is None:
            return
        self._stop.release()
        self._stop = None
        self._stopped.acquire()
        # The interpreter counts the system's threads when it forks. This one is about to leave.
        gone = time.monotonic() + _PATIENCE
        task = f"/proc/self/task/{self._native}"
        while os.path.exists(task) and time.monotonic() < gone:
            time.sleep(0)

    def forget(self) -> None:
        """In a child process the thread does not exist."""
        self._stop = None

    def _loop(self, stop: _thread.LockType, stopped: _thread.LockType) -> None:
        self._native = _thread.get_native_id()
        # Signals are the program's, and come to its own threads.
        signal.pthread_sigmask(signal.SIG_BLOCK, signal.valid_signals())
        try:
            while not stop.acquire(timeout=self._interval):
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
