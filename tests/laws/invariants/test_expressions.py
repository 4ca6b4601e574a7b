"""Expressions: they mean what Python means by them, and all else is refused with its place."""

from __future__ import annotations

import random
import warnings
from types import SimpleNamespace
from typing import Any

import pytest

from lawful.laws.invariants.expressions import FAULTS, Expression, ExpressionError, NotYet, Ref, Step, parse

CLASS = "app.Thing"


def step(
    key: tuple[str, str] = ("field_write", f"{CLASS}.a"), event: dict[str, Any] | None = None, **values: Any
) -> Step:
    return Step(key, event or {}, values)


def judged(text: str, at: Step) -> Any:
    return parse(text, CLASS).evaluate(at)


# -- the same as Python ------------------------------------------------------------------------------------------------

VALUES = (-2, -1, 0, 1, 2, 3, 2.5, True, False, None, "", "a", "ab")


def random_expression(source: random.Random, depth: int) -> str:
    if depth == 0 or source.random() < 0.15:
        return source.choice(["o.a", "o.b", "new.c", "o.a", repr(source.choice(VALUES))])

    def inner() -> str:
        return random_expression(source, depth - 1)

    kind = source.randrange(9)
    if kind == 0:
        return f"({inner()} {source.choice(['and', 'or'])} {inner()})"
    if kind == 1:
        return f"(not {inner()})"
    if kind == 2:
        return f"({inner()} {source.choice(['+', '-', '*', '/', '//', '%'])} {inner()})"
    if kind == 3:
        return f"({inner()} {source.choice(['<', '<=', '>', '>=', '==', '!='])} {inner()})"
    if kind == 4:
        return f"({inner()} < {inner()} <= {inner()})"
    if kind == 5:
        return f"({inner()} {source.choice(['in', 'not in'])} ({inner()}, {inner()}, 'a'))"
    if kind == 6:
        return f"({inner()} {source.choice(['is', 'is not'])} {source.choice(['None', 'True', 'False'])})"
    if kind == 7:
        return source.choice(
            [f"abs({inner()})", f"min({inner()}, {inner()})", f"max({inner()}, {inner()})", f"-{inner()}"]
        )
    return f"({inner()} if {inner()} else {inner()})"


@pytest.mark.parametrize("seed", range(30))
def test_an_expression_means_what_it_means_in_python(seed: int) -> None:
    source = random.Random(seed)
    assert sum(compared(source) for _ in range(100)) > 20


def compared(source: random.Random) -> bool:
    """Compare one expression with Python; False if that has no value for it."""
    text = f"o.a == o.a and {random_expression(source, 4)}"
    fields: dict[str, Any] = {name: source.choice(VALUES) for name in "abc"}
    thing = SimpleNamespace(**fields)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            expected = eval(text, {"o": thing, "new": thing})
    except (TypeError, ArithmeticError, ValueError):
        return False  # it need not be refused: another part may decide
    try:
        found = judged(text, step(**fields))
    except FAULTS:
        # Text is no number here: it is neither added nor multiplied, nor is it formatted.
        assert any(isinstance(each, str) for each in fields.values()) or "'" in text
        return False
    assert (found, type(found)) == (expected, type(expected))
    return True


# -- fields, objects, calls --------------------------------------------------------------------------------------------


def test_old_is_what_the_write_replaces_and_the_rest_stays() -> None:
    at = step(a=2, b=5)
    at.field, at.replaced = "a", 1
    assert judged("old.a == 1 and new.a == 2 and o.a == 2 and old.b == new.b == 5", at) is True


def test_what_is_not_known_yet_is_neither_true_nor_false() -> None:
    for text in ("o.c > 0", "not o.c", "o.a > 0 and o.c > 0", "o.a < 0 or o.c > 0", "old.c == 1"):
        with pytest.raises(NotYet):
            judged(text, step(a=1))


@pytest.mark.parametrize(
    "text", ["o.c > 0 and o.a < 0", "o.a < 0 and o.c > 0", "o.s < 1 and o.a < 0", "not (o.c or o.a)"]
)
def test_what_cannot_be_told_does_not_matter_if_the_rest_decides(text: str) -> None:
    assert judged(text, step(a=1, s="text")) is False


def test_a_fault_is_told_rather_than_what_is_missing() -> None:
    with pytest.raises(TypeError, match="'text' is neither less nor more than 1"):
        judged("o.c > 0 and o.s < 1", step(s="text"))


def test_objects_are_known_by_their_ids() -> None:
    at = step(a=Ref(3), b=Ref(3), c=Ref(4))
    assert judged("o.a == o.b and o.a != o.c and o.a is not None and o.a not in (3, '3')", at) is True
    for text in ("o.a", "not o.a", "o.a > 0", "o.a + 1 == 2", "len(o.a) == 1"):
        with pytest.raises(TypeError):
            bool(judged(text, at))


def test_calls_and_moments() -> None:
    called = ("func_pre", f"{CLASS}.close")
    assert judged("called('close')", step(called)) is True
    assert judged("called('open', 'close')", step(called)) is True
    assert judged("returned('close') or raised('close') or created() or gone()", step(called)) is False
    assert judged("called('lib.close')", step(("func_pre", "lib.close"))) is True
    assert judged("created()", step(("new", CLASS))) is True
    assert judged("gone()", step(("gone", ""))) is True


def test_arguments_and_results() -> None:
    event = {"args": [3, None], "argIds": [None, 8], "kwargs": {"n": 2}, "res": 5}
    at = step(("func_post", f"{CLASS}.f"), event)
    assert (
        judged("returned('f') and args[0] == 3 and kwargs['n'] == 2 and res == 5 and args[1] is not None", at) is True
    )
    for text in ("called('f') or args[2] == 1", "called('f') or kwargs['m'] == 1"):
        with pytest.raises(TypeError, match="the call has no"):
            judged(text, at)
    with pytest.raises(NotYet):
        judged("called('f') or args[0] == 3", step(a=1))
    with pytest.raises(NotYet):
        judged("returned('f') or res == 3", step(("func_pre", f"{CLASS}.f"), event))
    objects = step(("func_post", f"{CLASS}.f"), {"resultId": 4})
    assert judged("returned('f') and res is not None", objects) is True
    with pytest.raises(TypeError, match="does not tell the result"):
        judged("called('f') or res", step(("func_post", f"{CLASS}.f"), {}))


def test_what_it_speaks_of() -> None:
    found = parse("  new.rc < old.rc or called('put') and created()", CLASS)
    assert isinstance(found, Expression)
    assert found.text == "new.rc < old.rc or called('put') and created()"
    assert dict(found.fields) == {"rc": (6, 8)}
    assert found.keys == {("field_write", "app.Thing.rc"), ("func_pre", "app.Thing.put"), ("new", "app.Thing")}


def test_the_lines_of_a_text_are_one_expression() -> None:
    assert judged("\n  o.a > 0\n  and o.b > 0\n", step(a=1, b=1)) is True
    assert judged("(o.a > 0)  ", step(a=1)) is True


# -- what is refused ---------------------------------------------------------------------------------------------------

BAD = [
    ("", "invariant-syntax", 0),
    ("   ", "invariant-syntax", 0),
    ("o.a >", "invariant-syntax", 5),
    ("o.a = 1", "invariant-syntax", 4),
    ("o.a > 0 # fine", "invariant-syntax", 8),
    ("o.a >\n0 # fine\n and o.b > 0", "invariant-syntax", 8),
    ("o.a\0", "invariant-syntax", None),
    ("o.a > 0) or (o.b", "invariant-syntax", None),
    ("x.a > 0", "invariant-unknown-name", 0),
    ("é == 1 or o.a", "invariant-unknown-name", 0),
    ("o.é == 1 or x == 1", "invariant-unknown-name", 12),
    ("nwe.a > 0", "invariant-unknown-name", 0),
    ("o.a > 0 and lne(o.b) > 0", "invariant-unknown-name", 12),
    ("created", "invariant-unknown-name", 0),
    ("o > 0", "invariant-unsupported", 0),
    ("args == 1", "invariant-unsupported", 0),
    ("args[x] == 1", "invariant-unsupported", 0),
    ("args[-1] == 1", "invariant-unsupported", 0),
    ("kwargs[0] == 1", "invariant-unsupported", 0),
    ("o.a.b > 0", "invariant-unsupported", 0),
    ("o.f() > 0", "invariant-unsupported", 0),
    ("o.a[0] > 0", "invariant-unsupported", 0),
    ("o.a ** 2 > 0", "invariant-unsupported", 0),
    ("o.a << 2 > 0", "invariant-unsupported", 0),
    ("~o.a", "invariant-unsupported", 0),
    ("lambda: o.a", "invariant-unsupported", 0),
    ("[x for x in o.a]", "invariant-unsupported", 0),
    ("f'{o.a}' == ''", "invariant-unsupported", 0),
    ("(o.a := 1)", "invariant-syntax", None),
    ("(a := 1) == o.a", "invariant-unsupported", 1),
    ("o.a == (1, 2)", "invariant-unsupported", 7),
    ("o.a == b'x'", "invariant-unsupported", 7),
    ("o.a is 1", "invariant-unsupported", 7),
    ("o.a is o.b", "invariant-unsupported", 7),
    ("abs(o.a, 1)", "invariant-unsupported", 0),
    ("max(o.a)", "invariant-unsupported", 0),
    ("max(o.a, key=1)", "invariant-unsupported", 13),
    ("called(o.a)", "invariant-unsupported", 7),
    ("called('not a name')", "invariant-unsupported", 7),
    ("called()", "invariant-unsupported", 0),
    ("created(1)", "invariant-unsupported", 8),
    ("res.x == 1", "invariant-unsupported", 0),
    ("__import__('os').system('x')", "invariant-unsupported", 0),
    ("1 == 1", "invariant-constant", 0),
    ("max(1, 2) > 1", "invariant-constant", 0),
    ("o.a" + " + 1" * 100, "invariant-too-large", 0),
    ("o.a" + " " * 2000, "invariant-too-large", 0),
    ("(" * 900 + "o.a" + ")" * 900, "invariant-syntax", None),
    ("-" * 1900 + "o.a", None, None),
]


@pytest.mark.parametrize(("text", "slug", "at"), BAD, ids=[text[:30] for text, _, _ in BAD])
def test_what_is_no_expression_is_refused_with_its_place(text: str, slug: str | None, at: int | None) -> None:
    with pytest.raises(ExpressionError) as caught:
        parse(text, CLASS)
    error = caught.value
    assert error.slug == (slug or error.slug)
    assert error.slug in ("invariant-syntax", "invariant-too-large") if slug is None else True
    if at is not None:
        assert error.span[0] == at
    assert 0 <= error.span[0] <= error.span[1] <= max(len(text), 2000)


@pytest.mark.parametrize(
    ("text", "hint"),
    [
        ("o.a = 1", "equality is =="),
        ("nwe.a > 0", "did you mean new?"),
        ("caled('x')", "did you mean called?"),
        ("x.a > 0", "there are o, new, old"),
        ("created", "calls are written with parentheses"),
        ("o.close()", "whether it is called is asked with called('name')"),
    ],
)
def test_hints(text: str, hint: str) -> None:
    with pytest.raises(ExpressionError) as caught:
        parse(text, CLASS)
    assert caught.value.hint == hint


def test_no_expression_grows_beyond_bounds() -> None:
    """Text is neither multiplied nor formatted, and numbers only as often as the text says."""
    for text in ("o.s * 1000000000 == ''", "o.s % 1 == ''", "'%1000000000d' % o.a == ''", "o.s + o.s == ''"):
        with pytest.raises(TypeError):
            judged(text, step(s="%1000000000d", a=1))
    with pytest.raises(ZeroDivisionError):
        judged("1 / o.a > 0", step(a=0))
    assert judged("*".join(["o.a"] * 70) + " > 0", step(a=10**4000)) is True
