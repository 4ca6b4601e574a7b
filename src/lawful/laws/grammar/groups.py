"""What a group of a view is in a running program: a class, a task, an actor, a module."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Final

from lawful.diagnostics import did_you_mean
from lawful.errors import LawfulError

KINDS: Final[Mapping[str, str]] = {
    "class": "each object of this class, and of classes that inherit from it",
    "task": "each asyncio task of this name, or of a coroutine of this name",
    "actor": "each actor of this class: Pykka's, or Ray's",
    "module": "all code of this module, or package",
}
"""As what a group can be bound, and what it is then."""


@dataclass(frozen=True, slots=True)
class Binding:
    """`class app.Worker`: a way to be a group."""

    kind: str  # one of KINDS
    target: str  # a qualified name; of a task, a pattern

    def __str__(self) -> str:
        return f"{self.kind} {self.target}"


def read_binding(text: str, *, where: str | None = None) -> Binding:
    """What a configuration or an option says: `class app.Worker`, or with a colon, `class:app.Worker`."""
    kind, _, target = text.strip().replace(":", " ", 1).partition(" ")
    target = target.strip().strip("\"'")
    if kind not in KINDS:
        near = did_you_mean(kind, KINDS)
        hint = f"did you mean `{near}`?" if near else "it is class:NAME, task:PATTERN, actor:NAME or module:NAME"
        raise LawfulError("group-binding", f"`{text}` does not say what a group is", where=where, hint=hint)
    if not target:
        raise LawfulError("group-binding", f"`{text}` names no {kind}", where=where, hint=f"as {kind}:app.Worker")
    return Binding(kind, target)


def read_groups(
    groups: Iterable[tuple[str, Iterable[str]]], *, where: str | None = None
) -> tuple[tuple[str, tuple[Binding, ...]], ...]:
    """The same for several groups, each by its name."""
    return tuple((name, tuple(read_binding(text, where=where) for text in texts)) for name, texts in groups)
