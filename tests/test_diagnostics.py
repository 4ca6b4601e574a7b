"""How diagnostics are drawn, exactly."""

from __future__ import annotations

import pickle
from textwrap import dedent

import pytest

from lawful.diagnostics import Diagnostic, LawSourceError, Source, did_you_mean, printable, quoted, render_all
from lawful.errors import LawError

LAW = "open(f) matches {n: 'open'};\nMain = open(f) clos(f);\n"


def carets(text: str, start: int, end: int) -> tuple[str, str]:
    """The source line and the caret line drawn for a span."""
    lines = Diagnostic("error", "x", "m", (start, end)).render(Source(text)).splitlines()
    return lines[3].partition("| ")[2], lines[4].partition("| ")[2]


def test_rendering() -> None:
    start = LAW.index("clos")
    error = Diagnostic(
        "error",
        "rml-undeclared-event",
        "no event type `clos` with 1 argument",
        (start, start + 7),
        "did you mean `close`?",
        (((0, 4), "declared here"),),
    )
    expected = """\
        error[rml-undeclared-event]: no event type `clos` with 1 argument
          --> files.rml:2:16
           |
         2 | Main = open(f) clos(f);
           |                ^^^^^^^
        note: declared here
          --> files.rml:1:1
           |
         1 | open(f) matches {n: 'open'};
           | ^^^^
           = hint: did you mean `close`?"""
    assert error.render(Source(LAW, "files.rml")) == dedent(expected)


def test_the_gutter_fits_the_largest_line_number() -> None:
    text = "\n" * 99 + "Main = x;"
    warning = Diagnostic("warning", "w", "m", (len(text) - 2, len(text) - 1), None, (((0, 0), "here"),))
    expected = """\
        warning[w]: m
            --> <law>:100:8
             |
         100 | Main = x;
             |        ^
        note: here
            --> <law>:1:1
             |
           1 |
             | ^"""
    assert warning.render(Source(text)) == dedent(expected)


@pytest.mark.parametrize(
    ("text", "start", "end", "shown"),
    [
        ("ab", 0, 1, ("ab", "^")),
        ("ab", 2, 2, ("ab", "  ^")),  # the end of the text
        ("\ta\tb", 3, 4, ("    a    b", "         ^")),
        ("日本 x", 3, 4, ("日本 x", "     ^")),
        ("日本 x", 1, 2, ("日本 x", "  ^^")),
        ("e\u0301e\u0301 x", 5, 6, ("e\u0301e\u0301 x", "   ^")),
        ("\x1b[2J x", 5, 6, ("␛[2J x", "     ^")),
        ("\u202ea", 1, 2, ("<U+202E>a", "        ^")),
        ("\ud800a", 1, 2, ("<U+D800>a", "        ^")),
        ("a\r\nb\r\n", 0, 3, ("a", "^")),  # a span that ends with its line
    ],
)
def test_carets(text: str, start: int, end: int, shown: tuple[str, str]) -> None:
    assert carets(text, start, end) == shown


@pytest.mark.parametrize("start", [0, 10, 499, 500, 980, 999])
def test_long_lines_are_cut(start: int) -> None:
    text = "".join(chr(ord("a") + i % 26) for i in range(1000))
    line, below = carets(text, start, start + 1)
    assert len(line) <= 102
    assert below.count("^") == 1
    assert line[below.index("^")] == text[start]
    assert line.startswith("…") == (not line.startswith("abc"))


def test_a_span_longer_than_the_window() -> None:
    line, below = carets("x" * 1000, 0, 1000)
    assert (line, below) == ("x" * 100 + "…", "^" * 100)


def test_spans_over_several_lines() -> None:
    text = "Main = (a\n  b\n  c) d;"
    expected = """\
        error[x]: m
          --> <law>:1:8
           |
         1 | Main = (a
           |        ^^
           ...
         3 |   c) d;
           |   ^^"""
    assert Diagnostic("error", "x", "m", (7, 18)).render(Source(text)) == dedent(expected)


def test_positions() -> None:
    source = Source("a\r\nb\rc\n\nd")
    assert [source.position(offset) for offset in (0, 3, 5, 7, 8, 9, 99, -1)] == [
        (1, 1),
        (2, 1),
        (3, 1),
        (4, 1),
        (5, 1),
        (5, 2),
        (5, 2),
        (1, 1),
    ]
    assert [source.line(number) for number in range(1, 6)] == ["a", "b", "c", "", "d"]


def test_the_error_carries_all_diagnostics() -> None:
    warning = Diagnostic("warning", "w", "odd", (0, 4))
    first = Diagnostic("error", "e-one", "wrong", (29, 33), "right")
    second = Diagnostic("error", "e-two", "also wrong", (36, 40))
    source = Source(LAW, "files.rml")
    error = LawSourceError([warning, first, second], source)
    assert isinstance(error, LawError)
    assert (error.slug, error.message, error.where, error.hint) == ("e-one", "wrong", "files.rml:2:1", "right")
    assert error.render() == render_all([warning, first, second], source) + "\n\n2 errors in files.rml"
    assert LawSourceError([first], source).render().endswith("\n\n1 error in files.rml")
    copy = pickle.loads(pickle.dumps(error))
    assert type(copy) is LawSourceError
    assert str(copy) == str(error)
    assert copy.diagnostics == error.diagnostics


@pytest.mark.parametrize(
    ("word", "candidates", "close"),
    [
        ("clos", ["close", "open"], "close"),
        ("MAIN", ["Main", "Mail"], "Main"),
        ("xyz", ["close", "open"], None),
        ("close", ["close"], None),
        ("a", [], None),
    ],
)
def test_did_you_mean(word: str, candidates: list[str], close: str | None) -> None:
    assert did_you_mean(word, candidates) == close


def test_quoting() -> None:
    assert quoted("a\n   b") == "`a b`"
    assert quoted("x" * 100) == "`" + "x" * 59 + "…`"
    assert printable("\x00\x7f\u200d") == "␀<U+007F>\u200d"


def test_plain_text_is_shown_like_any_other() -> None:
    # Text of ASCII alone takes a shorter way.
    for char in map(chr, range(128)):
        assert printable(f"é{char}") == f"é{printable(char)}"
