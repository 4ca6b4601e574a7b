"""Invariants: laws over a class and an expression about each of its objects."""

from __future__ import annotations

from lawful.laws.invariants.definitions import (
    allocations,
    closed,
    compile,
    invariant,
    locks_held,
    open_handles,
    pool_checkouts,
    reference_count,
)
from lawful.laws.invariants.law import InvariantLaw
from lawful.laws.invariants.monitor import InvariantMonitor

__all__ = [
    "InvariantLaw",
    "InvariantMonitor",
    "allocations",
    "closed",
    "compile",
    "invariant",
    "locks_held",
    "open_handles",
    "pool_checkouts",
    "reference_count",
]
