"""Generators are closed when nobody needs more; what is exhausted may be asked again."""

from collections.abc import Iterator


def numbers() -> Iterator[int]:
    yield 1
    yield 2


first = numbers()
assert next(first) == 1
first.close()
first.close()
second = numbers()
assert list(second) == [1, 2]
assert next(second, None) is None
second.close()
