"""Loops run one after the other, and at the same time in another thread."""

import asyncio
import threading


async def work(number: int) -> int:
    await asyncio.sleep(0)
    return number


async def main() -> None:
    results: list[int] = []
    thread = threading.Thread(target=lambda: results.append(asyncio.run(work(1))))
    thread.start()
    while thread.is_alive():
        await asyncio.sleep(0.001)
    assert results == [1]
    assert await asyncio.to_thread(asyncio.run, work(2)) == 2


asyncio.run(main())
assert asyncio.run(work(3)) == 3
