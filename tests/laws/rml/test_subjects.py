"""Which objects a law in RML is about."""

from __future__ import annotations

import re
from typing import Any

import pytest

from lawful import load_law, rml
from lawful.laws import catalog

FILES = """
made(f) matches {event: 'new', name: 'app.File' | 'app.Log', targetId: f};
opened(f) matches {event: 'func_post', name: 'open', resultId: f};
close(f, when) matches {event: when, name: 'close', argIds: [f, ...]};
closed(f) matches close(f, 'func_pre');
used(f) matches {event: 'func_pre', name: 'app.File.read', targetId: f};
on(f) matches closed(f) | used(f);
Main = (made(_) \\/ opened(_) \\/ closed(_) \\/ on(_))*;
"""


def test_the_object_is_where_the_law_binds_it() -> None:
    subjects = rml.compile(FILES).subjects
    assert subjects is not None
    assert subjects.classes == ("app.File", "app.Log")
    events: list[tuple[dict[str, Any], int | str | None]] = [
        ({"event": "new", "name": "app.Log", "targetId": 3}, 3),
        ({"event": "new", "name": "app.Other", "targetId": 3}, None),
        ({"event": "func_post", "name": "open", "targetId": 1, "resultId": 4}, 4),
        ({"event": "func_post", "name": "open"}, None),
        ({"event": "func_pre", "name": "close", "argIds": [5, 6]}, 5),
        ({"event": "func_pre", "name": "close", "argIds": [None, 6]}, None),
        ({"event": "func_pre", "name": "close", "argIds": ["word"]}, "word"),
        ({"event": "func_pre", "name": "app.File.read", "targetId": 7}, 7),
        ({"event": "gone", "name": "app.File", "targetId": 8}, 8),
        ({"event": "gone", "targetId": None}, None),
        ({"event": ["x"], "name": {}}, None),
        ({"event": "tick", "time": 1.0}, None),
        ({}, None),
    ]
    for _ in range(2):  # the second time from what is known
        assert [subjects.of(event) for event, _ in events] == [expected for _, expected in events]


@pytest.mark.parametrize(
    "declarations",
    [
        "a(x) matches {name: 'a', args: [x]};",  # a value that is no object
        "a(x, y) matches {name: 'a', targetId: x, resultId: y};",
        "a(x) matches {name: 'a', targetId: x, resultId: x};",
        "a(x) matches {name: 'a', deep: {targetId: x}};",
        "a(x) matches {name: 'a', targetId: x};\nb matches {name: 'b'};",
        "a(x) not matches {name: 'a', targetId: x};",
        # One event may be about two objects.
        "a(x) matches {name: 'a', targetId: x};\nb(x) matches {event: 'func_post', resultId: x};",
    ],
)
def test_laws_about_something_else(declarations: str) -> None:
    heads = [line.partition(" matches")[0].removesuffix(" not") for line in declarations.splitlines()]
    uses = [re.sub(r"\w+(?=[,)])", "_", head) for head in heads]
    law = rml.compile(declarations + "\nMain = (" + " \\/ ".join(uses) + ")*;")
    assert law.subjects is None


def test_a_law_about_any_event_is_about_no_object() -> None:
    text = "a(x) matches {name: 'a', targetId: x};\nMain = a(_)* any;"
    assert rml.compile(text).subjects is None
    assert rml.compile(text.replace(" any", "")).subjects is not None


def test_the_catalogue() -> None:
    about = {name for name in catalog.names() if load_law(catalog.find(name)).subjects is not None}
    assert {"files/left-open", "files/use-after-close", "locks/release-unheld", "threads/start-once"} <= about
    # These are about a container and what goes over it: two objects.
    assert not {"iterators/list-changed", "iterators/list-shifted", "iterators/size-changed"} & about
