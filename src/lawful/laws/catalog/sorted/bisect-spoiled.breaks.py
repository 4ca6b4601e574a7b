"""An item is appended to a list that is searched by bisection."""

from bisect import bisect_left, insort

numbers = [1, 5]
insort(numbers, 3)
numbers.append(2)
assert bisect_left(numbers, 2) == 1  # violation
