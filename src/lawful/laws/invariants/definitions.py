"""Invariants from TOML and from Python: compiles them to a law, or reports errors with their places."""

from __future__ import annotations

import inspect
import re
import tomllib
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial, wraps
from typing import Any, Final, ParamSpec

from lawful.diagnostics import Diagnostic, LawSourceError, Source, Span, did_you_mean, printable, quoted
from lawful.laws.invariants import templates
from lawful.laws.invariants.law import InvariantLaw
from lawful.laws.invariants.rules import Duration, Problem, Property, PropertyError, Rule, class_name, compiled
from lawful.laws.invariants.templates import TEMPLATES, ParameterError

_KEYS: Final = ("class", "always", "next", "when", "then", "within", "every", "on", "from", "until", "name")
_TABLE: Final = "invariant"
_HEADER: Final = re.compile(r"^[ \t]*\[\[[ \t]*[\"']?invariant[\"']?[ \t]*\]\]", re.MULTILINE)
_ANY_HEADER: Final = re.compile(r"^[ \t]*\[", re.MULTILINE)
_QUOTES: Final = ('"""', "'''", '"', "'")
_PLACE: Final = re.compile(r" \(at (?:line (\d+), column (\d+)|end of document)\)$")


def compile(text: str, *, name: str = "<invariants>") -> InvariantLaw:
    """The invariants in a TOML text. Raises LawError with all errors."""
    if not isinstance(text, str):
        raise TypeError(f"a law is text, not {type(text).__name__}")
    return _TomlReader(text, name).law()


def invariant(
    of: str | type,
    *,
    always: str | None = None,
    next: str | None = None,
    when: str | None = None,
    then: str | None = None,
    within: Duration | None = None,
    every: Duration | None = None,
    on: str | None = None,
    from_: str | None = None,
    until: str | None = None,
    name: str | None = None,
) -> InvariantLaw:
    """A law about each object of a class, named with its module: a state, a transition, a response, or some of these.

    `always` holds after each write of a field that it names, `next` between the `old` and the `new` values. What `when`
    asks for, `then` brings `within` a time; live, that is looked at `every` so often. `on` is a call at which the first
    two are judged in place of writes. Judging begins at `from_` and ends at `until`.
    """
    of_class = class_name(of)
    life = {"from_": from_, "until": until}
    found = []
    if always is not None:
        found.append(Property(of_class, always=always, on=on, **life))
    if next is not None:
        found.append(Property(of_class, next=next, on=on, **life))
    if any(each is not None for each in (when, then, within, every)) or not found:
        alone = on if not found else None
        found.append(Property(of_class, when=when, then=then, within=within, every=every, on=alone, **life))
    if len(found) == 1 and name is not None:
        found = [replace(found[0], name=name)]
    return _declared(found, name or (found[0].title if len(found) == 1 else of_class))


P = ParamSpec("P")


def _as_law(template: Callable[P, list[Property]]) -> Callable[P, InvariantLaw]:
    """The law of a ready-made invariant, from the same parameters."""
    kind, signature = template.__name__.replace("_", "-"), inspect.signature(template)

    @wraps(template)
    def law(*args: P.args, **kwargs: P.kwargs) -> InvariantLaw:
        try:
            return _declared(template(*args, **kwargs), kind)
        except ParameterError as error:
            given = signature.bind(*args, **kwargs).arguments
            source = Source(f"{kind}: {error.key} = {given.get(error.key)!r}", "<invariant>")
            problem = Diagnostic("error", "invariant-key", str(error), (len(kind) + 2, len(source.text)))
            raise LawSourceError([problem], source) from None

    law.__signature__ = signature.replace(return_annotation=InvariantLaw)  # type: ignore[attr-defined]
    return law


reference_count = _as_law(templates.reference_count)
open_handles = _as_law(templates.open_handles)
closed = _as_law(templates.closed)
pool_checkouts = _as_law(templates.pool_checkouts)
locks_held = _as_law(templates.locks_held)
allocations = _as_law(templates.allocations)


def _declared(properties: Sequence[Property], name: str) -> InvariantLaw:
    """A law of what Python code says. Errors show it as it would be in TOML."""
    text = "\n".join(each.source for each in properties)
    return _TomlReader(text, "<invariant>").law_of(list(enumerate(properties)), name)


class _TomlReader:
    """Reads a TOML text, and collects its errors."""

    def __init__(self, text: str, name: str) -> None:
        self._source = Source(text, name)
        self._found: list[Diagnostic] = []
        starts = [match.start() for match in _HEADER.finditer(text)]
        self._tables = [(start, self._end(start)) for start in starts]

    def _end(self, start: int) -> int:
        following = _ANY_HEADER.search(self._source.text, self._source.text.find("]]", start) + 2)
        return following.start() if following is not None else len(self._source.text)

    def law(self) -> InvariantLaw:
        properties: list[tuple[int, Property]] = []
        for number, table in enumerate(self._read()):
            properties += [(number, each) for each in self._properties(number, table)]
        return self.law_of(properties, self._source.name)

    def law_of(self, properties: Sequence[tuple[int, Property]], name: str) -> InvariantLaw:
        """The law of properties, each with the number of its table."""
        rules: list[Rule] = []
        for number, each in properties:
            try:
                rules.append(compiled(each, partial(self._where, number)))
            except PropertyError as error:
                for problem in error.problems:
                    self._report(number, problem)
        if self._found:
            raise self._error()
        return InvariantLaw(tuple(rules), name, self._source.text)

    # -- tables -----------------------------------------------------------------------------------

    def _read(self) -> list[dict[str, Any]]:
        try:
            data = tomllib.loads(self._source.text)
        except tomllib.TOMLDecodeError as error:
            raise self._no_toml(str(error)) from None
        except (RecursionError, ValueError):  # brackets inside brackets; a number of very many digits
            raise self._no_toml("it cannot be read") from None
        tables = data.pop(_TABLE, None)
        for key in data:
            meant = did_you_mean(key, (_TABLE,))
            hint = f"did you mean [[{meant}]]?" if meant else "a file of invariants has [[invariant]] tables only"
            self._add("invariant-key", f"unknown key {quoted(key)} in a file of invariants", self._top(key), hint)
        if isinstance(tables, dict):
            at = self._top(_TABLE)
            self._add("invariant-key", "each invariant is a table of its own", at, "write [[invariant]]")
        elif not self._found and not (
            isinstance(tables, list) and tables and all(isinstance(each, dict) for each in tables)
        ):
            hint = "each is a table: [[invariant]], class = '...', always = '...'"
            self._add("invariant-none", "this file has no invariant", (0, 0), hint)
        if self._found:
            raise self._error()
        found: list[dict[str, Any]] = tables
        return found

    def _no_toml(self, message: str) -> LawSourceError:
        place = _PLACE.search(message)
        at = len(self._source.text)
        if place is not None and place[1]:
            lines = self._source.text.split("\n")
            at = sum(len(line) + 1 for line in lines[: int(place[1]) - 1]) + int(place[2]) - 1
        elif place is None:
            at = 0
        text = message[: place.start()] if place is not None else message
        hint = "an invariant is a table: [[invariant]], then lines such as always = 'o.count >= 0'"
        self._add("invariant-toml", f"this is not TOML: {printable(text)}", (at, at), hint)
        return self._error()

    def _properties(self, number: int, table: dict[str, Any]) -> list[Property]:
        kind = table.get("use")
        if kind is not None:
            return self._ready_made(number, kind, table)
        if self._unknown_keys(number, table, _KEYS, ("use",)):
            return []
        given = {f"{key}_" if key == "from" else key: value for key, value in table.items()}
        class_name = given.pop("class", "")
        if not isinstance(given.get("name", ""), str):
            self._report(number, Problem("invariant-key", "a name is text", "name"))
            return []
        return [Property(class_name, **given)]

    def _ready_made(self, number: int, kind: object, table: dict[str, Any]) -> list[Property]:
        make = TEMPLATES.get(kind) if isinstance(kind, str) else None
        if make is None:
            meant = did_you_mean(str(kind), TEMPLATES)
            hint = f"did you mean {meant}?" if meant else f"there are {', '.join(TEMPLATES)}"
            message = f"unknown ready-made invariant {quoted(str(kind))}"
            self._report(number, Problem("invariant-unknown-kind", message, "use", hint=hint))
            return []
        parameters = inspect.signature(make).parameters
        known = ["class" if key == "of" else key for key in parameters]
        if self._unknown_keys(number, table, ("use", *known), ()):
            return []
        missing = [
            key
            for key, each in zip(known, parameters.values(), strict=True)
            if each.default is each.empty and key not in table
        ]
        for key in missing:
            self._report(number, Problem("invariant-key", f"{kind} needs `{key}`", "use"))
        given = {"of" if key == "class" else key: value for key, value in table.items() if key != "use"}
        if missing:
            return []
        try:
            return make(**given)
        except ParameterError as error:
            self._report(number, Problem("invariant-key", str(error), error.key))
            return []

    def _unknown_keys(self, number: int, table: dict[str, Any], known: Sequence[str], more: Sequence[str]) -> bool:
        """Report unknown keys; are there any?"""
        unknown = [key for key in table if key not in known]
        for key in unknown:
            meant = did_you_mean(key, (*known, *more))
            hint = f"did you mean `{meant}`?" if meant else f"there are {', '.join(known)}"
            span = self._span(number, key, None, of_key=True)
            self._add("invariant-key", f"unknown key {quoted(key)}", span, hint)
        return bool(unknown)

    def _error(self) -> LawSourceError:
        return LawSourceError(sorted(self._found, key=lambda each: each.span), self._source)

    # -- places -----------------------------------------------------------------------------------

    def _where(self, number: int, key: str, offset: int) -> str:
        return self._source.where(self._span(number, key, (offset, offset))[0])

    def _report(self, number: int, problem: Problem) -> None:
        self._add(problem.slug, problem.message, self._span(number, problem.key, problem.span), problem.hint)

    def _add(self, slug: str, message: str, span: Span, hint: str | None = None) -> None:
        self._found.append(Diagnostic("error", slug, message, span, hint))

    def _top(self, key: str) -> Span:
        found = re.search(rf"^[ \t]*\[*[ \t]*([\"']?{re.escape(key)}[\"']?)", self._source.text, re.MULTILINE)
        return found.span(1) if found is not None else (0, 0)

    def _span(self, number: int, key: str, inner: Span | None, *, of_key: bool = False) -> Span:
        """The place of a key's value, or of a part of it; or else that of its table."""
        if number >= len(self._tables):
            return 0, 0
        text, (start, end) = self._source.text, self._tables[number]
        found = re.compile(rf"^[ \t]*([\"']?{re.escape(key)}[\"']?)[ \t]*=[ \t]*", re.MULTILINE).search(
            text, start, end
        )
        if found is None:
            header = _HEADER.match(text, start)
            return (start, start) if header is None else (header.start(), header.end())
        if of_key:
            return found.span(1)
        at = found.end()
        line_end = text.find("\n", at)
        whole = at, (line_end if line_end != -1 else len(text))
        quote = next((each for each in _QUOTES if text.startswith(each, at)), None)
        if quote is None:
            return whole
        close = text.find(quote, at + len(quote))
        content = text[at + len(quote) : close if close != -1 else whole[1]]
        if inner is None or ("\\" in content and quote[0] == '"'):  # an escape takes more room than what it stands for
            return at, close + len(quote) if close != -1 else whole[1]
        begin = at + len(quote) + (1 if len(quote) == 3 and content.startswith("\n") else 0)
        return begin + inner[0], begin + inner[1]
