"""The inputs on which a function is run: all small ones of its annotations, samples of these, or the user's own."""

from __future__ import annotations

import copy
import enum
import inspect
import random
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import islice
from typing import Any

from lawful.errors import LawfulError
from lawful.explain.teachers.python.value_domains import (
    LeafChooser,
    ProductDomain,
    arguments,
    domain_of,
    parameters,
)

Arguments = tuple[Sequence[Any], dict[str, Any]]

_LONGEST_TEXT = 500
_DEEPEST = 8
_ADDRESS = re.compile(r" at 0x[0-9a-fA-F]+")


class InputScope:
    """All inputs of a function within the bound, by the annotations of its parameters, or a sample of them.

    They are numbered from 0, in the same order each time. `complete`: these are all there are within the bound."""

    complete = True

    def __init__(self, function: Callable[..., Any], name: str, bound: int, owner: type | None = None) -> None:
        self.names = parameters(function, name, owner)
        self._product = ProductDomain(
            [domain_of(each.annotation, bound, f"{name}: {each.name}") for each in self.names], list
        )
        self.count = self._product.count
        if self.count == 0:
            message = f"{name} has no inputs of size {bound}"
            raise LawfulError("explain-inputs", message, hint="give them yourself: --inputs file.py:generator")
        self._chosen: Sequence[int] = range(self.count)
        self._size = self.count  # `len` of a huge range is an error

    def sample(self, size: int, seed: int) -> InputScope:
        """Keeps so many inputs, if there are more."""
        self.complete = self.count <= size
        if not self.complete:  # `random.sample` refuses a huge range, too
            chance = random.Random(seed)
            self._chosen = sorted({chance.randrange(self.count) for _ in range(size)})
            self._size = len(self._chosen)
        return self

    def each(self, numbers: Iterable[int] | None, start: int) -> Iterator[tuple[int, InputCall]]:
        """Those with these numbers, or all from one on."""
        wanted = range(start, self._size) if numbers is None else (each for each in numbers if each < self._size)
        return ((number, self._call(self._chosen[number])) for number in wanted)

    def _call(self, number: int) -> InputCall:
        return ScopeInput(self, lambda: self._product.at(number), f"input {number}")

    def built(self, leaves: Callable[[], LeafChooser]) -> InputCall:
        """An input that is built leaf by leaf, as often as wanted."""
        return ScopeInput(self, lambda: self._product.build(leaves()), "an input")


class ScopeInput:
    """An input of a scope, whose values are made anew each time. `name` is for one that a class refuses to make."""

    __slots__ = ("_name", "_names", "_values")

    def __init__(self, scope: InputScope, values: Callable[[], list[Any]], name: str) -> None:
        self._names, self._values, self._name = scope.names, values, name

    def arguments(self) -> Arguments:
        return arguments(self._names, self._values())

    def text(self) -> str:
        try:
            values = zip(self._names, self._values(), strict=True)
            return _shortened(", ".join(f"{each.name}={value_text(value)}" for each, value in values))
        except Exception:
            return self._name


class GivenInputs:
    """What the user's own iterable, or function that is given the bound, brings."""

    complete = True

    def __init__(self, what: Any, name: str, function: Callable[..., Any], bound: int) -> None:
        self._what, self._name, self._bound = what, name, bound
        self._kept: list[Any] | None = None
        self._spread = takes_several(function)

    def each(self, numbers: Iterable[int] | None, start: int) -> Iterator[tuple[int, InputCall]]:
        if numbers is None:
            for number, item in islice(enumerate(self._items()), start, None):
                yield number, GivenInput(item, self._spread)
            return
        wanted = set(numbers)
        found = {}
        for number, item in islice(enumerate(self._items()), max(wanted, default=-1) + 1):
            if number in wanted:
                found[number] = item
        for number in numbers:
            if number in found:  # a generator may bring fewer when it is asked again
                yield number, GivenInput(found[number], self._spread)

    def _items(self) -> Iterator[Any]:
        what = self._what
        try:
            if callable(what):
                return iter(what(self._bound) if _wants_bound(what) else what())
            if isinstance(what, Iterator):  # it can be gone through only once
                if self._kept is None:
                    self._kept = list(what)
                what = self._kept
            return iter(what)
        except Exception as error:
            message = f"{self._name} brings no inputs: {type(error).__name__}: {error}"
            raise LawfulError("explain-inputs", message, hint="an iterable, or a function that returns one") from None


class GivenInput:
    """An input of the user's. A function of several parameters is given the parts of a tuple, or of a dict by name."""

    __slots__ = ("_item", "_spread")

    def __init__(self, item: Any, spread: bool) -> None:
        self._item = item
        self._spread = spread

    def arguments(self) -> Arguments:
        try:
            item = copy.deepcopy(self._item)
        except Exception:
            item = self._item  # what cannot be copied is given as it is
        if self._spread and isinstance(item, dict):
            return (), item
        return (item if self._spread and isinstance(item, tuple) else (item,)), {}

    def text(self) -> str:
        return _shortened(value_text(self._item))


InputCall = ScopeInput | GivenInput
Inputs = InputScope | GivenInputs


def value_text(value: object, depth: int = 0) -> str:
    """A value as a reader could write it, and the same in every process: without addresses, sets in order."""
    kind = type(value)
    if depth > _DEEPEST:
        return "..."
    if isinstance(value, enum.Enum):
        return f"{kind.__name__}.{value.name}"
    if kind is list:
        return f"[{', '.join(value_text(each, depth + 1) for each in value)}]"  # type: ignore[attr-defined]
    if kind is tuple:
        inside = [value_text(each, depth + 1) for each in value]  # type: ignore[attr-defined]
        return f"({', '.join(inside)}{',' if len(inside) == 1 else ''})"
    if kind is set and value:
        return f"{{{', '.join(sorted(value_text(each, depth + 1) for each in value))}}}"  # type: ignore[attr-defined]
    if kind is dict:
        pairs = value.items()  # type: ignore[attr-defined]
        return f"{{{', '.join(f'{value_text(key, depth + 1)}: {value_text(each, depth + 1)}' for key, each in pairs)}}}"
    if kind.__repr__ is object.__repr__:
        fields = getattr(value, "__dict__", {})
        return f"{kind.__name__}({', '.join(f'{name}={value_text(each, depth + 1)}' for name, each in fields.items())})"
    try:
        return _ADDRESS.sub("", repr(value))
    except Exception as error:
        return f"<{kind.__name__} whose repr raised {type(error).__name__}>"


def _shortened(text: str) -> str:
    return text if len(text) <= _LONGEST_TEXT else f"{text[:_LONGEST_TEXT]}..."


def takes_several(function: Callable[..., Any]) -> bool:
    """Is a tuple one argument for each parameter, since there are several, or none?"""
    found = _parameters(function)
    needed = [each for each in found or () if each.default is inspect.Parameter.empty]
    named = [each for each in needed if each.kind not in (each.VAR_POSITIONAL, each.VAR_KEYWORD)]
    return found is not None and len(named) != 1


def _wants_bound(what: Callable[..., Any]) -> bool:
    return any(each.kind in (each.POSITIONAL_ONLY, each.POSITIONAL_OR_KEYWORD) for each in _parameters(what) or ())


def _parameters(function: Callable[..., Any]) -> list[inspect.Parameter] | None:
    try:
        return list(inspect.signature(function).parameters.values())
    except (TypeError, ValueError):
        return None
