"""Exceptions are met by `result`, by `exception`, by a callback and by `map`; calls that succeed may be forgotten."""

import threading
from concurrent.futures import ThreadPoolExecutor, as_completed
from contextlib import suppress

go = threading.Event()


def fail(_: int = 0) -> None:
    go.wait()
    raise LookupError


seen: list[BaseException | None] = []
with ThreadPoolExecutor(max_workers=2) as executor:
    executor.submit(abs, -1)
    first, second, third = (executor.submit(fail) for _ in range(3))
    third.add_done_callback(lambda future: seen.append(future.exception()))
    results = executor.map(fail, [1])
    go.set()
    with suppress(LookupError):
        first.result()
    for future in as_completed([second]):
        assert isinstance(future.exception(), LookupError)
    with suppress(LookupError):
        list(results)
del first, second, third, future, results
assert len(seen) == 1
