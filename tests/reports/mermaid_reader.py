"""A strict reader of Mermaid's sequence diagrams, as far as Lawful writes them: written from Mermaid's own grammar."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from html import unescape

_CODE = re.compile(r"#\w+;")
# Where a text may stand, `#` begins a comment and `;` ends the line; codes are taken out before. Tags other than breaks
# would be HTML, and `%%` or braces may be comments and directives.
_TEXT = r"(?P<text>(?:[^#;<>%{}\n]|<br/>)*[^#;<>%{}\s](?:[^#;<>%{}\n]|<br/>)*|<br/>)"
_LINES = {
    "title": re.compile(rf"title {_TEXT}"),
    "box": re.compile(rf"box rgb\(\d+, \d+, \d+\) {_TEXT}"),
    "participant": re.compile(rf"participant (?P<id>p\d+) as {_TEXT}"),
    "rect": re.compile(r"rect rgb\(\d+, \d+, \d+\)"),
    "end": re.compile("end"),
    "message": re.compile(rf"(?P<sender>p\d+)(?P<arrow>-->>|->>|--x|-x)(?P<receiver>p\d+): {_TEXT}"),
    "note": re.compile(rf"Note over (?P<over>p\d+(?:,p\d+)?): {_TEXT}"),
}


@dataclass
class Read:
    title: str = ""
    participants: list[str] = field(default_factory=list)
    frames: list[tuple[str, list[int]]] = field(default_factory=list)
    messages: list[tuple[int, str, int, str, bool]] = field(default_factory=list)  # the last: in a coloured box?
    notes: list[str] = field(default_factory=list)


def _decoded(text: str, codes: list[str]) -> str:
    first, *rest = text.split("\ue000")
    return first + "".join(unescape(f"&{code}") + part for code, part in zip(codes, rest, strict=True))


def read(source: str) -> Read:
    """What a viewer would show; AssertionError if Mermaid could read a line otherwise."""
    assert source.endswith("\n")
    first, *lines = source[:-1].split("\n")
    assert first == "sequenceDiagram"
    found, opened = Read(), ""
    for line in lines:
        # Mermaid protects codes before it reads anything; but in lines of styles, it drops the last semicolon.
        assert not re.search(r"(style|classDef).*:\S*#.*;", line)
        bare = _CODE.sub("\ue000", line).strip()
        ((kind, match),) = [(kind, each) for kind, form in _LINES.items() if (each := form.fullmatch(bare))]
        text = _decoded(match.groupdict().get("text") or "", _CODE.findall(line))
        if kind == "title":
            found.title = text
        elif kind == "participant":
            assert opened in ("", "box") and not found.messages
            assert match["id"] == f"p{len(found.participants)}"
            if opened:
                found.frames[-1][1].append(len(found.participants))
            found.participants.append(text)
        elif kind == "message":
            assert opened in ("", "rect")
            ends = int(match["sender"][1:]), int(match["receiver"][1:])
            assert max(ends) < len(found.participants)
            found.messages.append((ends[0], match["arrow"], ends[1], text, opened == "rect"))
        elif kind == "note":
            assert not opened and all(int(each[1:]) < len(found.participants) for each in match["over"].split(","))
            found.notes.append(text)
        elif kind == "end":
            assert opened
            opened = ""
        else:
            assert not opened
            opened = kind
            if kind == "box":
                found.frames.append((text, []))
    assert not opened
    return found
