"""Tasks wait without blocking; threads may block, also those that a task has started."""

import asyncio
import subprocess
import sys
import threading
import time
from enum import IntEnum


class Pause(IntEnum):
    NONE = 0


async def main() -> None:
    await asyncio.sleep(0.001)
    await asyncio.to_thread(time.sleep, 0.001)
    await asyncio.to_thread(subprocess.run, [sys.executable, "-S", "-c", ""])
    ready = threading.Event()
    thread = threading.Thread(target=ready.set)
    thread.start()
    await asyncio.to_thread(ready.wait)
    time.sleep(0)
    time.sleep(Pause.NONE)


asyncio.run(main())
time.sleep(0.001)
