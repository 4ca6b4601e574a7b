"""Values as parts of events."""

from __future__ import annotations

import json
import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lawful.sources.python.encode import (
    LONGEST_TEXT,
    add_arguments,
    add_receiver,
    add_result,
    is_primitive,
    primitive,
)
from lawful.sources.python.identity import Identity


class Text(str):
    pass


class Number(int):
    pass


@given(st.none() | st.booleans() | st.integers() | st.floats() | st.text(st.characters()))
def test_primitive_values_are_json(value: Any) -> None:
    found = primitive(value)
    assert json.loads(json.dumps(found, allow_nan=False).encode()) == found
    if isinstance(value, float) and not math.isfinite(value):
        assert found is None
    elif isinstance(value, int) and not -(2**63) <= value < 2**63:
        assert found == str(value)
    elif not isinstance(value, str):
        assert found == value
        assert type(found) is type(value)


@pytest.mark.parametrize(
    ("value", "found"),
    [
        (2**63 - 1, 2**63 - 1),
        (2**63, str(2**63)),
        (-(2**63) - 1, str(-(2**63) - 1)),
        (1 << 5000, None),
        ("é", "é"),
        ("a\udc80", "a\\udc80"),
        ("x" * 10_001, "x" * LONGEST_TEXT),
        (True, True),
    ],
)
def test_limits(value: object, found: object) -> None:
    assert primitive(value) == found


@pytest.mark.parametrize("value", [Text("a"), Number(1), 1j, b"a", (), [], object(), int])
def test_all_else_is_an_object(value: object) -> None:
    assert not is_primitive(value)
    event: dict[str, Any] = {}
    add_result(event, value, Identity().of)
    assert event == {"resultId": 1}


def test_arguments() -> None:
    identify = Identity().of
    thing = object()
    event: dict[str, Any] = {}
    add_arguments(event, [1, thing, None], {"k": thing, "l": "x"}, identify)
    assert event == {
        "args": [1, None, None],
        "argIds": [None, 1, None],
        "kwargs": {"k": None, "l": "x"},
        "kwargIds": {"k": 1, "l": None},
    }
    event = {}
    add_arguments(event, ["a"], {"k": 1}, identify)
    assert event == {"args": ["a"], "kwargs": {"k": 1}}
    event = {}
    add_arguments(event, [], {}, identify)
    assert event == {"args": []}


def test_receivers() -> None:
    event: dict[str, Any] = {}
    add_receiver(event, [], "list", Identity().of)
    assert event == {"class": "list", "targetId": 1}
    event = {}
    add_receiver(event, "abc", None, Identity().of)
    assert event == {"target": "abc"}
