"""What it costs to watch an asyncio program with a view: seconds with and without, in turns, in one process.

The service takes requests on a loopback socket, decodes them, hands each to a worker by its queue, and answers with
what the worker has found in the text: how many words. What a message costs is the same whatever the program
does meanwhile; so there are long texts, short ones, and, as the worst case, queues alone.
"""

from __future__ import annotations

import argparse
import asyncio
import gc
import json
import platform
import statistics
import time
from collections.abc import Callable, Coroutine
from contextlib import nullcontext
from typing import Any

import lawful
from lawful import grammar

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


PROGRAMS: dict[str, tuple[Callable[[int], Coroutine[Any, Any, None]], int]] = {
    "a service, 20 KB texts": (lambda count: service(count, TEXT * 200), 1),
    "a service, 400 B texts": (lambda count: service(count, TEXT * 4), 2),
    "queues and nothing else": (queues, 5),
}


WARM = 50
"""Requests before time is taken: code is looked at when it first runs, once in a run."""


def once(program: Callable[[int], Coroutine[Any, Any, None]], count: int, law: Any) -> float:
    """CPU seconds of the program, until the last of its messages is judged."""
    gc.collect()
    with lawful.watch([law], project=__file__) if law is not None else nullcontext() as watch:
        asyncio.run(program(WARM))
        began = time.process_time()
        asyncio.run(program(count))
        judged = 0 if watch is None else watch.events
        seconds = time.process_time() - began
    if watch is not None:
        assert judged == 2 * (count + WARM) and not watch.findings and not watch.warnings, watch
    return seconds


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    options.add_argument("--requests", type=int, default=1000)
    options.add_argument("--pairs", type=int, default=11)
    given = options.parse_args()
    law = grammar.compile(VIEW)
    print(f"{platform.python_implementation()} {platform.python_version()}, two messages a request\n")
    print("The least of each, their ratio, and the median of the ratios of neighbours.\n")
    print(f"{'':26}{'requests':>9}{'alone':>13}{'with a view':>13}{'ratio':>8}{'neighbours':>11}")
    for name, (program, times) in PROGRAMS.items():
        count = given.requests * times
        once(program, 100, None)
        once(program, 100, law)
        pairs = [(once(program, count, None), once(program, count, law)) for _ in range(given.pairs)]
        alone, watched = (min(each) / count * 1e6 for each in zip(*pairs, strict=True))
        middle = statistics.median(second / first for first, second in pairs)
        print(f"{name:26}{count:>9,}{alone:>10.1f} µs{watched:>10.1f} µs{watched / alone:>8.3f}{middle:>11.3f}")


if __name__ == "__main__":
    main()
