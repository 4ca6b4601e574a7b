"""A loop is used after it was closed: run again, and given a callback."""

import asyncio
from contextlib import suppress


async def work() -> None:
    await asyncio.sleep(0)


loop = asyncio.new_event_loop()
loop.run_until_complete(work())
loop.close()
with suppress(RuntimeError):
    loop.run_forever()  # violation
with suppress(RuntimeError):
    loop.call_soon(print)  # violation
