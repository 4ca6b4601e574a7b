"""Writing traces: JSON Lines, one array, or indented values; plain, gzip or zstd by the name's suffix."""

from __future__ import annotations

import os
import stat
import sys
import zlib
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from functools import partial
from itertools import islice
from typing import IO, Any, Literal, Self

import msgspec

from lawful.diagnostics import all_encodable
from lawful.errors import TraceError
from lawful.events.streams import os_error
from lawful.pristine_os import clock

Format = Literal["jsonl", "array", "values"]
"""One object per line; one array with an element per line; indented objects one after the other."""
Compression = Literal["gz", "zst"]

_BLOCK = 64 * 1024
# Every flush of a compressor costs a few bytes and some of the ratio: it waits for this much text, or for the interval.
_COMPRESSED_BLOCK = 1024 * 1024
_BATCH = 4096


class _Compressor:
    """Compresses a stream; `sync` closes off a block, so that all that went in can be had from what came out."""

    def __init__(self, stream: Any, sync_mode: int) -> None:
        self.compress: Callable[[bytes], bytes] = stream.compress
        self.sync: Callable[[], bytes] = partial(stream.flush, sync_mode)
        self.finish: Callable[[], bytes] = stream.flush


def _compressor(kind: str) -> _Compressor:
    if kind == "gz":
        return _Compressor(zlib.compressobj(6, zlib.DEFLATED, 31), zlib.Z_SYNC_FLUSH)
    try:
        import zstandard
    except ImportError as error:
        raise TraceError(
            "trace-no-zstd", "writing zstd needs the package `zstandard`", hint="pip install zstandard"
        ) from error
    return _Compressor(zstandard.ZstdCompressor().compressobj(), zstandard.COMPRESSOBJ_FLUSH_BLOCK)


class TraceWriter:
    """A trace being written, to a path, to ``-`` (standard output) or to a binary file object.

    The format is taken from the name (``.json`` is an array, all else JSON Lines) and so is the compression (``.gz``,
    ``.zst``), unless they are given.

    What survives a kill of this process: `write_many` hands its lines to the operating system before it returns, and
    `write` does so when 64 KiB have come together or `interval` seconds have passed since the last time; `flush` does
    so at once. Compressed data is closed off in blocks, at every `interval` and every MiB, so that it can be
    decompressed up to the last block. Only whole lines are handed over; a kill in the middle of that can leave one
    line cut, as the last, which the reader reports as `trace-truncated` and skips on demand. An array that was not
    closed is reported so too, after its events. Nothing is synced to the disk: a power failure can lose more.
    A float that is not finite is written as null, because JSON has no word for it.

    A path is written in place, so that others can follow it. With `atomic` it is written beside (``NAME.part``) and
    takes its name, and the permissions of what had the name before, when it is closed without an error; otherwise it is
    removed and what had the name stays as it was.
    """

    def __init__(
        self,
        target: str | os.PathLike[str] | IO[bytes],
        *,
        format: Format | None = None,
        compression: Compression | Literal["none"] | None = None,
        interval: float = 0.2,
        atomic: bool = False,
        opener: Callable[[str, int], int] | None = None,
    ) -> None:
        """`opener`: as that of `open`, for a path that is written in place."""
        self._opener = opener
        self.events = 0
        """How many events were written so far."""
        path = os.fspath(target) if isinstance(target, str | os.PathLike) else None
        by_name, packed = _by_name(path or "")
        self.format: Format = format or by_name
        self._interval = interval
        self._encoder = msgspec.json.Encoder()
        kind = compression or packed
        self._compressor = _compressor(kind) if kind and kind != "none" else None
        self._pending: list[bytes] = []
        self._pending_size = 0
        self._unflushed = 0  # text inside the compressor
        self._flushed_at = clock.monotonic()
        self._closed = False
        self._rename: tuple[str, str] | None = None
        self._owned = False
        if path is None:
            assert not isinstance(target, str | os.PathLike)
            self._file = target
            name = getattr(target, "name", None)
            self.name = name if isinstance(name, str) else "<stream>"
        elif path == "-":
            self.name = "<stdout>"
            self._file = sys.stdout.buffer
        else:
            self.name = path
            self._file = self._create(path, atomic)
            self._owned = True
        if self.format == "array":
            self._append(b"[")

    def _create(self, path: str, atomic: bool) -> IO[bytes]:
        mode: int | None = None
        if atomic and _is_regular(path):
            final = os.path.realpath(path)
            path = final + ".part"
            self._rename = path, final
            with suppress(FileNotFoundError):
                mode = stat.S_IMODE(os.stat(final).st_mode)
        try:
            if mode is None:
                return open(path, "wb", buffering=0, opener=self._opener)
            return _open_as(path, mode)
        except FileNotFoundError as error:
            raise TraceError("trace-not-found", "no file can be made there", where=self.name) from error
        except OSError as error:
            raise os_error(error, self.name) from error
        except ValueError as error:  # a null byte in the name
            raise TraceError("trace-not-found", f"no file can have this name: {error}", where=repr(path)) from error

    def write(self, event: Mapping[str, Any]) -> None:
        """Write one event."""
        self._append(self._text([event]))
        self.events += 1
        if self._pending_size >= _BLOCK or clock.monotonic() - self._flushed_at >= self._interval:
            self._write_pending()

    def write_many(self, events: Iterable[Mapping[str, Any]]) -> None:
        """Write events in order and hand them to the operating system."""
        remaining = iter(events)
        while batch := list(islice(remaining, _BATCH)):
            self._append(self._text(batch))
            self.events += len(batch)
            self._write_pending()

    def write_lines(self, lines: bytes, events: int) -> None:
        """Write events that are text already, in JSON Lines, and hand them to the operating system."""
        self._append(lines)
        self.events += events
        self._write_pending()

    def lines(self, events: list[Mapping[str, Any]]) -> bytes:
        """The text of events, which is not written."""
        return self._text(events)

    def flush(self) -> None:
        """Hand everything over now, closing a compressed block if there is one."""
        self._write_pending(now=True)

    def close(self) -> None:
        """Finish the trace. An event that could not be written raises here at the latest."""
        if self._closed:
            return
        self._closed = True
        try:
            if self.format == "array":
                self._append(b"\n]\n" if self.events else b"]\n")
            self._write_pending(last=True)
        except BaseException:
            self._abandon()
            raise
        try:
            if self._owned:
                self._file.close()
            if self._rename is not None:
                os.replace(*self._rename)
        except OSError as error:
            self._abandon()
            raise os_error(error, self.name) from error

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, *error: object) -> None:
        if kind is None:
            self.close()
        elif self._rename is not None:
            self._closed = True
            self._abandon()
        else:
            # The events before the error are still a trace; the first error matters more than another one here.
            with suppress(TraceError, OSError):
                self.close()

    def _abandon(self) -> None:
        with suppress(OSError):
            if self._owned:
                self._file.close()
        if self._rename is not None:
            with suppress(OSError):
                os.unlink(self._rename[0])

    def _text(self, events: list[Mapping[str, Any]]) -> bytes:
        if not all(isinstance(event, Mapping) for event in events):
            raise TraceError("trace-not-an-object", "an event to be written must be a mapping", where=self.name)
        try:
            return self._encoded(events)
        except UnicodeEncodeError:  # half of a surrogate pair: Python's strings may have it, UTF-8 has no word for it
            return self._encoded([all_encodable(dict(event)) for event in events])

    def _encoded(self, events: list[Mapping[str, Any]]) -> bytes:
        first = not self.events
        try:
            if self.format == "jsonl":
                text = self._encoder.encode_lines(events)
            elif self.format == "array":
                text = (b"\n" if first else b",\n") + b",\n".join(map(self._encoder.encode, events))
            else:
                text = b"".join(msgspec.json.format(self._encoder.encode(event)) + b"\n" for event in events)
        except RecursionError as error:
            raise TraceError("trace-too-deep", "values of an event are nested too deeply", where=self.name) from error
        except UnicodeEncodeError:
            raise
        except (TypeError, ValueError, OverflowError, msgspec.MsgspecError) as error:
            raise TraceError(
                "trace-cannot-encode", f"an event holds something that JSON cannot say: {error}", where=self.name
            ) from error
        return text

    def _append(self, text: bytes) -> None:
        self._pending.append(text)
        self._pending_size += len(text)

    def _write_pending(self, *, now: bool = False, last: bool = False) -> None:
        data = b"".join(self._pending)
        self._pending.clear()
        self._pending_size = 0
        moment = clock.monotonic()
        if self._compressor is not None:
            self._unflushed += len(data)
            data = self._compressor.compress(data)
            due = self._unflushed >= _COMPRESSED_BLOCK or moment - self._flushed_at >= self._interval
            if last:
                data += self._compressor.finish()
            elif now or due:
                data += self._compressor.sync()
                self._unflushed = 0
                self._flushed_at = moment
        else:
            self._flushed_at = moment
        try:
            view = memoryview(data)
            while view:
                # A raw file may take only a part; a buffered one takes all.
                view = view[self._file.write(view) or 0 :]
            if not self._owned:
                self._file.flush()
        except BrokenPipeError:
            raise  # nobody reads any more: the command line ends quietly
        except OSError as error:
            raise os_error(error, self.name) from error


def _by_name(path: str) -> tuple[Format, Compression | None]:
    name = path.lower()
    compression: Compression | None = None
    if name.endswith(".gz"):
        compression = "gz"
    elif name.endswith((".zst", ".zstd")):
        compression = "zst"
    if compression:
        name = name.rpartition(".")[0]
    return ("array" if name.endswith(".json") else "jsonl"), compression


def _open_as(path: str, mode: int) -> IO[bytes]:
    """Open a file that will replace another, with no more permissions than that one, not even for a moment."""
    file = open(path, "wb", buffering=0, opener=lambda name, flags: os.open(name, flags, mode & 0o600))  # noqa: SIM115
    try:
        os.chmod(path, mode)
    except OSError:
        file.close()
        raise
    return file


def _is_regular(path: str) -> bool:
    """Would this name a regular file (and not a pipe or a terminal, which cannot be replaced)?"""
    try:
        return stat.S_ISREG(os.stat(path).st_mode)
    except FileNotFoundError:
        return True
    except (OSError, ValueError):
        return False
