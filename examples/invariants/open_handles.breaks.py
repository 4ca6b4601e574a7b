"""A store that hands out handles, two at most: three are taken, and one is never closed."""

from __future__ import annotations


class Store:
    def __init__(self) -> None:
        self.open = 0

    def handle(self) -> Handle:
        self.open += 1  # violation
        return Handle(self)  # violation


class Handle:
    def __init__(self, store: Store) -> None:
        self.store = store

    def close(self) -> None:
        self.store.open -= 1


store = Store()
one = store.handle()
two = store.handle()
three = store.handle()
one.close()
two.close()
store.open -= 1  # the store has lost patience with the third
del three
