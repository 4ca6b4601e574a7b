"""A loop is made, used and forgotten."""

import asyncio
import gc
import warnings

warnings.simplefilter("ignore", ResourceWarning)


def work() -> None:
    loop = asyncio.new_event_loop()  # violation
    loop.run_until_complete(asyncio.sleep(0))


work()
gc.collect()
