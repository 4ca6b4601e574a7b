"""What learning costs: events per second from memory, memory over many events, and whole programs while they learn.

The streams are made by chance under a fixed seed. CPU time is counted. Compare the numbers of one run with each other,
not with those of another run or machine.
"""

from __future__ import annotations

import argparse
import os
import platform
import random
import resource
import statistics
import subprocess
import sys
import time
from array import array
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

from watching import table

from lawful import __version__, core
from lawful.learning import strategies, templates
from lawful.learning import window as windows
from lawful.learning.window_protocol import Product, Window

TARGET = 5.0  # million events per second
MEMORY_TARGET = 300  # megabytes
WHOLE_TARGET = 2.0

# From its own tables (847 projects, end to end), as its authors publish them.
PYMOP = "PyMOP (published): median 15.4x end to end, 65.9x with libraries, with laws that are written for it"


class Stream(NamedTuple):
    """Events as numbers: names, places, objects."""

    names: array[int]
    sites: array[int]
    objects: array[int]


# -- streams -----------------------------------------------------------------------------------------------------------


def scattered(count: int, names: int, objects: int) -> Stream:
    """Every event may happen to every object: nearly all scenarios have one event, and each event many partners."""
    chance = random.Random(1)
    stream = Stream(array("I"), array("I"), array("Q"))
    for _ in range(count):
        name = chance.randrange(names)
        stream.names.append(name)
        stream.sites.append(3 * name + chance.randrange(3))
        stream.objects.append(chance.randrange(objects))
    return stream


def protocols(count: int, classes: int, alive: int) -> Stream:
    """Objects of some classes are opened, used four ways for a while, and closed; several at a time."""
    chance = random.Random(2)
    stream = Stream(array("I"), array("I"), array("Q"))
    live: list[list[int]] = []
    made = 0
    while len(stream.names) < count:
        if len(live) < alive:
            made += 1
            kind = chance.randrange(classes)
            live.append([made, kind, chance.randrange(1, 8), 0, 7 * kind + chance.randrange(3)])
        each = chance.choice(live)
        number, kind, uses, done, site = each
        what = 0 if done == 0 else 1 + chance.randrange(4) if done <= uses else 5
        stream.names.append(6 * kind + what)
        stream.sites.append(10 * site + what)
        stream.objects.append(number)
        each[3] += 1
        if what == 5:
            live.remove(each)
    return stream


def bursts(count: int, classes: int, objects: int, length: int) -> Stream:
    """Ten methods of a class, called in any order, several times in a row on one object."""
    chance = random.Random(3)
    stream = Stream(array("I"), array("I"), array("Q"))
    while len(stream.names) < count:
        each = chance.randrange(objects)
        for _ in range(chance.randrange(1, 2 * length)):
            name = 10 * (each % classes) + chance.randrange(10)
            stream.names.append(name)
            stream.sites.append(3 * name + chance.randrange(3))
            stream.objects.append(each)
    return stream


STREAMS: dict[str, Callable[[int], Stream]] = {
    "200 events, 1,000 objects, all with all": lambda count: scattered(count, 200, 1_000),
    "20 classes with a protocol, 3 objects at a time": lambda count: protocols(count, 20, 3),
    "20 classes with a protocol, 1 object at a time": lambda count: protocols(count, 20, 1),
    "2 classes, 1,000 objects, bursts of 4 in any order": lambda count: bursts(count, 2, 1_000, 4),
    "20 classes, 1,000 objects, bursts of 8 in any order": lambda count: bursts(count, 20, 1_000, 8),
}


# -- from memory -------------------------------------------------------------------------------------------------------


def speed(make: Callable[[], Window], stream: Stream, repetitions: int) -> float:
    """Million events per second of CPU time."""
    times = []
    for _ in range(repetitions):
        window = make()
        began = time.process_time()
        window.feed(*stream)
        window.drain()
        times.append(time.process_time() - began)
    return len(stream.names) / statistics.median(times) / 1e6


def from_memory(count: int, repetitions: int) -> Iterator[str]:
    product = templates.compile(templates.DEFAULT)
    columns: dict[str, Callable[[Product, int], Window]] = {"Python": windows.Window}
    if core.native is not None:
        columns = {"C": core.native.Window, **columns}
    rows, native = [], []
    for title, made in STREAMS.items():
        cells = [title]
        for name, kind in columns.items():
            stream = made(count if name == "C" else max(1_000, count // 50))
            rate = speed(lambda kind=kind: kind(product, 25), stream, repetitions)  # type: ignore[misc]
            cells.append(f"{rate:.2f}")
            if name == "C":
                native.append(rate)
        rows.append(cells)
    yield f"Million events per second from memory, nine templates, window 25 ({count:,} events; {repetitions} times)."
    yield ""
    yield from table(["stream", *columns], rows)
    if native:
        mean = statistics.geometric_mean(native)
        yield f"Geometric mean of the C core: {mean:.2f} (target {TARGET:g}: {'ok' if mean >= TARGET else 'MISSED'})."


# -- memory ------------------------------------------------------------------------------------------------------------


def memory(events: int) -> Iterator[str]:
    """Event names by chance, pruned as the learner does it; the worst there is: everything happens near everything."""
    from lawful.learning.learner import Learner
    from lawful.learning.parameters import Learning

    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    learner = Learner(Learning())
    every = learner.parameters.tune_every
    for number in range(2_000):
        learner.numbering.word("func_pre", f"module.Class{number // 10}.method{number % 10}")
    for number in range(6_000):
        learner.numbering.site("module.py", number + 1)
    pool = [scattered(every, 2_000, objects) for objects in (1, 100, 10_000)]
    began = time.process_time()
    for number in range(0, events, every):
        learner.window.feed(*pool[number // every % len(pool)])
        learner.tick()
    learner.finish()
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    verdict = "ok" if peak <= MEMORY_TARGET else "MISSED"
    yield f"Memory after {learner.events:,} events of 2,000 names: {peak:.0f} MB at most, {before:.0f} MB before"
    yield f"(target {MEMORY_TARGET} MB: {verdict}); {time.process_time() - began:.0f} s of CPU time;"
    yield f"{learner.window.pairs:,} pairs kept, {learner.window.pruned:,} pruned, {learner.window.given_up:,} refused."


# -- whole programs ----------------------------------------------------------------------------------------------------


def whole(options: argparse.Namespace) -> int:
    """The programs of `watching.py`, with and without learning."""
    command = [sys.executable, str(Path(__file__).with_name("watching.py")), "--no-start-up", "--way", "learning"]
    command += [
        "--way",
        "calls",
        "--way",
        "sites",
        "--processes",
        str(options.processes),
        "--pairs",
        str(options.pairs),
    ]
    if options.quick:
        command.append("--quick")
    return subprocess.run(command, check=False).returncode


def main() -> int:
    parser = argparse.ArgumentParser(description="Measure what learning costs.")
    parser.add_argument("--events", type=int, default=1_000_000, help="of a stream (default: a million)")
    parser.add_argument("--memory-events", type=int, default=100_000_000, help="for the memory (default: 100 million)")
    parser.add_argument(
        "--part", action="append", choices=("speed", "memory", "programs"), help="only this (repeatable)"
    )
    parser.add_argument("--processes", type=int, default=2, help="for each program (default: 2)")
    parser.add_argument("--pairs", type=int, default=3, help="of runs in a process (default: 3)")
    parser.add_argument("--quick", action="store_true", help="little of everything: to see that it runs")
    options = parser.parse_args()
    if options.quick:
        options.events, options.memory_events, options.processes, options.pairs = 20_000, 500_000, 1, 1
    parts = options.part or ("speed", "memory", "programs")
    print(f"Lawful {__version__} ({core.describe()}), CPython {platform.python_version()}, {os.cpu_count()} cores;")
    print(f"strategy {strategies.DEFAULT}.\n")
    if "speed" in parts:
        print("\n".join(from_memory(options.events, 1 if options.quick else 5)), end="\n\n", flush=True)
    if "memory" in parts:
        print("\n".join(memory(options.memory_events)), end="\n\n", flush=True)
    if "programs" in parts:
        print(f"Whole programs, learning from their calls (target {WHOLE_TARGET:g}x). {PYMOP}.\n", flush=True)
        return whole(options)
    return 0


if __name__ == "__main__":
    sys.exit(main())
