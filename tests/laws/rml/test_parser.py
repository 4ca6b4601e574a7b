"""Which tree a text becomes, and what is said when it becomes none."""

from __future__ import annotations

import json
import sys
from functools import partial
from pathlib import Path
from textwrap import dedent

import pytest

from lawful.diagnostics import LawSourceError, Source
from lawful.laws.rml import syntax
from lawful.laws.rml.parser import parse
from lawful.laws.rml.printer import format_expression, format_spec
from lawful.laws.rml.token_reader import MAX_NESTING

Shuffle, Or, And, Concat = (partial(syntax.Infix, op) for op in ("|", "\\/", "/\\", " "))
Star, Plus, Optional, Closure = (partial(syntax.Postfix, op) for op in "*+?!")

A, B, C, D = (syntax.Event(syntax.EventUse(name)) for name in "abcd")
X, Y, Z = (syntax.Name(name) for name in "xyz")
ONE, TWO, THREE = syntax.Literal(1), syntax.Literal(2), syntax.Literal(3)


def expression(text: str) -> syntax.Expression:
    return parse(f"Main = {text};").equations[0].body


def data(text: str) -> syntax.Data:
    body = expression(f"if ({text}) a else b")
    assert isinstance(body, syntax.If)
    return body.condition


def argument(text: str) -> syntax.Argument:
    body = expression(f"p({text})")
    assert isinstance(body, syntax.Event)
    (only,) = body.use.args
    return only


def declaration(text: str) -> syntax.Declaration:
    return parse(text).declarations[0]


def errors(text: str) -> list[tuple[str, int, int]]:
    with pytest.raises(LawSourceError) as caught:
        parse(text)
    source = Source(text)
    return [(each.slug, *source.position(each.span[0])) for each in caught.value.diagnostics]


def hint(text: str) -> str:
    with pytest.raises(LawSourceError) as caught:
        parse(text)
    return caught.value.hint or ""


@pytest.mark.parametrize(
    ("text", "tree"),
    [
        ("a b c", Concat(A, Concat(B, C))),
        ("a b*", Concat(A, Star(B))),
        ("(a b)+?", Optional(Plus(Concat(A, B)))),
        ("a!{3}", syntax.Times(Closure(A), 3)),
        (r"a b /\ c", And(Concat(A, B), C)),
        (r"a /\ b /\ c", And(And(A, B), C)),
        (r"a \/ b /\ c", Or(A, And(B, C))),
        (r"a \/ b \/ c", Or(Or(A, B), C)),
        (r"a | b \/ c | d", Shuffle(Shuffle(A, Or(B, C)), D)),
        (r"a b | c \/ d", Shuffle(Concat(A, B), Or(C, D))),
        (r"a \/ (b | c)", Or(A, Shuffle(B, C))),
        ("empty all", Concat(syntax.Empty(), syntax.All())),
        (r"a >> b /\ c", syntax.Filter(syntax.EventUse("a"), And(B, C), None)),
        ("a >> b | c : d | a", syntax.Filter(syntax.EventUse("a"), Shuffle(B, C), Shuffle(D, A))),
        ("a >> b >> c : d", syntax.Filter(syntax.EventUse("a"), syntax.Filter(syntax.EventUse("b"), C, D), None)),
        ("a >> b >> c : d : a", syntax.Filter(syntax.EventUse("a"), syntax.Filter(syntax.EventUse("b"), C, D), A)),
        ("a >> (b >> c) : d", syntax.Filter(syntax.EventUse("a"), syntax.Filter(syntax.EventUse("b"), C, None), D)),
        ("a b >> c d", Concat(A, syntax.Filter(syntax.EventUse("b"), Concat(C, D), None))),
        ("if (true) a else b c", syntax.If(syntax.Literal(True), A, Concat(B, C))),
        ("if (x) a b else if (y) c else d", syntax.If(X, Concat(A, B), syntax.If(Y, C, D))),
        ("{let x; a} {var x, y; b}", Concat(syntax.Let(("x",), A), syntax.Let(("x", "y"), B))),
        ("a{2} {let x; b}{3}", Concat(syntax.Times(A, 2), syntax.Times(syntax.Let(("x",), B), 3))),
        ("p(x) (a b)", Concat(syntax.Event(syntax.EventUse("p", (X,))), Concat(A, B))),
        (r"a (b \/ c)", Concat(A, Or(B, C))),
        ("a (b*)", Concat(A, Star(B))),
        ("a (b c)", Concat(A, Concat(B, C))),
        ("a (Main)", Concat(A, syntax.EquationCall("Main"))),
        ("a (b (c d))", Concat(A, Concat(B, Concat(C, D)))),
        ("a (b)", syntax.Event(syntax.EventUse("a", (syntax.Name("b"),)))),
        ("a (b | c)", syntax.Event(syntax.EventUse("a", (syntax.AnyOf((syntax.Name("b"), syntax.Name("c"))),)))),
        ("(a) (b | c)", Concat(A, Shuffle(B, C))),
        ("a ({let x; b})", Concat(A, syntax.Let(("x",), B))),
        (
            "G<1, x + 1> H",
            Concat(syntax.EquationCall("G", (ONE, syntax.Binary("+", X, ONE))), syntax.EquationCall("H")),
        ),
        ("G<x < y, (x > y)>", syntax.EquationCall("G", (syntax.Binary("<", X, Y), syntax.Binary(">", X, Y)))),
        ("p(x) >> a", syntax.Filter(syntax.EventUse("p", (X,)), A, None)),
    ],
)
def test_expressions(text: str, tree: syntax.Expression) -> None:
    assert expression(text) == tree
    assert expression(format_expression(tree)) == tree


@pytest.mark.parametrize(
    ("text", "tree"),
    [
        ("1 + 2 * 3", syntax.Binary("+", ONE, syntax.Binary("*", TWO, THREE))),
        ("x / y * z", syntax.Binary("/", X, syntax.Binary("*", Y, Z))),
        ("x - y + z", syntax.Binary("-", X, syntax.Binary("+", Y, Z))),
        ("x - y - z", syntax.Binary("-", syntax.Binary("-", X, Y), Z)),
        ("x / y / z", syntax.Binary("/", syntax.Binary("/", X, Y), Z)),
        ("x ^ y ^ z", syntax.Binary("^", syntax.Binary("^", X, Y), Z)),
        ("-x ^ y", syntax.Unary("-", syntax.Binary("^", X, Y))),
        ("-2 ^ 2", syntax.Unary("-", syntax.Binary("^", TWO, TWO))),
        ("2 ^ -1", syntax.Binary("^", TWO, syntax.Literal(-1))),
        ("-x * y", syntax.Binary("*", syntax.Unary("-", X), Y)),
        ("- -x", syntax.Unary("-", syntax.Unary("-", X))),
        ("-1", syntax.Literal(-1)),
        ("-(1)", syntax.Unary("-", ONE)),
        ("x < y <= z", syntax.Binary("<=", syntax.Binary("<", X, Y), Z)),
        ("x > y < z", syntax.Binary(">", X, syntax.Binary("<", Y, Z))),
        ("x == y != z", syntax.Binary("!=", syntax.Binary("==", X, Y), Z)),
        ("x || y && z", syntax.Binary("||", X, syntax.Binary("&&", Y, Z))),
        (
            "x > 1 && y < 2 || z == 3",
            syntax.Binary(
                "||",
                syntax.Binary("&&", syntax.Binary(">", X, ONE), syntax.Binary("<", Y, TWO)),
                syntax.Binary("==", Z, THREE),
            ),
        ),
        ("(x || y) && z", syntax.Binary("&&", syntax.Binary("||", X, Y), Z)),
        (
            "min(x, 1) + abs(-2)",
            syntax.Binary("+", syntax.Apply("min", (X, ONE)), syntax.Apply("abs", (syntax.Literal(-2),))),
        ),
        ("x == 'a'", syntax.Binary("==", X, syntax.Literal("a"))),
        ("null == 1.5", syntax.Binary("==", syntax.Literal(None), syntax.Literal(1.5))),
    ],
)
def test_data(text: str, tree: syntax.Data) -> None:
    assert data(text) == tree


@pytest.mark.parametrize(
    ("text", "tree"),
    [
        ("x", X),
        ("_", syntax.Wildcard()),
        ("-1", syntax.Literal(-1)),
        ("x + 1", syntax.Binary("+", X, ONE)),
        ("(x)", X),
        ("(x + 1) * 2", syntax.Binary("*", syntax.Binary("+", X, ONE), TWO)),
        (
            "{a: x, 'b c': [1, ...], not: _}",
            syntax.ObjectPattern((("a", X), ("b c", syntax.ListPattern((ONE,), True)), ("not", syntax.Wildcard()))),
        ),
        ("[]", syntax.ListPattern((), False)),
        ("[...]", syntax.ListPattern((), True)),
        ("('a' | -1)", syntax.AnyOf((syntax.Literal("a"), syntax.Literal(-1)))),
        ("({a: 1})", syntax.ObjectPattern((("a", ONE),))),
    ],
)
def test_arguments(text: str, tree: syntax.Argument) -> None:
    assert argument(text) == tree


def test_constants_keep_their_type() -> None:
    assert [
        type(each.value)
        for each in (argument("1"), argument("1.0"), argument("true"))
        if isinstance(each, syntax.Literal)
    ] == [
        int,
        float,
        bool,
    ]


@pytest.mark.parametrize(
    ("text", "tree"),
    [
        ("a matches {};", syntax.Declaration("a", (), False, syntax.ObjectPattern(()), None)),
        (
            "a(x, y) not matches b(x) | c;",
            syntax.Declaration("a", ("x", "y"), True, (syntax.EventUse("b", (X,)), syntax.EventUse("c")), None),
        ),
        (
            "a matches {v: -1} | {v: 'x' | 'y'} with x > 1;",
            syntax.Declaration(
                "a",
                (),
                False,
                syntax.AnyOf(
                    (
                        syntax.ObjectPattern((("v", syntax.Literal(-1)),)),
                        syntax.ObjectPattern((("v", syntax.AnyOf((syntax.Literal("x"), syntax.Literal("y")))),)),
                    )
                ),
                syntax.Binary(">", X, ONE),
            ),
        ),
        ("a matches ({if: 1});", syntax.Declaration("a", (), False, syntax.ObjectPattern((("if", ONE),)), None)),
        (
            "a matches (({}) | {}) | {};",
            syntax.Declaration(
                "a",
                (),
                False,
                syntax.AnyOf(
                    (syntax.AnyOf((syntax.ObjectPattern(()), syntax.ObjectPattern(()))), syntax.ObjectPattern(()))
                ),
                None,
            ),
        ),
        (
            "a matches {matches: 1};",
            syntax.Declaration("a", (), False, syntax.ObjectPattern((("matches", ONE),)), None),
        ),
    ],
)
def test_declarations(text: str, tree: syntax.Declaration) -> None:
    assert declaration(text) == tree
    assert declaration(format_spec(parse(text))) == tree


@pytest.mark.parametrize("text", ["G<x>= a;", "G<x>=a;", "G<x> = a;", "G < x > = a ;"])
def test_equation_heads(text: str) -> None:
    (equation,) = parse(text).equations
    assert (equation.name, equation.params, equation.body) == ("G", ("x",), A)


def test_comparison_in_a_call_is_no_equation_head() -> None:
    assert parse("Main = if (true)\nG<x> else a;").equations[0].body == syntax.If(
        syntax.Literal(True), syntax.EquationCall("G", (X,)), A
    )


def test_spans() -> None:
    text = "p(x) matches {v: x};\nMain = (a b)* | {let x; p(x) G<x>};\nG<x> = empty;"
    law = parse(text)
    body = law.equations[0].body
    assert isinstance(body, syntax.Infix)
    assert body.op == "|"
    assert isinstance(body.right, syntax.Let)
    assert isinstance(body.right.body, syntax.Infix)
    assert body.right.body.op == " "
    spans = [law.declarations[0].span, body.span, body.left.span, body.right.body.left.span, body.right.body.right.span]
    assert [text[start:end] for start, end in spans] == [
        "p(x) matches {v: x};",
        "(a b)* | {let x; p(x) G<x>}",
        "(a b)*",
        "p(x)",
        "G<x>",
    ]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Main = ;", [("rml-syntax", 1, 8)]),
        ("Main = a", [("rml-syntax", 1, 9)]),
        ("Main = a b\nFoo = c;", [("rml-syntax", 1, 11)]),
        ("Main = a\nb matches {};", [("rml-syntax", 1, 9)]),
        ("main = a;", [("rml-syntax", 1, 1)]),
        ("Open matches {};", [("rml-syntax", 1, 1)]),
        ("Main = a;;", [("rml-syntax", 1, 10)]),
        ("Main = a ();", [("rml-syntax", 1, 11)]),
        ("Main = p(x,);", [("rml-syntax", 1, 12)]),
        ("Main = p(x, y z);", [("rml-syntax", 1, 15)]),
        ("Main = (a b;", [("rml-syntax", 1, 12)]),
        ("Main = a);", [("rml-syntax", 1, 9)]),
        ("Main = {a};", [("rml-syntax", 1, 8)]),
        ("Main = a{2.5};", [("rml-syntax", 1, 10)]),
        ("Main = a{2,3};", [("rml-syntax", 1, 11)]),
        ("Main = a || b;", [("rml-syntax", 1, 10)]),
        ("Main = a : b;", [("rml-syntax", 1, 10)]),
        ("Main = if (x = 1) a else b;", [("rml-syntax", 1, 14)]),
        ("Main = if (true) a;", [("rml-syntax", 1, 19)]),
        ("Main = {let Main; a};", [("rml-syntax", 1, 13)]),
        ("Main = {let if; a};", [("rml-syntax", 1, 13)]),
        ("Main = {let x, x; a};", [("rml-duplicate-name", 1, 16)]),
        ("G<x, x> = a;", [("rml-duplicate-name", 1, 6)]),
        ("Main = G<x>1>;", [("rml-syntax", 1, 12)]),
        ("Main = G<_>;", [("rml-syntax", 1, 10)]),
        ("Main = p(min(1));", [("rml-function-arity", 1, 10)]),
        ("Main = p({} + 1);", [("rml-syntax", 1, 10)]),
        ("Main = a & b;", [("rml-character", 1, 10)]),
        ("Main = a;\nb matches {};", [("rml-declaration-order", 2, 1)]),
        ("p(1) matches {};", [("rml-head-parameter", 1, 3)]),
        ("p(_, x, x) matches {};", [("rml-head-parameter", 1, 3), ("rml-duplicate-name", 1, 9)]),
        ("a matches b | {};", [("rml-mixed-body", 1, 15)]),
        ("a matches {} | b;", [("rml-mixed-body", 1, 16)]),
        ("a matches {} | b(x);", [("rml-mixed-body", 1, 16)]),
        ("a matches (b | c);", [("rml-mixed-body", 1, 12)]),
        ("a matches {v: x + 1};", [("rml-syntax", 1, 17)]),
        ("a matches {v: 1, v: 2};", [("rml-duplicate-key", 1, 18)]),
        ("a matches {1: x};", [("rml-syntax", 1, 12)]),
        ("a matches [..., 1];", [("rml-syntax", 1, 15)]),
        ("a match {};", [("rml-syntax", 1, 3)]),
        ("a matches {n: 'a};\nMain = a;", [("rml-string", 1, 15)]),
        ('a matches {n: "a"};', [("rml-string", 1, 15)]),
        ("= 1;", [("rml-syntax", 1, 1)]),
        ("}}}", [("rml-syntax", 1, 1)]),
    ],
)
def test_errors(text: str, expected: list[tuple[str, int, int]]) -> None:
    assert errors(text) == expected


def test_several_errors_in_one_run() -> None:
    text = """\
        a matches {n: "a"};
        b matches {n: 'b' ;
        p(1) matches {};
        Main = a (b c;
        Foo = a & b;
        Bar = {let x; p(x) a;
        Baz = a b
        Qux = p(x,);
        Good = a;
        late matches {};
        """
    assert errors(dedent(text)) == [
        ("rml-string", 1, 15),
        ("rml-syntax", 2, 19),
        ("rml-head-parameter", 3, 3),
        ("rml-syntax", 4, 14),
        ("rml-character", 5, 9),
        ("rml-syntax", 6, 21),
        ("rml-syntax", 7, 10),
        ("rml-syntax", 8, 11),
        ("rml-declaration-order", 10, 1),
    ]


@pytest.mark.parametrize(
    ("text", "part"),
    [
        ("Main = a ();", "without parentheses"),
        ("Main = a || b;", r"`\/`"),
        ("Main = if (x = 1) a else b;", "`==`"),
        ("a match {};", "`matches`"),
        ("main = a;", "`Main`"),
        ("Open(x) matches {};", "`open`"),
        ("Main = G<x>1>;", "parentheses"),
        ("a matches {} | b;", "two declarations"),
        ("p(1) matches {};", "`with`"),
        ("Main = a; b matches {};", "`Main`"),
        ("a matches {v: x + 1};", "`with`"),
        ("Main = 'a';", "the event's type"),
        ("Main(x) = a;", "`<...>`"),
        ("Main = a; G == b;", "single `=`"),
    ],
)
def test_hints(text: str, part: str) -> None:
    assert part in hint(text)


def test_gold() -> None:
    with pytest.raises(LawSourceError) as caught:
        parse("a matches {n: 'a'};\nMain = a b\nFoo = a || b;\n", name="files.rml")
    expected = """\
        error[rml-syntax]: expected `;` before the next statement, `Foo`
          --> files.rml:2:11
           |
         2 | Main = a b
           |           ^

        error[rml-syntax]: expected `;`, found `||`
          --> files.rml:3:9
           |
         3 | Foo = a || b;
           |         ^^
           = hint: shuffle is `|`, union is `\\/`

        2 errors in files.rml"""
    assert caught.value.render() == dedent(expected)


def nested(levels: int) -> list[str]:
    """Texts with so many levels inside each other."""
    n = levels
    return [
        f"Main = {'(' * n}a{')' * n};",
        f"Main = {'{let x; ' * n}a{'}' * n};",
        f"Main = a{'*' * n};",
        f"Main = {'f >> ' * n}a;",
        f"Main = {'if (x) a else ' * n}b;",
        f"Main = {'a (b | a ' * (n // 2)}b{')' * (n // 2)};",
        f"Main = p({'-' * n}x);",
        f"Main = if ({'(' * n}x{')' * n}) a else b;",
        f"Main = p({'abs(' * n}x{')' * n});",
        f"m matches {'{a: ' * n}1{'}' * n};",
        f"m matches {'[' * n}1{']' * n};",
        f"m matches {'(' * n}1{')' * n};",
    ]


@pytest.mark.parametrize("index", range(len(nested(1))))
def test_a_thousand_levels(index: int) -> None:
    text = nested(1000)[index]
    limit = sys.getrecursionlimit()
    depth = 0
    frame = sys._getframe()
    while frame.f_back:
        depth, frame = depth + 1, frame.f_back
    try:
        sys.setrecursionlimit(depth + 60)  # whatever is left of the caller's stack
        law = parse(text)
        printed = format_spec(law)
        again = format_spec(parse(printed))
    finally:
        sys.setrecursionlimit(limit)
    assert printed == again


@pytest.mark.parametrize("index", range(len(nested(1))))
def test_too_many_levels_are_refused_by_name(index: int) -> None:
    with pytest.raises(LawSourceError) as caught:
        parse(nested(2 * MAX_NESTING + 10)[index])
    assert caught.value.slug == "rml-too-deep"
    assert len(caught.value.diagnostics) == 1


@pytest.mark.parametrize(
    "operator", [" ", " | ", r" \/ ", r" /\ ", "? "], ids=["concat", "shuffle", "union", "intersection", "optionals"]
)
def test_flat_chains_of_any_length(operator: str) -> None:
    text = f"Main = {operator.join(['a'] * 20_000)};\n"
    assert format_spec(parse(text)) == text


def test_flat_sums_of_any_length() -> None:
    text = f"Main = p({' + '.join(['x'] * 20_000)});\n"
    assert format_spec(parse(text)) == text


def conformance_cases() -> list[str]:
    path = Path(__file__).parents[2] / "data" / "rml-conformance.jsonl"
    return [json.loads(line)["spec"] for line in path.read_text(encoding="utf-8").splitlines()]


@pytest.mark.parametrize("text", conformance_cases())
def test_published_laws(text: str) -> None:
    law = parse(text)
    assert parse(format_spec(law)) == law
