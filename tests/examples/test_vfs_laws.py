"""The laws of the example file system hold for exactly the lives in which nothing went wrong."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import pytest

import lawful

FOLDER = Path(__file__).resolve().parents[2] / "examples" / "vfs"
BROKEN_BY = {"hastyfs": "the count is never negative", "greedyfs": "the count moves by one"}
FORGOTTEN = "no reference is forgotten"
SAID = {"vfs.Dentry": "dentries", "vfs.Inode": "inodes"}


class Life(list[dict[str, Any]]):
    """The trace of one object."""

    def __init__(self, number: int) -> None:
        self.number = number


class Traced:
    """The lives of all objects as traces, told by the objects themselves."""

    def __init__(self, kinds: list[type]) -> None:
        self.lives: list[Life] = []
        self._time = 0.0
        for kind in kinds:
            self._tell(kind)

    def _tell(self, kind: Any) -> None:
        name = f"vfs.{kind.__name__}"

        def event(life: Life, **fields: Any) -> None:
            self._time += 1e-6
            life.append({"class": name, "targetId": life.number, "time": self._time, **fields})

        def write(thing: Any, value: int) -> None:
            life = thing.__dict__.get("_life")
            born = life is None
            if life is None:
                life = thing.__dict__["_life"] = Life(len(self.lives) + 1)
                self.lives.append(life)
            thing.__dict__["_rc"] = value
            event(life, event="field_write", name=f"{name}.rc", res=value)
            if born:
                event(life, event="new", name=name)

        kind.rc = property(lambda thing: thing.__dict__["_rc"], write)
        kind.__del__ = lambda thing: event(thing.__dict__["_life"], event="gone", name=name)


def broken(example: Any, fs: Any) -> Counter[tuple[str, str]]:
    """By class and law, the lives that break the law. The traces end when the file system is unmounted."""
    traced = Traced([example.vfs.Dentry, example.vfs.Inode])
    vfs = example.vfs.Vfs(example.filesystems.RamFS())
    vfs.mkdir("/mnt")
    vfs.mount("/mnt", fs)
    for _ in range(2):
        example.workloads.tree(vfs, "/mnt", depth=2, width=3)
    vfs.unmount("/mnt")
    seen: Counter[tuple[str, str]] = Counter()
    for law in lawful.load_law(FOLDER / "refcounts.toml").parts:
        for life in traced.lives:
            if not law.check(life).accepted:
                subject, _, rule = law.name.rpartition(": ")
                assert subject.endswith(SAID[life[0]["class"]])
                seen[life[0]["class"], rule] += 1
    return seen


@pytest.mark.parametrize("name", ["ramfs", "logfs"])
def test_good_file_systems_keep_all_laws(example: Any, name: str) -> None:
    assert broken(example, example.filesystems.named(name)) == {}


@pytest.mark.parametrize("rate", [0.0, 0.1, 1.0])
@pytest.mark.parametrize("name", ["leakyfs", "hastyfs", "greedyfs"])
def test_each_faulty_life_breaks_the_law_about_its_fault_and_no_other(example: Any, name: str, rate: float) -> None:
    fs = example.filesystems.named(name, rate, 3)
    rule = BROKEN_BY.get(name, FORGOTTEN)
    seen = broken(example, fs)
    told = {("vfs." + kind, rule): count for kind, count in fs.faults.items()}
    assert seen == told
    assert bool(told) == (rate > 0)
