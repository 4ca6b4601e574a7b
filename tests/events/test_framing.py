"""Finding the ends of values."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lawful.events.framing import ELEMENTS, MAX_DEPTH, OBJECTS, ScanResult, ValueScanner, span

values = st.recursive(
    st.text(max_size=6) | st.integers(),
    lambda v: st.lists(v, max_size=3) | st.dictionaries(st.text(max_size=3), v, max_size=3),
)


@given(st.dictionaries(st.text(max_size=3), values, max_size=3), st.none() | st.just(1), st.integers(1, 9))
def test_the_end_is_found_at_whatever_pace(event: object, indent: int | None, pace: int) -> None:
    text = json.dumps(event, indent=indent, ensure_ascii=False).encode("utf-8", "surrogatepass")
    buffer = text + b'{"next"'
    frame = ValueScanner()
    for limit in range(pace, len(text), pace):
        assert frame.advance(buffer, limit) is ScanResult.MORE
    assert frame.advance(buffer, len(buffer)) is ScanResult.END
    assert frame.pos == len(text)


@pytest.mark.parametrize("text", [b'{"a\n', b'{"a":"\\\n', b'[["\n'])
def test_a_string_does_not_cross_a_line(text: bytes) -> None:
    frame = ValueScanner()
    assert frame.advance(text, len(text)) is ScanResult.BROKEN
    assert text[frame.pos :] == b"\n"


def test_depth_is_bounded() -> None:
    text = b"[" * (MAX_DEPTH + 1)
    assert ValueScanner().advance(text, MAX_DEPTH) is ScanResult.MORE
    assert ValueScanner().advance(text, len(text)) is ScanResult.TOO_DEEP


def test_runs_of_whole_objects() -> None:
    assert span(OBJECTS, b'{}{"a":[{"b":"}"}]}\n {"c') == len(b'{}{"a":[{"b":"}"}]}')
    assert span(OBJECTS, b'{"a":[[[[1]]]]}') == 0  # deeper than it knows by heart
    assert span(ELEMENTS, b', {} ,{"a":1},{') == len(b', {} ,{"a":1}')
    assert span(ELEMENTS, b"{}") == 0
