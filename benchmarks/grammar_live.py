"""What it costs to watch an asyncio program with a view: CPU time with and without, in pairs, as pairs.py says.

The service takes requests on a loopback socket, decodes them, hands each to a worker by its queue, and answers with
what the worker has found in the text: how many words. What a message costs is the same whatever the program
does meanwhile; so there are long texts, short ones, and, as the worst case, queues alone. The last ones are for what
else may carry messages: one queue for all workers, and calls of methods.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import platform
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Coroutine, Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

from pairs import Pairs, pair

import lawful
from lawful import grammar
from lawful.sources.actors.messages import MessageSource

VIEW = """
group Worker is task "worker-*";
view WorkerView specifies Worker {
    receive worker.job(Int number, Int size) job,
    send collector.result(Int number, Int count) result
}
start S (S.last = 0;)
S ::= epsilon | job {assert job.number > S.last;} S (S.last = job.number;)
              | result {assert result.number <= S.last && result.count >= 0;} S (S.last = S.last;)
"""
WORKERS = 4


async def worker(inbox: asyncio.Queue[Any], collector: asyncio.Queue[Any], work: Callable[[Any], int]) -> None:
    while (message := await inbox.get()) is not None:
        _, number, size = message
        collector.put_nowait(("result", number, work(size)))


async def collect(inbox: asyncio.Queue[Any], waiting: dict[int, asyncio.Future[int]]) -> None:
    while (message := await inbox.get()) is not None:
        _, number, count = message
        waiting.pop(number).set_result(count)


class Pool:
    """Workers, and somebody who collects what they have found."""

    def __init__(self, work: Callable[[Any], int]) -> None:
        self.number = 0
        self.waiting: dict[int, asyncio.Future[int]] = {}
        self.results: asyncio.Queue[Any] = asyncio.Queue()
        self.queues: list[asyncio.Queue[Any]] = [asyncio.Queue() for _ in range(WORKERS)]
        self.tasks = [
            asyncio.create_task(worker(queue, self.results, work), name=f"worker-{at}")
            for at, queue in enumerate(self.queues)
        ]
        self.tasks.append(asyncio.create_task(collect(self.results, self.waiting), name="collector"))

    async def ask(self, size: int) -> int:
        self.number += 1
        number = self.number
        future = self.waiting[number] = asyncio.get_running_loop().create_future()
        self.queues[number % WORKERS].put_nowait(("job", number, size))
        return await future

    async def close(self) -> None:
        for queue in (*self.queues, self.results):
            queue.put_nowait(None)
        await asyncio.gather(*self.tasks)


TEXT = "A worker says that it starts, is told the number of a version, and registers exactly this version. "


def words(size: int) -> int:
    """Some work: how many different words there are in a text of this size."""
    return len({word.strip(".,").lower() for word in (TEXT * (size // len(TEXT))).split()})


async def queues(count: int) -> None:
    pool = Pool(lambda size: size)
    for start in range(0, count, 50):
        await asyncio.gather(*(pool.ask(number) for number in range(start, start + 50)))
    await pool.close()


async def service(count: int, text: str) -> None:
    pool = Pool(words)

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while line := await reader.readline():
            request = json.loads(line)
            found = await pool.ask(len(request["text"]))
            writer.write(json.dumps({"id": request["id"], "found": found}).encode() + b"\n")
            await writer.drain()
        writer.close()

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]

    async def client(numbers: range) -> None:
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        for number in numbers:
            writer.write(json.dumps({"id": number, "text": text}).encode() + b"\n")
            answer = json.loads(await reader.readline())
            assert answer["id"] == number
        writer.close()
        await writer.wait_closed()

    await asyncio.gather(*(client(range(at, count, 8)) for at in range(8)))
    server.close()
    await server.wait_closed()
    await pool.close()


async def shared(count: int) -> None:
    """Four workers read from one queue."""
    inbox: asyncio.Queue[Any] = asyncio.Queue()
    results: asyncio.Queue[Any] = asyncio.Queue()
    waiting: dict[int, asyncio.Future[int]] = {}
    tasks = [
        asyncio.create_task(worker(inbox, results, lambda size: size), name=f"worker-{at}") for at in range(WORKERS)
    ]
    tasks.append(asyncio.create_task(collect(results, waiting), name="collector"))
    loop = asyncio.get_running_loop()
    for start in range(1, count + 1, 50):
        numbers = range(start, start + 50)
        waiting.update((number, loop.create_future()) for number in numbers)
        futures = list(waiting.values())
        for number in numbers:
            inbox.put_nowait(("job", number, number))
        await asyncio.gather(*futures)
    for queue in (*[inbox] * WORKERS, results):
        queue.put_nowait(None)
    await asyncio.gather(*tasks)


class Account:
    """A group, that is called and calls."""

    def __init__(self, ledger: Ledger) -> None:
        self.ledger = ledger
        self.number = 0

    def job(self, number: int, size: int) -> None:
        self.number = number
        self.check(size)
        self.ledger.result(number, size % 7)

    def check(self, size: int) -> None:
        assert size >= 0


class Ledger:
    def __init__(self) -> None:
        self.sum = 0

    def result(self, number: int, count: int) -> None:
        self.sum += count


async def calls(count: int) -> None:
    ledger = Ledger()
    accounts = [Account(ledger) for _ in range(WORKERS)]
    for number in range(1, count + 1):
        accounts[number % WORKERS].job(number, number)


OF_TASKS = 'group Worker is task "worker-*";'
OF_CALLS = "group Worker is class Account; class worker is Account; class collector is Ledger;"


class Case(NamedTuple):
    """A program, and how it is watched."""

    run: Callable[[int], Coroutine[Any, Any, None]]
    requests: int  # in a piece of work
    limit: float | None = None
    groups: str = OF_TASKS
    raises: bool = False


CASES = {
    "a service, 20 KB texts": Case(lambda count: service(count, TEXT * 200), 600, 1.05),
    "a service, 400 B texts": Case(lambda count: service(count, TEXT * 4), 6000, 1.05),
    "a service, 400 B, raise": Case(lambda count: service(count, TEXT * 4), 6000, raises=True),
    "queues and nothing else": Case(queues, 40_000, 1.05),
    "the same, raise": Case(queues, 40_000, raises=True),
    "one queue for all workers": Case(shared, 60_000),
    "calls and nothing else": Case(calls, 100_000, groups=OF_CALLS),
}


def ratios(case: Case, count: int) -> dict[str, Any]:
    """Of a case, in this process; and how long a request takes alone."""
    law = grammar.compile(VIEW.replace(OF_TASKS, case.groups))

    def run(rounds: int) -> None:
        asyncio.run(case.run(case.requests if rounds == ROUNDS else WARM))

    @contextmanager
    def watch() -> Iterator[Any]:
        mode = {"on_violation": "raise"} if case.raises else {}
        with lawful.watch([law], project=__file__, **mode) as state:
            yield state
            judged = state.events
        assert judged == 2 * (case.requests + 2 * WARM) and not state.findings and not state.warnings, state

    found = [pair(number, run, ROUNDS, watch, lambda _: True) for number in range(count)]
    began = time.process_time()
    run(ROUNDS)
    return {"ratios": found, "alone": (time.process_time() - began) / case.requests * 1e6}


ROUNDS = 3  # other numbers are for warming up:
WARM = 1000  # requests, in which the interpreter adapts the code to what is watched


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    options.add_argument("--processes", type=int, default=6)
    options.add_argument("--pairs", type=int, default=12)
    options.add_argument("--only", metavar="TEXT", default="", help="cases with this in their names")
    options.add_argument("--no-inline", action="store_true", help="make events of all messages")
    options.add_argument("--child", help=argparse.SUPPRESS)
    given = options.parse_args()
    if given.no_inline:
        MessageSource.enable_inline = lambda self, inline_judge: None  # type: ignore[method-assign]
    if given.child is not None:
        json.dump(ratios(CASES[given.child], given.pairs), sys.stdout)
        return
    print(f"{platform.python_implementation()} {platform.python_version()}, two messages a request; ", end="")
    print(f"medians of {given.processes} x {given.pairs} pairs, with 95 % intervals\n")
    print(f"{'':27}{'alone':>11}{'with a view':>13}{'interval':>17}  {'by process':17}")
    for name, case in CASES.items():
        if given.only not in name:
            continue
        found = Pairs(name, "", case.limit)
        alone = []
        for _ in range(given.processes):
            command = [sys.executable, __file__, "--child", name, "--pairs", str(given.pairs)]
            command += ["--no-inline"] if given.no_inline else []
            answer = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
            found.ratios.append(answer["ratios"])
            alone.append(answer["alone"])
        low, high = found.interval()
        each = found.by_process()
        print(
            f"{name:27}{statistics.median(alone):>8.1f} µs{found.median():>13.3f}{low:>9.3f} - {high:.3f}  "
            f"{min(each):.3f} - {max(each):.3f}  {found.verdict()}",
            flush=True,
        )


if __name__ == "__main__":
    main()
