"""Messages that are judged without an event: nobody can tell the difference."""

from __future__ import annotations

import asyncio
import gc
import json
import random
import re
import threading
import weakref
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import pytest

import lawful
from lawful import core, grammar
from lawful.engine.run import LawRun
from lawful.events import open_trace
from lawful.sources.actors.messages import MessageSource

Event = dict[str, Any]

pytestmark = pytest.mark.skipif(core.native_tracer is None, reason="there is no C core")

GROUPS = """
group Worker is task "worker-*";
group Clerk is task "clerk";
"""
ORDER = """
view Order specifies Worker {
    receive worker.job(Int number, Any what) job, receive worker.note() note, send clerk.report(Int number) report
}
start S (S.last = 0;)
S ::= epsilon | job {assert job.number >= S.last - 6;} S (S.last = job.number;) | note S (S.last = S.last;)
    | report {assert report.number < 30;} S (S.last = S.last;)
"""
CLERK = """
view Clerks specifies Clerk { receive clerk.report(Int number) report, send worker.job(Int number, Any what) job }
start S (S.count = 0;)
S ::= epsilon | report {assert report.number % 7 != 3;} S (S.count = S.count + 1;)
    | job {assert S.count < 25;} S (S.count = S.count;)
"""
NESTED = """
view Nested specifies Worker { receive worker.job(Int number, Any what) job, receive worker.note() note }
S ::= epsilon | job S note S
"""
SAME = """
view Same specifies Worker { receive worker.job(Int number, Any what) job }
start S (S.what = 0;)
S ::= epsilon | job {assert S.what == 0 || job.what != S.what;} S (S.what = job.what;)
"""
SIZES = """
view Sizes specifies Worker { receive worker.job(Int number, Any what) job, send clerk.report(Int number) report }
S ::= epsilon | job {assert size(job.what) < 5;} S | report S
"""
LOST = """
view Lost specifies Worker { receive worker.job(Int number, Any what) job, receive worker.note() note }
start S (S.left = 12;)
S ::= {assert S.left > 0;} epsilon | job {assert S.left > 0;} S (S.left = S.left - 1;)
    | note {assert S.left > 0;} S (S.left = S.left;)
"""
VIEW = (
    GROUPS
    + """
view V specifies Worker { receive worker.job(Int number, Any what) job }
S ::= epsilon | job {assert job.number < 1000;} S
"""
)
VIEWS = (ORDER, CLERK, NESTED, SAME, SIZES, LOST)


class Thing:
    pass


@dataclass
class Job:
    number: int
    what: Any


@dataclass(slots=True)
class Note:
    pass


class Report(NamedTuple):
    number: int


@dataclass
class Odd:
    """As the name of its class says, no message of the view."""

    number: int


def jobs(rng: random.Random, number: int, what: Any) -> Any:
    """A job, in one of the ways in which it can be written."""
    return rng.choice([
        ("job", number, what),
        ("job", number, what),
        ("job", number),
        {"type": "job", "number": number, "what": what},
        {"what": what, "kind": "job", "number": number, "more": [1]},
        {"type": "job", "number": number},
        {"op": "job", "args": [number, what]},
        {3: 4, "name": "job", "number": number, "what": what},
        Job(number, what),
        ("note",),
        "note",
        Note(),
        {"type": "note"},
        Odd(number),
        {"number": number},
        None,
    ])  # fmt: skip


class Program:
    """Tasks that send each other random messages; `log` lists messages that arrived and those that a law refused."""

    def __init__(
        self,
        seed: int,
        make: Callable[[random.Random, int, Any], Any] = jobs,
        length: int = 12,
        shared: float = 0.2,
    ) -> None:
        """`shared`: how likely it is that two read from a queue."""
        self.shared = shared
        self.rng = random.Random(seed)
        self.make = make
        self.length = length
        self.log: list[Any] = []


def shown(item: Any) -> str:
    return type(item).__name__ if "object at" in repr(item) else repr(item)


def put(program: Program, queue: asyncio.Queue[Any], item: Any) -> None:
    try:
        queue.put_nowait(item)
    except (lawful.Violation, asyncio.QueueFull) as error:
        program.log.append(("refused", type(error).__name__, shown(item)))


async def got(program: Program, who: Any, queue: asyncio.Queue[Any]) -> None:
    try:
        program.log.append((who, shown(await queue.get())))
    except lawful.Violation as error:  # it turned out only here who receives it
        program.log.append((who, type(error).__name__))


async def worker(program: Program, at: int, inbox: asyncio.Queue[Any], reports: asyncio.Queue[Any]) -> None:
    number = 0
    while True:
        await got(program, at, inbox)
        number += program.rng.randint(1, 4)
        put(
            program,
            reports,
            program.rng.choice([("report", number), Report(number), {"type": "report", "number": number}]),
        )


async def clerk(program: Program, inbox: asyncio.Queue[Any], others: list[asyncio.Queue[Any]]) -> None:
    while True:
        await got(program, "clerk", inbox)
        if program.rng.random() < 0.2:
            put(program, program.rng.choice(others), ("job", 100, "again"))


async def send(program: Program, queues: list[asyncio.Queue[Any]], things: list[Any], number: int) -> None:
    item = program.make(program.rng, number, program.rng.choice(things))
    if item is not None:
        put(program, program.rng.choice(queues), item)


async def main(program: Program) -> None:
    asyncio.get_running_loop().set_exception_handler(lambda *_: None)  # of tasks that were stopped
    rng = program.rng
    things = ["text", "a longer one", 5, None, Thing(), Thing(), [1, 2], 2**70]
    queues: list[asyncio.Queue[Any]] = [
        rng.choice([asyncio.Queue, asyncio.Queue, asyncio.LifoQueue])(rng.choice([0, 0, 3])) for _ in range(3)
    ]
    reports: asyncio.Queue[Any] = asyncio.Queue()
    tasks = [asyncio.create_task(clerk(program, reports, queues), name="clerk")]
    for at, queue in enumerate(queues):
        for _ in range(2 if rng.random() < program.shared else 1):
            tasks.append(asyncio.create_task(worker(program, at, queue, reports), name=f"worker-{len(tasks)}"))
    if rng.random() < 0.7:
        await asyncio.sleep(0)
    for wave in range(program.length):
        await asyncio.gather(*(send(program, queues, things, wave + each) for each in range(6)))
        await asyncio.sleep(0)
    for task in tasks:
        task.cancel()
    for result in await asyncio.gather(*tasks, return_exceptions=True):
        assert isinstance(result, asyncio.CancelledError), result


class Run:
    """The visible results of a run."""

    def __init__(self) -> None:
        self.log: list[Any] = []
        self.findings: list[Event] = []
        self.counts: tuple[Any, ...] = ()
        self.warnings: tuple[str, ...] = ()
        self.without_events = 0


FIRST = 100_000
"""Ids of objects begin there, or above: no other number has six digits."""

ID = r"(?<![\w.])\d{6,}(?![\w.])"


def canonical(findings: Any) -> Any:
    """Without times, and with ids by their order. Which law spoke first depends on when events were delivered."""
    text = json.dumps(sorted(findings, key=lambda each: str([each["rejected_at"], each["expected"]])))
    ids = sorted({int(each) for each in re.findall(ID, text)})
    renamed = json.loads(re.sub(ID, lambda found: str(-1 - ids.index(int(found[0]))), text))

    def timeless(value: Any) -> Any:
        if isinstance(value, dict):
            return {key: timeless(each) for key, each in value.items() if not key.endswith("time")}
        return [timeless(each) for each in value] if isinstance(value, list) else value

    return timeless(renamed)


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch) -> Callable[..., Run]:
    """`run(program, views)`; `inline_check=False`: all by events; `message_cache=False`: and Python makes these."""

    def go(
        program: Program,
        views: tuple[str, ...],
        *,
        inline_check: bool = True,
        message_cache: bool = True,
        buffer: int | None = None,
        messages: int = 0,
        **options: Any,
    ) -> Run:
        found = Run()
        enable_inline, take = MessageSource.enable_inline, LawRun._take_inline

        def enable_or_not(self: MessageSource, inline_judge: Any) -> None:
            if inline_check:
                enable_inline(self, inline_judge)
            if not message_cache and self.message_cache is not None:
                self.message_cache.disabled = True

        def absorb_and_count(self: LawRun) -> None:
            found.without_events += self.inline.count
            take(self)

        with monkeypatch.context() as patch:
            patch.setattr(MessageSource, "enable_inline", enable_or_not)
            patch.setattr(LawRun, "_take_inline", absorb_and_count)
            watch = lawful.watch([grammar.compile(GROUPS + view) for view in views], project=__file__, **options)
            settings = replace(watch._settings, messages=messages)
            watch._settings = settings if buffer is None else replace(settings, buffer=buffer)
            with watch:
                identify = watch._session.tracer.identify  # type: ignore[union-attr]
                while identify(Thing()) < FIRST:
                    pass
                try:
                    asyncio.run(main(program))
                except SystemExit:
                    program.log.append("stopped")
        gc.collect()  # tasks that were stopped complain when they go
        live = watch._live
        found.log = program.log
        found.findings = canonical([each.to_json() for each in watch.findings])
        found.counts = (watch.events, live.threads, live.violations, live.log.suppressed, live._number)
        found.warnings = tuple(watch.warnings)
        return found

    return go


def same(one: Run, other: Run) -> None:
    assert one.log == other.log
    for ours, theirs in zip(one.findings, other.findings, strict=True):
        assert {key: each for key, each in ours.items() if theirs.get(key, ...) != each} == {}
    assert one.findings == other.findings
    assert one.counts == other.counts
    assert one.warnings == other.warnings


@pytest.mark.parametrize("mode", ["report", "raise", "stop"])
@pytest.mark.parametrize("seed", range(40))
def test_random_programs_are_judged_as_by_events(run: Any, seed: int, mode: str) -> None:
    rng = random.Random(seed)
    views = tuple(rng.sample(VIEWS, rng.randint(1, 3)))
    options = {
        "on_violation": mode,
        "buffer": rng.choice([1, 1, 3, None]),
        "messages": rng.choice([0, 4]),
        "history": rng.choice([0, 2, 10]),
    }
    direct = run(Program(seed), views, **options)
    by_events = run(Program(seed), views, inline_check=False, **options)
    assert by_events.without_events == 0
    same(direct, by_events)


@pytest.mark.parametrize("seed", range(10))
def test_most_messages_need_no_event_and_no_python(run: Any, seed: int) -> None:
    def plain(rng: random.Random, number: int, what: Any) -> Any:
        return rng.choice([("job", number, number), Job(number, 1), {"type": "job", "number": number, "what": 2}])

    direct = run(Program(seed, plain, 30), (ORDER,), on_violation="raise", messages=5)
    same(direct, run(Program(seed, plain, 30), (ORDER,), on_violation="raise", messages=5, inline_check=False))
    refused = sum(1 for entry in direct.log if entry[0] == "refused")
    assert direct.counts[0] - direct.without_events < 40 + 3 * refused


@pytest.mark.parametrize("seed", range(15))
def test_python_alone_comes_to_the_same_verdicts(run: Any, seed: int) -> None:
    """There, objects may have other ids."""
    views = tuple(random.Random(seed).sample(VIEWS, 2))
    direct = run(Program(seed), views, on_violation="raise")
    python = run(Program(seed), views, on_violation="raise", inline_check=False, message_cache=False)
    assert direct.log == python.log
    assert direct.counts == python.counts
    assert [(each["law"], each["line"], each["rejected_at"], each["count"]) for each in direct.findings] == [
        (each["law"], each["line"], each["rejected_at"], each["count"]) for each in python.findings
    ]


@pytest.mark.parametrize("seed", range(3))
def test_what_waits_is_told_when_it_is_much(run: Any, seed: int) -> None:
    """More messages than letters are kept, and an event in between that keeps others from being judged without."""

    def plain(rng: random.Random, number: int, what: Any) -> Any:
        return {"type": "job", "number": number, "what": [1]} if number % 300 == 0 else ("job", number, 1)

    view = VIEW.replace("1000", "1490").removeprefix(GROUPS)
    direct = run(Program(seed, plain, 1500, shared=0), (view,), history=10, messages=10)
    same(direct, run(Program(seed, plain, 1500, shared=0), (view,), history=10, messages=10, inline_check=False))
    assert direct.findings
    assert direct.without_events > direct.counts[0] / 2


async def jobs_for(inbox: asyncio.Queue[Any], numbers: Any, between: Callable[[int], None] | None = None) -> None:
    async def worker() -> None:
        while await inbox.get() is not None:
            pass

    task = asyncio.create_task(worker(), name="worker-1")
    await asyncio.sleep(0)
    for number in numbers:
        inbox.put_nowait(("job", number, "x"))
        if between is not None:
            between(number)
        await asyncio.sleep(0)
    inbox.put_nowait(None)
    await task


def test_laws_that_come_and_go_while_messages_do() -> None:
    law = grammar.compile(VIEW)
    strict = grammar.compile(VIEW.replace("1000", "30").replace("view V", "view Strict"), name="strict")
    with lawful.watch([law], project=__file__, on_violation="raise") as watch:
        live = watch._live

        def change(number: int) -> None:
            if number == 10:
                live.add([strict])
            elif number == 20:
                live.pause("strict", True)
            elif number == 40:
                live.remove("strict")

        asyncio.run(jobs_for(asyncio.Queue(), range(60), change))
        assert watch.events == 60
        assert not watch.findings
        assert live.inline.inline_check.version >= 3
        live.add([strict])
        with pytest.raises(lawful.Violation):
            asyncio.run(jobs_for(asyncio.Queue(), range(20, 60)))
    assert [finding.law for finding in watch.findings] == ["strict"]


def test_a_trace_that_begins_later_has_the_messages(tmp_path: Any) -> None:
    path = tmp_path / "trace.jsonl"
    with lawful.watch([grammar.compile(VIEW)], project=__file__, on_violation="raise") as watch:

        def change(number: int) -> None:
            if number == 10:
                watch._session.record(str(path))  # type: ignore[union-attr]
            elif number == 20:
                watch._session.record(None)  # type: ignore[union-attr]

        asyncio.run(jobs_for(asyncio.Queue(), range(40), change))
    with open_trace(path) as trace:
        written = [event["args"][0] for event in trace if event.get("event") == "receive"]
    assert written == list(range(11, 21))
    assert watch.events == 40


def test_messages_keep_nothing_alive() -> None:
    alive: list[Any] = []
    with lawful.watch([grammar.compile(VIEW)], project=__file__, on_violation="raise") as watch:

        async def program() -> None:
            inbox: asyncio.Queue[Any] = asyncio.Queue()

            async def worker() -> None:
                while await inbox.get() is not None:
                    pass

            task = asyncio.create_task(worker(), name="worker-1")
            await asyncio.sleep(0)
            for number in range(20):
                thing = Thing()
                alive.append(weakref.ref(thing))
                inbox.put_nowait(("job", number, thing))
                del thing
            inbox.put_nowait(None)
            await task

        asyncio.run(program())
        assert watch.events == 20
        gc.collect()
        assert not [each for each in alive if each() is not None]


def test_threads_send_side_by_side() -> None:
    """Each with a loop of its own, while another thread asks for what was found so far."""
    with lawful.watch([grammar.compile(VIEW)], project=__file__) as watch:
        threads = [
            threading.Thread(target=lambda: asyncio.run(jobs_for(asyncio.Queue(), range(900, 1001)))) for _ in range(4)
        ]
        for thread in threads:
            thread.start()
        while any(thread.is_alive() for thread in threads):
            watch._live.settle()
            assert watch.findings is not None
        for thread in threads:
            thread.join()
    assert watch.events == 404
    assert sum(finding.count for finding in watch.findings) == 4
    assert watch._live.threads >= 4


def test_a_deferred_event_says_what_the_event_would_have() -> None:
    with lawful.watch([grammar.compile(VIEW)], project=__file__, on_violation="raise") as watch:
        asyncio.run(jobs_for(asyncio.Queue(), range(5)))
        inline_check = watch._live.inline.inline_check
        inline_check.max_per_group, inline_check.max_overall = 2, 1
        count, entries = inline_check.take(7)
        assert count > 2
        events = [(number, event.to_dict()) for number, event in entries]
    assert [number for number, _ in events] == [7, 7 + count - 2, 7 + count - 1]  # the first, and the last two
    event = events[-1][1]
    assert list(event) == [
        "event", "name", "group", "groupId", "args", "task", "file", "line", "thread", "time"
    ]  # fmt: skip
    assert event["args"] == [4, "x"]
    assert event["file"].endswith("test_inline_check.py")
    assert [each["time"] for _, each in events] == sorted(each["time"] for _, each in events)
