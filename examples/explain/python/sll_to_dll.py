"""A singly linked list becomes a doubly linked one, reversed; whoever asks for the last link back does not get it."""

from __future__ import annotations


class Node:
    """A place in the list."""

    def __init__(self, following: Node | None) -> None:
        self.next = following
        self.previous: Node | None = None


def append(head: Node | None) -> Node:
    """A longer list."""
    return Node(head)


def create(length: int) -> Node | None:
    """A singly linked list."""
    head = None
    for _ in range(length):
        head = append(head)
    return head


def link(node: Node, back: Node) -> None:
    """Sets the link back, but not where the list ends: that is the mistake."""
    if node.next is not None:
        node.previous = back


def to_doubly(head: Node | None) -> None:
    """Sets all links back."""
    node = head
    while node is not None and node.next is not None:
        link(node.next, node)
        node = node.next


def step(node: Node) -> Node | None:
    """The next node."""
    return node.next


def inspect(head: Node | None) -> None:
    """Whoever goes on by one can go back."""
    node = head
    while node is not None:
        following = step(node)
        assert following is None or following.previous is node, "no way back"
        node = following


def main(length: int) -> None:
    """Makes a list, links it, and looks at it."""
    if length < 0:
        return
    head = create(length)
    to_doubly(head)
    inspect(head)
