"""Where in a law's text a violation is: the event that was refused, and those that the law waited for."""

from __future__ import annotations

import re
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from lawful.laws.rml import syntax

if TYPE_CHECKING:
    from lawful.engine.findings import Event, Finding
    from lawful.laws.protocol import Law

Span = tuple[int, int, str]
"""First character, one past the last, and what it is: `refused` or `expected`."""

_WORD = re.compile(r"[^\W\d]\w*")
_MAX = 200


class LawPlaces:
    """Knows the laws by name, and which of them were asked for."""

    def __init__(self, laws: list[Law]) -> None:
        self._laws = {law.name: law for law in laws}
        self._parsed: dict[str, syntax.Specification | None] = {}
        self.used: set[str] = set()

    def of(self, finding: Finding) -> list[Span] | None:
        """The places of a finding, in order and none inside another; None if the law's text is not known."""
        law = self._laws.get(finding.law)
        if law is None or not law.source:
            return None
        self.used.add(law.name)
        refused = finding.event or finding.doomed_event
        wanted = {word[0] for text in finding.expectation.expected if (word := _WORD.match(text)) is not None}
        specification = self._specification(law)
        if specification is None:
            spans = _words(law.source, wanted)
        else:
            spans = _declared(law.source, specification, refused, wanted)
        return _without_overlaps(spans)

    def _specification(self, law: Law) -> syntax.Specification | None:
        """The syntax tree of a law in RML: of its text as it is here, which may be that of a part."""
        if law.name not in self._parsed:
            self._parsed[law.name] = None
            if law.language == "rml":
                from lawful.errors import LawError
                from lawful.laws.rml.parser import parse

                with suppress(LawError):
                    self._parsed[law.name] = parse(law.source, name=law.name)
        return self._parsed[law.name]


def _words(text: str, wanted: set[str]) -> list[Span]:
    return [(word.start(), word.end(), "expected") for word in _WORD.finditer(text) if word[0] in wanted]


def _declared(text: str, spec: syntax.Specification, event: Event | None, wanted: set[str]) -> list[Span]:
    """The declarations that the event fits, and in the equations the types that were expected."""
    spans: list[Span] = []
    refused: set[str] = set()
    for declaration in spec.declarations:
        body = declaration.body
        if event is not None and not isinstance(body, tuple) and not declaration.negated and _fits(body, event):
            refused.add(declaration.name)
            spans.append((*declaration.span, "refused"))
    for equation in spec.equations:
        start, end = equation.span
        for word in _WORD.finditer(text, start, end):
            if word[0] in wanted:
                spans.append((word.start(), word.end(), "expected"))
    return spans


def _fits(pattern: Any, value: Any) -> bool:
    """Could the value match? Names and conditions on them are taken to hold."""
    if isinstance(pattern, syntax.Literal):
        return type(pattern.value) is type(value) and bool(pattern.value == value)
    if isinstance(pattern, syntax.ObjectPattern):
        return isinstance(value, dict) and all(key in value and _fits(each, value[key]) for key, each in pattern.fields)
    if isinstance(pattern, syntax.ListPattern):
        if not isinstance(value, list) or len(value) < len(pattern.items):
            return False
        fits = all(_fits(each, part) for each, part in zip(pattern.items, value, strict=False))
        return fits and (pattern.open or len(value) == len(pattern.items))
    if isinstance(pattern, syntax.AnyOf):
        return any(_fits(each, value) for each in pattern.options)
    return True


def _without_overlaps(spans: list[Span]) -> list[Span]:
    found: list[Span] = []
    for span in sorted(set(spans)):
        if not found or span[0] >= found[-1][1]:
            found.append(span)
    return found[:_MAX]
