"""Loads a target in the child process, and keeps modules of the project apart from ours of the same name."""

from __future__ import annotations

import importlib
import importlib.util
import inspect
import os
import sys
import traceback
from collections.abc import Callable, Collection, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import FunctionType, ModuleType
from typing import Any

from lawful.diagnostics import did_you_mean
from lawful.errors import LawfulError
from lawful.explain.teachers.python.branches import Branches


@dataclass(frozen=True)
class LoadedFunction:
    """A function, ready to be called. `owner`: the class whose object its first parameter is."""

    function: Callable[..., Any]
    name: str
    owner: type | None = None


def load_function(file: str | None, module: str | None, name: str, branches: Branches | None = None) -> LoadedFunction:
    """The function of a target."""
    where = f"{file or module}:{name}"
    holder: Any = load_file(file, branches) if file else _import(str(module), where)
    parent: Any = None
    for part in name.split("."):
        parent = holder
        try:
            holder = getattr(parent, part)
        except AttributeError:
            hint = _hint(parent, part)
            raise LawfulError("explain-target", f"{name} does not exist", where=where, hint=hint) from None
    if not callable(holder):
        raise LawfulError("explain-target", f"{name} is not a function", where=where, hint=_hint(parent, ""))
    plain = isinstance(parent, type) and isinstance(inspect.getattr_static(parent, part), FunctionType)
    return LoadedFunction(holder, name, parent if plain else None)


def load_value(spec: str, folder: str) -> Any:
    """What `file.py:name` or `module:name` stands for."""
    place, _, name = spec.rpartition(":")
    if not place or not name.isidentifier():
        hint = "file.py:name or package.module:name"
        raise LawfulError("explain-inputs", f"{spec!r} does not name inputs", hint=hint)
    if place.endswith(".py"):
        file = os.path.join(folder, place)
        if not os.path.isfile(file):
            raise LawfulError("explain-inputs", f"file {place} does not exist", where=spec)
        module = load_file(file, None)
    else:
        module = _import(place, spec)
    if not hasattr(module, name):
        raise LawfulError("explain-inputs", f"{place} has no {name}", where=spec)
    return getattr(module, name)


def load_file(file: str, branches: Branches | None) -> ModuleType:
    """The module of a file: under its name in its package if it is in one, else under its own."""
    name, root = root_of(file)
    if str(root) not in sys.path:
        sys.path.insert(0, str(root))
    if "." in name:
        return _import(name, file)
    known = sys.modules.get(name)
    if known is not None:
        if getattr(known, "__file__", None) == file:
            return known
        name = f"{name}_"  # another module has this name, such as one of the standard library
    spec = importlib.util.spec_from_file_location(name, file)
    if spec is None or spec.loader is None:
        raise LawfulError("explain-load", "this file cannot be imported", where=file)
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module

    with _load_errors(file):
        if branches is None:
            spec.loader.exec_module(module)
        else:
            exec(branches.compile(Path(file).read_bytes(), file), vars(module))
    return module


def _import(name: str, where: str) -> ModuleType:
    with _load_errors(where, name):
        return importlib.import_module(name)


@contextmanager
def _load_errors(where: str, name: str = "") -> Iterator[None]:
    """Turns what goes wrong while a module is loaded into an error with its place."""
    try:
        yield
    except ModuleNotFoundError as error:
        hint = "names are looked for from the current folder" if error.name and name.startswith(error.name) else None
        raise LawfulError("explain-load", f"it cannot be imported: {error}", where=where, hint=hint) from None
    except SyntaxError as error:
        place = f"{error.filename}:{error.lineno}"
        raise LawfulError("explain-load", f"it cannot be imported: {error.msg}", where=place) from None
    except (Exception, SystemExit) as error:
        last = traceback.extract_tb(error.__traceback__)[-1:]
        place = f"{last[0].filename}:{last[0].lineno}" if last else where
        text = f"it cannot be imported: {type(error).__name__}: {error}"
        raise LawfulError("explain-load", text, where=place) from None


def _hint(holder: Any, missing: str) -> str | None:
    """What could have been meant."""
    if isinstance(holder, FunctionType):
        return "each call makes its inner functions anew: name a function of a module or of a class"
    inside = vars(holder) if isinstance(holder, type | ModuleType) else {}
    found = [name for name, value in inside.items() if callable(value) and not name.startswith("_")]
    if isinstance(holder, ModuleType):  # not what it has imported
        found = [name for name in found if getattr(inside[name], "__module__", None) == holder.__name__]
    close = did_you_mean(missing, found)
    if close is not None:
        return f"did you mean {close}?"
    return f"there are {', '.join(found[:8])}" if found else None


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
    return {name for folder, name in inside if name in sys.modules and not _is_in(sys.modules[name], folder)}


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
