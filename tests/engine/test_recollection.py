"""What is remembered of objects that are gone, and for whom."""

from __future__ import annotations

from typing import Any

import lawful
from lawful.engine.evidence import RecentEvents
from lawful.engine.run import LawRun

Event = dict[str, Any]
INVARIANT = lawful.invariant("app.A", always="o.x >= 0")
RML = lawful.rml.compile(
    "new(o) matches {event: 'new', name: 'app.A', targetId: o};\n"
    "use(o) matches {event: 'func_pre', name: 'app.A.use', targetId: o};\n"
    "Main = {let o; new(o) use(o) Main} \\/ empty;\n",
    name="used.rml",
)


def life(target: int) -> list[tuple[int, Event]]:
    kinds = ("new", "field_write", "gone")
    return [(3 * target + at, {"event": kind, "name": "app.A", "targetId": target}) for at, kind in enumerate(kinds)]


def test_who_is_gone_is_remembered_only_if_somebody_may_ask() -> None:
    for keeps_gone, known in ((True, 10), (False, 0)):
        recollection = RecentEvents(10)
        recollection.keeps_gone = keeps_gone
        for target in range(10):
            recollection.add(life(target))
        assert len(recollection) == known


def test_invariants_do_not_ask_for_those_that_are_gone() -> None:
    run = LawRun([INVARIANT])
    assert not run.evidence.recent.keeps_gone
    run.add([RML])  # which may say at the end what it misses
    assert run.evidence.recent.keeps_gone
    run.remove(RML.name)
    assert not run.evidence.recent.keeps_gone
