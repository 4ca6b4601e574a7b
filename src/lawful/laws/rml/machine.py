"""The running state of a law, in pure Python: the twin of the C core, with the same interface.

A state is a tree of parts. A *leaf* is an instance of a shape. A *spine* holds what grows: children that stand around
a core, outermost first, each as ``child /\\ rest``, ``child | rest`` or ``rest | child``. A child for which an event
that does not concern it changes nothing is visited only when an event touches its keys, so the cost of an event does
not depend on how many instances are alive. A *sequence* is a head and a linked list of what follows it.

A step is pure: it collects what would change, and only when the whole step succeeds are the changes made.
"""

from __future__ import annotations

from bisect import bisect_left, insort
from collections.abc import Callable, Iterator, Sequence
from heapq import merge
from typing import Any, Final

from lawful.laws.rml import patterns, values
from lawful.laws.rml.planner import AND, HALT, LEFT, RIGHT, STEP, Operand, Planner, Recipe
from lawful.laws.rml.recursion import deeply
from lawful.laws.rml.values import UNDEFINED, NoValue

_GAP: Final = 1 << 32
_SMALL: Final = 16  # children of a spine that can wait together
_TWIN_TRIES: Final = 16  # children about the same object that are compared


class Tree:
    """A node of a decision tree; its branches are built when they are first taken."""

    __slots__ = ("answers", "kind", "no", "payload", "shape", "tree", "watch", "yes")

    def __init__(self, planner: Planner, tree: str, shape: int, answers: tuple[bool, ...]) -> None:
        kind, *payload = planner.node(tree, shape, answers)
        self.kind: str = kind
        self.payload: Any = tuple(payload)
        self.tree = tree
        self.shape = shape
        self.answers = answers
        self.yes: Tree | None = None
        self.no: Tree | None = None
        self.watch: tuple[Watch, ...] | None = None  # at an end: what was asked of the event on the way here

    def branch(self, planner: Planner, answer: bool) -> Tree:
        found = self.yes if answer else self.no
        if found is None:
            found = Tree(planner, self.tree, self.shape, (*self.answers, answer))
            if answer:
                self.yes = found
            else:
                self.no = found
        return found


Watch = tuple[tuple[int, tuple[int, ...]], tuple[Operand, ...]]
"""A question that could wake a child: the pattern with the captures that are compared, and what with."""

_FAIL: Final = ("fail",)
_SELF: Final = ("self",)


class Leaf:
    """An instance: a shape and its registers."""

    __slots__ = ("registers", "shape")

    def __init__(self, shape: int, registers: tuple[Any, ...]) -> None:
        self.shape = shape
        self.registers = registers


class Cell:
    """What follows in a sequence; knows whether the whole rest may halt."""

    __slots__ = ("doomed", "halts", "leaf", "rest")

    def __init__(self, leaf: Leaf, rest: Cell | None, halts: bool, doomed: bool) -> None:
        self.leaf = leaf
        self.rest = rest
        self.halts = halts
        self.doomed = doomed


class Chain:
    """A head and what follows it."""

    __slots__ = ("head", "rest")

    def __init__(self, head: Part, rest: Cell) -> None:
        self.head = head
        self.rest = rest


class Filter:
    """A filter whose branches grow; the test is a leaf that ends in yes or no."""

    __slots__ = ("body", "otherwise", "test")

    def __init__(self, test: Leaf, body: Part, otherwise: Part) -> None:
        self.test = test
        self.body = body
        self.otherwise = otherwise


class Closure:
    """The prefix closure of what grows."""

    __slots__ = ("body",)

    def __init__(self, body: Part) -> None:
        self.body = body


class Frame:
    """A child of a spine, at its place."""

    __slots__ = ("after", "before", "doomed", "halts", "homes", "kind", "label", "part")

    def __init__(self, kind: str, part: Part, label: int) -> None:
        self.kind = kind
        self.part = part
        self.label = label
        self.homes: tuple[Any, ...] | None = ()  # the keys under which it is found; None: visited always
        self.halts = True
        self.doomed = False
        self.before: Frame | None = None
        self.after: Frame | None = None

    def __lt__(self, other: Frame) -> bool:
        return self.label < other.label


class Spine:
    """Children around a core."""

    __slots__ = ("always", "core", "doomed", "first", "index", "inert", "last", "shuffled", "waiting")

    def __init__(self, core: Part) -> None:
        self.core = core
        self.first: Frame | None = None  # the outermost child
        self.last: Frame | None = None
        self.always: list[Frame] = []
        self.index: dict[tuple[int, tuple[int, ...]], dict[Any, list[Frame]]] = {}
        self.waiting = 0  # children that may not halt
        self.doomed = 0
        self.shuffled = 0  # children that do not stand as `child /\ rest`
        self.inert = False  # children were let go that are not `all` or `empty`, but will never matter again

    def __iter__(self) -> Iterator[Frame]:
        frame = self.first
        while frame is not None:
            yield frame
            frame = frame.after


Part = Leaf | Spine | Chain | Filter | Closure
Change = tuple[Any, ...]


class Machine:
    """Runs one law over events."""

    def __init__(self, planner: Planner, warn: Callable[[str], None]) -> None:
        self._planner = planner
        self._warn = warn
        self._step_trees: dict[int, Tree] = planner.trees[STEP]
        self._halt_trees: dict[int, Tree] = planner.trees[HALT]
        self._event: Any = None
        self._captures: dict[int, list[Any] | None] = {}
        self.failed = False
        self.at = 0  # which event of those fed last
        self._root: Part = self._build(planner.initial, ())

    # -- the interface that both machines share ---------------------------------------------------

    def feed(self, events: Sequence[Any], start: int, stop_when_doomed: bool) -> int:
        """Step through events from one place; returns the place of the event to stop at, or their number.

        It stops at an event without a step (`failed`), and if asked for where nothing can be accepted any more.
        """
        for position in range(start, len(events)):
            self.at = position
            self._event = events[position]
            if not isinstance(self._event, dict):
                raise TypeError(f"an event is a dict, as JSON gives it, not {type(self._event).__name__}")
            self._captures.clear()
            change = deeply(lambda: self._step(self._root))
            if change is _FAIL:
                self.failed = True
                return position
            if change is not _SELF:
                self._root = self._collapsed(self._applied(self._root, change))
                if stop_when_doomed and self.doomed:
                    return position
        return len(events)

    def ignores(self, event: dict[str, Any]) -> bool:
        """Would this event be accepted, and change nothing?"""
        self._event = event
        self._captures.clear()
        return deeply(lambda: self._step(self._root)) is _SELF

    @property
    def halts(self) -> bool:
        return self._halts(self._root)

    @property
    def doomed(self) -> bool:
        return self._is_doomed(self._root)

    @property
    def is_all(self) -> bool:
        return isinstance(self._root, Leaf) and self._planner.is_all(self._root.shape)

    def dump(self) -> Any:
        """The state as plain tuples: recipes whose operands are the values themselves."""
        return self._dumped(self._root)

    def load(self, state: Any) -> None:
        self._root = self._collapsed(self._build(state, ()))

    # -- values -----------------------------------------------------------------------------------

    def _captured(self, pattern: int) -> list[Any] | None:
        """What the present event has at the captures of a pattern; None if it does not match."""
        try:
            return self._captures[pattern]
        except KeyError:
            tree, size = self._planner.pattern(pattern)
            found: list[Any] | None = [None] * size
            if not patterns.match(tree, self._event, found):  # type: ignore[arg-type]
                found = None
            self._captures[pattern] = found
            return found

    def _value(self, operand: Operand, registers: tuple[Any, ...]) -> Any:
        kind = operand[0]
        if kind == "slot":
            return registers[operand[1]]
        if kind == "capture":
            captured = self._captured(operand[1])
            assert captured is not None
            return captured[operand[2]]
        if kind == "constant":
            return operand[1]
        try:
            return values.evaluate(operand, lambda part: self._value(part, registers))
        except NoValue as error:
            self._warn(str(error))
            return UNDEFINED

    def _holds(self, operand: Operand, registers: tuple[Any, ...]) -> bool:
        result = self._value(operand, registers)
        if result.__class__ is not bool and result is not UNDEFINED:
            self._warn(f"a condition must be true or false, not {values.describe(result)}")
        return result is True

    # -- trees ------------------------------------------------------------------------------------

    def _answer(self, node: Tree, registers: tuple[Any, ...]) -> bool:
        return self._answered((node.kind, *node.payload), registers)

    def _answered(self, question: tuple[Any, ...], registers: tuple[Any, ...]) -> bool:
        kind = question[0]
        if kind == "match":
            _, pattern, constraints = question
            captured = self._captured(pattern)
            if captured is None:
                return False
            return all(values.matches(self._value(ref, registers), captured[i]) for i, ref in constraints)
        if kind == "guard":
            return self._holds(question[1], registers)
        a, b = (self._value(operand, registers) for operand in question[1:])
        return values.matches(a, b) if kind == "sub" else values.identical(a, b)

    def _end(self, trees: dict[int, Tree], tree: str, leaf: Leaf) -> Tree:
        """Walk a leaf's tree with the present event to its end."""
        node = trees.get(leaf.shape)
        if node is None:
            node = trees[leaf.shape] = Tree(self._planner, tree, leaf.shape, ())
        while node.kind in _QUESTIONS:
            node = node.branch(self._planner, self._answer(node, leaf.registers))
        return node

    def _unconcerned(self, leaf: Leaf) -> Tree:
        """The end of a leaf's tree for an event that matches nothing it asks for, with what it asked on the way."""
        node = self._step_trees.get(leaf.shape)
        if node is None:
            node = self._step_trees[leaf.shape] = Tree(self._planner, STEP, leaf.shape, ())
        asked: list[Watch] = []
        while node.kind in _QUESTIONS:
            answer = False
            if node.kind == "match":
                pattern, constraints = node.payload
                kind = (pattern, tuple(index for index, _ in constraints))
                asked.append((kind, tuple(operand for _, operand in constraints)))
            else:
                answer = self._answer(node, leaf.registers)
            node = node.branch(self._planner, answer)
        if node.watch is None:
            node.watch = tuple(asked)
        return node

    # -- building ---------------------------------------------------------------------------------

    def _leaf(self, shape: int, operands: tuple[Operand, ...], registers: tuple[Any, ...]) -> Leaf:
        return Leaf(shape, tuple(self._value(operand, registers) for operand in operands))

    def _build(self, recipe: Recipe, registers: tuple[Any, ...]) -> Part:
        kind = recipe[0]
        if kind == "leaf":
            return self._leaf(recipe[1], recipe[2], registers)
        if kind == "spine":
            spine = Spine(self._build(recipe[2], registers))
            self._count(spine, spine.core, 1)
            for frame_kind, child in recipe[1]:
                self._insert(spine, frame_kind, self._build(child, registers), spine.last)
            return spine
        if kind == "sequence":
            rest: Cell | None = None
            for shape, operands in reversed(recipe[2:]):
                rest = self._cell(self._leaf(shape, operands, registers), rest)
            return self._sequence(self._build(recipe[1], registers), rest)
        if kind == "filter":
            shape, operands = recipe[1]
            test = self._leaf(shape, operands, registers)
            return Filter(test, self._build(recipe[2], registers), self._build(recipe[3], registers))
        return Closure(self._build(recipe[1], registers))

    def _cell(self, leaf: Leaf, rest: Cell | None) -> Cell:
        halts = self._halts(leaf) and (rest is None or rest.halts)
        return Cell(leaf, rest, halts, self._is_doomed(leaf) or (rest is not None and rest.doomed))

    def _sequence(self, head: Part, rest: Cell | None) -> Part:
        while rest is not None and self._is_empty(head):
            head, rest = self._build(self._planner.expand(rest.leaf.shape), rest.leaf.registers), rest.rest
        if rest is None:
            return head
        if isinstance(head, Chain):
            cells = []
            cell: Cell | None = head.rest
            while cell is not None:
                cells.append(cell)
                cell = cell.rest
            for cell in reversed(cells):
                rest = self._cell(cell.leaf, rest)
            head = head.head
        return Chain(head, rest)

    # -- properties of parts ----------------------------------------------------------------------

    def _halts(self, part: Part) -> bool:
        if isinstance(part, Leaf):
            return self._end(self._halt_trees, HALT, part).kind == "yes"
        if isinstance(part, Spine):
            return not part.waiting
        if isinstance(part, Chain):
            return part.rest.halts and self._halts(part.head)
        if isinstance(part, Filter):
            return self._halts(part.body) and self._halts(part.otherwise)
        return True

    def _is_doomed(self, part: Part) -> bool:
        if isinstance(part, Leaf):
            return self._planner.doomed(part.shape)
        if isinstance(part, Spine):
            return part.doomed > 0
        if isinstance(part, Chain):
            return part.rest.doomed or self._is_doomed(part.head)
        if isinstance(part, Filter):
            return self._is_doomed(part.body) or self._is_doomed(part.otherwise)
        return False

    def _is_empty(self, part: Part) -> bool:
        return isinstance(part, Leaf) and self._planner.is_empty(part.shape)

    def _is_inert(self, kind: str, part: Part) -> bool:
        """Will the child do nothing, whatever comes, as ``e >> all : all`` does?"""
        if not isinstance(part, Leaf):
            return False
        end = self._unconcerned(part)
        if end.answers or end.kind != ("self" if kind == AND else "fail"):
            return False
        return self._halts(part) and not self._is_doomed(part)

    def _is_neutral(self, kind: str, part: Part) -> bool:
        r"""``all /\ A`` and ``empty | A`` are A."""
        if not isinstance(part, Leaf):
            return False
        return self._planner.is_exactly_all(part.shape) if kind == AND else self._planner.is_empty(part.shape)

    # -- stepping: what would change --------------------------------------------------------------

    def _step(self, part: Part) -> Change:
        if isinstance(part, Leaf):
            end = self._end(self._step_trees, STEP, part)
            return _FAIL if end.kind == "fail" else _SELF if end.kind == "self" else ("become", end.payload[0])
        if isinstance(part, Spine):
            return self._step_spine(part)
        if isinstance(part, Chain):
            return self._step_sequence(part)
        if isinstance(part, Filter):
            matched = self._end(self._step_trees, STEP, part.test).kind == "yes"
            change = self._step(part.body if matched else part.otherwise)
            return change if change is _FAIL or change is _SELF else ("within", matched, change)
        change = self._step(part.body)
        return change if change is _FAIL or change is _SELF else ("within", True, change)

    def _step_sequence(self, part: Chain) -> Change:
        change = self._step(part.head)
        if change is _SELF:
            return change
        if change is not _FAIL:
            return "head", change
        if not self._halts(part.head):
            return _FAIL
        cell: Cell | None = part.rest
        while cell is not None:
            change = self._step(cell.leaf)
            if change is not _FAIL:
                return "cell", cell, change
            if not self._halts(cell.leaf):
                return _FAIL
            cell = cell.rest
        return _FAIL

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

    def _step_spine(self, spine: Spine) -> Change:
        changes: list[tuple[Frame, Change]] = []
        rescue: list[Frame] = []
        for frame in self._touched(spine):
            if frame.kind == RIGHT:
                rescue.append(frame)
                continue
            change = self._step(frame.part)
            if change is _FAIL:
                if frame.kind == AND:
                    return self._rescued(rescue, changes)
                continue
            if change is not _SELF:
                changes.append((frame, change))
            if frame.kind == LEFT:
                return ("frames", changes, _SELF) if changes else _SELF
        core = self._step(spine.core)
        if core is _FAIL:
            return self._rescued(rescue, changes)
        return ("frames", changes, core) if changes or core is not _SELF else _SELF

    def _rescued(self, rescue: list[Frame], changes: list[tuple[Frame, Change]]) -> Change:
        """Something inside failed: a right-hand operand around it may take the event instead, the innermost first."""
        for frame in reversed(rescue):
            change = self._step(frame.part)
            if change is not _FAIL:
                kept = [(other, done) for other, done in changes if other.label < frame.label]
                if change is not _SELF:
                    kept.append((frame, change))
                return ("frames", kept, _SELF) if kept else _SELF
        return _FAIL

    # -- making the changes -----------------------------------------------------------------------

    def _applied(self, part: Part, change: Change) -> Part:
        if isinstance(part, Leaf):
            return self._build(change[1], part.registers)
        if isinstance(part, Spine):
            self._apply_spine(part, change[1], change[2])
            return part
        if isinstance(part, Chain):
            if change[0] == "head":
                return self._sequence(self._collapsed(self._applied(part.head, change[1])), part.rest)
            _, cell, change = change
            if change is _SELF:  # the head is over all the same
                return self._sequence(
                    self._build(self._planner.expand(cell.leaf.shape), cell.leaf.registers), cell.rest
                )
            return self._sequence(self._applied(cell.leaf, change), cell.rest)
        if isinstance(part, Closure) or change[1]:
            part.body = self._collapsed(self._applied(part.body, change[2]))
        else:
            part.otherwise = self._collapsed(self._applied(part.otherwise, change[2]))
        return part

    def _collapsed(self, part: Part) -> Part:
        """A spine without children is its core."""
        while isinstance(part, Spine) and part.first is None and not part.inert:
            part = part.core
        return part

    def _apply_spine(self, spine: Spine, changes: list[tuple[Frame, Change]], core: Change) -> None:
        for frame, change in changes:
            self._replace(spine, frame, self._collapsed(self._applied(frame.part, change)))
        if core is not _SELF:
            self._count(spine, spine.core, -1)
            self._set_core(spine, self._collapsed(self._applied(spine.core, core)))
        # A core that has nothing more to say gives its place to the child around it.
        while spine.last is not None and self._is_neutral(spine.last.kind, spine.core):
            last = spine.last
            self._count(spine, spine.core, -1)
            self._remove(spine, last)
            self._set_core(spine, last.part)

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

    # -- the children of a spine, by place and by key ---------------------------------------------

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

    # -- out and in -------------------------------------------------------------------------------

    def _dumped(self, part: Part) -> Recipe:
        if isinstance(part, Leaf):
            return ("leaf", *_constants(part))
        if isinstance(part, Spine):
            frames = tuple((frame.kind, self._dumped(frame.part)) for frame in part)
            if part.inert:
                frames = ((AND, ("leaf", self._planner.inert, ())), *frames)
            return "spine", frames, self._dumped(part.core)
        if isinstance(part, Filter):
            return "filter", _constants(part.test), self._dumped(part.body), self._dumped(part.otherwise)
        if isinstance(part, Closure):
            return "closure", self._dumped(part.body)
        cells = []
        cell: Cell | None = part.rest
        while cell is not None:
            cells.append(_constants(cell.leaf))
            cell = cell.rest
        return "sequence", self._dumped(part.head), *cells


_QUESTIONS: Final = frozenset(("match", "sub", "same", "guard"))


def _constants(leaf: Leaf) -> tuple[int, tuple[Operand, ...]]:
    return leaf.shape, tuple(("constant", value) for value in leaf.registers)


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
