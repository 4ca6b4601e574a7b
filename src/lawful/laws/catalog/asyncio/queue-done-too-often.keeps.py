"""Each item is reported once; one queue is never joined."""

import asyncio


async def main() -> None:
    queue: asyncio.Queue[int] = asyncio.Queue()
    for number in range(3):
        await queue.put(number)
    while not queue.empty():
        await queue.get()
        queue.task_done()
    await queue.join()
    queue.put_nowait(1)
    assert queue.get_nowait() == 1


asyncio.run(main())
