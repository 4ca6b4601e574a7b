"""The process between ours and the program's: when ours is gone, however it ended, the program ends too."""

from __future__ import annotations

import mmap
import os
import select
import signal
import struct

SIZE = 32
"""Bytes that both sides share: how often the program gave a sign of life, the number of its input, and, written here,
whether its process has ended and with which code."""


def guard(requests: int, answers: int, beats: int) -> None:
    """Goes on in a process of its own; this one waits for its end, and returns never. A thread in the program's process
    would be seen by it, and what the system offers ends with the thread of ours that began it."""
    worker = os.fork()
    if worker == 0:
        return
    try:
        _wait(worker, requests, answers, beats)
    finally:
        os.kill(worker, signal.SIGKILL)  # it may have left the group
        os.killpg(os.getpgrp(), signal.SIGKILL)


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
            os.killpg(os.getpgrp(), signal.SIGKILL)
        for file, _ in poll.poll():
            if file == requests:
                return
            os.read(woken, 4096)
