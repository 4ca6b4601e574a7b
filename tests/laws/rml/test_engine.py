"""The fast engine against the literal oracle, step by step, on random laws and traces; and what only it does."""

from __future__ import annotations

import pickle
import random
import threading
from typing import Any

import pytest
from hypothesis import given, settings

from lawful import rml
from lawful.errors import LawError
from lawful.laws.protocol import Verdict
from laws.rml.cores import CORES, using
from oracle.random_rml import cases, random_case
from oracle.rml import Oracle

DECLARATIONS = """
a matches {n:'a'}; b matches {n:'b'}; c matches {n:'c'};
p(x) matches {n:'p', v:x}; q(x) matches {n:'q', v:x}; r(x,y) matches {n:'r', v:x, w:y};
"""


def law_of(text: str) -> rml.RmlLaw:
    return rml.compile(DECLARATIONS + text)


def a_to_z(word: str) -> list[dict[str, Any]]:
    """Events from letters; `p1` and `r12` carry values."""
    events: list[dict[str, Any]] = []
    for item in word.split():
        event: dict[str, Any] = {"n": item[0]}
        for key, digit in zip("vw", item[1:], strict=False):
            event[key] = int(digit)
        events.append(event)
    return events


def agree(text: str, events: list[dict[str, Any]]) -> None:
    """All machines and the oracle say the same after every event; a law called lost is never accepted later."""
    law = rml.compile(text)
    oracle = Oracle(text)
    monitors = []
    for which in CORES:
        with using(which):
            monitors.append(law.monitor())
    for number in range(len(events) + 1):
        for monitor in monitors:
            said = monitor.verdict
            if monitor.doomed_at is not None and monitor.rejected_at is None:
                assert said == Verdict.FALSE
                assert not oracle.may_halt()
            else:
                assert said == oracle.verdict, f"after {number} events"
            assert (monitor.rejected_at is not None) == oracle.failed
        assert len({monitor.doomed_at for monitor in monitors}) == 1
        if number == len(events) or oracle.failed:
            break
        oracle.step(events[number])
        for monitor in monitors:
            monitor.step(events[number])


@pytest.mark.parametrize("start", range(0, 1000, 100))
def test_many_random_laws(start: int) -> None:
    for seed in range(start, start + 100):
        text, events = random_case(seed)
        agree(text, events)


@given(cases())
@settings(max_examples=300)
def test_random_laws(case: tuple[str, list[dict[str, Any]]]) -> None:
    agree(*case)


@pytest.mark.parametrize("which", CORES)
@pytest.mark.parametrize("seed", range(0, 300, 5))
def test_pickling_anywhere_changes_nothing(seed: int, which: str) -> None:
    text, events = random_case(seed)
    law = rml.compile(text)
    with using(which):
        plain, moved = law.monitor(), law.monitor()
        for event in events:
            moved = pickle.loads(pickle.dumps(moved))
            assert moved.step(event) == plain.step(event)
            assert moved.outcome() == plain.outcome()


@pytest.mark.parametrize("seed", range(1, 120, 3))
def test_a_state_moves_between_the_cores(seed: int) -> None:
    if len(CORES) < 2:
        pytest.skip("the C core is not built")
    text, events = random_case(seed)
    law = rml.compile(text)
    here = law.monitor()
    expected = law.monitor()
    for number, event in enumerate(events):
        with using(CORES[number % 2]):
            here = pickle.loads(pickle.dumps(here))
            assert here.step(event) == expected.step(event)


@pytest.mark.parametrize("which", CORES)
@pytest.mark.parametrize("seed", range(0, 200, 5))
def test_feeding_is_stepping(seed: int, which: str) -> None:
    text, events = random_case(seed)
    law = rml.compile(text)
    with using(which):
        fed, stepped = law.monitor(), law.monitor()
    fed.feed(events)
    for event in events:
        stepped.step(event)
    assert fed.outcome() == stepped.outcome()


@pytest.mark.parametrize("which", CORES)
@pytest.mark.parametrize(
    ("law", "word", "doomed_at", "rejected_at"),
    [
        (r"Main = a (b /\ c);", "a b", 0, 2),
        (r"Main = a (p(1) /\ p(2)) \/ b;", "a", 1, "end"),
        ("Main = a b Main;", "a b a", 0, "end"),
        ("Main = (a none)? b;", "a b", 1, 2),
        ("Main = all none;", "a a a", 0, "end"),
        ("Main = (a b)!;", "a", None, None),
        ("Main = {let x; p(x) (q(x) | Main)};", "p1 q1", 0, "end"),
        (r"Main = {let x; p(x) ((q(x) /\ a) | Main)}?;", "p1 p2", 1, "end"),
        ("Main = a? (b none)?;", "b", 1, "end"),
        ("Main = c (a >> a : a{2}) \\/ b;", "c", 1, "end"),
        ("Main = a{60} none?;", "a", None, "end"),
    ],
)
def test_a_law_is_lost_before_an_event_fails(
    law: str, word: str, doomed_at: int | None, rejected_at: int | str | None, which: str
) -> None:
    with using(which):
        outcome = law_of(law).check(a_to_z(word))
    assert (outcome.doomed_at, outcome.rejected_at) == (doomed_at, rejected_at)


@pytest.mark.parametrize("which", CORES)
def test_doom_is_exact_for_ground_laws(which: str) -> None:
    """Brute force: no word up to a length is accepted from a doomed state, and some word is from every other."""
    letters = a_to_z("a b c p1 p2")
    laws = [
        r"Main = (a b)* /\ (a c)*;",
        r"Main = (a \/ b) (c /\ (c \/ p(1)));",
        r"Main = (a|b) (none \/ c?) ;",
        r"Main = (a >> b* : c*) p(1)?;",
        r"x not matches a; Main = (x a) /\ (a \/ b) any;",
        r"Main = a{2} /\ a any a? ;",
        r"Main = ((p(1) \/ p(2)) /\ p(1))+ c /\ any any?;",
    ]
    for text in laws:
        law = law_of(text)
        for first in [[], *([letter] for letter in letters), *([x, y] for x in letters for y in letters)]:
            with using(which):
                monitor = law.monitor()
            monitor.feed(first)
            if monitor.rejected_at is not None:
                continue
            hope = _some_word_is_accepted(monitor, letters, 4)
            assert (monitor.verdict == Verdict.FALSE) is not hope, (text, first)


def _some_word_is_accepted(monitor: Any, letters: list[Any], length: int) -> bool:
    if monitor.outcome().accepted:
        return True
    if length == 0:
        return False
    for letter in letters:
        copy = pickle.loads(pickle.dumps(monitor))
        copy.step(letter)
        if copy.rejected_at is None and _some_word_is_accepted(copy, letters, length - 1):
            return True
    return False


@pytest.mark.parametrize("which", CORES)
def test_once_rejected_always_rejected(which: str) -> None:
    with using(which):
        monitor = law_of("Main = a b;").monitor()
    assert [monitor.step(event) for event in a_to_z("a a b")] == ["currently_false", "false", "false"]
    assert monitor.outcome().rejected_at == 2
    assert monitor.events == 3
    assert monitor.end() == Verdict.FALSE


@pytest.mark.parametrize("which", CORES)
def test_the_four_verdicts(which: str) -> None:
    with using(which):
        monitor = law_of("Main = a? b all;").monitor()
    seen = [monitor.verdict] + [monitor.step(event) for event in a_to_z("a b c")]
    assert seen == ["currently_false", "currently_false", "true", "true"]
    assert monitor.end() == Verdict.TRUE


@pytest.mark.parametrize("which", CORES)
def test_a_guard_over_the_wrong_type_warns_and_does_not_hold(which: str) -> None:
    law = rml.compile("big(m) matches {v:x} with x > m && x != 7; Main = big(3)*;")
    with using(which):
        monitor = law.monitor()
    assert monitor.step({"v": 4}) == "currently_true"
    assert monitor.step({"v": "four"}) == "false"
    assert monitor.warnings() == ("`>` wants numbers, not a string (at event 2)",)
    monitor = law.monitor()
    monitor.feed([{"v": 4}] * 7 + [{"v": None}])
    assert monitor.warnings() == ("`>` wants numbers, not null (at event 8)",)


@pytest.mark.parametrize("which", CORES)
@pytest.mark.parametrize("value", [2**61, 2**62 - 1, 2**62, -(2**62), -(2**62) - 1, 2**64, 10**30])
def test_integers_of_any_size(value: int, which: str) -> None:
    law = rml.compile(
        "p(x) matches {n:'p', v:x}; sum(y) matches {n:'s', v:y};"
        "Main = {let x; p(x) (G<x+1, x*2, x-1>)}; G<u,v,w> = sum(u) sum(v) sum(w);"
    )
    trace = [{"n": "p", "v": value}, *({"n": "s", "v": v} for v in (value + 1, value * 2, value - 1))]
    with using(which):
        assert law.check(trace).accepted
        trace[2] = {"n": "s", "v": float(value * 2)}
        assert law.check(trace).rejected_at == 3


@pytest.mark.parametrize("which", CORES)
def test_a_power_cannot_stop_the_monitor(which: str) -> None:
    law = rml.compile("p(x) matches {v:y} with y^y > x; Main = p(1)*;")
    with using(which):
        monitor = law.monitor()
        assert monitor.step({"v": 10**12}) == "false"
        assert monitor.warnings() == ("`^` gives too large a number (at event 1)",)


@pytest.mark.parametrize("which", CORES)
def test_a_number_of_thousands_of_digits_can_be_shown(which: str) -> None:
    law = law_of("Main = G<10^3000>; G<x> = p(x) p(x*x);")
    with using(which):
        monitor = law.monitor()
    monitor.step({"n": "q"})
    (expected,) = monitor.expectation({"n": "q"}).expected
    assert expected.startswith("p(1000")
    assert len(expected) < 80


@pytest.mark.parametrize("which", CORES)
@pytest.mark.parametrize(
    "expression",
    [
        "(" * 900 + "a" + ")" * 900,
        "(" * 900 + "a" + ")?" * 900,
        "a >> " * 900 + "a",
        "{let x; " * 900 + "a" + "}" * 900,
        "if (1 < 2) a else " * 900 + "b",
        "(a /\\ " * 900 + "a" + ")" * 900,
        "(" * 1900 + "a" + ")?" * 1900,
        "a >> " * 1900 + "a",
    ],
    ids=["groups", "options", "filters", "lets", "ifs", "intersections", "options2", "filters2"],
)
def test_deep_nesting(expression: str, which: str) -> None:
    law = law_of(f"Main = {expression};")
    with using(which):
        assert law.check(a_to_z("a")).accepted
        assert law.check(a_to_z("b")).rejected_at == ("end" if ">>" in expression else 1)


@pytest.mark.parametrize("which", CORES)
@pytest.mark.parametrize("depth", [150, 900])
def test_deep_patterns_data_and_events(depth: int, which: str) -> None:
    law = rml.compile(
        f"e(x) matches {{v:x}}; o matches {{n:{'{n:' * depth}1{'}' * depth}}}; l(x) matches {{l:x}};"
        f"Main = o? l({'[' * depth}1{']' * depth})? {{let x; e(x) e(x)}}? F<{'(' * depth}1{'+1)' * depth}>;"
        "F<n> = e(n);"
    )
    deep: Any = 1
    for _ in range(depth):
        deep = {"n": deep}
    nested: Any = 1
    for _ in range(depth):
        nested = [nested]
    value: Any = 0
    for _ in range(5000):
        value = {"k": value}
    trace = [{"n": deep}, {"l": nested}, {"v": value}, {"v": value}, {"v": depth + 1}]
    with using(which):
        try:
            assert law.check(trace).accepted
        except LawError as error:  # CPython 3.12 cannot go so deep: then it is refused by name
            assert error.slug == "rml-too-deep"
            assert depth > 500
            return
        monitor = law.monitor()
    monitor.feed([*trace[:3], {"v": {"k": 1}}])
    assert monitor.rejected_at == 4
    assert monitor.relevant(trace[2], [value])


@pytest.mark.parametrize("which", CORES)
def test_a_variable_without_a_value_spoils_only_the_side_it_stands_on(which: str) -> None:
    law = rml.compile("g matches {v:x} with x > 1 || y > 1; Main = g*;")
    with using(which):
        assert law.check([{"v": 2}]).accepted
        assert law.check([{"v": 1}]).rejected_at == 1
    agree("g matches {v:x} with x > 1 || y > 1; Main = g*;", [{"v": 2}, {"v": 1}])


@pytest.mark.parametrize("which", CORES)
@pytest.mark.parametrize("wrong", [None, 1, "x", ["event"], (("n", "a"),)])
def test_what_is_no_event_is_refused(wrong: Any, which: str) -> None:
    with using(which):
        monitor = law_of("Main = a*;").monitor()
        assert monitor.step({"n": "a"}) == "currently_true"
        with pytest.raises(TypeError, match="an event is a dict"):
            monitor.step(wrong)
        assert monitor.step({"n": "a"}) == "currently_true"


@pytest.mark.parametrize("wrong", ["trace.jsonl", b"{}", {"event": "a"}])
def test_what_is_no_trace_is_refused(wrong: Any) -> None:
    with pytest.raises(TypeError, match="open_trace"):
        law_of("Main = a*;").check(wrong)


def test_what_is_no_law_is_refused() -> None:
    with pytest.raises(TypeError, match="a law is text"):
        rml.compile(None)  # type: ignore[arg-type]


@pytest.mark.parametrize("which", CORES)
@pytest.mark.parametrize("operator", [" ", r" \/ ", " | ", r" /\ "])
def test_long_chains(operator: str, which: str) -> None:
    law = law_of(f"Main = {operator.join(['a'] * 3000)};")
    trace = a_to_z("a") * (3000 if operator in (" ", " | ") else 1)
    with using(which):
        assert law.check(trace[:60]).rejected_at == ("end" if len(trace) > 60 else None)


@pytest.mark.parametrize("which", CORES)
def test_two_threads_with_monitors_of_one_law(which: str) -> None:
    law = law_of("Main = {let x; p(x) (q(x) | Main)}?;")
    trace = [{"n": n, "v": v} for v in range(2000) for n in "pq"]
    outcomes = []

    def run() -> None:
        outcomes.append(law.check(trace))

    with using(which):
        threads = [threading.Thread(target=run) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert [outcome.accepted for outcome in outcomes] == [True] * 4


@pytest.mark.parametrize("which", CORES)
def test_an_event_is_found_among_many_instances(which: str) -> None:
    """Shuffles left and right of the core, intersections and nested growth, against the oracle, many alive at once."""
    shapes = [
        "Main = {let x; p(x) (q(x) | Main)}?;",
        "Main = {let x; p(x) (Main | q(x))}?;",
        "Main = {let x; p(x) (Main | q(x) | a)}?;",
        r"Main = {let x; p(x) ((q(x) >> q(x) a* : all) /\ Main)}? ;",
        r"n not matches p(_); Main = n* {let x; p(x) ((q(x) >> q(x) empty : all) /\ Main)}?;",
        "Main = {let x; p(x) (S<x> | Main)}?; S<x> = {let y; r(x,y) (r(y,x) | S<x>)}? q(x);",
        r"Main = {let x; p(x) ((q(_) | Main) /\ (q(_) >> q(x) all))}?;",
        "Main = {let x; p(x) Main q(x)}? ;",
        "Main = ({let x; p(x) (q(x) | Main)}?)! ;",
        r"Main = {let x; p(x) ((q(x) \/ r(x,_)) Main | Main)}?;",
    ]
    words = ["p1 p2 p3 q2 q1 p4 q4 q3", "p1 p2 q1 a q2 a a", "p1 p1 q1 q1", "p1 r12 p2 r13 r31 q2 r21 q1"]
    for text in shapes:
        for word in words:
            agree(DECLARATIONS + text, a_to_z(word))


@pytest.mark.parametrize("seed", range(6))
def test_instances_that_come_back_to_a_shared_place_keep_their_turn(seed: int) -> None:
    """Each instance waits for an `a` that any may take: the first in order does, and queues again at its old place."""
    choose = random.Random(seed)
    text = "Main = {let x; p(x) (Main | (a q(x))*)}?;" if seed % 2 else "Main = {let x; p(x) ((a q(x))* | Main)}?;"
    free: list[int] = []
    busy: list[int] = []
    trace: list[dict[str, Any]] = []
    for number in range(300):
        trace.append({"n": "p", "v": number})
        free.append(number)
        for _ in range(3):
            if free and choose.random() < 0.5:
                trace.append({"n": "a"})
                # `Main | A`: the innermost operand, the newest instance, comes first; `A | Main`: the oldest.
                busy.append(free.pop(free.index(max(free) if seed % 2 else min(free))))
            elif busy:
                done = busy.pop(choose.randrange(len(busy)))
                trace.append({"n": "q", "v": done})
                free.append(done)
    wrong = [*trace, {"n": "q", "v": free[0]}] if free else [*trace, {"n": "b"}]
    law = law_of(text)
    for which in CORES:
        with using(which):
            assert law.check(trace).rejected_at in (None, "end")
            assert law.check(wrong).rejected_at == len(wrong)


@pytest.mark.parametrize("seed", range(8))
def test_growth_within_growth_of_another_kind(seed: int) -> None:
    """Collections in a shuffle, each with iterators in an intersection, and the other way round; dictionaries know."""
    choose = random.Random(seed)
    declarations = """
        new(c) matches {n:'new', c:c}; iter(c,i) matches {n:'iter', c:c, i:i}; next(c,i) matches {n:'next', c:c, i:i};
        add(c) matches {n:'add', c:c}; about(c,i) matches next(c,i) | add(c); of(c) matches iter(c,_) | add(c);
        not_new not matches new(_);
    """
    laws = [
        # An iterator may not be used after its collection was changed.
        r"""
        Main = {let c; new(c) (Coll<c> | Main)}?;
        Coll<c> = (add(c) \/ next(c,_))* {let i; iter(c,i) ((about(c,i) >> next(c,i)* add(c)*) /\ Coll<c>)}?;
        """,
        # Every iterator allows one change.
        r"""
        Main = not_new* {let c; new(c) (Coll<c> /\ Main)}?;
        Coll<c> = of(c) >> Its<c>;
        Its<c> = {let i; iter(c,i) (add(c)? | Its<c>)}?;
        """,
    ]
    law = rml.compile(declarations + laws[seed % 2])
    valid: dict[int, set[int]] = {}  # the iterators of each collection that may still be used
    stale: list[tuple[int, int]] = []
    credit: dict[int, int] = {}  # how many `add` its iterators allow
    trace: list[dict[str, Any]] = []
    for number in range(1500):
        known = list(valid)
        if number < 300 or choose.random() < 0.05:
            valid[number], credit[number] = set(), 0
            trace.append({"n": "new", "c": number})
            continue
        c = choose.choice(known)
        what = choose.random()
        if what < 0.4 and len(valid[c]) < 5:
            valid[c].add(number)
            credit[c] += 1
            trace.append({"n": "iter", "c": c, "i": number})
        elif what < 0.8 and valid[c] and seed % 2 == 0:
            trace.append({"n": "next", "c": c, "i": choose.choice(sorted(valid[c]))})
        elif credit[c] or seed % 2 == 0:
            credit[c] -= 1
            trace.append({"n": "add", "c": c})
            stale += [(c, i) for i in valid[c]]
            valid[c] = set() if seed % 2 == 0 else valid[c]
    if seed % 2:
        poor = choose.choice([c for c, left in credit.items() if not left])
        wrong = {"n": "add", "c": poor}
    else:
        c, i = choose.choice(stale)
        wrong = {"n": "next", "c": c, "i": i}
    for which in CORES:
        with using(which):
            assert law.check(trace).rejected_at is None
            assert law.check([*trace, wrong]).rejected_at == len(trace) + 1


@pytest.mark.parametrize("seed", range(6))
def test_thousands_alive_at_once(seed: int) -> None:
    """A dictionary is the oracle: objects are born, used and gone in any order, until one is used too late."""
    choose = random.Random(seed)
    law = law_of(
        [
            "Main = {let x; p(x) (q(x)* r(x,_) | Main)}?;",
            r"n not matches p(_); e(x) matches q(x)|r(x,_); Main = n* {let x; p(x) ((e(x) >> q(x)* r(x,_)) /\ Main)}?;",
            "e matches p(_)|q(_)|r(_,_); Main = e >> G; G = {let x; p(x) (G | q(x)* r(x,_))}?;",
        ][seed % 3]
    )
    alive: list[Any] = []
    trace: list[dict[str, Any]] = []
    for number in range(5000):
        name: Any = number if seed < 3 else f"object {number}"
        trace.append({"n": "p", "v": name})
        alive.append(name)
        while len(alive) > 2500 or (number == 4999 and alive):
            place = choose.randrange(len(alive))
            ended = choose.random() < 0.4
            trace.append({"n": "r" if ended else "q", "v": alive[place], "w": 0})
            if ended:
                alive[place] = alive[-1]
                alive.pop()
    late = choose.randrange(8000, len(trace))
    gone = [event["v"] for event in trace[:late] if event["n"] == "r"]
    broken = [*trace[:late], {"n": "q", "v": choose.choice(gone)}, *trace[late:]]
    for which in CORES:
        with using(which):
            assert law.check(trace).accepted
            assert law.check(broken).rejected_at == late + 1
