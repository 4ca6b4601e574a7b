"""Reading traces: JSON Lines, one array, or values one after the other; plain or compressed; from files or streams."""

from __future__ import annotations

import re
from collections.abc import Generator, Iterator
from enum import Enum
from itertools import chain
from types import TracebackType
from typing import Any, Self

import msgspec

from lawful.errors import TraceError
from lawful.events.event_kinds import Event
from lawful.events.framing import BLANK, ELEMENTS, MAX_RUN, OBJECTS, SCALAR, SPACE, ScanResult, ValueScanner, span
from lawful.events.order import SenderOrder
from lawful.events.streams import ByteStream, Source

MAX_VALUE = 64 * 1024 * 1024
"""The size in bytes beyond which a single event is refused, so that memory stays bounded."""

# A typed decoder refuses everything that is not an object while it decodes, at no cost; `decode_lines` takes objects
# whatever space stands between them, so it also decodes values that are spread over lines.
_DECODER = msgspec.json.Decoder(dict[str, Any])
_LIST_DECODER = msgspec.json.Decoder(list[dict[str, Any]])
_UNDECODABLE = (msgspec.DecodeError, UnicodeDecodeError, RecursionError)

_BOM = b"\xef\xbb\xbf"
_BRACE = 0x7B
_BRACKET = 0x5B
# A line this long without an end is looked at before it ends: it may be many values.
_LONG_LINE = 64 * 1024
# An unfinished value smaller than this is checked at every arrival, a larger one each time it has doubled.
_SMALL_VALUE = 16 * 1024
# What something that is no object is judged by.
_WINDOW = 64
_SHOWN = 40

# Reading traces knows nothing of laws but how the names of their files end, for those who mix up the two.
_LAW_SUFFIX = ".rml"

_SKIP_HINT = "--skip-bad-lines goes on after lines like this and counts them"


def _truncation_text() -> str:
    # msgspec tells "this could still become JSON" from "this is no JSON" by its message alone.
    try:
        _DECODER.decode(b"{")
    except msgspec.DecodeError as error:
        return str(error)
    raise AssertionError("half an object was decoded")


_TRUNCATED = _truncation_text()
_MALFORMED = re.compile(r"^JSON is malformed: (.*) \(byte (\d+)\)$")


class _ArrayState(Enum):
    """Where in an array the reader stands."""

    BEFORE = "before"
    FIRST = "first"  # an element or the end
    AFTER = "after"  # a comma or the end
    ELEMENT = "element"
    DONE = "done"


def open_trace(
    source: Source, *, skip_bad: bool = False, max_value: int = MAX_VALUE, ordered: bool = False
) -> TraceReader:
    """Open a trace: a path, ``-`` for standard input, or a binary file object (which stays open afterwards).

    What it is (JSON Lines, an array, values one after the other; gzip, zstd, plain) is seen from the content. With
    `skip_bad`, lines that are no events are counted and passed over; an array is given up at the first fault anyway.
    If `ordered`, messages come in the order in which their senders sent them, where events say so.
    """
    return TraceReader(ByteStream(source), skip_bad=skip_bad, max_value=max_value, ordered=ordered)


class TraceReader:
    """An open trace. Reading goes once from beginning to end, in constant memory.

    Every event before a fault is delivered before the fault is raised as a `TraceError`. How the input happens to be
    cut into chunks never changes what is delivered or which fault is raised.
    """

    def __init__(
        self, stream: ByteStream, *, skip_bad: bool = False, max_value: int = MAX_VALUE, ordered: bool = False
    ) -> None:
        self.events = 0
        """How many events were delivered (in batches) so far."""
        self.bad_lines = 0
        """How many lines were passed over so far."""
        self._stream = stream
        self._skip_bad = skip_bad
        self._max_value = max_value
        self._buffer = bytearray()
        self._line = 1  # of the first byte in the buffer
        self._column = 0  # characters before it on its line
        self._begun = False
        self._bom_seen = False
        self._array: _ArrayState | None = None
        self._scanner: ValueScanner | None = None  # the value at the beginning of the buffer, once it is known to go on
        self._checked = 0  # how much of it could still become JSON
        self._over_lines = False  # values that span lines were seen
        self._skip_line = False  # the rest of this line is passed over
        self._skip_indent: int | None = None  # and all lines until one with an object indented no more than this
        self._over = False  # all was read
        self.order = SenderOrder() if ordered else None
        """What puts messages in order, if something does."""
        self._batches = self._read() if self.order is None else self._in_sender_order(self.order)

    def _in_sender_order(self, order: SenderOrder) -> Generator[list[Event], None, None]:
        inner = self._read()
        try:
            for batch in inner:
                if ready := order.arrange(batch):
                    yield ready
        finally:
            inner.close()
        if rest := order.rest():
            yield rest

    @property
    def name(self) -> str:
        """What to call this trace: its path, or ``<stdin>``."""
        return self._stream.name

    @property
    def size(self) -> int | None:
        """The size of the file in bytes, as compressed; None where it is not known."""
        return self._stream.size

    @property
    def bytes_read(self) -> int:
        """How much of `size` has been read."""
        return self._stream.bytes_read

    def batches(self) -> Iterator[list[Event]]:
        """The events in order, in lists as long as is efficient; from a stream, whatever has arrived."""
        return self._batches

    def __iter__(self) -> Iterator[Event]:
        if self._over:  # a second loop that finds nothing would pass for an empty trace
            raise ValueError("this trace was read already; open it again")
        return chain.from_iterable(self._batches)

    def drain(self) -> None:
        """Read what is left to its end and drop it undecoded: whoever writes a stream is not cut off."""
        self._batches.close()
        self._stream.drain()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Stop reading; close the file unless the caller opened it."""
        self._batches.close()
        self._stream.close()

    def _read(self) -> Generator[list[Event], None, None]:
        buffer = self._buffer
        for chunk in self._stream.chunks():
            buffer += chunk
            if not self._begun and not self._begin(at_end=False):
                continue
            if self._array is not None:
                yield from self._read_value_by_value(len(buffer), at_end=False)
                continue
            lines = buffer.rfind(b"\n") + 1 if b"\n" in chunk else 0
            if not lines:
                if len(buffer) >= _LONG_LINE:
                    yield from self._read_value_by_value(len(buffer), at_end=False)
                continue
            undisturbed = self._scanner is None and not self._skip_line and self._skip_indent is None
            if undisturbed and not self._over_lines and lines <= self._max_value:
                block = bytes(buffer[:lines])
                try:
                    events = _DECODER.decode_lines(block)
                except _UNDECODABLE:
                    pass  # a bad line, or one that does not end its value
                else:
                    del buffer[:lines]
                    self._line += block.count(b"\n")
                    self._column = 0
                    if events:
                        self.events += len(events)
                        yield events
                    continue
            yield from self._read_value_by_value(lines, at_end=False)
        yield from self._finish()
        self._over = True
        if self.bad_lines and not self.events:
            raise self._no_events()

    def _begin(self, *, at_end: bool) -> bool:
        """Pass over what may precede the first value and see if that opens an array; False if more data is needed."""
        buffer = self._buffer
        if not self._bom_seen:
            if len(buffer) < len(_BOM) and _BOM.startswith(buffer) and not at_end:
                return False
            if buffer.startswith((b"\xff\xfe", b"\xfe\xff")):
                raise TraceError(
                    "trace-bad-utf8",
                    "this looks like UTF-16, and a trace must be UTF-8",
                    where=self._where(0),
                    hint="convert it first: iconv -f UTF-16 -t UTF-8",
                )
            if len(buffer) == 1 and buffer[0] >= 0xFE and not at_end:
                return False
            self._bom_seen = True
            if buffer.startswith(_BOM):
                del buffer[: len(_BOM)]
        self._consume(span(SPACE, buffer))
        if not buffer:
            return False
        if buffer[0] == _BRACKET:
            # A line of a log may begin with a bracket too; an array of events goes on with an object.
            after = 1 + span(SPACE, buffer[1:])
            if after == len(buffer) and not at_end and after <= self._max_value:
                return False
            if after >= len(buffer) or buffer[after] in b"{]":
                self._array = _ArrayState.BEFORE
        self._begun = True
        return True

    def _finish(self) -> Iterator[list[Event]]:
        early = self._stream.ends_early
        if early is not None and not self._skip_bad:
            raise early
        bad_lines = self.bad_lines
        if self._begun or self._begin(at_end=True):
            yield from self._read_value_by_value(len(self._buffer), at_end=True)
        if early is not None and self.bad_lines == bad_lines:
            self.bad_lines += 1  # what was cut off is lost: that must not pass in silence

    def _read_value_by_value(self, limit: int, *, at_end: bool) -> Iterator[list[Event]]:
        """Deliver what can be had from the first `limit` bytes, value by value where need be."""
        events: list[Event] = []
        fault: TraceError | None = None
        try:
            if self._array is None:
                self._read_values(events, limit, at_end)
            else:
                self._read_elements(events, at_end)
        except TraceError as error:
            fault = error
        if events:
            self.events += len(events)
            yield events
        if fault is not None:
            raise fault

    def _read_values(self, events: list[Event], limit: int, at_end: bool) -> None:
        buffer = self._buffer
        beyond = len(buffer) - limit
        singly: int | None = None  # as long as more than this is left, values are taken one by one
        while True:
            if (self._skip_line or self._skip_indent is not None) and not self._skip(len(buffer) - beyond):
                return
            if self._scanner is None:
                self._consume(span(SPACE, buffer, len(buffer) - beyond))
                limit = len(buffer) - beyond
                if not limit:
                    return
                if buffer[0] != _BRACE:
                    if beyond == 0 and not at_end and self._undecided():
                        return
                    self._refuse(self._no_object(), min(limit, _WINDOW))
                    continue
                if singly is None or len(buffer) <= singly:
                    run = span(OBJECTS, buffer, min(limit, MAX_RUN))
                    if 0 < run <= self._max_value:
                        try:
                            events += _DECODER.decode_lines(bytes(buffer[:run]))
                        except _UNDECODABLE:
                            singly = len(buffer) - run
                        else:
                            self._consume(run)
                            continue
                self._scanner = ValueScanner()
                self._checked = 0
            if not self._read_one(events, len(buffer) - beyond, at_end):
                return

    def _read_elements(self, events: list[Event], at_end: bool) -> None:
        buffer = self._buffer
        singly: int | None = None
        while True:
            if self._scanner is None:
                if self._array is _ArrayState.AFTER and (singly is None or len(buffer) <= singly):
                    run = span(ELEMENTS, buffer, min(len(buffer), MAX_RUN))
                    if 0 < run <= self._max_value:
                        comma = buffer.index(b",")
                        try:
                            events += _LIST_DECODER.decode(b"[%b]" % bytes(buffer[comma + 1 : run]))
                        except _UNDECODABLE:
                            singly = len(buffer) - run
                        else:
                            self._consume(run)
                self._consume(span(SPACE, buffer))
                if not buffer:
                    if at_end and self._array is not _ArrayState.DONE:
                        raise TraceError(
                            "trace-truncated",
                            "the array is not closed",
                            where=self._where(0),
                            hint="the writer may have been killed; all events before this place are complete",
                        )
                    return
                if not self._expect_element(buffer[0]):
                    continue
                if buffer[0] != _BRACE:
                    if not at_end and self._undecided():
                        return
                    raise self._no_object()
                self._scanner = ValueScanner()
                self._checked = 0
            if not self._read_one(events, len(buffer), at_end):
                return
            self._array = _ArrayState.AFTER

    def _expect_element(self, char: int) -> bool:
        """Take a bracket or a comma of the array; True if an element must stand here."""
        state = self._array
        if state is _ArrayState.ELEMENT or (state is _ArrayState.FIRST and char != 0x5D):
            return True
        if state is _ArrayState.BEFORE:
            self._array = _ArrayState.FIRST
        elif state is not _ArrayState.DONE and char == 0x5D:
            self._array = _ArrayState.DONE
        elif state is _ArrayState.AFTER and char == 0x2C:
            self._array = _ArrayState.ELEMENT
        else:
            expected = (
                "nothing may follow the array"
                if state is _ArrayState.DONE
                else "a comma or the end of the array must follow"
            )
            raise TraceError(
                "trace-bad-json",
                f"{expected}; found {self._shown(0)}",
                where=self._where(0),
                hint="a trace is one array, or objects one after the other without brackets and commas",
            )
        self._consume(1)
        return False

    def _read_one(self, events: list[Event], limit: int, at_end: bool) -> bool:
        """Take the object at the beginning of the buffer, or refuse it; False if it goes on beyond `limit`."""
        buffer, scanner = self._buffer, self._scanner
        assert scanner is not None
        while True:
            newline = buffer.find(b"\n", max(scanner.pos, 2 * self._checked), limit)
            end = newline + 1 or limit
            found = scanner.advance(buffer, end)
            if found is not ScanResult.MORE:
                break
            if end > self._max_value:
                self._refuse(self._too_large())
                return True
            if end == limit and at_end:
                self._refuse(self._explain(bytes(buffer[:end]), at_end=True), limit)
                return True
            # No token spans lines: at the end of a line it is certain whether this can still become JSON.
            at_line_end = newline >= 0 or (end < _SMALL_VALUE and buffer[end - 1] == 0x0A)
            if at_line_end and end > self._checked:
                text = bytes(buffer[:end])
                if not _is_json_prefix(text):
                    self._refuse(self._explain(text), limit)
                    return True
                self._checked = end
            if end == limit:
                return False
        if scanner.pos > self._max_value:
            self._refuse(self._too_large())
            return True
        if found is ScanResult.END:
            text = bytes(buffer[: scanner.pos])
            try:
                events.append(_DECODER.decode(text))
            except _UNDECODABLE:
                self._refuse(self._explain(text, complete=True), limit)
            else:
                self._over_lines = self._over_lines or b"\n" in text
                self._consume(scanner.pos)
                self._scanner = None
        elif found is ScanResult.BROKEN:
            self._refuse(self._explain(bytes(buffer[: scanner.pos + 1]), complete=True), limit)
        else:
            self._refuse(self._too_deep())
        return True

    def _refuse(self, error: TraceError, limit: int = 0) -> None:
        """Raise the error, or pass over the line if that is wanted; `limit` is how far to look for the value's end."""
        if not self._skip_bad or self._array is not None:
            raise error
        self.bad_lines += 1
        self._scanner = None
        self._skip_line = True
        if self._buffer[0] in b"{[":
            # Lines inside a spoilt value that spans lines must not pass for events. They are indented more than it is.
            line_end = self._buffer.find(b"\n", 0, limit) + 1 or limit
            if ValueScanner().advance(self._buffer, line_end) is ScanResult.MORE:
                self._skip_indent = self._column

    def _skip(self, limit: int) -> bool:
        """Pass over lines until reading can go on; False if that needs more data."""
        buffer = self._buffer
        beyond = len(buffer) - limit
        while True:
            limit = len(buffer) - beyond
            if self._skip_line:
                newline = buffer.find(b"\n", 0, limit)
                self._consume(newline + 1 or limit)
                if newline < 0:
                    return False
                self._skip_line = False
                continue
            if self._skip_indent is None:
                return True
            indent = span(BLANK, buffer, limit)
            if indent == limit:
                return False
            if buffer[indent] == 0x0A:
                self._consume(indent + 1)
            elif buffer[indent] == _BRACE and indent <= self._skip_indent:
                self._skip_indent = None
            else:
                self.bad_lines += 1
                self._skip_line = True

    def _consume(self, count: int) -> None:
        taken = self._buffer[:count]
        del self._buffer[:count]
        lines = taken.count(b"\n")
        if lines:
            self._line += lines
            self._column = 0
            taken = taken[taken.rfind(b"\n") + 1 :]
        self._column += _characters(taken)

    def _where(self, offset: int) -> str:
        before = self._buffer[:offset]
        line = self._line + before.count(b"\n")
        column = _characters(before[before.rfind(b"\n") + 1 :]) + (self._column if line == self._line else 0)
        return f"{self.name}:{line}:{column + 1}"

    def _shown(self, offset: int) -> str:
        """The text at a place in the buffer, shortened and fit for a terminal."""
        window = self._buffer[offset : offset + 4 * _SHOWN].partition(b"\n")[0].rstrip(b"\r")
        text = window.decode("utf-8", "replace")
        if not text:
            return "the end of the line"
        short = text if len(text) <= _SHOWN else text[: _SHOWN - 3] + "..."
        return "`" + "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in short) + "`"

    def _undecided(self) -> bool:
        """Is there too little to say what this thing is that is no object?"""
        return len(self._buffer) < _WINDOW and b"\n" not in self._buffer

    def _no_object(self) -> TraceError:
        window = bytes(self._buffer[:_WINDOW])
        scalar = SCALAR.match(window)
        kind = {0x22: "a string", _BRACKET: "an array"}.get(window[0])
        if kind is None and scalar is not None:
            kind = window[: scalar.end()].decode() if scalar[1] else "a number"
        if kind is None:
            advice = ""
            if window[:1] == b"," and self._array is None:
                advice = "remove the comma: only in an array are there commas between events"
            elif window[:1] == b"]" and self._array is _ArrayState.ELEMENT:
                advice = "remove the comma before the bracket"
            return TraceError(
                "trace-bad-json",
                f"this is not JSON: {self._shown(0)}",
                where=self._where(0),
                hint=self._hint(advice),
            )
        return TraceError(
            "trace-not-an-object",
            f"an event must be a JSON object, this is {kind}: {self._shown(0)}",
            where=self._where(0),
            hint=self._hint('an event looks like {"event":"func_post","name":"open","targetId":7}'),
        )

    def _no_events(self) -> TraceError:
        lines = "1 bad line" if self.bad_lines == 1 else f"{self.bad_lines} bad lines"
        is_law = self.name.lower().endswith(_LAW_SUFFIX)
        return TraceError(
            "trace-no-events",
            f"there is no event in this, only {lines}",
            where=self.name,
            hint="this looks like a law; a trace was expected" if is_law else "is this the right file?",
        )

    def _hint(self, advice: str = "") -> str | None:
        """Advice, and that bad lines can be skipped; but not those of an array."""
        if self._array is not None:
            return advice or None
        return f"{advice}{' ' if advice.endswith('?') else '; '}{_SKIP_HINT}" if advice else _SKIP_HINT

    def _too_large(self) -> TraceError:
        return TraceError(
            "trace-value-too-large",
            f"this event is larger than {self._max_value} bytes: {self._shown(0)}",
            where=self._where(0),
            hint=self._hint("is a brace or a quotation mark not closed?"),
        )

    def _too_deep(self) -> TraceError:
        return TraceError(
            "trace-too-deep",
            f"the values of this event are nested too deeply: {self._shown(0)}",
            where=self._where(0),
            hint=self._hint(),
        )

    def _explain(self, text: bytes, *, complete: bool = False, at_end: bool = False) -> TraceError:
        """Why the object that `text` (the beginning of the buffer) holds or begins cannot be decoded.

        It is `complete` if nothing that follows could change that.
        """
        try:
            _DECODER.decode(text)
        except RecursionError:
            return self._too_deep()
        except UnicodeDecodeError:
            return self._bad_utf8(text)
        except msgspec.ValidationError:
            return TraceError(
                "trace-bad-number",
                f"this event has a number that is out of range: {self._shown(0)}",
                where=self._where(0),
                hint=self._hint("integers may have up to 4300 digits, other numbers must fit a double"),
            )
        except msgspec.DecodeError as error:
            problem = str(error)
        else:
            raise AssertionError("a value decodes that did not decode before")
        malformed = _MALFORMED.match(problem)
        position = min(int(malformed[2]), len(text)) if malformed else len(text)
        ran_out = problem == _TRUNCATED or (at_end and position >= len(text) and not text.endswith(b"\n"))
        if ran_out and not complete:
            what = "array" if self._array else "trace"
            hint = "the writer may have been killed or is still at work"
            return TraceError(
                "trace-truncated",
                f"the {what} ends in the middle of this event: {self._shown(0)}",
                where=self._where(0),
                hint=hint if self._array else f"{hint}; --skip-bad-lines ignores an incomplete last line",
            )
        if problem == _TRUNCATED and text.endswith(b"\n"):
            return self._bad_json("this does not end on its line", len(text) - 1)
        if problem == _TRUNCATED:  # the one case in which msgspec says so of something that has its end
            return self._bad_json("a surrogate without its other half", text.rfind(b"\\u"))
        reason = malformed[1] if malformed else problem
        position = _error_position(text, position, reason)
        if text[position : position + 1] == b"\n":
            reason = "this does not end on its line"
        return self._bad_json(reason, position)

    def _bad_json(self, reason: str, offset: int) -> TraceError:
        word = bytes(self._buffer[offset : offset + 9]).lstrip(b"-")
        not_finite = word.startswith((b"NaN", b"Infinity"))
        return TraceError(
            "trace-bad-json",
            f"this is not JSON: {reason}, found {self._shown(offset)}",
            where=self._where(offset),
            hint=self._hint("JSON has no NaN and no Infinity: write null" if not_finite else ""),
        )

    def _bad_utf8(self, text: bytes) -> TraceError:
        offset = 0
        found = ""
        try:
            text.decode()
        except UnicodeDecodeError as error:
            offset = error.start
            found = f"byte 0x{text[offset]:02x} in "
        return TraceError(
            "trace-bad-utf8",
            f"this is not UTF-8: {found}{self._shown(max(0, offset - _SHOWN // 2))}",
            where=self._where(offset),
            hint=self._hint(),
        )


def _is_json_prefix(text: bytes) -> bool:
    """Can this beginning of an object, cut at the end of a line, still become JSON?"""
    try:
        _DECODER.decode(text)
    except (UnicodeDecodeError, RecursionError):
        return False
    except msgspec.DecodeError as error:
        return str(error) == _TRUNCATED
    return True


def _error_position(text: bytes, position: int, reason: str) -> int:
    """Where the fault is: for misspelt words and escapes msgspec names a place behind them."""
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
