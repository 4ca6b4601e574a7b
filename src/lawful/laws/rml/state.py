"""What the state of a law is made of, in the machine in Python.

A *leaf* is an instance of a shape. An *instance list* holds what grows: children around a core, outermost first, each
as ``child /\\ rest``, ``child | rest`` or ``rest | child``. A *sequence* is a head and a linked list of what follows.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any


class Leaf:
    """An instance: a shape and its registers."""

    __slots__ = ("registers", "shape")

    def __init__(self, shape: int, registers: tuple[Any, ...]) -> None:
        self.shape = shape
        self.registers = registers


class Cell:
    """What follows in a sequence; knows whether the whole rest may halt."""

    __slots__ = ("dead", "halts", "leaf", "rest")

    def __init__(self, leaf: Leaf, rest: Cell | None, halts: bool, dead: bool) -> None:
        self.leaf = leaf
        self.rest = rest
        self.halts = halts
        self.dead = dead


class SequencePart:
    """A head and what follows it."""

    __slots__ = ("head", "rest")

    def __init__(self, head: Part, rest: Cell) -> None:
        self.head = head
        self.rest = rest


class FilterPart:
    """A filter whose branches grow; the test is a leaf that ends in yes or no."""

    __slots__ = ("body", "otherwise", "test")

    def __init__(self, test: Leaf, body: Part, otherwise: Part) -> None:
        self.test = test
        self.body = body
        self.otherwise = otherwise


class ClosurePart:
    """The prefix closure of what grows."""

    __slots__ = ("body",)

    def __init__(self, body: Part) -> None:
        self.body = body


class ListEntry:
    """A child of an instance list, at its place."""

    __slots__ = ("after", "before", "dead", "halts", "index_keys", "kind", "label", "part")

    def __init__(self, kind: str, part: Part, label: int) -> None:
        self.kind = kind
        self.part = part
        self.label = label
        self.index_keys: tuple[Any, ...] | None = ()  # the keys under which it is found; None: visited always
        self.halts = True
        self.dead = False
        self.before: ListEntry | None = None
        self.after: ListEntry | None = None

    def __lt__(self, other: ListEntry) -> bool:
        return self.label < other.label


class InstanceList:
    """Children around a core."""

    __slots__ = ("always", "core", "dead", "first", "index", "inert", "last", "shuffled", "waiting")

    def __init__(self, core: Part) -> None:
        self.core = core
        self.first: ListEntry | None = None  # the outermost child
        self.last: ListEntry | None = None
        self.always: list[ListEntry] = []
        self.index: dict[tuple[int, tuple[int, ...]], dict[Any, list[ListEntry]]] = {}
        self.waiting = 0  # children that may not halt
        self.dead = 0
        self.shuffled = 0  # children that do not stand as `child /\ rest`
        self.inert = False  # children were let go that are not `all` or `empty`, but will never matter again

    def __iter__(self) -> Iterator[ListEntry]:
        entry = self.first
        while entry is not None:
            yield entry
            entry = entry.after


Part = Leaf | InstanceList | SequencePart | FilterPart | ClosurePart
