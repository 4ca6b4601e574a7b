"""Nobody looks at what has become of a task."""

import asyncio
import gc
import logging

logging.disable()


async def fail() -> None:
    raise LookupError


async def main() -> None:
    task = asyncio.create_task(fail())
    await asyncio.wait([task])
    del task  # violation
    gc.collect()


asyncio.run(main())
