"""The children of spines: each at its place, and found by the events that concern it.

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
from lawful.laws.rml.state import Filter, Frame, Leaf, Part, Spine
from lawful.laws.rml.values import UNDEFINED
from lawful.laws.rml.walker import Tree, Walker

_GAP: Final = 1 << 32
_SMALL: Final = 16  # children of a spine that can wait together
_TWIN_TRIES: Final = 16  # children about the same object that are compared


class Spines(Walker):
    """Puts children in, takes them out, and finds them."""

    def _touched(self, spine: Spine) -> Iterator[Frame]:
        """The children that the present event can change, by place."""
        found = [spine.always] if spine.always else []
        for (pattern, indices), buckets in spine.index.items():
            captured = self._captured(pattern)
            if captured is not None:
                key = tuple(captured[index] for index in indices)
                try:
                    bucket = buckets.get(_strict(key))
                except TypeError:  # an object or a list is no key
                    continue
                if bucket:
                    found.append(bucket)
        if len(found) == 1:
            return iter(found[0])
        return _distinct(merge(*found))

    # -- places -----------------------------------------------------------------------------------

    def _set_core(self, spine: Spine, part: Part) -> None:
        if isinstance(part, Spine):
            spine.inert |= part.inert
            for frame in part:
                self._insert(spine, frame.kind, frame.part, spine.last)
            part = part.core
        spine.core = part
        self._count(spine, part, 1)

    def _replace(self, spine: Spine, frame: Frame, part: Part) -> None:
        if self._is_neutral(frame.kind, part):
            self._remove(spine, frame)
            return
        parts = self._spliced(spine, frame.kind, part)
        if not parts or (len(parts) == 1 and self._has_twin(spine, frame.kind, parts[0], frame.before)):
            self._remove(spine, frame)
            return
        self._discount(spine, frame)
        frame.part = parts[0]
        self._settle(spine, frame)
        for extra in parts[1:]:
            frame = self._insert_one(spine, frame.kind, extra, frame)

    def _spliced(self, spine: Spine, kind: str, part: Part) -> list[Part]:
        """What to put in a child's place: a spine of the same kind as the place goes there child by child."""
        pieces = [part]
        if isinstance(part, Spine):
            by_turn = self._by_turn(kind, part)
            if by_turn is not None:
                spine.inert |= part.inert
                pieces = by_turn
        kept = [piece for piece in pieces if not self._is_inert(kind, piece)]
        spine.inert |= len(kept) < len(pieces)
        return kept

    def _by_turn(self, kind: str, part: Spine) -> list[Part] | None:
        """The parts of a spine in the order in which they are tried, if they can stand in a place of this kind."""
        frames = list(part)
        kinds = {frame.kind for frame in frames}
        if kind == AND:
            return [*(frame.part for frame in frames), part.core] if kinds <= {AND} else None
        if AND in kinds:
            return None
        first = [frame.part for frame in frames if frame.kind == LEFT]
        last = [frame.part for frame in reversed(frames) if frame.kind == RIGHT]
        by_turn = [*first, part.core, *last]
        return by_turn if kind == LEFT else by_turn[::-1]

    def _insert(self, spine: Spine, kind: str, part: Part, before: Frame | None) -> None:
        for piece in self._spliced(spine, kind, part):
            before = self._insert_one(spine, kind, piece, before)

    def _insert_one(self, spine: Spine, kind: str, part: Part, before: Frame | None) -> Frame:
        """A new child next inside `before` (None: outermost), or `before` if it would say nothing new."""
        if before is not None and self._has_twin(spine, kind, part, before):
            return before
        spine.shuffled += kind != AND
        after = spine.first if before is None else before.after
        frame = Frame(kind, part, self._label(spine, before, after))
        frame.before, frame.after = before, after
        if before is None:
            spine.first = frame
        else:
            before.after = frame
        if after is None:
            spine.last = frame
        else:
            after.before = frame
        self._settle(spine, frame)
        return frame

    def _has_twin(self, spine: Spine, kind: str, part: Part, last: Frame | None) -> bool:
        r"""Is there a child already, up to this one, that says the same?

        ``A /\ A`` is A, if nothing but intersections stands between the two. A law that makes an instance each time
        something is done to an object would otherwise have ever more of them. Children further in may not have taken
        the present event yet.
        """
        if last is None or kind != AND or not isinstance(part, Leaf) or spine.shuffled:
            return False
        homes = self._homes(kind, part)
        if not homes:
            return False
        pattern, key = homes[0]
        for frame in spine.index.get(pattern, {}).get(key, ())[:_TWIN_TRIES]:
            if frame.label > last.label:
                return False
            other = frame.part
            if isinstance(other, Leaf) and other.shape == part.shape and _same(other.registers, part.registers):
                return True
        return False

    def _label(self, spine: Spine, before: Frame | None, after: Frame | None) -> int:
        low = 0 if before is None else before.label
        if after is None:
            return low + _GAP
        if after.label - low < 2:
            for number, frame in enumerate(spine, 1):  # the order stays, so every list stays sorted
                frame.label = number * _GAP
            low = 0 if before is None else before.label
        return (low + after.label) // 2

    def _remove(self, spine: Spine, frame: Frame) -> None:
        self._discount(spine, frame)
        spine.shuffled -= frame.kind != AND
        self._leave(spine, frame)
        if frame.before is None:
            spine.first = frame.after
        else:
            frame.before.after = frame.after
        if frame.after is None:
            spine.last = frame.before
        else:
            frame.after.before = frame.before

    def _count(self, spine: Spine, part: Part, by: int) -> None:
        spine.waiting += by * (not self._halts(part))
        spine.doomed += by * self._is_doomed(part)

    def _discount(self, spine: Spine, frame: Frame) -> None:
        spine.waiting -= not frame.halts
        spine.doomed -= frame.doomed

    # -- keys -------------------------------------------------------------------------------------

    def _settle(self, spine: Spine, frame: Frame) -> None:
        """Count a child that is new or changed, and see to it that the events that concern it find it."""
        frame.halts, frame.doomed = self._halts(frame.part), self._is_doomed(frame.part)
        spine.waiting += not frame.halts
        spine.doomed += frame.doomed
        homes = self._homes(frame.kind, frame.part)
        if homes == frame.homes and homes != ():
            return
        self._leave(spine, frame)
        frame.homes = homes
        if homes is None:
            insort(spine.always, frame)
            return
        for kind, key in homes:
            insort(spine.index.setdefault(kind, {}).setdefault(key, []), frame)

    def _leave(self, spine: Spine, frame: Frame) -> None:
        if frame.homes is None:
            del spine.always[bisect_left(spine.always, frame)]
        else:
            for kind, key in frame.homes:
                bucket = spine.index[kind][key]
                del bucket[bisect_left(bucket, frame)]
                if not bucket:
                    del spine.index[kind][key]
                    if not spine.index[kind]:
                        del spine.index[kind]
        frame.homes = ()

    def _homes(self, kind: str, part: Part) -> tuple[Any, ...] | None:
        """The keys under which a child waits, or None if every event can change it."""
        if isinstance(part, Leaf):
            end = self._unconcerned(part)
            wanted = "self" if kind == AND else "fail"
            return self._keys(end, part) if end.kind == wanted else None
        homes: dict[Any, None] = {}
        inner: Part
        if isinstance(part, Filter):
            test = self._unconcerned(part.test)
            keys = None if test.kind == "yes" else self._keys(test, part.test)
            if keys is None:
                return None
            homes.update(dict.fromkeys(keys))
            inner = part.otherwise
        elif isinstance(part, Spine) and not part.always:
            # A small spine in a spine of another kind waits for whatever its own children wait for. A large one would
            # have to move too often, and there cannot be many of them.
            for count, frame in enumerate(part):
                homes.update(dict.fromkeys(frame.homes or ()))
                if count >= _SMALL or len(homes) > _SMALL:
                    return None
            inner = part.core
        else:
            return None
        rest = self._homes(kind, inner)
        return None if rest is None else tuple(homes | dict.fromkeys(rest))

    def _keys(self, end: Tree, leaf: Leaf) -> tuple[Any, ...] | None:
        homes: dict[Any, None] = {}
        for kind, operands in end.watch or ():
            key = tuple(self._value(operand, leaf.registers) for operand in operands)
            if any(value is UNDEFINED for value in key):
                continue  # matches nothing, so it need not wait
            if any(isinstance(value, dict | list) for value in key):
                return None
            homes[kind, _strict(key)] = None
        return tuple(homes)


def _strict(key: tuple[Any, ...]) -> tuple[Any, ...]:
    """A key for a dict that keeps 1, 1.0 and True apart."""
    hash(key)
    return (*key, *map(type, key))


def _same(some: tuple[Any, ...], others: tuple[Any, ...]) -> bool:
    return len(some) == len(others) and all(map(values.identical, some, others))


def _distinct(frames: Iterator[Frame]) -> Iterator[Frame]:
    last = None
    for frame in frames:
        if frame is not last:
            yield frame
        last = frame
