"""What a dashboard costs the program that it shows, and how many events an oracle answers.

Chunks: within one process, equal chunks of the program's work, in random order without a dashboard (twice, to see what
chance does), with one that nobody looks at, and with one whose news a client takes, as a page does. Two equal chunks
differ by more than a dashboard costs, so it is attended to some ten times as often as it would be, and the table tells
what that makes for one that is attended to as usual: a program's time with it over that without. Three clocks: CPU time
of the program's thread; of its process, in which is all that is done for the dashboard; and the time that passed, in
which is also what one thread waits for another, and on a busy machine much else. "Median" is that of neighbours,
"total" counts what happens rarely, too; behind them stand intervals of 95 % confidence, by resampling the pairs. "Own"
is what the thread that attends to the dashboard used, by its own clock; "waits", how much more often in a second the
program's thread waited for something, as for the interpreter's lock.

Runs: the same run, watched with and without `--serve`, in pairs that are interleaved. The program itself says what
processor time its process had used when it began and when it ended: so the start, which a run pays once, stands apart.
The server is another process, and no child of it.
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
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from served import program
from served.meter import CLOCKS, WAYS
from served.pairs import AIM, estimate, pairs, per_second, rows, total
from served.running import run

MANY = 60  # classes, each with rules of its own: more than are shown
WATCHED = {
    "a law": (1, ["--law", "files"]),
    "learning": (1, ["--learn", "--public", "{program}"]),
    "learning, many classes": (MANY, ["--learn", "--public", "{program}"]),
}
STEPS = {"a law": 1, "learning": 3, "learning, many classes": 3}
"""How many times as many steps it takes to run about as long."""
_PATIENCE = 15.0
"""Seconds for the runs of each way of watching: on a busy machine there are fewer pairs."""

LAW = "put matches {event: 'put'}; get matches {event: 'get'}; Main = (put get)*;"


def watched(folder: Path, name: str, way: str, kind: str, *amounts: float) -> Any:
    """The program in one of the ways of `WATCHED`, measured as a whole or in chunks."""
    classes, words = WATCHED[name]
    module = program.write(folder, classes)
    words = [word.format(program=module) for word in words]
    asked = [f"{module}.py", kind, *map(str, amounts)]
    return run(folder, words, asked, served=not way.startswith("plain"), looked_at=way == "looked at")


def chunks(folder: Path, names: Sequence[str], seconds: float, interval: float) -> None:
    print(f"One process: what one second of a dashboard adds to one of the program, as a ratio; {AIM} is wanted.")
    heads = f"{'clock':10}{'median':>28}{'total':>28}"
    print(f"{'watched by':24}{'':13}{heads}")
    for name in names:
        found = watched(folder, name, "looked at", "chunks", seconds, interval)
        for _, way, clock, *estimates, judged in rows(name, found, CLOCKS):
            print(f"{name:24}{way:13}{clock:10}{estimates[0]:>28}{estimates[1]:>28}  {judged}".rstrip())
        for way in WAYS[2:]:
            waits = [each - 1 for each in estimate(pairs(found, way, "waits"), total)]
            text = (
                f"own {1 + per_second(found, way, 'own'):.4f}, {per_second(found, way, 'states'):.1f} states a second"
            )
            text += f", waits {waits[0]:+.1f} ({waits[1]:+.1f} to {waits[2]:+.1f})"
            print(
                f"{name:24}{way:13}{text}; {len(found)} pairs, {1 / per_second(found, way, 'thread'):.1f} times as fast"
            )


def runs(folder: Path, names: Sequence[str], most: int, steps: int) -> None:
    print("Whole runs: seconds and ms of CPU time are medians; ratios are those of pairs.")
    heads = f"{'run s':>9}{'least':>8}{'median':>8}{'most':>8}{'own':>9}{'start ms':>11}{'more':>7}{'children':>10}"
    print(f"{'watched by':24}{'':12}{heads}")
    for name in names:
        spent: dict[str, list[dict[str, float]]] = {"plain": [], "served": [], "looked at": []}
        end = time.monotonic() + _PATIENCE
        for at in range(most):
            if at and time.monotonic() > end:
                break
            for way in list(spent) if at % 2 else reversed(spent):
                spent[way].append(watched(folder, name, way, "whole", steps * STEPS[name]))
        plain = spent.pop("plain")
        first = statistics.median(each["start"] for each in plain)
        usual = statistics.median(each["run"] for each in plain)
        print(f"{name:24}{'plain':12}{usual:9.2f}{'':33}{first * 1000:11.0f}")
        for way, found in spent.items():
            ratios = [one["run"] / other["run"] for one, other in zip(found, plain, strict=True)]
            used = statistics.median(1 + each["own"] / each["run"] for each in found)
            more = statistics.median(one["start"] - other["start"] for one, other in zip(found, plain, strict=True))
            children = statistics.median(each["children"] for each in found)
            print(
                f"{'':24}{way:12}{statistics.median(each['run'] for each in found):9.2f}{min(ratios):8.3f}"
                f"{statistics.median(ratios):8.3f}{max(ratios):8.3f}{used:9.4f}{'':11}{more * 1000:7.0f}"
                f"{children * 1000:10.0f}"
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


def oracle(folder: Path, events: int) -> None:
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
    parser.add_argument(
        "--part", choices=("chunks", "runs", "oracle"), action="append", help="only this; all otherwise"
    )
    parser.add_argument("--way", choices=list(WATCHED), action="append", help="of watching; all otherwise")
    parser.add_argument("--seconds", type=float, default=45, help="for the chunks of each way of watching")
    parser.add_argument("--interval", type=float, default=0.005, help="seconds, at which the dashboard is attended to")
    parser.add_argument("--pairs", type=int, default=3, help="of runs")
    parser.add_argument("--steps", type=int, default=30_000, help="of the program, in runs")
    parser.add_argument("--events", type=int, default=20_000, help="for the oracle")
    options = parser.parse_args()
    names = options.way or list(WATCHED)
    parts = options.part or ("chunks", "runs", "oracle")
    print(f"CPython {platform.python_version()}, {os.cpu_count()} cores")
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        if "chunks" in parts:
            chunks(folder, names, options.seconds, options.interval)
        if "runs" in parts:
            runs(folder, names, options.pairs, options.steps)
        if "oracle" in parts:
            oracle(folder, options.events)


if __name__ == "__main__":
    main()
