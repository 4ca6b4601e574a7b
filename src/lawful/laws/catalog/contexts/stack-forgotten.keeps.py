"""Stacks are left, closed, and handed over; an empty one is dropped."""

from contextlib import ExitStack

done: list[int] = []
with ExitStack() as stack:
    stack.callback(done.append, 1)
stack = ExitStack()
stack.callback(done.append, 2)
stack.close()
with ExitStack() as stack:
    stack.callback(done.append, 3)
    kept = stack.pop_all()
assert done == [1, 2]
kept.close()
assert done == [1, 2, 3]
stack = ExitStack()
del stack
