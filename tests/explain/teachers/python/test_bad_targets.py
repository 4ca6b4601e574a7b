"""Wrong or unusual targets and inputs: each works, or the error says what is wrong, where, and what would help."""

from __future__ import annotations

import textwrap
from pathlib import Path

import pytest

from explain import brute
from lawful.errors import LawfulError
from lawful.explain.teacher import Basis, Bounds
from lawful.explain.teachers.python.execution_source import PythonSource
from lawful.explain.teachers.python.options import ExplorationWay

TEXT = """
    import asyncio
    from dataclasses import dataclass
    from typing import Any, Callable, Protocol

    def step(): pass

    class Stack:
        limit = 3
        def __init__(self, size: int): self.size = size
        def push(self, n: int):
            step()
            assert n != self.size
        @classmethod
        def make(cls, n: int):
            step()
            assert n
        @staticmethod
        def plain(n: int):
            step()
            assert n
        @property
        def full(self): return False
        async def later(self, n: int):
            await asyncio.sleep(0)
            step()
            assert n

    async def waited(n: int):
        await asyncio.sleep(0)
        step()
        assert n

    def generated(n: int):
        step()
        yield 1
        assert n

    async def streamed(n: int):
        step()
        yield 1
        assert n

    def outer():
        def inner(): pass

    class Runs(Protocol):
        def run(self): ...

    @dataclass
    class Ordered:
        low: int
        high: int
        def __post_init__(self):
            step()
            if self.low > self.high:
                raise ValueError("the other way round")

    class Closed:
        def __init__(self): raise RuntimeError("closed")

    def ordered(pair: Ordered):
        step()
        assert pair.low <= pair.high
        assert pair.low != pair.high

    def closed(it: Closed): pass
    def called(it: Callable[[int], int]): pass
    def anything(it: Any): pass
    def protocol(it: Runs): pass
    def unknown(it: "Nowhere"): pass
    def silent(it): pass
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "prog.py").write_text(textwrap.dedent(TEXT))
    return tmp_path


@pytest.mark.parametrize(
    "name", ["Stack.push", "Stack.make", "Stack.plain", "Stack.later", "waited", "generated", "streamed"]
)
def test_functions_of_all_kinds(folder: Path, name: str) -> None:
    with PythonSource(f"prog.py:{name}", folder=folder) as source:
        assert brute.spelled(source, 1) == {(("step",), False), (("step", "error"), True)}
        assert source.report.basis is Basis.COMPLETE


@pytest.mark.parametrize(
    ("name", "slug", "message", "hint"),
    [
        ("stpe", "explain-target", "stpe does not exist", "did you mean step?"),
        ("stack.push", "explain-target", "stack.push does not exist", "did you mean Stack?"),
        ("Stack.pusj", "explain-target", "Stack.pusj does not exist", "did you mean push?"),
        ("Stack.full", "explain-target", "Stack.full is not a function", "there are push"),
        ("Stack.limit", "explain-target", "Stack.limit is not a function", "there are push"),
        ("outer.inner", "explain-target", "outer.inner does not exist", "inner functions anew"),
        ("closed", "explain-inputs", "no input can be made: RuntimeError: closed", "--inputs"),
        ("called", "explain-inputs", "it: Lawful does not know small values of Callable", "--inputs"),
        ("anything", "explain-inputs", "it: Lawful does not know small values of Any", "--inputs"),
        ("protocol", "explain-inputs", "it: Lawful does not know small values of Runs", "--inputs"),
        ("unknown", "explain-inputs", "name 'Nowhere' is not defined", "--inputs"),
        ("silent", "explain-inputs", "nothing says what 'it' can be", "annotate it"),
    ],
)
def test_what_is_wrong_is_said(folder: Path, name: str, slug: str, message: str, hint: str) -> None:
    with pytest.raises(LawfulError) as caught, PythonSource(f"prog.py:{name}", folder=folder) as source:
        list(source.executions(Bounds(1, 9)))
    assert caught.value.slug == slug and message in caught.value.message
    assert caught.value.where is not None and caught.value.where.endswith(f"prog.py:{name}")
    assert caught.value.hint is not None and hint in caught.value.hint


@pytest.mark.parametrize("way", ["exhaustive", "symbolic", "testing"])
def test_what_a_class_refuses_is_no_input(folder: Path, way: ExplorationWay) -> None:
    """Nor are the events of its making those of the function."""
    if way == "symbolic":
        pytest.importorskip("z3")
    with PythonSource("prog.py:ordered", folder=folder, way=way) as source:
        assert brute.spelled(source, 1) == {(("step",), False), (("step", "error"), True)}
        assert source.report.basis is Basis.COMPLETE
        [said] = source.report.warnings
        assert said.endswith(" could not be made: ValueError: the other way round")
