"""Lines of source files, for reports. They are read when the report is made, and nothing of the program is asked."""

from __future__ import annotations

import os
import tokenize

from lawful.diagnostics import printable

_LONGEST_FILE = 4 * 1024 * 1024


class SourceLines:
    """Reads files once. Names that are not absolute are below the project folder."""

    def __init__(self, folder: str | os.PathLike[str] = ".") -> None:
        self._folder = os.fspath(folder)
        self._files: dict[str, list[str]] = {}

    def line(self, file: str | None, number: int | None) -> str | None:
        """A line without its indentation, harmless to a terminal; None if it cannot be had."""
        if file is None or number is None:
            return None
        if file not in self._files:
            self._files[file] = self._read(file)
        lines = self._files[file]
        return printable(lines[number - 1].strip()) or None if 0 < number <= len(lines) else None

    def _read(self, file: str) -> list[str]:
        path = os.path.join(self._folder, file)
        try:
            # Something that is no regular file could keep us waiting for ever.
            if not os.path.isfile(path) or os.path.getsize(path) > _LONGEST_FILE:
                return []
            with tokenize.open(path) as source:  # in the encoding that the file says it has
                return source.read().split("\n")
        except (OSError, SyntaxError, ValueError):
            return []
