"""The example file system does what a real one does, counts as a recount says, and errs as often as it was told to."""

from __future__ import annotations

import contextlib
import errno
import gc
import itertools
import os
import stat
import weakref
from collections import Counter
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from random import Random
from types import SimpleNamespace
from typing import Any

import pytest

GOOD = ("ramfs", "logfs")
FAULTY = ("leakyfs", "hastyfs", "greedyfs")


# -- what it does, beside two others -----------------------------------------------------------------------------------

Outcome = Any  # what an operation returns, or the number of its error


class Model:
    """Directories are dicts, files are bytearrays."""

    def __init__(self) -> None:
        self.top: dict[str, Any] = {}

    def get(self, names: list[str]) -> Any:
        here: Any = self.top
        for name in names:
            if not isinstance(here, dict):
                raise OSError(errno.ENOTDIR, "")
            if name not in here:
                raise OSError(errno.ENOENT, "")
            here = here[name]
        return here

    def parent(self, path: str) -> tuple[dict[str, Any], str]:
        *names, last = path.split("/")[1:]
        parent = self.get(names)
        if not isinstance(parent, dict):
            raise OSError(errno.ENOTDIR, "")
        return parent, last

    def add(self, path: str, thing: Any) -> None:
        parent, name = self.parent(path)
        if name in parent:
            raise OSError(errno.EEXIST, "")
        parent[name] = thing

    def mkdir(self, path: str) -> None:
        self.add(path, {})

    def create(self, path: str) -> None:
        self.add(path, bytearray())

    def open(self, path: str, mode: str) -> Any:
        parent, name = self.parent(path)
        if name not in parent:
            if mode == "r":
                raise OSError(errno.ENOENT, "")
            parent[name] = bytearray()
        if isinstance(parent[name], dict):
            raise OSError(errno.EISDIR, "")
        if mode == "w":
            parent[name].clear()
        return [parent[name], mode, 0]

    def read(self, handle: Any, size: int) -> bytes:
        data, mode, position = handle
        if mode != "r":
            raise OSError(errno.EBADF, "")
        piece = bytes(data[position : position + size])
        handle[2] += len(piece)
        return piece

    def write(self, handle: Any, piece: bytes) -> int:
        data, mode, position = handle
        if mode == "r":
            raise OSError(errno.EBADF, "")
        if mode == "a":
            position = len(data)
        data.extend(bytes(max(0, position - len(data))))
        data[position : position + len(piece)] = piece
        handle[2] = position + len(piece)
        return len(piece)

    def close(self, handle: Any) -> None:
        pass

    def unlink(self, path: str) -> None:
        self.remove(path, bytearray)

    def rmdir(self, path: str) -> None:
        self.remove(path, dict)

    def remove(self, path: str, kind: type) -> None:
        parent, name = self.parent(path)
        self.check_goes(self.get(path.split("/")[1:]), kind)
        del parent[name]

    def check_goes(self, thing: Any, kind: type) -> None:
        if not isinstance(thing, kind):
            raise OSError(errno.ENOTDIR if kind is dict else errno.EISDIR, "")
        if kind is dict and thing:
            raise OSError(errno.ENOTEMPTY, "")

    def rename(self, old: str, new: str) -> None:
        (before, name), (after, new_name) = self.parent(old), self.parent(new)
        if name not in before:
            raise OSError(errno.ENOENT, "")
        if new.startswith(old + "/"):
            raise OSError(errno.EINVAL, "")
        if old.startswith(new + "/"):
            raise OSError(errno.ENOTEMPTY, "")
        if old != new:
            if new_name in after:
                self.check_goes(after[new_name], type(before[name]))
            after[new_name] = before.pop(name)

    def listdir(self, path: str) -> list[str]:
        thing = self.get(path.split("/")[1:])
        if not isinstance(thing, dict):
            raise OSError(errno.ENOTDIR, "")
        return sorted(thing)

    def exists(self, path: str) -> bool:
        try:
            self.get(path.split("/")[1:])
        except OSError:
            return False
        return True

    def stat(self, path: str) -> tuple[str, int]:
        thing = self.get(path.split("/")[1:])
        return ("directory", 0) if isinstance(thing, dict) else ("file", len(thing))

    def walk(self) -> list[Any]:
        def visit(path: str, here: dict[str, Any]) -> Iterator[Any]:
            inner = sorted(name for name, thing in here.items() if isinstance(thing, dict))
            yield path, inner, sorted(set(here) - set(inner))
            for name in inner:
                yield from visit(f"{path}/{name}".replace("//", "/"), here[name])

        return sorted(visit("/", self.top))


class Real:
    """The file system of this machine."""

    FLAGS = {"r": os.O_RDONLY, "w": os.O_WRONLY | os.O_CREAT | os.O_TRUNC, "a": os.O_WRONLY | os.O_CREAT | os.O_APPEND}  # noqa: RUF012

    def __init__(self, top: Path) -> None:
        self.top = str(top)

    def at(self, path: str) -> str:
        return self.top + path

    def mkdir(self, path: str) -> None:
        os.mkdir(self.at(path))

    def create(self, path: str) -> None:
        os.close(os.open(self.at(path), os.O_CREAT | os.O_EXCL))

    def open(self, path: str, mode: str) -> int:
        handle = os.open(self.at(path), self.FLAGS[mode])
        if stat.S_ISDIR(os.fstat(handle).st_mode):  # to open a directory is allowed here
            os.close(handle)
            raise OSError(errno.EISDIR, "")
        return handle

    read = staticmethod(os.read)
    write = staticmethod(os.write)
    close = staticmethod(os.close)

    def unlink(self, path: str) -> None:
        os.unlink(self.at(path))

    def rmdir(self, path: str) -> None:
        os.rmdir(self.at(path))

    def rename(self, old: str, new: str) -> None:
        os.rename(self.at(old), self.at(new))

    def listdir(self, path: str) -> list[str]:
        return sorted(os.listdir(self.at(path)))

    def exists(self, path: str) -> bool:
        return os.path.exists(self.at(path))

    def stat(self, path: str) -> tuple[str, int]:
        found = os.stat(self.at(path))
        return ("directory", 0) if stat.S_ISDIR(found.st_mode) else ("file", found.st_size)

    def walk(self) -> list[Any]:
        return sorted((path[len(self.top) :] or "/", sorted(a), sorted(b)) for path, a, b in os.walk(self.top))


class Example:
    """The example, with the top at some folder of it."""

    def __init__(self, vfs: Any, top: str) -> None:
        self.vfs = vfs
        self.top = top
        self.files: set[Any] = set()

    def mkdir(self, path: str) -> None:
        self.vfs.mkdir(self.top + path)

    def create(self, path: str) -> None:
        self.vfs.create(self.top + path)

    def unlink(self, path: str) -> None:
        self.vfs.unlink(self.top + path)

    def rmdir(self, path: str) -> None:
        self.vfs.rmdir(self.top + path)

    def exists(self, path: str) -> bool:
        return bool(self.vfs.exists(self.top + path))

    def open(self, path: str, mode: str) -> Any:
        self.files.add(file := self.vfs.open(self.top + path, mode))
        return file

    def read(self, file: Any, size: int) -> Any:
        return file.read(size)

    def write(self, file: Any, data: bytes) -> Any:
        return file.write(data)

    def close(self, file: Any) -> None:
        self.files.remove(file)
        file.close()

    def rename(self, old: str, new: str) -> None:
        self.vfs.rename(self.top + old, self.top + new)

    def listdir(self, path: str) -> list[str]:
        return sorted(self.vfs.listdir(self.top + path))

    def stat(self, path: str) -> tuple[str, int]:
        found = self.vfs.stat(self.top + path)
        return found.kind.value, found.size

    def walk(self) -> list[Any]:
        return sorted(
            (path[len(self.top) :] or "/", sorted(a), sorted(b)) for path, a, b in self.vfs.walk(self.top or "/")
        )


def outcome(do: Callable[[], Outcome]) -> Outcome:
    try:
        return do()
    except OSError as error:
        return errno.errorcode[error.errno or 0]


def some_path(random: Random) -> str:
    return "".join(f"/{random.choice('abc')}" for _ in range(random.randint(1, 4)))


def use(random: Random, steps: int, systems: list[Any], check: Callable[[], None]) -> Counter[str]:
    """The same operations on all, with the same outcomes; how often each kind of outcome came up."""
    seen: Counter[str] = Counter()
    handles: list[list[Any]] = []
    for _ in range(steps):
        word = random.choice(
            "mkdir mkdir create open open unlink rmdir rmdir rename rename listdir exists stat".split()
        )
        if handles and random.random() < 0.3:
            word = random.choice(["read", "write", "write", "close"])
        arguments: list[Any]
        if word in ("read", "write", "close"):
            chosen = handles.pop(random.randrange(len(handles)))
            arguments = {"read": [random.randrange(6)], "write": [random.randbytes(random.randrange(5))]}.get(word, [])  # type: ignore[assignment]
            per_system = [[handle, *arguments] for handle in chosen]
            if word != "close":
                handles.append(chosen)
        else:
            count = 2 if word == "rename" else 1
            arguments = [some_path(random) for _ in range(count)] + [random.choice("rwa")] * (word == "open")
            per_system = [arguments] * len(systems)
        results = [
            outcome(partial(getattr(system, word), *given)) for system, given in zip(systems, per_system, strict=True)
        ]
        if word == "open" and not isinstance(results[0], str):
            handles.append(results)
            seen["opened"] += 1
        else:
            assert all(result == results[0] for result in results), (word, arguments, results)
            seen[results[0] if isinstance(results[0], str) else word] += 1
        check()
    walks = [system.walk() for system in systems]
    assert all(each == walks[0] for each in walks)
    for opened in handles:
        for system, handle in zip(systems, opened, strict=True):
            system.close(handle)
    check()
    return seen


def recount(side: Example, mounts: list[Any]) -> None:
    """Counts who refers to what, from what refers to it; it must be what the objects say."""
    vfs = side.vfs
    dentries: Counter[Any] = Counter(file._dentry for file in side.files)
    inodes: Counter[Any] = Counter(file._inode for file in side.files)
    dentries.update(list(vfs._used))
    dentries.update(vfs._points.values())
    dentries[vfs._root] += 1
    everything = [dentry for mount in mounts for dentry in mount.dentries]
    dentries.update(dentry.covered_by for dentry in everything if dentry.covered_by)
    dentries.update(dentry.parent for dentry in everything if dentry.parent)
    inodes.update(dentry.inode for dentry in everything if dentry.inode)
    assert {dentry: dentry.rc for dentry in everything} == dict(dentries)
    assert {inode: inode.rc for mount in mounts for inode in mount.inodes.values()} == dict(inodes)


OUTCOMES = set("mkdir create opened read write close unlink rmdir rename listdir stat exists".split())
ERRORS = {"ENOENT", "ENOTDIR", "EISDIR", "EEXIST", "ENOTEMPTY", "EINVAL", "EBADF"}


@pytest.mark.parametrize("cache", [1, 5, 4096])
@pytest.mark.parametrize("name", [*GOOD, *FAULTY])
def test_it_does_what_a_model_and_a_real_file_system_do(example: Any, tmp_path: Path, name: str, cache: int) -> None:
    seen: Counter[str] = Counter()
    for seed in range(4):
        vfs = example.vfs.Vfs(example.filesystems.RamFS(), cache=cache)
        vfs.mkdir("/mnt")
        mounts = [vfs._root.mount, vfs.mount("/mnt", example.filesystems.named(name, 0.0))]
        side = Example(vfs, "/mnt")
        (tmp_path / str(seed)).mkdir()
        systems = [Model(), Real(tmp_path / str(seed)), side]
        seen += use(Random(seed), 400, systems, partial(recount, side, mounts))
        assert vfs.unmount("/mnt") == (0, 0)
        assert vfs.listdir("/") == ["mnt"]
        assert not mounts[1].dentries and not mounts[1].inodes
    assert set(seen) == OUTCOMES | ERRORS


def test_what_is_in_use_cannot_be_unmounted_and_what_is_covered_not_removed(example: Any) -> None:
    vfs = example.vfs.Vfs(example.filesystems.RamFS())
    for path in ("/one", "/one/inner"):
        vfs.mkdir(path)
    vfs.create("/one/inner/hidden")
    vfs.mount("/one/inner", example.filesystems.LogFS())
    vfs.create("/one/inner/shown")
    assert vfs.listdir("/one/inner") == ["shown"]
    vfs.mkdir("/one/inner/deep")
    vfs.mount("/one/inner/deep", example.filesystems.RamFS())
    assert outcome(lambda: vfs.unmount("/one/inner")) == "EBUSY"
    assert outcome(lambda: vfs.unmount("/one")) == "EINVAL"
    assert outcome(lambda: vfs.unmount("/")) == "EBUSY"
    assert outcome(lambda: vfs.mount("/one/inner/deep", example.filesystems.RamFS())) == "EBUSY"
    assert outcome(lambda: vfs.rmdir("/one/inner")) == "EBUSY"
    assert outcome(lambda: vfs.rename("/one/inner", "/two")) == "EBUSY"
    assert outcome(lambda: vfs.rename("/one/inner/shown", "/shown")) == "EXDEV"
    assert vfs.unmount("/one/inner/deep") == (0, 0)
    with vfs.open("/one/inner/shown") as file:
        assert outcome(lambda: vfs.unmount("/one/inner")) == "EBUSY"
    with pytest.raises(ValueError, match="closed"):
        file.read()
    assert vfs.unmount("/one/inner") == (0, 0)
    assert vfs.listdir("/one/inner") == ["hidden"]


def test_the_cache_keeps_to_its_limit_but_for_what_is_in_use(example: Any) -> None:
    vfs = example.vfs.Vfs(example.filesystems.RamFS(), cache=10)
    vfs.mkdir("/d")
    with contextlib.ExitStack() as stack:
        for number in range(100):
            vfs.create(f"/d/{number}")
            assert not vfs.exists(f"/d/{number}.bak")
            assert vfs.cached <= 10
        for number in range(30):
            stack.enter_context(vfs.open(f"/d/{number}"))
        assert vfs.cached == 31
    for number in range(30):
        assert vfs.exists(f"/d/{number}")
    for number in range(50, 100):
        assert vfs.exists(f"/d/{number}")
    assert vfs.cached <= 10


def test_the_log_is_compacted_and_loses_nothing(example: Any) -> None:
    fs = example.filesystems.LogFS()
    vfs = example.vfs.Vfs(fs)
    longest = 0
    for number in range(3000):
        with vfs.open(f"/{number % 7}", "w") as file:
            file.write(str(number).encode() * 20)
        longest = max(longest, len(fs._log))
    assert longest < 2 * example.filesystems.SHORT
    for number in range(2993, 3000):
        with vfs.open(f"/{number % 7}") as file:
            assert file.read() == str(number).encode() * 20


# -- how it counts -----------------------------------------------------------------------------------------------------


class Lives:
    """What the counts of all objects of a class did, seen from outside."""

    def __init__(self, kind: type) -> None:
        self.counts: dict[int, list[int]] = {}
        self.dead: set[int] = set()
        number = iter(range(1 << 40))
        name = "_seen"

        def write(thing: Any, value: int) -> None:
            life = thing.__dict__.get(name)
            if life is None:
                life = thing.__dict__[name] = next(number)
                self.counts[life] = []
                weakref.finalize(thing, self.dead.add, life)
            self.counts[life].append(value)

        kind.rc = property(lambda thing: self.counts[thing.__dict__[name]][-1], write)  # type: ignore[attr-defined]

    def violating(self, rule: Callable[[list[int]], bool]) -> int:
        return sum(map(rule, self.counts.values()))

    @property
    def below_zero(self) -> int:
        return self.violating(lambda counts: min(counts) < 0)

    @property
    def leaps(self) -> int:
        return self.violating(lambda counts: any(abs(b - a) > 1 for a, b in itertools.pairwise(counts)))

    @property
    def unfinished(self) -> int:
        return self.violating(lambda counts: counts[-1] > 0)


@pytest.fixture
def lives(example: Any) -> Iterator[dict[str, Lives]]:
    gc.collect()
    gc.disable()  # objects must die by their references alone
    try:
        yield {kind: Lives(getattr(example.vfs, kind)) for kind in ("Dentry", "Inode")}
    finally:
        gc.enable()


def run(example: Any, name: str, work: str, rate: float, seed: int, cache: int = 4096) -> Any:
    fs = example.filesystems.named(name, rate, seed)
    vfs = example.vfs.Vfs(example.filesystems.RamFS(), cache=cache)
    vfs.mkdir("/mnt")
    mount = vfs.mount("/mnt", fs)
    if work == "build":
        example.workloads.prepare(vfs, "/mnt", files=6)
    for _ in range(3):
        if work == "build":
            assert example.workloads.build(vfs, "/mnt") == 6
        else:
            assert example.workloads.tree(vfs, "/mnt", depth=3, width=3) == 1 + 3 + 9 + 27
    return SimpleNamespace(vfs=vfs, fs=fs, mount=mount, left=vfs.unmount("/mnt"))


ROOT = {"Dentry": 2, "Inode": 2}  # of the root file system, which is never unmounted


@pytest.mark.parametrize("work", ["tree", "build"])
@pytest.mark.parametrize("cache", [4, 4096])
@pytest.mark.parametrize("name", GOOD)
def test_good_file_systems_bring_every_count_back_to_zero(
    example: Any, lives: dict[str, Lives], name: str, cache: int, work: str
) -> None:
    done = run(example, name, work, 0.0, 0, cache)
    assert done.left == (0, 0)
    for kind, made in (("Dentry", done.mount.dentries_made), ("Inode", done.mount.inodes_made)):
        seen = lives[kind]
        assert len(seen.counts) == made + ROOT[kind]
        assert (seen.below_zero, seen.leaps, seen.unfinished) == (0, 0, ROOT[kind])
        assert len(seen.dead) == made, "all have died, by their references alone"


@pytest.mark.parametrize("work", ["tree", "build"])
@pytest.mark.parametrize("cache", [4, 4096])
@pytest.mark.parametrize("rate", [0.0, 0.02, 0.3, 1.0])
@pytest.mark.parametrize("name", FAULTY)
def test_faulty_file_systems_break_as_many_lives_as_they_say_and_no_other(
    example: Any, lives: dict[str, Lives], name: str, rate: float, cache: int, work: str
) -> None:
    done = run(example, name, work, rate, 7, cache)
    for kind, made in (("Dentry", done.mount.dentries_made), ("Inode", done.mount.inodes_made)):
        seen, told = lives[kind], done.fs.faults[kind]
        assert len(seen.counts) == made + ROOT[kind]
        expected = [told if each == name else 0 for each in ("hastyfs", "greedyfs", "leakyfs")]
        assert [seen.below_zero, seen.leaps, seen.unfinished - ROOT[kind]] == expected
        assert len(seen.dead) == made, "unmounting ends all lives"
        assert abs(told - rate * made) <= 4.5 * (made * rate * (1 - rate)) ** 0.5
    leaked = (done.fs.faults["Dentry"], done.fs.faults["Inode"]) if name == "leakyfs" else (0, 0)
    assert done.left == leaked


def test_the_same_seed_makes_the_same_faults(example: Any) -> None:
    first, again, other = (run(example, "hastyfs", "tree", 0.1, seed).fs.faults for seed in (1, 1, 2))
    assert first == again != other


@pytest.mark.parametrize("words", [[], ["--workload", "build", "--files", "4"], ["--fs", "logfs", "--cache", "3"]])
def test_the_program_tells_what_is_left(example: Any, capsys: pytest.CaptureFixture[str], words: list[str]) -> None:
    example.main.main(["--runs", "1", "--depth", "2", *words])
    assert "busy after unmount: 0 dentries, 0 inodes" in capsys.readouterr().out


def test_the_program_tells_of_a_leak(example: Any, capsys: pytest.CaptureFixture[str]) -> None:
    example.main.main(["--runs", "1", "--depth", "2", "--fs", "leakyfs", "--fault-rate", "1"])
    out = capsys.readouterr().out.splitlines()
    assert out[1].removeprefix("lived: ") == out[2].removeprefix("bad blocks: ")
    assert out[3] == out[2].replace("bad blocks", "busy after unmount")


def test_a_build_folds_constants_and_puts_in_what_headers_say(example: Any) -> None:
    vfs = example.vfs.Vfs(example.filesystems.RamFS())
    vfs.mkdir("/top")
    example.workloads.prepare(vfs, "/top", files=2)
    text = example.workloads.load(vfs, "/top/src/m0.py")
    folded = example.workloads.translated(vfs, "/top", text)
    headers = "".join(
        example.workloads.load(vfs, example.workloads.search(vfs, "/top", f"h{number}.py")) for number in range(12)
    )
    plain: dict[str, Any] = {}
    short: dict[str, Any] = {}
    exec(headers + text, plain)
    exec(headers + folded, short)
    assert len(folded) < len(text)
    items = list(range(50))
    for number in range(6):
        assert plain[f"work_{number}"](items) == short[f"work_{number}"](items)
