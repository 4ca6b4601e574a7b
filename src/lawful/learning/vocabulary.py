"""What a name says: words that programmers use for calls which begin something, and for calls which end it."""

from __future__ import annotations

import re
from functools import lru_cache

from lawful.learning.window_protocol import Word

_ENDS = frozenset(
    "abort aexit cancel cleanup close closed commit del destroy detach disconnect dispose done drain end exit finalize "
    "finish flush free join kill leave logout quit release rollback save shutdown stop sync terminate unlock unmap "
    "unmount unregister unsubscribe wait".split()
)
_BEGINS = frozenset(
    "acquire aenter attach begin bind connect enter init listen lock login mount open register setup start "
    "subscribe".split()
)
_STEPS = frozenset("commit done drain flush rollback save sync wait".split())
"""Of those that end something: they end a step, after which the object goes on."""

_POSITIONS = frozenset(("re.Match.start", "re.Match.end"))  # they tell where something begins and ends

_OWED = {"release": "acquire", "unlock": "lock"}
_HUMP = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")


def is_call(word: Word) -> bool:
    """Is it something that is done, and not an attribute?"""
    return word.event not in ("field_write", "field_read")


def makes(word: Word) -> bool:
    """Is it how an object comes into being?"""
    return word.event == "new" or word.role == "result" or last(word) in ("__init__", "__new__")


def ends(word: Word) -> bool:
    """Does the name say that something is over then?"""
    return is_call(word) and not _ENDS.isdisjoint(_parts(word.name)) and word.name not in _POSITIONS


def ends_life(word: Word) -> bool:
    """Does the name say that the object is done with, and not only a step?"""
    return ends(word) and _STEPS.isdisjoint(_parts(word.name))


def begins(word: Word) -> bool:
    """Does the name say that something begins?"""
    return is_call(word) and not _BEGINS.isdisjoint(_parts(word.name)) and word.name not in _POSITIONS


def asks(word: Word) -> bool:
    """Is it only a question, as `is_alive`, or `str(it)`?"""
    name = last(word)
    if name in ("__str__", "__repr__", "__format__"):
        return True
    return is_call(word) and _HUMP.sub("_", name.lstrip("_")).lower().startswith(("is_", "has_"))


def last(word: Word) -> str:
    """The name without what it is in: that of a method."""
    return word.name.rpartition(".")[2]


def alike(one: Word, other: Word) -> bool:
    """Are they the same method, of two classes?"""
    return last(one) == last(other)


def enters(word: Word) -> bool:
    """Is it the beginning of a `with`?"""
    return last(word) in ("__enter__", "__aenter__")


def exits(word: Word) -> bool:
    """Is it the end of a `with`?"""
    return last(word) in ("__exit__", "__aexit__")


def needless(before: Word, end: Word) -> bool:
    """Does an end need nothing before it? To end something that never began fails, or does no harm.

    But whatever is released was acquired before, each time.
    """
    owed = {_OWED[part] for part in _parts(end.name) if part in _OWED}
    return ends(end) and owed.isdisjoint(_parts(before.name))


def leads(before: Word, after: Word) -> bool:
    """Can it be a mistake that the one does not come before the other?

    An object is made before it is used. A `with` that is left was entered. What can be ended without one needs none.
    And a method that calls the same one of another class can be gone round.
    """
    if makes(before) or (enters(before) and ends(after)):
        return False
    return not alike(before, after)


@lru_cache(maxsize=1 << 14)
def _parts(name: str) -> frozenset[str]:
    """`EventDispatcher.stopAll_now` has stop, all and now."""
    last = name.rpartition(".")[2]
    return frozenset(_HUMP.sub("_", last).lower().split("_"))
