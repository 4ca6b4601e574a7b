"""The C core reports messages in queues without Python: the events are the same."""

from __future__ import annotations

import asyncio
import gc
import random
import weakref
from collections import Counter
from collections.abc import Callable, Coroutine, Sequence
from typing import Any

import pytest

import lawful
from lawful import core, grammar
from lawful.engine.run import LawRun
from lawful.sources.actors.messages import MessageSource

Event = dict[str, Any]

pytestmark = pytest.mark.skipif(core.native_tracer is None, reason="there is no C core")

VIEW = """
group Worker is task "worker-*";
group Clerk is task Clerk.work;
view V specifies Worker {
    receive worker.job(Int number, Any what) job, receive worker.note() note,
    send Clerk.report(Int number) report
}
S ::= epsilon | job S | note S | report S
"""
CLERKS = """
group Worker is task "worker-*";
group Clerk is task Clerk.work;
view W specifies Clerk { receive Clerk.report(Int number) report, send worker.job(Int number, Any what) job }
S ::= epsilon | report S | job S
"""


class Thing:
    pass


class Frozen(tuple[int, ...]):
    pass


class Clerk:
    def __init__(self, inbox: asyncio.Queue[Any], others: list[asyncio.Queue[Any]]) -> None:
        self.inbox = inbox
        self.others = others

    def tell(self, number: int) -> None:
        self.inbox.put_nowait(("report", number))

    async def work(self) -> None:
        while (item := await self.inbox.get()) is not None:
            if item[1] % 3 == 0:
                self.others[0].put_nowait(("job", -item[1], "again"))


class Office:
    """In no group, but somebody."""

    def __init__(self, rng: random.Random, queues: list[asyncio.Queue[Any]], things: list[Any]) -> None:
        self.rng, self.queues, self.things = rng, queues, things

    async def ask(self, number: int) -> None:
        await send(self.rng, self.queues, self.things, number)


async def send(rng: random.Random, queues: list[asyncio.Queue[Any]], things: list[Any], number: int) -> None:
    queue = rng.choice(queues)
    what = rng.choice(things)
    item = rng.choice([
        ("job", number, what),
        ("job", number, what),
        ("job", number, what),
        ("note",),
        "note",
        {"type": "job", "number": number, "what": 5},
        ("unknown", number),
        ("job", (number, "spread")),
    ])  # fmt: skip
    await queue.put(item)


async def worker(inbox: asyncio.Queue[Any], clerk: Clerk, polls: bool) -> None:
    number = 0
    while await inbox.get() is not None:
        number += 1
        if number % 2:
            clerk.inbox.put_nowait(("report", number))
        else:
            clerk.tell(number)
        while polls and not inbox.empty():
            if inbox.get_nowait() is None:
                return
        await asyncio.sleep(0)


async def main(seed: int) -> None:
    rng = random.Random(seed)
    texts = ["text", "\u00e4\u20ac", "\udc80", "x" * 10_001]
    things = [1, True, None, 2.5, *texts, float("nan"), 2**80, Thing(), Thing(), Frozen((1,)), [1, 2]]
    queues: list[asyncio.Queue[Any]] = [asyncio.Queue(rng.choice([0, 0, 2])) for _ in range(3)]
    clerk = Clerk(asyncio.Queue(), queues[:1])
    queues[0] = clerk.others[0] = asyncio.Queue()
    tasks = [asyncio.create_task(clerk.work())]
    readers = []
    for at, queue in enumerate(queues):
        for twin in range(1 + (rng.random() < 0.3)):
            readers.append(queue)
            tasks.append(asyncio.create_task(worker(queue, clerk, rng.random() < 0.3), name=f"worker-{at}{twin}"))
    office = Office(rng, queues, things)
    for wave in range(8):
        if wave:  # in the first one, nobody reads yet
            await asyncio.sleep(0)
        clients = [
            asyncio.create_task(
                office.ask(number) if rng.random() < 0.5 else send(rng, queues, things, number),
                name=rng.choice([None, f"client-{number}", "worker-x"]),
            )
            for number in range(10)
        ]
        await asyncio.gather(*clients)
    for queue in readers:
        await queue.put(None)
    await asyncio.gather(*tasks[1:])
    clerk.inbox.put_nowait(None)
    await tasks[0]


def canonical(events: list[Event]) -> list[Event]:
    """Ids in the order in which they are met, and no times."""
    numbers: dict[Any, int] = {}

    def renamed(value: Any) -> Any:
        return None if value is None else numbers.setdefault(value, len(numbers))

    found = []
    for event in events:
        event = {key: value for key, value in event.items() if key != "time"}
        for key in ("groupId", "targetId", "callerId", "task"):
            if key in event:
                event[key] = renamed(event[key])
        if "argIds" in event:
            event["argIds"] = [renamed(each) for each in event["argIds"]]
        found.append(event)
    return found


class Run:
    def __init__(self) -> None:
        self.events: list[Event] = []
        self.on_calls: Counter[str] = Counter()
        self.judged = 0


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch) -> Callable[..., Run]:
    """`run(program)`, `run(program, disabled=True)`: with the C core's memory of messages, and without."""

    def go(program: Callable[[], Any], *views: str, disabled: bool = False, **options: Any) -> Run:
        found = Run()
        deliver, hand, attach = LawRun.deliver, MessageSource.on_call, MessageSource.attach

        def deliver_and_note(self: LawRun, batch: list[Event]) -> None:
            found.events += [dict(event) for event in batch]
            deliver(self, batch)

        def on_call_and_count(self: MessageSource, subject: Any, *args: Any) -> Any:
            found.on_calls[getattr(subject, "co_name", "?")] += 1
            return hand(self, subject, *args)

        def attach_and_set(self: MessageSource, tracer: Any) -> None:
            attach(self, tracer)
            if disabled and self.message_cache is not None:
                self.message_cache.disabled = True

        with monkeypatch.context() as patch:
            patch.setattr(LawRun, "deliver", deliver_and_note)
            patch.setattr(MessageSource, "on_call", on_call_and_count)
            patch.setattr(MessageSource, "attach", attach_and_set)
            laws = [grammar.compile(view) for view in views or (VIEW, CLERKS)]
            with lawful.watch(laws, project=__file__, **options) as watch:
                program()
            assert not watch.warnings
            found.judged = watch.events
        return found

    return go


@pytest.mark.parametrize("seed", range(40))
def test_what_is_told_does_not_depend_on_who_tells_it(run: Any, seed: int) -> None:
    quick = run(lambda: asyncio.run(main(seed)))
    slow = run(lambda: asyncio.run(main(seed)), disabled=True)
    assert len(slow.events) > 30
    assert canonical(quick.events) == canonical(slow.events)
    assert [list(event) for event in quick.events] == [list(event) for event in slow.events]
    assert quick.on_calls["put_nowait"] < slow.on_calls["put_nowait"]


def test_python_is_asked_once_for_what_is_always_the_same(run: Any) -> None:
    async def worker(inbox: asyncio.Queue[Any]) -> None:
        while await inbox.get() is not None:
            pass

    class Desk:
        async def ask(self, inbox: asyncio.Queue[Any], number: int) -> None:
            inbox.put_nowait(("job", number, "x"))

    async def program() -> None:
        inbox: asyncio.Queue[Any] = asyncio.Queue()
        task = asyncio.create_task(worker(inbox), name="worker-1")
        await asyncio.sleep(0)
        desk = Desk()
        await asyncio.gather(*(desk.ask(inbox, number) for number in range(500)))
        inbox.put_nowait(None)
        await task

    found = run(lambda: asyncio.run(program()), NO_CLERKS)
    assert [event["args"][0] for event in found.events] == list(range(500))
    assert len({event["task"] for event in found.events}) == 500
    assert len({event["callerId"] for event in found.events}) == 1
    assert found.on_calls["put_nowait"] <= 3
    assert found.on_calls["get"] + found.on_calls["get_nowait"] <= 3


NO_CLERKS = VIEW.replace("group Clerk is task Clerk.work;", "")


def drained(inbox: asyncio.Queue[Any]) -> Coroutine[Any, Any, None]:
    async def worker() -> None:
        while await inbox.get() is not None:
            pass

    return worker()


def test_a_task_in_no_group_keeps_its_id_whatever_it_is_called(run: Any) -> None:
    async def ask(inbox: asyncio.Queue[Any], number: int) -> None:
        for again in range(4):
            inbox.put_nowait(("job", number, again))
            task = asyncio.current_task()
            assert task is not None
            if again == number % 3:
                task.set_name(f"other-{number}") if number % 2 else task.get_name()
            if number == 7:  # the same object as an argument, which Python sees to
                inbox.put_nowait(("job", number, task))
            await asyncio.sleep(0)

    async def program() -> None:
        inbox: asyncio.Queue[Any] = asyncio.Queue()
        task = asyncio.create_task(drained(inbox), name="worker-1")
        await asyncio.sleep(0)
        for wave in (1, 2):  # the second ones lie where the first ones have lain
            await asyncio.gather(*(ask(inbox, number) for number in range(300 * wave)))
        inbox.put_nowait(None)
        await task

    found = run(lambda: asyncio.run(program()), NO_CLERKS)
    slow = run(lambda: asyncio.run(program()), NO_CLERKS, disabled=True)
    assert canonical(found.events) == canonical(slow.events)
    assert sorted(Counter(event["task"] for event in found.events).values()) == [4] * 898 + [8] * 2
    assert found.on_calls["put_nowait"] < 300


def test_a_queue_that_gets_a_bound_refuses_what_is_too_much(run: Any) -> None:
    async def program() -> None:
        inbox: asyncio.Queue[Any] = asyncio.Queue()
        task = asyncio.create_task(drained(inbox), name="worker-1")
        await asyncio.sleep(0)
        for number in range(12):
            inbox._maxsize = [0, 2, -1][number // 4]  # type: ignore[attr-defined]
            try:
                inbox.put_nowait(("job", number, "x"))
            except asyncio.QueueFull:
                assert number in (4, 5, 6, 7)
        vars(inbox)["_maxsize"] = 1
        with pytest.raises(asyncio.QueueFull):
            inbox.put_nowait(("job", 12, "x"))
        vars(inbox)["_maxsize"] = 0
        inbox.put_nowait(("job", 13, "x"))
        inbox.put_nowait(None)
        await task

    found = run(lambda: asyncio.run(program()), NO_CLERKS)
    assert [event["args"][0] for event in found.events] == [0, 1, 2, 3, 8, 9, 10, 11, 13]


def test_a_name_is_the_same_in_whatever_text_it_stands(run: Any) -> None:
    async def program() -> None:
        inbox: asyncio.Queue[Any] = asyncio.Queue()
        task = asyncio.create_task(drained(inbox), name="worker-1")
        await asyncio.sleep(0)
        for number in range(300):
            name = "".join(["jo", "b"] if number % 2 else ["no", "te"])
            other = "".join(["un", f"known{number % 70}"])
            inbox.put_nowait((name, number, "x") if number % 2 else (name,))
            inbox.put_nowait((other, number))
        inbox.put_nowait(None)
        await task

    found = run(lambda: asyncio.run(program()), NO_CLERKS)
    slow = run(lambda: asyncio.run(program()), NO_CLERKS, disabled=True)
    assert len(found.events) == 300
    assert canonical(found.events) == canonical(slow.events)
    assert found.on_calls["put_nowait"] < 80


SHARED = """
group Worker is task "worker-*";
view V specifies Worker { receive worker.job(Int number) job }
start S (S.last = 0;)
S ::= epsilon | job {assert job.number < 1000 && job.number > S.last;} S (S.last = job.number;)
"""


async def pool(kind: type[asyncio.Queue[Any]], numbers: Sequence[int], got: list[Any]) -> None:
    """Three workers that read from one queue."""

    async def worker(inbox: asyncio.Queue[Any], polls: bool) -> None:
        while True:
            try:
                item = inbox.get_nowait() if polls and not inbox.empty() else await inbox.get()
            except lawful.Violation:
                got.append("refused")
                continue
            if item is None:
                return
            got.append(item[1])

    inbox: asyncio.Queue[Any] = kind()
    tasks = [asyncio.create_task(worker(inbox, at == 1), name=f"worker-{at}") for at in range(3)]
    await asyncio.sleep(0)
    for number in numbers:
        inbox.put_nowait(("job", number))
        await asyncio.sleep(0)
    for _ in tasks:
        inbox.put_nowait(None)
        await asyncio.sleep(0)
    await asyncio.gather(*tasks)


@pytest.mark.parametrize("kind", [asyncio.Queue, asyncio.LifoQueue])
def test_python_is_not_asked_for_each_message_that_one_of_several_readers_takes(run: Any, kind: Any) -> None:
    got: list[Any] = []
    found = run(lambda: asyncio.run(pool(kind, range(1, 901), got)), SHARED)
    assert got == list(range(1, 901))
    assert found.on_calls["get_nowait"] < 30 and found.on_calls["put_nowait"] < 30


@pytest.mark.parametrize("mode", ["report", "raise"])
def test_what_one_of_several_readers_may_not_take_is_told_as_it_is_without_the_c_core(run: Any, mode: str) -> None:
    numbers = [*range(1, 200), 2000, *range(200, 300), 1, 2000, *range(300, 310)]
    quick: list[Any] = []
    slow: list[Any] = []
    run(lambda: asyncio.run(pool(asyncio.Queue, numbers, quick)), SHARED, on_violation=mode)
    run(lambda: asyncio.run(pool(asyncio.Queue, numbers, slow)), SHARED, on_violation=mode, disabled=True)
    assert quick == slow
    assert quick.count("refused") == (3 if mode == "raise" else 0)


def test_a_queue_of_another_kind_is_looked_at_when_it_has_given_something(run: Any) -> None:
    class Reversed(asyncio.Queue[Any]):
        def _get(self) -> Any:
            return self._queue.pop()  # type: ignore[attr-defined]

    async def worker(inbox: asyncio.Queue[Any]) -> None:
        while await inbox.get() is not None:
            pass

    async def program() -> None:
        inbox = Reversed()
        tasks = [asyncio.create_task(worker(inbox), name=f"worker-{at}") for at in range(2)]
        await asyncio.sleep(0)
        for number in (1, 3, 2):
            inbox.put_nowait(("job", number))
        inbox.put_nowait(None)
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        inbox.put_nowait(None)
        await asyncio.gather(*tasks)

    view = SHARED.replace(" && job.number > S.last", "")
    quick, slow = run(lambda: asyncio.run(program()), view), run(lambda: asyncio.run(program()), view, disabled=True)
    assert [event["args"] for event in slow.events] == [event["args"] for event in quick.events] == [[2], [3], [1]]


class Foreman:
    def __init__(self) -> None:
        self.inbox: asyncio.Queue[Any] = asyncio.Queue()

    def job(self, number: int) -> None:
        self.inbox.put_nowait(("job", number))

    async def work(self) -> None:
        while await self.inbox.get() is not None:
            pass


def test_a_program_with_functions_that_are_called_like_messages_is_not_slower_for_it(run: Any) -> None:
    async def program() -> None:
        worker = Foreman()
        task = asyncio.create_task(worker.work())
        await asyncio.sleep(0)
        worker.job(1)
        for number in range(2, 202):
            worker.inbox.put_nowait(("job", number))
        worker.job(202)
        worker.inbox.put_nowait(None)
        await task

    view = """
    group Worker is task Foreman.work;
    view V specifies Worker { receive Foreman.job(Int number) job }
    S ::= epsilon | job {assert job.number < 1000;} S
    """
    found = run(lambda: asyncio.run(program()), view)
    slow = run(lambda: asyncio.run(program()), view, disabled=True)
    assert found.on_calls["put_nowait"] < 10 < slow.on_calls["put_nowait"]
    assert [event["args"][0] for event in slow.events] == list(range(1, 203))
    assert slow.judged == found.judged == 202


def test_a_view_that_is_broken_raises_at_the_sender_each_time() -> None:
    view = """
    group Worker is task "worker-*";
    view V specifies Worker { receive worker.job(Int number) job }
    S ::= epsilon | job {assert job.number < 3;} S
    """
    got: list[Any] = []
    refused: list[int] = []

    async def worker(inbox: asyncio.Queue[Any]) -> None:
        while (item := await inbox.get()) is not None:
            got.append(item)

    async def program() -> None:
        inbox: asyncio.Queue[Any] = asyncio.Queue()
        task = asyncio.create_task(worker(inbox), name="worker-1")
        await asyncio.sleep(0)
        for number in (0, 1, 2, 3, 1, 4, 2):
            try:
                inbox.put_nowait(("job", number))
            except lawful.Violation:
                refused.append(number)
        inbox.put_nowait(None)
        await task

    with lawful.watch([grammar.compile(view)], on_violation="raise", project=__file__) as watch:
        asyncio.run(program())
    assert [number for _, number in got] == [0, 1, 2, 1, 2]
    assert refused == [3, 4]
    assert sum(finding.count for finding in watch.findings) == 2


def test_readers_that_are_gone_are_not_kept(run: Any) -> None:
    alive: list[Any] = []

    async def worker(inbox: asyncio.Queue[Any]) -> None:
        while await inbox.get() is not None:
            pass

    async def program() -> None:
        for number in range(20):
            inbox: asyncio.Queue[Any] = asyncio.Queue()
            thing = Thing()
            task = asyncio.create_task(worker(inbox), name=f"worker-{number}")
            await asyncio.sleep(0)
            for _ in range(3):
                inbox.put_nowait(("job", number, thing))
            inbox.put_nowait(None)
            await task
            alive.extend(map(weakref.ref, (inbox, task, thing)))
            del inbox, task, thing
        gc.collect()
        del alive[-3:]  # asyncio itself may still have the last task
        assert not [each for each in alive if each() is not None]

    found = run(lambda: asyncio.run(program()), NO_CLERKS)
    assert len(found.events) == 60
    assert len({event["groupId"] for event in found.events}) == 20
