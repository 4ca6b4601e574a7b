"""The processes in which a Python program runs: each with other hashes, started when it is needed."""

from __future__ import annotations

from typing import Any

from lawful.explain.teachers.python.child_handle import ChildHandle


class ChildPool:
    """Those of one program, by number."""

    def __init__(self, config: dict[str, Any], seed: int, seconds: float | None) -> None:
        """`config` may be changed as long as none runs."""
        self._config, self._seed, self._seconds = config, seed, seconds
        self._running: dict[int, ChildHandle] = {}
        self._starting: dict[int, ChildHandle] = {}
        self.described: dict[str, Any] = {}
        """What the program is, as a process has found out that has loaded it."""

    def get(self, number: int = 0) -> ChildHandle:
        """The process with this number, which has loaded the program."""
        host = self._running.get(number)
        if host is None:
            self.start(number)
            host = self._running[number] = self._starting.pop(number)
            self.described = host.loaded()
        return host

    def start(self, number: int) -> None:
        """Lets a process load the program while we do something else."""
        if number not in self._running and number not in self._starting:
            self._starting[number] = ChildHandle(self._config, self._seed + number, self._seconds)

    def drop(self, number: int = 0) -> None:
        """It has died."""
        self._running.pop(number).close()

    @property
    def output(self) -> str:
        """The end of what the program printed while it ran."""
        return "".join(host.output for host in self._running.values())

    def close(self) -> None:
        """Ends them all. They start again when they are needed."""
        for host in (*self._running.values(), *self._starting.values()):
            host.close()
        self._running.clear()
        self._starting.clear()
