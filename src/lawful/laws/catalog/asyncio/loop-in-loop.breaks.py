"""A coroutine has another one run to its end, instead of awaiting it."""

import asyncio
from contextlib import suppress


async def work() -> None:
    await asyncio.sleep(0)


async def main() -> None:
    coroutine = work()
    with suppress(RuntimeError):
        asyncio.get_running_loop().run_until_complete(coroutine)  # violation
    with suppress(RuntimeError):
        asyncio.run(coroutine)  # violation
    await coroutine


asyncio.run(main())
