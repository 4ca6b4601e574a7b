"""Loops are closed by hand and by `asyncio.run`; one lives as long as the program."""

import asyncio
import contextlib
import gc

asyncio.run(asyncio.sleep(0))
with contextlib.closing(asyncio.new_event_loop()) as loop:
    loop.run_until_complete(asyncio.sleep(0))
loop = asyncio.new_event_loop()
loop.close()
del loop
gc.collect()
forever = asyncio.new_event_loop()
forever.run_until_complete(asyncio.sleep(0))
