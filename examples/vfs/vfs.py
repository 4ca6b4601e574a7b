"""A virtual file system in memory: dentries and inodes with reference counts, which all file systems on it share.

A dentry is a name in a directory, an inode what the name stands for. Both are counted: whoever uses one takes a
reference (`dget`, `iget`) and gives it back (`dput`, `iput`); when the count is zero again, the object's life is over.
The cache of dentries holds one reference on each that it keeps, a dentry one on its parent and one on its inode, an
open file one on its dentry and one on its inode.
"""

from __future__ import annotations

import errno
import os
import posixpath
from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass
from enum import Enum
from types import TracebackType
from typing import NamedTuple, Self


class Kind(Enum):
    """What an inode is."""

    FILE = "file"
    DIRECTORY = "directory"


# -- counted objects ---------------------------------------------------------------------------------------------------


class Inode:
    """A file or a directory, while somebody uses it."""

    def __init__(self, number: int, mount: Mount) -> None:
        self.number = number
        self.mount = mount
        self.kind = Kind.FILE
        self.links = 1
        self.rc = 1


class Dentry:
    """A name in a directory. Without an inode it says that there is nothing of this name."""

    def __init__(self, name: str, parent: Dentry | None, mount: Mount) -> None:
        self.name = name
        self.parent = parent
        self.mount = mount
        self.inode: Inode | None = None
        self.children: dict[str, Dentry] = {}
        self.covered_by: Dentry | None = None  # the root of what is mounted here
        self.rc = 1


def iget(inode: Inode) -> Inode:
    inode.rc += 1
    return inode


def iput(inode: Inode) -> None:
    inode.rc -= 1
    if inode.rc == 0:
        inode.mount.evict(inode)


def dget(dentry: Dentry) -> Dentry:
    dentry.rc += 1
    return dentry


def dput(dentry: Dentry) -> None:
    dentry.rc -= 1
    if dentry.rc == 0:
        dentry.mount.release(dentry)


# -- file systems ------------------------------------------------------------------------------------------------------


class FileSystem(ABC):
    """What a file system has to offer: where names and contents are kept, by the numbers of inodes."""

    root: int

    @abstractmethod
    def kind(self, number: int) -> Kind: ...

    @abstractmethod
    def find(self, directory: int, name: str) -> int | None: ...

    @abstractmethod
    def names(self, directory: int) -> list[str]: ...

    @abstractmethod
    def make(self, directory: int, name: str, kind: Kind) -> int: ...

    @abstractmethod
    def remove(self, directory: int, name: str) -> None:
        """The name goes; what it stood for stays until it is freed."""

    @abstractmethod
    def free(self, number: int) -> None: ...

    @abstractmethod
    def move(self, directory: int, name: str, to: int, new: str) -> None:
        """The new name is not taken."""

    @abstractmethod
    def read(self, number: int) -> bytes: ...

    @abstractmethod
    def write(self, number: int, data: bytes) -> None: ...

    # The four moments at which a file system has the shared objects in its own hands.

    def fill_inode(self, inode: Inode) -> None:
        """A new inode gets its contents."""
        iget(inode)
        inode.kind = self.kind(inode.number)
        iput(inode)

    def evict_inode(self, inode: Inode) -> None:  # noqa: B027  (most have nothing to do)
        """Nobody uses the inode any more."""

    def fill_dentry(self, dentry: Dentry) -> None:
        """A new dentry is about to go into the cache."""
        if dentry.parent is not None:
            dget(dentry)
            found = self.find(directory_of(dentry.parent).number, dentry.name)
            if found is not None:
                dentry.inode = dentry.mount.inode(found)
            dput(dentry)

    def release_dentry(self, dentry: Dentry) -> None:  # noqa: B027
        """Nobody uses the dentry any more."""


class Left(NamedTuple):
    """How many objects were still referred to when their file system was unmounted."""

    dentries: int
    inodes: int


class Mount:
    """A file system in its place, and all counted objects that belong to it."""

    def __init__(self, fs: FileSystem) -> None:
        self.fs = fs
        self.dentries: set[Dentry] = set()
        self.inodes: dict[int, Inode] = {}
        self.dentries_made = self.inodes_made = 0
        self.open_files = 0

    def root(self) -> Dentry:
        """The dentry where it begins, with a reference for the caller."""
        root = self.dentry("/", None)
        root.inode = self.inode(self.fs.root)
        return root

    def dentry(self, name: str, parent: Dentry | None) -> Dentry:
        """A new dentry; the first reference is the caller's."""
        dentry = Dentry(name, parent if parent is None else dget(parent), self)
        self.dentries.add(dentry)
        self.dentries_made += 1
        self.fs.fill_dentry(dentry)
        return dentry

    def inode(self, number: int) -> Inode:
        """The inode of this number, with a reference for the caller."""
        inode = self.inodes.get(number)
        if inode is not None:
            return iget(inode)
        inode = self.inodes[number] = Inode(number, self)
        self.inodes_made += 1
        self.fs.fill_inode(inode)
        return inode

    def release(self, dentry: Dentry) -> None:
        self.fs.release_dentry(dentry)
        self.dentries.discard(dentry)

    def evict(self, inode: Inode) -> None:
        self.fs.evict_inode(inode)
        del self.inodes[inode.number]
        if inode.links == 0:
            self.fs.free(inode.number)


# -- open files --------------------------------------------------------------------------------------------------------


class File:
    """An open file. It can be used until it is closed, even if it has no name any more."""

    def __init__(self, dentry: Dentry, inode: Inode, mode: str) -> None:
        self._dentry = dget(dentry)
        self._inode = iget(inode)
        self._mode = mode
        self._fs = inode.mount.fs
        self._closed = False
        self._position = 0
        inode.mount.open_files += 1
        if mode == "w":
            self._fs.write(inode.number, b"")

    def read(self, size: int = -1) -> bytes:
        self._check(self._mode == "r", "read")
        data = self._fs.read(self._inode.number)
        end = len(data) if size < 0 else self._position + size
        piece = data[self._position : end]
        self._position += len(piece)
        return piece

    def write(self, data: bytes) -> int:
        self._check(self._mode in "wa", "written")
        old = self._fs.read(self._inode.number)
        if self._mode == "a":
            self._position = len(old)
        end = self._position + len(data)
        # Another file may have cut it off before our position.
        self._fs.write(self._inode.number, old[: self._position].ljust(self._position, b"\0") + data + old[end:])
        self._position = end
        return len(data)

    def close(self) -> None:
        if self._closed:
            return
        self._closed = True
        self._inode.mount.open_files -= 1
        iput(self._inode)
        dput(self._dentry)

    def _check(self, allowed: bool, what: str) -> None:
        if self._closed:
            raise ValueError("the file is closed")
        if not allowed:
            raise OSError(errno.EBADF, f"a file opened with mode {self._mode!r} cannot be {what}")

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


@dataclass(frozen=True)
class Stat:
    """What can be told about a path."""

    kind: Kind
    number: int
    size: int


# -- the virtual file system -------------------------------------------------------------------------------------------


class Vfs:
    """Paths, and what can be done with them. Errors are those of the operating system."""

    def __init__(self, fs: FileSystem, *, cache: int = 4096) -> None:
        self._limit = cache
        self._used: dict[Dentry, None] = {}  # what the cache keeps, least recently used first
        self._points: dict[Mount, Dentry] = {}  # what is mounted, and where
        self._root = Mount(fs).root()

    @property
    def cached(self) -> int:
        return len(self._used)

    # Mounting

    def mount(self, path: str, fs: FileSystem) -> Mount:
        point = self._directory(path)  # held until it is unmounted
        if point.parent is None:
            dput(point)
            raise failure(errno.EBUSY, path)
        mount = Mount(fs)
        point.covered_by = mount.root()
        self._points[mount] = point
        return mount

    def unmount(self, path: str) -> Left:
        """Ends the lives of all objects of a file system. What was still referred to has leaked."""
        root = self._directory(path)
        dput(root)
        mount = root.mount
        if root.parent is not None:
            raise failure(errno.EINVAL, path)
        if mount not in self._points or mount.open_files or any(each.covered_by for each in mount.dentries):
            raise failure(errno.EBUSY, path)
        for child in list(root.children.values()):
            self._detach(child)
        if root.inode is not None:
            iput(root.inode)
        dput(root)
        point = self._points.pop(mount)
        point.covered_by = None
        dput(point)
        left = Left(len(mount.dentries), len(mount.inodes))
        mount.dentries.clear()
        mount.inodes.clear()
        return left

    # Operations

    def mkdir(self, path: str) -> None:
        self._make(path, Kind.DIRECTORY)

    def create(self, path: str) -> None:
        self._make(path, Kind.FILE)

    def open(self, path: str, mode: str = "r") -> File:
        """Modes are `r`, `w` (made anew or cut off) and `a`."""
        if mode not in ("r", "w", "a"):
            raise ValueError(f"{mode!r} is not a mode")
        if mode != "r" and not self.exists(path):
            self.create(path)
        dentry, inode = self._found(path)
        try:
            if inode.kind is Kind.DIRECTORY:
                raise failure(errno.EISDIR, path)
            return File(dentry, inode, mode)
        finally:
            dput(dentry)

    def unlink(self, path: str) -> None:
        self._remove(path, Kind.FILE)

    def rmdir(self, path: str) -> None:
        self._remove(path, Kind.DIRECTORY)

    def rename(self, old: str, new: str) -> None:
        """What had the new name is gone then: a file makes way for a file, an empty directory for a directory."""
        old, new = clean(old), clean(new)
        before, name = self._parent(old)
        try:
            after, new_name = self._parent(new)
            try:
                source = self._lookup(before, name)
                try:
                    self._move(source, old, after, new_name, new)
                finally:
                    dput(source)
            finally:
                dput(after)
        finally:
            dput(before)

    def stat(self, path: str) -> Stat:
        dentry, inode = self._found(path)
        try:
            size = 0 if inode.kind is Kind.DIRECTORY else len(inode.mount.fs.read(inode.number))
            return Stat(inode.kind, inode.number, size)
        finally:
            dput(dentry)

    def exists(self, path: str) -> bool:
        try:
            dentry = self._lookup_path(path)
        except (FileNotFoundError, NotADirectoryError):
            return False
        try:
            return dentry.inode is not None
        finally:
            dput(dentry)

    def listdir(self, path: str) -> list[str]:
        dentry = self._directory(path)
        try:
            return self._names(dentry)
        finally:
            dput(dentry)

    def walk(self, top: str, *, unless: str | None = None) -> Iterator[tuple[str, list[str], list[str]]]:
        """Depth first: the path of a directory, its directories, its files. One with an entry `unless` is left out."""
        waiting = [clean(top)]
        while waiting:
            path = waiting.pop()
            here = self._directory(path)
            try:
                if unless is not None and self._has(here, unless):
                    continue
                directories: list[str] = []
                files: list[str] = []
                for name in self._names(here):
                    child = self._lookup(here, name)
                    is_directory = child.inode is not None and child.inode.kind is Kind.DIRECTORY
                    (directories if is_directory else files).append(name)
                    dput(child)
            finally:
                dput(here)
            yield path, directories, files
            waiting += [posixpath.join(path, name) for name in reversed(directories)]

    # From paths to dentries. What these return is the caller's to give back.

    def _lookup_path(self, path: str) -> Dentry:
        """The dentry of a path, which need not have an inode; the directory that it is in does exist."""
        here = dget(self._root)
        for name in clean(path).split("/")[1:]:
            if not name:  # of `/` itself
                break
            try:
                check_directory(here, path)
                child = self._lookup(here, name)
            finally:
                dput(here)
            here = child
        return here

    def _lookup(self, parent: Dentry, name: str) -> Dentry:
        directory = iget(directory_of(parent))
        dentry = parent.children.get(name)
        if dentry is not None:
            dget(dentry)
            self._used[dentry] = self._used.pop(dentry, None)  # to the end
        else:
            # Its first reference is the cache's.
            dentry = parent.children[name] = parent.mount.dentry(name, parent)
            dget(dentry)
            self._used[dentry] = None
            self._shrink()
        iput(directory)
        if dentry.covered_by is None:
            return dentry
        dput(dentry)
        return dget(dentry.covered_by)

    def _found(self, path: str) -> tuple[Dentry, Inode]:
        dentry = self._lookup_path(path)
        if dentry.inode is None:
            dput(dentry)
            raise failure(errno.ENOENT, path)
        return dentry, dentry.inode

    def _directory(self, path: str) -> Dentry:
        dentry = self._lookup_path(path)
        try:
            check_directory(dentry, path)
        except OSError:
            dput(dentry)
            raise
        return dentry

    def _parent(self, path: str) -> tuple[Dentry, str]:
        """The directory that a path is in, and its last name."""
        folder, name = posixpath.split(clean(path))
        if not name:
            raise failure(errno.EBUSY, path)
        return self._directory(folder), name

    # What the operations are made of

    def _make(self, path: str, kind: Kind) -> None:
        parent, name = self._parent(path)
        try:
            child = self._lookup(parent, name)
            try:
                if child.inode is not None:
                    raise failure(errno.EEXIST, path)
                mount = parent.mount
                child.inode = mount.inode(mount.fs.make(directory_of(parent).number, name, kind))
            finally:
                dput(child)
        finally:
            dput(parent)

    def _remove(self, path: str, kind: Kind) -> None:
        parent, name = self._parent(path)
        try:
            child = self._lookup(parent, name)
            try:
                self._check_removable(child, kind, path)
                self._delete(child)
            finally:
                dput(child)
        finally:
            dput(parent)

    def _move(self, source: Dentry, old: str, parent: Dentry, name: str, new: str) -> None:
        if source.inode is None:
            raise failure(errno.ENOENT, old)
        if source.parent is None:
            raise failure(errno.EBUSY, old)
        if source.mount is not parent.mount:
            raise failure(errno.EXDEV, new)
        if new.startswith(old + "/"):
            raise failure(errno.EINVAL, new)
        if old.startswith(new + "/"):
            raise failure(errno.ENOTEMPTY, new)
        target = self._lookup(parent, name)
        try:
            if target is source:
                return
            if target.inode is None:
                self._detach(target)
            else:
                self._check_removable(target, source.inode.kind, new)
                self._delete(target)
        finally:
            dput(target)
        before = source.parent
        source.mount.fs.move(directory_of(before).number, source.name, directory_of(parent).number, name)
        del before.children[source.name]
        source.name, source.parent = name, dget(parent)
        parent.children[name] = source
        dput(before)

    def _check_removable(self, dentry: Dentry, kind: Kind, path: str) -> None:
        if dentry.inode is None:
            raise failure(errno.ENOENT, path)
        if dentry.parent is None:
            raise failure(errno.EBUSY, path)
        if dentry.inode.kind is not kind:
            raise failure(errno.ENOTDIR if kind is Kind.DIRECTORY else errno.EISDIR, path)
        if kind is Kind.DIRECTORY and self._names(dentry):
            raise failure(errno.ENOTEMPTY, path)

    def _delete(self, dentry: Dentry) -> None:
        if dentry.parent is None or dentry.inode is None:
            raise AssertionError("only what is in a directory and exists can be deleted")
        dentry.mount.fs.remove(directory_of(dentry.parent).number, dentry.name)
        dentry.inode.links -= 1
        self._detach(dentry)

    def _has(self, directory: Dentry, name: str) -> bool:
        child = self._lookup(directory, name)
        found = child.inode is not None
        dput(child)
        return found

    def _names(self, directory: Dentry) -> list[str]:
        return directory.mount.fs.names(directory_of(directory).number)

    # The cache

    def _shrink(self) -> None:
        """Dentries that only the cache refers to go, the least recently used first."""
        for _ in range(min(8, len(self._used))):
            if len(self._used) <= self._limit:
                return
            oldest = next(iter(self._used))
            if oldest.rc == 1:
                self._detach(oldest)
            else:
                self._used[oldest] = self._used.pop(oldest)

    def _detach(self, dentry: Dentry) -> None:
        """Takes a dentry out of the cache, with all below it.

        It gives back at once what it refers to, even if it is still used itself: one that leaks keeps no other alive.
        """
        for child in list(dentry.children.values()):
            self._detach(child)
        parent, dentry.parent = dentry.parent, None
        inode, dentry.inode = dentry.inode, None
        del self._used[dentry]
        if inode is not None:
            iput(inode)
        if parent is not None:
            del parent.children[dentry.name]
            dput(parent)
        dput(dentry)


def clean(path: str) -> str:
    """The path from the root, without `.`, `..` and empty names."""
    return posixpath.normpath("/" + path.lstrip("/"))


def directory_of(dentry: Dentry) -> Inode:
    if dentry.inode is None:
        raise AssertionError(f"{dentry.name} has been looked at and is a directory")
    return dentry.inode


def check_directory(dentry: Dentry, path: str) -> None:
    if dentry.inode is None:
        raise failure(errno.ENOENT, path)
    if dentry.inode.kind is not Kind.DIRECTORY:
        raise failure(errno.ENOTDIR, path)


def failure(code: int, path: str) -> OSError:
    return OSError(code, os.strerror(code), path)
