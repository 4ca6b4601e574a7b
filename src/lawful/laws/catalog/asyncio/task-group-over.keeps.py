"""Tasks are created inside the block: by the block itself, by another task of the group, while it waits."""

import asyncio
from contextlib import suppress


async def main() -> None:
    async with asyncio.TaskGroup() as group:

        async def more() -> None:
            await asyncio.sleep(0)
            group.create_task(asyncio.sleep(0))

        task = group.create_task(more())
    assert task.done()

    async def fail() -> None:
        raise LookupError

    with suppress(ExceptionGroup):
        async with asyncio.TaskGroup() as group:
            group.create_task(fail())


asyncio.run(main())
