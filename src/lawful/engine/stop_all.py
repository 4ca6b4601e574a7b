"""Ends all processes of a run when one of them breaks a law that stops the program.

A parent that waits for that process, as a pool does, would wait for ever. So the process leaves a mark in the run's
folder, and sends a signal that nobody uses to the parents. Its handler raises `SystemExit` in the main thread, even if
that waits. A parent without the handler looks for the mark.
"""

from __future__ import annotations

import _thread
import os
import signal
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from types import FrameType

    from lawful.engine.process_member import ProcessMember

CODE = 1  # the exit code of the program
GRACE = 10.0  # seconds to end: a thread that waits for a process that has ended keeps the program from ending
_SIGNAL = getattr(signal, "SIGURG", None)  # ignored by processes without a handler


class StopAll:
    """One process of a run that a law can stop."""

    def __init__(self, member: ProcessMember, on_exit: Callable[[int], None]) -> None:
        """`on_exit` is called in the last moment, if the process must be ended."""
        self._member = member
        self._on_exit = on_exit
        self._parent = False  # can it have children?
        self._ready = False
        self._halted = False
        self._raised = False

    def before_child(self) -> None:
        """There will be a child process. Handlers of signals can be set on the main thread only."""
        self._parent = True
        self.check_stop()
        main = threading.current_thread() is threading.main_thread()
        if main and not self._ready and _SIGNAL is not None and signal.getsignal(_SIGNAL) is signal.SIG_DFL:
            try:
                signal.signal(_SIGNAL, self._stop)
            except ValueError:  # inside the tracer, which holds signals: try again before the next child
                return
            self._member.found().listen_for_stop(os.getpid())
            self._ready = True

    def after_fork_in_child(self) -> None:
        self._parent = self._halted = False
        if self._ready and _SIGNAL is not None and threading.current_thread() is threading.main_thread():
            signal.signal(_SIGNAL, signal.SIG_DFL)
        self._ready = False

    def call(self) -> None:
        """This process has broken a law: end the others, too. The end of the first process is theirs anyway."""
        member = self._member
        if not member.number or member.folder is None:
            return
        member.hand_in()  # another process may end this one at once
        for process in member.folder.request_stop():
            if process != os.getpid() and _SIGNAL is not None:
                with suppress(OSError):
                    os.kill(process, _SIGNAL)

    def check_stop(self) -> None:
        """Stop if another process has asked for it. Called ten times a second, and before each child."""
        if self._parent and self._begins() and self._ready and _SIGNAL is not None:
            with suppress(OSError, RuntimeError):  # the main thread may be over
                signal.pthread_kill(threading.main_thread().ident or 0, _SIGNAL)

    def _begins(self) -> bool:
        """Must the run end, and is that news?"""
        folder = self._member.folder
        if self._halted or folder is None or not folder.stop_requested():
            return False
        self._halted = True
        _thread.start_new_thread(self._insist, (os.getpid(),))
        return True

    def _stop(self, number: int, frame: FrameType | None) -> None:
        self._begins()
        if self._halted and not self._raised:
            self._raised = True
            raise SystemExit(CODE)

    def _insist(self, process: int) -> None:
        """End the process, if it does not end."""
        time.sleep(GRACE)
        if os.getpid() == process and not self._member.over:
            self._on_exit(CODE)
            os._exit(CODE)
