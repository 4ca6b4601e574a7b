"""Reads what CBMC answers: whether a property can be broken, the word on the way there, and the inputs."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from lawful.explain.model import Word
from lawful.explain.teachers.c.instrument import INPUT, Input
from lawful.explain.teachers.c.queries import EVENT


@dataclass(frozen=True)
class Found:
    """A way to break a property."""

    property: str
    word: Word
    inputs: tuple[tuple[int, str], ...]
    """Which input was taken, and what it was, in this order."""


def found_in(said: Sequence[Mapping[str, Any]]) -> list[Found]:
    """The properties that can be broken, each with its way."""
    broken: list[Found] = []
    for part in said:
        for result in part.get("result", ()):
            if result.get("status") == "FAILURE":
                broken.append(_found(result["property"], result.get("trace", ())))
    return broken


def _found(name: str, trace: Iterable[Mapping[str, Any]]) -> Found:
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
    return Found(name, tuple(word), tuple(inputs))


def described(inputs: Iterable[tuple[int, str]], known: Sequence[Input]) -> str | None:
    """Inputs for a reader: `n = 3, choose() = 1`. Each is the number of an input, and its bits, the highest first."""
    parts = []
    for number, bits in inputs:
        one = known[number]
        value = one.type.value([bit == "1" for bit in reversed(bits)]) if bits else "any"
        parts.append(f"{one.label} = {value}")
    return ", ".join(parts) or None
