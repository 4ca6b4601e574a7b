"""Values and messages as reports show them."""

from __future__ import annotations

import json
from typing import Any

import pytest

from lawful.engine.wording import count, expected, short
from lawful.laws.protocol import Expectation
from lawful.laws.rml.values import UNDEFINED
from lawful.reports.text import Span, folded, plain


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ({"a": [1, 2.5, None, True]}, '{"a":[1,2.5,null,true]}'),
        ("é\u202e\x7f\n", '"é<U+202E><U+007F>\\n"'),
        ("x" * 60, f'"{"x" * 60}"'),
        ("x" * 61, f'"{"x" * 59}…"'),
        (list(range(14)), '[0,1,2,3,4,5,6,7,8,9,10,11,"… 2 more"]'),
        ([[[[[[1]]]]]], '[[[["…"]]]]'),
        ([[[[[]]]]], "[[[[[]]]]]"),
        (UNDEFINED, '"undefined"'),
        (float("inf"), "null"),
        (10**50, "1" + "0" * 50),
        pytest.param(1 << 100_000, '"an integer of 100001 bits"', id="huge"),
    ],
)
def test_values_are_short(value: Any, text: str) -> None:
    assert short(value) == text
    json.loads(short(value).replace("<U+202E>", "").replace("<U+007F>", ""))


def test_what_was_expected() -> None:
    assert expected(Expectation((), {})) == ""
    assert expected(Expectation(("a",), {})) == "a"
    assert expected(Expectation(("a", "b(1)", "c"), {})) == "a, b(1) or c"
    assert expected(Expectation(("a",), {}, 1)) == "a or 1 other"
    assert expected(Expectation(("a", "b"), {}, 2000)) == "a, b or 2,000 others"


def test_counts() -> None:
    assert [count(number, "law") for number in (0, 1, 1000)] == ["0 laws", "1 law", "1,000 laws"]


def test_text_is_folded_where_it_can_be() -> None:
    assert list(folded("one, two three", 9)) == ["one, two", "three"]
    assert list(folded('{"a":1,"b":2}', 8)) == ['{"a":1,', '"b":2}']
    assert list(folded("x" * 20, 8)) == ["x" * 8, "x" * 8, "xxxx"]
    assert list(folded("", 8)) == [""]


def test_plain_text_has_no_blanks_at_the_end() -> None:
    assert plain(iter([[Span("a  ", "bold"), Span(" ")], []])) == "a\n\n"
