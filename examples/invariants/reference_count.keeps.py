"""A tree of nodes with reference counts: whoever takes a node gives it back."""

from __future__ import annotations


class Node:
    def __init__(self, name: str) -> None:
        self.name = name
        self.rc = 1

    def get(self) -> Node:
        self.rc += 1
        return self

    def put(self) -> None:
        self.rc -= 1


root = Node("/")
for name in ("etc", "home", "tmp"):
    node = Node(name)
    used = node.get()
    root.get()
    used.put()
    node.put()
    root.put()
root.put()
