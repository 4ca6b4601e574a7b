"""Groups that are classes or modules: a call that crosses their border is a message."""

from __future__ import annotations

import asyncio
import random
import sys
import threading
import time
from types import CodeType
from typing import Any, ClassVar

import pytest

import lawful
from lawful.sources.python import tracer_choice
from sources.actors.watched_programs import Event, messages_of, watched

VIEW = """
view V specifies G {
    send Depot.fetch(Robot who, String what) fetch,
    receive Robot.order(String what) order
}
S ::= epsilon | fetch S | order S
"""
GROUPS = {"G": "class Robot"}


class Depot:
    def fetch(self, who: Any, what: str) -> str:
        return self.look(what)

    def look(self, what: str) -> str:
        return what.upper()


class Helper:
    """Not in the view: what it does, it does for whoever called it."""

    def fetch_for(self, robot: Robot, what: str) -> str:
        return robot.depot.fetch(robot, what)


class Robot:
    def __init__(self, depot: Depot) -> None:
        self.depot = depot

    def order(self, what: str) -> str:
        return self.depot.fetch(self, what)

    def twice(self, what: str) -> None:
        self.order(what)
        self.order(what)


class Droid(Robot):
    pass


def test_calls_that_cross_the_border_are_messages(seen: Any) -> None:
    robot = Robot(Depot())
    events: list[Event] = seen(VIEW, lambda: robot.order("screw"), GROUPS)
    received, sent = events
    assert (received["event"], received["name"], received["group"]) == ("receive", "Robot.order", "G")
    assert (sent["event"], sent["name"]) == ("send", "Depot.fetch")
    assert received["groupId"] == sent["groupId"] == received["targetId"] == sent["callerId"]
    assert received["args"] == ["screw"]
    assert sent["args"] == [None, "screw"] and sent["argIds"] == [sent["groupId"], None]
    assert sent["targetId"] != sent["groupId"]
    assert sent["file"].endswith("test_calls.py")


def test_what_stays_inside_is_no_message(seen: Any) -> None:
    robot = Robot(Depot())
    assert [each[:2] for each in messages_of(seen(VIEW, lambda: robot.twice("nut"), GROUPS))] == [
        ("send", "Depot.fetch")
    ] * 2


def test_a_helper_works_for_its_caller_and_outsiders_for_themselves(seen: Any) -> None:
    depot = Depot()
    robot = Robot(depot)

    class Client:
        def visit(self) -> None:
            depot.fetch(None, "alone")

    class Nosy(Robot):
        def order(self, what: str) -> str:
            return Helper().fetch_for(self, what)

    def program() -> None:
        Nosy(depot).order("by a helper")
        Client().visit()
        Helper().fetch_for(robot, "for nobody")

    events = seen(VIEW, program, GROUPS)
    assert [(event["event"], event["args"][-1]) for event in events] == [
        ("receive", "by a helper"),
        ("send", "by a helper"),
    ]


def test_what_an_outsider_does_when_it_is_called_is_its_own_business(seen: Any) -> None:
    class Store(Depot):
        def fetch(self, who: Any, what: str) -> str:
            return depot.fetch(who, what) if what == "far" else what

    depot, store = Depot(), Store()
    events = seen(VIEW, lambda: Robot(store).order("far"), GROUPS)
    assert [event["event"] for event in events] == ["receive", "send"]


def test_each_object_is_a_group_and_subclasses_belong_to_it(seen: Any) -> None:
    depot = Depot()
    robots = [Robot(depot), Droid(depot), Robot(depot)]

    def program() -> None:
        for robot in (*robots, *robots):
            robot.order("bolt")

    groups = [event["groupId"] for event in seen(VIEW, program, GROUPS)]
    assert len(set(groups)) == 3
    assert groups[:6] == groups[6:]
    assert all(groups[at] == groups[at + 1] for at in range(0, 12, 2))


def test_names_may_be_spelled_as_python_does(seen: Any) -> None:
    class Shop:
        def sell_item(self, item_name: str) -> None:
            pass

    view = """
    group G is class Shop;
    view V specifies G { receive Shop.sellItem(String name) sell }
    S ::= epsilon | sell S
    """
    events = seen(view, lambda: Shop().sell_item(item_name="pen"))
    assert [(event["name"], event["args"]) for event in events] == [("Shop.sellItem", ["pen"])]


def test_a_view_may_say_where_a_class_is(seen: Any) -> None:
    view = f"""
    group G is class Robot;
    class Store is {Depot.__module__}.Depot;
    view V specifies G {{ send Store.fetch(Robot who, String what) fetch }}
    S ::= epsilon | fetch S
    """
    assert [event["name"] for event in seen(view, lambda: Robot(Depot()).order("x"))] == ["Store.fetch"]


def test_a_module_is_a_group(seen: Any, tmp_path: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "network_of_test.py").write_text(
        "class Wire:\n    def pulse(self, n):\n        return log(n)\n\n"
        "def connect(host):\n    check(host)\n    return Wire().pulse(1)\n\n"
        "def check(host):\n    pass\n\ndef log(n):\n    import journal_of_test\n    journal_of_test.note(n)\n"
    )
    (tmp_path / "journal_of_test.py").write_text("def note(n):\n    pass\n")
    monkeypatch.syspath_prepend(tmp_path)
    view = """
    group Net is module network_of_test;
    view V specifies Net {
        receive network_of_test.connect(String host) connect,
        receive network_of_test.check(String host) check,
        send journal_of_test.note(Int n) note
    }
    S ::= epsilon | connect S | note S
    """

    def program() -> None:
        import network_of_test  # type: ignore[import-not-found]

        network_of_test.connect("here")

    events = seen(view, program, project=tmp_path)
    assert [(event["event"], event["name"], event["args"]) for event in events] == [
        ("receive", "network_of_test.connect", ["here"]),
        ("send", "journal_of_test.note", [1]),
    ]
    assert len({event["groupId"] for event in events}) == 1


def test_a_view_without_a_group_is_about_all_of_them(seen: Any) -> None:
    view = "group G is class Robot; view V { receive Robot.order(String what) order } S ::= epsilon | order S"
    assert [event["group"] for event in seen(view, lambda: Robot(Depot()).order("x"))] == ["G"]


def test_threads_keep_apart_who_sends(seen: Any) -> None:
    depot = Depot()
    robots = [Robot(depot) for _ in range(4)]

    def work(robot: Robot, number: int) -> None:
        for _ in range(50):
            robot.order(f"{number}")

    def program() -> None:
        threads = [threading.Thread(target=work, args=(robot, at)) for at, robot in enumerate(robots)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()

    events = seen(VIEW, program, GROUPS)
    assert len(events) == 4 * 50 * 2
    by_group: dict[int, set[str]] = {}
    for event in events:
        by_group.setdefault(event["groupId"], set()).add(event["args"][-1])
    assert sorted(map(sorted, by_group.values())) == [["0"], ["1"], ["2"], ["3"]]


# -- a random program that knows itself who has called whom ----------------------------------------

PEERS = """
group Peer is class Peer;
view V specifies Peer {
    send Peer.hop(List path, Int left) out,
    receive Peer.hop(List path, Int left) in
}
S ::= epsilon | out S | in S
"""


class Peer:
    log: ClassVar[list[tuple[str, str, list[str]]]]
    dice: ClassVar[random.Random]
    all: ClassVar[list[Peer]]

    def __init__(self, name: str) -> None:
        self.name = name

    def hop(self, path: list[str], left: int) -> None:
        while left > 0:
            step = self.dice.randint(1, left)
            left -= step
            other = self.dice.choice(self.all)
            here = [*path, self.name]
            if other is not self:
                self.log.append((self.name, other.name, here))
            (self.through if self.dice.random() < 0.5 else self.call)(other, here, step - 1)

    def call(self, other: Peer, path: list[str], left: int) -> None:
        other.hop(path, left)

    def through(self, other: Peer, path: list[str], left: int) -> None:
        (lambda: other.hop(path=path, left=left))()


@pytest.mark.parametrize("seed", range(5))
def test_random_calls_are_seen_as_the_program_says(seen: Any, seed: int) -> None:
    Peer.log, Peer.dice = [], random.Random(seed)
    Peer.all = [Peer(name) for name in "abcd"]
    events = seen(PEERS, lambda: Peer.all[0].hop([], 60))
    first, *events = events  # from the test, which is nobody
    assert first["event"] == "receive" and first["args"][0] == []
    names: dict[int, str] = {first["groupId"]: "a"}
    pairs = list(zip(events[::2], events[1::2], strict=True))
    assert len(pairs) == len(Peer.log)
    for (sent, received), (sender, receiver, path) in zip(pairs, Peer.log, strict=True):
        assert (sent["event"], received["event"]) == ("send", "receive")
        assert sent["args"][0] == received["args"][0] == path
        assert names.setdefault(sent["groupId"], sender) == sender
        assert names.setdefault(received["groupId"], receiver) == receiver
    assert len(set(names.values())) == len(names)


# -- what a violation leads to ---------------------------------------------------------------------

ONCE = """
view V specifies G {
    send Depot.fetch(Robot who, String what) fetch,
    receive Robot.order(String what) order
}
S ::= epsilon | order T (T.what = order.what;)
T ::= epsilon | fetch {assert fetch.what == T.what;} S
"""


class Muddled(Robot):
    def order(self, what: str) -> str:
        try:
            return self.depot.fetch(self, "something else")
        except lawful.Violation:
            return self.depot.fetch(self, what)


class Counting(Depot):
    def __init__(self) -> None:
        self.fetched: list[str] = []

    def fetch(self, who: Any, what: str) -> str:
        self.fetched.append(what)
        return what


def test_a_violating_message_does_not_go_out_and_the_law_goes_on() -> None:
    depot = Counting()
    robot = Muddled(depot)
    watch = watched(ONCE, lambda: [robot.order("a"), robot.order("b")], GROUPS, on_violation="raise")
    assert depot.fetched == ["a", "b"]
    (finding,) = watch.findings
    assert finding.count == 2
    assert finding.rejection is not None and finding.rejection.assertion == "fetch.what == T.what"
    assert finding.rejection.values == {"T.what": "a", "fetch.what": "something else"}


def test_reported_violations_change_nothing() -> None:
    depot = Counting()
    watch = watched(ONCE, lambda: Muddled(depot).order("a"), GROUPS)
    assert depot.fetched == ["something else"]
    assert [finding.count for finding in watch.findings] == [1]


def test_stop_ends_the_program_before_the_message() -> None:
    depot = Counting()
    with pytest.raises(SystemExit):
        watched(ONCE, lambda: Muddled(depot).order("a"), GROUPS, on_violation="stop")
    assert depot.fetched == []


TURNS = """
group Peer is class Partner;
view V specifies Peer {
    send Partner.ping(Int n) out,
    receive Partner.ping(Int n) in
}
S ::= epsilon | out T (T.n = out.n;) | in S
T ::= epsilon | in {assert in.n > T.n;} S
"""


class Partner:
    def __init__(self) -> None:
        self.got: list[int] = []

    def ping(self, n: int) -> None:
        self.got.append(n)

    def send(self, other: Partner, n: int) -> bool:
        try:
            other.ping(n)
        except lawful.Violation:
            return False
        return True


def test_a_message_that_its_receiver_may_not_get_was_not_sent_either() -> None:
    one, two = Partner(), Partner()

    def program() -> list[bool]:
        return [
            one.send(two, 5),  # one: out(5)
            two.send(one, 3),  # one may not get a 3: two has not sent it
            two.send(one, 6),
        ]

    answers: list[bool] = []
    watch = watched(TURNS, lambda: answers.extend(program()), on_violation="raise")
    assert answers == [True, False, True]
    assert (one.got, two.got) == ([6], [5])
    assert len(watch.findings) == 1


def test_when_another_law_objects_both_ends_are_taken_back() -> None:
    from lawful import grammar

    laws = [
        grammar.compile(TURNS, name="turns.view"),
        grammar.compile(
            "group Peer is class Partner; view W specifies Peer { receive Partner.ping(Int n) in }"
            "S ::= epsilon | in {assert in.n != 13;} S",
            name="lucky.view",
        ),
    ]
    one, two = Partner(), Partner()
    with lawful.watch(laws, on_violation="raise") as watch:
        answers = [one.send(two, 13), one.send(two, 1), two.send(one, 0), two.send(one, 2)]
    assert answers == [False, True, False, True]
    assert [finding.law for finding in watch.findings] == ["lucky.view", "turns.view"]


# -- coroutines ------------------------------------------------------------------------------------

ASYNC = """
group G is class Agent;
view V specifies G {
    send Bank.pay(Int sum) pay,
    receive reply(Bank.pay) paid,
    receive Agent.work(Int sum) work,
    send reply(Agent.work) worked
}
S ::= epsilon | work S | pay T (T.q = pay;) | worked S
T ::= paid {assert paid.of == T.q;} S | work T (T.q = T.q;)
"""


class Bank:
    async def pay(self, sum: int) -> int:
        await asyncio.sleep(0)
        if sum < 0:
            raise ValueError(sum)
        return sum + 1


class Agent:
    def __init__(self, bank: Bank) -> None:
        self.bank = bank

    async def work(self, sum: int) -> int:
        return await self.bank.pay(sum)

    async def later(self, sum: int) -> int:
        return await asyncio.create_task(self.bank.pay(sum))

    async def never(self, sum: int) -> None:
        self.bank.pay(sum).close()

    async def by_name(self, sum: int) -> int:
        pay = getattr(self.bank, "pay")  # noqa: B009
        result: int = await pay(sum)
        return result


def test_a_coroutine_is_sent_where_it_is_called_and_answers_where_it_ends(seen: Any) -> None:
    agent = Agent(Bank())
    events = seen(ASYNC, lambda: asyncio.run(agent.work(3)))
    assert [(event["event"], event["name"], event.get("reply", False)) for event in events] == [
        ("receive", "Agent.work", False),
        ("send", "Bank.pay", False),
        ("receive", "Bank.pay", True),
        ("send", "Agent.work", True),
    ]
    work, pay, paid, worked = events
    assert pay["callId"] == paid["callId"] != work["callId"] == worked["callId"]
    assert paid["res"] == worked["res"] == 4
    assert len({event["groupId"] for event in events}) == 1


@pytest.mark.parametrize("how", ["later", "by_name"])
def test_the_sender_is_known_whoever_runs_the_coroutine(seen: Any, how: str) -> None:
    agent = Agent(Bank())
    events = seen(ASYNC, lambda: asyncio.run(getattr(agent, how)(3)))
    assert [(event["event"], event["args"] if "args" in event else event["res"]) for event in events] == [
        ("send", [3]),
        ("receive", 4),
    ]


def test_a_coroutine_that_never_runs_was_sent_and_is_not_answered(seen: Any) -> None:
    agent = Agent(Bank())
    assert [event["event"] for event in seen(ASYNC, lambda: asyncio.run(agent.never(3)))] == ["send"]


def test_an_exception_is_an_answer(seen: Any) -> None:
    async def main() -> None:
        with pytest.raises(ValueError):
            await Agent(Bank()).later(-1)

    events = seen(ASYNC, lambda: asyncio.run(main()))
    assert events[-1]["exception"] == "ValueError" and "res" not in events[-1]


def test_so_is_a_cancellation(seen: Any) -> None:
    class Slow(Bank):
        async def pay(self, sum: int) -> int:
            await asyncio.sleep(60)
            return sum

    async def main() -> None:
        task = asyncio.create_task(Agent(Slow()).later(1))
        await asyncio.sleep(0.01)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    events = seen(ASYNC, lambda: asyncio.run(main()))
    assert [event.get("exception") for event in events] == [None, "asyncio.exceptions.CancelledError"]


def test_many_at_once_in_several_loops_keep_their_answers(seen: Any) -> None:
    bank = Bank()

    async def crowd(numbers: range) -> None:
        await asyncio.gather(*(Agent(bank).later(number) for number in numbers))

    def program() -> None:
        threads = [
            threading.Thread(target=lambda at=at: asyncio.run(crowd(range(100 * at, 100 * at + 40)))) for at in range(3)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()

    events = seen(ASYNC, program)
    asked = {event["callId"]: event["args"][0] for event in events if "args" in event}
    answers = {event["callId"]: event["res"] for event in events if "res" in event}
    assert len(asked) == 120
    assert answers == {call: number + 1 for call, number in asked.items()}


def test_the_violating_call_of_a_coroutine_raises_where_it_is_called() -> None:
    view = """
    group G is class Agent;
    view V specifies G { send Bank.pay(Int sum) pay }
    S ::= pay {assert pay.sum > 0;} S | epsilon
    """
    made: list[str] = []

    class Careless(Agent):
        async def later(self, sum: int) -> int:
            try:
                self.bank.pay(sum)  # type: ignore[unused-coroutine]
            except lawful.Violation:
                made.append("nothing")
            return 0

    watched(view, lambda: asyncio.run(Careless(Bank()).later(-5)), on_violation="raise")
    assert made == ["nothing"]


def test_a_call_that_was_prevented_does_not_take_the_answer_of_the_next() -> None:
    view = """
    group G is class Agent;
    view V specifies G { send Bank.pay(Int sum) pay, receive reply(Bank.pay) paid, send Bank.ready() ready }
    S ::= epsilon | ready T
    T ::= pay U (U.q = pay;)
    U ::= paid {assert paid.of == U.q;} S
    """

    class Reserved(Bank):
        def ready(self) -> None:
            pass

    class Hasty(Agent):
        async def later(self, sum: int) -> int:
            bank: Any = self.bank
            refused = False
            try:  # not `pytest.raises`: the call breaks a law on purpose
                bank.pay(sum)
            except lawful.Violation:
                refused = True
            assert refused
            bank.ready()
            return await bank.pay(sum)  # type: ignore[no-any-return]

    watch = watched(view, lambda: asyncio.run(Hasty(Reserved()).later(1)), on_violation="raise")
    assert [(finding.law, finding.count) for finding in watch.findings] == [("<law>", 1)]


def test_a_thread_that_comes_while_another_one_plans_is_watched_as_well(
    seen: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Lawful reports a function's events only after it has asked the interpreter for them: no thread may be faster."""
    if sys.version_info < (3, 12):
        pytest.skip("this Python does not have sys.monitoring")
    from lawful.sources.python.monitoring_hooks import MonitoringHooks

    switch = MonitoringHooks._switch

    def switch_slowly(self: Any, code: CodeType, known: Any) -> None:
        if code.co_name in ("pay", "later"):
            time.sleep(0.05)
        switch(self, code, known)

    monkeypatch.setattr(MonitoringHooks, "_switch", switch_slowly)
    bank = Bank()

    def program() -> None:
        threads = [threading.Thread(target=lambda at=at: asyncio.run(Agent(bank).later(at))) for at in range(3)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()

    monkeypatch.setattr(tracer_choice, "NAMES", ("python",))
    events = seen(ASYNC, program)
    asked = {event["callId"]: event["args"][0] for event in events if "args" in event}
    answers = {event["callId"]: event["res"] for event in events if "res" in event}
    assert len(asked) == 3
    assert answers == {call: number + 1 for call, number in asked.items()}
