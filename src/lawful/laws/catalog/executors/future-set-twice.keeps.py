"""Results are set once, or only if the future was not cancelled."""

from concurrent.futures import Future, ThreadPoolExecutor

future: Future[int] = Future()
if future.set_running_or_notify_cancel():
    future.set_result(1)
assert future.result() == 1
future = Future()
future.cancel()
if future.set_running_or_notify_cancel():
    future.set_result(1)
with ThreadPoolExecutor(max_workers=1) as executor:
    assert executor.submit(abs, -1).result() == 1
