"""Errors and warnings about places in a law's text, drawn under the source line."""

from __future__ import annotations

import re
import unicodedata
from bisect import bisect_right
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal

from lawful.errors import LawError

Span = tuple[int, int]
"""Offsets into the source text: first character, one past the last."""

TAB_WIDTH = 4
MAX_LINE_WIDTH = 100  # columns of source shown; longer lines are cut around the carets
MAX_QUOTED = 60

_LINE_BREAK = re.compile(r"\r\n|\n|\r")
_SURROGATE = re.compile("[\ud800-\udfff]")


@dataclass(frozen=True, slots=True)
class Diagnostic:
    """One error or warning about a place in a law's text."""

    severity: Literal["error", "warning"]
    slug: str
    message: str
    span: Span
    hint: str | None = None
    notes: tuple[tuple[Span, str], ...] = ()

    def render(self, source: Source) -> str:
        """The whole text for a terminal, without a trailing newline."""
        gutter = max(len(str(source.position(span[1])[0])) for span in (self.span, *(span for span, _ in self.notes)))
        lines = [f"{self.severity}[{self.slug}]: {self.message}", *_excerpt(source, self.span, gutter)]
        for span, message in self.notes:
            lines += [f"note: {message}", *_excerpt(source, span, gutter)]
        if self.hint:
            lines.append(f"{' ' * (gutter + 2)}= hint: {self.hint}")
        return "\n".join(lines)


@dataclass(frozen=True)
class Source:
    """A law's text with the name it is known by, usually its file's."""

    text: str
    name: str = "<law>"

    @cached_property
    def _breaks(self) -> list[Span]:
        return [match.span() for match in _LINE_BREAK.finditer(self.text)]

    @cached_property
    def _line_starts(self) -> list[int]:
        return [0, *(end for _, end in self._breaks)]

    def position(self, offset: int) -> tuple[int, int]:
        """Line and column of an offset, both counted from 1; a tab is one column."""
        offset = max(0, min(offset, len(self.text)))
        line = bisect_right(self._line_starts, offset)
        return line, offset - self._line_starts[line - 1] + 1

    def line(self, number: int) -> str:
        """The text of a line, without its end."""
        end = self._breaks[number - 1][0] if number <= len(self._breaks) else len(self.text)
        return self.text[self._line_starts[number - 1] : end]

    def where(self, offset: int) -> str:
        line, column = self.position(offset)
        return f"{printable(self.name)}:{line}:{column}"


class LawSourceError(LawError):
    """A law whose text is wrong: carries every error found, and the warnings next to them."""

    def __init__(self, diagnostics: Sequence[Diagnostic], source: Source) -> None:
        self.diagnostics = tuple(diagnostics)
        self.source = source
        first = next((each for each in diagnostics if each.severity == "error"), diagnostics[0])
        super().__init__(first.slug, first.message, where=source.where(first.span[0]), hint=first.hint)

    def render(self) -> str:
        """All diagnostics, then how many errors there are."""
        count = sum(each.severity == "error" for each in self.diagnostics)
        total = f"{count} error{'' if count == 1 else 's'} in {printable(self.source.name)}"
        return f"{render_all(self.diagnostics, self.source)}\n\n{total}"


def render_all(diagnostics: Iterable[Diagnostic], source: Source) -> str:
    """Every diagnostic, with an empty line between them."""
    return "\n\n".join(each.render(source) for each in diagnostics)


def did_you_mean(word: str, candidates: Iterable[str]) -> str | None:
    """The candidate a user most likely had in mind, if any comes close."""
    names = sorted(set(candidates) - {word})
    for name in names:
        if name.lower() == word.lower():
            return name
    import difflib  # needed only after a mistake

    close = difflib.get_close_matches(word, names, n=1, cutoff=0.6)
    return close[0] if close else None


def quoted(text: str) -> str:
    """Source text for use inside a message: on one line, harmless, and not too long."""
    flat = printable(" ".join(text.split()) if text.strip() else text)
    return f"`{flat if len(flat) <= MAX_QUOTED else flat[: MAX_QUOTED - 1] + '…'}`"


def encodable(text: str) -> str:
    """The text without surrogates, which UTF-8 cannot encode: Python has them for undecodable bytes of file names."""
    return _SURROGATE.sub("\ufffd", text)


def all_encodable(value: Any) -> Any:
    """The same for every text in a value of JSON's types."""
    if isinstance(value, str):
        return encodable(value)
    if isinstance(value, dict):
        return {all_encodable(key): all_encodable(each) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [all_encodable(each) for each in value]
    return value


def printable(text: str) -> str:
    """The text with control characters made visible, so that it cannot control a terminal."""
    if text.isascii() and text.isprintable():
        return text
    return "".join(_cell(char)[0] for char in text)


def _cell(char: str) -> tuple[str, int]:
    """How a character is shown, and how many columns that takes."""
    if " " <= char <= "~":
        return char, 1
    if char == "\t":
        return " " * TAB_WIDTH, TAB_WIDTH
    if char < " ":
        return chr(0x2400 + ord(char)), 1
    category = unicodedata.category(char)
    if category in ("Mn", "Me") or char in "\u200c\u200d":
        return char, 0
    if category in ("Cc", "Cf", "Cs", "Zl", "Zp"):
        shown = f"<U+{ord(char):04X}>"
        return shown, len(shown)
    return char, 2 if unicodedata.east_asian_width(char) in "WF" else 1


def _excerpt(source: Source, span: Span, gutter: int) -> list[str]:
    """The place, the source line, and carets under the span; of a span over many lines the first and the last."""
    first, column = source.position(span[0])
    last, end_column = source.position(max(span[0], span[1]))
    if last > first and end_column == 1:  # ends with a line break: nothing of the last line belongs to it
        last -= 1
        end_column = len(source.line(last)) + 1
    empty = " " * (gutter + 2) + "|"
    lines = [f"{' ' * (gutter + 1)}--> {source.where(span[0])}", empty]

    def show(number: int, start: int, end: int) -> None:
        text, carets = _underline(source.line(number), start, end)
        lines.append(f" {number:>{gutter}} | {text}".rstrip())
        lines.append(f"{empty} {carets}")

    if first == last:
        show(first, column - 1, end_column - 1)
        return lines
    line = source.line(first)
    show(first, column - 1, len(line))
    if last > first + 1:
        lines.append(" " * (gutter + 2) + "...")
    line = source.line(last)
    show(last, min(len(line) - len(line.lstrip()), end_column - 2), end_column - 1)
    return lines


def _underline(line: str, start: int, end: int) -> tuple[str, str]:
    """A line as shown and the carets under ``line[start:end]``; a long line is cut to a window around them."""
    low, high = 0, len(line)
    # A window in characters, not columns: wide ones make it a little wider, and rendering stays cheap.
    if high > MAX_LINE_WIDTH:
        low = max(0, min(start - MAX_LINE_WIDTH // 3, high - MAX_LINE_WIDTH))
        high = min(high, low + MAX_LINE_WIDTH)
    before, after = "…" if low else "", "…" if high < len(line) else ""
    cells = [_cell(char) for char in line[low:high]]
    shown = "".join(text for text, _ in cells)
    start, end = max(start - low, 0), min(max(end - low, 0), len(cells))
    indent = len(before) + sum(width for _, width in cells[:start])
    width = sum(width for _, width in cells[start:end])
    return before + shown + after, " " * indent + "^" * max(1, width)
