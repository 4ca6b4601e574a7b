"""A guard process between the parent and the program: when the parent is gone, the guard ends the program."""

from __future__ import annotations

import mmap
import os
import select
import signal
import struct
import time
from contextlib import suppress

SIZE = 32
"""Bytes that both sides share: how often the program gave a sign of life, the number of its input, and, written here,
whether its process has ended and with which code."""

_PR_SET_CHILD_SUBREAPER = 36
_PATIENCE = 2.0
_TICK = 0.001


def exit_text(code: int) -> str:
    """How a process ended, in words."""
    if code >= 0:
        return f"exit code {code}"
    try:
        return signal.Signals(-code).name
    except ValueError:
        return f"signal {-code}"


def guard(requests: int, answers: int, beats: int) -> None:
    """Goes on in a process of its own; this one waits for its end, and returns never. A thread in the program's process
    would be visible to it, and the system's own means end with the thread of the parent that began it."""
    worker = os.fork()
    if worker == 0:
        return
    try:
        _adopt()
        _wait(worker, requests, answers, beats)
    finally:
        _end(worker)
        os.killpg(os.getpgrp(), signal.SIGKILL)


def _adopt() -> None:
    """Asks the system, if it is Linux, for what the program leaves behind: some processes may have left the group."""
    with suppress(Exception):
        import ctypes

        ctypes.CDLL(None).prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)


def _end(worker: int) -> None:
    """Ends the worker, and all that it has begun: a process that loses its parent becomes our child."""
    until = time.monotonic() + _PATIENCE
    ending = {worker}
    while ending and time.monotonic() < until:
        for each in ending:
            with suppress(ProcessLookupError):
                os.kill(each, signal.SIGKILL)
            with suppress(ChildProcessError):
                os.waitpid(each, os.WNOHANG)
        time.sleep(_TICK)
        ending = _children()


def _children() -> set[int]:
    """The processes of which we are the parent."""
    try:
        with open(f"/proc/self/task/{os.getpid()}/children", encoding="ascii") as file:
            return {int(each) for each in file.read().split()}
    except OSError:
        return set()


def _wait(worker: int, requests: int, answers: int, beats: int) -> None:
    shown = mmap.mmap(beats, SIZE)
    os.close(answers)
    nothing = os.open(os.devnull, os.O_RDWR)
    for each in (0, 1, 2):
        os.dup2(nothing, each)
    woken, wake = os.pipe()
    os.set_blocking(wake, False)
    signal.set_wakeup_fd(wake)
    signal.signal(signal.SIGCHLD, lambda *_: None)
    poll = select.poll()
    poll.register(requests, 0)  # what is sent is for the worker; here only its end counts
    poll.register(woken, select.POLLIN)
    while True:
        try:
            ended, status = os.waitpid(worker, os.WNOHANG)
        except InterruptedError:
            continue
        if ended:
            struct.pack_into("Qq", shown, 16, 1, os.waitstatus_to_exitcode(status))
            return
        for file, _ in poll.poll():
            if file == requests:
                return
            os.read(woken, 4096)
