"""Symbolic numbers do what numbers do; where they cannot, it is said."""

from __future__ import annotations

import operator
import random
import textwrap
from collections.abc import Callable
from itertools import product
from pathlib import Path
from typing import Any

import pytest

from explain import brute
from lawful.errors import LawfulError
from lawful.explain.teacher import Basis, Bounds, Limits
from lawful.explain.teachers.python.execution_source import PythonSource

pytest.importorskip("z3")

from lawful.explain.teachers.python.symbolic_paths import OutOfBounds, SymbolicPaths


def explore(program: Callable[..., Any], leaves: str, bound: int = 3, *, small: bool = True) -> dict[Any, Any]:
    """What the program returns or raises on all paths, by input. `leaves`: i for a number, b for a truth value."""
    paths = SymbolicPaths(bound, small=small, deepest=200, beat=lambda: None)
    small_values = [*range(-bound, bound + 1)]
    found: dict[Any, Any] = {}

    def built(source: Any) -> list[Any]:
        return [source.integer(small_values) if kind == "i" else source.boolean() for kind in leaves]

    going = True
    while going:
        paths.start()
        try:
            result: Any = program(*built(paths))
            if type(result).__name__.startswith("Symbolic"):
                result = paths.value(+result.term) if result.__class__ is int else bool(result)  # type: ignore[attr-defined]
        except OutOfBounds:
            pass
        except Exception as error:
            found[tuple(built(paths.solution()))] = type(error)
        else:
            found[tuple(built(paths.solution()))] = result
        going = paths.next()
    assert not paths.notes.unsupported and not paths.notes.unknown
    return found


BINARY = [
    operator.add,
    operator.sub,
    operator.mul,
    operator.floordiv,
    operator.mod,
    operator.lt,
    operator.le,
    operator.gt,
    operator.ge,
    operator.eq,
    operator.ne,
    divmod,
]


@pytest.mark.parametrize("operation", BINARY, ids=lambda each: each.__name__)
def test_operators_do_what_they_do_with_numbers(operation: Callable[[Any, Any], Any]) -> None:
    def symbolic(a: Any, b: Any) -> Any:
        made = operation(a, b)
        return tuple(map(int, made)) if isinstance(made, tuple) else made

    def real(a: Any, b: Any) -> Any:
        try:
            return operation(a, b)
        except ZeroDivisionError as error:
            return type(error)

    values = range(-3, 4)
    for constant in (*values, True):
        for order in (1, -1):
            paths = [
                explore(lambda a, c=constant, o=order: symbolic(*(a, c)[::o]), "i", 9, small=True),
                explore(lambda a, c=constant, o=order: symbolic(*(a, c)[::o]), "b", 9, small=True),
            ]
            for found in paths:
                assert found
                for (value,), result in found.items():
                    assert result == real(*(value, constant)[::order])
    found = explore(symbolic, "ii", 2)
    for (one, other), result in found.items():
        assert result == real(one, other)


@pytest.mark.parametrize(
    "operation",
    [
        abs,
        operator.neg,
        operator.pos,
        operator.invert,
        round,
        bool,
        int,
        hash,
        lambda x: x**2,
        lambda x: x << 2,
        lambda x: x >> 1,
        lambda x: x & 3,
        lambda x: 1 & x,
        lambda x: range(5)[x],
        lambda x: [0] * x,
        lambda x: x * "ab",
        lambda x: {1: 2}.get(x),
        lambda x: x in (1, 2),
        lambda x: isinstance(x, int),
        lambda x: sorted([x, 0, 1]) == [0, x, 1],
        lambda x: max(x, 1) - min(x, -1),
        lambda x: x if x else "zero",
        lambda x: sum([x, x]),
        lambda x: x is None or x == None,  # noqa: E711
        lambda x: x == "text",
        lambda x: 10 // x,
        lambda x: x < "a",
        lambda x: x.nothing,
    ],
)
def test_functions_of_one_number(operation: Callable[[Any], Any]) -> None:
    def real(x: int) -> Any:
        try:
            return operation(x)
        except Exception as error:
            return type(error)

    found = explore(operation, "i", 3)
    assert found
    for (value,), result in found.items():
        if isinstance(result, list):
            result = [int(each) for each in result]
        assert result == real(value)


def test_truth_values_are_numbers_too() -> None:
    def all_of_it(a: Any, b: Any) -> list[Any]:
        logical = [a & b, a | b, a ^ b, not a, a == b, a != b, True & a, a | False, a ^ True, a < b]
        return [*map(bool, logical), int(a + b), int(a * 3), int(a & 3), [10, 20][a], isinstance(a, bool)]

    found = explore(all_of_it, "bb")
    assert set(found) == set(product((False, True), repeat=2))
    for given, result in found.items():
        assert result == all_of_it(*given)


def test_random_programs_have_the_paths_of_their_inputs() -> None:
    chance = random.Random(3)

    def expression(depth: int) -> str:
        if depth == 0 or chance.random() < 0.2:
            return chance.choice(["a", "b", str(chance.randrange(-3, 4))])
        kind = chance.choice(["+", "-", "*", "//", "%", "if", "abs"])
        if kind == "if":
            test = f"{expression(depth - 1)} {chance.choice(['<', '<=', '==', '!='])} {expression(depth - 1)}"
            return f"({expression(depth - 1)} if {test} else {expression(depth - 1)})"
        if kind == "abs":
            return f"abs({expression(depth - 1)})"
        if kind in ("//", "%"):
            return f"({expression(depth - 1)} {kind} {chance.choice([2, 3, -2])})"
        return f"({expression(depth - 1)} {kind} {expression(depth - 1)})"

    for _ in range(25):
        text = expression(3)
        program = eval(f"lambda a, b: 'low' if {text} < 0 else 'zero' if {text} == 0 else 'high'")
        found = explore(program, "ii", 2)
        for given, result in found.items():
            assert result == program(*given), text
        # Each outcome that a small input has is there.
        assert {program(*each) for each in product(range(-2, 3), repeat=2)} <= set(found.values()), text


Program = Callable[..., PythonSource]


@pytest.fixture
def program(tmp_path: Path) -> Program:
    def made(text: str, **options: object) -> PythonSource:
        file = tmp_path / "prog.py"
        file.write_text(textwrap.dedent(text))
        return PythonSource(f"{file}:main", way="symbolic", **options)  # type: ignore[arg-type]

    return made


def test_numbers_far_from_the_small_ones_are_found(program: Program) -> None:
    text = "def step(): pass\ndef main(n: int, xs: list[int]):\n    step()\n    assert n != 4711 or sum(xs) != -n\n"
    with program(text) as source:
        [failed] = [each for each in source.executions(Bounds(1, 5)) if each.failed]
        assert failed.example == "n=4711, xs=[-4711]"
        assert source.report.basis is Basis.COMPLETE
        assert source.counts.solver_calls > 0


def test_paths_without_an_end_keep_numbers_small(program: Program) -> None:
    text = """
        def even(): pass
        def main(n: int):
            i = 0
            while i < n:
                i += 1
            if n % 2 == 0:
                even()
            assert n < 3
    """
    with program(text) as source:
        found = brute.spelled(source, 3)
        assert found == {(("even",), False), ((), False), (("error",), True), (("even", "error"), True)}
        assert source.report.basis is Basis.COMPLETE
        assert source.report.warnings == []


def test_what_has_no_symbolic_form_is_named(program: Program) -> None:
    with program(
        "def step(): pass\ndef main(n: int):\n    if n / 2 > 0.5 and (n | 1) == 3:\n        step()\n"
    ) as source:
        brute.spelled(source, 2)
        assert source.report.basis is Basis.SAMPLED
        assert any("no symbolic form of" in each and "truediv" in each for each in source.report.warnings)


def test_what_cannot_be_followed_is_tried_on_samples(program: Program) -> None:
    """An operation without a symbolic form takes one value for all others; samples show what the others do."""
    text = """
        def low(): pass
        def high(): pass
        def main(n: int):
            low() if n / 2 < 0.5 else high()
            assert n | 1 != 3
    """
    with program(text) as source:
        assert brute.spelled(source, 3) == {
            (("low",), False),
            (("high",), False),
            (("high", "error"), True),
        }
        assert any("7 inputs were run beside that" in each for each in source.report.warnings)
        assert source.report.basis is Basis.SAMPLED


def test_numbers_that_small_ones_make_are_not_small(program: Program) -> None:
    """Where Python needs a definite number, it is also one that the bound itself is not as large as."""
    text = "def step(): pass\ndef main(n: int):\n    step()\n    {0: 0, 1: 1}[n * n]\n"
    with program(text) as source:
        assert brute.spelled(source, 2) == {(("step",), False), (("step", "error"), True)}
        assert source.report.basis is Basis.COMPLETE


def test_texts_of_symbolic_numbers_matter_only_if_something_follows(program: Program) -> None:
    with program("def step(): pass\ndef main(n: int):\n    step()\n    assert n < 2, f'{n} is large'\n") as source:
        assert len(brute.spelled(source, 2)) == 2
        assert source.report.basis is Basis.COMPLETE
    with program("def step(): pass\ndef main(n: int):\n    if str(n) == '2':\n        step()\n") as source:
        brute.spelled(source, 2)
        assert source.report.basis is Basis.SAMPLED
    with program("def step(): pass\ndef main(n: int):\n    print(n)\n    step()\n    assert n < 2\n") as source:
        brute.spelled(source, 2)
        assert source.report.basis is Basis.SAMPLED
        assert any("texts were made of symbolic values" in each for each in source.report.warnings)


def test_a_program_that_looks_behind_symbolic_numbers_is_found_out(program: Program) -> None:
    text = "def step(): pass\ndef main(n: int):\n    if type(n) is not int:\n        step()\n"
    with program(text) as source:
        assert brute.spelled(source, 2) == {((), False)}
        assert any("symbolic and real numbers behave differently, e.g. for n=0" in e for e in source.report.warnings)
        assert source.report.basis is Basis.SAMPLED


def test_a_program_that_is_not_deterministic(program: Program) -> None:
    text = """
        import itertools
        count = itertools.count()
        def step(): pass
        def main(n: int, m: int):
            if (n > 0 if next(count) % 2 else m > 1):
                step()
            if n > m:
                step()
    """
    with program(text) as source:
        brute.spelled(source, 1)
        assert source.report.basis is Basis.SAMPLED
        assert source.report.warnings


def test_paths_that_take_too_long(program: Program) -> None:
    text = "def step(): pass\ndef main(n: int):\n    step()\n    if n > 5:\n        while True: pass\n"
    with program(text) as source:
        found = brute.spelled(source, 2, limits=Limits(seconds_per_execution=0.3))
        assert found == {(("step",), False)}


def test_own_inputs_have_no_paths(program: Program) -> None:
    with pytest.raises(LawfulError) as caught, program("def main(n): pass\n", inputs=[1]) as source:
        brute.spelled(source, 1)
    assert caught.value.slug == "explain-way"
