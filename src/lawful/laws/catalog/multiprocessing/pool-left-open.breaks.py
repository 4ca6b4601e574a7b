"""A pool is made and forgotten."""

import gc
import warnings
from multiprocessing.pool import ThreadPool

warnings.simplefilter("ignore", ResourceWarning)


def prepare() -> str:
    pool = ThreadPool(1)  # violation
    return f"ready: {pool}"


assert "RUN" in prepare()
gc.collect()
