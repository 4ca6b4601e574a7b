"""The file systems that can be mounted: two that count well, and three with a mistake on a path rarely taken."""

from __future__ import annotations

import struct
from abc import abstractmethod
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from random import Random

from vfs import Dentry, FileSystem, Inode, Kind, dget, dput, iget, iput


@dataclass
class Node:
    """A file or a directory, as a file system keeps it."""

    kind: Kind
    data: bytes = b""
    entries: dict[str, int] = field(default_factory=dict)


class NodeFileSystem(FileSystem):
    """Files and directories as nodes. Where these are kept is left to the file system."""

    root = 1

    def __init__(self) -> None:
        self._last = self.root
        self.store(self.root, Node(Kind.DIRECTORY))

    @abstractmethod
    def load(self, number: int) -> Node: ...

    @abstractmethod
    def store(self, number: int, node: Node) -> None: ...

    def kind(self, number: int) -> Kind:
        return self.load(number).kind

    def find(self, directory: int, name: str) -> int | None:
        return self.load(directory).entries.get(name)

    def names(self, directory: int) -> list[str]:
        return list(self.load(directory).entries)

    def make(self, directory: int, name: str, kind: Kind) -> int:
        self._last += 1
        self.store(self._last, Node(kind))
        node = self.load(directory)
        node.entries[name] = self._last
        self.store(directory, node)
        return self._last

    def remove(self, directory: int, name: str) -> None:
        node = self.load(directory)
        del node.entries[name]
        self.store(directory, node)

    def move(self, directory: int, name: str, to: int, new: str) -> None:
        node = self.load(directory)
        number = node.entries.pop(name)
        self.store(directory, node)
        node = self.load(to)
        node.entries[new] = number
        self.store(to, node)

    def read(self, number: int) -> bytes:
        return self.load(number).data

    def write(self, number: int, data: bytes) -> None:
        node = self.load(number)
        node.data = data
        self.store(number, node)


class RamFS(NodeFileSystem):
    """Keeps its nodes as they are."""

    def __init__(self) -> None:
        self._nodes: dict[int, Node] = {}
        super().__init__()

    def load(self, number: int) -> Node:
        return self._nodes[number]

    def store(self, number: int, node: Node) -> None:
        self._nodes[number] = node

    def free(self, number: int) -> None:
        del self._nodes[number]


HEADER = struct.Struct("<QcI")  # of a record in a log: number, kind, length
ENTRY = struct.Struct("<QH")  # of a directory: number, length of the name
LETTERS = {Kind.FILE: b"f", Kind.DIRECTORY: b"d"}
KINDS = {letter: kind for kind, letter in LETTERS.items()}
SHORT = 1 << 16  # bytes: such a log is left alone


class LogFS(NodeFileSystem):
    """Appends every change to a log. When most of the log is out of date, what is still true is copied to a new one."""

    def __init__(self) -> None:
        self._log = bytearray()
        self._places: dict[int, int] = {}  # where the newest record of each number begins
        self._live = 0  # bytes that these records take
        super().__init__()

    def load(self, number: int) -> Node:
        place = self._places[number]
        _, letter, length = HEADER.unpack_from(self._log, place)
        start = place + HEADER.size
        body = bytes(self._log[start : start + length])
        kind = KINDS[letter]
        return Node(kind, body) if kind is Kind.FILE else Node(kind, b"", self._entries(body))

    def store(self, number: int, node: Node) -> None:
        body = node.data if node.kind is Kind.FILE else b"".join(map(self._packed, node.entries.items()))
        self._forget(number)
        self._places[number] = len(self._log)
        record = HEADER.pack(number, LETTERS[node.kind], len(body)) + body
        self._log += record
        self._live += len(record)
        if len(self._log) > max(SHORT, 4 * self._live):
            self._compact()

    def free(self, number: int) -> None:
        self._forget(number)
        del self._places[number]

    def _forget(self, number: int) -> None:
        if number in self._places:
            self._live -= self._length(self._places[number])

    def _length(self, place: int) -> int:
        length: int = HEADER.unpack_from(self._log, place)[2]
        return HEADER.size + length

    def _compact(self) -> None:
        log = bytearray()
        for number, place in self._places.items():
            self._places[number] = len(log)
            log += self._log[place : place + self._length(place)]
        self._log = log

    def _packed(self, entry: tuple[str, int]) -> bytes:
        name = entry[0].encode()
        return ENTRY.pack(entry[1], len(name)) + name

    def _entries(self, body: bytes) -> dict[str, int]:
        entries = {}
        place = 0
        while place < len(body):
            number, length = ENTRY.unpack_from(body, place)
            place += ENTRY.size
            entries[body[place : place + length].decode()] = number
            place += length
        return entries


# -- with a mistake ----------------------------------------------------------------------------------------------------


class FaultyFS(RamFS):
    """Takes a wrong path once in the life of an object, with a given probability, and knows how often it did."""

    def __init__(self, rate: float = 0.0, seed: int = 0) -> None:
        self._rate = rate
        self._random = Random(seed)
        self.faults: Counter[str] = Counter()  # by class
        super().__init__()

    def bad_block(self, thing: Dentry | Inode) -> bool:
        """Asked once for every object: its chance does not depend on how long or how much it is used."""
        bad = self._random.random() < self._rate
        if bad:
            self.faults[type(thing).__name__] += 1
        return bad


class LeakyFS(FaultyFS):
    """When it reads a block again it takes another reference, and forgets to give that back."""

    def fill_inode(self, inode: Inode) -> None:
        super().fill_inode(inode)
        if self.bad_block(inode):
            inode.kind = self.kind(iget(inode).number)

    def fill_dentry(self, dentry: Dentry) -> None:
        super().fill_dentry(dentry)
        if self.bad_block(dentry):
            dget(dentry)


class HastyFS(FaultyFS):
    """When it cannot write a block back it gives back the object's last reference, which is given back already."""

    def evict_inode(self, inode: Inode) -> None:
        if self.bad_block(inode):
            iput(inode)

    def release_dentry(self, dentry: Dentry) -> None:
        if self.bad_block(dentry):
            dput(dentry)


class GreedyFS(FaultyFS):
    """When it reads a block twice it takes both references in one go."""

    def fill_inode(self, inode: Inode) -> None:
        super().fill_inode(inode)
        if self.bad_block(inode):
            inode.rc += 2
            iput(inode)
            iput(inode)

    def fill_dentry(self, dentry: Dentry) -> None:
        super().fill_dentry(dentry)
        if self.bad_block(dentry):
            dentry.rc += 2
            dput(dentry)
            dput(dentry)


FAULTY: dict[str, Callable[[float, int], FaultyFS]] = {"leakyfs": LeakyFS, "hastyfs": HastyFS, "greedyfs": GreedyFS}
GOOD: dict[str, Callable[[], FileSystem]] = {"ramfs": RamFS, "logfs": LogFS}


def named(name: str, rate: float = 0.0, seed: int = 0) -> FileSystem:
    """A new file system. The rate and the seed of its mistake are for those that have one."""
    return GOOD[name]() if name in GOOD else FAULTY[name](rate, seed)
