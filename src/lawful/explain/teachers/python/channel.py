"""The child's side of the pipes to its parent. Only the process to which they were given may use them."""

from __future__ import annotations

import json
import os
import struct
from typing import Any


class Channel:
    """Requests and answers. The program may close the pipes, or fork: a process without them has nothing to say."""

    def __init__(self, requests: int, answers: int) -> None:
        self._requests, self._answers = requests, answers
        for each in (requests, answers):
            os.set_inheritable(each, False)
        self._known = {each: _identity(each) for each in (requests, answers)}
        self._incoming = os.fdopen(requests, "rb", closefd=False)
        self.adopt()

    def adopt(self) -> None:
        """This process, a fork of ours, is now the one that answers."""
        self._owner = os.getpid()

    def send(self, message: dict[str, Any]) -> None:
        """Answers."""
        self._check(self._answers)
        data = json.dumps(message).encode()
        data = struct.pack("I", len(data)) + data
        try:
            while data:
                data = data[os.write(self._answers, data) :]
        except OSError:
            os._exit(1)

    def wait(self) -> dict[str, Any] | None:
        """The next request, if there are more."""
        self._check(self._requests)
        line = self._incoming.readline()
        return json.loads(line) if line else None

    def _check(self, file: int) -> None:
        if os.getpid() != self._owner:
            os._exit(0)  # a fork that the program made while it was loaded
        if _identity(file) != self._known[file]:
            os._exit(1)  # closed, and perhaps another file of the program by now


def _identity(file: int) -> tuple[int, int] | None:
    try:
        found = os.fstat(file)
    except OSError:
        return None
    return found.st_dev, found.st_ino
