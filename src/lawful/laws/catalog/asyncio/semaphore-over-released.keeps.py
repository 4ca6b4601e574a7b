"""Semaphores are given back once each; a plain one may grow."""

import asyncio


async def main() -> None:
    bounded = asyncio.BoundedSemaphore(2)
    for _ in range(3):
        async with bounded, bounded:
            assert bounded.locked()
    await bounded.acquire()
    bounded.release()
    plain = asyncio.Semaphore(0)
    plain.release()
    await plain.acquire()


asyncio.run(main())
