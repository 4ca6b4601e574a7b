"""A thread schedules a callback, and sets the result of a future, as if the loop were its own."""

import asyncio
import threading


async def main() -> None:
    loop = asyncio.get_running_loop()
    future = loop.create_future()
    future.add_done_callback(lambda _: None)

    def work() -> None:
        loop.call_soon(print, "at some time")  # violation
        future.set_result(1)  # violation

    thread = threading.Thread(target=work)
    thread.start()
    while thread.is_alive():
        await asyncio.sleep(0.001)


asyncio.run(main())
