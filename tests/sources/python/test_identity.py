"""Ids of objects: one each, never used twice, and let go in time."""

from __future__ import annotations

import io
import sys
import threading
import weakref
from typing import Any

import pytest

from lawful.sources.python import names
from lawful.sources.python.identity import CHILD_STRIDE, Identity, IdentityCache


class Plain:
    pass


class Slotted:
    __slots__ = ("x",)


class Loud(type):
    def __hash__(cls) -> int:
        raise AssertionError("asked")

    def __eq__(cls, other: object) -> bool:
        raise AssertionError("asked")

    def __getattribute__(cls, name: str) -> Any:
        raise AssertionError(f"asked for {name}")


class Gone(list[tuple[int, type]]):
    def __call__(self, number: int, kind: type) -> None:
        self.append((number, kind))


@pytest.mark.parametrize("make", [Plain, Slotted, list, dict, object, io.StringIO, threading.Lock, lambda: (1, [])])
def test_the_same_object_has_the_same_id(make: Any) -> None:
    identity = Identity()
    one, two = make(), make()
    assert identity.known(one) is None
    first, second = identity.of(one), identity.of(two)
    assert (first, second) == (1, 2)
    assert identity.of(one) == identity.known(one) == 1
    assert len(identity) == 2


@pytest.mark.parametrize("make", [Plain, Slotted, list, io.StringIO])
def test_ids_are_not_reused_and_memory_is_bounded(make: Any) -> None:
    gone = Gone()
    identity = Identity(gone)
    numbers = [identity.of(make()) for _ in range(20_000)]
    assert numbers == list(range(1, 20_001))
    assert len(identity) < 200
    identity.sweep()
    assert len(identity) == 0
    assert sorted(number for number, _ in gone) == numbers
    assert len({kind for _, kind in gone}) == 1


def test_what_others_hold_stays() -> None:
    gone = Gone()
    identity = Identity(gone)
    kept = [[i] for i in range(1000)]
    numbers = [identity.of(each) for each in kept]
    for _ in range(5000):
        identity.of([])
    identity.sweep()
    assert [identity.known(each) for each in kept] == numbers
    assert identity.held == 1000
    del kept[500:]
    identity.sweep()
    assert identity.held == 500
    assert {number for number, _ in gone} >= set(numbers[500:])


def test_sweeps_are_rare() -> None:
    """The work is in proportion to the number of objects: a sweep comes when twice as many are held."""
    identity = Identity()
    sweeps = 0
    sweep = identity.sweep

    def counted() -> None:
        nonlocal sweeps
        sweeps += 1
        sweep()

    identity.sweep = counted  # type: ignore[method-assign]
    kept = [[i] for i in range(100_000)]
    for each in kept:
        identity.of(each)
    assert sweeps <= 12


def test_cycles_of_held_objects_are_let_go() -> None:
    gone = Gone()
    identity = Identity(gone)
    alive: list[Any] = [[]]
    alive[0].append(alive[0])
    number = identity.of(alive[0])
    for _ in range(20_000):
        one: list[Any] = []
        two: dict[str, Any] = {"one": one}
        one.append(two)
        identity.of(one)
    del one, two
    assert identity.held < 5_000
    assert identity.known(alive[0]) == number
    assert number not in {each for each, _ in gone}


def test_cycles_held_from_outside_stay() -> None:
    gone = Gone()
    identity = Identity(gone)

    class Node:
        __slots__ = ("children", "parent")

    def node(parent: Any) -> Any:
        made: Any = Node()
        made.parent, made.children = parent, []
        if parent is not None:
            parent.children.append(made)
        identity.of(made)
        return made

    root = node(None)
    for _ in range(3000):
        node(root)
    identity.sweep()
    assert not gone
    assert identity.held == 3001
    del root
    # Cycles are looked for when twice as many are held.
    kept: list[list[int]] = [[] for _ in range(8000)]
    for each in kept:
        identity.of(each)
    assert len([kind for _, kind in gone if kind is Node]) == 3001
    assert identity.held == 8000


def test_exceptions_are_not_held() -> None:
    identity = Identity()
    plain = Plain()
    watch = weakref.ref(plain)

    def fail(value: Plain) -> None:
        raise ValueError

    try:
        fail(plain)
    except ValueError as error:
        first, second = identity.of(error), identity.of(error)
    assert first != second
    del plain
    assert watch() is None
    assert len(identity) == 0


def test_exceptions_of_classes_made_in_python_have_one_id() -> None:
    class Own(Exception):
        pass

    identity = Identity()
    error = Own()
    assert identity.of(error) == identity.of(error)


def test_no_class_is_asked() -> None:
    quiet: Any = Loud("Quiet", (), {"__slots__": ()})
    other: Any = Loud("Other", (), {})
    identity = Identity(Gone())
    values = [object.__new__(quiet), object.__new__(other), quiet]
    assert [identity.of(value) for value in values] == [1, 2, 3]
    assert [identity.of(value) for value in values] == [1, 2, 3]
    del values
    identity.sweep()
    assert names.inherits(quiet, object)
    assert names.mro(quiet)[0] is quiet


def test_threads_agree() -> None:
    identity = Identity()
    shared: list[Any] = [Plain() if i % 2 else [i] for i in range(2000)]
    found: list[list[int]] = []

    def work() -> None:
        found.append([identity.of(each) for each in shared])

    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        threads = [threading.Thread(target=work) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    finally:
        sys.setswitchinterval(interval)
    assert all(each == found[0] for each in found)
    assert sorted(found[0]) == list(range(1, 2001))


def test_forget_and_children() -> None:
    identity = Identity()
    one = Plain()
    assert identity.of(one) == 1
    identity.forget()
    assert len(identity) == 0
    assert identity.of(one) == 2
    identity.in_child(5)
    assert identity.of(one) == 2
    assert identity.of([]) == 5 * CHILD_STRIDE


def test_remembered_answers_last_as_long_as_their_objects() -> None:
    answers: IdentityCache[str] = IdentityCache()
    one, kind = Plain(), Plain
    asked: list[str] = []

    def ask(answer: str) -> str:
        asked.append(answer)
        return answer

    assert answers.find(lambda: ask("yes"), one, kind) == "yes"
    assert answers.find(lambda: ask("descriptor"), list.append, list) == "descriptor"
    assert answers.find(lambda: ask("again"), one, kind) == "yes"
    assert answers.find(lambda: ask("again"), list.append, list) == "descriptor"
    assert answers.find(lambda: ask("alone"), one) == "alone"
    assert answers.find(lambda: ask("named"), one, kind, name="other") == "named"
    assert asked == ["yes", "descriptor", "alone", "named"]
    del one
    assert len(answers._answers) == 1
    assert answers.find(lambda: ask("kept by nobody"), [1]) == "kept by nobody"
    assert len(answers._answers) == 1
