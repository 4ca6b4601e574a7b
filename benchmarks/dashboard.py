"""What a dashboard costs the program that it shows, and how many events an oracle answers.

The same run, watched with and without `--serve`, in pairs that are interleaved. In those with it a client takes all
news, as a page does, or nobody looks. The program itself says what processor time its process had used when it began
and when it ended: so the start, which a run pays once, stands apart from what the dashboard costs as long as the
program runs. The server is another process, and no child of it. On a machine that does other work the least of several
ratios is nearest to the truth; the medians show how much there is to doubt. "Own" is what the thread that serves the
dashboard used, by its own clock, as a ratio: it does not see what it does to caches, but it hardly depends on others.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import platform
import re
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path
from typing import NamedTuple

PROGRAM = """
import io, json, resource, sys

class Account:
    def open(self): pass
    def use(self): pass
    def close(self): pass

def step(n):
    a = Account(); a.open(); a.use(); a.close()
    f = io.StringIO("x"); f.read(); f.close()
    return sum(i * i for i in range(50))

def used(who):
    found = resource.getrusage(who)
    return found.ru_utime + found.ru_stime

def main():
    begun = used(resource.RUSAGE_SELF)
    for n in range(int(sys.argv[1])):
        step(n)
    ended = used(resource.RUSAGE_SELF)
    print(json.dumps([begun, ended - begun, used(resource.RUSAGE_CHILDREN)]))

main()
"""

# Runs `lawful` with a clock for what is done for the dashboard, in the thread that does it.
DRIVER = """
import atexit, sys, time
from lawful.cli.main import main
from lawful.engine.session import Session

spent = []
start = Session.start

def started(session):
    attendant = session.attendant
    if attendant is not None:
        beat = attendant.beat
        def timed():
            began = time.thread_time()
            beat()
            spent.append(time.thread_time() - began)
        attendant.beat = timed
    start(session)

Session.start = started
atexit.register(lambda: print(sum(spent)))
sys.argv[0] = "lawful"
main()
"""

WAYS = {
    "a law": ["--law", "files"],
    "learning": ["--learn", "--public", "program"],
    "a law and learning": ["--law", "files", "--learn", "--public", "program"],
}
STEPS = {"a law": 1, "learning": 3, "a law and learning": 1}
"""How many times as many steps it takes to run about as long."""

LAW = "put matches {event: 'put'}; get matches {event: 'get'}; Main = (put get)*;"


class Spent(NamedTuple):
    """CPU seconds of the program's process: until the program began, while it ran, for the dashboard in this time, and
    those of its children."""

    start: float
    run: float
    children: float
    dashboard: float


def look(address: str) -> threading.Thread:
    """Take all news, as a page does, until the server ends."""
    import httpx

    def take() -> None:
        base, _, token = address.partition("?")
        try:
            with httpx.stream("GET", f"{base}news?{token}", timeout=60) as answer:
                for _ in answer.iter_raw():
                    pass
        except httpx.TransportError:
            pass

    thread = threading.Thread(target=take)
    thread.start()
    return thread


def run(folder: Path, words: list[str], steps: int, way: str) -> Spent:
    """Run the program: plain, served, or served and looked at."""
    served = way != "plain"
    command = [sys.executable, "driver.py", "run", *(["--serve"] if served else []), "--quiet", *words]
    with subprocess.Popen(
        [*command, "program.py", str(steps)], cwd=folder, stderr=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stderr is not None
        looker = None
        if served:
            found = re.search(r"http://\S+", process.stderr.readline())
            assert found is not None
            looker = look(found[0]) if way == "looked at" else None
        out, _ = process.communicate()
    if looker is not None:
        looker.join(60)
    told, dashboard = out.splitlines()
    return Spent(*json.loads(told), float(dashboard))


def dashboards(folder: Path, pairs: int, steps: int) -> None:
    print("Seconds and ms of CPU time are medians; ratios are those of pairs, and 1.02 is wanted.")
    heads = f"{'run s':>9}{'least':>8}{'median':>8}{'own':>9}{'start ms':>11}{'more':>7}{'children':>10}"
    print(f"{'watched by':32}{heads}")
    for name, words in WAYS.items():
        spent: dict[str, list[Spent]] = {"plain": [], "served": [], "looked at": []}
        for at in range(pairs):
            for way in list(spent) if at % 2 else reversed(spent):
                spent[way].append(run(folder, words, steps * STEPS[name], way))
        plain = spent.pop("plain")
        first = statistics.median(each.start for each in plain)
        print(f"{name:20}{'plain':12}{statistics.median(each.run for each in plain):9.2f}{'':25}{first * 1000:11.0f}")
        for way, found in spent.items():
            ratios = [one.run / other.run for one, other in zip(found, plain, strict=True)]
            own = statistics.median(1 + each.dashboard / each.run for each in found)
            more = statistics.median(one.start - other.start for one, other in zip(found, plain, strict=True))
            children = statistics.median(each.children for each in found)
            print(
                f"{'':20}{way:12}{statistics.median(each.run for each in found):9.2f}{min(ratios):8.3f}"
                f"{statistics.median(ratios):8.3f}{own:9.4f}{'':11}{more * 1000:7.0f}{children * 1000:10.0f}"
            )


async def _converse(address: str, count: int, ahead: int) -> float:
    from websockets.asyncio.client import connect

    messages = ['{"event": "put", "item": 7}', '{"event": "get", "item": 7}']
    async with connect(address) as socket:
        began = time.perf_counter()
        for at in range(0, count, ahead):
            for n in range(at, at + ahead):
                await socket.send(messages[n % 2])
            for _ in range(ahead):
                await socket.recv()
        return time.perf_counter() - began


def oracles(folder: Path, events: int) -> None:
    (folder / "law.rml").write_text(LAW)
    command = [sys.executable, "-m", "lawful", "oracle", "law.rml"]
    with subprocess.Popen(command, cwd=folder, stderr=subprocess.PIPE, text=True) as process:
        assert process.stderr is not None
        found = re.search(r"ws://\S+", process.stderr.readline())
        assert found is not None
        for ahead, what in ((1, "one at a time"), (100, "a hundred on their way")):
            count = events if ahead > 1 else events // 10
            seconds = asyncio.run(_converse(found[0], count, ahead))
            print(f"oracle, one connection, {what}: {count / seconds:,.0f} events/s")
        process.terminate()


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--pairs", type=int, default=7)
    parser.add_argument("--steps", type=int, default=400_000, help="of the program")
    parser.add_argument("--events", type=int, default=50_000, help="for the oracle; 0: none")
    options = parser.parse_args()
    print(f"CPython {platform.python_version()}, {os.cpu_count()} cores")
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        (folder / "program.py").write_text(PROGRAM)
        (folder / "driver.py").write_text(DRIVER)
        dashboards(folder, options.pairs, options.steps)
        if options.events:
            oracles(folder, options.events)


if __name__ == "__main__":
    main()
