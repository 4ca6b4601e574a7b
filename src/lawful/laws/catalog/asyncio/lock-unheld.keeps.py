"""Locks are released by who holds them, after a wait, and by hand."""

import asyncio
from contextlib import suppress


async def main() -> None:
    lock = asyncio.Lock()

    async def work() -> None:
        async with lock:
            await asyncio.sleep(0)

    await asyncio.gather(work(), work())
    await lock.acquire()
    try:
        assert lock.locked()
    finally:
        lock.release()
    with suppress(LookupError):
        async with lock:
            raise LookupError


asyncio.run(main())
