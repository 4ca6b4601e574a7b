"""Which events a program could have: its own functions, what each of them may call, and what they emit."""

from __future__ import annotations

import ast
import re
import sys
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from types import CodeType, FunctionType, ModuleType
from typing import Any

from lawful.explain.graph_search import distances
from lawful.sources.python import emitting, names
from lawful.sources.python.scope import Scope

_SPECIAL = re.compile(r"(.*\.)?__\w+__")


@dataclass
class OwnFunction:
    """An own function: where it stands, and the numbers of those that it may call."""

    module: str
    qualname: str
    file: str
    line: int
    last: int
    code: CodeType
    space: dict[str, Any] = field(repr=False)
    calls: list[int] = field(default_factory=list)

    def as_json(self, label: str, file: str) -> dict[str, Any]:
        return {
            "label": label,
            "names": [self.qualname, f"{self.module}.{self.qualname}"],
            "key": ["entries", self.file, self.qualname],
            "file": file,
            "line": self.line,
            "last": self.last,
            "calls": self.calls,
        }


@dataclass(frozen=True)
class Emit:
    """A `lawful.emit` in the text of the program; its id, if that stands there."""

    name: str | None
    file: str
    line: int


def own_functions(scope: Scope, more: Iterable[FunctionType] = ()) -> list[OwnFunction]:
    """The functions of all own modules that are loaded, with what they may call. A name says what it may stand for.

    `more` are functions that modules do not show, as those that a decorator has hidden."""
    found: dict[tuple[str, str], OwnFunction] = {}
    classes: dict[type, list[tuple[str, str]]] = {}
    for module in _own_modules(scope):
        space = names.module_dict(module.__name__) or {}
        for value in list(space.values()):
            if names.is_class(value) and names.class_module(value) == module.__name__:
                _add_class(value, module, found, classes)
            else:
                _add(value, module, found)
    for each in more:
        shown = sys.modules.get(names.module_of(each))
        if shown is not None and scope.own(each.__code__.co_filename):
            _add(each, shown, found)
    functions = list(found.values())
    index = _Index(functions, {key: number for number, key in enumerate(found)}, classes)
    for function in functions:
        function.calls = sorted(index.called(function))
    return functions


def reachable(functions: list[OwnFunction], starts: Iterable[int]) -> set[int]:
    """These functions, and those that their calls may lead to."""
    return set(distances(starts, lambda number: functions[number].calls))


def labels(functions: list[OwnFunction]) -> list[str]:
    """The shortest distinct names of the functions."""
    used = Counter(each.qualname for each in functions)
    return [each.qualname if used[each.qualname] == 1 else f"{each.module}.{each.qualname}" for each in functions]


def emits(scope: Scope) -> list[Emit]:
    """The places in own modules where `lawful.emit` is called by a name of the module."""
    found = []
    for module in _own_modules(scope):
        space = names.module_dict(module.__name__) or {}
        try:
            with open(str(module.__file__), "rb") as file:
                tree = ast.parse(file.read())
        except (OSError, SyntaxError, ValueError):
            continue
        for node in ast.walk(tree):
            if isinstance(node, ast.Call) and _is_emit(node.func, space):
                first = node.args[0] if node.args else None
                name = first.value if isinstance(first, ast.Constant) and isinstance(first.value, str) else None
                found.append(Emit(name, str(module.__file__), node.lineno))
    return found


def _is_emit(node: ast.expr, space: dict[str, Any] | Any) -> bool:
    if isinstance(node, ast.Name):
        return space.get(node.id) is emitting.emit
    if isinstance(node, ast.Attribute) and node.attr == "emit" and isinstance(node.value, ast.Name):
        return space.get(node.value.id) is sys.modules.get("lawful") or node.value.id == "lawful"
    return False


def _own_modules(scope: Scope) -> Iterator[ModuleType]:
    for module in list(sys.modules.values()):
        if isinstance(module, ModuleType):
            file = module.__dict__.get("__file__")
            if isinstance(file, str) and file.endswith(".py") and scope.own(file):
                yield module


def _add_class(kind: type, module: ModuleType, found: dict[Any, OwnFunction], classes: dict[type, Any]) -> None:
    methods = classes.setdefault(kind, [])
    for entry in list(names.class_dict(kind).values()):
        if names.is_class(entry) and names.class_module(entry) == module.__name__ and entry not in classes:
            _add_class(entry, module, found, classes)
        for method in names.methods(entry):
            methods += _add(method.function, module, found)


def _add(value: object, module: ModuleType, found: dict[Any, OwnFunction]) -> list[tuple[str, str]]:
    function = names.unwrapped(value)
    if type(function) is not FunctionType or names.module_of(function) != module.__name__:
        return []
    added = []
    pending = [function.__code__]
    while pending:
        code = pending.pop()
        key = (code.co_filename, code.co_qualname)
        if key not in found and code.co_filename == module.__file__:
            if not code.co_name.startswith("<"):
                lines = [line for *_, line in code.co_lines() if line is not None]
                last = max(lines, default=code.co_firstlineno)
                space = function.__globals__
                found[key] = OwnFunction(module.__name__, key[1], key[0], code.co_firstlineno, last, code, space)
                added.append(key)
            pending += _nested(code)
    return added


def _nested(code: CodeType) -> list[CodeType]:
    return [each for each in code.co_consts if isinstance(each, CodeType)]


def _used(code: CodeType) -> set[str]:
    """The names that a function uses: globals and attributes, those of comprehensions and lambdas in it too."""
    used = set(code.co_names)
    for each in _nested(code):
        used |= _used(each) if each.co_name.startswith("<") else set()
    return used


class _Index:
    """Functions by what they may be called as."""

    def __init__(
        self,
        functions: list[OwnFunction],
        keys: dict[tuple[str, str], int],
        classes: dict[type, list[tuple[str, str]]],
    ) -> None:
        self._functions = functions
        self._keys = keys
        self._specials: dict[type, list[int]] = {}
        self._siblings: dict[tuple[str, str], list[int]] = {}  # operators, by the methods of the same class
        for kind, methods in classes.items():
            self._specials[kind] = special = [keys[key] for key in methods if _SPECIAL.fullmatch(key[1])]
            self._siblings.update((key, special) for key in methods)
        self._by_name: dict[str, list[int]] = {}
        for number, function in enumerate(functions):
            self._by_name.setdefault(function.code.co_name, []).append(number)
        self._modules: dict[str, set[str]] = {}

    def called(self, function: OwnFunction) -> set[int]:
        called = set(self._siblings.get((function.file, function.qualname), ()))
        codes = _nested(function.code)
        for name in _used(function.code):
            value = names.unwrapped(function.space.get(name))
            if type(value) is FunctionType:
                codes.append(value.__code__)
            elif names.is_class(value):
                called.update(self._specials.get(value, ()))
            for number in self._by_name.get(name, ()):  # an attribute may be any method of its name
                other = self._functions[number]
                if "." in other.qualname or other.module in self._known(function):
                    called.add(number)
        keys = ((code.co_filename, code.co_qualname) for code in codes)
        return called | {self._keys[key] for key in keys if key in self._keys}

    def _known(self, function: OwnFunction) -> set[str]:
        """The modules that a function can name."""
        if function.module not in self._modules:
            values = list(function.space.values())
            self._modules[function.module] = {each.__name__ for each in values if type(each) is ModuleType}
        return self._modules[function.module]
