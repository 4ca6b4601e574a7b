"""An arena: more is allocated than there is, and one block is forgotten."""

from __future__ import annotations


class Arena:
    def __init__(self, capacity: int) -> None:
        self.capacity = capacity
        self.in_use = 0


class Block:
    def __init__(self, arena: Arena, size: int) -> None:
        self.arena = arena
        self.size = size

    def free(self) -> None:
        self.arena.in_use -= self.size


arena = Arena(100)
arena.in_use += 70
first = Block(arena, 70)
arena.in_use += 40  # violation
second = Block(arena, 40)  # violation
first.free()
del second
arena.in_use -= 40
