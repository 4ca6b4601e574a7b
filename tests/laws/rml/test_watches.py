"""The kinds of events that a law says it can match."""

from __future__ import annotations

import pickle

import pytest

from lawful.laws import rml
from lawful.laws.protocol import Law, Watch

CASES: list[tuple[str, tuple[Watch, ...] | None]] = [
    ("Main = empty;", ()),
    ("a matches {event: 'new', name: 'list', targetId: _};\nMain = a*;", (
        Watch((("event", ("new",)), ("name", ("list",)), ("targetId", None))),
    )),
    ("a(x) matches {name: 'f'|'g', res: x};\nMain = {let x; a(x) a(3)};", (
        Watch((("name", ("f", "g")), ("res", None))),
        Watch((("name", ("f", "g")), ("res", (3,)))),
    )),
    ("a matches {name: 'f'};\nb matches {name: 'unused'};\nMain = a;", (Watch((("name", ("f",)),)),)),
    ("Main = any*;", None),
    ("a matches {name: 'f'};\nMain = (a \\/ any)*;", (Watch((("name", ("f",)),)), Watch(()))),
    ("a not matches {name: 'f'};\nMain = a*;", (Watch((("name", ("f",)),)), Watch(()))),
    ("a matches {name: 'f'}|{name: 'g'};\nb not matches a;\nc not matches b;\nMain = c*;", (
        Watch((("name", ("f",)),)),
        Watch((("name", ("g",)),)),
        Watch(()),
    )),
]  # fmt: skip


@pytest.mark.parametrize(("text", "watches"), CASES)
def test_what_a_law_watches(text: str, watches: tuple[Watch, ...] | None) -> None:
    law = rml.compile(text)
    assert isinstance(law, Law)
    assert law.watches == watches
    assert pickle.loads(pickle.dumps(law)).watches == watches


def test_what_is_relevant_does_not_depend_on_what_was_asked_before() -> None:
    law = rml.compile(
        "a(x) matches {name: 'a', id: x};\nb(x) matches {name: 'b', id: x};\nc(x) matches a(x) | b(x);\n"
        "unused(x) matches {name: 'u', id: x};\nd not matches {name: 'd', id: _};\n"
        "Main = {let x; a(x) Then<x>};\nThen<x> = c(x)* d;\nNever = unused(3);"
    )
    monitor = law.monitor()
    for name in "abdu":
        relevant = name != "u"
        assert monitor.relevant({"name": name, "id": 7}, [7]) is (relevant and name != "d")
        assert monitor.relevant({"name": name, "id": 7}, []) is relevant
        assert not monitor.relevant({"name": name, "id": 7}, [8])
