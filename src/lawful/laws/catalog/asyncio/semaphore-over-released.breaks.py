"""A semaphore is released by hand inside its `async with` block."""

import asyncio
from contextlib import suppress


async def main() -> None:
    semaphore = asyncio.BoundedSemaphore(1)
    with suppress(ValueError):
        async with semaphore:  # violation
            semaphore.release()


asyncio.run(main())
