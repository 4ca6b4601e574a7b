"""Invariants as laws: one class and one property each."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from typing import Any

from lawful.diagnostics import Diagnostic
from lawful.laws.invariants.expressions import GONE
from lawful.laws.invariants.monitor import InvariantMonitor
from lawful.laws.invariants.rules import Property, Rule, compiled
from lawful.laws.invariants.tracker import ObjectId
from lawful.laws.law_base import LawBase
from lawful.laws.protocol import Event, Language, Watch


class InvariantLaw(LawBase):
    """One invariant, or several that are judged one by one. It can be pickled; so can its monitors."""

    language: Language = "invariants"
    tracks_objects = False

    def __init__(self, rules: tuple[Rule, ...], name: str, source: str, *, part: bool = False) -> None:
        self.rules = rules
        self._part = part or (len(rules) == 1 and name == rules[0].given.title)
        self.name = name
        self.source = source
        self.warnings: tuple[Diagnostic, ...] = ()

    def __reduce__(self) -> tuple[Any, ...]:
        rules = tuple((rule.given, dict(rule.places)) for rule in self.rules)
        return unpickle_law, (rules, self.name, self.source, self._part)

    @cached_property
    def watches(self) -> tuple[Watch, ...]:
        found: dict[Watch, None] = {}
        for rule in self.rules:
            for each in _watches(rule):
                found.setdefault(each)
        return tuple(found)

    @property
    def every(self) -> float | None:
        """How often, in seconds, it needs an event `tick`; None: never."""
        return min((rule.every for rule in self.rules if rule.every is not None), default=None)

    @property
    def selective(self) -> bool:
        """Other events tell the time."""
        return self.every is None

    @cached_property
    def parts(self) -> tuple[InvariantLaw, ...]:
        if self._part or (len(self.rules) == 1 and not self.rules[0].given.name):
            return (self,)
        return tuple(
            InvariantLaw((rule,), f"{self.name}: {title}", rule.given.source, part=True)
            for rule, title in zip(self.rules, _titles(self.rules), strict=True)
        )

    @cached_property
    def subjects(self) -> InvariantSubjects:
        return InvariantSubjects(self.rules)

    def monitor(self) -> InvariantMonitor:
        return InvariantMonitor(self)


def unpickle_law(
    rules: Sequence[tuple[Property, Mapping[str, str]]], name: str, source: str, part: bool
) -> InvariantLaw:
    """A law from its pickled properties and their places; expressions, which are functions, are compiled again."""
    found = (replace(compiled(given), places=places) for given, places in rules)
    return InvariantLaw(tuple(found), name, source, part=part)


def _titles(rules: tuple[Rule, ...]) -> list[str]:
    """What the rules are called, each by another name."""
    found: list[str] = []
    for rule in rules:
        title, again = rule.given.title, 2
        while title in found:
            title, again = f"{rule.given.title} ({again})", again + 1
        found.append(title)
    return found


def _watches(rule: Rule) -> Iterable[Watch]:
    data = {name for each in rule.expressions.values() for name in each.data}
    for kind, name in sorted(rule.keys - {GONE}):
        keys: list[tuple[str, tuple[str, ...] | None]] = [("event", (kind,)), ("name", (name,)), ("targetId", None)]
        if kind == "field_write":
            # A value is primitive or an object, and `del` has no value.
            yield Watch((*keys, ("res", None)))
            yield Watch((*keys, ("resultId", None)))
        if kind.startswith("func_"):
            asked: list[str] = [key for key in ("args", "kwargs") if key in data]
            asked += ["res", "resultId"] if "res" in data and kind == "func_post" else []
            for key in asked:
                yield Watch((*keys, (key, None)))
        yield Watch(tuple(keys))
    yield Watch((("event", ("gone",)), ("targetId", None)))
    if rule.every is not None:
        yield Watch((("event", ("tick",)), ("time", None)))


class InvariantSubjects:
    """The objects that an invariant is about."""

    label = ""
    binding: str | None = None
    by_target = True
    """Of an event that tells more than the time, the object is that of `targetId`, if there is one."""

    def __init__(self, rules: tuple[Rule, ...]) -> None:
        self.classes = tuple(dict.fromkeys(rule.class_name for rule in rules))
        self._keys = frozenset(key for rule in rules for key in rule.keys)

    def of(self, event: Event) -> ObjectId | None:
        kind, target = event.get("event"), event.get("targetId")
        if target.__class__ not in (int, str):
            return None
        try:
            return target if kind == "gone" or (kind, event.get("name")) in self._keys else None
        except TypeError:  # a name that is not text
            return None
