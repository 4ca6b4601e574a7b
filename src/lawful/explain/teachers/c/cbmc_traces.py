"""Reads what CBMC answers: whether a property can be broken, the word on the way there, and the inputs."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from lawful.explain.teacher import Word
from lawful.explain.teachers.c.input_objects import TakenInputs, value
from lawful.explain.teachers.c.instrument import INPUT, Instrumented
from lawful.explain.teachers.c.queries import EVENT


@dataclass(frozen=True)
class BrokenProperty:
    """A way to break a property."""

    property: str
    word: Word
    inputs: tuple[tuple[int, str], ...]
    """Which input was taken, and what it was, in this order."""


def found_in(said: Sequence[Mapping[str, Any]]) -> list[BrokenProperty]:
    """The properties that can be broken, each with its way."""
    broken: list[BrokenProperty] = []
    for part in said:
        for result in part.get("result", ()):
            if result.get("status") == "FAILURE":
                broken.append(_found(result["property"], result.get("trace", ())))
    return broken


def _found(name: str, trace: Iterable[Mapping[str, Any]]) -> BrokenProperty:
    word: list[int] = []
    inputs: list[tuple[int, str]] = []
    waiting: str | None = None
    for step in trace:
        if step.get("stepType") != "assignment":
            continue
        lhs, value = step.get("lhs"), step.get("value", {})
        function = str(step.get("sourceLocation", {}).get("function", ""))
        if lhs == EVENT and function.startswith("__lawful_"):
            word.append(int(re.sub(r"\D", "", str(value.get("data", "0")))))
        elif function.startswith(INPUT):
            if lhs == "value":
                waiting = str(value.get("binary", ""))
            elif lhs == "__lawful_taken" and waiting is not None:
                inputs.append((int(function.removeprefix(INPUT)), waiting))
                waiting = None
    return BrokenProperty(name, tuple(word), tuple(inputs))


def described(inputs: TakenInputs, program: Instrumented) -> str | None:
    """Inputs for a reader: `n = 3, list = {value = 0, next = NULL}, choose() = 1`."""
    parts = []
    at = 0
    while at < len(inputs):
        number, bits = inputs[at]
        whole = program.wholes.get(number)
        if whole is None:
            one = program.inputs[number]
            parts.append(f"{one.label} = {value(one.type, bits)}")
            at += 1
        else:
            text, after = whole.shape.read(inputs, at, whole.deep)
            parts.append(f"{whole.label} = {text}")
            at = max(after, at + 1)
    return ", ".join(parts) or None
