"""What Lawful itself asks of the system while a program is watched, so that it is not taken for the program's doing.

Functions of the standard library that are written in Python report themselves whoever calls them. Those of C are seen
only where the program's own code calls them.
"""

from __future__ import annotations

import signal

# What the standard library has made of these is Python, and would tell the laws about signals.
from _signal import pthread_sigmask, valid_signals  # type: ignore[import-not-found]


def block_signals() -> None:
    """Signals are the program's, and come to its own threads, not to this one."""
    pthread_sigmask(signal.SIG_BLOCK, valid_signals())
