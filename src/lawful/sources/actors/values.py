"""The arguments of messages in events: data as JSON, objects by their ids."""

from __future__ import annotations

import dataclasses
import enum
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from lawful.sources.actors.weak_table import WeakTable
from lawful.sources.python.encode import primitive, text
from lawful.sources.python.identity import PRIMITIVE

_DEEPEST: Final = 8
_COLLECTIONS: Final = (list, tuple, deque)
_OBJECT: Final = object()

Identify = Callable[[object], int | str]


def as_data(value: Any, identify: Identify, depth: int = 0) -> Any:
    """A value in JSON's types, or `_OBJECT` if it is an object that is known by its id.

    Collections become lists, what has fields that cannot change (named tuples, frozen dataclasses) a JSON object, and
    an enum member its name. Objects inside them stand as their ids.
    """
    kind = type(value)
    if id(kind) in PRIMITIVE:
        return primitive(value)
    encode = _encoders.get(kind)
    if encode is None:
        encode = _encoders.put(kind, _encoder(kind))
    return None if depth > _DEEPEST else encode(value, identify, depth)


Encode = Callable[[Any, Identify, int], Any]
_encoders: WeakTable[Encode] = WeakTable()


def is_object(kind: type) -> bool:
    """Do objects of a class stand in events by their ids?"""
    if id(kind) in PRIMITIVE:
        return False
    encode = _encoders.get(kind) or _encoders.put(kind, _encoder(kind))
    return encode is _as_object


def _encoder(kind: type) -> Encode:
    """What becomes of the objects of a class."""
    if issubclass(kind, enum.Enum):
        return lambda value, identify, depth: text(value.name)
    if issubclass(kind, str | int | float):  # a class of its own
        return lambda value, identify, depth: primitive(_base(value))
    if issubclass(kind, bytes | bytearray):
        return lambda value, identify, depth: text(value.decode("latin-1"))
    if issubclass(kind, tuple) and hasattr(kind, "_fields"):
        return _named_tuple
    if issubclass(kind, set | frozenset):
        return lambda value, identify, depth: _sorted([_inside(each, identify, depth) for each in list(value)])
    if issubclass(kind, _COLLECTIONS):
        return lambda value, identify, depth: [_inside(each, identify, depth) for each in list(value)]
    if issubclass(kind, dict):
        return _mapping
    fields = kind.__dict__.get("__dataclass_params__")
    if fields is not None and fields.frozen:
        return _frozen(tuple(each.name for each in dataclasses.fields(kind)))  # type: ignore[arg-type]
    return _as_object


def _as_object(value: Any, identify: Identify, depth: int) -> Any:
    return _OBJECT


def _named_tuple(value: Any, identify: Identify, depth: int) -> Any:
    return {name: _inside(each, identify, depth) for name, each in zip(type(value)._fields, value, strict=False)}


def _mapping(value: Any, identify: Identify, depth: int) -> Any:
    return {text(str(key)): _inside(each, identify, depth) for key, each in list(value.items())}


def _frozen(fields: tuple[str, ...]) -> Encode:
    return lambda value, identify, depth: {
        name: _inside(getattr(value, name, None), identify, depth) for name in fields
    }


def _inside(value: Any, identify: Identify, depth: int) -> Any:
    found = as_data(value, identify, depth + 1)
    return identify(value) if found is _OBJECT else found


def _base(value: str | int | float) -> str | int | float:
    if isinstance(value, str):
        return str.__str__(value)
    return int.__index__(value) if isinstance(value, int) else float.__float__(value)


def _sorted(values: list[Any]) -> list[Any]:
    """A set in an order that does not change from run to run, if there is one."""
    try:
        return sorted(values)
    except TypeError:
        return values


def add_values(
    event: dict[str, Any], args: Sequence[Any], kwargs: Mapping[str, Any] | None, identify: Identify
) -> None:
    """`args`, `argIds`, `kwargs` and `kwargIds` of a message."""
    values: list[Any] = []
    ids: list[Any] = []
    objects = False
    for value in args:
        found = primitive(value) if id(type(value)) in PRIMITIVE else as_data(value, identify)
        if found is _OBJECT:
            values.append(None)
            ids.append(identify(value))
            objects = True
        else:
            values.append(found)
            ids.append(None)
    event["args"] = values
    if objects:
        event["argIds"] = ids
    if kwargs:
        named = {text(name): as_data(value, identify) for name, value in kwargs.items()}
        event["kwargs"] = {name: None if value is _OBJECT else value for name, value in named.items()}
        if _OBJECT in named.values():
            event["kwargIds"] = {
                text(name): identify(value) if named[text(name)] is _OBJECT else None for name, value in kwargs.items()
            }


def add_answer(event: dict[str, Any], value: Any, identify: Identify) -> None:
    """`res`, or `resultId` of an object."""
    found = as_data(value, identify)
    if found is _OBJECT:
        event["resultId"] = identify(value)
    else:
        event["res"] = found
