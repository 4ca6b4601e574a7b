"""Values of the program as parts of events. This is what the C core does, too: it is the specification of both.

A part is JSON: a primitive value stands for itself, any other object is an id. test_tracer.py has the order of keys.
`func_post` and `func_raise` repeat receiver and arguments as they were when the call began.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final

from lawful.sources.python.identity import PRIMITIVE
from lawful.sources.python.tracer_protocol import Event

LONGEST_TEXT: Final = 10_000  # characters that are kept of a string
_LONGEST_INT: Final = 2048  # bits up to which an int becomes text; below any limit that Python may set on such texts

Identify = Callable[[object], int]


def is_primitive(value: object) -> bool:
    """Whether a value stands for itself: exactly None, bool, int, float or str, not of a class derived from these."""
    return id(type(value)) in PRIMITIVE


def primitive(value: Any) -> Any:
    """A primitive value as events have it.

    Ints beyond 64 bits become text, or null if they are huge. Floats that are not finite become null.
    """
    kind = type(value)
    if kind is str:
        return text(value)
    if kind is int and not -(2**63) <= value < 2**63:
        return str(value) if value.bit_length() <= _LONGEST_INT else None
    return None if kind is float and value - value != 0.0 else value


def text(value: str) -> str:
    """A string as events have it: cut to 10,000 characters, and lone surrogates escaped."""
    value = value[:LONGEST_TEXT]
    if not value.isascii():
        try:
            value.encode()
        except UnicodeEncodeError:  # lone surrogates, as in file names that are not UTF-8
            value = value.encode(errors="backslashreplace").decode()
    return value


def add_arguments(
    event: Event, args: Iterable[object], kwargs: Mapping[str, object] | None, identify: Identify
) -> None:
    """`args`, always; `argIds` if one of them is an object; `kwargs` and `kwargIds` likewise, if there are any."""
    event["args"], ids = _encoded(args, identify)
    if ids is not None:
        event["argIds"] = ids
    if kwargs:
        keys = [text(key) for key in kwargs]
        values, ids = _encoded(kwargs.values(), identify)
        event["kwargs"] = dict(zip(keys, values, strict=True))
        if ids is not None:
            event["kwargIds"] = dict(zip(keys, ids, strict=True))


def _encoded(values: Iterable[object], identify: Identify) -> tuple[list[Any], list[int | None] | None]:
    """The primitive values and the ids of the others; None instead of ids if all are primitive."""
    known = [*values]
    plain = [primitive(value) if id(type(value)) in PRIMITIVE else None for value in known]
    ids = [None if id(type(value)) in PRIMITIVE else identify(value) for value in known]
    return plain, None if ids.count(None) == len(ids) else ids


def add_result(event: Event, value: object, identify: Identify) -> None:
    """`res` of a primitive value, `resultId` of an object."""
    if is_primitive(value):
        event["res"] = primitive(value)
    else:
        event["resultId"] = identify(value)


def add_receiver(event: Event, value: object, class_name: str | None, identify: Identify) -> None:
    """`class` and `targetId` of an object, `target` of a primitive value. A class as a receiver is its own `class`."""
    if class_name is None:
        event["target"] = primitive(value)
    else:
        event["class"] = class_name
        event["targetId"] = identify(value)
