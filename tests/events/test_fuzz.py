"""Any bytes, cut in any way: only trace errors come out, and the cuts change nothing; valid traces agree with json."""

from __future__ import annotations

import gzip
import io
import json
import math
from typing import Any

import zstandard
from hypothesis import assume, example, given, settings
from hypothesis import strategies as st

from events.trickle import Trickle, everything, steadily

names = st.text(st.characters(exclude_categories=["Cs"]), max_size=8)
scalars = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | names
values = st.recursive(scalars, lambda v: st.lists(v, max_size=4) | st.dictionaries(names, v, max_size=4), max_leaves=12)
traces = st.lists(st.dictionaries(names, values, max_size=5), max_size=8)
spaces = st.text(" \t\r\n", max_size=3).map(str.encode)
packs = st.sampled_from([bytes, gzip.compress, zstandard.compress])
cuts = st.lists(st.integers(1, 40), min_size=1, max_size=30)

# Pieces of JSON and of what it is often mixed up with: random bytes alone rarely get past the first character.
fragments = st.sampled_from(
    [
        b"{", b"}", b"[", b"]", b",", b":", b'"', b"\\", b"\n", b"\r\n", b" ", b'"a"', b"1", b"-", b"1e5", b"1e999",
        b"true", b"nul", b"NaN", b"\\u", b'"\\ud800"', b'"\\ud83d\\ude00"', b"\xff", b"\xc3\xa9", b"\xc3", b"\x00",
        b"\xef\xbb\xbf", b'{"a":1}', b'{"a":[1,{"b":"}"}]}', b'{"a":1}\n', b'{\n "a":\n 1\n}\n', b'{"a":', b"\x1f\x8b",
    ]
)  # fmt: skip
soups = st.lists(fragments, max_size=25).map(b"".join)


def cut_as(content: bytes, sizes: list[int]) -> Any:
    import itertools

    return Trickle(content, itertools.cycle(sizes))


def write_as(form: str, trace: list[Any], ascii_only: bool, indent: int | None, space: bytes) -> bytes:
    texts = [json.dumps(event, ensure_ascii=ascii_only, indent=indent).encode() for event in trace]
    if form == "array":
        return b"[" + space + (space + b"," + space).join(texts) + space + b"]"
    separator = space if form == "values" else b"\n"
    return separator.join(texts) + space


@given(
    traces,
    st.sampled_from(["lines", "values", "array"]),
    st.booleans(),
    st.none() | st.integers(0, 3),
    spaces,
    packs,
    cuts,
)
def test_valid_traces_agree_with_the_standard_library(
    trace: list[Any], form: str, ascii_only: bool, indent: int | None, space: bytes, pack: Any, sizes: list[int]
) -> None:
    content = write_as(form, trace, ascii_only, indent, space)
    decoder = json.JSONDecoder()
    expected, position, text = [], 0, content.decode()
    if form == "array":
        expected = json.loads(text)
    else:
        while position < len(text):
            if text[position].isspace():
                position += 1
            else:
                event, position = decoder.raw_decode(text, position)
                expected.append(event)
    content = pack(content)
    assert everything(io.BytesIO(content)) == (expected, 0, None)
    assert everything(cut_as(content, sizes)) == (expected, 0, None)


@given(st.binary(max_size=200) | soups, cuts, st.booleans())
@settings(max_examples=500)
@example(b'{"a":\n{"b":1}\n{"c":1}\n', [1], True)
@example(b'{"a":"\\ud800"}\n', [1], True)
@example(b'[{"a":1},{"a":[1,{"b":"}"}]},', [3], False)
@example(b'{"a":-', [1], False)
def test_any_bytes_give_events_and_trace_errors_and_cuts_change_nothing(
    content: bytes, sizes: list[int], skip_bad: bool
) -> None:
    whole = everything(io.BytesIO(content), skip_bad=skip_bad)
    if content[:2] == b"\x1f\x8b":
        return  # how much of damaged compressed data can be had depends on how it arrives
    assert everything(steadily(content, 1), skip_bad=skip_bad) == whole
    assert everything(cut_as(content, sizes), skip_bad=skip_bad) == whole


@given(
    traces,
    st.sampled_from(["lines", "values", "array"]),
    st.none() | st.just(2),
    packs,
    st.data(),
    st.booleans(),
)
@settings(max_examples=300)
def test_spoilt_traces_give_events_and_trace_errors(
    trace: list[Any], form: str, indent: int | None, pack: Any, data: st.DataObject, skip_bad: bool
) -> None:
    content = bytearray(pack(write_as(form, trace, False, indent, b"\n")))
    assume(content)
    for _ in range(data.draw(st.integers(1, 3))):
        position = data.draw(st.integers(0, len(content) - 1))
        length = data.draw(st.integers(0, 3))
        content[position : position + length] = data.draw(st.binary(max_size=3) | fragments)
        assume(content)
    spoilt = bytes(content)
    whole = everything(io.BytesIO(spoilt), skip_bad=skip_bad)
    pieces = everything(steadily(spoilt, 5), skip_bad=skip_bad)
    if pack is bytes and spoilt[:2] != b"\x1f\x8b":
        assert pieces == whole
    if pack is bytes and form == "lines" and indent is None and skip_bad and whole[2] is None:
        # Whatever was done to three places, lines that the standard library takes as objects are not lost.
        assert len(whole[0]) + whole[1] >= sum(map(is_object, spoilt.split(b"\n")))


def is_object(line: bytes) -> bool:
    try:
        value = json.loads(line, parse_constant=lambda _: math.nan)
    except ValueError:
        return False
    return isinstance(value, dict)
