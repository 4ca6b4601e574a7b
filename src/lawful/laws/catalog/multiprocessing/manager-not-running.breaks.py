"""A list is asked for before the manager runs."""

from contextlib import suppress
from multiprocessing.managers import SyncManager

manager = SyncManager()
with suppress(AssertionError):
    manager.list([1])  # violation
