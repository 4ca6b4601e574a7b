"""A condition is used with its lock held: one task waits for another, and a wait is cancelled."""

import asyncio
from contextlib import suppress


async def main() -> None:
    condition = asyncio.Condition()
    ready: list[int] = []

    async def produce() -> None:
        async with condition:
            ready.append(1)
            condition.notify_all()

    task = asyncio.create_task(produce())
    async with condition:
        await condition.wait_for(lambda: ready)
    await task

    async def wait() -> None:
        async with condition:
            await condition.wait()

    with suppress(TimeoutError):
        await asyncio.wait_for(wait(), 0.001)


asyncio.run(main())
