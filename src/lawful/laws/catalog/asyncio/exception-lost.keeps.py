"""The exceptions of tasks are met by `await`, by `gather`, by a callback; a task is cancelled."""

import asyncio
import gc
import logging
from contextlib import suppress

logging.disable()
logging.getLogger("shop").error(LookupError("Task failed"))


async def fail() -> None:
    raise LookupError


async def main() -> None:
    task = asyncio.create_task(fail())
    with suppress(LookupError):
        await task
    results = await asyncio.gather(fail(), fail(), return_exceptions=True)
    assert [type(each) for each in results] == [LookupError, LookupError]
    seen: list[BaseException | None] = []
    task = asyncio.create_task(fail())
    task.add_done_callback(lambda done: seen.append(done.exception()))
    await asyncio.wait([task])
    await asyncio.sleep(0)
    assert len(seen) == 1
    sleeper = asyncio.create_task(asyncio.sleep(60))
    sleeper.cancel()
    await asyncio.wait([sleeper])
    del task, sleeper, results
    gc.collect()


asyncio.run(main())
