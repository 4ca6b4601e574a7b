"""A value is taken from what was split."""

from itertools import tee

numbers = iter([1, 2, 3])
first, second = tee(numbers)
assert next(numbers) == 1  # violation
assert list(first) == list(second) == [2, 3]
