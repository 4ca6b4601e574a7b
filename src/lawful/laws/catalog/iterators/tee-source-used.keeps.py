"""What tee has returned is used in place of its source."""

from itertools import tee

numbers = iter([1, 2, 3])
assert next(numbers) == 1
first, second = tee(numbers)
assert next(first) == 2
assert list(second) == [2, 3]
items = [1, 2]
left, right = tee(items)
assert [*left, *right] == [1, 2, 1, 2]
assert next(iter(items)) == 1
