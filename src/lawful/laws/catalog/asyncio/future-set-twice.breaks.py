"""A result is set twice, and after cancelling."""

import asyncio
from contextlib import suppress


async def main() -> None:
    loop = asyncio.get_running_loop()
    future = loop.create_future()
    future.set_result(1)
    with suppress(asyncio.InvalidStateError):
        future.set_result(2)  # violation
    future = loop.create_future()
    future.cancel()
    with suppress(asyncio.InvalidStateError):
        future.set_exception(LookupError())  # violation


asyncio.run(main())
