"""An arena: what is allocated is freed, or handed over."""

from __future__ import annotations


class Arena:
    def __init__(self, capacity: int) -> None:
        self.capacity = capacity
        self.in_use = 0

    def allocate(self, size: int) -> Block:
        self.in_use += size
        return Block(self, size)


class Block:
    def __init__(self, arena: Arena, size: int) -> None:
        self.arena = arena
        self.size = size

    def free(self) -> None:
        self.arena.in_use -= self.size

    def hand_over(self) -> None:
        self.arena.in_use -= self.size


arena = Arena(100)
for size in (10, 50, 100):
    arena.allocate(size).free()
arena.allocate(7).hand_over()
