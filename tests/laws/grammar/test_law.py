"""Views as laws: groups, verdicts, values, futures, findings, and that monitors can be stopped and go on elsewhere."""

from __future__ import annotations

import pickle
import random
import subprocess
import sys
from collections.abc import Iterator
from typing import Any

import pytest

import lawful
from lawful import Law, Monitor, Verdict, grammar
from lawful.laws.grammar import functions

VIEW = """\
view V specifies G {
    send A.open(String name) open, receive A.data(Int n, Obj who) data, send A.close(String name) close,
    send B.ask(Int key) ask, receive reply(B.ask) answer
}
"""


def compiled(text: str) -> grammar.GrammarLaw:
    return grammar.compile(VIEW + text, name="v.view")


def event(kind: str, name: str, *args: Any, group: int | str | None = 1, **more: Any) -> dict[str, Any]:
    made: dict[str, Any] = {"event": kind, "name": name, "group": "G", "args": list(args), **more}
    return made if group is None else made | {"groupId": group}


def opened(name: str = "x", **more: Any) -> dict[str, Any]:
    return event("send", "A.open", name, **more)


def data(n: Any = 0, **more: Any) -> dict[str, Any]:
    return event("receive", "A.data", n, None, **more)


def closed(name: str = "x", **more: Any) -> dict[str, Any]:
    return event("send", "A.close", name, **more)


def verdicts(law: Law, *events: dict[str, Any]) -> list[str]:
    monitor = law.monitor()
    return [str(monitor.step(each)) for each in events]


# -- verdicts -------------------------------------------------------------------------------------


def test_it_keeps_the_protocol() -> None:
    law = compiled("S ::= epsilon | open S")
    assert isinstance(law, Law) and isinstance(law.monitor(), Monitor)
    assert (law.name, law.source, law.parts, law.selective) == ("v.view", VIEW + "S ::= epsilon | open S", (law,), True)
    assert [dict(watch.keys) for watch in law.watches][:2] == [
        {"event": ("send",), "name": ("A.open",), "group": ("G",)},
        {"event": ("receive",), "name": ("A.data",), "group": ("G",)},
    ]
    with pytest.raises(TypeError, match="open_trace"):
        law.check("trace.jsonl")  # type: ignore[arg-type]


def test_a_grammar_need_not_be_closed_under_prefixes() -> None:
    law = compiled("S ::= open data close S | epsilon")
    assert verdicts(law, opened(), data(), closed(), opened()) == [
        "currently_false",
        "currently_false",
        "currently_true",
        "currently_false",
    ]
    monitor = law.monitor()
    assert monitor.verdict is Verdict.CURRENTLY_TRUE  # no group yet: nothing to say about
    monitor.feed([opened()])
    assert monitor.end() is Verdict.FALSE and monitor.end() is Verdict.FALSE
    assert (monitor.rejected_at, monitor.outcome().accepted) == ("end", False)
    assert monitor.outcome().verdict is Verdict.CURRENTLY_FALSE  # what it was before the end


def test_values_decide_whether_the_trace_may_end() -> None:
    law = compiled("start S (S.n = 0;)\nS ::= epsilon {assert S.n % 2 == 0;} | open S (S.n = S.n + 1;)")
    assert law.regular
    assert verdicts(law, opened(), opened(), opened()) == ["currently_false", "currently_true", "currently_false"]
    monitor = law.monitor()
    monitor.feed([opened(group=group) for group in (1, 2, 2, 3)])
    assert monitor.verdict is Verdict.CURRENTLY_FALSE
    monitor.end()
    found = monitor.pending(10)
    assert [each.bindings for each in found] == [{"groupId": 1, "S.n": 1}, {"groupId": 3, "S.n": 1}]
    assert found[0].expected == ("the end with S.n % 2 == 0 (v.view:6:23, in S ::= epsilon)",)
    assert monitor.expectation().others == 1
    assert len(monitor.pending(1)) == 1


def test_what_forbids_nothing_is_true() -> None:
    law = compiled("S ::= epsilon | open S | data S | close S | ask S | answer S")
    assert verdicts(law, opened()) == ["true"]
    assert law.monitor().verdict is Verdict.TRUE
    for less in (
        "S ::= epsilon | open S | data S | close S | ask S",
        "S ::= epsilon | open S | data S | close S | ask S | answer",
        "S ::= epsilon | open S | data S | close S | ask S | answer S {assert answer.result == 1;}",
        "S ::= open T\nT ::= epsilon | open T | data T | close T | ask T | answer T",
    ):
        assert compiled(less).monitor().verdict is Verdict.CURRENTLY_TRUE


def test_what_is_lost_is_told_before_it_breaks() -> None:
    law = compiled("S ::= data T (T.n = data.n;)\nT ::= open {assert T.n > 3;} | close {assert T.n < 0;}")
    monitor = law.monitor()
    assert monitor.feed([data(5, group=1), data(2, group=2), opened(group=1)]) is Verdict.FALSE
    assert (monitor.doomed_at, monitor.rejected_at) == (2, None)
    assert not monitor.forgive()
    assert monitor.step(opened(group=2)) is Verdict.FALSE
    assert (monitor.doomed_at, monitor.rejected_at) == (2, 4)
    assert verdicts(law, data(5), opened()) == ["currently_false", "currently_true"]
    # An alternative without such an assertion is a way out.
    other = compiled("S ::= data T (T.n = data.n;)\nT ::= open {assert T.n > 3;} | close")
    assert verdicts(other, data(2)) == ["currently_false"]


def test_after_a_rejection_events_are_only_counted_until_it_is_forgiven() -> None:
    monitor = compiled("S ::= open data close S | epsilon").monitor()
    assert monitor.feed([opened(), closed(), data(), data()]) is Verdict.FALSE
    assert (monitor.rejected_at, monitor.events) == (2, 4)
    assert monitor.forgive()
    assert (monitor.rejected_at, monitor.events) == (None, 2)
    assert monitor.feed([data(), closed()]) is Verdict.CURRENTLY_TRUE
    assert monitor.outcome() == lawful.Outcome(True, Verdict.CURRENTLY_TRUE, None, None, 4)
    assert not monitor.forgive()


def test_a_message_that_was_not_sent_is_given_back() -> None:
    monitor = compiled("S ::= open data close").monitor()
    monitor.feed([opened(), data()], [3, 4])
    monitor.prevented(3)  # not the last one
    monitor.prevented(4)
    assert monitor.feed([closed()], [5]) is Verdict.FALSE
    monitor.prevented(5)  # nothing was taken
    assert monitor.forgive() and monitor.feed([data()], [6]) is Verdict.CURRENTLY_FALSE
    monitor = pickle.loads(pickle.dumps(monitor))
    monitor.prevented(6)  # what was kept elsewhere is not given back
    assert monitor.feed([closed()], [7]) is Verdict.CURRENTLY_TRUE


def test_numbers_may_have_gaps() -> None:
    monitor = compiled("S ::= open data").monitor()
    monitor.feed([opened(), closed()], [7, 12])
    assert (monitor.rejected_at, monitor.events) == (12, 12)
    assert monitor.feed([]) is Verdict.FALSE


# -- groups ---------------------------------------------------------------------------------------


def test_only_messages_of_the_view_and_the_group_count() -> None:
    law = compiled("S ::= open close")
    others = [
        opened() | {"group": "H"},
        {**opened(), "group": None},
        opened() | {"event": "receive"},
        opened() | {"reply": True},
        opened() | {"name": "A.other"},
        opened() | {"name": ["A.open"]},
        opened() | {"event": {}},
        {"event": "send"},
        {},
    ]
    assert law.check([*others, opened(), *others, closed(), *others]).accepted
    assert not law.monitor().relevant(others[0], ())


def test_a_view_without_a_group_is_about_all() -> None:
    law = grammar.compile("view V { send A.open(String name) open }\nS ::= open")
    assert law.check([opened(group=1), opened(group=2) | {"group": "H"}]).accepted
    assert law.check([opened(group=1), opened(group=1)]).rejected_at == 2
    assert "group" not in dict(law.watches[0].keys)


def test_each_group_has_its_own_state() -> None:
    law = compiled("S ::= open T (T.name = open.name;)\nT ::= close {assert close.name == T.name;}")
    mixed = [opened("x", group=1), opened("y", group="one"), opened("z", group=None), closed("z", group=None)]
    assert law.check([*mixed, closed("y", group="one"), closed("x", group=1)]).accepted
    assert law.check([*mixed, closed("x", group="one")]).rejected_at == 5
    # Ids are numbers or texts; other ids differ if their JSON texts differ.
    assert law.check([opened(group=[1]), opened(group=[2]), closed(group=[1]), closed(group=[2])]).accepted


# -- values ---------------------------------------------------------------------------------------


def holds(condition: str, *args: Any, **more: Any) -> bool:
    law = grammar.compile(f"view V {{ send A.m(X x, Y y) m }}\nS ::= m {{assert {condition};}}")
    return law.check([{"event": "send", "name": "A.m", "args": list(args), **more}]).accepted


@pytest.mark.parametrize(
    ("condition", "args", "expected"),
    [
        ("m.x == 3", [3], True),
        ("m.x == 3", [3.0], True),
        ("m.x == 1", [True], False),
        ("m.x != 3", [4], True),
        ("m.x == 'a' && m.y", ["a", True], True),
        ("m.x == 'a' and not m.y", ["a", False], True),
        ("m.x == 'a' || m.y == 1", ["b", 1], True),
        ("m.x == 'a' or m.y == 1", ["b", 2], False),
        ("m.x == 'a' || m.y", ["a", 7], True),  # the right side is not looked at
        ("m.x + 2 * 3 - 1 == 6", [1], True),
        ("(m.x + 2) * 3 == 9", [1], True),
        ("-m.x == 0 - 1", [1], True),
        ("m.x % 3 == 1 && m.x / 2 == 3.5", [7], True),
        ("m.x < m.y && m.x <= m.y && m.y > m.x && m.y >= m.x", [1, 2], True),
        ("m.x < m.y", ["a", "b"], True),
        ("m.x == null", [None], True),
        ("m.x == EmptySet", [[]], True),
        ("m.x != EmptySet", [[1]], True),
        ("m.x == Nothing", [None], True),
        ("m.x == ListSchedule", ["ListSchedule"], True),
        ("size(m.x) == 2", [[1, 2]], True),
        ("size(m.x) == size(m.y)", [{"a": 1}, "b"], True),
        ("name(m.x) == 'n'", [{"name": "n"}], True),
        ("name(m.x) == 'n'", ["n"], True),
        ("contains(m.x, 2) && !contains(m.x, true)", [[1, 2]], True),
        ("contains(m.x, 'k')", [{"k": 1}], True),
        ("first(m.x) == 1 && last(m.x) == 2", [[1, 2]], True),
        ("sameElements(m.x, m.y)", [[1, 2, 2], [2, 1, 2]], True),
        ("sameElements(m.x, m.y)", [[1, 2], [2, 2]], False),
        ("sameElements(m.x, m.y)", [[1], [1, 2]], False),
        ("abs(m.x) == 3 && min(m.x, 1) == m.x && max(1, 2, 3) == 3", [-3], True),
        ("true != false", [], True),
        ('m.x == "ä\\n\\"" ', ['ä\n"'], True),
        ("m.x == 'it\\'s \"this\"'", ['it\'s "this"'], True),
    ],
)
def test_expressions(condition: str, args: list[Any], expected: bool) -> None:
    assert holds(condition, *args) is expected


@pytest.mark.parametrize(
    ("condition", "args", "why"),
    [
        ("m.x == 3", [], "the event has no value for `m.x`"),
        ("m.x", [3], "an assertion wants a condition, not a number"),
        ("m.x && true || false", [None], "`&&` wants conditions, not null"),
        ("!m.x", ["a"], "`!` wants conditions, not a string"),
        ("m.x < 3", ["a"], "`<` wants numbers, not a string"),
        ("m.x / m.y == 1", [1, 0], "division by zero"),
        ("m.x % m.y == 1", [1, 0], "division by zero"),
        ("m.x % m.y == 1", [1, 1.5], "`%` wants integers"),
        ("size(m.x) == 1", [3], "`size` wants a collection, not a number"),
        ("name(m.x) == 1", [{}], "`name` wants something that has a name, not an object"),
        ("first(m.x) == 1", [[]], "`first` wants a list that is not empty"),
        ("contains(m.x, 1)", ["a"], "`contains` wants a collection and a value, not a string and a number"),
        ("sameElements(m.x, 1)", [[]], "`sameElements` wants two collections, not a list and a number"),
    ],
)
def test_what_has_no_value_does_not_hold(condition: str, args: list[Any], why: str) -> None:
    law = grammar.compile(f"view V {{ send A.m(X x, Y y) m }}\nS ::= m {{assert {condition};}}")
    monitor = law.monitor()
    assert monitor.step({"event": "send", "name": "A.m", "args": args}) is Verdict.FALSE
    assert f"{why} (at event 1)" in monitor.warnings()
    rejection = monitor.rejection()
    assert rejection is not None and rejection.reason is not None
    assert why in (rejection.reason, *(text.partition(" (")[0] for text in monitor.warnings()))


def test_an_attribute_without_a_value_is_no_violation_until_it_is_used() -> None:
    law = compiled("S ::= data T (T.s = size(data.n);)\nT ::= open | close {assert T.s == 1;}")
    assert verdicts(law, data(3), opened()) == ["currently_false", "currently_true"]
    assert verdicts(law, data(3), closed()) == ["currently_false", "false"]


def test_where_values_stand_in_an_event() -> None:
    law = grammar.compile(
        "view V { send A.m(Obj o, Int n) m }\n"
        "S ::= m {assert m.o == 9 && m.n == 42 && m.callee == 5 && m.caller == 8 && m.time == 0.5 && m.group == 1;}"
    )
    rest = {"event": "send", "name": "A.m", "targetId": 5, "callerId": 8, "time": 0.5, "groupId": 1}
    assert law.check([rest | {"args": [None, 42], "argIds": [9, None]}]).accepted
    assert law.check([rest | {"args": [None, 42, "more"], "argIds": [9]}]).accepted
    assert law.check([rest | {"args": [None], "argIds": [9], "kwargs": {"n": 42}, "kwargIds": {"n": None}}]).accepted
    assert law.check([rest | {"kwargs": {"n": 42, "o": None}, "kwargIds": {"o": 9}}]).accepted
    assert not law.check([rest | {"args": [9]}]).accepted
    assert not law.check([rest | {"args": "no list", "argIds": 3, "kwargs": []}]).accepted


def test_constants_have_values() -> None:
    law = grammar.compile(
        "const List = 'l'\nconst Low = -1\nview V { send A.m(X x, Y y) m }\nS ::= m {assert m.x == List && m.y > Low;}"
    )
    assert law.check([{"event": "send", "name": "A.m", "args": ["l", 0]}]).accepted


# -- attributes -----------------------------------------------------------------------------------


def test_inherited_attributes_of_a_loop_take_constant_memory() -> None:
    law = compiled(
        "start S (S.n = 0; S.last = -1;)\n"
        "S ::= epsilon | close {assert S.n == 3;}\n"
        "    | data {assert data.n > S.last;} S (S.n = S.n + 1; S.last = data.n;)"
    )
    assert law.regular
    assert law.check([data(1), data(5), data(7), closed()]).accepted
    assert law.check([data(1), data(5), closed()]).rejected_at == 3
    assert law.check([data(1), data(1)]).rejected_at == 2
    monitor = law.monitor()
    monitor.feed([data(number) for number in range(1000)])
    assert len(monitor._machine.dump()[1]) == 1


NESTED = """
S ::= D
D ::= open L close {assert close.name == open.name;} (D.n = L.n + 1;)
L ::= epsilon (L.n = 0;) | D rest:L (L.n = D.n + rest.n;)
"""


def test_nested_structure() -> None:
    law = compiled(NESTED)
    assert not law.regular
    assert law.check([opened("a"), opened("b"), closed("b"), opened("c"), closed("c"), closed("a")]).accepted
    assert law.check([opened("a"), opened("b"), closed("a")]).rejected_at == 3
    assert law.check([opened("a"), closed("a"), opened("a")]).rejected_at == 3
    assert law.check([opened("a")]).rejected_at == "end"


def test_deep_nesting_is_no_danger() -> None:
    law = compiled(NESTED)
    monitor = law.monitor()
    depth = 50_000
    monitor.feed([opened(str(number)) for number in range(depth)])
    monitor = pickle.loads(pickle.dumps(monitor))
    assert monitor.feed([closed(str(number)) for number in range(depth - 1, 0, -1)]) is Verdict.CURRENTLY_FALSE
    assert monitor.step(closed("x")) is Verdict.FALSE
    assert monitor.expectation(closed("x")).bindings["open.name"] == "0"
    assert monitor.forgive() and monitor.step(closed("0")) is Verdict.CURRENTLY_TRUE


def test_a_value_may_come_from_a_child_to_the_left() -> None:
    law = compiled("S ::= A B (B.n = A.n;)\nA ::= data (A.n = data.n * 2;)\nB ::= data {assert data.n == B.n;}")
    assert law.check([data(2), data(4)]).accepted
    assert law.check([data(2), data(3)]).rejected_at == 2


def test_what_is_given_to_a_child_can_be_read_beside_it() -> None:
    law = compiled("S ::= data T (T.m = T.n + 1; T.n = data.n;) {assert T.m < 5;}\nT ::= close {assert T.m > T.n;}")
    assert law.check([data(2), closed()]).accepted
    assert law.check([data(4), closed()]).rejected_at == 1


def test_assertions_are_checked_as_soon_as_their_values_are_there() -> None:
    law = compiled("S ::= open data close {assert open.name != 'x';} {assert data.n == 1;}")
    assert law.check([opened("x")]).rejected_at == 1
    assert law.check([opened("y"), data(2)]).rejected_at == 2
    assert law.check([opened("y"), data(1), closed()]).accepted


def test_a_child_whose_results_nobody_asks_for() -> None:
    # U does not wait for its last symbol, so T's results meet a frame that wants none.
    law = compiled("S ::= open U close\nU ::= data T\nT ::= data (T.n = data.n;)\n")
    assert law.check([opened(), data(), data(), closed()]).accepted
    law = compiled("S ::= open U close T {assert T.n == 1;}\nU ::= data T\nT ::= data (T.n = data.n;)\n")
    assert law.check([opened(), data(5), data(6), closed(), data(1)]).accepted
    law = compiled("S ::= open U close T {assert T.n == 1;}\nU ::= epsilon | T\nT ::= data (T.n = data.n;)\n")
    assert law.check([opened(), data(6), closed(), data(1)]).accepted


# -- functions ------------------------------------------------------------------------------------


@pytest.fixture
def registry(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(functions, "_registered", {})
    yield


@pytest.mark.usefixtures("registry")
def test_functions_from_python() -> None:
    @grammar.function
    def double(value: int) -> int:
        return 2 * value

    @grammar.function(name="near")
    def is_near(one: int, two: int, by: int = 1) -> bool:
        return abs(one - two) <= by

    grammar.function(max, name="greatest")  # type: ignore[call-overload]
    assert holds("double(m.x) == 4", 2)
    assert holds("near(m.x, 3) && near(m.x, 9, 7)", 2)
    assert holds("greatest(m.x, 3) == 3", 2)
    with pytest.raises(lawful.LawError, match="`near` takes 2 to 3 arguments, not 1"):
        holds("near(m.x)", 2)
    with pytest.raises(ValueError, match="'size' is a function of the language already"):
        grammar.function(name="size")(double)
    with pytest.raises(ValueError, match="give a name"):
        grammar.function(lambda value: value)


@pytest.mark.usefixtures("registry")
def test_a_function_that_raises_stops_nothing() -> None:
    @grammar.function
    def broken(value: Any) -> Any:
        raise RuntimeError(f"no {value}")

    law = grammar.compile("view V { send A.m(X x) m }\nS ::= m {assert broken(m.x);}")
    monitor = law.monitor()
    assert monitor.step({"event": "send", "name": "A.m", "args": [1]}) is Verdict.FALSE
    assert monitor.warnings() == ("`broken` raised RuntimeError: no 1 (at event 1)",)


# -- futures --------------------------------------------------------------------------------------


def asked(call: int, key: int = 1) -> dict[str, Any]:
    return event("send", "B.ask", key, callId=call)


def answered(call: int, **result: Any) -> dict[str, Any]:
    return {"event": "receive", "name": "B.ask", "group": "G", "groupId": 1, "reply": True, "callId": call, **result}


def test_a_reply_belongs_to_its_call() -> None:
    law = compiled("S ::= epsilon | ask A (A.q = ask;)\nA ::= answer {assert answer.of == A.q && answer.result > 0;} S")
    assert law.check([asked(1), answered(1, res=5), asked(2), answered(2, resultId=7, res=None)]).accepted
    assert law.check([asked(1), answered(2, res=5)]).rejected_at == 2
    assert law.check([asked(1), answered(1, res=0)]).rejected_at == 2
    assert law.check([asked(1)]).rejected_at == "end"
    both = compiled("S ::= first:ask second:ask x:answer y:answer {assert x.of == second && y.of == first;}")
    assert both.check([asked(1), asked(2), answered(2), answered(1)]).accepted
    assert both.check([asked(1), asked(2), answered(1), answered(2)]).rejected_at == 3


def test_a_reply_may_be_an_exception() -> None:
    law = compiled("S ::= ask answer {assert answer.exception != 'builtins.KeyError';}")
    assert law.check([asked(1), answered(1, exception="builtins.KeyError")]).rejected_at == 2
    assert law.check([asked(1), answered(1, exception=None, res=1)]).accepted


@pytest.mark.parametrize("machine", ["native", "python"])
def test_a_reply_that_is_no_exception_has_none(machine: str, monkeypatch: pytest.MonkeyPatch) -> None:
    if machine == "python":
        monkeypatch.setattr("lawful.core.native", None)
    law = compiled("S ::= ask answer {assert answer.exception == null && answer.result == 1;}")
    for answer, verdict, told in (
        (answered(1, res=1), Verdict.CURRENTLY_TRUE, False),
        (answered(1, exception="builtins.KeyError"), Verdict.FALSE, False),
        (answered(1), Verdict.FALSE, True),  # nobody knows
    ):
        monitor = law.monitor()
        assert monitor.feed([asked(1), answer]) is verdict
        assert bool(monitor.warnings()) == told


@pytest.mark.parametrize("machine", ["native", "python"])
def test_a_failed_assertion_shows_what_its_rule_was_given_on_the_way(
    machine: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    if machine == "python":
        monkeypatch.setattr("lawful.core.native", None)
    law = grammar.compile("""
    view V { send A.x(Int n) x, send A.y(Int n) y }
    start S (S.top = 7;)
    S ::= T (T.n = S.top - 4; T.name = "t";) U | epsilon
    T ::= W (W.k = T.n + 1;) {assert size(T.name) == 1;}
    W ::= x {assert x.n < W.k;}
    U ::= y {assert y.n == 1;} U | epsilon
    """)
    monitor = law.monitor()
    monitor.step({"event": "send", "name": "A.x", "args": [5]})
    why = monitor.rejection()
    assert why is not None
    assert why.values == {"W.k": 4, "T.n": 3, "T.name": "t", "S.top": 7, "x.n": 5}
    assert why.note == "W.k is 4, x.n is 5"


# -- findings -------------------------------------------------------------------------------------


def test_a_rejection_says_where_it_is_and_why() -> None:
    law = compiled(
        "S ::= open T (T.name = open.name;)\nT ::= data T (T.name = T.name;) | close {assert close.name == T.name;}"
    )
    monitor = law.monitor()
    monitor.feed([opened("x"), data(), closed("y")])
    found = monitor.rejection()
    assert found is not None
    assert (found.group, found.terminal, found.rule) == (1, "close", "T ::= close")
    assert (found.assertion, found.where) == ("close.name == T.name", "v.view:6:49")
    assert found.values == {"T.name": "x", "close.name": "y"}
    assert found.note == 'T.name is "x", close.name is "y"'
    expectation = monitor.expectation(closed("y"))
    assert expectation.expected == ("close with close.name == T.name (v.view:6:49, in T ::= close)",)
    assert expectation.bindings == {"groupId": 1, "T.name": "x", "close.name": "y"}
    monitor.forgive()
    monitor.step(opened())
    assert monitor.expectation(opened()).expected == (
        "data (receive A.data) in T ::= • data T",
        "close (send A.close) in T ::= • close",
    )


def test_what_was_expected_inside_a_rule_and_after_the_last() -> None:
    law = compiled("S ::= open data close")
    monitor = law.monitor()
    assert monitor.expectation().expected == ("open (send A.open) in S ::= • open data close",)
    monitor.feed([opened(), closed()])
    assert monitor.expectation(closed()).expected == ("data (receive A.data) in S ::= open • data close",)
    monitor.forgive()
    monitor.feed([data(), closed(), closed()])
    assert monitor.expectation(closed()).expected == ()
    assert monitor.expectation({"event": "other"}).expected  # no message of the view: where a group begins


def test_which_events_are_relevant() -> None:
    monitor = compiled("S ::= open close").monitor()
    assert monitor.relevant(opened(), ())
    assert monitor.relevant(opened(), [3, 1])
    assert not monitor.relevant(opened(), [2, True])
    assert monitor.relevant(opened(group=None, targetId=7), [7])
    assert not monitor.relevant(opened(group=None, targetId=7), [8])


def test_a_misspelled_message_is_suspected() -> None:
    # The paper calls one method sendCurrendId in the view, and sendCurrentId in the program.
    law = grammar.compile(
        "view V specifies G { send A.start() st, receive W.sendCurrendId(Int id) id, send A.go() go }\n"
        "S ::= epsilon | st T\nT ::= epsilon | id U\nU ::= epsilon | go"
    )
    monitor = law.monitor()
    monitor.feed([event("send", "A.start"), event("receive", "W.sendCurrentId", 1), event("receive", "A.go")])
    assert monitor.warnings() == ()
    monitor = pickle.loads(pickle.dumps(monitor))
    monitor.end()
    never = "of the view never came, but"
    which = "did, which is not in the view: is one of them misspelled?"
    assert monitor.warnings() == (
        f"`receive W.sendCurrendId` {never} `receive W.sendCurrentId` {which}",
        f"`send A.go` {never} `receive A.go` {which}",
    )


# -- elsewhere ------------------------------------------------------------------------------------


def test_laws_and_monitors_can_be_pickled() -> None:
    law = compiled(NESTED)
    other = pickle.loads(pickle.dumps(law))
    assert (other.name, other.source, other.watches) == (law.name, law.source, law.watches)
    two = grammar.compile("view V grammar x.g { send A.open() o }", grammar="S ::= o", grammar_name="there/x.g")
    assert pickle.loads(pickle.dumps(two)).check([opened(), opened()]).rejected_at == 2
    trace = [opened("a"), opened("b"), closed("b"), closed("x"), closed("a")]
    for cut in range(len(trace) + 1):
        monitor = law.monitor()
        monitor.feed(trace[:cut])
        monitor = pickle.loads(pickle.dumps(monitor))
        monitor.feed(trace[cut:])
        assert monitor.outcome() == law.check(trace)


def test_compiling_is_the_same_in_another_process() -> None:
    code = f"from lawful import grammar; print(grammar.compile({VIEW + NESTED!r}).compiled.table)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)
    assert done.stdout.strip() == str(compiled(NESTED).compiled.table)


def test_lark_is_not_imported_until_a_view_is_compiled() -> None:
    code = "import sys, lawful; lawful.grammar.function; sys.exit('lark' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], timeout=60).returncode == 0


# -- messages about a failed assertion ------------------------------------------------------------


def test_values_are_those_of_the_rule_whose_assertion_failed() -> None:
    """Not those of rules that have ended by then, though they may have the same names."""
    law = compiled("""
    start D (D.depth = 0;)
    D ::= open L (L.depth = D.depth + 1;) close {assert size(close.name) == D.depth && L.all == 1;} (D.all = L.all + 1;)
    L ::= epsilon (L.all = 0;) | D (D.depth = L.depth;) (L.all = D.all;)
    """)
    monitor = law.monitor()
    monitor.feed([opened(), opened(), closed("x")])
    why = monitor.rejection()
    assert why is not None and why.assertion == "L.all == 1"
    assert why.values == {"D.depth": 1, "L.all": 0, "close.name": "x"}
    law = compiled("""
    S ::= open T (T.n = size(open.name);)
    T ::= open U (U.n = 7;) close {assert size(close.name) == T.n;}
    U ::= data {assert data.n == U.n;} | epsilon
    """)
    monitor = law.monitor()
    monitor.feed([opened("abc"), opened(), data(1)])
    why = monitor.rejection()
    assert why is not None and why.values == {"U.n": 7, "T.n": 3, "data.n": 1}
    monitor = law.monitor()
    monitor.feed([opened("abc"), opened(), data(7), closed("ab")])
    why = monitor.rejection()
    assert why is not None and why.values == {"T.n": 3, "close.name": "ab"}
    assert type(why).from_json(why.to_json()) == why


def test_two_messages_can_be_given_back() -> None:
    """What one group sends to another is two events."""
    law = compiled("S ::= epsilon | open T\nT ::= close S")
    for later in ([], [opened(group=3)]):  # which is rejected, and forgiven
        monitor = law.monitor()
        monitor.feed([opened(group=1), opened(group=3)])
        monitor.feed([closed(group=1), opened(group=2), *later], [3, 4, *([5] if later else [])])
        if later:
            assert monitor.rejected_at == 5 and monitor.forgive()
        for number in (5, 4, 3):
            monitor.prevented(number)
        assert monitor.verdict is Verdict.CURRENTLY_FALSE  # the first group is open again, as is the third
        monitor.feed([closed(group=1), closed(group=3)], [6, 7])
        assert monitor.verdict is Verdict.CURRENTLY_TRUE


@pytest.mark.parametrize("seed", range(20))
def test_giving_back_is_as_if_it_had_not_come(seed: int) -> None:
    dice = random.Random(seed)
    law = compiled(NESTED)
    monitor, twin = law.monitor(), law.monitor()
    number = 0
    for _ in range(60):
        batch = [
            dice.choice((opened, closed))(dice.choice("ab"), group=group)
            for group in dice.sample(range(4), dice.randint(1, 2))
        ]
        numbers = list(range(number + 1, number + len(batch) + 1))
        number = numbers[-1]
        rejected = False
        before = pickle.dumps(monitor._machine.dump())
        rest, left = batch, numbers
        while rest:
            monitor.feed(rest, left)
            if not isinstance(monitor.rejected_at, int):
                break
            rejected = True
            at = left.index(monitor.rejected_at)
            monitor.forgive()
            rest, left = rest[at + 1 :], left[at + 1 :]
            break
        if rejected or dice.random() < 0.3:
            for each in reversed(numbers):
                monitor.prevented(each)
            assert pickle.loads(before) == monitor._machine.dump()
        else:
            twin.feed(batch, numbers)
        assert monitor.verdict is twin.verdict
