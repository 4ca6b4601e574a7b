"""How a run gets its dashboard: a server in a process of its own, linked to the session."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
from typing import TYPE_CHECKING

from lawful.engine.control import Control
from lawful.errors import LawfulError
from lawful.web.link import ProgramSide

if TYPE_CHECKING:
    from lawful.engine.session import Session

RECORDING = "lawful-run.jsonl"


def attend(session: Session, listening: socket.socket, token: str, *, program: str) -> None:
    """Start the server on this socket, and let it look at the session.

    The server is no child of this process: a program that waits for its children must not meet it. It has a session of
    its own, so that Ctrl-C is for the program alone.
    """
    ours, theirs = socket.socketpair()
    folder = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
    path = os.pathsep.join(filter(None, (folder, os.environ.get("PYTHONPATH"))))
    debug = os.environ.get("LAWFUL_DEBUG") == "1"
    with theirs, listening:
        try:
            subprocess.run(
                [sys.executable, "-P", "-m", "lawful.web", str(listening.fileno()), str(theirs.fileno())],
                env=os.environ | {"PYTHONPATH": path, "LAWFUL_TOKEN": token},
                pass_fds=(listening.fileno(), theirs.fileno()),
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=None if debug else subprocess.DEVNULL,
                start_new_session=True,
                check=True,
            )
        except (OSError, subprocess.CalledProcessError) as error:
            ours.close()
            raise LawfulError("serve-start", f"the server of the dashboard did not start: {error}") from None
    record_to = session.settings.trace or os.path.abspath(RECORDING)
    session.attendant = ProgramSide(Control(session, program=program, record_to=record_to), ours)
