"""Files that are replaced at once: the older one stays as it is until the new one is complete."""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import IO

from lawful.pristine_os import files, processes, read

_USUAL = 0o666
_NO_ROOM = (errno.ENOSPC, errno.EDQUOT, errno.EMFILE, errno.ENFILE)


@contextmanager
def atomic_write(path: str) -> Iterator[IO[str]]:
    """A file for text, which takes the place of what has this name when all is written.

    A device, a pipe, and what others own or know by another name, is written as it is; so is a file in a folder that
    takes no further one.
    """
    final = os.path.realpath(path)  # a link goes on naming the same file
    temporary = f"{final}.{processes.pid()}.tmp"
    file = _open_temporary(final, temporary)
    if file is None:
        with files.open(path, "a", encoding="utf-8") as file:
            if stat.S_ISREG((found := os.fstat(file.fileno())).st_mode) and not is_standard_stream(found):
                file.truncate(0)
            yield file
        return
    try:
        with file:
            yield file
        _replace(temporary, final)
    except BaseException:
        with suppress(OSError):
            os.unlink(temporary)
        raise


def _open_temporary(final: str, temporary: str) -> IO[str] | None:
    try:
        found = files.stat(final)
    except FileNotFoundError:
        found = None
    if found is not None:
        if not may_be_replaced(found):
            return None
        os.close(os.open(final, os.O_WRONLY | os.O_CLOEXEC))  # may it be changed at all?
    try:
        # Users who may not read the older file must not read this one, not even for a moment.
        number = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600 if found else _USUAL)
    except OSError as error:
        if error.errno in _NO_ROOM:
            raise
        return None
    if found is not None:
        os.fchmod(number, stat.S_IMODE(found.st_mode))
    return files.open(number, "w", encoding="utf-8")


def may_be_replaced(found: os.stat_result) -> bool:
    """May another file take the place of this one, without a difference for anybody?"""
    alone = found.st_nlink == 1 and found.st_uid == os.geteuid()
    return stat.S_ISREG(found.st_mode) and alone and not is_standard_stream(found)


def is_standard_stream(found: os.stat_result) -> bool:
    """Is it standard output or standard error? The user reads those, so nothing in them may be removed."""
    for number in (1, 2):
        with suppress(OSError):
            if os.path.samestat(found, os.fstat(number)):
                return True
    return False


def _replace(temporary: str, final: str) -> None:
    try:
        os.replace(temporary, final)
    except OSError:  # a file that is a mount point can only be written to
        with files.open(final, "w", encoding="utf-8") as file:
            file.write(read(temporary).decode())
        os.unlink(temporary)
