"""Where one JSON value ends and the next begins, found with regular expressions and without decoding anything."""

from __future__ import annotations

import re
from enum import Enum

# Each pattern is written so that any character can be taken in one way only: then giving up costs no more than matching
# did. (Possessive repeats would say it better, but match wrongly before Python 3.11.5.) Repeats of groups are bounded,
# because each takes memory. Strings end at a raw newline, which JSON forbids in them: that confines an unclosed one to
# its own line.
_STRING_BODY = rb'[^"\\\n]*(?:\\[^\n][^"\\\n]*){0,1000}'
_STRING = rb'"' + _STRING_BODY + rb'"'
_PLAIN = rb'[^"{}\[\]]*'


def _inside(parts: bytes) -> bytes:
    return _PLAIN + rb"(?:(?:" + parts + rb")" + _PLAIN + rb"){0,10000}"


def _or_container_of(parts: bytes) -> bytes:
    return _STRING + rb"|[{\[]" + _inside(parts) + rb"[}\]]"


# Regular expressions cannot count brackets. These know three levels of nesting by heart, which is all that nearly every
# event has, and so run over thousands of events in one call; `ValueScanner` counts for the others.
_OBJECT = rb"\{" + _inside(_or_container_of(_or_container_of(_STRING))) + rb"\}"
SPACE = re.compile(rb"[ \t\r\n]*")
BLANK = re.compile(rb"[ \t\r]*")
OBJECTS = re.compile(rb"(?:[ \t\r\n]*" + _OBJECT + rb"){0,10000}")
"""Objects one after the other, with any space between them."""
ELEMENTS = re.compile(rb"(?:[ \t\r\n]*,[ \t\r\n]*" + _OBJECT + rb"){0,10000}")
"""Further elements of an array: each is an object after a comma."""
# How far the last two are let run: what they remember on the way grows with it.
MAX_RUN = 64 * 1024
SCALAR = re.compile(rb"(?:(true|false|null)|(-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?))(?=[\s,\]}]|\Z)")

_STRING_REST = re.compile(_STRING_BODY)
_TO_BRACKET = re.compile(_inside(_STRING))

# Decoders give up long before this; it only keeps a megabyte of brackets from being counted one by one.
MAX_DEPTH = 100_000


class ScanResult(Enum):
    """What following a value through a buffer came to."""

    END = "end"  # the value ends at `ValueScanner.pos`
    MORE = "more"  # it goes on beyond what there is
    BROKEN = "broken"  # a string in it runs into the end of its line, at `ValueScanner.pos`
    TOO_DEEP = "too deep"


class ValueScanner:
    """Follows one object or array from the beginning of a buffer, over as many calls as its data needs to arrive."""

    __slots__ = ("depth", "in_string", "pos")

    def __init__(self) -> None:
        self.pos = 0
        self.depth = 0
        self.in_string = False

    def advance(self, buffer: bytes | bytearray, limit: int) -> ScanResult:
        """Go on from where the last call stopped, up to `limit`."""
        pos, depth = self.pos, self.depth
        found = ScanResult.MORE
        while pos < limit:
            if self.in_string:
                pos = _end(_STRING_REST, buffer, pos, limit)
                if pos == limit:
                    break
                if buffer[pos] == 0x22:  # "
                    self.in_string = False
                    pos += 1
                    continue
                if buffer[pos] == 0x5C:  # a backslash
                    if pos + 1 == limit:
                        break
                    if buffer[pos + 1] != 0x0A:
                        continue
                    pos += 1
                found = ScanResult.BROKEN
                break
            pos = _end(_TO_BRACKET, buffer, pos, limit)
            if pos == limit:
                break
            char = buffer[pos]
            pos += 1
            if char == 0x22:
                self.in_string = True
            elif char in b"{[":
                depth += 1
                if depth > MAX_DEPTH:
                    found = ScanResult.TOO_DEEP
                    break
            else:
                depth -= 1
                if depth <= 0:
                    found = ScanResult.END
                    break
        self.pos, self.depth = pos, depth
        return found


def _end(pattern: re.Pattern[bytes], buffer: bytes | bytearray, pos: int, limit: int) -> int:
    match = pattern.match(buffer, pos, limit)
    return match.end() if match else pos


def span(pattern: re.Pattern[bytes], buffer: bytes | bytearray, limit: int | None = None) -> int:
    """How many bytes at the beginning of the buffer match."""
    return _end(pattern, buffer, 0, len(buffer) if limit is None else limit)
