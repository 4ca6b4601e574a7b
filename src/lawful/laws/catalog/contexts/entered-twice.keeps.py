"""A context manager is made for every `with` statement, also by a decorator and by recursion."""

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager

depth = 0


@contextmanager
def deeper() -> Iterator[int]:
    global depth
    depth += 1
    yield depth
    depth -= 1


@deeper()
def work(times: int) -> None:
    if times:
        work(times - 1)


work(2)
work(1)
for _ in range(2):
    with deeper(), deeper() as two:
        assert two == 2
with ExitStack() as stack:
    stack.enter_context(deeper())
assert depth == 0
