"""A coroutine sleeps, and waits for a process."""

import asyncio
import subprocess
import sys
import time


async def main() -> None:
    time.sleep(0.001)  # violation
    subprocess.run([sys.executable, "-S", "-c", ""])  # violation


asyncio.run(main())
