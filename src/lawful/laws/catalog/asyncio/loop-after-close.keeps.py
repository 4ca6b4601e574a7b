"""Each run has its own loop; a loop is stopped, used again, and closed twice."""

import asyncio


async def work() -> int:
    await asyncio.sleep(0)
    return 1


for _ in range(2):
    assert asyncio.run(work()) == 1

loop = asyncio.new_event_loop()
assert loop.run_until_complete(work()) == 1
loop.call_soon(loop.stop)
loop.run_forever()
loop.close()
loop.close()
assert loop.is_closed()
