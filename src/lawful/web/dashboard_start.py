"""How a run gets its dashboard: a server in a process of its own, linked to the session."""

from __future__ import annotations

import os
import socket
import sys
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, NoReturn

from lawful.engine.control import Control
from lawful.engine.descriptors import move
from lawful.errors import LawfulError
from lawful.web.link import ProgramSide

if TYPE_CHECKING:
    from lawful.engine.session import Session

RECORDING = "lawful-run.jsonl"


def start_dashboard(session: Session, listening: socket.socket, token: str, *, program: str) -> None:
    """Start the server on this socket, and link it to the session."""
    ours, theirs = socket.socketpair()
    folder = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
    path = os.pathsep.join(filter(None, (folder, os.environ.get("PYTHONPATH"))))
    command = [sys.executable, "-P", "-m", "lawful.web", str(listening.fileno()), str(theirs.fileno())]
    with theirs, listening:
        try:
            _start(
                command,
                os.environ | {"PYTHONPATH": path, "LAWFUL_TOKEN": token},
                inherited=(listening.fileno(), theirs.fileno()),
                quiet=os.environ.get("LAWFUL_DEBUG") != "1",
            )
        except OSError as error:
            ours.close()
            raise LawfulError("serve-start", f"the server of the dashboard did not start: {error}") from None
    record_to = session.settings.trace or os.path.abspath(RECORDING)
    ours = socket.socket(fileno=move(ours.detach()))
    session.observer_hook = ProgramSide(Control(session, program=program, record_to=record_to), ours)


def _start(command: list[str], environment: Mapping[str, str], inherited: Sequence[int], *, quiet: bool) -> None:
    """Start the server as a process that is not a child of this one: the program may wait for all its children.

    It has a process session of its own, so that Ctrl-C reaches only the program. This waits for two forks, but not for
    the other interpreter to start.
    """
    reading, writing = os.pipe()  # closes by itself when the other program begins
    between = os.fork()
    if not between:
        _become(command, environment, inherited, writing, quiet=quiet)
    os.close(writing)
    os.waitpid(between, 0)
    with os.fdopen(reading, "rb") as report:
        refused = report.read()
    if refused:
        number = int(refused)
        raise OSError(number, os.strerror(number))


def _become(
    command: list[str], environment: Mapping[str, str], inherited: Sequence[int], writing: int, *, quiet: bool
) -> NoReturn:
    try:
        os.setsid()
        if os.fork():
            os._exit(0)
        null = os.open(os.devnull, os.O_RDWR)
        for number in (0, 1, 2) if quiet else (0, 1):
            os.dup2(null, number)
        for number in inherited:
            os.set_inheritable(number, True)
        os.execve(command[0], command, environment)
    except OSError as error:
        os.write(writing, str(error.errno).encode())
    finally:
        os._exit(1)
