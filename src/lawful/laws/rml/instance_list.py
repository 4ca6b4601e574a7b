"""The children of instance lists: each at its place, and found by the events that concern it.

A child for which an event that does not concern it changes nothing is visited only when an event touches its keys, so
the cost of an event does not depend on how many instances are alive.
"""

from __future__ import annotations

from bisect import bisect_left, insort
from collections.abc import Iterator
from heapq import merge
from typing import Any, Final

from lawful.laws.rml import values
from lawful.laws.rml.planner import AND, LEFT, RIGHT
from lawful.laws.rml.state import FilterPart, InstanceList, Leaf, ListEntry, Part
from lawful.laws.rml.tree_walker import TreeNode, TreeWalker
from lawful.laws.rml.values import UNDEFINED

_GAP: Final = 1 << 32
_SMALL: Final = 16  # children of an instance list that can wait together
_DUPLICATE_TRIES: Final = 16  # children about the same object that are compared


class InstanceLists(TreeWalker):
    """Puts children in, takes them out, and finds them."""

    def _affected(self, instances: InstanceList) -> Iterator[ListEntry]:
        """The children that the present event can change, by place."""
        found = [instances.always] if instances.always else []
        for (pattern, indices), buckets in instances.index.items():
            captured = self._captured(pattern)
            if captured is not None:
                key = tuple(captured[index] for index in indices)
                try:
                    bucket = buckets.get(_strict(key))
                except TypeError:  # objects and lists cannot be keys
                    continue
                if bucket:
                    found.append(bucket)
        if len(found) == 1:
            return iter(found[0])
        return _distinct(merge(*found))

    # -- places -----------------------------------------------------------------------------------

    def _set_core(self, instances: InstanceList, part: Part) -> None:
        if isinstance(part, InstanceList):
            instances.inert |= part.inert
            for entry in part:
                self._insert(instances, entry.kind, entry.part, instances.last)
            part = part.core
        instances.core = part
        self._count(instances, part, 1)

    def _replace(self, instances: InstanceList, entry: ListEntry, part: Part) -> None:
        if self._is_neutral(entry.kind, part):
            self._remove(instances, entry)
            return
        parts = self._spliced(instances, entry.kind, part)
        if not parts or (len(parts) == 1 and self._has_duplicate(instances, entry.kind, parts[0], entry.before)):
            self._remove(instances, entry)
            return
        self._discount(instances, entry)
        entry.part = parts[0]
        self._index_entry(instances, entry)
        for extra in parts[1:]:
            entry = self._insert_one(instances, entry.kind, extra, entry)

    def _spliced(self, instances: InstanceList, kind: str, part: Part) -> list[Part]:
        """What to put in a child's place: a list of the same kind as the place goes there child by child."""
        pieces = [part]
        if isinstance(part, InstanceList):
            by_turn = self._by_turn(kind, part)
            if by_turn is not None:
                instances.inert |= part.inert
                pieces = by_turn
        kept = [piece for piece in pieces if not self._is_inert(kind, piece)]
        instances.inert |= len(kept) < len(pieces)
        return kept

    def _by_turn(self, kind: str, part: InstanceList) -> list[Part] | None:
        """The parts of a list in the order in which they are tried, if they can stand in a place of this kind."""
        entries = list(part)
        kinds = {entry.kind for entry in entries}
        if kind == AND:
            return [*(entry.part for entry in entries), part.core] if kinds <= {AND} else None
        if AND in kinds:
            return None
        first = [entry.part for entry in entries if entry.kind == LEFT]
        last = [entry.part for entry in reversed(entries) if entry.kind == RIGHT]
        by_turn = [*first, part.core, *last]
        return by_turn if kind == LEFT else by_turn[::-1]

    def _insert(self, instances: InstanceList, kind: str, part: Part, before: ListEntry | None) -> None:
        for piece in self._spliced(instances, kind, part):
            before = self._insert_one(instances, kind, piece, before)

    def _insert_one(self, instances: InstanceList, kind: str, part: Part, before: ListEntry | None) -> ListEntry:
        """A new child next inside `before` (None: outermost), or `before` if it would say nothing new."""
        if before is not None and self._has_duplicate(instances, kind, part, before):
            return before
        instances.shuffled += kind != AND
        after = instances.first if before is None else before.after
        entry = ListEntry(kind, part, self._label(instances, before, after), before, after)
        if before is None:
            instances.first = entry
        else:
            before.after = entry
        if after is None:
            instances.last = entry
        else:
            after.before = entry
        self._index_entry(instances, entry)
        return entry

    def _has_duplicate(self, instances: InstanceList, kind: str, part: Part, last: ListEntry | None) -> bool:
        r"""Is there a child already, up to this one, that says the same?

        ``A /\ A`` is A, if nothing but intersections stands between the two. A law that makes an instance each time
        something is done to an object would otherwise have ever more of them. Children further in may not have taken
        the present event yet.
        """
        if last is None or kind != AND or not isinstance(part, Leaf) or instances.shuffled:
            return False
        index_keys = self._index_keys(kind, part)
        if not index_keys:
            return False
        pattern, key = index_keys[0]
        for entry in instances.index.get(pattern, {}).get(key, ())[:_DUPLICATE_TRIES]:
            if entry.label > last.label:
                return False
            other = entry.part
            if isinstance(other, Leaf) and other.shape == part.shape and _same(other.registers, part.registers):
                return True
        return False

    def _label(self, instances: InstanceList, before: ListEntry | None, after: ListEntry | None) -> int:
        low = 0 if before is None else before.label
        if after is None:
            return low + _GAP
        if after.label - low < 2:
            for number, entry in enumerate(instances, 1):  # the order stays, so every list stays sorted
                entry.label = number * _GAP
            low = 0 if before is None else before.label
        return (low + after.label) // 2

    def _remove(self, instances: InstanceList, entry: ListEntry) -> None:
        self._discount(instances, entry)
        instances.shuffled -= entry.kind != AND
        self._unindex_entry(instances, entry)
        if entry.before is None:
            instances.first = entry.after
        else:
            entry.before.after = entry.after
        if entry.after is None:
            instances.last = entry.before
        else:
            entry.after.before = entry.before

    def _count(self, instances: InstanceList, part: Part, by: int) -> None:
        instances.waiting += by * (not self._halts(part))
        instances.dead += by * self._is_dead(part)

    def _discount(self, instances: InstanceList, entry: ListEntry) -> None:
        instances.waiting -= not entry.halts
        instances.dead -= entry.dead

    # -- keys -------------------------------------------------------------------------------------

    def _index_entry(self, instances: InstanceList, entry: ListEntry) -> None:
        """Count a child that is new or changed, and see to it that the events that concern it find it."""
        entry.halts, entry.dead = self._halts(entry.part), self._is_dead(entry.part)
        instances.waiting += not entry.halts
        instances.dead += entry.dead
        index_keys = self._index_keys(entry.kind, entry.part)
        if index_keys == entry.index_keys and index_keys != ():
            return
        self._unindex_entry(instances, entry)
        entry.index_keys = index_keys
        if index_keys is None:
            insort(instances.always, entry)
            return
        for kind, key in index_keys:
            insort(instances.index.setdefault(kind, {}).setdefault(key, []), entry)

    def _unindex_entry(self, instances: InstanceList, entry: ListEntry) -> None:
        if entry.index_keys is None:
            del instances.always[bisect_left(instances.always, entry)]
        else:
            for kind, key in entry.index_keys:
                bucket = instances.index[kind][key]
                del bucket[bisect_left(bucket, entry)]
                if not bucket:
                    del instances.index[kind][key]
                    if not instances.index[kind]:
                        del instances.index[kind]
        entry.index_keys = ()

    def _index_keys(self, kind: str, part: Part) -> tuple[Any, ...] | None:
        """The keys under which a child waits, or None if every event can change it."""
        if isinstance(part, Leaf):
            end = self._end_if_unmatched(part)
            wanted = "self" if kind == AND else "fail"
            return self._keys(end, part) if end.kind == wanted else None
        index_keys: dict[Any, None] = {}
        inner: Part
        if isinstance(part, FilterPart):
            test = self._end_if_unmatched(part.test)
            keys = None if test.kind == "yes" else self._keys(test, part.test)
            if keys is None:
                return None
            index_keys.update(dict.fromkeys(keys))
            inner = part.otherwise
        elif isinstance(part, InstanceList) and not part.always:
            # A small list in a list of another kind waits for whatever its own children wait for. A large one would
            # have to move too often, and there cannot be many of them.
            for count, entry in enumerate(part):
                index_keys.update(dict.fromkeys(entry.index_keys or ()))
                if count >= _SMALL or len(index_keys) > _SMALL:
                    return None
            inner = part.core
        else:
            return None
        rest = self._index_keys(kind, inner)
        return None if rest is None else tuple(index_keys | dict.fromkeys(rest))

    def _keys(self, end: TreeNode, leaf: Leaf) -> tuple[Any, ...] | None:
        index_keys: dict[Any, None] = {}
        for kind, operands in end.triggers or ():
            key = tuple(self._value(operand, leaf.registers) for operand in operands)
            if any(value is UNDEFINED for value in key):
                continue  # matches nothing, so it need not wait
            if any(isinstance(value, dict | list) for value in key):
                return None
            index_keys[kind, _strict(key)] = None
        return tuple(index_keys)


def _strict(key: tuple[Any, ...]) -> tuple[Any, ...]:
    """A key for a dict that keeps 1, 1.0 and True apart."""
    hash(key)
    return (*key, *map(type, key))


def _same(some: tuple[Any, ...], others: tuple[Any, ...]) -> bool:
    return len(some) == len(others) and all(map(values.identical, some, others))


def _distinct(entries: Iterator[ListEntry]) -> Iterator[ListEntry]:
    last = None
    for entry in entries:
        if entry is not last:
            yield entry
        last = entry
