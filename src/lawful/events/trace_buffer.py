"""The text of a trace that is not read yet: where it stands in the file, and what is wrong with it."""

from __future__ import annotations

import re
from typing import Any

import msgspec

from lawful.errors import TraceError
from lawful.events.framing import SCALAR

# A typed decoder refuses everything that is not an object while it decodes, at no cost; `decode_lines` takes objects
# whatever space stands between them, so it also decodes values that are spread over lines.
DECODER = msgspec.json.Decoder(dict[str, Any])
UNDECODABLE = (msgspec.DecodeError, UnicodeDecodeError, RecursionError)

# How many bytes show what something is that is not an object.
WINDOW = 64
_SHOWN = 40
_SKIP_HINT = "--skip-bad-lines goes on after lines like this and counts them"
_KILLED_HINT = "the writer may have been killed"


def _truncation_text() -> str:
    # msgspec tells "this could still become JSON" from "this is no JSON" by its message alone.
    try:
        DECODER.decode(b"{")
    except msgspec.DecodeError as error:
        return str(error)
    raise AssertionError("half an object was decoded")


_TRUNCATED = _truncation_text()
_MALFORMED = re.compile(r"^JSON is malformed: (.*) \(byte (\d+)\)$")


class TraceBuffer:
    """Bytes that have arrived and are not read yet. Offsets count from its beginning."""

    def __init__(self, name: str) -> None:
        self.bytes = bytearray()
        self.column = 0  # characters before it on its line
        self.in_array = False  # and not values one after the other
        self._name = name
        self._line = 1  # of the first byte

    def consume(self, count: int) -> None:
        """Drop bytes at the beginning, which were read."""
        taken = self.bytes[:count]
        del self.bytes[:count]
        lines = taken.count(b"\n")
        if lines:
            self._line += lines
            self.column = 0
            taken = taken[taken.rfind(b"\n") + 1 :]
        self.column += _characters(taken)

    def consume_lines(self, text: bytes) -> None:
        """Drop whole lines, which were read: faster than `consume`."""
        del self.bytes[: len(text)]
        self._line += text.count(b"\n")
        self.column = 0

    def _where(self, offset: int) -> str:
        before = self.bytes[:offset]
        line = self._line + before.count(b"\n")
        column = _characters(before[before.rfind(b"\n") + 1 :]) + (self.column if line == self._line else 0)
        return f"{self._name}:{line}:{column + 1}"

    def shown(self, offset: int = 0) -> str:
        """The text at a place, shortened and fit for a terminal."""
        window = self.bytes[offset : offset + 4 * _SHOWN].partition(b"\n")[0].rstrip(b"\r")
        text = window.decode("utf-8", "replace")
        if not text:
            return "the end of the line"
        short = text if len(text) <= _SHOWN else text[: _SHOWN - 3] + "..."
        return "`" + "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in short) + "`"

    # -- errors --------------------------------------------------------------------------------------------------------

    def error(self, slug: str, message: str, *, offset: int = 0, hint: str | None = None) -> TraceError:
        """An error at a place of the trace."""
        return TraceError(slug, message, where=self._where(offset), hint=hint)

    def _skippable(self, slug: str, message: str, advice: str = "", offset: int = 0) -> TraceError:
        """An error after which reading could go on with the next line, unless it is inside an array."""
        hint = advice or None
        if not self.in_array:
            hint = f"{advice}{' ' if advice.endswith('?') else '; '}{_SKIP_HINT}" if advice else _SKIP_HINT
        return self.error(slug, message, offset=offset, hint=hint)

    def is_undecided(self) -> bool:
        """Is there too little to say what this is, which is not an object?"""
        return len(self.bytes) < WINDOW and b"\n" not in self.bytes

    def not_an_object(self, *, after_comma: bool) -> TraceError:
        """The value at the beginning is something else; `after_comma`: an element of an array must stand here."""
        window = bytes(self.bytes[:WINDOW])
        scalar = SCALAR.match(window)
        kind = {ord('"'): "a string", ord("["): "an array"}.get(window[0])
        if kind is None and scalar is not None:
            kind = window[: scalar.end()].decode() if scalar[1] else "a number"
        if kind is not None:
            message = f"an event must be a JSON object, this is {kind}: {self.shown()}"
            example = 'an event looks like {"event":"func_post","name":"open","targetId":7}'
            return self._skippable("trace-not-an-object", message, example)
        advice = ""
        if window[:1] == b"," and not self.in_array:
            advice = "remove the comma: only in an array are there commas between events"
        elif window[:1] == b"]" and after_comma:
            advice = "remove the comma before the bracket"
        return self._skippable("trace-bad-json", f"this is not JSON: {self.shown()}", advice)

    def too_large(self, limit: int) -> TraceError:
        """The object at the beginning is larger than allowed."""
        message = f"this event is larger than {limit} bytes: {self.shown()}"
        return self._skippable("trace-value-too-large", message, "is a brace or a quotation mark not closed?")

    def too_deep(self) -> TraceError:
        """The object at the beginning has too many levels."""
        return self._skippable("trace-too-deep", f"the values of this event are nested too deeply: {self.shown()}")

    def undecodable(self, text: bytes, *, complete: bool = False, at_end: bool = False) -> TraceError:
        """Why the object that `text` (the beginning of the buffer) holds or begins cannot be decoded.

        It is `complete` if nothing that follows could change that.
        """
        try:
            DECODER.decode(text)
        except RecursionError:
            return self.too_deep()
        except UnicodeDecodeError:
            return self._bad_utf8(text)
        except msgspec.ValidationError:
            message = f"this event has a number that is out of range: {self.shown()}"
            advice = "integers may have up to 4300 digits, other numbers must fit a double"
            return self._skippable("trace-bad-number", message, advice)
        except msgspec.DecodeError as error:
            problem = str(error)
        else:
            raise AssertionError("a value decodes that did not decode before")
        malformed = _MALFORMED.match(problem)
        position = min(int(malformed[2]), len(text)) if malformed else len(text)
        ran_out = problem == _TRUNCATED or (at_end and position >= len(text) and not text.endswith(b"\n"))
        if ran_out and not complete:
            message = f"the {'array' if self.in_array else 'trace'} ends in the middle of this event: {self.shown()}"
            skip = "" if self.in_array else "; --skip-bad-lines ignores an incomplete last line"
            return self.error("trace-truncated", message, hint=f"{_KILLED_HINT} or is still at work{skip}")
        if problem == _TRUNCATED and text.endswith(b"\n"):
            return self._bad_json("this does not end on its line", len(text) - 1)
        if problem == _TRUNCATED:  # the one case in which msgspec says so of something that has its end
            return self._bad_json("a surrogate without its other half", text.rfind(b"\\u"))
        reason = malformed[1] if malformed else problem
        position = _error_position(text, position, reason)
        if text[position : position + 1] == b"\n":
            reason = "this does not end on its line"
        return self._bad_json(reason, position)

    def unclosed_array(self) -> TraceError:
        """The trace ends inside an array, between two events."""
        hint = f"{_KILLED_HINT}; all events before this place are complete"
        return self.error("trace-truncated", "the array is not closed", hint=hint)

    def _bad_json(self, reason: str, offset: int) -> TraceError:
        word = bytes(self.bytes[offset : offset + 9]).lstrip(b"-")
        not_finite = word.startswith((b"NaN", b"Infinity"))
        advice = "JSON has no NaN and no Infinity: write null" if not_finite else ""
        message = f"this is not JSON: {reason}, found {self.shown(offset)}"
        return self._skippable("trace-bad-json", message, advice, offset)

    def _bad_utf8(self, text: bytes) -> TraceError:
        offset, found = 0, ""
        try:
            text.decode()
        except UnicodeDecodeError as error:
            offset = error.start
            found = f"byte 0x{text[offset]:02x} in "
        message = f"this is not UTF-8: {found}{self.shown(max(0, offset - _SHOWN // 2))}"
        return self._skippable("trace-bad-utf8", message, offset=offset)


def is_json_prefix(text: bytes) -> bool:
    """Can this beginning of an object, cut at the end of a line, still become JSON?"""
    try:
        DECODER.decode(text)
    except (UnicodeDecodeError, RecursionError):
        return False
    except msgspec.DecodeError as error:
        return str(error) == _TRUNCATED
    return True


def _error_position(text: bytes, position: int, reason: str) -> int:
    """Where the mistake is: for misspelt words and escapes msgspec names a place behind them."""
    if reason.startswith("invalid escape"):
        return position - 1
    if reason == "invalid character":
        for length, initials in ((4, b"nt"), (5, b"f")):
            start = position - length
            if start > 0 and text[start] in initials and text[:start].rstrip()[-1:] in (b":", b",", b"["):
                return start
    return position


def _characters(text: bytes | bytearray) -> int:
    return len(text.decode("utf-8", "replace"))
