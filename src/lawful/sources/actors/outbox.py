"""Messages of several processes, in one order: each writes down what it sends, and the first one reads all of it.

The file of a process is `messages.PID` in the folder of the run. A line of it is `[TIME, NUMBER, EVENT]`: the time of
the machine's clock, which is one for all its processes, and which message of the process it is. A line is written
before its message goes out: so an answer is never older than what it answers.
"""

from __future__ import annotations

import json
import os
from typing import Any, Final

from lawful.pristine_os import clock
from lawful.sources.python.tracer_protocol import Event

_PREFIX: Final = "messages."
_PATIENCE: Final = 1.0  # seconds: a message that is so old has nobody before it who has not written it down
_PERIOD: Final = 0.2  # seconds between two looks at the files


class Outbox:
    """Where this process writes what it sends."""

    def __init__(self, folder: str) -> None:
        self._folder = folder
        self._file = -1
        self._process = 0
        self._sent = 0

    def put(self, events: list[Event]) -> None:
        if self._process != os.getpid():  # at first, and in a process that was forked
            self._process = os.getpid()
            path = os.path.join(self._folder, f"{_PREFIX}{self._process}")
            self._file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
            self._sent = 0
        lines = []
        for event in events:
            self._sent += 1
            lines.append(json.dumps([clock.monotonic(), self._sent, event]) + "\n")
        os.write(self._file, "".join(lines).encode())


class Inbox:
    """What all processes of a run have written, in the order in which it was sent."""

    def __init__(self, folder: str) -> None:
        self._folder = folder
        self._read: dict[str, int] = {}  # how far, by the names of files
        self._numbers: dict[str, int] = {}  # of the last message, likewise
        self._waiting: list[tuple[float, str, int, Event]] = []
        self._looked = 0.0
        self.missing = 0  # messages whose lines are missing

    def take(self, *, over: bool = False) -> list[Event]:
        """The next messages that nothing can come before any more; all, if it is over."""
        now = clock.monotonic()
        if not over and now < self._looked + _PERIOD:
            return []
        self._looked = now
        self._look()
        self._waiting.sort(key=lambda entry: entry[:3])
        ready = len(self._waiting)
        if not over:
            ready = sum(1 for entry in self._waiting if entry[0] < now - _PATIENCE)
        events = [entry[3] for entry in self._waiting[:ready]]
        del self._waiting[:ready]
        return events

    def _look(self) -> None:
        try:
            names = sorted(name for name in os.listdir(self._folder) if name.startswith(_PREFIX))
        except OSError:  # the folder is gone
            return
        for name in names:
            with open(os.path.join(self._folder, name), "rb") as file:
                file.seek(self._read.get(name, 0))
                text = file.read()
            text = text[: text.rfind(b"\n") + 1]  # the last line may be in the making
            self._read[name] = self._read.get(name, 0) + len(text)
            for line in text.splitlines():
                self._add(name, json.loads(line))

    def _add(self, name: str, line: list[Any]) -> None:
        at, number, event = line
        self.missing += number - self._numbers.get(name, 0) - 1
        self._numbers[name] = number
        self._waiting.append((at, name, number, event))
