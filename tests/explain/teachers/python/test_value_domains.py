"""Small values of types: as many as there should be, all different, and buildable leaf by leaf."""

from __future__ import annotations

import enum
import inspect
import random
import typing
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import combinations, product
from typing import Any, Literal, NamedTuple, TypeVar, Union

import pytest

from lawful.errors import LawfulError
from lawful.explain.teachers.python.inputs import GivenInputs, InputScope
from lawful.explain.teachers.python.value_domains import arguments, domain_of, parameters

Number = TypeVar("Number", int, bool)


class Colour(enum.Enum):
    RED = 1
    BLUE = 2


@dataclass
class Point:
    x: int
    tags: list[bool] = field(default_factory=list)


@dataclass
class Link:
    value: bool
    next: Link | None = None


class Pair(NamedTuple):
    left: bool
    right: Colour


class Plain:
    def __init__(self, on: bool, name: Literal["a", "b"] = "a") -> None:
        self.on, self.name = on, name


def every(annotation: Any, bound: int) -> list[Any]:
    domain = domain_of(annotation, bound, "x")
    return [domain.at(number) for number in range(domain.count)]


def sequences(values: Iterable[Any], longest: int) -> list[tuple[Any, ...]]:
    pool = list(values)
    return [each for length in range(longest + 1) for each in product(pool, repeat=length)]


def listed(values: Iterable[Any]) -> list[list[Any]]:
    return [list(each) for each in values]


@pytest.mark.parametrize("bound", [1, 2, 3])
def test_values_are_those_one_would_write_down(bound: int) -> None:
    small = range(bound)
    expected: list[tuple[Any, list[Any]]] = [
        (int, list(range(-bound, bound + 1))),
        (bool, [False, True]),
        (float, [half / 2 for half in range(-2 * bound, 2 * bound + 1)]),
        (None, [None]),
        (int | None, [None, *range(-bound, bound + 1)]),
        (Union[bool, None], [False, True, None]),  # noqa: UP007
        (Literal[7, "x"], [7, "x"]),
        (Colour, [Colour.RED, Colour.BLUE]),
        (str, ["".join(each) for each in sequences("abc", bound)]),
        (bytes, ["".join(each).encode() for each in sequences("abc", bound)]),
        (list[int], listed(sequences(small, bound))),
        (list, listed(sequences(small, bound))),
        (Sequence[bool], listed(sequences([False, True], bound))),
        (tuple[int, ...], sequences(small, bound)),
        (tuple[bool, Colour], list(product([False, True], Colour))),
        (tuple[()], [()]),
        (set[int], [set(c) for k in range(bound + 1) for c in combinations(small, k)]),
        (frozenset[bool], [frozenset(c) for k in range(min(bound, 2) + 1) for c in combinations([False, True], k)]),
        (
            dict[bool, int],
            [
                dict(zip(keys, values, strict=True))
                for size in range(min(bound, 2) + 1)
                for keys in combinations([False, True], size)
                for values in product(small, repeat=size)
            ],
        ),
        (Mapping[int, None], [dict.fromkeys(c) for k in range(bound + 1) for c in combinations(small, k)]),
        (Point, [Point(x, list(t)) for x in range(-bound, bound + 1) for t in sequences([False, True], bound)]),
        (Pair, [Pair(left, right) for left in (False, True) for right in Colour]),
        (typing.Annotated[bool, "note"], [False, True]),
        (Number, [*range(-bound, bound + 1), False, True]),
    ]
    for annotation, values in expected:
        found = every(annotation, bound)
        assert len(found) == len(values), annotation
        assert all(each in found for each in values), annotation
        assert all(type(each) in {type(value) for value in values} for each in found)


def test_shorter_values_come_first() -> None:
    assert [len(each) for each in every(list[int], 3)] == sorted(len(each) for each in every(list[int], 3))
    assert every(int, 2) == [0, 1, -1, 2, -2]


def test_objects_that_hold_objects_of_their_class_end() -> None:
    def depth(link: Link | None) -> int:
        return 0 if link is None else 1 + depth(link.next)

    # Each level doubles what is below, and may end there.
    expected = {0: 2, 1: 6, 2: 14}
    for bound, count in expected.items():
        found = every(Link, bound)
        assert len(found) == count
        assert max(map(depth, found)) == bound + 1


def test_objects_of_a_plain_class() -> None:
    assert {(each.on, each.name) for each in every(Plain, 1)} == set(product((False, True), "ab"))


def test_values_are_new_each_time() -> None:
    domain = domain_of(list[list[int]], 2, "x")
    first, second = domain.at(domain.count - 1), domain.at(domain.count - 1)
    assert first == second and first is not second and first[0] is not second[0]


class Chance:
    """Leaves by chance."""

    def __init__(self, seed: int) -> None:
        self._chance = random.Random(seed)

    def choice(self, count: int) -> int:
        return self._chance.randrange(count)

    def integer(self, values: Sequence[int]) -> int:
        return self._chance.choice(values)

    def boolean(self) -> bool:
        return self._chance.random() < 0.5


@pytest.mark.parametrize(
    "annotation", [int, list[int], dict[int, bool], Point, Colour | None, tuple[bool, int], set[int], Pair]
)
def test_what_is_built_by_leaves_is_in_the_domain(annotation: Any) -> None:
    known = every(annotation, 2)
    built = [domain_of(annotation, 2, "x").build(Chance(seed)) for seed in range(300)]
    assert all(each in known for each in built)
    if len(known) < 20:
        assert all(each in built for each in known)


@pytest.mark.parametrize("annotation", [object, Any, Callable[[int], int], type, complex, "Missing"])
def test_other_types_are_refused(annotation: Any) -> None:
    with pytest.raises(LawfulError) as caught:
        every(annotation, 1)
    assert caught.value.slug == "explain-inputs"
    assert "--inputs" in str(caught.value.hint)


def test_parameters() -> None:
    def kinds(a: int, /, b: bool, c=3, *more: bool, d: int = 1, e=2, **rest: int) -> None:
        pass

    found = parameters(kinds, "kinds")
    assert [each.name for each in found] == ["a", "b", "d"]
    assert arguments(found, [1, True, 5]) == ([1, True], {"d": 5})

    def between(a=1, b: int = 2, *more: bool) -> None:
        pass

    found = parameters(between, "between")
    assert arguments(found, [7]) == ([], {"b": 7})

    def star(*more: bool) -> None:
        pass

    [only] = parameters(star, "star")
    assert only.annotation == tuple[bool, ...] and arguments([only], [(True, False)]) == ([True, False], {})

    def unknown(a) -> None:
        pass

    with pytest.raises(LawfulError) as caught:
        parameters(unknown, "unknown")
    assert "'a'" in caught.value.message and "list[int]" in str(caught.value.hint)
    with pytest.raises(LawfulError):
        parameters(eval("lambda x: x"), "made")
    assert inspect.signature(unknown)  # it is a function like any other


def test_scopes_and_samples() -> None:
    def function(a: int, b: list[int]) -> None:
        pass

    scope = InputScope(function, "function", 2)
    calls = [call.arguments()[0] for _, call in scope.each(None, 0)]
    assert len(calls) == scope.count == 5 * 7
    assert len({str(each) for each in calls}) == 35
    assert [call.text() for _, call in scope.each([3, 99], 0)] == ["a=2, b=[]"]
    assert len(list(scope.each(None, 30))) == 5
    small = InputScope(function, "function", 2).sample(10, seed=1)
    assert not small.complete
    assert [call.text() for _, call in small.each(None, 0)] == [
        call.text() for _, call in InputScope(function, "function", 2).sample(10, seed=1).each(None, 0)
    ]
    assert scope.sample(35, seed=1).complete
    huge = InputScope(function, "function", 40)
    assert huge.count > 2**64
    assert 0 < len(list(huge.sample(20, seed=0).each(None, 0))) <= 20


def test_given_inputs() -> None:
    def one(x: int) -> None:
        pass

    def two(x: int, y: int) -> None:
        pass

    def got(what: Any, function: Callable[..., Any], bound: int = 2) -> list[Any]:
        return [call.arguments() for _, call in GivenInputs(what, "w", function, bound).each(None, 0)]

    assert got([1, (2, 3)], one) == [((1,), {}), (((2, 3),), {})]
    assert got([(1, 2), {"x": 3, "y": 4}], two) == [((1, 2), {}), ((), {"x": 3, "y": 4})]
    assert got(lambda n: range(n), one, 3) == [((0,), {}), ((1,), {}), ((2,), {})]
    assert got(lambda: iter("ab"), one) == [(("a",), {}), (("b",), {})]
    once = GivenInputs(iter([1, 2]), "w", one, 1)
    assert len(list(once.each(None, 0))) == len(list(once.each(None, 0))) == 2
    assert [number for number, _ in once.each([1, 5, 0], 0)] == [1, 0]
    with pytest.raises(LawfulError):
        got(7, one)
    with pytest.raises(LawfulError):
        got(lambda: 1 / 0, one)


def test_given_inputs_are_not_changed_by_whoever_gets_them() -> None:
    [(_, call)] = GivenInputs([[1]], "w", lambda x: None, 1).each(None, 0)
    call.arguments()[0][0].append(2)
    assert call.arguments() == (([1],), {}) and call.text() == "[1]"


def test_texts_are_the_same_in_every_process() -> None:
    def shown(value: object) -> str:
        [(_, call)] = GivenInputs([value], "w", lambda x: None, 1).each(None, 0)
        return call.text()

    assert shown(Plain(True)) == "Plain(on=True, name='a')"
    assert shown([Colour.RED, {"b", "a"}, (1,), {1: Colour.BLUE}]) == "[Colour.RED, {'a', 'b'}, (1,), {1: Colour.BLUE}]"
    assert " at 0x" not in shown(lambda: None)
    assert shown(set()) == "set()" and shown(()) == "()"

    class Bad:
        def __repr__(self) -> str:
            raise ValueError

    assert shown(Bad()) == "<Bad whose repr raised ValueError>"
    assert len(shown("x" * 1000)) < 600
