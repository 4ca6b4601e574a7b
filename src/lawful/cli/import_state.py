"""The state of the import system, saved before the program runs, because the program may change all of it."""

from __future__ import annotations

import builtins
import os
import sys
from types import ModuleType

from lawful.sources.python.launcher import BUNDLED

_NEEDED = frozenset({*sys.stdlib_module_names, *BUNDLED, "jinja2", "lark", "markupsafe", "msgspec", "zstandard"})


class ImportState:
    """The import system as it is now."""

    def __init__(self) -> None:
        self._builtins = dict(vars(builtins))
        self._path = sys.path, list(sys.path)
        self._finders = sys.meta_path, list(sys.meta_path)
        self._hooks = sys.path_hooks, list(sys.path_hooks)
        self._modules = sys.modules, {name: each for name, each in sys.modules.items() if name != "__main__"}
        self._program_modules: dict[str, ModuleType | None] = {}

    def restore(self) -> None:
        """Restore it; remember the program's modules that have the names of modules that Lawful needs."""
        vars(builtins).update(self._builtins)
        sys.path, sys.path[:] = self._path
        sys.meta_path, sys.meta_path[:] = self._finders
        sys.path_hooks, sys.path_hooks[:] = self._hooks
        sys.path_importer_cache.clear()
        sys.modules, ours = self._modules
        for name, module in ours.items():
            if sys.modules.get(name) is not module:
                self._program_modules[name] = sys.modules.get(name)
        for name in list(sys.modules):
            if name not in ours and name.partition(".")[0] in _NEEDED and not self._would_find(sys.modules[name]):
                self._program_modules[name] = sys.modules.pop(name)
        sys.modules.update(ours)

    def restore_program(self) -> None:
        """Put the program's modules back, so that they live as long as without Lawful."""
        for name, module in self._program_modules.items():
            if module is not None:
                sys.modules[name] = module
        self._program_modules.clear()

    def _would_find(self, module: ModuleType | None) -> bool:
        """Is it one that Lawful would import, and not another of the same name?"""
        if module is None:
            return False  # None forbids to import it
        root = sys.modules.get(module.__name__.partition(".")[0])
        file = getattr(root, "__file__", None)
        if not isinstance(file, str):
            return True
        folder, name = os.path.split(file)
        return (os.path.dirname(folder) if name.startswith("__init__.") else folder) in self._path[1]
