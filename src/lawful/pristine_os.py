"""Functions of the operating system, out of reach of programs and test tools that patch them.

Tools that freeze the time or fake files patch all modules, ours too, but not the attributes of classes.
"""

from __future__ import annotations

import io
import os
import time
from collections.abc import Callable
from typing import ClassVar, Final

_MAX_LINKS: Final = 40  # as in Linux: there is a loop
SEP: Final = os.sep


class clock:
    """The time."""

    monotonic = staticmethod(time.monotonic)
    perf_counter = staticmethod(time.perf_counter)


class files:
    """The files."""

    open = staticmethod(io.open)
    raw = io.FileIO
    stat = staticmethod(os.stat)
    join = staticmethod(os.path.join)
    normpath: ClassVar[Callable[[str], str]] = os.path.normpath
    readlink = staticmethod(os.readlink)
    realpath: ClassVar[Callable[[str], str]] = os.path.realpath


class processes:
    """The processes."""

    pid = staticmethod(os.getpid)


def read(path: str) -> bytes:
    """All that is in a file."""
    with files.raw(path) as file:
        return file.readall()


def exists(path: str) -> bool:
    """Is there such a file or folder?"""
    try:
        files.stat(path)
    except (OSError, ValueError):
        return False
    return True


def real_path(path: str) -> str:
    """An absolute path with its links resolved, as far as it exists."""
    if SEP != "/":
        return files.realpath(path)
    at, ahead, links = "", path.split("/")[::-1], 0
    while ahead:
        name = ahead.pop()
        if name == "..":
            at = at.rpartition("/")[0]
        elif name not in ("", "."):
            here = f"{at}/{name}"
            try:
                target = files.readlink(here)
            except (OSError, ValueError):  # it is not a link
                at = here
                continue
            links += 1
            if links > _MAX_LINKS:
                return path
            at = "" if target.startswith("/") else at
            ahead += target.split("/")[::-1]
    return at or "/"
