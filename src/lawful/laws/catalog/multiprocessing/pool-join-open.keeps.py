"""Pools are joined when they are closed or terminated."""

from multiprocessing.pool import ThreadPool

pool = ThreadPool(1)
pool.close()
pool.join()
pool.join()
with ThreadPool(1) as pool:
    assert pool.apply(abs, (-1,)) == 1
pool.join()
