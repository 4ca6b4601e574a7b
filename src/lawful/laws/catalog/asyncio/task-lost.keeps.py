"""Tasks are awaited, kept in a set until they are done, or cancelled."""

import asyncio
import gc
import logging

logging.disable()
logging.getLogger("shop").error("Task failed")
logging.getLogger("shop").error(LookupError("Task failed"))


async def work() -> None:
    await asyncio.sleep(0)


async def main() -> None:
    background = set()
    for _ in range(3):
        task = asyncio.create_task(work())
        background.add(task)
        task.add_done_callback(background.discard)
    while background:
        await asyncio.sleep(0)
    gc.collect()
    waiting = asyncio.create_task(asyncio.sleep(60))
    await asyncio.sleep(0)
    waiting.cancel()


asyncio.run(main())
