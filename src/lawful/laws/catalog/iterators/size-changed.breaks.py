"""Items are removed from, or added to, what is being looped over."""

from collections import deque
from contextlib import suppress

ages = {"a": 1, "b": 2, "c": 3}
with suppress(RuntimeError):
    for name in ages:  # violation
        ages.pop(name)

with suppress(RuntimeError):
    for name, age in ages.items():  # violation
        if age == 2:
            del ages[name]
            ages["a"] = 1

seen = {1, 2, 3}
with suppress(RuntimeError):
    for number in seen:  # violation
        seen.remove(number)

todo = deque([1])
with suppress(RuntimeError):
    for number in todo:  # violation
        todo.append(number + 1)
