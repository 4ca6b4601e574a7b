"""A running program's events and several laws: what is found, counted, remembered, raised, merged."""

from __future__ import annotations

import io
import json
import random
import signal
import threading
from pathlib import Path
from typing import Any

import pytest

from lawful.engine.dispatch import Routes
from lawful.engine.law_judge import LawJudge
from lawful.engine.run import LawRun
from lawful.engine.violations import Stop, Violation
from lawful.events import TraceWriter
from lawful.laws.rml import RmlLaw, compile
from laws.rml.cores import CORES, using
from oracle.random_rml import random_case
from oracle.rml import Oracle

Event = dict[str, Any]

FILES = compile(
    """
    open(f) matches {event:'func_post', name:'open', resultId:f};
    write(f) matches {event:'func_pre', name:'F.write', targetId:f};
    close(f) matches {event:'func_pre', name:'F.close', targetId:f};
    relevant matches open(_) | write(_) | close(_);
    Main = relevant >> Files;
    Files = {let f; open(f) (Files | (write(f)* close(f)))}?;
    """,
    name="files.rml",
)
LOCKS = compile(
    """
    take(l) matches {event:'func_pre', name:'L.take', targetId:l};
    give(l) matches {event:'func_pre', name:'L.give', targetId:l};
    Main = {let l; take(l) give(l) Main}?;
    """,
    name="locks.rml",
)
LEFT = compile(
    """
    open(f) matches {event:'func_post', name:'open', resultId:f};
    close(f) matches {event:'func_pre', name:'F.close', targetId:f};
    gone(f) matches {event:'gone', name:'F', targetId:f};
    relevant matches open(_) | close(_) | gone(_);
    Main = relevant >> Files;
    Files = {let f; open(f) (Files | (close(f)+ gone(f)))}?;
    """,
    name="left.rml",
)
LAST = compile("a matches {event:'a'}; b matches {event:'b'}; Main = a b;", name="last.rml")


def event(kind: str, name: str, line: int, **parts: Any) -> Event:
    return {"event": kind, "name": name, **parts, "file": "app.py", "line": line, "thread": 1, "time": line / 100}


def opened(number: int, line: int = 1) -> Event:
    return event("func_post", "open", line, resultId=number)


def wrote(number: int, line: int = 2) -> Event:
    return event("func_pre", "F.write", line, targetId=number)


def closed(number: int, line: int = 3) -> Event:
    return event("func_pre", "F.close", line, targetId=number)


def gone(number: int) -> Event:
    return {"event": "gone", "name": "F", "targetId": number, "thread": 1, "time": 1.5}


def judged(laws: list[RmlLaw], events: list[Event], **options: Any) -> LawRun:
    run = LawRun(laws, **options)
    run.deliver(events)
    run.end()
    return run


def places(run: LawRun) -> list[tuple[str, str | None, int | None, int]]:
    return [(each.law, each.file, each.line, each.count) for each in run.findings]


# -- what is found ---------------------------------------------------------------------------------


def test_nothing_is_found_in_a_good_program() -> None:
    run = judged([FILES, LOCKS], [opened(1), wrote(1), closed(1)])
    assert run.findings == []
    assert (run.events, run.threads, run.violations, run.fault) == (3, 1, 0, None)


def test_the_law_goes_on_after_a_violation() -> None:
    events = [opened(1), closed(1), wrote(1, 10), opened(2), wrote(2), wrote(1, 11), closed(2), wrote(2, 12)]
    run = judged([FILES], events)
    assert places(run) == [("files.rml", "app.py", line, 1) for line in (10, 11, 12)]
    assert [each.rejected_at for each in run.findings] == [3, 6, 8]


def test_findings_at_one_place_are_one() -> None:
    events = [wrote(1, 10), wrote(2, 10), wrote(3, 11), wrote(1, 10)]
    run = judged([FILES], events)
    assert places(run) == [("files.rml", "app.py", 10, 3), ("files.rml", "app.py", 11, 1)]
    assert run.violations == 4
    assert run.findings[0].event is events[0]


def test_findings_without_a_place_are_told_apart_by_names() -> None:
    events = [{"event": "func_pre", "name": name, "targetId": 1} for name in ("F.write", "F.close", "F.write")]
    assert [(each.count, each.file) for each in judged([FILES], events).findings] == [(2, None), (1, None)]


def test_times_of_the_first_and_the_last() -> None:
    first, second = wrote(1, 10), wrote(1, 10)
    second["time"] = 7.5
    finding = judged([FILES], [first, second]).findings[0]
    assert (finding.first_time, finding.last_time) == (0.1, 7.5)


def test_a_law_sees_only_what_it_can_match() -> None:
    """Laws without a filter reject what they don't know; here they must not meet it because of another law."""
    run = judged([LOCKS, FILES], [opened(1), event("func_pre", "L.take", 5, targetId=9), closed(1)])
    assert [(each.law, each.rejected_at) for each in run.findings] == [("locks.rml", "end")]


def test_a_law_about_everything_sees_everything() -> None:
    law = compile("a matches {event:'a'}; Main = a*;")
    assert law.watches is not None
    everything = compile("a matches {event:'a'}; other not matches a; Main = a* other;")
    run = judged([law, everything], [{"event": "a"}, {"event": "b"}])
    assert run.findings == []


def test_what_is_lost_is_found_once_and_then_left() -> None:
    law = compile(r"a matches {event:'a'}; b matches {event:'b'}; Main = a none \/ b;", name="lost.rml")
    run = judged([law], [{"event": "a", "line": 4, "file": "x.py"}, {"event": "b"}, {"event": "b"}])
    assert [(each.doomed_at, each.rejected_at, each.line) for each in run.findings] == [(1, None, 4)]
    assert run.findings[0].doomed_event is not None


def test_what_is_lost_before_it_begins() -> None:
    run = judged([compile("Main = none;", name="never.rml")], [{"event": "a"}])
    assert [(each.doomed_at, each.rejected_at, each.file) for each in run.findings] == [(0, None, None)]


def test_a_law_that_is_true_for_good_is_left() -> None:
    law = compile("a matches {event:'a'}; Main = a all;")
    run = judged([law], [{"event": "a"}, {"event": "a"}])
    run.deliver([{"event": "a"}])
    assert run.findings == []
    assert run.laws[0].over


@pytest.mark.parametrize("which", CORES)
@pytest.mark.parametrize("seed", range(200))
def test_batches_of_any_size_find_what_the_oracle_rejects(seed: int, which: str) -> None:
    text, events = random_case(seed)
    oracle = Oracle(text)
    rejected = []
    for number, each in enumerate(events, 1):
        if oracle.can_step(each):
            oracle.step(each)
        else:
            rejected.append(number)
    events = [{**each, "file": "f", "line": number} for number, each in enumerate(events, 1)]
    law = compile(text, name="r")
    routes = Routes([LawJudge(law)])
    if not all(routes.find(e.get("event"), e.get("name")) for e in events):
        pytest.skip("the law never meets some of these")
    at = 0
    sizes = random.Random(seed)
    with using(which):
        run = LawRun([law])
        while at < len(events):
            size = sizes.randint(1, 4)
            run.deliver(events[at : at + size])
            at += size
    found = [each.rejected_at for each in run.findings if each.rejected_at is not None]
    lost = [each.doomed_at for each in run.findings if each.doomed_at is not None]
    assert run.fault is None
    if lost:
        assert found == [number for number in rejected if number < (lost[0] or 0)]
    else:
        assert found == rejected


def test_very_many_places_are_counted_only(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("lawful.engine.finding_log._MOST_FINDINGS", 3)
    run = judged([FILES], [wrote(1, line) for line in (1, 2, 3, 4, 5, 1)])
    assert (len(run.findings), run.log.omitted, run.violations) == (3, 2, 6)


# -- the end ---------------------------------------------------------------------------------------


def test_each_object_left_open_is_found_where_it_began() -> None:
    events = [opened(1, 10), opened(2, 20), opened(3, 10), opened(4, 30), wrote(1), closed(4)]
    run = judged([FILES], events)
    assert places(run) == [("files.rml", "app.py", 10, 2), ("files.rml", "app.py", 20, 1)]
    first = run.findings[0]
    assert (first.rejected_at, first.event) == ("end", None)
    assert first.expectation.bindings == {"f": 1} or first.expectation.bindings == {"f": 3}


def test_the_end_of_a_law_without_objects() -> None:
    run = judged([LAST], [{"event": "a", "file": "x.py", "line": 3}])
    assert [(each.rejected_at, each.expectation.expected) for each in run.findings] == [("end", ("b",))]
    assert places(run) == [("last.rml", "x.py", 3, 1)]


def test_the_end_without_any_event() -> None:
    assert places(judged([LAST], [])) == [("last.rml", None, None, 1)]


def test_a_child_does_not_judge_the_end() -> None:
    run = LawRun([FILES])
    run.deliver([opened(1)])
    run.end(verdict=False)
    assert run.findings == []
    run.deliver([wrote(7)])
    assert run.events == 1


def test_the_end_is_not_judged_if_events_were_dropped() -> None:
    run = LawRun([FILES])
    run.deliver([opened(1)])
    run.dropped = 3
    run.end()
    assert run.findings == []


# -- evidence --------------------------------------------------------------------------------------


def history(run: LawRun, number: int = 0) -> list[int]:
    return [each.number for each in run.findings[number].history]


def test_the_events_of_the_object_are_shown() -> None:
    events = [opened(1), opened(2), wrote(2), wrote(1), closed(1), wrote(2), wrote(1, 10), closed(2), wrote(1, 11)]
    run = judged([FILES], events)
    assert history(run) == [1, 4, 5]
    assert history(run, 1) == [1, 4, 5, 7]
    assert run.findings[0].history[0].event is events[0]


def test_the_first_and_the_last_events_stay_however_many_there_are() -> None:
    run = LawRun([FILES], history=4)
    run.deliver([opened(1)])
    for start in range(0, 5000, 100):
        run.deliver([each for number in range(start, start + 100) for each in (opened(number + 10), wrote(1))])
    run.deliver([closed(1), wrote(1, 10)])
    assert history(run) == [1, 9999, 10001, 10002]


def test_events_after_the_violation_in_its_batch_do_not_push_out_those_before() -> None:
    events = [opened(1), closed(1), wrote(1, 10), *[wrote(1, 11)] * 500]
    assert history(judged([FILES], events, history=3)) == [1, 2]


@pytest.mark.parametrize("history", [0, 1, 10])
@pytest.mark.parametrize("size", [1, 3, 100])  # of the batches
def test_the_end_of_an_object_is_told_where_the_object_began(size: int, history: int) -> None:
    events = [opened(1, 10), opened(2, 20), opened(3, 20), opened(4, 30), closed(4, 31), gone(4)]
    events += [gone(1), gone(3), gone(2), opened(5, 10), gone(5), opened(6, 40)]
    run = LawRun([LEFT], history=history)
    for start in range(0, len(events), size):
        run.deliver(events[start : start + size])
    assert places(run) == [("left.rml", "app.py", 10, 2), ("left.rml", "app.py", 20, 2)]
    assert [each.first_time for each in run.findings] == [1.5, 1.5]
    run.end()
    assert places(run)[2:] == [
        ("left.rml", "app.py", 10, 2),
        ("left.rml", "app.py", 20, 2),
        ("left.rml", "app.py", 40, 1),
    ]
    total = LawRun([LEFT])
    total.merge(json.loads(json.dumps(run.snapshot())))
    assert places(total) == places(run)
    assert [each.key for each in total.findings] == [each.key for each in run.findings]


def test_no_history_if_none_is_wanted() -> None:
    run = judged([FILES], [opened(1), closed(1), wrote(1, 10)], history=0)
    assert run.findings[0].history == ()


def test_memory_is_bounded_and_says_so() -> None:
    from lawful.engine.evidence import RecentEvents
    from lawful.engine.findings import Numbered

    kept = RecentEvents(2, objects=100, others=10)
    number = 0
    for target in range(1000):
        for _ in range(10):
            number += 1
            kept.add([Numbered(number, wrote(target))])
        number += 1
        kept.add([Numbered(number, wrote(0))])
        assert len(kept) <= 100
    assert kept.forgot
    monitor = FILES.monitor()
    # What is used all the time is never forgotten.
    assert [each.number for each in kept.about(monitor, [0], number + 1)] == [1, number]
    assert [each.event["targetId"] for each in kept.about(monitor, [999], number + 1)] == [999, 999]


def test_what_is_gone_is_forgotten_first() -> None:
    from lawful.engine.evidence import RecentEvents
    from lawful.engine.findings import Numbered

    kept = RecentEvents(2, objects=20)
    kept.add([Numbered(1, wrote(1))])
    for number in range(2, 500):
        kept.add([Numbered(number, wrote(number)), Numbered(number, {"event": "gone", "targetId": number})])
    assert not kept.forgot
    assert [each.number for each in kept.about(FILES.monitor(), [1], 1000)] == [1]


def test_objects_are_found_by_keyword_and_by_fields_of_own_events() -> None:
    law = compile("a(x) matches {event:'a', userId:x}; b(x) matches {event:'b', userId:x}; Main = {let x; a(x) b(x)};")
    run = judged([law], [{"event": "a", "userId": 4}, {"event": "a", "userId": 4, "line": 2, "file": "f"}])
    assert history(run) == [1]


# -- contexts --------------------------------------------------------------------------------------


def test_findings_know_the_tests_they_come_from() -> None:
    run = LawRun([FILES])
    for context in ("one", "two", "one"):
        run.log.context = context
        run.deliver([wrote(1, 10)])
    run.log.context = None
    run.deliver([wrote(1, 10)])
    assert run.findings[0].contexts == {"one": 2, "two": 1}
    assert run.findings[0].count == 4


# -- raising and stopping --------------------------------------------------------------------------


def test_raise_in_front_of_a_call() -> None:
    run = LawRun([FILES], on_violation="raise")
    run.deliver([opened(1)])
    run.deliver([closed(1)])
    for _ in range(2):
        with pytest.raises(Violation, match=r"files\.rml: F\.write on object 1 is not allowed here") as caught:
            run.deliver([wrote(1, 10)])
        assert caught.value.finding is run.findings[0]
    assert run.findings[0].count == 2
    run.deliver([opened(2)])
    run.end()
    assert len(run.findings) == 2


def test_what_has_happened_is_only_reported() -> None:
    law = compile("a matches {event:'func_post', name:'f'}; Main = a;")
    run = LawRun([law], on_violation="raise")
    run.deliver([event("func_post", "f", 1)])
    run.deliver([event("func_post", "f", 2)])
    assert len(run.findings) == 1


def test_stop_ends_each_thread_once() -> None:
    run = LawRun([FILES], on_violation="stop")
    with pytest.raises(Stop) as caught:
        run.deliver([wrote(1, 10)])
    assert isinstance(caught.value, SystemExit)
    assert caught.value.code == 1
    run.deliver([opened(1)])  # what is cleaned up on the way out
    ended = []

    def other() -> None:
        try:
            run.deliver([{"event": "gone", "targetId": 5}])
            run.deliver([opened(2)])
        except Stop as stop:
            ended.append(stop.finding)

    thread = threading.Thread(target=other)
    thread.start()
    thread.join()
    assert ended == [run.findings[0]]


# -- errors ----------------------------------------------------------------------------------------


def broken_feed(events: object, numbers: object) -> None:
    raise ZeroDivisionError("oops")


@pytest.mark.parametrize("on_violation", ["raise", "stop"])
def test_a_fault_never_reaches_a_program_that_is_told_at_once(
    on_violation: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = LawRun([FILES], on_violation=on_violation)
    monkeypatch.setattr(run.laws[0].monitor, "feed", broken_feed)
    # Whoever raises it here is a file of tests: no frame of it would be there in a real fault.
    monkeypatch.setattr("lawful.engine.run.is_programs", lambda error: False)
    run.deliver([opened(1)])
    run.deliver([wrote(7)])
    run.end()
    assert isinstance(run.fault, ZeroDivisionError)
    assert run.findings == []
    assert run.errors == [run.errors[0]]
    assert run.errors[0].startswith("internal error in Lawful: ZeroDivisionError: oops (test_run.py:")


def test_a_fault_stops_a_tracer_that_gathers(monkeypatch: pytest.MonkeyPatch) -> None:
    run = LawRun([FILES])
    monkeypatch.setattr(run.laws[0].monitor, "feed", broken_feed)
    with pytest.raises(ZeroDivisionError):
        run.deliver([opened(1)])
    run.deliver([wrote(1)])
    assert run.events == 1


def test_events_that_are_none_are_a_fault_and_no_more() -> None:
    run = LawRun([FILES], on_violation="raise")
    run.deliver([None])  # type: ignore[list-item]
    assert run.fault is not None


@pytest.mark.parametrize("odd", [{}, {"event": []}, {"event": {"a": 1}, "name": [2]}, {"event": "a", "thread": "x"}])
def test_odd_events_do_no_harm(odd: Event) -> None:
    everything = compile("Main = all;")
    run = judged([FILES, everything], [odd, wrote(1, 10)])
    assert run.fault is None
    assert len(run.findings) == 1
    last = compile("a matches {event:'a'}; other not matches a; Main = other* a other;")
    assert judged([last], [odd, odd]).fault is None


def test_a_signal_handler_in_the_middle_of_the_judging() -> None:
    """What it raises goes on into the program, and what it does is judged after the batch."""

    class Timeout(Exception):
        pass

    run = LawRun([FILES], on_violation="raise")
    monitor = run.laws[0].monitor
    feed = monitor.feed

    def interrupted(events: list[Event], numbers: list[int]) -> Any:
        signal.raise_signal(signal.SIGUSR1)
        return feed(events, numbers)

    monitor.feed = interrupted  # type: ignore[assignment, method-assign]
    calls = []

    def quiet(*_: object) -> None:
        calls.append(1)
        if len(calls) < 3:
            run.deliver([opened(len(calls))])

    def loud(*_: object) -> None:
        raise Timeout

    before = signal.signal(signal.SIGUSR1, quiet)
    try:
        run.deliver([opened(9)])
        assert run.events == 3
        assert run.fault is None
        signal.signal(signal.SIGUSR1, loud)
        with pytest.raises(Timeout):
            run.deliver([opened(10)])
    finally:
        signal.signal(signal.SIGUSR1, before)
    assert isinstance(run.fault, Timeout)


def test_an_interrupt_is_passed_on(monkeypatch: pytest.MonkeyPatch) -> None:
    run = LawRun([FILES])

    def interrupted(events: object, numbers: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(run.laws[0].monitor, "feed", interrupted)
    with pytest.raises(KeyboardInterrupt):
        run.deliver([opened(1)])
    assert run.errors == ["interrupted by KeyboardInterrupt while events were being judged"]


def test_warnings_of_laws_and_others() -> None:
    law = compile("a(x) matches {event:'a', x:x} with x > 3; Main = a(_)?;", name="guard.rml")
    run = LawRun([law])
    run.deliver([{"event": "a", "x": "text"}])
    run.warn("something else")
    run.warn("something else")
    assert len(run.warnings) == 2
    assert run.warnings[0].startswith("guard.rml: ")
    assert run.warnings[1] == "something else"


def test_many_threads() -> None:
    run = LawRun([FILES])

    def work(thread: int) -> None:
        for number in range(200):
            target = thread * 1000 + number
            events = [opened(target), wrote(target), closed(target), wrote(target, thread)]
            run.deliver([{**each, "thread": thread} for each in events])

    threads = [threading.Thread(target=work, args=(thread,)) for thread in range(1, 9)]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    run.end()
    assert (run.events, run.threads, run.fault) == (6400, 8, None)
    assert sorted((each.line, each.count) for each in run.findings) == [(thread, 200) for thread in range(1, 9)]


# -- on_finding, writer ----------------------------------------------------------------------------


def test_each_finding_is_told_once() -> None:
    told: list[Any] = []
    run = LawRun([FILES], on_finding=told.append)
    run.deliver([opened(1), wrote(2, 10), wrote(2, 10), wrote(2, 11)])
    assert [each.line for each in told] == [10, 11]
    run.deliver([wrote(2, 10)])
    run.end()
    assert told == run.findings
    assert told[0].history is not None


def test_the_trace_is_written(tmp_path: Path) -> None:
    path = tmp_path / "t.jsonl"
    events = [opened(1), wrote(1), {"event": "x"}]
    with TraceWriter(path) as writer:
        run = LawRun([FILES], writer=writer)
        run.deliver(events[:2])
        assert len(path.read_text().splitlines()) == 2
        run.deliver(events[2:])
    assert [json.loads(line) for line in path.read_text().splitlines()] == events


def test_a_full_disk_does_not_end_the_judging() -> None:
    class Full(io.BytesIO):
        def write(self, data: object, /) -> int:
            raise OSError(28, "No space left on device")

    run = LawRun([FILES], writer=TraceWriter(Full()))
    run.deliver([opened(1)])
    run.deliver([wrote(2, 10)])
    assert len(run.findings) == 1
    assert run.fault is None
    assert len(run.errors) == 1
    assert "No space left on device" in run.errors[0]


# -- several processes -----------------------------------------------------------------------------


def test_snapshots_are_json_and_merge() -> None:
    one = judged([FILES, LOCKS], [opened(1), closed(1), wrote(1, 10), wrote(1, 11), opened(2, 30)])
    two = judged([FILES, LOCKS], [wrote(1, 10), wrote(5, 12), opened(3, 30), {"event": "x", "thread": 2}])
    two.warn("careful")
    two.errors.append("broken")
    two.dropped = 4
    total = LawRun([FILES, LOCKS])
    for each in (one, two):
        total.merge(json.loads(json.dumps(each.snapshot())))
    assert sorted(places(total)) == sorted(
        ("files.rml", "app.py", line, count) for line, count in ((10, 2), (11, 1), (12, 1), (30, 2))
    )
    assert (total.events, total.threads, total.processes, total.dropped) == (9, 3, 3, 4)
    assert (total.warnings, total.errors) == (["careful"], ["broken"])
    assert [each.number for each in total.findings[0].history] == [1, 2]


def test_merging_a_snapshot_into_nothing_is_the_snapshot() -> None:
    run = LawRun([FILES, LAST])
    run.log.context = "t"
    run.deliver([opened(1), wrote(2, 10), wrote(2, 10), {"event": "b", "line": 3, "file": "y"}])
    run.end()
    other = LawRun([FILES, LAST])
    other.processes = 0
    other.merge(run.snapshot())
    assert other.snapshot() == run.snapshot()


def test_a_forked_child_begins_with_nothing_found_and_all_that_was_seen() -> None:
    run = LawRun([FILES])
    run.deliver([opened(1), wrote(9, 10)])
    run.before_fork()
    run.after_fork_in_child()
    assert (run.findings, run.events) == ([], 0)
    run.deliver([closed(1), wrote(9, 10), wrote(1, 11)])
    assert [(each.line, each.count) for each in run.findings] == [(10, 1), (11, 1)]
    assert history(run, 1) == [1, 3]


def test_no_thread_judges_while_another_forks() -> None:
    run = LawRun([FILES])
    run.before_fork()
    thread = threading.Thread(target=run.deliver, args=([opened(1)],))
    thread.start()
    thread.join(0.05)
    assert thread.is_alive()
    run.after_fork_in_parent()
    thread.join()
    assert run.events == 1
