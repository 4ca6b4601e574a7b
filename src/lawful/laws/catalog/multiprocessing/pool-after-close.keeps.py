"""Work is handed in before the pool is closed; its results are fetched afterwards; a pool is closed twice."""

from multiprocessing.pool import ThreadPool

with ThreadPool(1) as pool:
    assert pool.map(abs, [-1, -2]) == [1, 2]
pool.terminate()

pool = ThreadPool(1)
result = pool.apply_async(abs, (-1,))
results = pool.imap(abs, [-2, -3])
pool.close()
pool.close()
pool.join()
assert result.get() == 1
assert list(results) == [2, 3]
