"""What can be wrong with the text of a view or a grammar: the slug, the place and the hint of each error."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from lawful import LawError, load_law
from lawful.diagnostics import LawSourceError
from lawful.laws import grammar

VIEW = """\
view V specifies G {
    send A.a(Int x, Obj o) a, receive B.b(String name) b,
    send C.c() c, receive reply(A.a) r
}
"""
START = 5  # the first line after the view


def errors(text: str, **options: str) -> LawSourceError:
    with pytest.raises(LawSourceError) as caught:
        grammar.compile(text, **options)
    error = caught.value
    assert error.render()  # it can be drawn
    return error


# Text after the view, the slug, line and column there, and a part of the hint or the message.
BAD = [
    ("S ::= a |", "view-syntax", (1, 10), "expected `epsilon`"),
    ("S ::= | a", "view-syntax", (1, 7), "expected `epsilon`"),
    ("S := a", "view-syntax", (1, 1), "production"),
    ("S ::= a epsilon b", "view-syntax", (1, 9), "leave it out"),
    ("S ::= {assert 1 == 1;}", "view-syntax", (1, 15), "epsilon"),
    ("epsilon ::= a", "view-syntax", (1, 1), "a nonterminal cannot"),
    ("S ::= a {assert a.x = 3;}", "view-syntax", (1, 21), "defines an attribute"),
    ("S ::= a T (T.x == a.x;)\nT ::= b", "view-syntax", (1, 16), "compares"),
    ("S ::= a {assert a.x == ;}", "view-syntax", (1, 24), "unexpected"),
    ("S ::= a {assert a.x == 'b;}", "view-syntax", (1, 24), "not closed"),
    ("S ::= a {assert a.x == '\\q';}", "view-syntax", (1, 24), "unknown escape"),
    ("S ::= a /* b", "view-syntax", (1, 9), "comment is not closed"),
    ("S ::= a {assert a.x == 1e999;}", "view-syntax", (1, 24), "too large"),
    (f"S ::= a {{assert a.x == {'9' * 400};}}", "view-syntax", (1, 24), "too long"),
    (f"S ::= a {{assert {'!' * 200} a.x;}}", "view-too-deep", (1, 117), "split it"),
    ("", "view-no-grammar", (0, 2), "productions follow"),
    ("S ::= a d", "view-unknown-symbol", (1, 9), "`a`, `b`, `c`"),
    ("S ::= a Tt\nT ::= b", "view-unknown-symbol", (1, 9), "did you mean `T`?"),
    ("start T\nS ::= a", "view-unknown-symbol", (1, 7), "`T` has no production"),
    ("a ::= b", "view-name-clash", (1, 1), "another name"),
    ("S ::= b {assert b.nam == 'x';}", "view-unknown-attribute", (1, 19), "did you mean `name`?"),
    ("S ::= b {assert b.n == 'x';}", "view-unknown-attribute", (1, 19), "did you mean `name`?"),
    ("S ::= c {assert c.zzz == 'x';}", "view-unknown-attribute", (1, 19), "`callee`, `caller`"),
    ("S ::= a {assert a.result == 1;}", "view-unknown-attribute", (1, 19), "`a` has"),
    ("S ::= a {assert S.q == 1;}", "view-unknown-attribute", (1, 19), "no attributes"),
    ("S ::= a {assert b.name == 'x';}", "view-not-here", (1, 17), "`S`, `a`"),
    ("S ::= x:a {assert a.x == 1;}", "view-not-here", (1, 19), "called `x`"),
    ("S ::= a {assert aa.x == 1;}", "view-not-here", (1, 17), "did you mean `a`?"),
    ("S ::= a a {assert a.x == 1;}", "view-ambiguous-name", (1, 19), "label"),
    ("S ::= a:a", "view-duplicate", (1, 7), "another label"),
    ("S ::= x:a x:b", "view-duplicate", (1, 11), "another label"),
    ("S ::= a {assert foo(a.x);}", "view-unknown-function", (1, 17), "registers one"),
    ("S ::= a {assert sise(a.x) == 1;}", "view-unknown-function", (1, 17), "did you mean `size`?"),
    ("S ::= a {assert size(a.x, 1) == 1;}", "view-arguments", (1, 17), "takes 1 argument, not 2"),
    ("S ::= a {assert max(1) == 1;}", "view-arguments", (1, 17), "at least 2"),
    ("S ::= a {assert S == 1;}", "view-not-a-value", (1, 17), "attributes"),
    ("S ::= a {assert a.x == foo;}", "view-unknown-name", (1, 24), "capital"),
    ("S ::= a {assert a.x == b;}", "view-not-here", (1, 24), "`S`, `a`"),
    ("S ::= a (a.x = 1;)", "view-attribute-kind", (1, 10), "nonterminal"),
    ("S ::= a T (T.x = 1;)\nT ::= b (T.x = 2;) {assert T.x == 1;}", "view-attribute-kind", (2, 10), "use two"),
    ("S ::= a T (T.x = 1; T.x = 2;)\nT ::= b {assert T.x == 1;}", "view-duplicate", (1, 21), "value already"),
    ("S ::= T a (S.x = 1; S.x = 2;)\nT ::= b", "view-duplicate", (1, 21), "value already"),
    ("S ::= T a (T.x = a.x;)\nT ::= b {assert T.x == 1;}", "view-attribute-order", (1, 12), "left of"),
    ("S ::= T a (T.x = T.y; T.y = T.x;)\nT ::= b {assert T.x == T.y;}", "view-attribute-order", (1, 12), "itself"),
    ("S ::= a (S.x = S.x + 1;)\n", "view-attribute-order", (1, 16), "no value yet"),
    ("S ::= a T T (T.x = 1;)\nT ::= b {assert T.x == 1;}", "view-ambiguous-name", (1, 14), "label"),
    ("S ::= a T | c T (T.x = 1;)\nT ::= b {assert T.x == 1;}", "view-attribute-missing", (1, 9), "T.x = ..."),
    ("S ::= T {assert T.x == 1;}\nT ::= b (T.x = 1;) | c", "view-attribute-missing", (2, 22), "T.x = ..."),
    ("S ::= epsilon | a S (S.n = S.n + 1;)", "view-attribute-missing", (1, 1), "start S (S.n = ...;)"),
    ("start S (S.n = S.n;)\nS ::= a {assert S.n == 1;}", "view-attribute-order", (1, 16), "constant"),
    ("start S\nstart S\nS ::= a", "view-duplicate", (2, 7), "remove one"),
    ("S ::= a S b", "view-endless", (1, 7), "epsilon | ..."),
    ("S ::= S a | b", "view-left-recursion", (1, 7), "put it last"),
    ("S ::= T S a | b\nT ::= epsilon | c", "view-left-recursion", (1, 7), "put it last"),
    ("S ::= a b | a c", "view-conflict", (1, 13), "write once"),
    ("S ::= T a\nT ::= epsilon | a", "view-conflict", (2, 17), "may be empty"),
    ("const X = 1\nconst X = 2\nS ::= a", "view-duplicate", (2, 7), "leave out"),
]


@pytest.mark.parametrize(("text", "slug", "place", "words"), BAD, ids=[f"{bad[1]}: {bad[0][:40]}" for bad in BAD])
def test_bad_input(text: str, slug: str, place: tuple[int, int], words: str) -> None:
    error = errors(VIEW + text)
    first = next(each for each in error.diagnostics if each.severity == "error")
    line, column = error.source.position(first.span[0])
    assert (first.slug, (line - START + 1, column)) == (slug, place), error.render()
    assert words in f"{first.hint} {first.message}", error.render()


BAD_VIEWS = [
    ("", "view-no-view", "view NAME"),
    ("S ::= a", "view-no-view", "view NAME"),
    ("view V {}\nS ::= a", "view-no-messages", "no messages"),
    ("view V { send A.a() a }\nview W { send A.a() a }\nS ::= a", "view-several", "one file for each"),
    ("view V { send A.a() a, send A.b() a }\nS ::= a", "view-duplicate", "name of its own"),
    ("view V { send A.a() a, send A.a() b }\nS ::= a", "view-duplicate", "one name"),
    ("view V { send A.a(Int x, Int x) a }\nS ::= a", "view-duplicate", "rename"),
    ("view V { sent A.a() a }\nS ::= a", "view-syntax", "`send` or `receive`"),
    ("view V { send A.a a }\nS ::= a", "view-syntax", "`(`"),
    ("view V { send A.a() }\nS ::= a", "view-syntax", "a name"),
    ("view V specifies { send A.a() a }\nS ::= a", "view-syntax", "a name"),
    ("view V grammar x.g { send A.a() a }\n", "view-grammar-not-found", "beside the view"),
]


@pytest.mark.parametrize(("text", "slug", "words"), BAD_VIEWS)
def test_bad_views(text: str, slug: str, words: str) -> None:
    error = errors(text)
    assert error.slug == slug, error.render()
    assert words in f"{error.hint} {error.message}", error.render()


def test_all_errors_are_told_at_once() -> None:
    error = errors(VIEW + "S ::= a {assert a.y == b.name && foo();} d\nT ::= b (S.x = 1;)")
    assert [each.slug for each in error.diagnostics if each.severity == "error"] == [
        "view-unknown-attribute",
        "view-not-here",
        "view-unknown-function",
        "view-unknown-symbol",
        "view-not-here",
    ]


def test_the_papers_slip_in_figure_7_is_found() -> None:
    text = """\
view ScheduleView specifies WorkerGroup {
    receive Worker.command(Command c) cm,
    send SyncServer.requestSchedule(Worker w, String name) gt
}
S ::= epsilon | cm T (T.c = cm.c;)
T ::= epsilon | gt {assert T.c != ListSchedule && gt.n == name(T.c);}
"""
    error = errors(text, name="schedule.view")
    assert (error.slug, error.where, error.hint) == (
        "view-unknown-attribute",
        "schedule.view:6:54",
        "did you mean `name`?",
    )


# -- conflicts ------------------------------------------------------------------------------------


CONFLICTS = [
    (
        "S ::= a b | a c",
        "at the start, `a` can be read in two ways: as the first of `S ::= a b`, or as the first of `S ::= a c`",
    ),
    (
        "S ::= c T\nT ::= a | U b\nU ::= epsilon | a",
        "in `c a`, the last `a` can be read in two ways: as the first of `T ::= a`, or as the first of `T ::= U b`",
    ),
    (
        "S ::= c c T a\nT ::= epsilon | b T | a",
        "in `c c a`, the last `a` can be read in two ways: after `T ::= epsilon`, or as the first of `T ::= a`",
    ),
    (
        "S ::= c T\nT ::= epsilon | U\nU ::= epsilon | b",
        "the end after `c` can be read in two ways: as the end of `T` by `T ::= epsilon`, "
        "or as the end of `T` by `T ::= U`",
    ),
    # Only behind the second T comes an `a`.
    (
        "S ::= b T c | c T a\nT ::= epsilon | a b",
        "in `c a`, the last `a` can be read in two ways: after `T ::= epsilon`, or as the first of `T ::= a b`",
    ),
]


@pytest.mark.parametrize(("text", "message"), CONFLICTS)
def test_a_conflict_shows_both_readings(text: str, message: str) -> None:
    error = errors(VIEW + text)
    assert (error.slug, error.message) == ("view-conflict", message)
    first, *_ = error.diagnostics
    assert [words for _, words in first.notes] == ["the other reading"]


# -- warnings -------------------------------------------------------------------------------------

WARNED = [
    ("S ::= a b c", [("view-unused-message", 3)]),
    ("S ::= a b c r\nT ::= a", [("view-unreachable", 6)]),
    ("S ::= a T b c r (T.x = 1;)\nT ::= epsilon", [("view-unused-attribute", 5)]),
    ("S ::= a b c r {assert a.x == Blue || a.x == Blue || a.x == Bule;}", [("view-similar-names", 5)]),
    ("const Bule = 1\nS ::= a b c r {assert a.x == Blue || a.x == Bule;}", [("view-similar-names", 6)]),
    ("const Bule = 1\nconst Blue = 2\nS ::= a b c r {assert a.x == Blue || a.x == Bule;}", []),
    ("S ::= a b c r {assert a.x == EmptySt;}", [("view-similar-names", 5)]),
    ("S ::= a b c r", []),
]


@pytest.mark.parametrize(("text", "expected"), WARNED)
def test_warnings(text: str, expected: list[tuple[str, int]]) -> None:
    law = grammar.compile(VIEW + text)
    lines = VIEW + text
    assert [(each.slug, lines.count("\n", 0, each.span[0]) + 1) for each in law.warnings] == expected


# -- two files ------------------------------------------------------------------------------------


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "v.view").write_text("view V grammar Worker.g { send A.a(Int x) a }\n")
    return tmp_path


def failure(path: Path) -> LawError:
    with pytest.raises(LawError) as caught:
        load_law(path)
    return caught.value


def test_the_grammar_is_found_beside_the_view(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (folder / "Worker.g").write_text("S ::= epsilon | a S")
    assert load_law(folder / "v.view").check([]).accepted
    monkeypatch.chdir(folder)
    assert load_law("v.view", name="other").name == "other"


def test_a_grammar_that_the_view_names_may_stand_behind_it(folder: Path) -> None:
    text = "view V grammar Bank.g specifies G { send A.a(Int x) a }\nS ::= epsilon | a S"
    (folder / "v.view").write_text(text)
    for law in (load_law(folder / "v.view"), grammar.compile(text)):
        assert law.check([{"event": "send", "name": "A.a", "group": "G", "groupId": 1, "args": [2]}]).accepted


def test_a_missing_grammar_brings_a_similar_name(folder: Path) -> None:
    (folder / "Workers.g").write_text("S ::= a")
    error = failure(folder / "v.view")
    assert (error.slug, error.hint) == ("view-grammar-not-found", "did you mean `Workers.g`?")
    assert error.where == f"{folder / 'v.view'}:1:16"


def test_a_missing_grammar_without_a_similar_name(folder: Path) -> None:
    assert failure(folder / "v.view").hint == "Lawful looks for the grammar in the view's folder"


def test_errors_and_warnings_name_the_file_they_are_in(folder: Path) -> None:
    (folder / "Worker.g").write_text("\nS ::= b")
    assert failure(folder / "v.view").where == f"{folder / 'Worker.g'}:2:7"
    (folder / "Worker.g").write_text("\nS ::= ")
    assert failure(folder / "v.view").where == f"{folder / 'Worker.g'}:2:6"
    (folder / "Worker.g").write_text("S ::= a\nT ::= a")
    (warning,) = load_law(folder / "v.view").warnings
    assert warning.slug == "view-unreachable"
    assert warning.message.startswith(f"{folder / 'Worker.g'}:2:1: ")


@pytest.mark.parametrize(
    ("view", "text", "slug"),
    [
        ("view V grammar Worker.g { send A.a(Int x) a }\nS ::= a", "S ::= a", "view-two-grammars"),
        ("view V grammar Worker.g { send A.a(Int x) a }", "view V { send A.a() a }\nS ::= a", "view-several"),
        ("view V grammar Worker.g { send A.a(Int x) a }", "// nothing", "view-no-grammar"),
        ("const X = 1 view V grammar Worker.g { send A.a() a }", "const X = 1\nS ::= a", "view-duplicate"),
    ],
)
def test_two_files_that_do_not_fit(folder: Path, view: str, text: str, slug: str) -> None:
    (folder / "v.view").write_text(view)
    (folder / "Worker.g").write_text(text)
    assert failure(folder / "v.view").slug == slug


def test_a_grammar_is_text(folder: Path) -> None:
    (folder / "Worker.g").write_bytes(b"S ::= \xff")
    assert failure(folder / "v.view").slug == "law-not-text"
    (folder / "Worker.g").unlink()
    (folder / "Worker.g").mkdir()
    error = failure(folder / "v.view")
    assert (error.slug, error.hint) == ("view-grammar-not-found", "a grammar is a text file")


def test_a_law_is_text() -> None:
    with pytest.raises(TypeError, match="a law is text, not bytes"):
        grammar.compile(b"view")  # type: ignore[arg-type]


# -- anything -------------------------------------------------------------------------------------


def test_whatever_is_read_it_is_a_law_or_a_law_error() -> None:
    good = VIEW + "start S (S.n = 0;)\nS ::= epsilon | a T (T.x = a.x + S.n;) S (S.n = 1;)\nT ::= b {assert T.x > 1;}\n"
    pieces = [*"(){};:=.|<>'\"!&\\/*\0\x85", "::=", "assert", "epsilon", "start", "const", "T.x", "S", "\n", "1e9", "ε"]
    dice = random.Random(7)
    compiled = 0
    for _ in range(600):
        text = good
        for _ in range(dice.randint(1, 3)):
            at = dice.randrange(len(text))
            text = text[:at] + dice.choice([*pieces, ""]) + text[at + dice.choice([0, 1, 1, 5]) :]
        try:
            compiled += grammar.compile(text) is not None
        except LawError as error:
            assert error.slug.startswith("view-") and error.render()
    assert 0 < compiled < 600


def test_long_texts_are_no_danger() -> None:
    chain = "".join(f"N{index} ::= epsilon | a N{index + 1}\n" for index in range(1500)) + "N1500 ::= epsilon\n"
    assert grammar.compile(VIEW + chain).regular
    units = "".join(f"N{index} ::= N{index + 1}\n" for index in range(1500)) + "N1500 ::= epsilon | a\n"
    assert grammar.compile(VIEW + units).check([]).accepted
    nested = "(" * 5000 + "a.x" + ")" * 5000
    assert grammar.compile(VIEW + f"S ::= a {{assert {nested} == 1;}}")
