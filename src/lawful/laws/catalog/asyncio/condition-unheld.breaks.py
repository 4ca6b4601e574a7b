"""A condition is notified and waited on without its lock."""

import asyncio
from contextlib import suppress


async def main() -> None:
    condition = asyncio.Condition()
    with suppress(RuntimeError):
        condition.notify_all()  # violation
    with suppress(RuntimeError):
        await condition.wait()  # violation


asyncio.run(main())
