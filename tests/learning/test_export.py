"""Learned rules as laws: the same verdicts as the learner's and as `re` has, on random traces, whatever the names."""

from __future__ import annotations

import json
import pickle
import re
from itertools import product
from pathlib import Path
from random import Random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lawful import rml
from lawful.cli.main import main
from lawful.engine import TraceRun, TraceSettings
from lawful.engine.run import LawRun
from lawful.laws.loader import load_law
from lawful.learning import templates, window
from lawful.learning.event_numbering import EventNumbering
from lawful.learning.export import chosen, to_rml
from lawful.learning.window_protocol import Rule, RuleState, Word

A, B = Word("func_pre", "app.File.open"), Word("func_pre", "app.File.close")
OWN = ("aab", "(ab)+", "a{2}b", "a{1,2}b", "a(a|b)*b", "a*b*", "(a|b)b", "[ab]a", "ab{0}|b", "a|b", "(a?b?)+", "ba|a.b")
PATTERNS = (*templates.DEFAULT, *OWN)
WORDS = ["".join(word) for length in range(1, 8) for word in product("ab", repeat=length)]

Event = dict[str, Any]


def rule(pattern: str, a: Word = A, b: Word = B, satisfied: int = 9, failed: int = 0) -> Rule:
    return Rule(a, b, pattern, satisfied, failed, 3, RuleState.ENFORCING)


def law(*rules: Rule) -> rml.RmlLaw:
    return rml.compile(to_rml(rules))


def event(letter: str, target: int | str) -> Event:
    """Another letter than a and b is an event that no rule is about."""
    name = {"a": A.name, "b": B.name}.get(letter, f"app.File.{letter}")
    return {"event": "func_pre", "name": name, "targetId": target, "file": "app.py", "line": 1}


def language(pattern: str) -> re.Pattern[str]:
    return re.compile(f"(?:{pattern})+")


def histories(events: list[Event]) -> dict[int, str]:
    """What each object has met of the two events."""
    found: dict[int, str] = {}
    letters = {A.name: "a", B.name: "b"}
    for each in events:
        if letter := letters.get(each["name"]):
            found[each["targetId"]] = found.get(each["targetId"], "") + letter
    return found


def can_go_on(pattern: str, word: str) -> bool:
    """Is there something that makes the word, with it, one of the language? Three more letters are enough for ours."""
    wanted = language(pattern)
    return any(wanted.fullmatch(word + more) for more in ("", *WORDS[:14]))


def trace(random: Random, pattern: str, length: int) -> list[Event]:
    """Objects that follow the pattern, woven into each other; now and then an event is left out, added or another."""
    good = [word for word in WORDS if language(pattern).fullmatch(word)]
    faults = random.choice((0, 0, 0.02, 0.2))
    rows: list[list[Event]] = []
    for target in range(random.randint(1, 6)):
        word = "".join(random.choice(good) for _ in range(random.randint(1, 3)))
        word = "".join(random.choice(("", "a", "b", "ab")) if random.random() < faults else char for char in word)
        rows.append([event(char, target) for char in word])
    found: list[Event] = []
    while any(rows) and len(found) < length:
        row = random.choice([row for row in rows if row])
        found.append(row.pop(0))
        if random.random() < 0.2:
            found.append(event("x", random.randrange(6)))
    return found


# --- verdicts -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("pattern", PATTERNS)
def test_one_object_with_every_short_word(pattern: str) -> None:
    compiled, wanted = law(rule(pattern)), language(pattern)
    for word in WORDS:
        accepted = compiled.check([event(char, 1) for char in word]).accepted
        assert accepted == bool(wanted.fullmatch(word)), word


@pytest.mark.parametrize("pattern", PATTERNS)
def test_many_objects_and_the_one_that_fails(pattern: str) -> None:
    random = Random(pattern)
    compiled, wanted = law(rule(pattern)), language(pattern)
    broken = 0
    for _ in range(40):
        events = trace(random, pattern, 60)
        monitor = compiled.monitor()
        monitor.feed(events)
        bad = next(
            (
                n
                for n in range(1, len(events) + 1)
                if not all(can_go_on(pattern, w) for w in histories(events[:n]).values())
            ),
            None,
        )
        assert monitor.rejected_at == bad
        if bad is not None:
            broken += 1
            target = events[bad - 1]["targetId"]
            known = target in histories(events[: bad - 1])
            assert monitor.expectation(events[bad - 1]).bindings == ({"o": target} if known else {})
            continue
        unfinished = {target for target, word in histories(events).items() if not wanted.fullmatch(word)}
        assert monitor.end().accepts == (not unfinished)
        assert {each.bindings["o"] for each in monitor.pending(100)} == unfinished
        broken += bool(unfinished)
    assert broken < 40
    assert broken > 2 or all(wanted.fullmatch(word) for word in WORDS)


def failed(pattern: str, events: list[Event], size: int) -> int:
    """How many scenarios the learner counts as failed.

    It knows the pair from the first event on: another object keeps the rule, with both events, before all others.
    """
    good = next(word for word in WORDS if language(pattern).fullmatch(word) and {"a", "b"} == set(word))
    assert size >= len(good)
    learner = window.make(templates.compile([pattern]), size, 0)
    numbering = EventNumbering()
    numbering.word(*A)  # gets the smaller number, so that rule 0 is ours
    numbering.add([event(char, 1000) for char in good] + events)
    learner.feed(*numbering.take())
    learner.drain()
    counts = learner.counts(0, numbering.word(*B))
    assert counts is not None
    return counts.total - counts.satisfied[0]


@pytest.mark.parametrize("pattern", PATTERNS)
def test_the_learner_with_a_window_as_long_as_the_trace_says_the_same(pattern: str) -> None:
    random = Random(pattern)
    compiled = law(rule(pattern))
    for _ in range(40):
        events = trace(random, pattern, 80)
        assert compiled.check(events).accepted == (failed(pattern, events, len(events) + 9) == 0)


@pytest.mark.parametrize("pattern", PATTERNS)
def test_what_the_law_rejects_fails_in_any_window(pattern: str) -> None:
    random = Random(pattern)
    compiled = law(rule(pattern))
    seen = {True: 0, False: 0}
    for _ in range(40):
        events = trace(random, pattern, 80)
        accepted = compiled.check(events).accepted
        number = failed(pattern, events, random.choice((3, 5, 10)))
        assert accepted or number
        seen[accepted] += 1
    assert seen[True]


def test_a_long_rest_is_where_law_and_learner_differ() -> None:
    events = [event("a", 1), *(event("x", 2) for _ in range(30)), event("b", 1)]
    assert failed("ab", events, 25) == 2
    assert failed("ab", events, 40) == 0
    assert law(rule("ab")).check(events).accepted


def test_ids_may_be_texts_and_events_without_an_object_do_not_matter() -> None:
    compiled = law(rule("ab"))
    nobody = {"event": "func_pre", "name": B.name}
    assert compiled.check([event("a", "x"), nobody, event("a", "y"), event("b", "x"), event("b", "y")]).accepted
    assert compiled.check([event("a", "x"), event("a", "y"), event("b", "x"), event("b", "x")]).rejected_at == 4


# --- several rules ------------------------------------------------------------------------------------------------

C = Word("new", "app.File")
THREE = (rule("ab"), rule("ab+", a=C, b=A), rule("a?b", a=C, b=B))


def test_a_law_of_several_rules_is_broken_where_the_first_of_them_is() -> None:
    random = Random(4)
    whole, single = law(*THREE), [law(each) for each in THREE]
    outcomes = set()
    for _ in range(300):
        events = [
            random.choice((event("a", 1), event("b", 1), {"event": "new", "name": C.name, "targetId": 1}))
            for _ in range(random.randint(1, 6))
        ]
        outcome = whole.check(events)
        alone = [each.check(events) for each in single]
        assert outcome.accepted == all(each.accepted for each in alone)
        places = [each.rejected_at for each in alone if each.rejected_at is not None]
        assert outcome.rejected_at == min(
            places, key=lambda place: len(events) + 1 if place == "end" else place, default=None
        )
        outcomes.add(outcome.rejected_at)
    assert len(outcomes) > 4


OPEN = Word("func_pre", "app.Pump.open")
STEPS = [Word("func_pre", f"app.Pump.step{number}") for number in range(30)]
THIRTY = [rule(("ab", "ab+", "a+b")[n % 3], a=OPEN, b=step) for n, step in enumerate(STEPS)]
EQUATIONS = [f"PumpOpenStep{number}" for number in range(30)]


def pump(target: int, *, without: int = -1, twice: int = -1, early: int = -1) -> list[Event]:
    """All events of an object, each on a line of its own."""
    steps = [early] if early >= 0 else []
    steps += [-1, *(n for n in range(30) if n != without), *([twice] if twice >= 0 else [])]
    lines = range(100 * target, 100 * target + 99)
    return [
        {
            "event": "func_pre",
            "name": (STEPS[n] if n >= 0 else OPEN).name,
            "targetId": target,
            "file": "p.py",
            "line": i,
        }
        for n, i in zip(steps, lines, strict=False)
    ]


def failed_rules(events: list[Event]) -> set[str]:
    """The equations of the rules with a scenario that the learner counts as failed, in a window as long as it all."""
    found = set()
    for pattern in ("ab", "ab+", "a+b"):
        learner = window.make(templates.compile([pattern]), len(events) + 1, 0)
        numbering = EventNumbering()
        numbering.word(*OPEN)
        numbering.add(events)
        learner.feed(*numbering.take())
        learner.drain()
        for each, name in zip(THIRTY, EQUATIONS, strict=True):
            counts = learner.counts(0, numbering.word(*each.b))
            if each.pattern == pattern and counts is not None and counts.total > counts.satisfied[0]:
                found.add(name)
    return found


def woven(random: Random, *rows: list[Event]) -> list[Event]:
    queues = [list(row) for row in rows]
    found = []
    while queues := [queue for queue in queues if queue]:
        found.append(random.choice(queues).pop(0))
    return found


def test_thirty_rules_in_a_file_do_not_hide_each_other(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    bad = [pump(5, without=3), pump(6, early=7), pump(7, twice=12), pump(8, without=20), pump(9, early=29)]
    wanted = {"PumpOpenStep3": 5, "PumpOpenStep7": 6, "PumpOpenStep12": 7, "PumpOpenStep20": 8, "PumpOpenStep29": 9}
    events = pump(1) + woven(Random(30), *bad, *(pump(target) for target in range(10, 20)))
    assert failed_rules(events) == set(wanted)
    (tmp_path / "rules.rml").write_text(to_rml(THIRTY))
    (tmp_path / "t.jsonl").write_text("".join(json.dumps(each) + "\n" for each in events))
    arguments = ["check", str(tmp_path / "rules.rml"), "--trace", str(tmp_path / "t.jsonl")]

    assert main([*arguments, "--format", "json"]) == 1
    report = json.loads(capsys.readouterr().out)
    assert [each["law"] for each in report["laws"]] == [f"{tmp_path}/rules.rml: {name}" for name in EQUATIONS]
    assert all(each["accepted"] is (each["rejected_at"] is None) for each in report["laws"])
    found = {}
    for each in report["findings"]:
        number = each["rejected_at"]
        assert number == "end" or each["event"] == events[number - 1]
        about = each["event"]["targetId"] if each["event"] else each["bindings"]["o"]
        found[each["law"].rpartition(": ")[2]] = about
    assert found == wanted
    broken = {each["law"].rpartition(": ")[2] for each in report["laws"] if not each["accepted"]}
    assert (broken, report["violations"]) == (set(wanted), 5)

    assert main(arguments) == 1
    out = capsys.readouterr().out
    assert out.count("BROKEN") == 5
    assert "25 of 30 parts" in " ".join(out.split())

    run = LawRun([load_law(tmp_path / "rules.rml", name="rules.rml")])
    run.deliver(events)
    run.end()
    live = {each.law: each.event["targetId"] if each.event else each.expectation.bindings["o"] for each in run.findings}
    assert live == {f"rules.rml: {name}": target for name, target in wanted.items()}
    assert run.violations == 5


def test_the_rules_of_a_file_fail_where_the_learner_says_so(tmp_path: Path) -> None:
    random = Random(31)
    (tmp_path / "rules.rml").write_text(to_rml(THIRTY))
    compiled = load_law(tmp_path / "rules.rml", name="rules.rml")
    sizes = set()
    for _ in range(10):
        rows = [pump(target) for target in range(2, random.randint(4, 12))]
        rows = [[each for each in row if random.random() > 0.01] for row in rows]
        events = pump(1) + woven(random, *rows)
        broken = {f"rules.rml: {name}" for name in failed_rules(events)}
        assert {part.name for part in compiled.parts if not part.check(events).accepted} == broken
        run = LawRun([compiled])
        run.deliver(events)
        run.end()
        assert {each.law for each in run.findings} == broken
        (tmp_path / "t.jsonl").write_text("".join(json.dumps(each) + "\n" for each in events))
        checked = TraceRun([compiled], str(tmp_path / "t.jsonl"), TraceSettings())
        checked.run()
        assert {each.law for each in checked.findings} == broken
        sizes.add(len(broken))
    assert len(sizes) > 2
    assert main(["check", str(tmp_path / "rules.rml"), "--trace", str(tmp_path / "t.jsonl"), "-q"]) == bool(broken)


def test_there_is_nothing_to_warn_of() -> None:
    assert law(*THREE, *THIRTY).warnings == ()


def test_the_file_is_readable() -> None:
    text = to_rml([rule("ab", satisfied=41, failed=1), rule("ab?", a=C, b=A)], window=25)
    assert "file_open(o) matches {event: 'func_pre', name: 'app.File.open', targetId: o};" in text
    assert "// app.File.open app.File.close\n// kept in 41 of 42 scenarios, at 3 places\nFileOpenClose = " in text
    assert "(file_open(o) file_close(o))+" in text
    assert "window of 25 events" in text
    assert "\n// judged: each part alone\n" in text
    assert "Main =\n    FileOpenClose /\\\n    FileNewOpen;\n" in text


def test_only_what_is_named_is_watched() -> None:
    watches = law(*THREE).watches
    assert watches is not None
    wanted = {
        ("func_pre", A.name, "targetId"),
        ("func_pre", B.name, "targetId"),
        ("new", C.name, "targetId"),
        ("gone", "app.File", "targetId"),
    }
    found = set()
    for watch in watches:
        keys = dict(watch.keys)
        (kind,), (name,) = keys.pop("event") or (), keys.pop("name") or ()
        ((place, values),) = keys.items()
        assert values is None
        found.add((kind, name, place))
    assert found == wanted


def test_no_rule_accepts_everything() -> None:
    empty = rml.compile(to_rml([rule("ab")._replace(state=RuleState.LEARNING)]))
    assert empty.check([event("b", 1)]).accepted
    assert empty.watches == ()


# --- which rules --------------------------------------------------------------------------------------------------


def test_the_best_enforcing_rule_of_a_pair_is_chosen() -> None:
    loose, strict = rule("ab?", satisfied=42), rule("ab", satisfied=41, failed=1)
    turned = rule("ab", a=B, b=A, satisfied=1, failed=41)._replace(state=RuleState.DEAD)
    other = rule("ab", a=A, b=C)
    assert chosen([strict, turned, loose, other]) == [loose, other]
    assert chosen([strict, turned, loose, other], [strict]) == [strict, other]
    # Of equal ones the strictest.
    assert chosen([rule("a+b*"), rule("ab|ba"), rule("ab"), rule("ab+")]) == [rule("ab")]
    # One that is dead or still learned is not enforced, even if it has spoken.
    assert chosen([turned], [turned]) == []


# --- roles --------------------------------------------------------------------------------------------------------


def test_results_and_arguments() -> None:
    made = Word("func_post", "app.connect", "result")
    given_ = Word("func_pre", "app.Pool.put", "argument 2")
    named = Word("func_pre", "app.Pool.put", "argument key")
    odd = Word("func_pre", "app.Pool.get", "argument it's")
    a = {"event": "func_post", "name": "app.connect", "resultId": 1}
    second = {"event": "func_pre", "name": "app.Pool.put", "targetId": 5, "argIds": [None, 1, 7]}
    for word, b in (
        (given_, second),
        (named, {"event": "func_pre", "name": "app.Pool.put", "targetId": 5, "kwargIds": {"key": 1}}),
        (odd, {"event": "func_pre", "name": "app.Pool.get", "kwargIds": {"it's": 1}}),
    ):
        compiled = law(rule("ab", a=made, b=word))
        assert compiled.check([a, b]).accepted
        assert compiled.check([a]).rejected_at == "end"
        assert compiled.check([b, a]).rejected_at == 1
    first = {"event": "func_pre", "name": "app.Pool.put", "targetId": 5, "argIds": [1, 2]}
    assert law(rule("ab", a=made, b=given_)).check([a, first]).rejected_at == 2  # for it is an event of object 2


def test_rules_that_cannot_be_said_are_named() -> None:
    family = Word("func_pre", "app.Cursor.close", "of its app.Connection")
    strange = Word("func_pre", "app.Cursor.close", "cousin")
    itself = Word("func_pre", A.name, "argument 1")
    broken = Word("func_pre", "app.\ud800")
    rules = [rule("ab"), *(rule("ab", b=word) for word in (family, strange, itself, broken))]
    text = to_rml(rules)
    text.encode()
    assert [line for line in text.splitlines() if line.startswith("// - ")] == [
        "// - app.File.open app.Cursor.close (of its app.Connection): "
        "which object belongs to which other one cannot be said in RML",
        "// - app.File.open app.Cursor.close (cousin): what `cousin` is cannot be said in RML",
        "// - app.File.open app.File.open (argument 1): "
        "one event is `a` for one object and `b` for another one, which cannot be said in RML",
        "// - app.File.open app.<U+D800>: this name cannot be written in UTF-8",
    ]
    assert rml.compile(text).check([event("a", 1), event("b", 1)]).accepted


# --- names --------------------------------------------------------------------------------------------------------

NAMES = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=12) | st.sampled_from(
    ["all", "any.none", "Main", "on1", "Each1", "f.<locals>.g", "it's", "a\\", "\\'", "\n", "1.2", "__init__", "A.B_0"]
)


@settings(max_examples=50, deadline=None)
@given(st.lists(NAMES, min_size=2, max_size=5, unique=True), st.sampled_from(templates.DEFAULT))
def test_any_name_will_do(names: list[str], pattern: str) -> None:
    words = [Word("func_pre", name) for name in names]
    rules = [rule(pattern, a=words[0], b=word) for word in words[1:]]
    compiled = law(*rules)
    good = next(word for word in WORDS if language(pattern).fullmatch(word) and {"a", "b"} == set(word))
    events = []
    for number, other in enumerate(words[1:]):
        here = {"a": words[0].name, "b": other.name}
        events += [{"event": "func_pre", "name": here[char], "targetId": number} for char in good]
    assert all(law(each).check(events[n * len(good) : (n + 1) * len(good)]).accepted for n, each in enumerate(rules))
    assert {
        value for watch in compiled.watches or () for key, some in watch.keys if key == "name" for value in some or ()
    } >= set(names)


def test_the_programs_own_events() -> None:
    compiled = law(rule("ab", a=Word("checkout", "checkout"), b=Word("payment", "card")))
    a, b = {"event": "checkout", "targetId": 3}, {"event": "payment", "name": "card", "targetId": 3}
    assert compiled.check([a, b]).accepted
    assert compiled.check([a, {**b, "name": "cash"}]).rejected_at == "end"
    odd = law(rule("ab", a=Word("func_pre", "func_pre"), b=B))  # a function of that name
    assert odd.check([event("x", 1)]).accepted
    assert odd.check([{**event("x", 1), "name": "func_pre"}]).rejected_at == "end"


# --- live ---------------------------------------------------------------------------------------------------------


def gone(target: int) -> Event:
    return {"event": "gone", "name": "app.File", "targetId": target}


def test_what_is_gone_is_forgotten() -> None:
    compiled = law(rule("ab"), rule("a+b+|b+a+", a=C, b=B))

    def size(objects: int) -> int:
        monitor = compiled.monitor()
        for target in range(1000, 1000 + objects):
            new = {"event": "new", "name": C.name, "targetId": target}
            monitor.feed([new, event("a", target), event("b", target), gone(target), gone(target + 5000)])
        assert monitor.verdict.accepts
        return len(pickle.dumps(monitor))

    assert size(200) < size(10) + 10


def test_what_is_gone_and_broke_the_rule_is_reported_once() -> None:
    run = LawRun([law(rule("ab"))])
    run.deliver([event("a", 1), event("a", 2), gone(1), event("b", 2), gone(2)])
    assert run.findings == []
    run.end()
    assert [(each.rejected_at, each.expectation.bindings) for each in run.findings] == [("end", {"o": 1})]


def test_fields_that_are_read_may_be_reported_late() -> None:
    read = Word("field_read", "app.File.name")
    late = {"event": "field_read", "name": read.name, "targetId": 1}
    assert law(rule("ab", b=read)).check([event("a", 1), gone(1), late]).accepted


def test_a_live_law_goes_on_after_a_violation() -> None:
    run = LawRun([law(rule("ab"))])
    run.deliver([event("a", 1), event("b", 2), event("b", 1), event("a", 3), event("a", 3), event("b", 3)])
    run.end()
    assert [(finding.event, finding.count) for finding in run.findings] == [(event("b", 2), 2)]  # one place
