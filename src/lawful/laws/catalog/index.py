"""Facts about the catalogue's laws that `tools/make_catalog.py` has written down, so that no law need be read."""

from __future__ import annotations

from binascii import crc32
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Final

import msgspec

from lawful.laws.protocol import Verdict, Watch
from lawful.laws.rml.law import LawFacts

if TYPE_CHECKING:
    from lawful.laws.rml import RmlLaw

PATH: Final = Path(__file__).with_name("index.json")

_Values = tuple[str | int | float | bool | None, ...]


class Entry(msgspec.Struct, array_like=True, frozen=True):
    """The facts about one law, valid for the text with this checksum."""

    sum: int
    profile: str
    watches: tuple[tuple[tuple[str, _Values | None], ...], ...] | None
    selective: bool
    tracks_objects: bool
    ignores_unseen_end: bool


def sum_of(text: str) -> int:
    """A checksum against accidental changes."""
    return crc32(text.encode("utf-8"))


@cache
def entries() -> dict[str, Entry]:
    """The facts about all laws, by name."""
    try:
        data = PATH.read_bytes()
        return msgspec.json.decode(data, type=dict[str, Entry])
    except (OSError, msgspec.MsgspecError):
        return {}  # then they are read


def facts_of(name: str, text: str) -> LawFacts | None:
    """The facts about the law of this name, if this is still its text."""
    entry = entries().get(name)
    if entry is None or entry.sum != sum_of(text):
        return None
    watches = None if entry.watches is None else tuple(map(Watch, entry.watches))
    return LawFacts(watches, entry.selective, entry.tracks_objects, entry.ignores_unseen_end)


def entry_of(law: RmlLaw, profile: str) -> Entry | None:
    """The facts to write down about a law; None if they would not be complete."""
    monitor = law.monitor()
    if len(law.parts) != 1 or monitor.verdict is not Verdict.CURRENTLY_TRUE:
        return None
    watches = None if law.watches is None else tuple(watch.keys for watch in law.watches)
    return Entry(sum_of(law.source), profile, watches, law.selective, law.tracks_objects, monitor.ignores_unseen_end)
