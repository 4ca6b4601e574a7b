"""What a dashboard costs the program that it shows, and how many events an oracle answers.

The same run, watched with and without `--serve`, in pairs that are interleaved; in those with it a client takes all
news, as a page does. Processor time is that of the program's process alone, wall time is that of the whole run: the
server is another process. The median of the ratios of pairs is what counts. To start a server takes a moment, which
is in the ratios, so the program must run for some seconds.
"""

from __future__ import annotations

import argparse
import asyncio
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

PROGRAM = """
import io, sys

class Account:
    def open(self): pass
    def use(self): pass
    def close(self): pass

def step(n):
    a = Account(); a.open(); a.use(); a.close()
    f = io.StringIO("x"); f.read(); f.close()
    return sum(i * i for i in range(50))

def main():
    for n in range(int(sys.argv[1])):
        step(n)

main()
"""

WAYS = {
    "a law": ["--law", "files"],
    "learning": ["--learn", "--public", "program"],
    "a law and learning": ["--law", "files", "--learn", "--public", "program"],
}

LAW = "put matches {event: 'put'}; get matches {event: 'get'}; Main = (put get)*;"


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


def run(folder: Path, words: list[str], steps: int, *, served: bool) -> tuple[float, float]:
    """The CPU seconds of the program's process, and the seconds that passed."""
    command = [sys.executable, "-m", "lawful", "run", *(["--serve"] if served else []), "--quiet", *words]
    began = time.perf_counter()
    with subprocess.Popen(
        [*command, "program.py", str(steps)], cwd=folder, stderr=subprocess.PIPE, stdout=subprocess.DEVNULL, text=True
    ) as process:
        assert process.stderr is not None
        looker = None
        if served:
            found = re.search(r"http://\S+", process.stderr.readline())
            assert found is not None
            looker = look(found[0])
        process.stderr.read()
        _, _, usage = os.wait4(process.pid, 0)
        passed = time.perf_counter() - began
        process.returncode = 0
    if looker is not None:
        looker.join(60)
    return usage.ru_utime + usage.ru_stime, passed


def dashboards(folder: Path, pairs: int, steps: int) -> None:
    print(f"{'watched by':22}{'CPU s':>9}{'served':>9}{'ratio':>8}{'wall':>8}   (medians; 1.02 wanted)")
    for name, words in WAYS.items():
        plain, served = [], []
        for at in range(pairs):
            for with_server in (False, True) if at % 2 else (True, False):
                (served if with_server else plain).append(run(folder, words, steps, served=with_server))
        cpu = statistics.median(one[0] / other[0] for one, other in zip(served, plain, strict=True))
        wall = statistics.median(one[1] / other[1] for one, other in zip(served, plain, strict=True))
        seconds = [statistics.median(each[0] for each in found) for found in (plain, served)]
        print(f"{name:22}{seconds[0]:9.2f}{seconds[1]:9.2f}{cpu:8.3f}{wall:8.3f}")


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
    parser.add_argument("--steps", type=int, default=150_000, help="of the program")
    parser.add_argument("--events", type=int, default=50_000, help="for the oracle")
    options = parser.parse_args()
    print(f"CPython {platform.python_version()}, {os.cpu_count()} cores")
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        (folder / "program.py").write_text(PROGRAM)
        dashboards(folder, options.pairs, options.steps)
        oracles(folder, options.events)


if __name__ == "__main__":
    main()
