"""The vocabulary of events."""

from __future__ import annotations

from lawful.events import EVENT_KINDS, FIELDS, mentioned_ids


def test_every_kind_and_field_of_the_design_is_explained() -> None:
    assert {"func_pre", "func_post", "func_raise", "new", "gone", "field_write", "field_read"} <= set(EVENT_KINDS)
    assert {"event", "name", "targetId", "args", "argIds", "kwargs", "res", "resultId", "thread", "time"} <= set(FIELDS)
    assert all(EVENT_KINDS.values())
    assert all(FIELDS.values())


def test_mentioned_ids() -> None:
    event = {"targetId": 7, "argIds": [1, None, "x", [2]], "resultId": 9, "args": [5]}
    assert list(mentioned_ids(event)) == [7, 1, "x", 9]
    assert list(mentioned_ids({})) == []
    assert list(mentioned_ids({"targetId": None, "argIds": 3, "resultId": {}})) == []
