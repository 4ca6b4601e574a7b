"""The link between a program under watch and the server of its dashboard, which is another process.

It sends lines of JSON over a socket. The program's side sends its newest state, never a backlog: a slow server, or
none, does not slow the program.
"""

from __future__ import annotations

import socket
import time
from collections.abc import Callable
from contextlib import suppress
from typing import TYPE_CHECKING, Any

import msgspec

from lawful.engine.descriptors import identity
from lawful.engine.run_state import Mark
from lawful.errors import LawfulError

if TYPE_CHECKING:
    from lawful.engine.control import Control

LOOK = "look"
"""The command with which the server says whether the run has viewers: without them no states are made."""
STATE = "state"
"""The command with which it asks for one."""

PERIOD = 0.5  # seconds between two states
_SHARE = 250  # a state is made so rarely that it takes this part of the time, at most
_FIRST_SHARE = 10  # the same, while somebody who has just come waits for findings
_IDLE_BEATS = 5  # beats from one look at the line to the next, while nobody looks at the run
_MAX_LINE = 4_000_000  # bytes of a command
_END_TIMEOUT = 2.0  # seconds that the end of a run may wait for a server that does not read
_MAX_FINDINGS = 200  # that are sent at once


class ProgramSide:
    """The session's side: sends its state, executes commands. It never waits, except for the last state."""

    def __init__(self, control: Control, connection: socket.socket) -> None:
        self._control = control
        self._socket: socket.socket | None = connection
        self._identity = identity(connection.fileno())
        connection.setblocking(False)
        self._unsent = b""
        self._unread = b""
        self._answers: list[dict[str, Any]] = []
        self._sent: dict[int, Mark] = {}  # of findings
        self._more = False  # are there findings that were left for later?
        self._due = 0.0
        self._beats = 0
        self._has_viewers = False
        self._decoder = msgspec.json.Decoder()

    # -- lawful.engine.session.ObserverHook ----------------------------------------------------------

    def beat(self) -> None:
        self._beats += 1
        if not self._has_viewers and self._beats % _IDLE_BEATS:
            return
        if self._socket is None or not self._is_ours():
            return
        try:
            commands = self._receive()
            for command in commands:
                self._carry_out(command)
            now = time.monotonic()
            if not self._unsent and (commands or (self._has_viewers and now >= self._due)):
                began = time.thread_time()  # on a machine that is busy with others, much more time passes
                self._unsent = self._message()
                spent = time.thread_time() - began
                self._due = now + (spent * _FIRST_SHARE if self._more else max(PERIOD, spent * _SHARE))
            self._send()
        except OSError:
            self._close()

    def end(self) -> None:
        """The last state is sent, if that does not take long."""
        if self._socket is None or not self._is_ours():
            return
        with suppress(OSError):
            self._control.look_again()
            self._socket.settimeout(_END_TIMEOUT)
            self._socket.sendall(self._unsent)
            while True:
                message, more = self._message(), self._more
                self._socket.sendall(message)
                if not more:
                    break
        self._close()

    def after_fork_in_child(self) -> None:
        if self._is_ours():
            self._close()

    def _is_ours(self) -> bool:
        """Is the socket still open? A program may close descriptors that it has not opened, and reuse their numbers."""
        connection = self._socket
        if connection is None:
            return False
        if identity(connection.fileno()) == self._identity:
            return True
        connection.detach()  # the number is the program's now, or unused
        self._socket = None
        return False

    # -- what goes over the line ------------------------------------------------------------------

    def _message(self) -> bytes:
        found = self._control.findings(self._sent)
        self._more = len(found) > _MAX_FINDINGS
        found = found[:_MAX_FINDINGS]
        for each in found:
            self._sent[each["number"]] = Mark(each["count"], each["muted"], each["withdrawn"])
        answers, self._answers = self._answers, []
        message = {"state": self._control.state(), "findings": found, "more": self._more, "answers": answers}
        return msgspec.json.encode(message) + b"\n"

    def _carry_out(self, command: dict[str, Any]) -> None:
        if command.get("do") == LOOK:
            self._has_viewers = bool(command.get("on"))
            return
        answer: dict[str, Any] = {"id": command.get("id")}
        if command.get("do") == STATE:  # which comes with the answer
            self._answers.append(answer | {"result": {}})
            return
        try:
            answer["result"] = self._control.do(command)
        except LawfulError as error:
            answer["error"] = {"slug": error.slug, "message": error.message, "hint": error.hint, "text": error.render()}
        except Exception as error:  # the run must go on
            answer["error"] = {"slug": "internal", "message": f"{type(error).__name__}: {error}", "hint": None}
        self._answers.append(answer)

    def _send(self) -> None:
        assert self._socket is not None
        while self._unsent:
            try:
                sent = self._socket.send(self._unsent, socket.MSG_DONTWAIT)
            except BlockingIOError:
                return
            self._unsent = self._unsent[sent:]

    def _receive(self) -> list[dict[str, Any]]:
        assert self._socket is not None
        while True:
            try:
                part = self._socket.recv(65536, socket.MSG_DONTWAIT)
            except BlockingIOError:
                break
            if not part:
                raise ConnectionError("the server has gone")
            self._unread += part
            if len(self._unread) > _MAX_LINE:
                raise ConnectionError("a command is too long")
        *lines, self._unread = self._unread.split(b"\n")
        return [command for line in lines if isinstance(command := self._decoder.decode(line), dict)]

    def _close(self) -> None:
        connection, self._socket = self._socket, None
        if connection is not None:
            connection.close()


class ServerSide:
    """The server's side: the newest state of the run, and its findings."""

    def __init__(self, ask: Callable[[bytes], None] | None = None) -> None:
        """`ask` sends a line to the program; None: the run is over, and nothing can be asked."""
        self.state: dict[str, Any] = {}
        self.findings: dict[int, dict[str, Any]] = {}
        self.version = 0
        self.changed: dict[int, int] = {}  # findings: the version in which each last changed
        self.over = ask is None
        self.ask = ask
        self.time = 0.0  # of the last message from the run
        self.more = False  # does the run have findings that it has not sent yet?

    def take(self, line: bytes) -> list[dict[str, Any]]:
        """Take in what the program's side has sent; the answers to commands that are in it."""
        message = msgspec.json.decode(line)
        self.version += 1
        self.time = time.monotonic()
        self.state = message["state"]
        self.over = self.over or bool(self.state.get("over"))
        self.more = bool(message.get("more"))
        for finding in message["findings"]:
            self.findings[finding["number"]] = finding
            self.changed[finding["number"]] = self.version
        answers: list[dict[str, Any]] = message["answers"]
        return answers

    def end(self) -> None:
        """The program has ended, or cut the line."""
        self.version += 1
        self.over = True
        self.ask = None

    def since(self, version: int, most: int = 200) -> tuple[int, dict[str, Any]]:
        """The changes since a version, and the version reached; of many findings some now, and the rest next time."""
        new = [number for number, at in self.changed.items() if at > version]
        new.sort(key=lambda number: (self.changed[number], number))
        reached = self.version
        if len(new) > most:
            # All findings that changed in one version come together.
            reached = self.changed[new[most - 1]]
            new = [number for number in new if self.changed[number] <= reached]
        message = {
            "state": self.state,
            "over": self.over,
            "findings": [self.findings[number] for number in new],
            "total": len(self.findings),
        }
        return reached, message
