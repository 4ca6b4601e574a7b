"""Events that the program itself reports with `lawful.emit`."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from lawful.sources.python.encode import add_arguments, is_primitive, primitive, text

if TYPE_CHECKING:
    from lawful.sources.python.scope import Scope
    from lawful.sources.python.tracer_protocol import Event, Tracer

_NOTHING = object()
_DEEPEST = 16
_WORDS = {None: "null", True: "true", False: "false"}

_active: tuple[tuple[Tracer, Scope, Callable[[BaseException], None]], ...] = ()


def attach(tracer: Tracer, scope: Scope, failed: Callable[[BaseException], None]) -> None:
    """From now on this tracer gets what the program emits. `failed` is called if an internal error prevents it."""
    global _active
    detach(tracer)
    _active = (*_active, (tracer, scope, failed))


def detach(tracer: Tracer) -> None:
    """Undo `attach`."""
    global _active
    _active = tuple(each for each in _active if each[0] is not tracer)


def emit(event: str, /, *args: object, target: object = _NOTHING, **fields: object) -> None:
    """Report an event that laws may be about. Does nothing where nobody watches.

    `lawful.emit("checkout", 3, target=cart, user=user, express=True)` is the event `{"event": "checkout", "targetId":
    7, "args": [3], "express": true, "userId": 9, ...}` with file, line, thread and time. Arguments are noted as in
    calls: objects by their ids, in `argIds`. Other fields are noted by their values where JSON has them, lists and
    dicts included; an object has its id in the field with `Id` behind its name.
    """
    if _active:
        code = sys._getframe(1)
        for tracer, scope, failed in _active:
            try:
                made = _made(tracer, event, args, target, fields)
                made.setdefault("file", scope.event_file(code.f_code.co_filename))
                made.setdefault("line", code.f_lineno)
            except Exception as error:
                detach(tracer)
                failed(error)
            else:
                tracer.emit(made)


def _made(tracer: Tracer, event: str, args: tuple[object, ...], target: object, fields: Mapping[str, object]) -> Event:
    made: Event = {"event": str(event)}
    if target is not _NOTHING and is_primitive(target):
        made["target"] = primitive(target)
    elif target is not _NOTHING:
        made["targetId"] = tracer.identify(target)
    if args:
        add_arguments(made, args, None, tracer.identify)
    for key, value in fields.items():
        if is_primitive(value) or isinstance(value, list | tuple | dict):
            made.setdefault(key, _as_json(value, 0))
        else:
            made.setdefault(f"{key}Id", tracer.identify(value))
    return made


def _as_json(value: Any, depth: int) -> Any:
    """A value as JSON; null if JSON has no such value, or it nests too deeply."""
    if is_primitive(value):
        return primitive(value)
    if depth < _DEEPEST:
        if isinstance(value, list | tuple):
            return [_as_json(each, depth + 1) for each in list(value)]
        if isinstance(value, dict):
            keys = ((_key(key), each) for key, each in list(value.items()))
            return {key: _as_json(each, depth + 1) for key, each in keys if key is not None}
    return None


def _key(key: Any) -> str | None:
    """The key as text, as `json` writes it; none for those that it refuses."""
    if not is_primitive(key):
        return None
    return _WORDS[key] if key is None or key is True or key is False else text(str(key))
