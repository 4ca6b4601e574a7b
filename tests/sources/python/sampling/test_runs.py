"""Samples in threads, child processes, and several runs."""

from __future__ import annotations

import json
import os
import random
import threading
from pathlib import Path
from typing import Any

import pytest

from lawful.coin import Coin, threshold
from lawful.sources.python import tracer_choice
from lawful.sources.python.scope import Scope
from lawful.sources.python.tracer_protocol import Event, Sampling
from lawful.sources.python.watch_planner import LawWatchPlanner
from sources.python.sampling.programs import (
    COUNTER,
    COUNTER_LAW,
    COUNTER_SAMPLING,
    GOLDEN,
    LIFE,
    Load,
    Make,
    heads,
    kinds,
    law,
    mix,
    sees_everything,
)


def test_threads(make: Make, load: Load) -> None:
    """While the rate goes up and down, the tracer reports all events of an object, or none."""
    module = load("""
class Counter:
    def __init__(self, tag):
        self.rc = 0
    def up(self):
        self.rc += 1
def work(n, times):
    for i in range(n):
        counter = Counter(i)
        for _ in range(times):
            counter.up()
""")
    events: list[Event] = []
    rule = law(("field_write", "prog.Counter.rc"), ("func_pre", "prog.Counter.up"))
    tracer = make(events, [rule], Sampling({"prog.Counter": 1}), flush_at=64)
    tracer.start()
    module.work(4, 2)  # whatever the rate is later, these are samples
    stop = threading.Event()

    def change() -> None:
        rng = random.Random(1)
        while not stop.wait(0.001):
            tracer.sample(1, rng.choice([0.0, 0.01, 0.5, 1.0]))

    changing = threading.Thread(target=change)
    threads = [threading.Thread(target=module.work, args=(400, times)) for times in (1, 2, 3, 4)]
    for thread in (changing, *threads):
        thread.start()
    for thread in threads:
        thread.join()
    stop.set()
    changing.join()
    tracer.flush()
    _, taken, alive = tracer.samples(1)
    tracer.stop()
    assert tracer.fault is None
    assert alive == 0
    lives: dict[int, list[str]] = {}
    for event in events:
        lives.setdefault(event["targetId"], []).append(event["event"])
    assert len(lives) == taken > 0
    assert {tuple(life) for life in lives.values()} <= {
        ("born", "field_write", *("func_pre", "field_write") * times, "gone") for times in (1, 2, 3, 4)
    }


@pytest.mark.filterwarnings("ignore:This process:DeprecationWarning")
def test_a_child_process_goes_on_with_other_coins(make: Make, load: Load) -> None:
    events: list[Event] = []
    tracer = make(events, [law(*COUNTER_LAW)], COUNTER_SAMPLING)
    tracer.sample(1, 0.5)
    module = load(COUNTER)
    tracer.start()
    kept = [module.life() for _ in range(100)]
    before = tracer.samples(1)
    assert before == (100, sum(heads(0, 1, 0.5, 100)), sum(heads(0, 1, 0.5, 100)))
    read, write = os.pipe()
    child = os.fork()
    if not child:
        tracer.after_fork(3)
        events.clear()
        first = tracer.samples(1)
        for counter in kept:
            counter.up()
        fresh = [module.life(0) for _ in range(100)]
        tracer.flush()
        reported = [(event["event"], event["targetId"]) for event in events]
        os.write(
            write, json.dumps([first, tracer.samples(1), reported, [tracer.identify(each) for each in fresh]]).encode()
        )
        os._exit(0)
    os.close(write)
    with open(read, encoding="utf-8") as pipe:
        first, last, reported, numbers = json.load(pipe)
    os.waitpid(child, 0)
    assert tracer.samples(1) == before
    tracer.stop()
    alive = before[2]
    assert first == [0, 0, alive]
    assert [kind for kind, _ in reported].count("func_pre") == alive
    born = [number for kind, number in reported if kind == "born"]
    assert last == [100, len(born), alive + len(born)]
    assert all(number >= 3 * 2**32 for number in born)
    flips = heads(mix(0 ^ 3 * GOLDEN % 2**64), 1, 0.5, 100)
    assert [number in born for number in numbers] == flips


def test_stop_and_start(make: Make, load: Load) -> None:
    events: list[Event] = []
    tracer = make(events, [law(*COUNTER_LAW)], COUNTER_SAMPLING)
    module = load(COUNTER)
    for _ in range(3):
        events.clear()
        tracer.start()
        before = module.life(1)
        module.lives(2)
        assert tracer.samples(1)[2] == 1
        tracer.stop()
        assert kinds(events) == LIFE[:8] + LIFE * 2
        before.up()
        assert tracer.samples(1)[2] == 0
    assert tracer.samples(1)[:2] == (9, 9)


def test_who_is_told_decides_about_the_rate(make: Make, load: Load) -> None:
    """From inside the delivery, as the engine does."""
    module = load(COUNTER)
    born: list[int] = []

    class Deliver(list[Event]):
        def extend(self, batch: Any) -> None:
            super().extend(batch)
            for event in batch:
                if event["event"] == "born":
                    born.append(event["targetId"])
                    tracer.sample(1, 0.0 if len(born) % 2 else 1.0)

    events = Deliver()
    tracer = make(events, [law(*COUNTER_LAW)], COUNTER_SAMPLING, synchronous=True)
    tracer.start()
    module.lives(5)
    assert len(born) == 1
    tracer.sample(1, 1.0)
    module.lives(5)
    tracer.stop()
    assert tracer.fault is None
    assert len(born) == 3
    assert kinds(events) == LIFE * 3


def test_two_tracers_have_their_own_samples(make: Make, load: Load) -> None:
    module = load(COUNTER)
    runs: list[list[Event]] = [[], []]
    tracers = [make(events, [law(("func_pre", "prog.Counter.up"))], COUNTER_SAMPLING) for events in runs]
    if tracers[0].name == "python" and sees_everything(tracers[0]):
        pytest.skip("one tracer at a time")
    for seed, tracer in enumerate(tracers):
        tracer.seed(seed)
        tracer.sample(1, 0.5)
        tracer.start()
    module.lives(60, 1)
    for tracer in tracers:
        tracer.stop()
        assert tracer.fault is None
    for seed, events in enumerate(runs):
        assert kinds(events) == ["born", "func_pre", "gone"] * sum(heads(seed, 1, 0.5, 60))


def test_what_deliver_raises_at_a_birth_reaches_the_program(make: Make, load: Load) -> None:
    module = load(COUNTER)
    wanted = LawWatchPlanner(
        [law(*COUNTER_LAW)], Scope(project=Path(module.life.__code__.co_filename).parent), sampling=COUNTER_SAMPLING
    )

    def refuse(batch: list[Event]) -> None:
        if batch[0]["event"] == "born":
            raise RuntimeError("no")

    for name in tracer_choice.available():
        tracer = tracer_choice.choose(name).make(wanted, refuse, synchronous=True)
        tracer.start()
        try:
            with pytest.raises(RuntimeError, match="no"):
                module.life()
        finally:
            tracer.stop()
        assert tracer.fault is None


def test_coins_of_both_cores() -> None:
    coin = Coin.of_group(7, 3)
    assert [coin.flip(threshold(0.3)) for _ in range(200)] == heads(7, 3, 0.3, 200)
    for rate in (0.5, 1 / 64):
        coin = Coin.of_group(1, 1)
        share = sum(coin.flip(threshold(rate)) for _ in range(64_000)) / 64_000
        assert abs(share - rate) < 5 * (rate * (1 - rate) / 64_000) ** 0.5
