"""A pool of connections: more is taken than there is, more is given than was taken, and one is not given back."""

from __future__ import annotations

import time


class Pool:
    def __init__(self, size: int) -> None:
        self.size = size
        self.out = 0


pool = Pool(1)
pool.out += 1
pool.out += 1  # violation
pool.out -= 1
pool.out -= 1
pool.out -= 1  # violation

slow = Pool(1)
slow.out += 1  # violation
time.sleep(1.2)
slow.out -= 1
