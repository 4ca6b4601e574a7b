"""Ready-made invariants, as functions: what is always asked of counts, handles, pools, locks and memory."""

from __future__ import annotations

from collections.abc import Sequence

from lawful.laws.invariants.definitions import ready_made
from lawful.laws.invariants.law import InvariantLaw
from lawful.laws.invariants.rules import Duration
from lawful.laws.invariants.templates import LOCK


def reference_count(
    of: str | type, field: str = "rc", *, within: Duration | None = None, every: Duration | None = None
) -> InvariantLaw:
    """A count of references is never negative, moves by one, and while there are any goes down again in time."""
    return ready_made("reference-count", of, field=field, within=within, every=every)


def open_handles(
    of: str | type,
    field: str,
    *,
    most: int | str | None = None,
    within: Duration | None = None,
    every: Duration | None = None,
) -> InvariantLaw:
    """So many handles are open: never more than `most` (a number or a field), and one is closed within a time."""
    return ready_made("open-handles", of, field=field, most=most, within=within, every=every)


def closed(
    of: str | type, by: str | Sequence[str] = "close", *, within: Duration, every: Duration | None = None
) -> InvariantLaw:
    """Each object is closed, by a call of one of these methods, within a time after its creation."""
    return ready_made("closed", of, by=by, within=within, every=every)


def pool_checkouts(
    of: str | type,
    field: str = "out",
    *,
    size: int | str = "size",
    within: Duration | None = None,
    every: Duration | None = None,
) -> InvariantLaw:
    """Of a pool no more is out than its `size` (a number or a field), nor less than nothing; it comes back in time."""
    return ready_made("pool-checkouts", of, field=field, size=size, within=within, every=every)


def locks_held(
    of: str | type = LOCK,
    *,
    within: Duration,
    every: Duration | None = None,
    acquire: str | Sequence[str] = ("acquire", "__enter__"),
    release: str | Sequence[str] = ("release", "__exit__"),
) -> InvariantLaw:
    """A lock that was acquired is released within a time."""
    return ready_made("locks-held", of, within=within, every=every, acquire=acquire, release=release)


def allocations(
    of: str | type,
    field: str,
    *,
    most: int | str | None = None,
    within: Duration | None = None,
    every: Duration | None = None,
) -> InvariantLaw:
    """What is in use is not negative, never more than `most` (a number or a field), and some is freed in time."""
    return ready_made("allocations", of, field=field, most=most, within=within, every=every)
