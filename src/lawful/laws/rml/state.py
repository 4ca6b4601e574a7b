"""What the state of a law is made of, in the machine in Python.

A *leaf* is an instance of a shape. An *instance list* holds what grows: children around a core, outermost first, each
as ``child /\\ rest``, ``child | rest`` or ``rest | child``. A *sequence* is a head and a linked list of what follows.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import msgspec


class Leaf(msgspec.Struct, eq=False):
    """An instance: a shape and its registers."""

    shape: int
    registers: tuple[Any, ...]


class Cell(msgspec.Struct, eq=False):
    """What follows in a sequence; knows whether the whole rest may halt, and whether some of it is dead."""

    leaf: Leaf
    rest: Cell | None
    halts: bool
    dead: bool

    def __iter__(self) -> Iterator[Cell]:
        cell: Cell | None = self
        while cell is not None:
            yield cell
            cell = cell.rest


class SequencePart(msgspec.Struct, eq=False):
    """A head and what follows it."""

    head: Part
    rest: Cell


class FilterPart(msgspec.Struct, eq=False):
    """A filter whose branches grow; the test is a leaf that ends in yes or no."""

    test: Leaf
    body: Part
    otherwise: Part


class ClosurePart(msgspec.Struct, eq=False):
    """The prefix closure of what grows."""

    body: Part


class ListEntry(msgspec.Struct, eq=False):
    """A child of an instance list, at its place."""

    kind: str
    part: Part
    label: int  # grows inwards
    before: ListEntry | None
    after: ListEntry | None
    index_keys: tuple[Any, ...] | None = ()  # the keys under which it is found; None: visited always
    halts: bool = True
    dead: bool = False

    def __lt__(self, other: ListEntry) -> bool:
        return self.label < other.label


class InstanceList(msgspec.Struct, eq=False):
    """Children around a core."""

    core: Part
    first: ListEntry | None = None  # the outermost child
    last: ListEntry | None = None
    always: list[ListEntry] = []
    index: dict[tuple[int, tuple[int, ...]], dict[Any, list[ListEntry]]] = {}
    waiting: int = 0  # children that may not halt
    dead: int = 0
    shuffled: int = 0  # children that do not stand as `child /\ rest`
    inert: bool = False  # children were dropped that are not `all` or `empty`, but can never matter again

    def __iter__(self) -> Iterator[ListEntry]:
        entry = self.first
        while entry is not None:
            yield entry
            entry = entry.after


Part = Leaf | InstanceList | SequencePart | FilterPart | ClosurePart
