"""The objects that a law is about: which object's life an event belongs to, if each instance is one object's."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any

import msgspec

from lawful.laws.protocol import Event
from lawful.laws.rml import patterns, syntax
from lawful.laws.rml.compiler import CompiledLaw
from lawful.laws.rml.equations import declared, uses
from lawful.laws.rml.patterns import Direct
from lawful.laws.rml.recursion import deep, with_deep_recursion

Path = tuple[str | int, ...]

_KINDS = (("event",), ("name",), ("class",))  # what event types share by a parameter: `close(file, 'func_pre')`
_MOST_KNOWN = 10_000  # names may be without end


class _Place(msgspec.Struct, frozen=True):
    """Where a kind of event has the object."""

    tree: patterns.PatternTree
    path: Path
    captures: int


@deep
def subjects(compiled: CompiledLaw, specification: syntax.Specification) -> RmlSubjects | None:
    """None unless each event that the law names binds one object, and no event two different ones.

    The object is the receiver, the result or an argument. Nothing proves that the law treats each
    object separately: a caller who samples objects assumes that it does.
    """
    own = declared(specification)
    if any(use.key not in own for use in uses(*specification.bodies)):
        return None  # it is about any event
    places: list[_Place] = []
    for key, group in compiled.clauses.items():
        for clause in group if key in own else ():
            if clause.negated:
                return None
            for option in clause.options:
                if not isinstance(option, Direct):
                    continue
                paths = [path for path in _captures(option.tree, ()) if path not in _KINDS]
                if len(paths) != 1 or not _is_object(paths[0]):
                    return None
                places.append(_Place(option.tree, paths[0], len(option.names)))
    for index, one in enumerate(places):
        for other in places[:index]:
            if one.path != other.path and not patterns.disjoint(one.tree, other.tree):
                return None
    return RmlSubjects(tuple(places)) if places else None


def _captures(tree: patterns.PatternTree, path: Path) -> Iterator[Path]:
    kind = tree[0]
    if kind == "capture":
        yield path
    elif kind == "object":
        for key, part in tree[1]:
            yield from _captures(part, (*path, key))
    elif kind == "list":
        for index, part in enumerate(tree[1]):
            yield from _captures(part, (*path, index))


def _is_object(path: Path) -> bool:
    return path in (("targetId",), ("resultId",)) or (len(path) == 2 and path[0] in ("argIds", "kwargIds"))


class RmlSubjects:
    """The objects of a law in RML."""

    label = ""
    binding: str | None = None
    by_target = False

    def __init__(self, places: tuple[_Place, ...]) -> None:
        self._places = places
        self._known: dict[tuple[Any, Any], tuple[_Place, ...]] = {}
        self.classes = tuple(dict.fromkeys(name for place in places for name in _made(place.tree)))

    def of(self, event: Event) -> int | str | None:
        key = (event.get("event"), event.get("name"))
        try:
            places = self._known.get(key)
        except TypeError:  # a kind or a name that is not text
            places = self._places
        if places is None:
            if len(self._known) >= _MOST_KNOWN:
                self._known.clear()
            places = self._known[key] = tuple(each for each in self._places if _may_match(each, *key))
        for each in places:
            if with_deep_recursion(partial(patterns.match, each.tree, event, [None] * each.captures)):
                value: Any = event
                for part in each.path:
                    value = value[part]
                if value.__class__ in (int, str):
                    found: int | str = value
                    return found
        target = event.get("targetId") if key[0] == "gone" else None
        return target if target.__class__ in (int, str) else None


def _may_match(place: _Place, kind: Any, name: Any) -> bool:
    given = {"event": kind, "name": name}
    return place.tree[0] != "object" or all(
        key not in given or (given[key] is not None and patterns.match(part, given[key], [None] * place.captures))
        for key, part in place.tree[1]
    )


def _made(tree: patterns.PatternTree) -> Iterator[str]:
    """The names of classes whose new objects match."""
    parts = dict(tree[1]) if tree[0] == "object" else {}
    if parts.get("event") != ("literal", "new"):
        return
    name = parts.get("name", ("wildcard",))
    for each in name[1] if name[0] == "choice" else (name,):
        if each[0] == "literal" and isinstance(each[1], str):
            yield each[1]
