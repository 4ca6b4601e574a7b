"""Items of queues, read as messages: the name, the receiver and the arguments."""

from __future__ import annotations

import dataclasses
import functools
import inspect
import sys
from collections.abc import Mapping, Sequence
from types import MemberDescriptorType, MethodType
from typing import Any, Final, NamedTuple

from lawful.sources.python.identity import PRIMITIVE

NAMES: Final = ("message", "method", "type", "event", "kind", "name", "action", "op")
"""Under which of its keys a dict has the name of a message."""


class QueueItem(NamedTuple):
    """A message in a queue."""

    name: str
    target: Any  # the object whose method it is, or None
    args: tuple[Any, ...]
    kwargs: Mapping[str, Any] | None
    future: Any = None  # for the reply
    ordered: bool = False  # the arguments by name are fields, whose order counts

    def arguments(self, parameters: Sequence[str]) -> tuple[Sequence[Any], Mapping[str, Any] | None]:
        """The arguments in the order of the view, by position if possible."""
        if self.args or not self.kwargs:
            return self.args, self.kwargs
        if all(name in self.kwargs for name in parameters):
            return [self.kwargs[name] for name in parameters], None
        return (list(self.kwargs.values()), None) if self.ordered else ((), self.kwargs)


def read(item: Any) -> QueueItem | None:
    """None: the item has no name."""
    kind = type(item)
    if kind is tuple or kind is list:
        return _of_sequence(tuple(item))
    if kind is str:
        return QueueItem(item, None, (), None)
    if kind is dict:
        return _of_dict(item)
    if kind is MethodType:
        return QueueItem(item.__name__, item.__self__, (), None)
    if kind is functools.partial:
        return _of_callable(item.func, item.args, item.keywords)
    return _of_object(item)


def _of_sequence(item: tuple[Any, ...]) -> QueueItem | None:
    if not item:
        return None
    first, rest = item[0], item[1:]
    if type(first) in (int, float) and rest:  # a priority
        return read(rest[0]) if len(rest) == 1 else _of_sequence(rest)
    future = next((each for each in rest if id(type(each)) not in PRIMITIVE and is_future_class(type(each))), None)
    if future is not None:
        rest = tuple(other for other in rest if other is not future)
    if type(first) is str:
        args, kwargs = _spread(rest)
        return QueueItem(first, None, args, kwargs, future)
    if type(first) in (MethodType, functools.partial):
        args, kwargs = _spread(rest)
        found = _of_callable(first, args, kwargs or {})
        return None if found is None else found._replace(future=future)
    if len(item) - (future is not None) == 1:
        found = read(first)
        return None if found is None else found._replace(future=future)
    return None


def _spread(rest: tuple[Any, ...]) -> tuple[tuple[Any, ...], Mapping[str, Any] | None]:
    """Arguments may come as a tuple of their own, and as a dict behind it."""
    if len(rest) == 1 and type(rest[0]) is tuple:
        return rest[0], None
    if len(rest) == 2 and type(rest[0]) is tuple and type(rest[1]) is dict:
        return rest[0], rest[1]
    return rest, None


def _of_callable(called: Any, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> QueueItem | None:
    if type(called) is functools.partial:
        return _of_callable(called.func, (*called.args, *args), {**called.keywords, **kwargs})
    name = getattr(called, "__name__", None)
    if not isinstance(name, str):
        return None
    return QueueItem(name, called.__self__ if type(called) is MethodType else None, args, dict(kwargs) or None)


def _of_dict(item: dict[Any, Any]) -> QueueItem | None:
    key = next((each for each in NAMES if isinstance(item.get(each), str)), None)
    if key is None:
        return None
    rest, future = _without_future({name: each for name, each in item.items() if name != key and isinstance(name, str)})
    args = rest.pop("args", ())
    if isinstance(rest.get("kwargs"), dict):
        rest |= rest.pop("kwargs")
    return QueueItem(item[key], None, tuple(args) if isinstance(args, list | tuple) else (args,), rest or None, future)


def _of_object(item: Any) -> QueueItem | None:
    """The name of its class, and its fields."""
    kind = type(item)
    if item is None or not isinstance(getattr(kind, "__name__", None), str) or kind.__module__ == "builtins":
        return None
    if isinstance(item, tuple) and hasattr(kind, "_fields"):
        fields = dict(zip(kind._fields, item, strict=False))
    elif dataclasses.is_dataclass(item):
        fields = {each.name: getattr(item, each.name, None) for each in dataclasses.fields(item)}
    else:
        fields = {name: value for name, value in getattr(item, "__dict__", {}).items() if not name.startswith("_")}
    fields, future = _without_future(fields)
    return QueueItem(kind.__name__, None, (), fields or None, future, ordered=True)


def plain_fields(kind: type) -> tuple[str, ...] | None:
    """The fields of objects of a class, if to read them runs no code of the program; None: that is not certain."""
    if issubclass(kind, tuple):
        named = getattr(kind, "_fields", None)
        plain = type(named) is tuple and kind.__iter__ is tuple.__iter__ and all(type(each) is str for each in named)
        return named if plain else None
    if not dataclasses.is_dataclass(kind) or hasattr(kind, "__getattr__"):
        return None
    if kind.__getattribute__ is not object.__getattribute__:
        return None
    fields = tuple(each.name for each in dataclasses.fields(kind))
    for name in fields:
        entry = inspect.getattr_static(kind, name, None)
        if hasattr(type(entry), "__get__") and type(entry) is not MemberDescriptorType:
            return None
    return fields


def _without_future(fields: dict[str, Any]) -> tuple[dict[str, Any], Any]:
    """The fields without the future for the reply, and that."""
    future = next((value for value in fields.values() if is_future_class(type(value))), None)
    if future is None:
        return fields, None
    return {name: value for name, value in fields.items() if value is not future}, future


def is_future_class(kind: type) -> bool:
    """Is it the class of asyncio's futures, or one that inherits from it?"""
    asyncio = sys.modules.get("asyncio")  # None: the program has not loaded it
    future = getattr(asyncio, "Future", None)
    return future is not None and issubclass(kind, future)
