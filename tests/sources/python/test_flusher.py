"""The thread that hands over what the tracer has gathered: when it wakes, and that it gets its turn."""

from __future__ import annotations

import os
import threading
import time

import pytest

from lawful.sources.python.flusher import Flusher


def test_it_wakes_after_a_while_or_when_it_is_stopped() -> None:
    beats: list[float] = []
    flusher = Flusher(lambda: beats.append(time.monotonic()), 0.02)
    began = time.monotonic()
    flusher.start()
    while not beats:
        time.sleep(0.001)
    flusher.stop()
    assert beats[0] - began >= 0.02
    idle = Flusher(lambda: beats.clear(), 60)
    idle.start()
    idle.stop()  # waits for the thread, which must not wait a minute
    assert beats


def test_it_gets_its_turn_while_the_program_gives_the_lock_away_for_moments() -> None:
    beats: list[int] = []
    flusher = Flusher(lambda: beats.append(1), 0.001)
    flusher.start()
    while len(beats) < 50:
        time.sleep(0)  # as an event loop that looks whether something has come
    flusher.stop()
    assert not flusher.running


def test_it_gets_its_turn_while_the_program_computes() -> None:
    beats: list[int] = []
    flusher = Flusher(lambda: beats.append(1), 0.001)
    flusher.start()
    while len(beats) < 20:
        sum(range(1000))
    flusher.stop()


def test_many_beats_while_the_main_thread_waits_ask_for_nothing_twice() -> None:
    """The interpreter has room for few wishes at a time: beyond that those of the program would be refused."""
    ctypes = pytest.importorskip("ctypes")
    flushers = [Flusher(lambda: None, 0.0005) for _ in range(4)]
    for flusher in flushers:
        flusher.start()
    wish = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p)(lambda _: 0)
    lock = threading.Lock()
    lock.acquire()
    lock.acquire(timeout=0.2)  # nothing of the main thread runs meanwhile
    assert ctypes.pythonapi.Py_AddPendingCall(wish, None) == 0
    for flusher in flushers:
        flusher.stop()
    time.sleep(0)


def test_a_child_begins_anew() -> None:
    flusher = Flusher(lambda: None, 0.001)
    flusher.start()
    flusher.stop()
    child = os.fork()
    if child == 0:
        beats: list[int] = []
        own = Flusher(lambda: beats.append(1), 0.001)
        own.start()
        while len(beats) < 5:
            time.sleep(0)
        own.stop()
        os._exit(7)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7
