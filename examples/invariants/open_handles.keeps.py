"""A store that hands out handles, two at most; each is closed."""

from __future__ import annotations


class Store:
    def __init__(self) -> None:
        self.open = 0

    def handle(self) -> Handle:
        self.open += 1
        return Handle(self)


class Handle:
    def __init__(self, store: Store) -> None:
        self.store = store

    def close(self) -> None:
        self.store.open -= 1


store = Store()
for _ in range(5):
    one, two = store.handle(), store.handle()
    one.close()
    two.close()
