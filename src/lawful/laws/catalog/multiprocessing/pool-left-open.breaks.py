"""A pool is made for one call and forgotten."""

import gc
import warnings
from multiprocessing.pool import ThreadPool

warnings.simplefilter("ignore", ResourceWarning)


def work() -> int:
    pool = ThreadPool(1)  # violation
    return pool.apply(abs, (-1,))


assert work() == 1
gc.collect()
