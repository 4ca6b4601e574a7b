"""Coroutines are awaited, made tasks, gathered, or closed because they are not needed."""

import asyncio


async def double(number: int) -> int:
    return number * 2


async def main() -> None:
    later = double(1)
    task = asyncio.create_task(double(2))
    assert await asyncio.gather(double(3), later) == [6, 2]
    assert await task == 4
    unused = double(5)
    unused.close()


asyncio.run(main())
