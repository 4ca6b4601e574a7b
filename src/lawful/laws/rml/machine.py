"""The running state of a law, in pure Python: the counterpart of the C core, with the same interface.

A step is pure: it collects what would change, and only when the whole step succeeds are the changes made.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final

from lawful.laws.rml.instance_list import InstanceLists
from lawful.laws.rml.planner import AND, LEFT, RIGHT, STEP, Operand, Planner, Recipe
from lawful.laws.rml.recursion import with_deep_recursion
from lawful.laws.rml.state import Cell, ClosurePart, FilterPart, InstanceList, Leaf, ListEntry, Part, SequencePart

Change = tuple[Any, ...]
_FAIL: Final = ("fail",)
_SELF: Final = ("self",)


class RmlMachine(InstanceLists):
    """Runs one law over events."""

    def __init__(self, planner: Planner, warn: Callable[[str], None]) -> None:
        super().__init__(planner, warn)
        self.failed = False
        self.at = 0  # which event of those fed last
        self._root: Part = self._build(planner.initial, ())

    # -- the interface that both machines share ---------------------------------------------------

    def feed(self, events: Sequence[Any], start: int, stop_when_dead: bool) -> int:
        """Step through events from one place; returns the place of the event to stop at, or their number.

        It stops at an event without a step (`failed`), and if asked for where nothing can be accepted any more.
        """
        for position in range(start, len(events)):
            self.at = position
            self._event = events[position]
            if not isinstance(self._event, dict):
                raise TypeError(f"an event is a dict, as JSON gives it, not {type(self._event).__name__}")
            self._captures.clear()
            change = with_deep_recursion(lambda: self._step(self._root))
            if change is _FAIL:
                self.failed = True
                return position
            if change is not _SELF:
                self._root = self._collapsed(self._applied(self._root, change))
                if stop_when_dead and self.dead:
                    return position
        return len(events)

    def ignores(self, event: dict[str, Any]) -> bool:
        """Would this event be accepted, and change nothing?"""
        self._event = event
        self._captures.clear()
        return with_deep_recursion(lambda: self._step(self._root)) is _SELF

    @property
    def halts(self) -> bool:
        return self._halts(self._root)

    @property
    def dead(self) -> bool:
        return self._is_dead(self._root)

    @property
    def is_all(self) -> bool:
        return isinstance(self._root, Leaf) and self._planner.is_all(self._root.shape)

    def dump(self) -> Any:
        """The state as plain tuples: recipes whose operands are the values themselves."""
        return self._dumped(self._root)

    def load(self, state: Any) -> None:
        self._root = self._collapsed(self._build(state, ()))

    # -- building ---------------------------------------------------------------------------------

    def _leaf(self, shape: int, operands: tuple[Operand, ...], registers: tuple[Any, ...]) -> Leaf:
        return Leaf(shape, tuple(self._value(operand, registers) for operand in operands))

    def _build(self, recipe: Recipe, registers: tuple[Any, ...]) -> Part:
        kind = recipe[0]
        if kind == "leaf":
            return self._leaf(recipe[1], recipe[2], registers)
        if kind == "instance_list":
            instances = InstanceList(self._build(recipe[2], registers))
            self._count(instances, instances.core, 1)
            for entry_kind, child in recipe[1]:
                self._insert(instances, entry_kind, self._build(child, registers), instances.last)
            return instances
        if kind == "sequence":
            rest: Cell | None = None
            for shape, operands in reversed(recipe[2:]):
                rest = self._cell(self._leaf(shape, operands, registers), rest)
            return self._sequence(self._build(recipe[1], registers), rest)
        if kind == "filter":
            shape, operands = recipe[1]
            test = self._leaf(shape, operands, registers)
            return FilterPart(test, self._build(recipe[2], registers), self._build(recipe[3], registers))
        return ClosurePart(self._build(recipe[1], registers))

    def _cell(self, leaf: Leaf, rest: Cell | None) -> Cell:
        halts = self._halts(leaf) and (rest is None or rest.halts)
        return Cell(leaf, rest, halts, self._is_dead(leaf) or (rest is not None and rest.dead))

    def _sequence(self, head: Part, rest: Cell | None) -> Part:
        while rest is not None and self._is_empty(head):
            head, rest = self._build(self._planner.expand(rest.leaf.shape), rest.leaf.registers), rest.rest
        if rest is None:
            return head
        if isinstance(head, SequencePart):
            for cell in reversed(list(head.rest)):
                rest = self._cell(cell.leaf, rest)
            head = head.head
        return SequencePart(head, rest)

    # -- stepping: what would change --------------------------------------------------------------

    def _step(self, part: Part) -> Change:
        if isinstance(part, Leaf):
            end = self._end(self._step_trees, STEP, part)
            return _FAIL if end.kind == "fail" else _SELF if end.kind == "self" else ("become", end.question[1])
        if isinstance(part, InstanceList):
            return self._step_instance_list(part)
        if isinstance(part, SequencePart):
            return self._step_sequence(part)
        if isinstance(part, FilterPart):
            matched = self._end(self._step_trees, STEP, part.test).kind == "yes"
            change = self._step(part.body if matched else part.otherwise)
            return change if change is _FAIL or change is _SELF else ("within", matched, change)
        change = self._step(part.body)
        return change if change is _FAIL or change is _SELF else ("within", True, change)

    def _step_sequence(self, part: SequencePart) -> Change:
        change = self._step(part.head)
        if change is _SELF:
            return change
        if change is not _FAIL:
            return "head", change
        if not self._halts(part.head):
            return _FAIL
        for cell in part.rest:
            change = self._step(cell.leaf)
            if change is not _FAIL:
                return "cell", cell, change
            if not self._halts(cell.leaf):
                return _FAIL
        return _FAIL

    def _step_instance_list(self, instances: InstanceList) -> Change:
        changes: list[tuple[ListEntry, Change]] = []
        fallback: list[ListEntry] = []
        for entry in self._affected(instances):
            if entry.kind == RIGHT:
                fallback.append(entry)
                continue
            change = self._step(entry.part)
            if change is _FAIL:
                if entry.kind == AND:
                    return self._try_fallback(fallback, changes)
                continue
            if change is not _SELF:
                changes.append((entry, change))
            if entry.kind == LEFT:
                return ("entries", changes, _SELF) if changes else _SELF
        core = self._step(instances.core)
        if core is _FAIL:
            return self._try_fallback(fallback, changes)
        return ("entries", changes, core) if changes or core is not _SELF else _SELF

    def _try_fallback(self, fallback: list[ListEntry], changes: list[tuple[ListEntry, Change]]) -> Change:
        """Something inside failed: a right-hand operand around it may take the event instead, the innermost first."""
        for entry in reversed(fallback):
            change = self._step(entry.part)
            if change is not _FAIL:
                kept = [(other, done) for other, done in changes if other.label < entry.label]
                if change is not _SELF:
                    kept.append((entry, change))
                return ("entries", kept, _SELF) if kept else _SELF
        return _FAIL

    # -- making the changes -----------------------------------------------------------------------

    def _applied(self, part: Part, change: Change) -> Part:
        if isinstance(part, Leaf):
            return self._build(change[1], part.registers)
        if isinstance(part, InstanceList):
            self._apply_instance_list(part, change[1], change[2])
            return part
        if isinstance(part, SequencePart):
            if change[0] == "head":
                return self._sequence(self._collapsed(self._applied(part.head, change[1])), part.rest)
            _, cell, change = change
            if change is _SELF:  # the head is over all the same
                return self._sequence(
                    self._build(self._planner.expand(cell.leaf.shape), cell.leaf.registers), cell.rest
                )
            return self._sequence(self._applied(cell.leaf, change), cell.rest)
        if isinstance(part, ClosurePart) or change[1]:
            part.body = self._collapsed(self._applied(part.body, change[2]))
        else:
            part.otherwise = self._collapsed(self._applied(part.otherwise, change[2]))
        return part

    def _collapsed(self, part: Part) -> Part:
        """A list without children is its core."""
        while isinstance(part, InstanceList) and part.first is None and not part.inert:
            part = part.core
        return part

    def _apply_instance_list(
        self, instances: InstanceList, changes: list[tuple[ListEntry, Change]], core: Change
    ) -> None:
        for entry, change in changes:
            self._replace(instances, entry, self._collapsed(self._applied(entry.part, change)))
        if core is not _SELF:
            self._count(instances, instances.core, -1)
            self._set_core(instances, self._collapsed(self._applied(instances.core, core)))
        # The child around a core that is `all` or `empty` becomes the core.
        while instances.last is not None and self._is_neutral(instances.last.kind, instances.core):
            last = instances.last
            self._count(instances, instances.core, -1)
            self._remove(instances, last)
            self._set_core(instances, last.part)

    # -- out and in -------------------------------------------------------------------------------

    def _dumped(self, part: Part) -> Recipe:
        if isinstance(part, Leaf):
            return ("leaf", *_constants(part))
        if isinstance(part, InstanceList):
            entries = tuple((entry.kind, self._dumped(entry.part)) for entry in part)
            if part.inert:
                entries = ((AND, ("leaf", self._planner.inert, ())), *entries)
            return "instance_list", entries, self._dumped(part.core)
        if isinstance(part, FilterPart):
            return "filter", _constants(part.test), self._dumped(part.body), self._dumped(part.otherwise)
        if isinstance(part, ClosurePart):
            return "closure", self._dumped(part.body)
        return "sequence", self._dumped(part.head), *(_constants(cell.leaf) for cell in part.rest)


def _constants(leaf: Leaf) -> tuple[int, tuple[Operand, ...]]:
    return leaf.shape, tuple(("constant", value) for value in leaf.registers)
