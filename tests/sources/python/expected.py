"""Small programs, and the events that every tracer core must make of each, by hand."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from lawful.sources.python.tracer_protocol import Want

Expected = dict[str, Any]


@dataclass
class Program:
    """A module `prog`. Line 7 of an event is the line that ends in `#7`."""

    name: str
    source: str
    events: list[Expected]
    calls: dict[str, Want] = field(default_factory=dict)  # caller side, in the program
    own: dict[str, Want] = field(default_factory=dict)  # callee side, functions of the program


class Programs(list[Program]):
    """Some that belong together."""

    def add(
        self,
        name: str,
        source: str,
        *events: list[Expected],
        calls: dict[str, Want] | None = None,
        own: dict[str, Want] | None = None,
    ) -> None:
        self.append(Program(name, source, [e for some in events for e in some], calls or {}, own or {}))


def event(kind: str, name: str, line: int, parts: dict[str, Any]) -> Expected:
    """`on`: label of the receiver, `ids`/`kwids`: labels of objects among the arguments, `result`: label of the result.

    A label stands for the same id wherever it is used, and no other label does; `*` stands for any id.
    """
    made: Expected = {"event": kind, "name": name}
    names = {"cls": "class", "on": "targetId", "ids": "argIds", "kwids": "kwargIds", "result": "resultId"}
    for key, value in parts.items():
        made[names.get(key, key)] = value
    made["line"] = line
    return made


def pre(name: str, line: int, **parts: Any) -> list[Expected]:
    for key in ("res", "result"):
        parts.pop(key, None)
    return [event("func_pre", name, line, {"args": [], **parts})]


def post(name: str, line: int, **parts: Any) -> list[Expected]:
    if "result" not in parts:
        parts.setdefault("res", None)
    return [event("func_post", name, line, {"args": [], **parts})]


def call(name: str, line: int, *inside: list[Expected], **parts: Any) -> list[Expected]:
    """A call that returns, and what happens meanwhile."""
    return [*pre(name, line, **parts), *(e for some in inside for e in some), *post(name, line, **parts)]


def fails(name: str, line: int, exception: str, *inside: list[Expected], **parts: Any) -> list[Expected]:
    """A call that raises."""
    raised = event("func_raise", name, line, {"args": [], **parts, "exception": exception, "excId": "*"})
    return [*pre(name, line, **parts), *(e for some in inside for e in some), raised]


def makes(name: str, line: int, label: str, *inside: list[Expected], cls: str = "", **parts: Any) -> list[Expected]:
    """A call of a class."""
    new = event("new", name, line, {"cls": cls or name, "on": label, "args": [], **parts})
    return [
        *pre(name, line, **parts),
        *(e for some in inside for e in some),
        new,
        *post(name, line, result=label, **parts),
    ]


def steps(name: str, line: int, on: str, cls: str, times: int) -> list[Expected]:
    return [event("iter_next", name, line, {"cls": cls, "on": on}) for _ in range(times)]


def other(kind: str, name: str, line: int, **parts: Any) -> list[Expected]:
    return [event(kind, name, line, parts)]
