"""What the state of a law is made of, in the machine in Python.

A *leaf* is an instance of a shape. A *spine* holds what grows: children that stand around a core, outermost first, each
as ``child /\\ rest``, ``child | rest`` or ``rest | child``. A *chain* is a head and a linked list of what follows it.
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

    __slots__ = ("doomed", "halts", "leaf", "rest")

    def __init__(self, leaf: Leaf, rest: Cell | None, halts: bool, doomed: bool) -> None:
        self.leaf = leaf
        self.rest = rest
        self.halts = halts
        self.doomed = doomed


class Chain:
    """A head and what follows it."""

    __slots__ = ("head", "rest")

    def __init__(self, head: Part, rest: Cell) -> None:
        self.head = head
        self.rest = rest


class Filter:
    """A filter whose branches grow; the test is a leaf that ends in yes or no."""

    __slots__ = ("body", "otherwise", "test")

    def __init__(self, test: Leaf, body: Part, otherwise: Part) -> None:
        self.test = test
        self.body = body
        self.otherwise = otherwise


class Closure:
    """The prefix closure of what grows."""

    __slots__ = ("body",)

    def __init__(self, body: Part) -> None:
        self.body = body


class Frame:
    """A child of a spine, at its place."""

    __slots__ = ("after", "before", "doomed", "halts", "homes", "kind", "label", "part")

    def __init__(self, kind: str, part: Part, label: int) -> None:
        self.kind = kind
        self.part = part
        self.label = label
        self.homes: tuple[Any, ...] | None = ()  # the keys under which it is found; None: visited always
        self.halts = True
        self.doomed = False
        self.before: Frame | None = None
        self.after: Frame | None = None

    def __lt__(self, other: Frame) -> bool:
        return self.label < other.label


class Spine:
    """Children around a core."""

    __slots__ = ("always", "core", "doomed", "first", "index", "inert", "last", "shuffled", "waiting")

    def __init__(self, core: Part) -> None:
        self.core = core
        self.first: Frame | None = None  # the outermost child
        self.last: Frame | None = None
        self.always: list[Frame] = []
        self.index: dict[tuple[int, tuple[int, ...]], dict[Any, list[Frame]]] = {}
        self.waiting = 0  # children that may not halt
        self.doomed = 0
        self.shuffled = 0  # children that do not stand as `child /\ rest`
        self.inert = False  # children were let go that are not `all` or `empty`, but will never matter again

    def __iter__(self) -> Iterator[Frame]:
        frame = self.first
        while frame is not None:
            yield frame
            frame = frame.after


Part = Leaf | Spine | Chain | Filter | Closure
