"""The replication system under many schedules: an event loop that runs what is ready in a random order.

`python schedules.py --runs 5000` watches the asyncio program with both views of the paper; `--bug` that with the bug.
"""

from __future__ import annotations

import argparse
import asyncio
import random
import time
from pathlib import Path

import replication_asyncio

import lawful

HERE = Path(__file__).resolve().parent
VIEWS = [HERE / "worker.view", HERE / "schedule.view"]
GROUPS = {"WorkerGroup": "task *.Worker.*"}


class RandomLoop(asyncio.SelectorEventLoop):
    """Whatever is ready to run may run next: asyncio itself would take it in the order in which it became so."""

    def __init__(self, seed: int) -> None:
        super().__init__()
        self._dice = random.Random(seed)

    def _run_once(self) -> None:
        ready = list(self._ready)  # type: ignore[attr-defined]
        self._dice.shuffle(ready)
        self._ready.clear()  # type: ignore[attr-defined]
        self._ready.extend(ready)  # type: ignore[attr-defined]
        super()._run_once()  # type: ignore[misc]


def replicate(seed: int, worker: type[replication_asyncio.Worker]) -> None:
    """One run, with a schedule of its own."""

    async def main() -> None:
        await replication_asyncio.System(clients=2, seed=seed, worker=worker).replicate()

    with asyncio.Runner(loop_factory=lambda: RandomLoop(seed)) as runner:
        runner.run(main())


def explore(runs: int, worker: type[replication_asyncio.Worker], *, first: int = 0) -> lawful.watching.Watch:
    """Many runs under both views."""
    with lawful.watch(VIEWS, groups=GROUPS, project=HERE) as watch:
        for seed in range(first, first + runs):
            replicate(seed, worker)
    return watch


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--runs", type=int, default=1000)
    parser.add_argument("--bug", action="store_true", help="with the bug of section 7")
    options = parser.parse_args()
    began = time.perf_counter()
    found = explore(options.runs, replication_asyncio.HastyWorker if options.bug else replication_asyncio.Worker)
    seconds = time.perf_counter() - began
    print(f"{options.runs:,} schedules, {found.events:,} messages, {seconds:.1f} s")
    print(found.report(), end="")
