"""Runs one execution in a forked process, so that it may change any state, or die, without harm."""

from __future__ import annotations

import json
import mmap
import os
import random
import select
import signal
import struct
import time
from collections.abc import Callable
from typing import Any

from lawful.explain.teachers.python.child_guard import exit_text
from lawful.explain.teachers.python.inputs import InputCall
from lawful.explain.teachers.python.runner import ExecutionResult, Runner, flush_output

_GRACE = 1.0
_ROOM = 1 << 16  # bytes for the description of an execution, and some for each of its events
_ROOM_EACH = 256
_TICK = 0.05


def run_in_fork(runner: Runner, function: Callable[..., Any], call: InputCall) -> ExecutionResult:
    """One execution in a process of its own. What it had recorded is known even if that process dies."""
    begin = 16 + 4 * (runner.most + 2)
    room = _ROOM + _ROOM_EACH * runner.most
    # Numbers of letters and bytes, the letters, the bytes: unlike a pipe, the program cannot close it.
    shared = mmap.mmap(-1, begin + room)

    def push(letter: int) -> None:
        (size,) = struct.unpack_from("Q", shared, 0)
        struct.pack_into("I", shared, 16 + 4 * size, letter)
        struct.pack_into("Q", shared, 0, size + 1)

    read, write = os.pipe()
    flush_output()
    pid = os.fork()
    if pid == 0:
        status = 1
        try:
            os.close(read)
            if runner.random_state is not None:  # Python gives a process that was forked another state
                random.setstate(runner.random_state)
            result = runner.call(function, call, push)
            fields = [result.word, result.end, result.failed, result.error, result.place, result.unjoined]
            fields.append(runner.lines(result))
            data = json.dumps(fields).encode()
            if len(data) > room:
                data = json.dumps([*fields[:-1], None]).encode()
            shared[begin : begin + len(data)] = data
            struct.pack_into("Q", shared, 8, len(data))
            flush_output()
            status = 0
        except BaseException:
            struct.pack_into("Q", shared, 8, 2)
            shared[begin : begin + 2] = b"[]"
        finally:
            os._exit(status)
    os.close(write)
    ended = _wait(pid, read, runner.seconds + _GRACE)
    os.close(read)
    size, length = struct.unpack_from("QQ", shared, 0)
    data = shared[begin : begin + length]
    word = list(struct.unpack_from(f"{size}I", shared, 16))
    shared.close()
    if ended is None:
        return ExecutionResult(word, "slow")
    if data == b"[]":
        return ExecutionResult(word, "lost")
    if data:
        word, end, failed, error, place, unjoined, lines = json.loads(data)
        return ExecutionResult(
            word, end, failed, error, tuple(place) if place else None, lines=lines, unjoined=unjoined
        )
    code = os.waitstatus_to_exitcode(ended)
    if len(word) > runner.most:
        return ExecutionResult(word[: runner.most], "long")
    return ExecutionResult(word, "died", runner.judge.died(code), exit_text(code))


def _wait(pid: int, closing: int, seconds: float) -> int | None:
    """How a process has ended, if it did in this time. A pipe that it holds wakes us; it may have closed that before,
    or have begun other processes that still hold it."""
    until = time.monotonic() + seconds
    files = [closing]
    while True:
        left = until - time.monotonic()
        if select.select(files, [], [], max(0.0, min(_TICK if files else _TICK / 10, left)))[0]:
            files = []
        ended, status = os.waitpid(pid, os.WNOHANG)
        if ended:
            return status
        if left <= 0:
            os.kill(pid, signal.SIGKILL)
            os.waitpid(pid, 0)
            return None
