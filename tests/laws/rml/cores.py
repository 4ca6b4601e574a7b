"""The machines that the tests hold against each other: the pure-Python core always, the C core where it is built."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from lawful import core

NATIVE = core.native
CORES = ["python"] if NATIVE is None else ["python", "native"]


@contextmanager
def using(which: str) -> Iterator[None]:
    """Monitors made inside run on this core."""
    before: Any = core.native
    core.native = NATIVE if which == "native" else None
    try:
        yield
    finally:
        core.native = before
