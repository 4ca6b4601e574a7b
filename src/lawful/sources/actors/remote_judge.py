"""Messages that only the first process of the run can judge: the sender asks it, and waits for the verdict.

It listens at the socket `remote_judge` in the folder of the run, which nobody but the user can enter. A question is a
connection of its own: a line with a list of events goes in, and a line with what they would break, or null, comes back.
Nothing else than JSON is read on either side. No part of the standard library that is written in Python is called: a
law about it would count the call as the program's.
"""

from __future__ import annotations

import _socket
import os
import select
import time
from collections.abc import Callable
from contextlib import suppress
from typing import Any, Final

import msgspec

from lawful.pristine_os import clock
from lawful.sources.python.flusher import Flusher
from lawful.sources.python.tracer_protocol import Event

TIMEOUT: Final = 5.0
"""Seconds after which a message goes out without a verdict."""

Verdict = dict[str, Any] | None

_NAME: Final = "remote_judge"
_PERIOD: Final = 100  # milliseconds between two looks whether it is over
_PATIENCE: Final = 1.0  # seconds in which the client must send its question, and take the answer
_PAUSE: Final = 0.01  # seconds before another try, if too many clients wait
_BACKLOG: Final = 128
_CHUNK: Final = 65536
_NO_SIGNAL: Final = getattr(_socket, "MSG_NOSIGNAL", 0)  # the program may have a handler for broken pipes


def ask(folder: str, events: list[Event], timeout: float = TIMEOUT) -> Verdict:
    """The finding of the first process about these events. `OSError`: it is gone, or did not answer in time."""
    end = clock.monotonic() + timeout
    connection = _connected(os.path.join(folder, _NAME), end)
    try:
        connection.settimeout(_left(end))
        connection.sendall(msgspec.json.encode(events) + b"\n", _NO_SIGNAL)
        answer = _read_line(connection, end)
    finally:
        connection.close()
    try:
        verdict: Verdict = msgspec.json.decode(answer, type=dict[str, Any] | None)
    except msgspec.DecodeError as error:
        raise ConnectionError("there was half an answer") from error
    return verdict


def _read_line(connection: _socket.socket, end: float) -> bytes:
    line = b""
    while not line.endswith(b"\n"):
        connection.settimeout(_left(end))
        chunk = connection.recv(_CHUNK)
        if not chunk:
            raise ConnectionError("the other side closed the connection")
        line += chunk
    return line


def _connected(path: str, end: float) -> _socket.socket:
    while True:
        connection = _new_socket()
        try:
            connection.settimeout(_left(end))
            connection.connect(path)
            return connection
        except BlockingIOError:
            connection.close()
            time.sleep(min(_PAUSE, _left(end)))
        except BaseException:
            connection.close()
            raise


def _left(end: float) -> float:
    left = end - clock.monotonic()
    if left <= 0:
        raise TimeoutError("no answer within the time limit")
    return left


def _new_socket() -> _socket.socket:
    family = getattr(_socket, "AF_UNIX", None)
    if family is None:
        raise OSError("this system has no sockets that are files")
    return _socket.socket(family, _socket.SOCK_STREAM, 0)


class QuestionServer:
    """In the first process: answers clients one by one, on a thread that the program does not see."""

    def __init__(self, folder: str, judge: Callable[[list[Event]], Verdict]) -> None:
        """`OSError`: there can be no socket."""
        self._judge = judge
        self._path = os.path.join(folder, _NAME)
        self._listener = _new_socket()
        try:
            self._listener.bind(self._path)
            os.chmod(self._path, 0o600)
            self._listener.listen(_BACKLOG)
        except BaseException:
            self._listener.close()
            raise
        self._listener.setblocking(False)
        self._poll = select.poll()
        self._poll.register(self._listener.fileno(), select.POLLIN)
        self._client: _socket.socket | None = None  # that is being answered
        self._thread = Flusher(self._serve, 0.0, lambda: bool(self._poll.poll(_PERIOD)))

    def start(self) -> None:
        self._thread.start()

    def stop(self, *, wait: bool = True) -> None:
        """Stop answering. Without `wait`, the thread may still run: it may be waiting for the caller."""
        self._thread.stop(wait=wait)
        with suppress(OSError):
            os.unlink(self._path)
        self._listener.close()

    def after_fork_in_child(self) -> None:
        """Close the child's copies, so that no client waits for them. The parent goes on answering."""
        self._thread.forget()
        self._listener.close()
        if self._client is not None:
            self._client.close()

    def _serve(self) -> None:
        try:
            descriptor, _ = self._listener._accept()  # type: ignore[attr-defined]  # `accept` is Python's
        except OSError:  # the client is gone again
            return
        self._client = connection = _socket.socket(fileno=descriptor)
        # The client may have given up. Its messages count all the same, because later ones follow from them.
        try:
            question = _read_line(connection, clock.monotonic() + _PATIENCE)
            verdict = self._judge(msgspec.json.decode(question, type=list[Event]))
            connection.settimeout(_PATIENCE)
            connection.sendall(msgspec.json.encode(verdict) + b"\n", _NO_SIGNAL)
        except (OSError, msgspec.DecodeError):
            pass
        finally:
            self._client = None
            connection.close()
