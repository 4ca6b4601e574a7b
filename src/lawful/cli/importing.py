"""How modules are imported, kept for the time after the program: it may have changed all of it."""

from __future__ import annotations

import builtins
import sys


class Importing:
    """As it is now."""

    def __init__(self) -> None:
        self._import = builtins.__import__
        self._path = sys.path, list(sys.path)
        self._finders = sys.meta_path, list(sys.meta_path)
        self._hooks = sys.path_hooks, list(sys.path_hooks)

    def restore(self) -> None:
        """Let it be as it was."""
        builtins.__import__ = self._import
        sys.path, sys.path[:] = self._path
        sys.meta_path, sys.meta_path[:] = self._finders
        sys.path_hooks, sys.path_hooks[:] = self._hooks
        sys.path_importer_cache.clear()
