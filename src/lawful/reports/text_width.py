"""How much room a text takes in a picture, without asking the fonts."""

from __future__ import annotations

import unicodedata

_NARROW = frozenset("ijlftrI.,:;'|!()[]{}/\\ -")
_BROAD = frozenset("mwMW@%—…")


def width(words: str, size: float, *, bold: bool = False) -> float:
    """About how wide a text is, in the letters that most systems have."""
    return size * letters(words) * (1.1 if bold else 1.04)


def letters(words: str) -> float:
    """The same, in heights of a letter."""
    return sum(map(_letter, words))


def _letter(char: str) -> float:
    if char in _NARROW:
        return 0.31
    if char in _BROAD:
        return 0.9
    if char.isascii():
        return 0.69 if char.isupper() else 0.56
    if unicodedata.combining(char):
        return 0.0
    return 1.05 if unicodedata.east_asian_width(char) in "WF" else 0.7


def fit(words: str, room: float, size: float, *, bold: bool = False) -> str:
    """As much of a text as there is room for."""
    if width(words, size, bold=bold) <= room:
        return words
    room -= width("…", size, bold=bold)
    kept = 0
    for char in words:
        room -= width(char, size, bold=bold)
        if room < 0:
            break
        kept += 1
    return words[:kept] + "…"
