"""A context manager is kept and entered again."""

from collections.abc import Iterator
from contextlib import contextmanager, suppress


@contextmanager
def deeper() -> Iterator[None]:
    yield


manager = deeper()
with manager:
    pass
with suppress(Exception), manager:  # violation
    pass
