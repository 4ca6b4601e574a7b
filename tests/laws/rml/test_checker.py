"""Every error and warning about a law that parses, with its place, and the facts about equations behind them."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from textwrap import dedent

import pytest

from lawful.diagnostics import Diagnostic, LawSourceError, Source, render_all
from lawful.laws.rml.equations import free_variables, nullable
from lawful.laws.rml.law_warnings import check
from lawful.laws.rml.parser import parse

EVENTS = (
    "a matches {n: 'a'}; b matches {n: 'b'}; c matches {n: 'c'}; ab matches a | b; na not matches a; "
    "p(x) matches {n: 'p', v: x}; q(x) matches {n: 'q', v: x}; np(x) not matches p(x); "
    "big(m) matches p(x) with x >= m; small(m) matches p(x) with x < m; "
    "l0 matches {l: []}; l1 matches {l: [_]}; ln matches {l: [_, ...]};\n"
)

Found = tuple[str, int, int]


def places(diagnostics: list[Diagnostic] | tuple[Diagnostic, ...], text: str) -> list[Found]:
    return [(each.slug, *Source(text).position(each.span[0])) for each in diagnostics]


def errors(text: str) -> tuple[Diagnostic, ...]:
    with pytest.raises(LawSourceError) as caught:
        check(parse(text), text)
    return caught.value.diagnostics


def warnings(text: str, *, unused: bool = False) -> list[Diagnostic]:
    return [each for each in check(parse(text), text) if unused or each.slug != "rml-unused"]


@pytest.mark.parametrize(
    ("text", "expected", "hint"),
    [
        ("Foo = a;", [("rml-no-main", 2, 9)], "`Main = ...;`"),
        ("Mian = a;", [("rml-no-main", 2, 1)], "`Mian`"),
        ("Main<x> = p(x);", [("rml-main-parameters", 2, 1)], "`Main = Name<...>;`"),
        ("Main = a Fo;\nFoo = b;", [("rml-undefined-equation", 2, 10)], "`Foo`"),
        ("Main = a A;", [("rml-undefined-equation", 2, 10)], "event type `a`"),
        ("Main = G;\nG<x> = p(x);", [("rml-equation-arity", 2, 8)], "`G<x>`"),
        ("Main = a;\nMain = b;", [("rml-duplicate-equation", 3, 1)], r"`\/`"),
        ("Main = bg(1);", [("rml-undeclared-event", 2, 8)], "`big`"),
        ("Main = zzz(x, 1);", [("rml-undeclared-event", 2, 8)], "`zzz(x, x2) matches {...};`"),
        ("Main = p(1, 2);", [("rml-event-arity", 2, 8)], None),
        ("Main = p >> a;", [("rml-event-arity", 2, 8)], None),
        ("Main = a (b | c);", [("rml-event-arity", 2, 8)], "`(a) (b | c)`"),
        ("Main = a (b);", [("rml-event-arity", 2, 8)], "`(a) (b)`"),
        ("Main = p (b | c);", [("rml-argument-alternatives", 2, 11)], "each alternative"),
        ("Main = p({a: 1 | 2});", [("rml-argument-alternatives", 2, 14)], "each alternative"),
        ("Main = Main;", [("rml-not-contractive", 2, 8)], "cannot be empty"),
        ("Main = a? Main;", [("rml-not-contractive", 2, 11)], None),
        ("Main = (a | Main)*;", [("rml-not-contractive", 2, 13)], None),
        ("Main = A{0} Main; A = a;", [("rml-not-contractive", 2, 13)], None),
        ("Main = if (true) a Main else b G; G = G;", [("rml-not-contractive", 2, 39)], None),
        ("Main = (if (true) a else empty) Main;", [("rml-not-contractive", 2, 33)], None),
        ("Main = A;\nA = b* B;\nB = c \\/ A;", [("rml-not-contractive", 3, 8)], None),
        ("Main = Fo x(1);", [("rml-undefined-equation", 2, 8), ("rml-undeclared-event", 2, 11)], None),
    ],
)
def test_errors(text: str, expected: list[Found], hint: str | None) -> None:
    found = errors(EVENTS + text)
    assert places(found, EVENTS + text) == expected
    if hint:
        assert hint in (found[0].hint or "")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("any matches {}; Main = any;", [("rml-predefined-event", 1, 1)]),
        ("none not matches any; Main = none;", [("rml-predefined-event", 1, 1)]),
        ("a matches a; Main = a;", [("rml-cyclic-event", 1, 11)]),
        ("a matches b; b matches {} ; b not matches a; Main = a;", [("rml-cyclic-event", 1, 11)]),
        ("a matches bb; Main = empty;", [("rml-undeclared-event", 1, 11)]),
        ("", [("rml-no-main", 1, 1)]),
    ],
)
def test_errors_of_declarations(text: str, expected: list[Found]) -> None:
    assert places(errors(text), text) == expected


@pytest.mark.parametrize(
    "text",
    [
        "Main = a Main;",
        "Main = {let x; p(x) Main q(x)}*;",
        "Main = a+ b? Main;",
        "Main = (a \\/ b) Main | c;",
        "Main = A Main; A = a;",
        "Main = (a b? | c{2}) Main;",
        "Main = any Main \\/ none;",
        "Main = p(1) G<1>; G<x> = if (x > 0) p(x) G<x - 1> else empty;",
    ],
)
def test_guarded_recursion(text: str) -> None:
    assert {each.slug for each in warnings(EVENTS + text)} <= {"rml-swallowed"}


def test_event_types_are_overloaded_by_arity() -> None:
    text = "p matches p(_); p(x) matches {v: x}; p(x) matches {w: x}; any(x) matches p(x); Main = p p(1) any(1);"
    assert not warnings(text, unused=True)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Main = p(x) q(x);", [("rml-undeclared-variable", 2, 10)]),
        ("Main = p(1) if (z > 1) a else b;", [("rml-undeclared-variable", 2, 17)]),
        ("Main = {let x; p(x) G};\nG = q(x);", [("rml-captured-variable", 3, 7)]),
        ("Main = {let x; p(x) G};\nG = H;\nH = q(x);", [("rml-captured-variable", 4, 7)]),
        ("Main = G<1>;\nG<x> = H;\nH = q(x);", [("rml-captured-variable", 4, 7)]),
        ("Main = {let x; p(x) {let x; q(x)}};", [("rml-shadow", 2, 26)]),
        ("Main = G<1>; G<x> = p(x) {let x; q(x)};", [("rml-shadow", 2, 31)]),
        ("Main = {let x, y; p(x)};", [("rml-unused-variable", 2, 16)]),
        ("Main = G<1>; G<y> = a;", [("rml-unused-variable", 2, 16)]),
        ("Main = p(1 - 2 + 3);", [("rml-precedence", 2, 10)]),
        ("Main = G<6 / 2 * 3>; G<x> = p(x);", [("rml-precedence", 2, 10)]),
        ("Main = if (2 * 3 / 4 > 1) a else b;", [("rml-precedence", 2, 12)]),
        ("Main = p(1 - (2 + 3)) p(6 / (2 * 3)) p((1 + 2) - 3) p(1 - 2 - 3) p(1 + 2 * 3);", []),
        ("Main = p((1 - 2) + 3);", []),
        ("Main = p(1 - // (\n 2 + 3);", [("rml-precedence", 2, 10)]),
    ],
)
def test_warnings_about_variables_and_precedence(text: str, expected: list[Found]) -> None:
    assert places(warnings(EVENTS + text), EVENTS + text) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("g(z) matches {v: 1}; Main = g(1);", [("rml-unused-variable", 1, 3)]),
        ("g matches {v: x} with y > 0; Main = g;", [("rml-unbound-guard", 1, 23)]),
        ("g matches {} with false; Main = g;", [("rml-never-matches", 1, 19)]),
        ("g matches {} with 1 > 2; Main = g;", [("rml-never-matches", 1, 19)]),
        ("g matches {} with 1 + 2; Main = g;", [("rml-never-matches", 1, 19)]),
        ("g matches {} with 1 / 0 == 1; Main = g;", [("rml-never-matches", 1, 19)]),
        ("g matches {} with 1 < 2 && true; Main = g;", []),
        ("g(m) matches {v: x} with x > m; Main = g(1);", []),
        ("a matches {}; b matches a; Main = empty;\nG = b;", [("rml-unused", 2, 1)]),
        ("a matches {}; b matches a; Main = empty;", [("rml-unused", 1, 1), ("rml-unused", 1, 15)]),
        ("a(x) matches {v: x}; a matches a(_); Main = a;", []),
    ],
)
def test_warnings_about_declarations(text: str, expected: list[Found]) -> None:
    assert places(warnings(text, unused=True), text) == expected


@pytest.mark.parametrize(
    ("text", "column"),
    [
        (r"a* a", 8),
        (r"a+ a", 8),
        (r"(a b)? a c", 8),
        (r"c a* b? a", 10),
        (r"a* (a b)?", 8),
        (r"a* ab", 8),
        (r"na* b", 8),
        (r"any* a", 8),
        (r"all a", 8),
        (r"(a b)! b", 8),
        (r"(a >> b) c", 9),
        (r"a b \/ a c", 8),
        (r"ab \/ b c", 8),
        (r"a* | (a b)", 8),
        (r"c | a | (a b)", 12),
        (r"p(1)* p(1)", 8),
        (r"p(_)* p(1)", 8),
        (r"{let x, y; q(x) | (q(y) b)}", 19),
        (r"{let x; q(x) (p(_)* | (p(x) b))}", 22),
        (r"p(1) b \/ p(_)", 8),
        (r"{let m; q(m) big(m)* p(3)}", 21),
        (r"{let x; q(x) np(3)* p(x)}", 21),
        (r"ln* l1", 8),
        (r"A* A; A = a", 8),
        (r"G<1>* p(1); G<x> = p(x)", 8),
    ],
)
def test_left_operands_that_swallow(text: str, column: int) -> None:
    text = f"{EVENTS}Main = {text};"
    assert places(warnings(text), text) == [("rml-swallowed", 2, column)]


@pytest.mark.parametrize(
    "text",
    [
        r"a* b",
        r"a* a?",
        r"a* a*",
        r"a* all",
        r"na* a",
        r"a b \/ c b",
        r"a \/ any b",
        r"a | a | a",
        r"(a b)! c",
        r"a{3} a",
        r"a a",
        r"l0* l1",
        r"p(1)* p(2)",
        r"p(1)* p('1')",
        r"{let x; q(x) np(x)* p(x)}",
        r"{let m; q(m) big(m)* small(m)}",
        r"{let x, y; p(x) p(y) (q(x) | q(y))}",
        r"{let f; p(f) (File<f> | Main)}?; File<f> = q(f)* b",
        r"{let x; p(x) ((b | Main) /\ (b >> q(x) all))}?",
        r"G<1> | G<2>; G<x> = p(x) q(x)",
        r"{let x; q(x) (p(x)* | (p(_) b))}",
        r"{let x; p(x) (p(x)* | Main) /\ (a >> a)}?",
        r"p(1)* | (p(_) b)",
        r"a* /\ (a a)",
        r"G<0>!; G<x> = p(x) G<x + 1>",
    ],
)
def test_left_operands_that_do_not(text: str) -> None:
    assert not warnings(f"{EVENTS}Main = {text};")


SAFE_HASH_SETS = """\
new_hash(hash_id) matches {event: 'func_post', name: 'HashSet', resultId: hash_id};
not_new_hash not matches new_hash(_);
add(hash_id, elem_id) matches {event: 'func_post', targetId: hash_id, name: 'add', argIds: [elem_id], res: true};
not_add(hash_id) not matches add(hash_id, _);
remove(hash_id, elem_id) matches {event: 'func_post', targetId: hash_id, name: 'remove', argIds: [elem_id], res: true};
modify(targ_id) matches add(targ_id, _) | remove(targ_id, _);
not_modify_remove(hash_id, elem_id) not matches modify(elem_id) | remove(hash_id, elem_id);
Main = not_new_hash* {let hash_id; new_hash(hash_id) (SafeHashTable<hash_id> /\\ Main)}?;
SafeHashTable<hash_id> =
  not_add(hash_id)* {let elem_id; add(hash_id, elem_id) (SafeHashElem<hash_id, elem_id> /\\ SafeHashTable<hash_id>)}?;
SafeHashElem<hash_id, elem_id> = not_modify_remove(hash_id, elem_id)* (remove(hash_id, elem_id) all)?;
"""


def test_the_papers_law_is_clean() -> None:
    assert not warnings(SAFE_HASH_SETS, unused=True)


def test_gold() -> None:
    text = "a matches {n: 'a'};\nMain = a* (a \\/ Foo)\n  A;\nA = a;\n"
    with pytest.raises(LawSourceError) as caught:
        check(parse(text), text, name="law.rml")
    expected = """\
        error[rml-undefined-equation]: the equation `Foo` is not defined
          --> law.rml:2:17
           |
         2 | Main = a* (a \\/ Foo)
           |                 ^^^

        1 error in law.rml"""
    assert caught.value.render() == dedent(expected)
    text = text.replace(" \\/ Foo", "")
    expected = """\
        warning[rml-swallowed]: this takes every `a` it can, so the expression after it may never get its `a`
          --> law.rml:2:8
           |
         2 | Main = a* (a)
           |        ^^
        note: waits for `a`
          --> law.rml:2:11
           |
         2 | Main = a* (a)
           |           ^^^
         3 |   A;
           |   ^
           = hint: Lawful never undoes a choice: use event types that differ"""
    assert render_all(check(parse(text), text), Source(text, "law.rml")) == dedent(expected)


def test_cycles_show_the_way_round() -> None:
    (error,) = errors("a matches {}; Main = A; A = a* B; B = C | a; C = A;")
    assert "A -> B -> C -> A" in error.message
    assert [note for _, note in error.notes] == ["`B` leads to `C`", "`C` leads to `A`"]


def test_nullable() -> None:
    text = (
        "Main = A B? | C; A = empty; B = a; C = D{0} E!; D = C a; E = D; F = a >> empty : all; G = a >> b; H = B \\/ A;"
    )
    assert nullable(parse(text)) == {"Main", "A", "C", "E", "F", "H"} - {"E"}


def test_free_variables() -> None:
    text = "Main = {let x; p(x, y) G<x>}; G<z> = H q(z); H = q(x) K<w>; K<v> = p({a: [u]}, v) Main;"
    assert free_variables(parse(text)) == {
        "Main": {"y", "w", "u"},
        "G": {"x", "w", "u", "y"},
        "H": {"x", "w", "u", "y"},
        "K": {"u", "y", "w"},
    }


@pytest.mark.parametrize(
    "text",
    [
        "Main = " + "a " * 20_000 + ";",
        "Main = " + " | ".join(["a"] * 20_000) + ";",
        "Main = " + r" \/ ".join(["a", "b"] * 5_000) + ";",
        "Main = " + "{let x; p(x) " * 1000 + "a" + "}" * 1000 + ";",
        "Main = " + "a >> " * 1000 + "a;",
        "Main = a" + "?" * 1000 + ";",
        "Main = p(" + "-" * 1000 + "1);",
        "Main = p(" + "1 + " * 20_000 + "1);",
        "Main = p(" + "{a: " * 1000 + "1" + "}" * 1000 + ")* a;",
        "Main = A0;" + "".join(f"A{i} = b? A{i + 1};" for i in range(1000)) + "A1000 = a;",
    ],
    ids=["concat", "shuffle", "union", "let", "filter", "postfix", "unary", "sum", "pattern", "equations"],
)
def test_deep_trees(text: str) -> None:
    text = EVENTS + text
    limit = sys.getrecursionlimit()
    depth = 0
    frame = sys._getframe()
    while frame.f_back:
        depth, frame = depth + 1, frame.f_back
    try:
        sys.setrecursionlimit(depth + 60)
        found = check(parse(text), text)
    finally:
        sys.setrecursionlimit(limit)
    assert {each.slug for each in found} <= {"rml-unused", "rml-shadow", "rml-swallowed"}


def test_a_long_chain_of_derived_event_types() -> None:
    text = "".join(f"e{i} matches e{i + 1}; " for i in range(1500)) + "e1500 matches {}; Main = e0* e0;"
    assert [each.slug for each in warnings(text)] == ["rml-swallowed"]
    text = text.replace("e1500 matches {}", "e1500 matches e0")
    assert [each.slug for each in errors(text)] == ["rml-cyclic-event"]


def test_event_types_too_large_to_compare_are_passed_over() -> None:
    doubling = "".join(f"e{i} matches e{i + 1} | e{i + 1}; " for i in range(60))
    assert not warnings(doubling + "e60 matches {}; f matches {}; Main = e0* f;")


SURPRISING = {
    "cat_left_commit_opt": ["rml-swallowed"],
    "shuffle_star_steal": ["rml-swallowed"],
    "union_commit_left": ["rml-swallowed"],
    "free_var_wildcard": ["rml-undeclared-variable"],
}


def conformance_cases() -> list[tuple[str, str]]:
    path = Path(__file__).parents[2] / "data" / "rml-conformance.jsonl"
    lines = path.read_text(encoding="utf-8").splitlines()
    return [(case["name"], case["spec"]) for case in map(json.loads, lines)]


@pytest.mark.parametrize(("name", "text"), conformance_cases())
def test_published_laws(name: str, text: str) -> None:
    assert [each.slug for each in warnings(text)] == SURPRISING.get(name, [])
