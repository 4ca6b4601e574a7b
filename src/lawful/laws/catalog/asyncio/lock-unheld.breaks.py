"""A lock is released twice."""

import asyncio
from contextlib import suppress


async def main() -> None:
    lock = asyncio.Lock()
    await lock.acquire()
    lock.release()
    with suppress(RuntimeError):
        lock.release()  # violation


asyncio.run(main())
