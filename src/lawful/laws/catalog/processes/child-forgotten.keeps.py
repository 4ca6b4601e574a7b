"""Processes are waited for, asked whether they have ended, or meant to live on."""

import asyncio
import gc
import subprocess
import sys

command = [sys.executable, "-S", "-c", ""]
subprocess.run(command, check=True)
with subprocess.Popen(command):
    pass
process = subprocess.Popen(command)
process.communicate()
process = subprocess.Popen(command)
while process.poll() is None:
    pass
del process
subprocess.Popen(command, start_new_session=True)


async def main() -> None:
    process = await asyncio.create_subprocess_exec(*command)
    assert await process.wait() == 0
    del process
    gc.collect()


asyncio.run(main())
last = subprocess.Popen(command)
