"""A pool is joined while it takes work."""

from contextlib import suppress
from multiprocessing.pool import ThreadPool

with ThreadPool(1) as pool:
    assert pool.apply(abs, (-1,)) == 1
    with suppress(ValueError):
        pool.join()  # violation
