"""The functions that expressions may call: those of the language, and those that users register from Python."""

from __future__ import annotations

import importlib.util
import inspect
import os
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any, TypeVar, overload

from lawful.errors import LawfulError
from lawful.laws.rml.values import NoValue, apply, describe, identical

F = TypeVar("F", bound=Callable[..., Any])


@dataclass(frozen=True, slots=True)
class Function:
    """A function with the numbers of arguments that it takes."""

    name: str
    call: Callable[..., Any]
    least: int
    most: int | None  # None: any number


def _size(value: Any) -> int:
    if isinstance(value, str | list | dict):
        return len(value)
    raise NoValue(f"`size` wants a collection, not {describe(value)}")


def _name(value: Any) -> Any:
    if isinstance(value, str):
        return value
    if isinstance(value, dict) and "name" in value:
        return value["name"]
    raise NoValue(f"`name` wants something that has a name, not {describe(value)}")


def _contains(collection: Any, value: Any) -> bool:
    if isinstance(collection, list):
        return any(identical(each, value) for each in collection)
    if isinstance(collection, dict | str) and isinstance(value, str):
        return value in collection
    raise NoValue(f"`contains` wants a collection and a value, not {describe(collection)} and {describe(value)}")


def _end(name: str, index: int) -> Callable[[Any], Any]:
    def end(value: Any) -> Any:
        if isinstance(value, list) and value:
            return value[index]
        raise NoValue(f"`{name}` wants a list that is not empty")

    return end


def _same(first: Any, second: Any) -> bool:
    """Have two lists the same elements, in whatever order?"""
    if not isinstance(first, list) or not isinstance(second, list):
        raise NoValue(f"`sameElements` wants two collections, not {describe(first)} and {describe(second)}")
    rest = list(second)
    for each in first:
        index = next((index for index, other in enumerate(rest) if identical(each, other)), None)
        if index is None:
            return False
        del rest[index]
    return not rest


_BUILT_IN = {
    each.name: each
    for each in (
        Function("size", _size, 1, 1),
        Function("name", _name, 1, 1),
        Function("contains", _contains, 2, 2),
        Function("first", _end("first", 0), 1, 1),
        Function("last", _end("last", -1), 1, 1),
        Function("sameElements", _same, 2, 2),
        Function("abs", partial(apply, "abs"), 1, 1),
        Function("min", partial(apply, "min"), 2, None),
        Function("max", partial(apply, "max"), 2, None),
    )
}
_registered: dict[str, Function] = {}


@overload
def function(callable: F) -> F: ...
@overload
def function(*, name: str | None = None) -> Callable[[F], F]: ...
def function(callable: F | None = None, *, name: str | None = None) -> F | Callable[[F], F]:
    """Let expressions of grammars call this function, under its own name or another.

    It is given values as they stand in events, and returns one. If it raises an exception, the expression has no value,
    and an assertion without a value does not hold. It must have no side effects: when it is called is not said.
    """
    if callable is None:
        return lambda given: _register(given, name)
    return _register(callable, name)


def _register(callable: F, name: str | None) -> F:
    name = callable.__name__ if name is None else name
    if not name.isidentifier():
        raise ValueError(f"{name!r} cannot be called in an expression: give a name with name=")
    if name in _BUILT_IN:
        raise ValueError(f"{name!r} is a function of the language already: give another name with name=")
    least, most = _arity(callable)
    _registered[name] = Function(name, _guarded(name, callable), least, most)
    return callable


def _arity(callable: Callable[..., Any]) -> tuple[int, int | None]:
    try:
        parameters = inspect.signature(callable).parameters.values()
    except ValueError:  # some functions made in C do not say
        return 0, None
    kinds = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    own = [each for each in parameters if each.kind in kinds]
    least = sum(each.default is inspect.Parameter.empty for each in own)
    endless = any(each.kind is inspect.Parameter.VAR_POSITIONAL for each in parameters)
    return least, None if endless else len(own)


def _guarded(name: str, callable: Callable[..., Any]) -> Callable[..., Any]:
    def call(*values: Any) -> Any:
        try:
            return callable(*values)
        except Exception as error:  # whatever a user's function does must not stop the monitor
            raise NoValue(f"`{name}` raised {type(error).__name__}: {error}") from error

    return call


_files: dict[str, None] = {}


def load(path: str) -> None:
    """Run a file of the user's that registers functions. If it registers none, all its public functions are meant."""
    full = os.path.abspath(path)
    if full in _files:
        return
    before = dict(_registered)
    spec = importlib.util.spec_from_file_location(f"lawful_functions_{len(_files)}", full)
    if spec is None or spec.loader is None or not os.path.isfile(full):
        hint = "`functions` names a Python file, as --set functions=functions.py"
        raise LawfulError("functions-not-found", "there is no such file of Python", where=path, hint=hint)
    module = importlib.util.module_from_spec(spec)
    try:
        spec.loader.exec_module(module)
        if _registered == before:
            for name, value in vars(module).items():
                if inspect.isfunction(value) and value.__module__ == spec.name and not name.startswith("_"):
                    _register(value, name)
    except Exception as error:
        text = " ".join(str(error).split())
        raise LawfulError("functions-failed", f"{type(error).__name__}: {text}", where=path) from error
    if _registered == before:
        raise LawfulError("functions-failed", "the file defines no public functions", where=path)
    _files[full] = None


def files() -> tuple[str, ...]:
    """The files that were loaded."""
    return tuple(_files)


def find_function(name: str) -> Function | None:
    return _BUILT_IN.get(name) or _registered.get(name)


def function_names() -> list[str]:
    return [*_BUILT_IN, *_registered]
