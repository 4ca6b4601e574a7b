"""A pool of connections: what is taken is given back."""

from __future__ import annotations


class Pool:
    def __init__(self, size: int) -> None:
        self.size = size
        self.out = 0

    def take(self) -> None:
        self.out += 1

    def give(self) -> None:
        self.out -= 1


pool = Pool(2)
for _ in range(10):
    pool.take()
    pool.take()
    pool.give()
    pool.give()
