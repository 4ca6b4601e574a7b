"""Pools are closed by `with` and by hand; one lives as long as the program."""

import gc
from multiprocessing.pool import ThreadPool

with ThreadPool(1) as pool:
    assert pool.apply(abs, (-1,)) == 1
pool = ThreadPool(1)
pool.close()
pool.join()
del pool
gc.collect()
forever = ThreadPool(1)
assert forever.apply(abs, (-1,)) == 1
forever.terminate()
