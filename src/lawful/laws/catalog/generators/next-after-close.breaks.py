"""A closed generator is asked for its second value."""

from collections.abc import Iterator
from contextlib import suppress


def numbers() -> Iterator[int]:
    yield 1
    yield 2


source = numbers()
assert next(source) == 1
source.close()
with suppress(StopIteration):
    next(source)  # violation
