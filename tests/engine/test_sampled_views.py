"""Views on samples of the groups that they are about."""

from __future__ import annotations

from typing import Any

from lawful import grammar
from lawful.config import SamplingConfig
from lawful.engine.run import LawRun
from lawful.engine.sample_tracking import SampleTracking, demand

LAW = grammar.compile(
    """
    view V specifies G { send A.a(Int n) a, receive A.c(Int n) c }
    start S (S.n = 0;)
    S ::= epsilon | a {assert a.n == S.n + 1;} T (T.n = a.n;)
    T ::= c S (S.n = T.n;)
    """,
    name="v.view",
)
Event = dict[str, Any]


def message(name: str, n: int, group: int | None) -> Event:
    made = {"event": "send" if name == "a" else "receive", "name": f"A.{name}", "group": "G", "args": [n]}
    return made | ({} if group is None else {"groupId": group}) | {"file": "app.py", "line": 3, "thread": 1}


def life(group: int, *, wrong: bool = False, cut: bool = False) -> list[Event]:
    messages = [message("a", 5 if wrong else 1, group), message("c", 1, group), message("a", 2, group)]
    rest = [] if cut or wrong else [message("c", 2, group)]
    return [*messages[: 1 if wrong else 3], *rest, {"event": "gone", "name": "app.Group", "targetId": group}]


def judged(events: list[Event], **asked: Any) -> LawRun:
    tracking = SampleTracking(
        [LAW], demand(SamplingConfig(**{"confidence": 0.9, "error_rate": 0.1, "seed": 3} | asked))
    )
    run = LawRun([LAW], tracking=tracking)
    run.deliver(events)
    run.end()
    return run


def counts(run: LawRun) -> tuple[str, int, int]:
    assert run.tracking is not None
    (summary,) = run.tracking.confidence.summary()
    (law,) = summary.laws
    return summary.class_name, law.samples, law.violations


def test_a_life_is_a_group():
    run = judged([event for group in range(1, 11) for event in life(group)])
    assert counts(run) == ("group G", 10, 0) and not run.findings


def test_after_the_target_groups_are_left_alone():
    run = judged([event for group in range(1, 101) for event in life(group, wrong=group > 50)])
    assert counts(run) == ("group G", 22, 0) and not run.findings


def test_a_group_that_breaks_the_view_is_a_violated_sample():
    run = judged([event for group in range(1, 11) for event in life(group, wrong=group == 4)])
    assert counts(run) == ("group G", 10, 1)
    (finding,) = run.findings
    assert finding.expectation.bindings["groupId"] == 4
    assert finding.made is None  # its first message did not make it


def test_what_a_group_lacks_at_the_end_takes_its_clean_sample_back():
    run = judged([event for group in range(1, 11) for event in life(group, cut=group == 4)])
    assert counts(run) == ("group G", 10, 1)
    assert [finding.rejected_at for finding in run.findings] == ["end"]


def test_only_groups_on_which_the_coin_falls_are_judged():
    tracking = SampleTracking([LAW], demand(SamplingConfig(confidence=0.9, error_rate=0.1, seed=3, policy="taper(8)")))
    run = LawRun([LAW], tracking=tracking)
    for group in range(1, 201):
        run.deliver(life(group, wrong=group > 100))
    (summary,) = tracking.confidence.summary()
    assert summary.created == 200 and 22 < summary.sampled < 200
    assert {finding.count for finding in run.findings} <= {each.violations for each in summary.laws}


def test_messages_without_a_group_are_all_judged():
    run = judged([message("a", 7, None)])
    assert counts(run) == ("group G", 0, 0) and len(run.findings) == 1


def test_two_views_of_one_group_share_its_coin():
    other = grammar.compile("view W specifies G { send A.a(Int n) a }\nS ::= epsilon | a S", name="w.view")
    tracking = SampleTracking([LAW, other], demand(SamplingConfig(confidence=0.9, error_rate=0.1, seed=3)))
    assert list(tracking.confidence.groups) == ["group G"] and not tracking.unsampled_laws
