"""The bytes of a trace: from a path, standard input or a file object, decompressed by what they begin with."""

from __future__ import annotations

import os
import select
import stat
import sys
import zlib
from collections.abc import Callable, Iterator
from typing import IO, Any

from lawful.errors import TraceError

# Decoding is fastest while the text and the decoded events stay in the processor's cache.
CHUNK = 32 * 1024
# A zstd block of a few bytes can stand for 128 KiB: small pieces keep a bomb from filling the memory in one call.
_ZSTD_PIECE = 2048

_GZIP = b"\x1f\x8b"
_ZSTD = b"\x28\xb5\x2f\xfd"
_UNREADABLE = {b"BZh": "bzip2", b"\xfd7zXZ\x00": "xz", b"PK\x03\x04": "zip"}

Source = str | os.PathLike[str] | IO[bytes]


class ByteStream:
    """The decompressed content of a trace, in chunks as they arrive."""

    def __init__(self, source: Source) -> None:
        self.bytes_read = 0  # before decompression
        self.size: int | None = None  # of the file as it lies on the disk, where that is known
        self.ends_early: TraceError | None = None  # set at the end of compressed data that was cut off
        self._owned: IO[bytes] | None = None
        if isinstance(source, str | os.PathLike):
            path = os.fspath(source)
            if path == "-":
                self.name = "<stdin>"
                file = _standard_input()
            else:
                self.name = path
                file = self._owned = _open(path)
        else:
            file = source
            name = getattr(source, "name", None)
            self.name = name if isinstance(name, str) else "<stream>"
        self._read: Callable[[int], bytes | None] = getattr(file, "read1", file.read)
        self._file = file
        self.size = _size(file)

    def close(self) -> None:
        """Close the file if it was opened here."""
        if self._owned is not None:
            self._owned.close()

    def drain(self) -> None:
        """Read what is left to its end and drop it."""
        for _ in self._raw():
            pass

    def chunks(self) -> Iterator[bytes]:
        """The content piece by piece: what is there is given at once, without waiting for a full chunk."""
        head = b""
        chunks = self._raw()
        magics = (_GZIP, _ZSTD, *_UNREADABLE)
        for chunk in chunks:
            head += chunk
            if not any(len(head) < len(magic) and magic.startswith(head) for magic in magics):
                break
        rest = _chain(head, chunks)
        if head.startswith(_GZIP):
            return self._gunzip(rest)
        if head.startswith(_ZSTD):
            return self._unzstd(rest)
        for magic, kind in _UNREADABLE.items():
            if head.startswith(magic):
                raise TraceError(
                    "trace-unknown-compression",
                    f"this is {kind} data, which Lawful does not read",
                    where=self.name,
                    hint="decompress it first and pipe it in: `... | lawful ... -`; gzip and zstd are read directly",
                )
        return rest

    def _raw(self) -> Iterator[bytes]:
        while True:
            try:
                chunk = self._read(CHUNK)
                if chunk is None:  # a file in non-blocking mode has nothing yet
                    select.select([self._file], [], [])
                    continue
            except OSError as error:
                raise os_error(error, self.name) from error
            if not chunk:
                return
            self.bytes_read += len(chunk)
            yield chunk

    def _gunzip(self, chunks: Iterator[bytes]) -> Iterator[bytes]:
        member: Any = None
        for data in chunks:
            content = b""
            while data or len(content) == CHUNK:  # a full chunk may leave more inside the decompressor
                if member is None:
                    # Tapes and block devices pad with zeros; another member may follow.
                    data = data.lstrip(b"\0")
                    if not data:
                        break
                    member = zlib.decompressobj(wbits=31)
                try:
                    content = member.decompress(data, CHUNK)
                except zlib.error as error:
                    raise self._corrupt("gzip", error) from error
                data = member.unconsumed_tail
                if content:
                    yield content
                if member.eof:
                    data = member.unused_data
                    member = None
        if member is not None:
            try:
                content = member.flush()
            except zlib.error as error:
                raise self._corrupt("gzip", error) from error
            if content:
                yield content
            if not member.eof:
                self.ends_early = self._cut("gzip")

    def _unzstd(self, chunks: Iterator[bytes]) -> Iterator[bytes]:
        try:
            import zstandard
        except ImportError as error:
            raise TraceError(
                "trace-no-zstd",
                "this trace is compressed with zstd, and the package `zstandard` is not installed",
                where=self.name,
                hint="pip install zstandard",
            ) from error
        frame: Any = None
        for data in chunks:
            contents: list[bytes] = []
            held = 0
            for start in range(0, len(data), _ZSTD_PIECE):
                piece = data[start : start + _ZSTD_PIECE]
                while piece:
                    if frame is None:
                        frame = zstandard.ZstdDecompressor().decompressobj()
                    try:
                        content = frame.decompress(piece)
                    except zstandard.ZstdError as error:
                        if contents:
                            yield b"".join(contents)
                        raise self._corrupt("zstd", error) from error
                    contents.append(content)
                    held += len(content)
                    piece = b""
                    if frame.eof:
                        piece = frame.unused_data
                        frame = None
                if held >= CHUNK:
                    yield b"".join(contents)
                    contents, held = [], 0
            if held:
                yield b"".join(contents)
        if frame is not None:
            self.ends_early = self._cut("zstd")

    def _corrupt(self, kind: str, error: Exception) -> TraceError:
        return TraceError(
            "trace-bad-compression",
            f"the {kind} data is damaged: {error}",
            where=self.name,
            hint="events before the damage were read; fetch or record the trace again",
        )

    def _cut(self, kind: str) -> TraceError:
        return TraceError(
            "trace-truncated",
            f"the {kind} data ends in the middle",
            where=self.name,
            hint="the writer may have been killed or is still at work; --skip-bad-lines takes what is there",
        )


def _chain(head: bytes, rest: Iterator[bytes]) -> Iterator[bytes]:
    if head:
        yield head
    yield from rest


def _standard_input() -> IO[bytes]:
    if sys.stdin is None:
        raise TraceError("trace-io", "there is no standard input", where="<stdin>")
    return sys.stdin.buffer


def _open(path: str) -> IO[bytes]:
    try:
        return open(path, "rb", buffering=0)
    except OSError as error:
        raise os_error(error, path) from error
    except ValueError as error:  # a null byte in the name
        raise TraceError("trace-not-found", f"no file can have this name: {error}", where=repr(path)) from error


def _size(file: IO[bytes]) -> int | None:
    try:
        status = os.fstat(file.fileno())
    except (OSError, AttributeError, ValueError):
        return None
    return status.st_size if stat.S_ISREG(status.st_mode) else None


def os_error(error: OSError, name: str) -> TraceError:
    if isinstance(error, FileNotFoundError):
        return TraceError("trace-not-found", "there is no such file", where=name, hint="`-` reads standard input")
    if isinstance(error, IsADirectoryError):
        return TraceError("trace-is-directory", "a directory is not a trace", where=name, hint="name the files in it")
    if isinstance(error, PermissionError):
        return TraceError("trace-no-permission", "permission denied", where=name)
    return TraceError("trace-io", error.strerror or str(error) or type(error).__name__, where=name)
