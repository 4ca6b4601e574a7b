"""A task that waits for something that only it knows is collected."""

import asyncio
import gc
import logging

logging.disable()


async def wait() -> None:
    await asyncio.get_running_loop().create_future()


async def main() -> None:
    asyncio.create_task(wait())  # noqa: RUF006
    await asyncio.sleep(0)
    gc.collect()  # violation


asyncio.run(main())
