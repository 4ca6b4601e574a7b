"""Where inputs come from: annotations, the user's generators, strategies and lists; and targets that are methods."""

from __future__ import annotations

import textwrap
from pathlib import Path
from typing import Any

import pytest

from explain import brute
from lawful.errors import LawfulError
from lawful.explain.teacher import Basis, Bounds
from lawful.explain.teachers.python.execution_source import PythonSource
from lawful.explain.teachers.python.options import ExplorationWay

PROGRAM = """
    import enum, functools
    from dataclasses import dataclass

    class Light(enum.Enum):
        RED, GREEN = 1, 2

    @dataclass
    class Car:
        speed: int = 0
        def stop(self, hard: bool) -> None:
            brake()
            assert self.speed < 1 or hard

        @classmethod
        def honk(cls, light: Light) -> None:
            brake()
            assert light is Light.RED

        @staticmethod
        def wash(times: int) -> None:
            brake()
            assert times < 1

    def brake(): pass

    def decorated(function):
        @functools.wraps(function)
        def inner(*a, **k):
            return function(*a, **k)
        return inner

    @decorated
    def main(n: int):
        brake()
        assert n < 1

    def two(a, b):
        brake()
        assert a < b

    def no_inputs():
        brake()
        assert False
"""

STRATEGY = """
    from hypothesis import strategies as st
    strategy = st.tuples(st.integers(0, 3), st.integers(0, 3))
"""

GENERATORS = """
    pairs = [(1, 2), (2, 1)]
    def up_to(bound):
        return [(bound, n) for n in range(bound + 2)]
    def plain():
        yield {"a": 5, "b": 4}
    nothing = 3
"""


@pytest.fixture(autouse=True)
def files(tmp_path: Path) -> None:
    (tmp_path / "prog.py").write_text(textwrap.dedent(PROGRAM))
    (tmp_path / "gen.py").write_text(textwrap.dedent(GENERATORS))
    (tmp_path / "drawn.py").write_text(textwrap.dedent(STRATEGY))


def examples(tmp_path: Path, function: str, bound: int = 1, **options: object) -> tuple[set[str], set[str], Basis]:
    """The inputs given as examples for failing and for passing words, and what that rests on."""
    with PythonSource(f"prog.py:{function}", folder=tmp_path, **options) as source:  # type: ignore[arg-type]
        found = list(source.executions(Bounds(bound, 9)))
        assert {source.alphabet.spelled(each.word) for each in found} <= {("brake",), ("brake", "error")}
        failed = {str(each.example) for each in found if each.failed}
        return failed, {str(each.example) for each in found if not each.failed}, source.report.basis


@pytest.mark.parametrize("way", ["exhaustive", "symbolic", "testing"])
def test_methods_and_functions(tmp_path: Path, way: ExplorationWay) -> None:
    complete = Basis.COMPLETE
    assert examples(tmp_path, "main", way=way) == ({"n=1"}, {"n=0"}, complete)
    assert examples(tmp_path, "Car.stop", way=way) == (
        {"self=Car(speed=1), hard=False"},
        {"self=Car(speed=0), hard=False"},
        complete,
    )
    assert examples(tmp_path, "Car.honk", way=way) == ({"light=Light.GREEN"}, {"light=Light.RED"}, complete)
    assert examples(tmp_path, "Car.wash", way=way) == ({"times=1"}, {"times=0"}, complete)
    assert examples(tmp_path, "no_inputs", way=way) == ({""}, set(), complete)


def test_own_inputs(tmp_path: Path) -> None:
    assert examples(tmp_path, "two", inputs="gen.py:pairs") == ({"(2, 1)"}, {"(1, 2)"}, Basis.COMPLETE)
    assert examples(tmp_path, "two", 3, inputs="gen.py:up_to") == ({"(3, 0)"}, {"(3, 4)"}, Basis.COMPLETE)
    assert examples(tmp_path, "two", inputs="gen.py:plain") == ({"{'a': 5, 'b': 4}"}, set(), Basis.COMPLETE)
    assert examples(tmp_path, "two", inputs="gen:pairs") == ({"(2, 1)"}, {"(1, 2)"}, Basis.COMPLETE)
    assert examples(tmp_path, "two", inputs=[(1, 2)]) == (set(), {"(1, 2)"}, Basis.COMPLETE)
    assert examples(tmp_path, "two", inputs=iter([(1, 2)])) == (set(), {"(1, 2)"}, Basis.COMPLETE)
    assert examples(tmp_path, "two", inputs=given_pairs) == ({"(2, 2)"}, {"(0, 2)"}, Basis.COMPLETE)


def given_pairs(bound: int) -> list[tuple[int, int]]:
    return [(n, 2) for n in range(bound + 2)]


def test_strategies_are_samples(tmp_path: Path) -> None:
    failed, passed, basis = examples(tmp_path, "two", inputs="drawn.py:strategy")
    assert len(failed) == len(passed) == 1 and basis is Basis.SAMPLED
    with PythonSource("prog.py:two", folder=tmp_path, inputs="drawn.py:strategy", samples=15) as source:
        assert len(brute.spelled(source, 1)) == 2
        assert source.counts.executions == 15 and source.way == "testing"


def test_a_scope_that_is_too_large_is_sampled(tmp_path: Path) -> None:
    with PythonSource("prog.py:main", folder=tmp_path, way="testing", samples=10) as source:
        assert brute.spelled(source, 1000) == {(("brake",), False), (("brake", "error"), True)}
        assert source.report.basis is Basis.SAMPLED
        assert source.counts.executions <= 10
    with PythonSource("prog.py:main", folder=tmp_path) as source:
        brute.spelled(source, 100_000)
        assert source.way == "symbolic" and source.report.basis is Basis.COMPLETE


def test_the_function_itself_is_a_target() -> None:
    module = brute.load(brute.EXAMPLES / "bubble_sort.py")
    with PythonSource(module.main) as source:
        assert len(brute.failing(brute.spelled(source, 2))) == 2


@pytest.mark.parametrize(
    ("options", "slug"),
    [
        ({"inputs": "gen.py:missing"}, "explain-inputs"),
        ({"inputs": "missing.py:x"}, "explain-inputs"),
        ({"inputs": "no name"}, "explain-inputs"),
        ({"inputs": "gen.py:nothing"}, "explain-inputs"),
        ({"inputs": lambda: [1]}, "explain-inputs"),
        ({}, "explain-inputs"),
        ({"way": "guess"}, "explain-way"),
    ],
)
def test_inputs_that_cannot_be_had(tmp_path: Path, options: dict[str, Any], slug: str) -> None:
    with pytest.raises(LawfulError) as caught:
        examples(tmp_path, "two", **options)
    assert caught.value.slug == slug
