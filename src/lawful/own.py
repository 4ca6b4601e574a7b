"""Functions of the system that stay ours, whatever a program, or what tests it, puts in their places.

Those who freeze the time or fake the files do so in all modules at once, ours among them, but not in classes.
"""

from __future__ import annotations

import io
import os
import time


class clock:
    """The time."""

    monotonic = staticmethod(time.monotonic)
    perf_counter = staticmethod(time.perf_counter)


class files:
    """The files."""

    raw = io.FileIO
    stat = staticmethod(os.stat)


def read(path: str) -> bytes:
    """All that is in a file."""
    with files.raw(path) as file:
        return file.readall()
