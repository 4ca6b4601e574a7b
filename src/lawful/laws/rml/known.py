"""What can be known of a law without reading it: enough to wait for its first event."""

from __future__ import annotations

from typing import NamedTuple

from lawful.laws.protocol import Watch


class LawFacts(NamedTuple):
    """Of a law that is judged as a whole, and that is kept by a trace without events."""

    watches: tuple[Watch, ...] | None
    selective: bool
    tracks_objects: bool
    ignores_unseen_end: bool
    """Is it so before the first event?"""
