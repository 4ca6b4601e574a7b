"""A tree of nodes with reference counts: one is put twice, one is taken twice at once, and two are kept."""

from __future__ import annotations

import time


class Node:
    def __init__(self, name: str) -> None:
        self.name = name
        self.rc = 1


twice = Node("twice")
twice.rc -= 1
twice.rc -= 1  # violation

jumped = Node("jumped")
jumped.rc += 2  # violation
jumped.rc -= 1
jumped.rc -= 1
jumped.rc -= 1

dropped = Node("dropped")
dropped.rc += 1
dropped.rc -= 1  # violation
del dropped

kept = Node("kept")
kept.rc += 1
kept.rc -= 1  # violation
time.sleep(1.2)
other = Node("other")
other.rc -= 1
