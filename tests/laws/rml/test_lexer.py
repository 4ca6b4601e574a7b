"""Tokens and what is wrong with them."""

from __future__ import annotations

import pytest

from lawful.laws.rml.lexer import KEYWORDS, tokenize


def kinds(text: str) -> list[str]:
    tokens, errors = tokenize(text)
    assert not errors
    return [token.kind for token in tokens[:-1]]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Main = a_1 B2c;", ["UID", "=", "LID", "UID", ";"]),
        ("G<x>=", ["UID", "<", "LID", ">="]),
        ("a>>b", ["LID", ">>", "LID"]),
        ("a>>>=", ["LID", ">>", ">="]),
        (r"a/\b\/c|d||e&&f", ["LID", "/\\", "LID", "\\/", "LID", "|", "LID", "||", "LID", "&&", "LID"]),
        ("[1,...]", ["[", "INT", ",", "...", "]"]),
        ("1...", ["INT", "..."]),
        ("1.5 1", ["FLOAT", "INT"]),
        ("a // b\nc//", ["LID", "LID"]),
        ("x!=y!", ["LID", "!=", "LID", "!"]),
        ("a*/\\b", ["LID", "*", "/\\", "LID"]),
        ("_ - ^", ["_", "-", "^"]),
        ("\ufeffMain", ["UID"]),
        ("", []),
    ],
)
def test_longest_match(text: str, expected: list[str]) -> None:
    assert kinds(text) == expected


def test_keywords() -> None:
    assert set(kinds(" ".join(sorted(KEYWORDS)))) == KEYWORDS
    assert kinds("lets allow iff nullx") == ["LID"] * 4


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("'abc'", "abc"),
        (r"'\t\r\n\'\\'", "\t\r\n'\\"),
        ("''", ""),
        ("'π 日本 //'", "π 日本 //"),
        ("42", 42),
        ("007", 7),
        ("2.50", 2.5),
        ("123456789012345678901", 123456789012345678901),
        ("true", True),
        ("null", None),
    ],
)
def test_values(text: str, value: object) -> None:
    tokens, errors = tokenize(text)
    assert not errors
    assert (tokens[0].value, type(tokens[0].value)) == (value, type(value))
    assert tokens[0].span == (0, len(text))


@pytest.mark.parametrize(
    ("text", "slug", "span", "hint"),
    [
        ("x & y", "rml-character", (2, 3), "intersection"),
        ("x @@@ y", "rml-character", (2, 5), None),
        ("# note", "rml-character", (0, 1), "`//`"),
        ("a\u00a0b", "rml-character", (1, 2), "no-break"),
        ("a \\ b", "rml-character", (2, 3), "union"),
        ("_x", "rml-character", (0, 2), "`_` alone"),
        ("a /* b\n */ c", "rml-character", (2, 4), "`//`"),
        ("'a\nb", "rml-string", (0, 2), "close it"),
        ("m 'a;\n", "rml-string", (2, 4), "close it"),
        (r"'a\qb'", "rml-string", (2, 4), r"`\\`"),
        ('"a"', "rml-string", (0, 3), "`'a'`"),
        ("9" * 700, "rml-number", (0, 700), None),
        ("9" * 400 + ".0", "rml-number", (0, 402), None),
    ],
)
def test_errors(text: str, slug: str, span: tuple[int, int], hint: str | None) -> None:
    _, errors = tokenize(text)
    assert [(error.slug, error.span) for error in errors] == [(slug, span)]
    assert (hint is None) == (errors[0].hint is None)
    assert hint is None or hint in (errors[0].hint or "")
