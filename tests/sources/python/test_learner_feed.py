"""The numbers that a learner gets while a program runs say the same as events."""

from __future__ import annotations

import os
import threading
from array import array
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from lawful.laws import rml
from lawful.learning import templates, window
from lawful.sources.python import tracer_choice
from lawful.sources.python.scope import Scope
from lawful.sources.python.tracer_protocol import LEARNING, Event, Tracer, Want, as_events
from lawful.sources.python.watch_planner import LawWatchPlanner
from sources.python.by_name import BRIEF, ByName

Make = Callable[..., Tracer]
Run = Callable[[str], ModuleType]

CLASS = Want.LEARN_NEW
FIELD = Want.LEARN_READ | Want.LEARN_WRITE
PRODUCT = templates.compile(["ab", "ab?", "a+b", "ab|ba"])
SIZE = 6
LEARNED = {"func_pre", "new", "field_write", "field_read"}

PROGRAM = """
import io, random
class Account:
    def __init__(self): self.balance = 0
    def pay(self, amount): self.balance += amount
    def name(self): return "a".upper() + "b".lower()
class Quiet:
    def __enter__(self): return self
    def __exit__(self, *_): return True
def work(seed, steps=400):
    chance = random.Random(seed)
    lists, accounts = [[] for _ in range(3)], [Account()]
    for _ in range(steps):
        what = chance.randrange(9)
        some = lists[chance.randrange(3)]
        if what == 0: some.append(1)
        elif what == 1: some.extend((2, 3))
        elif what == 2 and some: some.pop()
        elif what == 3: lists[chance.randrange(3)] = list(some)
        elif what == 4: accounts.append(Account())
        elif what == 5: chance.choice(accounts).pay(2)
        elif what == 6: accounts[-1].name()
        elif what == 7:
            with io.StringIO() as text:
                text.write("x")
        else:
            for each in (some, "text"): each.index(each[0]) if each else each.count(0)
            with Quiet(): some.remove(77)
"""
CALLS = {
    "list.append": Want.LEARN,
    "list.extend": Want.LEARN,
    "list.pop": Want.LEARN,
    "list.index": Want.LEARN,
    "list.remove": Want.LEARN,
    "str.index": Want.LEARN,
    "str.upper": Want.LEARN,
    "io.StringIO": CLASS,
    "io.StringIO.write": Want.LEARN,
    "_io._IOBase.__enter__": Want.LEARN,
    "_io._IOBase.__exit__": Want.LEARN,
    "prog.Quiet": CLASS,
    "prog.Quiet.__enter__": Want.LEARN,
    "prog.Account.balance": FIELD,
    "list": CLASS,
    "str": CLASS,
}
OWN = {"prog.Account.pay": Want.LEARN | Want.RECEIVER, "prog.work": Want.LEARN}


class Numbers:
    """Gives numbers, each once, and keeps what is in the window."""

    def __init__(self, size: int = SIZE) -> None:
        self.window: Any = window.make(PRODUCT, size)
        self.words: list[tuple[str, str]] = []
        self.sites: list[tuple[str | None, int | None]] = []
        self.asked = 0

    def word(self, event: str, name: str) -> int:
        self.asked += 1
        if (event, name) not in self.words:
            self.words.append((event, name))
        return self.words.index((event, name))

    def site(self, file: str | None, line: int | None) -> int:
        self.asked += 1
        if (file, line) not in self.sites:
            self.sites.append((file, line))
        return self.sites.index((file, line))

    def feed(self, events: list[Event]) -> None:
        """What the events tell, by the plain way."""
        rows = [
            (self.word(event["event"], event["name"]), self.site(event["file"], event["line"]), event["targetId"])
            for event in events
            if event["event"] in LEARNED and "targetId" in event
        ]
        for row in rows:
            self.window.feed(*(array(kind, [number]) for kind, number in zip("IIQ", row, strict=True)))

    def result(self) -> dict[Any, Any]:
        """All counts, by names and places, whatever their numbers are."""
        self.window.start()
        self.window.stop()
        self.window.drain()
        found: dict[Any, Any] = {"events": self.window.events}
        for first, second in self.window.known():
            counts, pair = self.window.counts(first, second), self.window.pair(first, second)
            words = (self.words[first], self.words[second])
            satisfied = counts.satisfied
            contexts = {self.sites[site]: rules for site, rules in pair.contexts}
            if words[0] > words[1]:  # the numbers of rules are by the order of the two
                words = (words[1], words[0])
                satisfied = tuple(satisfied[i ^ 1] for i in range(len(satisfied)))
                contexts = {
                    site: sum(1 << (i ^ 1) for i in range(64) if rules >> i & 1) for site, rules in contexts.items()
                }
            found[words] = (counts.total, satisfied, contexts)
        return found


@pytest.fixture
def numbers(make: Make) -> Numbers:
    found = Numbers()
    if not make(lambda events: None, learner=found).learns:
        pytest.skip("this core tells the learner by events")
    return found


def by_events(make: Make, prog: Run, source: str, act: Callable[[ModuleType], object], **options: Any) -> Numbers:
    """What the learner would know if all came as events, none of them left out."""
    plain = {
        key: {name: as_events(wants) for name, wants in options[key].items()}
        for key in ("calls", "own")
        if key in options
    }
    events: list[Event] = []
    tracer = make(events.extend, **plain)
    tracer.start()
    act(prog(source))
    tracer.stop()
    assert tracer.fault is None
    oracle = Numbers()
    oracle.feed(events)
    return oracle


# -- the same as by events -----------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(5))
def test_numbers_tell_what_events_tell(make: Make, prog: Run, numbers: Numbers, seed: int) -> None:
    delivered: list[Event] = []
    tracer = make(delivered.extend, calls=CALLS, own=OWN, learner=numbers)
    tracer.start()
    prog(PROGRAM).work(seed)
    tracer.stop()
    assert tracer.fault is None
    assert delivered == []
    assert len(numbers.words) + len(numbers.sites) <= numbers.asked <= 3 * (len(numbers.words) + len(numbers.sites))
    oracle = by_events(make, prog, PROGRAM, lambda module: module.work(seed), calls=CALLS, own=OWN)
    found = numbers.result()
    assert found == oracle.result()
    assert found["events"] > 300
    assert len(found) > 10


def test_without_a_learner_there_are_events(make: Make, prog: Run) -> None:
    events: list[Event] = []
    tracer = make(events.extend, calls=CALLS, own=OWN)
    assert not tracer.learns
    tracer.start()
    prog(PROGRAM).work(1, 60)
    tracer.stop()
    assert tracer.fault is None
    assert {event["event"] for event in events} == LEARNED
    assert {"file", "line"} <= set.intersection(*(set(event) for event in events))
    assert not any("args" in event or "res" in event for event in events)


def test_both_happen(make: Make, prog: Run, numbers: Numbers) -> None:
    calls = {
        "list.append": Want.LEARN | Want.POST | Want.SITE,
        "list": CLASS | Want.PRE,
        "prog.A.x": FIELD | Want.WRITE,
    }
    events: list[Event] = []
    tracer = make(events.extend, calls=calls, own={"prog.A.f": Want.LEARN | BRIEF}, learner=numbers)
    tracer.start()
    prog("""
class A:
    def f(self): self.x = self.x if hasattr(self, "x") else 0
some = list()
some.append(1)
a = A()
a.f(); a.f()
""")
    tracer.stop()
    assert [(event["event"], event["name"]) for event in events] == [
        ("func_pre", "list"),
        ("func_post", "list.append"),
        ("func_pre", "prog.A.f"),
        ("field_write", "prog.A.x"),
        ("func_pre", "prog.A.f"),
        ("field_write", "prog.A.x"),
    ]
    assert numbers.words == [
        ("new", "list"),
        ("func_pre", "list.append"),
        ("func_pre", "prog.A.f"),
        ("field_write", "prog.A.x"),
        ("field_read", "prog.A.x"),
    ]
    assert numbers.result()["events"] == 7
    assert numbers.sites == [("prog.py", 4), ("prog.py", 5), ("prog.py", 7), ("prog.py", 3)]


def test_a_value_that_is_read_is_learned_if_there_is_one(make: Make, prog: Run, numbers: Numbers) -> None:
    calls = {"prog.A.x": Want.LEARN_READ | Want.READ | Want.RESULT | Want.SITE}
    events: list[Event] = []
    tracer = make(events.extend, calls=calls, learner=numbers)
    tracer.start()
    prog("""
class A: pass
a = A()
def read(a):
    try: return a.x
    except AttributeError: pass
read(a)
a.x = 1
read(a)
""")
    tracer.stop()
    assert [event.get("res") for event in events] == [1]
    assert numbers.result()["events"] == 1


# -- threads, and other learners -----------------------------------------------------------------------


def test_threads_lose_nothing(make: Make, prog: Run, numbers: Numbers) -> None:
    numbers.window.start()
    tracer = make(lambda events: None, calls={"list.append": Want.LEARN, "list.pop": Want.LEARN}, learner=numbers)
    tracer.start()
    module = prog("""
def work(n):
    some = []
    for i in range(n):
        some.append(i)
        some.pop()
""")
    threads = [threading.Thread(target=module.work, args=(20_000,)) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    tracer.stop()
    found = numbers.result()
    assert found["events"] == 4 * 2 * 20_000
    ((words, (total, _, contexts)),) = [(key, value) for key, value in found.items() if key != "events"]
    assert words == (("func_pre", "list.append"), ("func_pre", "list.pop"))
    assert total >= 4
    assert set(contexts) <= {("prog.py", 5), ("prog.py", 6)}  # where a thread went on, something new may begin


def test_a_learner_can_be_put_in_the_place_of_another(make: Make, prog: Run, numbers: Numbers) -> None:
    tracer: Any = make(lambda events: None, calls={"list.append": Want.LEARN}, learner=numbers)
    tracer.start()
    module = prog("def work():\n    some = []\n    for i in range(5): some.append(i)\n")
    module.work()
    other = Numbers()
    other.sites.append(("elsewhere", 1))
    other.words.append(("func_pre", "other"))
    tracer.learner = other
    assert tracer.learner is other
    module.work()
    module.work()
    tracer.stop()
    assert numbers.result()["events"] == 5
    assert other.result()["events"] == 10
    assert other.words[1:] == [("func_pre", "list.append")]
    assert other.sites[1:] == [("prog.py", 3)]


def test_a_tracer_without_learner_gets_none_later(make: Make, numbers: Numbers) -> None:
    tracer: Any = make(lambda events: None)
    with pytest.raises(AttributeError, match="from the beginning"):
        tracer.learner = numbers
    assert not tracer.learns


# -- faults --------------------------------------------------------------------------------------


class Broken(Numbers):
    def word(self, event: str, name: str) -> int:
        raise ZeroDivisionError(name)


class Negative(Numbers):
    def site(self, file: str | None, line: int | None) -> int:
        return -1


@pytest.mark.parametrize(("kind", "error"), [(Broken, ZeroDivisionError), (Negative, OverflowError)])
def test_a_fault_of_the_learner_is_not_the_program_s(
    make: Make, prog: Run, numbers: Numbers, kind: type[Numbers], error: type[Exception]
) -> None:
    tracer = make(lambda events: None, calls={"list.append": Want.LEARN}, learner=kind())
    tracer.start()
    module = prog("some = []\nfor i in range(3): some.append(i)\n")
    tracer.stop()
    assert module.some == [0, 1, 2]
    assert isinstance(tracer.fault, error)


# -- places that are left alone --------------------------------------------------------------------


class Habits(ByName):
    """As a learning scope has it: of calls with a name, places that call nothing that is wanted are left alone."""

    def plan(self, code: Any, module: str) -> Any:
        found = super().plan(code, module)
        return found and found._replace(
            probes=tuple(probe._replace(learner_only=probe.name is not None) for probe in found.probes)
        )


MANY = """
class Other:
    def append(self, x): return x
def call(x): x.append(1)
def work(kinds, n):
    for kind in kinds:
        x = kind()
        for i in range(n): call(x)
"""


@pytest.mark.parametrize("core", [core for core in tracer_choice.available() if core != "python"])
def test_a_place_that_calls_other_things_is_left_alone(prog: Run, core: str) -> None:
    numbers = Numbers()
    tracer = tracer_choice.choose(core).make(
        Habits({"list.append": Want.LEARN}, {}), lambda events: None, learner=numbers
    )
    tracer.start()
    module = prog(MANY)
    module.work([module.Other], 100)
    module.work([list, module.Other, list], 10)
    tracer.stop()
    assert tracer.fault is None
    assert numbers.result()["events"] == 0


@pytest.mark.parametrize("core", [core for core in tracer_choice.available() if core != "python"])
def test_it_is_looked_at_again_when_its_name_is_wanted(prog: Run, core: str) -> None:
    numbers = Numbers()
    tracer = tracer_choice.choose(core).make(
        Habits({"list.append": Want.LEARN}, {}), lambda events: None, learner=numbers
    )
    tracer.start()
    module = prog(MANY)
    module.work([module.Other], 100)
    exec(compile("def elsewhere(x): x.append(2)", "prog.py", "exec"), module.__dict__)
    module.elsewhere([])
    module.work([list, module.Other, list], 50)
    tracer.stop()
    assert tracer.fault is None
    assert numbers.result()["events"] == 1 + 2 * 50


@pytest.mark.parametrize("core", [core for core in tracer_choice.available() if core != "python"])
def test_a_place_that_calls_what_is_wanted_is_never_left_alone(prog: Run, core: str) -> None:
    numbers = Numbers()
    tracer = tracer_choice.choose(core).make(
        Habits({"list.append": Want.LEARN}, {}), lambda events: None, learner=numbers
    )
    tracer.start()
    module = prog(MANY)
    module.work([list, module.Other, list], 1000)
    tracer.stop()
    assert numbers.result()["events"] == 2000


# -- what a scope asks for -------------------------------------------------------------------------


def watched(tmp_path: Path, laws: str = "", *, detail: Want | None = None, **scope: Any) -> LawWatchPlanner:
    return LawWatchPlanner(
        [rml.compile(laws)] if laws else [], Scope(project=tmp_path, **scope), detail=detail, learn=True
    )


def wants(wanted: LawWatchPlanner, function: object, receiver: type | None) -> Want:
    callee = wanted.callee(function, receiver)
    return Want(0) if callee is None else callee.wants


def test_a_scope_of_calls_learns_of_objects_only(tmp_path: Path) -> None:
    wanted = watched(tmp_path, calls=("*",))
    assert wants(wanted, list.append, list) & LEARNING == Want.LEARN
    assert wants(wanted, list, None) & LEARNING == Want.LEARN_NEW
    assert wants(wanted, threading.Thread.start, threading.Thread) & LEARNING == Want.LEARN
    assert wants(wanted, threading.Thread, None) & LEARNING == Want.LEARN_NEW
    for function in (len, open, os.path.join, str, int, bool):
        assert wanted.callee(function, None) is None
    enter = wanted.operation("__enter__", type(threading.Lock()))
    assert enter is not None
    assert enter.wants & LEARNING == Want.LEARN
    for name in ("__getitem__", "__contains__", "__iter__", "__next__", "__add__"):
        assert wanted.operation(name, list) is None
    assert wanted.field("x", threading.Thread) is None


def test_what_is_learned_is_not_told(tmp_path: Path) -> None:
    wanted = watched(tmp_path, calls=("*",), fields=("threading.Thread",))
    assert not wants(wanted, list.append, list) & (BRIEF & ~Want.SITE | Want.POST | Want.NEW | Want.ARGS)
    field = wanted.field("x", threading.Thread)
    assert field is not None
    assert field.wants == FIELD | Want.SITE
    method = wanted.field("start", threading.Thread)  # to fetch a method is not to read a field
    assert method is not None
    assert method.wants & LEARNING == Want.LEARN_WRITE


def test_with_detail_it_is_told_too(tmp_path: Path) -> None:
    wanted = watched(tmp_path, calls=("*",), fields=("threading.Thread",), detail=Want.PRE | Want.NEW | Want.ARGS)
    assert wants(wanted, list.append, list) == Want.LEARN | Want.PRE | Want.ARGS | Want.SITE | Want.RECEIVER
    assert wants(wanted, list, None) == Want.LEARN_NEW | Want.PRE | Want.NEW | Want.ARGS | Want.SITE
    assert wants(wanted, len, None) == Want.PRE | Want.ARGS | Want.SITE
    field = wanted.field("x", threading.Thread)
    assert field is not None
    assert field.wants == FIELD | Want.READ | Want.WRITE | Want.SITE


LAW = """
ended matches {event: 'func_post', name: 'list.append' | 'threading.Thread.join'};
Main = ended*;
"""


def test_what_laws_name_is_learned_if_the_scope_has_it(tmp_path: Path) -> None:
    wanted = watched(tmp_path, LAW, calls=("*",))
    assert wants(wanted, list.append, list) & (LEARNING | Want.PRE | Want.POST) == Want.LEARN | Want.POST
    plan = wanted.plan(threading.Thread.join.__code__, "threading")
    assert plan is not None
    assert plan.callee is not None
    assert plan.callee.wants & (LEARNING | Want.PRE | Want.POST) == Want.LEARN | Want.POST
    callee = wanted.receiver_callee(threading.Thread.join.__code__, threading.Thread)
    assert callee is not None
    assert callee.wants & (LEARNING | Want.RECEIVER) == Want.LEARN | Want.RECEIVER
    assert wants(wanted, threading.Thread.join, threading.Thread) & Want.CALLEE_SIDE
    elsewhere = watched(tmp_path, LAW, calls=("sqlite3",))
    assert wants(elsewhere, list.append, list) & (LEARNING | Want.POST) == Want.POST


def test_only_places_without_a_law_are_left_alone_by_habit(tmp_path: Path) -> None:
    code = compile("def f(x, y): x.append(1); y.clear(); x(1)", str(tmp_path / "f.py"), "exec").co_consts[0]
    plan = watched(tmp_path, LAW, calls=("*",)).plan(code, "f")
    assert plan is not None
    assert [(probe.name, probe.learner_only, probe.name_unwanted) for probe in plan.probes] == [
        ("append", False, False),
        ("clear", True, False),
        (None, False, False),
    ]
    told_too = watched(tmp_path, LAW, calls=("*",), detail=Want.PRE).plan(code, "f")
    assert told_too is not None
    assert not any(probe.learner_only for probe in told_too.probes)


def test_public_functions_learn_where_they_start(tmp_path: Path) -> None:
    wanted = watched(tmp_path, public=("threading",))
    plan = wanted.plan(threading.Thread.start.__code__, "threading")
    assert plan is not None
    assert plan.callee is not None
    assert plan.callee.wants == Want.LEARN | Want.SITE
