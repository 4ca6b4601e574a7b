"""All small values of a type: how many there are, each by its number, and how to build one leaf by leaf."""

from __future__ import annotations

import collections.abc
import dataclasses
import enum
import inspect
import math
import types
import typing
from collections.abc import Callable, Sequence
from itertools import product
from typing import Any, Protocol

from lawful.errors import LawfulError

_GIVE_INPUTS = "give the inputs yourself: --inputs file.py:generator"
_LETTERS = "abc"
_NONE = type(None)
_SEQUENCES: dict[Any, Callable[[Any], Any]] = {
    list: list,
    collections.abc.Sequence: list,
    collections.abc.MutableSequence: list,
    collections.abc.Iterable: list,
    collections.abc.Collection: list,
    collections.abc.Iterator: iter,
    collections.deque: collections.deque,
}
_SETS: dict[Any, Callable[[Any], Any]] = {
    set: set,
    frozenset: frozenset,
    collections.abc.Set: set,
    collections.abc.MutableSet: set,
}
_DICTS = (dict, collections.abc.Mapping, collections.abc.MutableMapping)


class LeafChooser(Protocol):
    """Who decides when a value is built: which alternative, and what the numbers in it are."""

    def choice(self, count: int) -> int:
        """One of so many alternatives."""

    def integer(self, values: Sequence[int]) -> Any:
        """A number; `values` are the small ones."""

    def boolean(self) -> Any:
        """A truth value."""


@dataclasses.dataclass(frozen=True)
class ListedDomain:
    """Values that can be listed, and that nobody can change.

    As every domain, it has all values of a type up to a bound: their `count`, the one `at` a number, made anew, and
    one that is built as `leaves` decides."""

    values: tuple[Any, ...]

    @property
    def count(self) -> int:
        return len(self.values)

    def at(self, number: int) -> Any:
        return self.values[number]

    def build(self, leaves: LeafChooser) -> Any:
        return self.values[0 if len(self.values) == 1 else leaves.choice(len(self.values))]


class IntegerDomain(ListedDomain):
    """Numbers."""

    def build(self, leaves: LeafChooser) -> Any:
        return leaves.integer(self.values)


class BooleanDomain(ListedDomain):
    """False and True."""

    def build(self, leaves: LeafChooser) -> Any:
        return leaves.boolean()


class UnionDomain:
    """A value of one of several domains."""

    def __init__(self, parts: Sequence[Domain]) -> None:
        self._parts = [part for part in parts if part.count]
        self.count: int = sum(part.count for part in self._parts)

    def at(self, number: int) -> Any:
        for part in self._parts:
            if number < part.count:
                return part.at(number)
            number -= part.count
        raise IndexError(number)

    def build(self, leaves: LeafChooser) -> Any:
        return self._parts[0 if len(self._parts) == 1 else leaves.choice(len(self._parts))].build(leaves)


class ProductDomain:
    """A value made of one of each part."""

    def __init__(self, parts: Sequence[Domain], make: Callable[[list[Any]], Any]) -> None:
        self._parts = parts
        self._make = make
        self.count: int = math.prod(part.count for part in parts)

    def at(self, number: int) -> Any:
        made = []
        for part in self._parts:
            number, digit = divmod(number, part.count)
            made.append(part.at(digit))
        return self._make(made)

    def build(self, leaves: LeafChooser) -> Any:
        return self._make([part.build(leaves) for part in self._parts])


def sequences(item: Domain, longest: int, make: Callable[[list[Any]], Any]) -> Domain:
    """Up to so many values of one domain, in order; short ones first."""
    return UnionDomain([ProductDomain([item] * length, make) for length in range(longest + 1)])


class SetDomain:
    """Up to so many different values of one domain, and for each one of another: sets, and dictionaries."""

    def __init__(self, item: Domain, value: Domain, most: int, make: Callable[[list[tuple[Any, Any]]], Any]) -> None:
        self._item, self._value, self._make = item, value, make
        self._most = min(most, item.count) if value.count else 0
        self.count: int = sum(self._ways(size) for size in range(self._most + 1))

    def _ways(self, size: int) -> int:
        return math.comb(self._item.count, size) * int(self._value.count**size)

    def at(self, number: int) -> Any:
        size = 0
        while number >= self._ways(size):
            number -= self._ways(size)
            size += 1
        number, rank = divmod(number, math.comb(self._item.count, size))
        made, candidate = [], 0
        for left in range(size - 1, -1, -1):
            while rank >= (ways := math.comb(self._item.count - candidate - 1, left)):
                rank -= ways
                candidate += 1
            number, digit = divmod(number, self._value.count)
            made.append((self._item.at(candidate), self._value.at(digit)))
            candidate += 1
        return self._make(made)

    def build(self, leaves: LeafChooser) -> Any:
        return self.at(leaves.choice(self.count))


Domain = ListedDomain | UnionDomain | ProductDomain | SetDomain


def domain_of(annotation: Any, bound: int, name: str) -> Domain:
    """The domain of an annotated parameter. `bound` is how long lists and how large numbers get."""
    return _DomainBuilder(bound, name).domain(annotation, alone=True, depth=0)


class _DomainBuilder:
    def __init__(self, bound: int, name: str) -> None:
        self.bound = max(bound, 0)
        self.name = name

    def domain(self, annotation: Any, *, alone: bool, depth: int) -> Domain:
        """`alone`: a number is a parameter, not one of many that are only compared with each other."""
        bound, origin, arguments = self.bound, typing.get_origin(annotation), typing.get_args(annotation)
        if annotation is bool:
            return BooleanDomain((False, True))
        if annotation is int:
            return IntegerDomain(_around_zero(bound) if alone else tuple(range(max(bound, 1))))
        if annotation is float:
            return ListedDomain(tuple(half / 2 for half in _around_zero(2 * bound)))
        if annotation in (str, bytes):
            texts = ("".join(each) for length in range(bound + 1) for each in product(_LETTERS, repeat=length))
            return ListedDomain(tuple(texts if annotation is str else (text.encode() for text in texts)))
        if annotation is None or annotation is _NONE:
            return ListedDomain((None,))
        if origin is typing.Annotated:
            return self.domain(arguments[0], alone=alone, depth=depth)
        if origin is typing.Literal:
            return ListedDomain(arguments)
        if origin in (typing.Union, types.UnionType):
            return UnionDomain([self.domain(each, alone=alone, depth=depth) for each in arguments])
        if isinstance(annotation, typing.TypeVar):
            choices = annotation.__constraints__ or (annotation.__bound__ or int,)
            return UnionDomain([self.domain(each, alone=alone, depth=depth) for each in choices])
        return self._container(annotation, origin or annotation, arguments, depth)

    def _container(self, annotation: Any, origin: Any, arguments: tuple[Any, ...], depth: int) -> Domain:
        def item(kind: Any) -> Domain:
            return self.domain(kind, alone=False, depth=depth + 1)

        first = arguments[0] if arguments else int
        if origin is tuple and annotation is not tuple and arguments[1:] != (Ellipsis,):
            return ProductDomain([self.domain(each, alone=True, depth=depth + 1) for each in arguments], tuple)
        if origin is tuple:
            return sequences(item(first), self.bound, tuple)
        if origin in _SEQUENCES:
            return sequences(item(first), self.bound, _SEQUENCES[origin])
        if origin in _SETS:
            nothing, make = ListedDomain((None,)), _SETS[origin]
            return SetDomain(item(first), nothing, self.bound, lambda pairs: make(key for key, _ in pairs))
        if origin in _DICTS:
            return SetDomain(item(first), item(arguments[1] if arguments else int), self.bound, dict)
        if isinstance(annotation, type) and issubclass(annotation, enum.Enum):
            return ListedDomain(tuple(annotation))
        if isinstance(origin, type) and origin.__module__ not in ("builtins", "typing"):
            return self._made(origin, depth)
        raise self._refused(annotation)

    def _made(self, kind: type, depth: int) -> Domain:
        """Objects of a class, for all arguments of its constructor. What holds itself gets no deeper than the bound."""
        if inspect.isabstract(kind) or getattr(kind, "_is_protocol", False):
            raise self._refused(kind)
        if depth > self.bound:
            return ListedDomain(())
        try:
            names = parameters(kind, self.name)
        except LawfulError:
            raise self._refused(kind) from None
        parts = [self.domain(each.annotation, alone=True, depth=depth + 1) for each in names]
        return ProductDomain(parts, lambda made: _call(kind, names, made))

    def _refused(self, annotation: Any) -> LawfulError:
        shown = getattr(annotation, "__qualname__", None) or str(annotation)
        message = f"{self.name}: Lawful does not know small values of {shown}"
        return LawfulError("explain-inputs", message, hint=_GIVE_INPUTS)


def _around_zero(most: int) -> tuple[int, ...]:
    return (0, *(value * sign for value in range(1, most + 1) for sign in (1, -1)))


@dataclasses.dataclass(frozen=True)
class InputParameter:
    """A parameter that gets a value."""

    name: str
    kind: Any
    annotation: Any


def parameters(function: Callable[..., Any], where: str, owner: type | None = None) -> list[InputParameter]:
    """The parameters that inputs are needed for. `owner` is the class of a method, whose objects the first one gets."""
    try:
        signature = inspect.signature(function)
    except (TypeError, ValueError):
        raise LawfulError("explain-inputs", f"{where}: its parameters are not known") from None
    source: Any = function
    if isinstance(function, type) and not dataclasses.is_dataclass(function) and not issubclass(function, tuple):
        source = vars(function).get("__init__", function)  # of the others the annotations of the class count
    try:
        hints = typing.get_type_hints(source)
    except Exception as error:
        message = f"{where}: its annotations cannot be read: {type(error).__name__}: {error}"
        raise LawfulError("explain-inputs", message, hint=_GIVE_INPUTS) from None
    found: list[InputParameter] = []
    left_out = False
    for position, each in enumerate(signature.parameters.values()):
        kind = each.kind
        if kind is inspect.Parameter.VAR_KEYWORD or (kind is inspect.Parameter.VAR_POSITIONAL and left_out):
            continue
        if owner is not None and position == 0:
            annotation: Any = owner
        elif each.name in hints:
            annotation = hints[each.name]
            if kind is inspect.Parameter.VAR_POSITIONAL:
                annotation = tuple[annotation, ...]
        elif each.default is not inspect.Parameter.empty or kind is inspect.Parameter.VAR_POSITIONAL:
            left_out = True  # it keeps its default; what follows is given by name
            continue
        else:
            hint = f"annotate it, as in {each.name}: list[int], or give the inputs: --inputs file.py:generator"
            raise LawfulError("explain-inputs", f"{where}: nothing says what {each.name!r} can be", hint=hint)
        if left_out and kind is inspect.Parameter.POSITIONAL_OR_KEYWORD:
            kind = inspect.Parameter.KEYWORD_ONLY
        found.append(InputParameter(each.name, kind, annotation))
    return found


def arguments(names: Sequence[InputParameter], values: Sequence[Any]) -> tuple[list[Any], dict[str, Any]]:
    """Positional and keyword arguments for the values of parameters."""
    positional: list[Any] = []
    keywords: dict[str, Any] = {}
    for each, value in zip(names, values, strict=True):
        if each.kind is inspect.Parameter.VAR_POSITIONAL:
            positional += value
        elif each.kind is inspect.Parameter.KEYWORD_ONLY:
            keywords[each.name] = value
        else:
            positional.append(value)
    return positional, keywords


def _call(kind: Callable[..., Any], names: Sequence[InputParameter], values: Sequence[Any]) -> Any:
    positional, keywords = arguments(names, values)
    return kind(*positional, **keywords)
