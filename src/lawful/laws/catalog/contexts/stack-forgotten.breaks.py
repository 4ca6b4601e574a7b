"""A stack gets something to undo, and is forgotten."""

from contextlib import ExitStack

done: list[int] = []


def work() -> None:
    stack = ExitStack()
    stack.callback(done.append, 1)  # violation


work()
assert done == []
