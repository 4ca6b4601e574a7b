"""Output that still works after the program has closed or replaced open files of this process."""

from __future__ import annotations

import errno
import os
import stat
import sys
from contextlib import suppress
from typing import TextIO

from lawful.atomic_write import atomic_write, is_standard_stream, may_be_replaced
from lawful.diagnostics import printable
from lawful.engine.descriptors import Outlet, identity
from lawful.pristine_os import files

_STANDARD_ERROR = 2


class ReportFile:
    """A file for the report at the end of a run. It is opened at once, so that a wrong name is an error at once.

    Its old content stays until the report is complete, if another file can replace it.
    """

    def __init__(self, path: str) -> None:
        self.name = path
        self._path = os.path.abspath(path)  # the program may go elsewhere
        self._root = files.stat(os.sep)
        self._is_new = not os.path.lexists(path)
        number = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o666)
        try:
            self._outlet = Outlet(number)
            found = os.fstat(number)
        finally:
            os.close(number)
        self._is_cleared = stat.S_ISREG(found.st_mode) and not is_standard_stream(found)
        self._is_replaced = may_be_replaced(found)

    def write(self, text: str) -> None:
        """Write all of it."""
        try:
            self._write(text)
        except OSError:
            if self._is_new:
                with suppress(OSError):
                    os.unlink(self._path)
            raise

    def _write(self, text: str) -> None:
        number = self._outlet.number
        if number is None or (self._is_replaced and self._is_in_reach):
            try:
                with atomic_write(self._path) as file:  # if the program has closed it, its name is still known
                    file.write(text)
            except OSError as error:
                if number is None or error.errno not in (errno.EMFILE, errno.ENFILE):
                    raise
            else:
                return
        if self._is_cleared:
            os.ftruncate(number, 0)
        with files.open(number, "w", encoding="utf-8", closefd=False) as file:
            file.write(text)

    @property
    def _is_in_reach(self) -> bool:
        """May this process still make files in its folder? The program may have changed the root or the user."""
        same = os.path.samestat(self._root, files.stat(os.sep))
        return same and os.access(os.path.dirname(self._path), os.W_OK | os.X_OK)


class _StandardError:
    """Standard error as it was when the program began."""

    def __init__(self, stream: TextIO) -> None:
        self._outlet = Outlet(stream.fileno())
        self._path = _path(stream.fileno())
        self._encoding, self._errors = stream.encoding, stream.errors

    def free_descriptor(self) -> None:
        """Close our copy if no further file can be opened and the program's own standard error is still the same."""
        if identity(_STANDARD_ERROR) != self._outlet.identity:
            return
        try:
            os.close(os.dup(_STANDARD_ERROR))
        except OSError:
            self._outlet.let_go()

    def open(self) -> TextIO | None:
        number = self._outlet.number
        if number is None and identity(_STANDARD_ERROR) == self._outlet.identity:
            number = _STANDARD_ERROR
        if number is not None:
            return files.open(number, "w", encoding=self._encoding, errors=self._errors, closefd=False)
        # A terminal or a file has a name. A pipe is lost if the program has closed all its descriptors.
        with suppress(OSError):
            number = os.open(self._path, os.O_WRONLY | os.O_APPEND | os.O_NOCTTY | os.O_CLOEXEC)
            if identity(number) == self._outlet.identity:
                return files.open(number, "w", encoding=self._encoding, errors=self._errors)
            os.close(number)
        return None


_saved: _StandardError | None = None


def save_standard_error() -> None:
    """Keep a copy of standard error: the program may close or replace it."""
    global _saved
    if sys.stderr is not None:
        with suppress(OSError, ValueError, AttributeError):  # it is not a file, or no descriptor is left
            _saved = _StandardError(sys.stderr)


def free_descriptor() -> None:
    """Free a descriptor for reports, if the program has opened as many files as it may."""
    if _saved is not None:
        _saved.free_descriptor()


def standard_error() -> TextIO | None:
    """Standard error as it was when the program began; None if it is lost."""
    if _saved is None:
        return sys.stderr
    with suppress(Exception):
        sys.stderr.flush()  # the program's output comes first
    return _saved.open()


def _path(number: int) -> str:
    try:
        return os.readlink(f"/proc/self/fd/{number}")
    except OSError:
        return os.devnull


def notify(text: str) -> None:
    """A line of Lawful's own among what the program writes to standard error."""
    write_to_stderr(f"lawful: {printable(text)}\n")


def write_to_stderr(text: str) -> None:
    """To standard error, if there is one."""
    stream = standard_error()
    if stream is not None:
        with suppress(OSError, ValueError):  # its reader has gone
            stream.write(text)
            stream.flush()
