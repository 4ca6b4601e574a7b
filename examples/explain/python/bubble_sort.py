"""A linked list that is filled, looked at and sorted; the links of its root are not initialised."""

from __future__ import annotations


class Node:
    """A place in the list. In a ring, the links of an empty list would lead from the root to itself."""

    def __init__(self, value: int) -> None:
        self.value = value
        self.next: Node | None = None
        self.previous: Node | None = None


def gl_insert(root: Node, value: int) -> None:
    """Puts a value behind the root."""
    node = Node(value)
    after = root.next
    node.previous, node.next = root, after
    root.next = node
    if after is not None:
        after.previous = node


def gl_read(root: Node, values: list[int]) -> None:
    """Fills the list."""
    for value in values:
        gl_insert(root, value)


def inspect(root: Node) -> None:
    """A list with something in it leads back to its root, in both directions."""
    node = root.next
    assert node is None or root.previous is not None, "the root has no last node"


def swap(one: Node, other: Node) -> None:
    """Exchanges two values."""
    one.value, other.value = other.value, one.value


def gl_sort(root: Node) -> None:
    """Sorts the list."""
    moved = True
    while moved:
        moved = False
        node = root.next
        while node is not None and node.next is not None:
            if node.value > node.next.value:
                swap(node, node.next)
                moved = True
            node = node.next


def main(values: list[int]) -> None:
    """Fills a list, looks at it, and sorts it."""
    root = Node(0)
    gl_read(root, values)
    inspect(root)
    gl_sort(root)
