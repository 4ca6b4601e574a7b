"""Modules of a project that are called like those which this process needs: each side gets its own."""

from __future__ import annotations

import importlib
import os
import sys
from collections.abc import Callable, Collection, Iterable
from pathlib import Path
from types import ModuleType
from typing import Any


def root_of(file: str) -> tuple[str, Path]:
    """The name of the module in a file, and the folder from which it is imported under this name."""
    path = Path(file)
    name, root = path.stem, path.parent
    if name == "__init__":
        name, root = root.name, root.parent
    while (root / "__init__.py").exists() and root.parent != root:
        name, root = f"{root.name}.{name}", root.parent
    return name, root


_forgotten: dict[str, ModuleType] = {}


def our_module(name: str) -> Any:
    """A module that we import only when we need it: ours, whatever the program has by this name."""
    return _forgotten.get(name) or importlib.import_module(name)


def forget_shadowed(folders: Iterable[str], before: Collection[str], prepare: Callable[[], None]) -> None:
    """Modules that we have imported, and that these folders have too, are forgotten: the program imports its own. Those
    that Python itself imports when it starts (`before`) it would not get either. `prepare` imports what we may still
    need; it is called if there are such modules."""
    inside = [(folder, name) for folder in folders for name in _inside(folder) if name not in before]
    if not _ours(inside):
        return
    prepare()
    names = _ours(inside)  # there may be more now
    for name in list(sys.modules):
        if name.partition(".")[0] in names:
            _forgotten[name] = sys.modules.pop(name)


def _ours(inside: list[tuple[str, str]]) -> set[str]:
    loaded = sys.modules
    return {name for folder, name in inside if name in loaded and not _is_in(loaded[name], folder)}


def _inside(folder: str) -> list[str]:
    try:
        entries = list(os.scandir(folder))
    except OSError:
        return []
    found = [each.name[:-3] for each in entries if each.name.endswith(".py")]
    return found + [each.name for each in entries if os.path.isfile(os.path.join(each.path, "__init__.py"))]


def _is_in(module: ModuleType, folder: str) -> bool:
    file = getattr(module, "__file__", None)
    return isinstance(file, str) and Path(os.path.realpath(file)).is_relative_to(os.path.realpath(folder))
