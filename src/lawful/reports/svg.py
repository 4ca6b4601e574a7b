"""What all SVG pictures share: how they begin, text in them, and how much room it takes, without asking the fonts."""

from __future__ import annotations

import re
import unicodedata
from xml.sax.saxutils import escape

from lawful.diagnostics import printable

SANS = "Helvetica, Arial, sans-serif"

_NOT_XML = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
_NARROW = frozenset("ijlftrI.,:;'|!()[]{}/\\ -")
_BROAD = frozenset("mwMW@%—…")


def opening(width: float, height: float, ink: str, *, kind: str = "", role: str = 'role="img"') -> str:
    """The first tag of a picture; `kind` and `role` are further attributes of it."""
    size = f'width="{width:.0f}" height="{height:.0f}" viewBox="0 0 {width:.0f} {height:.0f}"'
    return f'<svg xmlns="http://www.w3.org/2000/svg" {kind}{size} {role} font-family="{SANS}" fill="{ink}">'


def xml(content: str) -> str:
    """Text as XML can hold it."""
    return escape(readable(content), {'"': "&quot;"})


def readable(content: str) -> str:
    """Text without the characters that XML does not have."""
    return _NOT_XML.sub("\ufffd", content)


def flat(content: str) -> str:
    """Text on one line, without control characters."""
    return printable(" ".join(content.split()))


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
