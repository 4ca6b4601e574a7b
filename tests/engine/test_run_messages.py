"""Messages in a live run: findings, histories and diagrams are by group."""

from __future__ import annotations

from typing import Any

import pytest

from lawful import grammar
from lawful.engine.evidence import RecentEvents
from lawful.engine.findings import Finding
from lawful.engine.run import LawRun
from lawful.engine.violations import Violation
from lawful.reports.violated_view import violated_view

LAW = grammar.compile(
    """
    view V specifies G { send A.a(Int n) a, send A.b(Int n) b, receive A.c(Int n) c }
    start S (S.n = 0;)
    S ::= epsilon | a {assert a.n == S.n + 1;} S (S.n = a.n;) | c S (S.n = S.n;)
    """,
    name="v.view",
)
Event = dict[str, Any]


def message(name: str, n: int, group: int = 1, *, event: str = "send", line: int = 3) -> Event:
    made = {"event": event, "name": f"A.{name}", "group": "G", "groupId": group, "targetId": 99, "args": [n]}
    return made | {"file": "app.py", "line": line, "thread": 1, "time": 0.5}


def test_messages_that_go_out_at_one_place_are_different_findings() -> None:
    run = LawRun([LAW])
    run.deliver([message("a", 5), message("b", 1), message("a", 7)])
    assert [(finding.event and finding.event["name"], finding.count) for finding in run.findings] == [
        ("A.a", 2),
        ("A.b", 1),
    ]


def test_the_history_is_that_of_the_group() -> None:
    run = LawRun([LAW], history=3)
    run.deliver([message("a", n, group) for n in (1, 2, 3, 4) for group in (1, 2)])
    run.deliver([message("a", 9, 2)])
    (finding,) = run.findings
    assert {each.event["groupId"] for each in finding.history} == {2}
    assert [each.event["args"] for each in finding.history] == [[1], [3], [4]]  # how it began, and the last


@pytest.mark.parametrize("messages", [0, 2, 20])
def test_a_diagram_shows_the_last_messages(messages: int) -> None:
    run = LawRun([LAW], history=1, messages=messages)
    run.deliver([message("a", n, group) for n in range(1, 8) for group in (1, 2)])
    run.deliver([message("a", 9, 2)])
    (finding,) = run.findings
    picture = violated_view(run, finding, messages, "app")
    assert picture is not None
    assert [each.label for each in picture.messages] == [
        *(f"a({n})" for n in range(1, 8)[7 - min(messages, 7) :]),
        "a(9)",
    ]
    assert picture.messages[-1].marked
    assert bool(picture.before) == (messages == 2)
    assert picture.note is not None and ("failed", "a.n == S.n + 1") in picture.note.facts
    again = Finding.from_json(finding.to_json())
    assert (again.rejection, again.messages) == (finding.rejection, finding.messages)


def test_at_the_end_each_group_has_its_own_place() -> None:
    law = grammar.compile("view V specifies G { send A.a(Int n) a, send A.b(Int n) b } S ::= epsilon | a b S", name="v")
    run = LawRun([law], messages=5)
    run.deliver([message("a", 1, 1), message("a", 2, 2, line=4), message("b", 1, 1)])
    run.end()
    (finding,) = run.findings
    assert finding.rejection is not None and finding.rejection.group == 2
    picture = violated_view(run, finding, 5)
    assert picture is not None and "at the end" in picture.title
    assert [each.label for each in picture.messages] == ["a(2)"]


def test_a_prevented_message_is_taken_back_at_both_ends() -> None:
    pair = grammar.compile(
        "view V { send A.a(Int n) a, receive A.a(Int n) b } S ::= epsilon | a T | b S T ::= epsilon | b S", name="pair"
    )
    strict = grammar.compile("view W { receive A.a(Int n) b } S ::= epsilon | b {assert b.n > 0;} S", name="strict")
    run = LawRun([pair, strict], on_violation="raise")
    both = [message("a", 0, 1), message("a", 0, 2, event="receive")]
    for _ in range(3):  # if it were not taken back, the second time would be another violation
        with pytest.raises(Violation):
            run.deliver([dict(each) for each in both])
    assert [(finding.law, finding.count) for finding in run.findings] == [("strict", 3)]
    run.deliver([message("a", 1, 1), message("a", 1, 2, event="receive")])
    assert run.violations == 3


def test_messages_are_kept_by_group_and_by_nothing_else() -> None:
    kept = RecentEvents(4)
    kept.add([(n, message("a", n, n % 2)) for n in range(1, 21)])
    assert len(kept) == 2
    monitor = LAW.monitor()
    assert [number for number, _ in kept.messages(monitor, 1, 16)] == [9, 11, 13, 15]
    assert kept.messages(monitor, 7, 99) == ()


def test_what_does_not_go_out_is_taken_back_whatever_comes_next() -> None:
    """Between the verdict and the exception, another process or thread may send something."""
    other = grammar.compile(
        "view W specifies H { receive A.a(Int n) a, receive A.c(Int n) c } S ::= epsilon | a T T ::= c S"
    )
    run = LawRun([LAW, other], on_violation="raise", on_finding=lambda finding: run.deliver([message("a", 1, 2)]))
    received = message("a", 5, event="receive") | {"group": "H"}
    with pytest.raises(Violation):
        run.deliver([received, message("a", 5)])  # one message
    run.deliver([received])
    assert [finding.count for finding in run.findings] == [1]
