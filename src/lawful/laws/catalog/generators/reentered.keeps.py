"""Generators ask each other, raise ValueError for reasons of their own, and are shared by threads with a lock."""

import threading
from collections.abc import Iterator
from contextlib import suppress


def numbers() -> Iterator[int]:
    yield 1
    yield 2


def doubled(source: Iterator[int]) -> Iterator[int]:
    while True:
        try:
            yield 2 * next(source)
        except StopIteration:
            return


def failing() -> Iterator[int]:
    yield int("1")
    yield int("one")


assert list(doubled(doubled(numbers()))) == [4, 8]
source = failing()
assert next(source) == 1
with suppress(ValueError):
    next(source)
assert next(source, 0) == 0

lock = threading.Lock()
shared = numbers()


def take() -> None:
    with lock:
        next(shared)


threads = [threading.Thread(target=take) for _ in range(2)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
