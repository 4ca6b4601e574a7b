"""A task is created when the group has ended, well or not."""

import asyncio
from contextlib import suppress


async def fail() -> None:
    raise LookupError


async def main() -> None:
    coroutine = asyncio.sleep(0)
    async with asyncio.TaskGroup() as group:
        group.create_task(asyncio.sleep(0))
    with suppress(RuntimeError):
        group.create_task(coroutine)  # violation
    with suppress(ExceptionGroup):
        async with asyncio.TaskGroup() as group:
            group.create_task(fail())
    with suppress(RuntimeError):
        group.create_task(coroutine)  # violation
    coroutine.close()


asyncio.run(main())
