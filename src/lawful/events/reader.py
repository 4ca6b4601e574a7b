"""Reading traces: JSON Lines, one array, or values one after the other; plain or compressed; from files or streams."""

from __future__ import annotations

from collections.abc import Generator, Iterator
from enum import Enum
from itertools import chain
from typing import Any, Self

import msgspec

from lawful.errors import TraceError
from lawful.events.event_kinds import Event
from lawful.events.framing import BLANK, ELEMENTS, MAX_RUN, OBJECTS, SPACE, ScanResult, ValueScanner, span
from lawful.events.order import SenderOrder
from lawful.events.streams import ByteStream, Source
from lawful.events.trace_buffer import DECODER, UNDECODABLE, WINDOW, TraceBuffer, is_json_prefix

MAX_VALUE = 64 * 1024 * 1024
"""The size in bytes beyond which a single event is refused, so that memory stays bounded."""

_LIST_DECODER = msgspec.json.Decoder(list[dict[str, Any]])

_BOM = b"\xef\xbb\xbf"
_BRACE, _BRACKET, _END_BRACKET, _COMMA, _NEWLINE = b"{[],\n"
# A line this long without an end is looked at before it ends: it may be many values.
_LONG_LINE = 64 * 1024
# An unfinished value smaller than this is checked at every arrival, a larger one each time it has doubled.
_SMALL_VALUE = 16 * 1024

# The reader knows nothing of laws but how the names of their files end, for users who mix up the two.
_LAW_SUFFIX = ".rml"


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

    Its content shows what it is: JSON Lines, an array or values one after the other; gzip, zstd or plain. With
    `skip_bad`, the reader counts and skips lines that are not events; in an array, the first error ends the reading.
    If `ordered`, messages come in the order in which their senders sent them, where events say so.
    """
    return TraceReader(ByteStream(source), skip_bad=skip_bad, max_value=max_value, ordered=ordered)


class TraceReader:
    """An open trace. Reading goes once from beginning to end, in constant memory.

    Every event before an error is delivered before the `TraceError` is raised. How the input happens to be cut into
    chunks never changes which events are delivered or which error is raised.
    """

    def __init__(
        self, stream: ByteStream, *, skip_bad: bool = False, max_value: int = MAX_VALUE, ordered: bool = False
    ) -> None:
        self.events = 0
        """How many events were delivered (in batches) so far."""
        self.bad_lines = 0
        """How many lines were skipped so far."""
        self._stream = stream
        self._skip_bad = skip_bad
        self._max_value = max_value
        self._text = TraceBuffer(stream.name)
        self._buffer = self._text.bytes
        self._begun = False
        self._bom_seen = False
        self._array: _ArrayState | None = None
        self._scanner: ValueScanner | None = None  # of the value at the beginning, once it is known to go on
        self._checked = 0  # how much of it could still become JSON
        self._over_lines = False  # values that span lines were seen
        self._skip_line = False  # skip the rest of this line
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
        """Read the rest to its end and drop it undecoded, so that the writer of a stream is not cut off."""
        self._batches.close()
        self._stream.drain()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
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
                    events = DECODER.decode_lines(block)
                except UNDECODABLE:
                    pass  # a bad line, or one that does not end its value
                else:
                    self._text.consume_lines(block)
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
        """Skip what may precede the first value and see if that opens an array; False if more data is needed."""
        buffer = self._buffer
        if not self._bom_seen:
            if len(buffer) < len(_BOM) and _BOM.startswith(buffer) and not at_end:
                return False
            if buffer.startswith((b"\xff\xfe", b"\xfe\xff")):
                message = "this looks like UTF-16, and a trace must be UTF-8"
                raise self._text.error("trace-bad-utf8", message, hint="convert it first: iconv -f UTF-16 -t UTF-8")
            if len(buffer) == 1 and buffer[0] >= 0xFE and not at_end:
                return False
            self._bom_seen = True
            if buffer.startswith(_BOM):
                del buffer[: len(_BOM)]
        self._text.consume(span(SPACE, buffer))
        if not buffer:
            return False
        if buffer[0] == _BRACKET:
            # A line of a log may begin with a bracket too; an array of events goes on with an object.
            after = 1 + span(SPACE, buffer[1:])
            if after == len(buffer) and not at_end and after <= self._max_value:
                return False
            if after >= len(buffer) or buffer[after] in b"{]":
                self._array = _ArrayState.BEFORE
                self._text.in_array = True
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
            self.bad_lines += 1  # count what was cut off: nothing is lost in silence

    def _read_value_by_value(self, limit: int, *, at_end: bool) -> Iterator[list[Event]]:
        """Deliver what can be had from the first `limit` bytes, value by value where need be."""
        events: list[Event] = []
        error: TraceError | None = None
        try:
            if self._array is None:
                self._read_values(events, limit, at_end)
            else:
                self._read_elements(events, at_end)
        except TraceError as caught:
            error = caught
        if events:
            self.events += len(events)
            yield events
        if error is not None:
            raise error

    def _read_values(self, events: list[Event], limit: int, at_end: bool) -> None:
        buffer = self._buffer
        beyond = len(buffer) - limit
        singly: int | None = None  # as long as more than this is left, values are taken one by one
        while True:
            if (self._skip_line or self._skip_indent is not None) and not self._skip(len(buffer) - beyond):
                return
            if self._scanner is None:
                self._text.consume(span(SPACE, buffer, len(buffer) - beyond))
                limit = len(buffer) - beyond
                if not limit:
                    return
                if buffer[0] != _BRACE:
                    if beyond == 0 and not at_end and self._text.is_undecided():
                        return
                    self._refuse(self._text.not_an_object(after_comma=False), min(limit, WINDOW))
                    continue
                if singly is None or len(buffer) <= singly:
                    run = span(OBJECTS, buffer, min(limit, MAX_RUN))
                    if 0 < run <= self._max_value:
                        try:
                            events += DECODER.decode_lines(bytes(buffer[:run]))
                        except UNDECODABLE:
                            singly = len(buffer) - run
                        else:
                            self._text.consume(run)
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
                        except UNDECODABLE:
                            singly = len(buffer) - run
                        else:
                            self._text.consume(run)
                self._text.consume(span(SPACE, buffer))
                if not buffer:
                    if at_end and self._array is not _ArrayState.DONE:
                        raise self._text.unclosed_array()
                    return
                if not self._expect_element(buffer[0]):
                    continue
                if buffer[0] != _BRACE:
                    if not at_end and self._text.is_undecided():
                        return
                    raise self._text.not_an_object(after_comma=self._array is _ArrayState.ELEMENT)
                self._scanner = ValueScanner()
                self._checked = 0
            if not self._read_one(events, len(buffer), at_end):
                return
            self._array = _ArrayState.AFTER

    def _expect_element(self, char: int) -> bool:
        """Take a bracket or a comma of the array; True if an element must stand here."""
        state = self._array
        if state is _ArrayState.ELEMENT or (state is _ArrayState.FIRST and char != _END_BRACKET):
            return True
        if state is _ArrayState.BEFORE:
            self._array = _ArrayState.FIRST
        elif state is not _ArrayState.DONE and char == _END_BRACKET:
            self._array = _ArrayState.DONE
        elif state is _ArrayState.AFTER and char == _COMMA:
            self._array = _ArrayState.ELEMENT
        else:
            expected = "a comma or the end of the array must follow"
            if state is _ArrayState.DONE:
                expected = "nothing may follow the array"
            hint = "a trace is one array, or objects one after the other without brackets and commas"
            raise self._text.error("trace-bad-json", f"{expected}; found {self._text.shown()}", hint=hint)
        self._text.consume(1)
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
                return self._refuse(self._text.too_large(self._max_value))
            if end == limit and at_end:
                return self._refuse(self._text.undecodable(bytes(buffer[:end]), at_end=True), limit)
            # No token spans lines: at the end of a line it is certain whether this can still become JSON.
            at_line_end = newline >= 0 or (end < _SMALL_VALUE and buffer[end - 1] == _NEWLINE)
            if at_line_end and end > self._checked:
                text = bytes(buffer[:end])
                if not is_json_prefix(text):
                    return self._refuse(self._text.undecodable(text), limit)
                self._checked = end
            if end == limit:
                return False
        if scanner.pos > self._max_value:
            return self._refuse(self._text.too_large(self._max_value))
        if found is ScanResult.TOO_DEEP:
            return self._refuse(self._text.too_deep())
        if found is ScanResult.BROKEN:
            return self._refuse(self._text.undecodable(bytes(buffer[: scanner.pos + 1]), complete=True), limit)
        text = bytes(buffer[: scanner.pos])
        try:
            events.append(DECODER.decode(text))
        except UNDECODABLE:
            return self._refuse(self._text.undecodable(text, complete=True), limit)
        self._over_lines = self._over_lines or b"\n" in text
        self._text.consume(scanner.pos)
        self._scanner = None
        return True

    def _refuse(self, error: TraceError, limit: int = 0) -> bool:
        """Raise the error, or skip the line if asked to; `limit` is how far to look for the value's end."""
        if not self._skip_bad or self._array is not None:
            raise error
        self.bad_lines += 1
        self._scanner = None
        self._skip_line = True
        if self._buffer[0] in b"{[":
            # Lines inside a spoilt value that spans lines must not pass for events. They are indented more than it is.
            line_end = self._buffer.find(b"\n", 0, limit) + 1 or limit
            if ValueScanner().advance(self._buffer, line_end) is ScanResult.MORE:
                self._skip_indent = self._text.column
        return True

    def _skip(self, limit: int) -> bool:
        """Skip lines until reading can go on; False if that needs more data."""
        buffer = self._buffer
        beyond = len(buffer) - limit
        while True:
            limit = len(buffer) - beyond
            if self._skip_line:
                newline = buffer.find(b"\n", 0, limit)
                self._text.consume(newline + 1 or limit)
                if newline < 0:
                    return False
                self._skip_line = False
                continue
            if self._skip_indent is None:
                return True
            indent = span(BLANK, buffer, limit)
            if indent == limit:
                return False
            if buffer[indent] == _NEWLINE:
                self._text.consume(indent + 1)
            elif buffer[indent] == _BRACE and indent <= self._skip_indent:
                self._skip_indent = None
            else:
                self.bad_lines += 1
                self._skip_line = True

    def _no_events(self) -> TraceError:
        lines = "1 bad line" if self.bad_lines == 1 else f"{self.bad_lines} bad lines"
        is_law = self.name.lower().endswith(_LAW_SUFFIX)
        hint = "this looks like a law; a trace was expected" if is_law else "is this the right file?"
        return TraceError("trace-no-events", f"there is no event in this, only {lines}", where=self.name, hint=hint)
