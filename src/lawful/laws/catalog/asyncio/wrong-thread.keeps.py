"""Threads hand over to a loop by the ways that are made for it; before the loop runs, another thread may prepare it."""

import asyncio
import threading


async def main() -> None:
    loop = asyncio.get_running_loop()
    done = asyncio.Event()
    future = loop.create_future()

    def work() -> None:
        loop.call_soon_threadsafe(future.set_result, 1)
        assert asyncio.run_coroutine_threadsafe(asyncio.sleep(0, 2), loop).result() == 2
        loop.call_soon_threadsafe(done.set)

    thread = threading.Thread(target=work)
    thread.start()
    await done.wait()
    assert await future == 1
    thread.join()
    assert await loop.run_in_executor(None, abs, -3) == 3
    loop.call_later(0.001, done.clear)


asyncio.run(main())

loop = asyncio.new_event_loop()
thread = threading.Thread(target=loop.run_forever)
loop.call_soon(print, "first")
thread.start()
loop.call_soon_threadsafe(loop.stop)
thread.join()
loop.close()
