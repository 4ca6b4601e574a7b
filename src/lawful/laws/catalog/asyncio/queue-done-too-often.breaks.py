"""An item is reported as done twice."""

import asyncio
from contextlib import suppress


async def main() -> None:
    queue: asyncio.Queue[int] = asyncio.Queue()
    queue.put_nowait(1)
    await queue.get()
    queue.task_done()
    with suppress(ValueError):
        queue.task_done()  # violation


asyncio.run(main())
