"""In which asyncio task something happened: asked of asyncio by random programs themselves, and compared."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Callable
from types import ModuleType
from typing import Any

import pytest

from lawful.sources.python.tracer_protocol import Event, Tracer, Want
from sources.python.by_name import CALL

Make = Callable[..., Tracer]
Run = Callable[[str], ModuleType]

PROGRAM = """
import asyncio
import random
import sys
import threading

class Probe:
    def hit(self):
        return self

PROBES = {}  # by tasks, which are kept alive
HITS = []

def here(times=1):
    try:
        task = asyncio.current_task()
    except RuntimeError:
        task = None
    probe = PROBES.setdefault(task, Probe())
    for _ in range(times):
        probe.hit()
        HITS.append(task)

class Crowd:
    def __init__(self, seed, most):
        self.rng, self.most, self.tasks = random.Random(seed), most, 0

    def start(self, depth):
        self.tasks += 1
        return asyncio.create_task(self.work(depth))

    async def rows(self):
        for _ in range(self.rng.randrange(3)):
            here()
            yield
            await asyncio.sleep(0)

    async def work(self, depth):
        started = []
        for _ in range(self.rng.randrange(1, 8)):
            deed = self.rng.randrange(9)
            if deed == 0:
                await asyncio.sleep(0)
            elif deed == 1 and depth and self.tasks < self.most:
                started.append(self.start(depth - 1))
            elif deed == 2:
                asyncio.get_running_loop().call_soon(here)
            elif deed == 3:
                await asyncio.get_running_loop().run_in_executor(None, here)
            elif deed == 4:
                async for _ in self.rows():
                    here()
            elif deed == 5 and started:
                await asyncio.gather(*started, return_exceptions=True)
            elif deed == 6 and started:
                started[-1].cancel()
            elif deed == 7:
                loop = asyncio.get_running_loop()
                asyncio._set_running_loop(None)  # as those do who run a loop inside of another
                here()
                asyncio._set_running_loop(loop)
                here()
            else:
                here(self.rng.randrange(1, 30))
        here()
        await asyncio.gather(*started, return_exceptions=True)

    async def main(self):
        if EAGER:
            asyncio.get_running_loop().set_task_factory(asyncio.eager_task_factory)
        await self.start(3)

def crowd(seed, most):
    here()
    asyncio.run(Crowd(seed, most).main())
    here()

def wander(seed):
    # One loop, in one thread after another.
    loop = asyncio.new_event_loop()
    each = Crowd(seed, 10)
    for turn in range(3):
        loop.run_until_complete(each.main())
        here()
        thread = threading.Thread(target=loop.run_until_complete, args=(each.main(),))
        thread.start()
        here(5)
        thread.join()
    loop.close()

def work(seed):
    here()
    threads = [threading.Thread(target=crowd, args=(seed + i, 20)) for i in range(3)]
    for thread in threads:
        thread.start()
    crowd(seed + 3, 60)
    for thread in threads:
        thread.join()
    wander(seed + 4)
    here()
"""

_EAGER = sys.version_info >= (3, 12)


@pytest.mark.parametrize("flush_at", [1, 7, 1000, 1 << 40])
@pytest.mark.parametrize("wants", [CALL, Want.PRE | Want.POST | Want.SITE], ids=["values", "plain"])
@pytest.mark.parametrize("eager", [False, True] if _EAGER else [False])
def test_events_are_in_the_task_that_asyncio_says(
    make: Make, prog: Run, flush_at: int, wants: Want, eager: bool
) -> None:
    for seed in range(4):
        events: list[Event] = []
        tracer = make(events.extend, own={"prog.Probe.hit": wants}, flush_at=flush_at)
        tracer.start()
        module = prog(f"EAGER = {eager}\n{PROGRAM}")
        module.work(100 * seed)
        probes = {tracer.identify(probe): task for task, probe in module.PROBES.items()}
        tracer.stop()
        assert tracer.fault is None
        assert tracer.dropped == 0
        told_in: dict[Any, set[Any]] = {}
        for event in events:
            told_in.setdefault(probes[event["targetId"]], set()).add(event.get("task"))
        assert told_in.pop(None) == {None}
        assert all(len(ids) == 1 for ids in told_in.values())
        assert len(set.union(*told_in.values()) - {None}) == len(told_in) > 10
        for kind in ("func_pre", "func_post"):
            reported = Counter(probes[event["targetId"]] for event in events if event["event"] == kind)
            assert reported == Counter(module.HITS)


CROWDED = """
import asyncio
import threading

class Inside:
    def hit(self):
        return self

class Outside:
    def hit(self):
        return self

def hit(thing, times):
    for _ in range(times):
        thing.hit()

async def main(times):
    hit(Inside(), times)

def work(times):
    thread = threading.Thread(target=hit, args=(Outside(), times))
    thread.start()
    asyncio.run(main(times))
    thread.join()
"""


@pytest.mark.parametrize("flush_at", [50, 1 << 40])
def test_a_task_goes_on_while_another_thread_fills_the_memory(make: Make, prog: Run, flush_at: int) -> None:
    events: list[Event] = []
    wants = Want.PRE | Want.POST | Want.SITE
    tracer = make(events.extend, own={"prog.Inside.hit": wants, "prog.Outside.hit": wants}, flush_at=flush_at)
    tracer.start()
    module = prog(CROWDED)
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        module.work(20_000)
    finally:
        sys.setswitchinterval(interval)
        tracer.stop()
    reported = Counter((event["name"], "task" in event) for event in events)
    assert reported == {("prog.Inside.hit", True): 40_000, ("prog.Outside.hit", False): 40_000}
    assert len({event["task"] for event in events if "task" in event}) == 1


PLAIN = """
class Thing:
    def f(self):
        return 1

async def strange():
    Thing().f()
    return 2

def work(n):
    for i in range(n):
        try:
            strange().send(None)
        except StopIteration as result:
            assert result.value == 2
"""


def test_coroutines_without_asyncio_are_in_no_task(make: Make, prog: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    """And once it is there, they are: `asyncio` is looked for as long as it was not found."""
    asyncio = __import__("asyncio")
    monkeypatch.delitem(sys.modules, "asyncio")
    events: list[Event] = []
    tracer = make(events.extend, own={"prog.Thing.f": CALL})
    tracer.start()
    module = prog(PLAIN)
    module.work(20)
    sys.modules["asyncio"] = asyncio
    asyncio.run(module.strange())
    tracer.stop()
    assert ["task" in event for event in events] == [False] * 40 + [True] * 2
