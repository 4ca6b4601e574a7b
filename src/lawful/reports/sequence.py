"""Sequence diagrams: who sent what to whom, in order, as SVG (without any dependency) and in Mermaid's language."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator
from dataclasses import dataclass, replace
from math import ceil

from lawful.engine.wording import cut
from lawful.reports import mermaid
from lawful.reports.svg import fit, flat, opening, width, xml

_INK, _DIM, _LINE, _RED = "#333", "#777", "#aaa", "#b3261e"
_PLAIN, _OURS, _FRAME, _ALARM = "#f5f5f5", "#dce8f5", "#f1f6fb", "#fdecea"
_MONO = "ui-monospace, Menlo, Consolas, 'DejaVu Sans Mono', monospace"

_TITLE, _NAME, _LABEL, _SMALL = 15.0, 12.0, 12.0, 11.0  # sizes of letters
_ROW = 36  # from one message to the next
_LOOP = 16  # how far down a message to oneself goes
_EDGE = 16
_WIDEST_BOX = 180
_WIDEST_LINE = 1500  # from the first participant to the last, if labels are long
_LEAST_WIDTH = 560  # for the note
_WIDEST_TITLE = 960
_NOTE_LINE = 16
_NOTE_LABEL = 74
_LONGEST = 120  # letters of a label in Mermaid, which does not cut
_MERMAID_NOTE = 72
_HARMLESS = frozenset(" ,.()=/_-")  # to Mermaid, in the texts of a sequence diagram


@dataclass(frozen=True, slots=True)
class Participant:
    """A lifeline. Those of the group that is spoken of stand side by side, in a frame if it has a name."""

    name: str
    detail: str = ""  # a second line
    ours: bool = False  # does it belong to the group?
    frame: str = ""
    known: bool = True  # or do the events not tell who it is?


@dataclass(frozen=True, slots=True)
class Message:
    """An arrow from one participant to another; they are known by their places."""

    sender: int
    receiver: int
    label: str
    terminal: str = ""  # what the grammar calls it
    sent: bool = True  # or received, from where the group stands
    reply: bool = False
    number: int | None = None  # in the trace
    time: float | None = None
    marked: bool = False  # is it the one that is not allowed?


@dataclass(frozen=True, slots=True)
class Note:
    """A note about the last message, or about the end: facts, each under a label."""

    title: str
    facts: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True)
class Diagram:
    """Participants from left to right, messages from top to bottom."""

    title: str
    participants: tuple[Participant, ...]
    messages: tuple[Message, ...]
    subtitle: str = ""
    before: str = ""  # a remark about messages before the first
    note: Note | None = None


# -- Mermaid -----------------------------------------------------------------------------------------------------------


def render_mermaid(diagram: Diagram) -> str:
    """The diagram in Mermaid's language, with a newline at its end: one line for each message."""
    return "".join(f"{line}\n" for line in _mermaid_lines(diagram))


def render_markdown(diagram: Diagram) -> str:
    """The same as a page for viewers of Markdown that show such pictures."""
    title = mermaid.quote(flat(diagram.title))[1:-1].replace("#", "&#")
    return f"# {title}\n\n```mermaid\n{render_mermaid(diagram)}```\n"


def _mermaid_lines(diagram: Diagram) -> Iterator[str]:
    yield "sequenceDiagram"
    yield f"  title {_coded(diagram.title)}"
    frame = ""
    for place, participant in enumerate(diagram.participants):
        if participant.frame != frame:
            if frame:
                yield "  end"
            frame = participant.frame
            if frame:
                yield f"  box rgb(241, 246, 251) {_coded(frame)}"
        name = "<br/>".join(_coded(part) for part in (participant.name, participant.detail) if part)
        yield f"  participant p{place} as {name or _coded('')}"
    if frame:
        yield "  end"
    everyone = _everyone(len(diagram.participants))
    if diagram.before and everyone:
        yield f"  Note over {everyone}: {_coded(diagram.before)}"
    for message in diagram.messages:
        arrow = ("--x" if message.reply else "-x") if message.marked else ("-->>" if message.reply else "->>")
        line = f"p{message.sender}{arrow}p{message.receiver}: {_coded(_numbered(message))}"
        if message.marked:
            yield "  rect rgb(253, 236, 234)"
            yield f"    {line}"
            yield "  end"
        else:
            yield f"  {line}"
    if diagram.note is not None and everyone:
        parts = [diagram.note.title, *(f"{label}: {text}" for label, text in diagram.note.facts)]
        lines = [line for part in parts for line in _wrapped(flat(part), _MERMAID_NOTE)]
        yield f"  Note over {everyone}: {'<br/>'.join(map(_coded, lines))}"


def _everyone(participants: int) -> str:
    return f"p0,p{participants - 1}" if participants > 1 else "p0" * participants


def _numbered(message: Message) -> str:
    number = "" if message.number is None else f"({message.number}) "
    time = "" if message.time is None else f" ({_seconds(message.time)})"
    return f"{number}{_called(message)}{time}"


def _coded(text: str) -> str:
    """Text in which every special character is a code; never empty, because Mermaid refuses that."""
    shown = cut(flat(text) or "?", _LONGEST)
    return "".join(char if char.isalnum() or char in _HARMLESS else f"#{ord(char)};" for char in shown)


# -- what both forms share ---------------------------------------------------------------------------------------------


def _called(message: Message) -> str:
    return f"{message.terminal} {message.label}" if message.terminal else message.label


def _seconds(time: float) -> str:
    return f"{time:.3f} s"


def _wrapped(text: str, width: int) -> list[str]:
    return textwrap.wrap(text, width, break_on_hyphens=False) or [""]


# -- SVG ---------------------------------------------------------------------------------------------------------------


def render_svg(diagram: Diagram) -> str:
    """The diagram as a file's text."""
    return "\n".join(_Picture(diagram).lines()) + "\n"


class _Picture:
    """Computes the layout, and then draws it."""

    def __init__(self, diagram: Diagram) -> None:
        self._diagram = diagram
        self._participants = [
            replace(each, name=flat(each.name) or "?", detail=flat(each.detail)) for each in diagram.participants
        ]
        self._boxes = [_box_width(each) for each in self._participants]
        self._gutter = max((width(_margin(each), _SMALL) for each in diagram.messages), default=0.0)
        self._xs = self._columns()
        self._framed = any(each.frame for each in self._participants)
        right = max((x + box / 2 for x, box in zip(self._xs, self._boxes, strict=True)), default=0.0)
        loops = [each for each in diagram.messages if each.sender == each.receiver]
        right = max([right, *(self._xs[each.sender] + 48 + _label_width(each) for each in loops)])
        heads = max(width(flat(diagram.title), _TITLE), width(flat(diagram.subtitle), _SMALL)) + 2 * _EDGE
        self._width = ceil(max(right + _EDGE, min(heads, _WIDEST_TITLE), _LEAST_WIDTH))
        # The lifelines stand in the middle of what the title and the note need.
        shift = (self._width - _EDGE - right) / 2 if right else 0.0
        self._xs = [x + shift for x in self._xs]

    def _columns(self) -> list[float]:
        """Where the lifelines are: as far apart as names and labels need, within reason."""
        if not self._boxes:
            return []
        gaps = [(left + right) / 2 + 24 for left, right in zip(self._boxes, self._boxes[1:], strict=False)]
        most = max(150.0, min(360.0, _WIDEST_LINE / max(1, len(gaps))))
        for message in sorted(self._diagram.messages, key=lambda each: abs(each.sender - each.receiver)):
            first, last = sorted((message.sender, message.receiver))
            lacking = min(_label_width(message) + 34, most * (last - first)) - sum(gaps[first:last])
            for at in range(first, last):
                gaps[at] += max(0.0, lacking) / (last - first)
        xs = [_EDGE + self._gutter + (14 if self._gutter else 0) + self._boxes[0] / 2]
        for gap in gaps:
            xs.append(xs[-1] + gap)
        return xs

    def lines(self) -> Iterator[str]:
        body: list[str] = []
        top = 48 if self._diagram.subtitle else 32
        top += 24 if self._framed else 8
        tall = 38 if any(each.detail for each in self._participants) else 26
        y = top + tall + 8
        if self._diagram.before:
            y += 20
            body += self._centred(flat(self._diagram.before), y)
        for message in self._diagram.messages:
            y += _ROW
            body += self._message(message, y)
            y += _LOOP if message.sender == message.receiver else 0
        bottom = y + 22
        note, height = self._note(bottom + 8)
        yield opening(self._width, height, _INK)
        yield f"<title>{xml(flat(self._diagram.title))}</title>"
        yield f'<rect width="{self._width}" height="{height}" fill="#fff"/>'
        yield from self._headline()
        yield from self._frames(top, bottom)
        for x, participant in zip(self._xs, self._participants, strict=True):
            dashes = "6 4" if participant.known else "2 4"
            yield f'<path d="M{x:.1f} {top + tall}V{bottom}" stroke="{_LINE}" stroke-dasharray="{dashes}"/>'
        for place in range(len(self._participants)):
            yield from self._head(place, top, tall)
        yield from body
        yield from note
        yield "</svg>"

    def _headline(self) -> Iterator[str]:
        room = self._width - 2 * _EDGE
        title = fit(flat(self._diagram.title), room, _TITLE)
        yield _text(self._width / 2, 24, title, _TITLE, anchor="middle", bold=True)
        if self._diagram.subtitle:
            line = fit(flat(self._diagram.subtitle), room, _SMALL)
            yield _text(self._width / 2, 42, line, _SMALL, anchor="middle", fill=_DIM)

    def _frames(self, top: int, bottom: float) -> Iterator[str]:
        for frame in dict.fromkeys(each.frame for each in self._participants if each.frame):
            inside = [place for place, each in enumerate(self._participants) if each.frame == frame]
            left = self._xs[inside[0]] - self._boxes[inside[0]] / 2 - 8
            right = self._xs[inside[-1]] + self._boxes[inside[-1]] / 2 + 8
            yield (
                f'<rect x="{left:.1f}" y="{top - 22}" width="{right - left:.1f}" height="{bottom - top + 26:.1f}" '
                f'rx="4" fill="{_FRAME}" stroke="#c6d6e8"/>'
            )
            name = fit(flat(frame), right - left - 12, _SMALL)
            yield _text((left + right) / 2, top - 7, name, _SMALL, anchor="middle", fill=_DIM)

    def _head(self, place: int, top: int, tall: int) -> Iterator[str]:
        participant, x, box = self._participants[place], self._xs[place], self._boxes[place]
        fill = _OURS if participant.ours else _PLAIN
        dashes = "" if participant.known else ' stroke-dasharray="3 3"'
        full = " · ".join(part for part in (participant.name, participant.detail) if part)
        yield f"<g><title>{xml(full)}</title>"
        yield (
            f'<rect x="{x - box / 2:.1f}" y="{top}" width="{box:.1f}" height="{tall}" rx="3" fill="{fill}" '
            f'stroke="{_INK if participant.known else _LINE}"{dashes}/>'
        )
        middle = top + tall / 2 + 4 - (7 if participant.detail else 0)
        name = fit(participant.name, box - 12, _NAME, bold=participant.ours)
        fill = _INK if participant.known else _DIM
        yield _text(x, middle, name, _NAME, anchor="middle", bold=participant.ours, fill=fill)
        if participant.detail:
            yield _text(x, middle + 15, fit(participant.detail, box - 12, _SMALL), _SMALL, anchor="middle", fill=_DIM)
        yield "</g>"

    def _message(self, message: Message, y: float) -> Iterator[str]:
        start, end = self._xs[message.sender], self._xs[message.receiver]
        colour = _RED if message.marked else _INK
        full = flat(f"{'sent' if message.sent else 'received'}: {_called(message)}")
        yield f"<g><title>{xml(full)}</title>"
        if message.marked:
            deep = _ROW + (_LOOP if start == end else 0)
            yield f'<rect x="0" y="{y - 24:.1f}" width="{self._width}" height="{deep}" fill="{_ALARM}"/>'
            for x in self._xs:  # which the band covers
                yield f'<path d="M{x:.1f} {y - 24:.1f}v{deep}" stroke="{_LINE}" stroke-dasharray="6 4"/>'
        margin = _margin(message)
        if margin:
            x = self._xs[0] - self._boxes[0] / 2 - 14
            yield _text(x, y + 4, margin, _SMALL, anchor="end", fill=_RED if message.marked else _DIM)
        pen = f'stroke="{colour}" stroke-width="{2 if message.marked else 1.3}"'
        dashes = ' stroke-dasharray="6 3"' if message.reply else ""
        if start == end:
            path, ahead, tip = f"M{start:.1f} {y:.1f}h30v{_LOOP}H{end:.1f}", -1, y + _LOOP
            x, anchor, room = start + 38, "start", self._width - _EDGE - start - 38
        else:
            path, ahead, tip = f"M{start:.1f} {y:.1f}H{end:.1f}", 1 if end > start else -1, y
            x, anchor, room = (start + end) / 2, "middle", abs(end - start) - 12
        yield f'<path d="{path}" fill="none" {pen}{dashes}/>'
        yield f'<path d="{_tip(end, tip, ahead, message.marked)}" fill="none" {pen}/>'
        yield from self._label(message, x, y + (12 if start == end else -7), anchor, room, colour)
        yield "</g>"

    def _label(self, message: Message, x: float, y: float, anchor: str, room: float, colour: str) -> Iterator[str]:
        terminal = fit(flat(message.terminal), room / 2, _LABEL, bold=True)
        rest = room - (width(terminal, _LABEL, bold=True) + 6 if terminal else 0.0)
        label = fit(flat(message.label), rest, _LABEL)
        shown = f'<tspan font-weight="bold">{xml(terminal)}</tspan> {xml(label)}' if terminal else xml(label)
        # With a white edge: lifelines pass behind labels.
        edge = _ALARM if message.marked else "#fff"
        yield (
            f'<text x="{x:.1f}" y="{y:.1f}" font-size="{_LABEL:g}" text-anchor="{anchor}" fill="{colour}" '
            f'stroke="{edge}" stroke-width="3" paint-order="stroke">{shown}</text>'
        )

    def _centred(self, words: str, y: float) -> Iterator[str]:
        middle = (self._xs[0] + self._xs[-1]) / 2 if self._xs else self._width / 2
        words = fit(words, self._width - 2 * _EDGE, _SMALL)
        half = width(words, _SMALL) / 2 + 6
        yield f'<rect x="{middle - half:.1f}" y="{y - 12:.1f}" width="{2 * half:.1f}" height="16" fill="#fff"/>'
        yield _text(middle, y, words, _SMALL, anchor="middle", fill=_DIM)

    def _note(self, top: float) -> tuple[list[str], int]:
        """The note below the lifelines, and where the picture ends."""
        note = self._diagram.note
        if note is None:
            return [], round(top + 4)
        inner = self._width - 2 * _EDGE - 24
        rows: list[tuple[str, str]] = []
        for label, words in note.facts:
            for line in _wrapped(flat(words), max(20, int((inner - _NOTE_LABEL) / (_SMALL * 0.61)))):
                rows.append((fit(flat(label), _NOTE_LABEL - 8, _SMALL), line))
                label = ""
        title = _wrapped(flat(note.title), max(20, int(inner / (_LABEL * 0.62))))
        height = 16 + _NOTE_LINE * (len(title) + len(rows))
        width = self._width - 2 * _EDGE
        drawn = [
            f'<path d="M{_EDGE} {top:.1f}h{width - 12}l12 12v{height - 12}h{-width}z" fill="{_ALARM}" '
            f'stroke="{_RED}"/>',
            f'<path d="M{_EDGE + width - 12} {top:.1f}v12h12" fill="none" stroke="{_RED}"/>',
        ]
        y = top + 20
        for line in title:
            drawn.append(_text(_EDGE + 12, y, line, _LABEL, bold=True, fill=_RED))
            y += _NOTE_LINE
        for label, line in rows:
            if label:
                drawn.append(_text(_EDGE + 12, y, label, _SMALL, fill=_DIM))
            drawn.append(_text(_EDGE + 12 + _NOTE_LABEL, y, line, _SMALL, family=_MONO))
            y += _NOTE_LINE
        return drawn, round(top + height + _EDGE)


def _tip(x: float, y: float, ahead: int, crossed: bool) -> str:
    """The head of an arrow, open as that of a message for which nobody waits; or a cross."""
    if crossed:
        middle = x - 7 * ahead
        return f"M{middle - 5:.1f} {y - 5:.1f}l10 10m0 -10l-10 10"
    return f"M{x - 9 * ahead:.1f} {y - 4.5:.1f}L{x:.1f} {y:.1f}L{x - 9 * ahead:.1f} {y + 4.5:.1f}"


def _margin(message: Message) -> str:
    parts = (
        "" if message.number is None else f"#{message.number}",
        "" if message.time is None else _seconds(message.time),
    )
    return " · ".join(part for part in parts if part)


def _box_width(participant: Participant) -> float:
    name = width(participant.name, _NAME, bold=participant.ours)
    return max(64.0, min(_WIDEST_BOX, max(name, width(participant.detail, _SMALL)) + 20))


def _label_width(message: Message) -> float:
    terminal = width(flat(message.terminal), _LABEL, bold=True) + 6 if message.terminal else 0.0
    return terminal + width(flat(message.label), _LABEL)


def _text(
    x: float,
    y: float,
    words: str,
    size: float,
    *,
    anchor: str = "start",
    bold: bool = False,
    fill: str = _INK,
    family: str = "",
) -> str:
    more = "" if anchor == "start" else f' text-anchor="{anchor}"'
    more += ' font-weight="bold"' if bold else ""
    more += f' font-family="{family}"' if family else ""
    more += "" if fill == _INK else f' fill="{fill}"'
    return f'<text x="{x:.1f}" y="{y:.1f}" font-size="{size:g}"{more}>{xml(words)}</text>'
