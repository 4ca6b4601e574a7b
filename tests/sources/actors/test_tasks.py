"""Asyncio tasks and queues: what one task puts into the queue of another is a message."""

from __future__ import annotations

import asyncio
import functools
import gc
import random
import weakref
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, NamedTuple

import pytest

import lawful
from sources.actors.watched_programs import watched

VIEW = """
group Boss is task "boss*";
group Hand is task "hand*";
view V specifies Boss { send hand.dig(Int depth) dig, receive boss.done(Int depth) done }
S ::= epsilon | dig S | done S
"""
BOTH = """
view V { send hand.dig(Int depth) dig, receive hand.dig(Int depth) dug }
S ::= epsilon | dig S | dug S
"""
GROUPS = {"Boss": "task boss*", "Hand": "task hand*"}


async def hand(inbox: asyncio.Queue[Any], boss: asyncio.Queue[Any]) -> None:
    while (item := await inbox.get()) is not None:
        boss.put_nowait(("done", item[1]))


async def boss(inbox: asyncio.Queue[Any], workers: list[asyncio.Queue[Any]], depths: list[int]) -> None:
    for at, depth in enumerate(depths):
        await workers[at % len(workers)].put(("dig", depth))
        if depth % 2:
            await inbox.get()
    for worker in workers:
        await worker.put(None)


async def site(hands: int, depths: list[int], *, named: bool = True) -> None:
    queue: asyncio.Queue[Any] = asyncio.Queue()
    queues: list[asyncio.Queue[Any]] = [asyncio.Queue() for _ in range(hands)]
    tasks = [
        asyncio.create_task(hand(each, queue), name=f"hand-{at}" if named else None) for at, each in enumerate(queues)
    ]
    await asyncio.create_task(boss(queue, queues, depths), name="boss" if named else None)
    await asyncio.gather(*tasks)


@pytest.mark.parametrize("named", [True, False])
def test_puts_are_messages_between_tasks(seen: Any, named: bool) -> None:
    """Tasks are known by their names, or by those of their coroutines."""
    groups = None if named else {"Boss": f"task {__name__}.boss", "Hand": "task hand"}
    events = seen(VIEW, lambda: asyncio.run(site(2, [1, 3, 5], named=named)), groups)
    assert [(event["event"], event["name"], event["args"]) for event in events] == [
        (kind, name, [depth]) for depth in (1, 3, 5) for kind, name in (("send", "hand.dig"), ("receive", "boss.done"))
    ]
    assert len({event["groupId"] for event in events}) == 1
    assert all(event["file"].endswith("test_tasks.py") for event in events)


def test_one_message_is_sent_and_received(seen: Any) -> None:
    events = seen(BOTH, lambda: asyncio.run(site(3, list(range(1, 31, 2)))), GROUPS)
    sent, received = events[::2], events[1::2]
    assert [event["event"] for event in events] == ["send", "receive"] * 15
    assert {event["group"] for event in sent} == {"Boss"} and {event["group"] for event in received} == {"Hand"}
    assert len({event["groupId"] for event in received}) == 3
    assert [event["args"] for event in sent] == [event["args"] for event in received] == [[n] for n in range(1, 31, 2)]


def test_what_lies_in_a_queue_before_anybody_reads_it_is_received_when_somebody_does(seen: Any) -> None:
    async def main() -> None:
        inbox: asyncio.Queue[Any] = asyncio.Queue()
        for depth in (1, 2):
            inbox.put_nowait(("dig", depth))
        inbox.put_nowait(None)
        await asyncio.create_task(hand(inbox, asyncio.Queue()), name="hand")

    events = seen(BOTH, lambda: asyncio.run(main()), GROUPS)
    assert [(event["event"], event["group"], event["args"]) for event in events] == [
        ("receive", "Hand", [1]),
        ("receive", "Hand", [2]),
    ]


def test_of_several_readers_of_one_queue_it_is_the_one_who_takes_it(seen: Any) -> None:
    taken: dict[str, list[int]] = {}

    async def reader(inbox: asyncio.Queue[Any]) -> None:
        while (item := await inbox.get()) is not None:
            taken.setdefault(asyncio.current_task().get_name(), []).append(item[1])  # type: ignore[union-attr]
            for _ in range(4):
                await asyncio.sleep(0)

    async def main() -> None:
        inbox: asyncio.Queue[Any] = asyncio.Queue()
        tasks = [asyncio.create_task(reader(inbox), name=f"hand-{at}") for at in range(3)]
        await asyncio.sleep(0)
        for depth in range(12):
            await inbox.put(("dig", depth))
            await asyncio.sleep(0)
        for _ in tasks:
            await inbox.put(None)
        await asyncio.gather(*tasks)

    view = "view V specifies Hand { receive reader.dig(Int depth) dig } S ::= epsilon | dig S"
    events = seen(view, lambda: asyncio.run(main()), GROUPS)
    by_group: dict[int, list[int]] = {}
    for event in events:
        by_group.setdefault(event["groupId"], []).append(event["args"][0])
    assert sorted(by_group.values()) == sorted(taken.values())
    assert len(taken) == 3


class Dig(NamedTuple):
    depth: int


@dataclass
class DigOrder:
    depth: int


class Miner:
    def __init__(self) -> None:
        self.inbox: asyncio.Queue[Any] = asyncio.Queue()

    def dig(self, depth: int) -> None:
        pass

    async def run(self) -> None:
        while await self.inbox.get() is not None:
            pass


FORMS: list[tuple[str, Callable[[Miner], Any]]] = [
    ("dig", lambda miner: ("dig", 7)),
    ("dig", lambda miner: ["dig", 7]),
    ("dig", lambda miner: ("dig", (7,))),
    ("dig", lambda miner: ("dig", (), {"depth": 7})),
    ("dig", lambda miner: {"type": "dig", "depth": 7}),
    ("dig", lambda miner: {"method": "dig", "args": [7]}),
    ("dig", lambda miner: Dig(7)),
    ("digOrder", lambda miner: DigOrder(7)),
    ("dig", lambda miner: functools.partial(miner.dig, 7)),
    ("dig", lambda miner: (miner.dig, 7)),
    ("dig", lambda miner: (0, ("dig", 7))),
]


@pytest.mark.parametrize(("name", "form"), FORMS)
def test_items_of_many_forms_are_messages(seen: Any, name: str, form: Callable[[Miner], Any]) -> None:
    async def main() -> None:
        miner = Miner()
        task = asyncio.create_task(miner.run())
        await asyncio.sleep(0)
        await miner.inbox.put(form(miner))
        await miner.inbox.put(None)
        await task

    view = f"""
    group G is task "*.Miner.run";
    view V specifies G {{ receive Miner.{name}(Int depth) dig }}
    S ::= epsilon | dig {{assert dig.depth == 7;}} S
    """
    (event,) = seen(view, lambda: asyncio.run(main()))
    assert event["groupId"] == event["targetId"]


def test_a_method_that_only_puts_is_the_message_and_the_put_is_not_another(seen: Any) -> None:
    class Stub(Miner):
        def dig(self, depth: int) -> None:
            self.inbox.put_nowait(("dig", depth))

    async def main() -> None:
        miner = Stub()
        task = asyncio.create_task(miner.run())
        await asyncio.sleep(0)
        miner.dig(1)
        miner.inbox.put_nowait(None)
        await task

    view = "group G is class Miner; view V specifies G { receive Miner.dig(Int depth) dig } S ::= epsilon | dig S"
    (event,) = seen(view, lambda: asyncio.run(main()))
    assert event["args"] == [1]


# -- answers ---------------------------------------------------------------------------------------

ASKING = """
group Client is task "client*";
group Server is task "server*";
view V specifies Client {
    send server.ask(Int n) ask,
    receive reply(server.ask) answer
}
S ::= epsilon | ask T (T.q = ask; T.n = ask.n;)
T ::= answer {assert answer.of == T.q && answer.result == 2 * T.n;} S
"""


async def server(inbox: asyncio.Queue[Any], wrong: int | None = None) -> None:
    while (item := await inbox.get()) is not None:
        _, number, future = item
        if number < 0:
            future.set_exception(ValueError(number))
        else:
            try:
                future.set_result(2 * number + (number == wrong))
            except lawful.Violation:
                future.set_result(2 * number)


async def ask(inbox: asyncio.Queue[Any], numbers: list[int]) -> list[Any]:
    answers: list[Any] = []
    for number in numbers:
        future = asyncio.get_running_loop().create_future()
        await inbox.put(("ask", number, future))
        try:
            answers.append(await future)
        except ValueError:
            answers.append(None)
    return answers


async def service(clients: int, numbers: list[int], wrong: int | None = None) -> list[list[Any]]:
    inbox: asyncio.Queue[Any] = asyncio.Queue()
    serving = asyncio.create_task(server(inbox, wrong), name="server")
    tasks = [asyncio.create_task(ask(inbox, numbers), name=f"client-{at}") for at in range(clients)]
    answers = await asyncio.gather(*tasks)
    await inbox.put(None)
    await serving
    return answers


def test_a_future_in_a_message_is_its_answer(seen: Any) -> None:
    events = seen(ASKING, lambda: asyncio.run(service(3, [1, 2, 3])))
    asked = {event["callId"]: (event["groupId"], event["args"]) for event in events if not event.get("reply")}
    answered = {event["callId"]: (event["groupId"], event["res"]) for event in events if event.get("reply")}
    assert len(asked) == len(answered) == 9
    for call, (group, (number,)) in asked.items():
        assert answered[call] == (group, 2 * number)


def test_a_wrong_answer_is_found_and_does_not_go_out() -> None:
    answers: list[Any] = []
    watch = watched(ASKING, lambda: answers.extend(asyncio.run(service(1, [1, 2], wrong=2))))
    assert answers == [[2, 5]]
    finding, _ = watch.findings  # in the end no answer was accepted
    assert finding.rejection is not None and finding.rejection.terminal == "answer"
    answers.clear()
    watch = watched(ASKING, lambda: answers.extend(asyncio.run(service(1, [1, 2], wrong=2))), on_violation="raise")
    assert answers == [[2, 4]] and len(watch.findings) == 1


def test_an_exception_is_an_answer(seen: Any) -> None:
    view = ASKING.replace(" && answer.result == 2 * T.n", "").replace(" T.n = ask.n;", "")
    events = seen(view, lambda: asyncio.run(service(1, [-1])))
    assert [event.get("exception") for event in events] == [None, "ValueError"]


def test_what_was_not_put_is_not_received_either() -> None:
    view = """
    view V { send hand.dig(Int d) dig, receive hand.dig(Int d) dug }
    S ::= epsilon | dig {assert dig.d < 3;} S | dug {assert dug.d < 3;} S
    """

    async def main() -> None:
        inbox: asyncio.Queue[Any] = asyncio.Queue(maxsize=2)

        async def work() -> None:
            for depth in (1, 5, 2, 1):
                with suppress(lawful.Violation, asyncio.QueueFull):
                    inbox.put_nowait(("dig", depth))

        await asyncio.create_task(work(), name="boss")
        reading = asyncio.create_task(hand(inbox, asyncio.Queue()), name="hand")
        await inbox.put(None)
        await reading

    watch = watched(view, lambda: asyncio.run(main()), GROUPS, on_violation="raise")
    assert [finding.event["args"] for finding in watch.findings if finding.event] == [[5]]
    assert watch.events == 5  # two were sent and received, and one was not sent


# -- enforcement -----------------------------------------------------------------------------------


def test_the_violating_put_raises_and_nothing_is_in_the_queue() -> None:
    view = """
    group Boss is task "boss";
    view V specifies Boss { send hand.dig(Int d) dig }
    S ::= epsilon | dig {assert dig.d < 3;} S
    """
    sizes: list[int] = []

    async def main() -> None:
        inbox: asyncio.Queue[Any] = asyncio.Queue()

        async def work() -> None:
            for depth in (1, 2, 3, 1):
                try:
                    await inbox.put(("dig", depth))
                except lawful.Violation:
                    sizes.append(-1)
                sizes.append(inbox.qsize())

        await asyncio.create_task(work(), name="boss")

    watched(view, lambda: asyncio.run(main()), on_violation="raise")
    assert sizes == [1, 2, -1, 2, 3]


def test_a_cancelled_task_leaves_nothing_behind(seen: Any) -> None:
    async def main() -> None:
        inbox: asyncio.Queue[Any] = asyncio.Queue(maxsize=1)
        reading = asyncio.create_task(hand(asyncio.Queue(), inbox), name="hand")
        full = asyncio.create_task(boss(asyncio.Queue(), [inbox], [2, 4, 6]), name="boss")
        await asyncio.sleep(0.01)
        for task in (full, reading):
            task.cancel()
        await asyncio.gather(full, reading, return_exceptions=True)

    events = seen(VIEW, lambda: asyncio.run(main()))
    assert [event["args"] for event in events] == [[2]]  # the second waits for room, and is never sent


@pytest.mark.parametrize("seed", range(4))
def test_random_programs_are_seen_as_they_tell_themselves(seen: Any, seed: int) -> None:
    """Nodes send each other numbered messages in a random order; each notes what it sends when it does."""
    dice = random.Random(seed)
    log: list[Any] = []

    class Node:
        def __init__(self, name: str) -> None:
            self.name = name
            self.inbox: asyncio.Queue[Any] = asyncio.Queue()

        async def run(self) -> None:
            while (item := await self.inbox.get()) is not None:
                await self.pass_on(item[1])

        async def pass_on(self, left: int) -> None:
            for _ in range(min(left, 2)):
                if dice.random() < 0.5:
                    await asyncio.sleep(0)
                other = dice.choice(nodes)
                if other is not self:
                    log.append((self.name, other.name, left - 1))
                other.inbox.put_nowait(("visit", left - 1))

    nodes = [Node(name) for name in "abc"]

    async def main() -> None:
        tasks = [asyncio.create_task(node.run()) for node in nodes]
        await asyncio.sleep(0)
        nodes[0].inbox.put_nowait(("visit", 6))
        while any(node.inbox.qsize() for node in nodes) or dice.random() < 0.9:
            await asyncio.sleep(0)
        await asyncio.sleep(0.01)
        for node in nodes:
            node.inbox.put_nowait(None)
        await asyncio.gather(*tasks)

    view = """
    group Node is task "*.Node.run";
    view V { send Node.visit(Int left) out, receive Node.visit(Int left) in }
    S ::= epsilon | out S | in S
    """
    first, *events = seen(view, lambda: asyncio.run(main()))
    assert first["event"] == "receive"
    pairs = list(zip(events[::2], events[1::2], strict=True))
    names: dict[int, str] = {}
    assert len(pairs) == len(log) > 10
    for (sent, received), (sender, receiver, left) in zip(pairs, log, strict=True):
        assert (sent["event"], received["event"], sent["args"], received["args"]) == ("send", "receive", [left], [left])
        assert names.setdefault(sent["groupId"], sender) == sender
        assert names.setdefault(received["groupId"], receiver) == receiver
    assert len(set(names.values())) == len(names)


# -- what is left -------------------------------------------------------------------------------------


def test_nothing_is_kept_alive_by_being_watched() -> None:
    """Tasks, queues, the objects that own them and what lies in queues are freed as without us."""
    refs: list[weakref.ref[Any]] = []

    class Big:
        pass

    class Owner(Miner):
        async def run(self) -> None:
            await super().run()

    async def main() -> None:
        owner, big = Owner(), Big()
        task = asyncio.create_task(owner.run())
        unread: asyncio.Queue[Any] = asyncio.Queue()
        future = asyncio.get_running_loop().create_future()
        unread.put_nowait(("dig", big, unread, future))
        await asyncio.sleep(0)
        owner.inbox.put_nowait(("dig", big, owner, future))
        owner.inbox.put_nowait(None)
        await task
        refs.extend(map(weakref.ref, (owner, big, task, unread, owner.inbox, future)))

    view = """
    group G is task "*.Owner.run";
    view V specifies G { receive Owner.dig(Obj what, Obj who) dig, send reply(Owner.dig) dug }
    S ::= epsilon | dig S
    """

    def program() -> None:
        asyncio.run(main())
        gc.collect()
        assert [ref() for ref in refs] == [None] * 6

    watch = watched(view, program)
    assert watch.events == 1
