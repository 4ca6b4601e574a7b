"""Results are set once, or only if nobody was faster; a future is cancelled twice."""

import asyncio


async def main() -> None:
    loop = asyncio.get_running_loop()
    future = loop.create_future()
    for number in range(3):
        if not future.done():
            future.set_result(number)
    assert await future == 0
    assert not future.cancel()
    future = loop.create_future()
    future.cancel()
    future.cancel()
    if not future.cancelled():
        future.set_result(1)


asyncio.run(main())
