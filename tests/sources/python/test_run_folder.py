"""The folder of a run: numbers of processes, how far they are, who was killed, and traces merged by time."""

from __future__ import annotations

import json
import os
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from lawful.sources.python.run_folder import RunFolder, merge_traces


def test_the_folder_numbers_its_members(tmp_path: Path) -> None:
    folder = RunFolder(str(tmp_path))
    assert [folder.enter(), folder.enter()] == [1, 2]
    folder.mark_busy(1)
    folder.leave(2)
    assert folder.members() == [1, 2]
    assert [folder.has_left(number) for number in (1, 2)] == [False, True]
    assert [folder.is_busy(number) for number in (1, 2, 3)] == [True, False, False]
    folder.mark_idle(1)
    assert not folder.is_busy(1)
    assert folder.is_running(1)
    child = os.fork()
    if child == 0:
        os._exit(0)
    Path(folder.file(1, ".pid")).write_text(str(child))
    os.waitid(os.P_PID, child, os.WEXITED | os.WNOWAIT)
    assert not folder.is_running(1)  # it has ended, though nobody has waited for it
    os.waitpid(child, 0)
    assert not folder.is_running(1)
    folder.remove()
    assert folder.members() == []
    assert not folder.was_killed(1)


def test_many_numbers_are_given_without_gaps(tmp_path: Path) -> None:
    folder = RunFolder(str(tmp_path))
    assert [folder.enter() for _ in range(70)] == list(range(1, 71))


@contextmanager
def member_to_be(folder: RunFolder) -> Iterator[tuple[int, Callable[[], int]]]:
    """A process of a group of its own, and what makes it a member of the folder: that has its number."""
    begin, begun = os.pipe(), os.pipe()
    child = os.fork()
    if child == 0:
        os.setpgid(0, 0)
        os.read(begin[0], 1)
        os.write(begun[1], bytes([folder.enter()]))
        signal.pause()
        os._exit(0)
    with suppress(OSError):
        os.setpgid(child, child)

    def enter() -> int:
        os.write(begin[1], b".")
        return os.read(begun[0], 1)[0]

    try:
        yield child, enter
    finally:
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
        for end in (*begin, *begun):
            os.close(end)


def test_who_was_killed(tmp_path: Path) -> None:
    folder = RunFolder(str(tmp_path))
    with member_to_be(folder) as (child, enter):
        number = enter()
        for mild in (0, signal.SIGCONT, signal.SIGWINCH):
            folder.note_kill(child, mild)
        folder.note_kill(0, 15)  # another group
        folder.note_kill(os.getpid(), 15)
        assert not folder.was_killed(number)
        folder.note_kill(-child, None)
        assert folder.was_killed(number)
        Path(folder.file(number, ".pid")).write_text(f"{child} 1")
        assert not folder.was_killed(number)  # that was another process with the same id


def test_one_may_be_killed_before_it_is_known(tmp_path: Path) -> None:
    """A pool that has all its answers ends workers that have only just begun."""
    folder = RunFolder(str(tmp_path))
    with member_to_be(folder) as (child, enter):
        folder.note_kill(child, signal.SIGTERM)
        assert folder.was_killed(enter())


def test_traces_are_merged_by_time_and_keep_their_order(tmp_path: Path) -> None:
    first: list[dict[str, float]] = [{"time": 1.0, "n": 1}, {"time": 3.0, "n": 2}, {"n": 3}, {"time": 2.9, "n": 4}]
    second = [{"time": 2.0, "n": 5}, {"time": 3.0, "n": 6}]
    paths = []
    for number, part in enumerate((first, second)):
        path = tmp_path / f"{number}.jsonl"
        path.write_text("".join(json.dumps(event) + "\n" for event in part) + '{"cut')
        paths.append(str(path))
    found: list[dict[str, Any]] = []
    merge_traces(paths, found.extend)
    assert [event["n"] for event in found] == [1, 5, 2, 3, 4, 6]
