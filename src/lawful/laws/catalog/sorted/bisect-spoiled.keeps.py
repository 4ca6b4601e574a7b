"""Lists are kept in order by insort, or sorted again; items may be taken out."""

from bisect import bisect_left, insort

numbers = [1, 5]
insort(numbers, 3)
numbers.remove(1)
assert bisect_left(numbers, 4) == 1
numbers.append(0)
numbers.sort()
assert bisect_left(numbers, 4) == 2
history = [1, 2]
history.append(3)
assert bisect_left(history, 2) == 1
