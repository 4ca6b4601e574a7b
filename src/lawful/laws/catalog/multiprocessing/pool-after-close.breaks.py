"""A pool is used after its `with` block, and after it was closed."""

from contextlib import suppress
from multiprocessing.pool import ThreadPool

with ThreadPool(1) as pool:
    assert pool.apply(abs, (-1,)) == 1
with suppress(ValueError):
    pool.apply(abs, (-2,))  # violation

pool = ThreadPool(1)
pool.close()
with suppress(ValueError):
    pool.map(abs, [-1])  # violation
pool.join()
