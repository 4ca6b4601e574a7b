"""A law as an automaton that can be drawn: the states that can be reached, and the events that lead between them.

A state is a shape with those of its registers whose values are known, as the count in ``a{3}``. Where counting does
not end, the values are given up, and conditions on them stand at the transitions. A law that grows has no automaton,
but its parts have: each kind of instance it starts is a part of its own.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Final, Literal, NamedTuple

from lawful.errors import LawError
from lawful.laws.rml import event_types, reachability, syntax, terms
from lawful.laws.rml.equations import reachable
from lawful.laws.rml.event_matcher import SAME, Bindings, Question
from lawful.laws.rml.planner import AND, HALT, STEP, Answers, Node, Operand, Planner, Recipe
from lawful.laws.rml.printer import format_data
from lawful.laws.rml.reachability import UNKNOWN
from lawful.laws.rml.stepper import Stepper
from lawful.laws.rml.term_printer import TermPrinter
from lawful.laws.rml.terms import Ref, Term

if TYPE_CHECKING:
    from lawful.laws.rml.law import RmlLaw

MOST_STATES: Final = 500
_WORK_PER_STATE: Final = 300  # in steps of middling terms

OTHER: Final = "other"
ANY: Final = "any"

Manner = Literal["and", "beside", "then", "filter", "otherwise"]
"""How an instance stands to what started it."""


@dataclass(frozen=True, slots=True)
class State:
    """One state; states count from 0."""

    text: str  # what may still come, in RML
    part: int
    may_end: bool
    ends_if: tuple[str, ...]  # may_end depends on values: one of these must hold
    is_true: bool  # whatever comes, the law holds
    dead: bool  # whatever comes, it is too late


@dataclass(frozen=True, slots=True)
class Transition:
    """A step between two states; without a target the law is broken."""

    source: int
    target: int | None
    labels: tuple[str, ...]  # any one of these


@dataclass(frozen=True, slots=True)
class Spawn:
    """The start of one more instance."""

    source: int
    target: int
    labels: tuple[str, ...]
    manner: Manner


@dataclass(frozen=True, slots=True)
class Automaton:
    """The automaton of a law; the first part is that of `Main`, and its first state the start."""

    states: tuple[State, ...]
    transitions: tuple[Transition, ...]
    spawns: tuple[Spawn, ...]
    starts: tuple[int, ...]  # of each part its first state
    remembered: tuple[str, ...]  # the names of values that states hold

    @property
    def finite(self) -> bool:
        """Is this the whole law? Otherwise it grows, and these are its parts."""
        return not self.spawns


class NotFiniteError(LawError):
    """No automaton within the number of states allowed."""

    def __init__(self, law: str, most: int) -> None:
        super().__init__(
            "rml-not-finite",
            f"no automaton was found within {most} {'state' if most == 1 else 'states'}",
            where=law,
            hint=f"`--max-states {most * 10}` looks further, but a drawing that large shows little",
        )
        self.most = most


def automaton(law: RmlLaw, most_states: int = MOST_STATES) -> Automaton:
    """The automaton of a law, or of its parts. Raises NotFiniteError where there are more states than that."""
    for counting in (True, False):
        try:
            return _Builder(law, most_states, counting).build()
        except _TooMany:
            continue
    raise NotFiniteError(law.name, most_states)


class _TooMany(Exception):
    pass


class _Key(NamedTuple):
    """What makes two states one."""

    part: int
    shape: int
    known: tuple[Any, ...]  # (type name, value), or None; the type keeps 1, 1.0 and true apart
    closed: bool  # under a prefix closure that is kept in parts


_Atom = tuple[str, tuple[Ref, ...]]
"""An event type with its arguments."""


@dataclass(slots=True)
class _Path:
    """One way through the tree of a state."""

    atoms: dict[_Atom, bool]  # the event types asked for
    conditions: tuple[str, ...]
    texts: dict[_Atom, str]
    writer: TermPrinter
    target: int | None = None
    spawns: list[tuple[int, Manner]] = field(default_factory=list)
    updates: dict[int, tuple[str, ...]] = field(default_factory=dict)  # to each target what registers get
    shown: tuple[_Atom, ...] = ()  # the event types that say it all
    excluded: tuple[_Atom, ...] = ()  # and those it must not be


class _Edge(NamedTuple):
    """One path from a state, before those with the same target are made one."""

    source: int
    label: str
    target: int | None
    manner: Manner | None  # of an instance that is started


class _Builder:
    def __init__(self, law: RmlLaw, most: int, counting: bool) -> None:
        self._planner: Planner = law.planner
        self._compiled = law.planner.compiled
        self._params = {equation.name: len(equation.params) for equation in law.specification.equations}
        self._most = most
        self._budget = most * _WORK_PER_STATE
        self._counting = counting
        self._numbers: dict[_Key, int] = {}
        self._keys: list[_Key] = []
        self._starts: list[int] = []
        self._parts: dict[tuple[Any, ...], int] = {}
        self._remembered: dict[str, None] = {}
        self._operands: dict[int, tuple[Operand, ...]] = {}  # of the present path: what its targets' registers get
        self._extents: dict[tuple[_Atom, bool], event_types.Extent] = {}

    def build(self) -> Automaton:
        self._targets(self._planner.main, (), None, False)
        states: list[State] = []
        edges: list[_Edge] = []
        while (number := len(states)) < len(self._keys):  # breadth first: states are numbered as they are found
            states.append(self._state(number))
            edges += self._edges(number)
        alive = _alive(states, edges)
        states = [replace(each, dead=each.dead or number not in alive) for number, each in enumerate(states)]
        return _merged(states, edges, self._starts, tuple(self._remembered))

    def _spend(self, cost: int) -> None:
        self._budget -= cost
        if self._budget < 0:
            raise _TooMany

    # -- states -----------------------------------------------------------------------------------

    def _number(self, part: int | None, shape: int, known: tuple[Any, ...], closed: bool) -> int:
        """The number of a state; without a part it is the start of one."""
        marks = tuple(None if value is UNKNOWN else (type(value).__name__, value) for value in known)
        start = part is None
        if part is None:
            part = self._parts.setdefault((shape, marks, closed), len(self._parts))
        key = _Key(part, shape, marks, closed)
        number = self._numbers.get(key)
        if number is None:
            if len(self._keys) == self._most:
                raise _TooMany
            number = self._numbers[key] = len(self._keys)
            self._keys.append(key)
            if start:
                self._starts.append(number)
        return number

    def _known(self, number: int) -> list[Any]:
        return [UNKNOWN if mark is None else mark[1] for mark in self._keys[number].known]

    def _state(self, number: int) -> State:
        key = self._keys[number]
        term = self._planner.shapes[key.shape].term
        names = self._register_names(number)
        for ref, name in names.items():
            if isinstance(name, syntax.Name) and key.known[ref[1]] is None:
                self._remembered.setdefault(name.name)
        writer = TermPrinter(self._compiled, self._params, names)
        text = writer.term(self._compiled.terms.make(terms.CLOSURE, term) if key.closed else term)
        ends = list(reachability.ends(self._planner, HALT, key.shape, self._spend, self._known(number)))
        yes = [answers for answers, end in ends if end[0] == "yes"]
        may_end = key.closed or bool(yes)
        ends_if: dict[str, None] = {}
        if may_end and not key.closed and len(yes) < len(ends):
            for answers in yes:
                ends_if.setdefault(" and ".join(self._recorded(number, HALT, answers).conditions))
        is_true, dead = self._planner.is_all(key.shape), self._planner.is_dead(key.shape)
        return State(text, key.part, may_end, tuple(ends_if), is_true, dead)

    def _register_names(self, number: int) -> dict[Ref, syntax.Data]:
        """What stands for each register: its value, or a name that no other register of the state has."""
        key = self._keys[number]
        found: dict[Ref, syntax.Data] = {}
        taken: set[str] = set()
        for index, (mark, name) in enumerate(zip(key.known, self._planner.shapes[key.shape].names, strict=True)):
            if mark is not None:
                value = mark[1]
                scalar = value is None or isinstance(value, bool | int | float | str)
                found[terms.SLOT, index] = syntax.Literal(value) if scalar else syntax.Name(repr(value))
                continue
            name = name or "n"
            while name in taken:
                name += "'"
            taken.add(name)
            found[terms.SLOT, index] = syntax.Name(name)
        return found

    # -- what a step leads to ---------------------------------------------------------------------

    def _targets(
        self, recipe: Recipe, known: Sequence[Any], part: int | None, closed: bool
    ) -> tuple[int | None, list[tuple[int, Manner]]]:
        """The state in which the part itself goes on, and the instances that are started."""
        kind = recipe[0]
        if kind == "leaf":
            number = self._number(part, recipe[1], self._values(recipe[2], known), closed)
            self._operands[number] = recipe[2]
            return number, []
        if kind == "closure":
            return self._targets(recipe[1], known, part, True)
        started: list[tuple[int, Manner]] = []
        if kind == "instance_list":
            for way, child in recipe[1]:
                started += self._started(child, known, closed, "and" if way == AND else "beside")
            core, more = self._targets(recipe[2], known, part, closed)
            return core, started + more
        if kind == "sequence":
            core, more = self._targets(recipe[1], known, part, closed)
            for shape, operands in recipe[2:]:
                rest = self._started(self._planner.expand(shape), self._values(operands, known), closed, "then")
                for number, _ in rest:
                    self._operands.pop(number, None)  # which are not in terms of this state
                started += rest
            return core, more + started
        started += self._started(recipe[2], known, closed, "filter")
        started += self._started(recipe[3], known, closed, "otherwise")
        return None, started

    def _started(self, recipe: Recipe, known: Sequence[Any], closed: bool, manner: Manner) -> list[tuple[int, Manner]]:
        first, more = self._targets(recipe, known, None, closed)
        return more if first is None else [(first, manner), *more]

    def _values(self, operands: Sequence[Any], known: Sequence[Any]) -> tuple[Any, ...]:
        if not self._counting:
            return (UNKNOWN,) * len(operands)
        return tuple(reachability.value_or_unknown(operand, known) for operand in operands)

    def _paths(self, number: int) -> Iterator[_Path]:
        key = self._keys[number]
        known = self._known(number)
        ends = list(reachability.ends(self._planner, STEP, key.shape, self._spend, known))
        for answers, end in sorted(ends, key=lambda each: [not answer for answer in each[0]]):  # first yes, then no
            path = self._recorded(number, STEP, answers)
            self._operands.clear()
            path.target, path.spawns = self._led(number, end, known)
            reached = [target for target, _ in path.spawns] + ([] if path.target is None else [path.target])
            path.updates = {target: tuple(self._updates(target, path.writer)) for target in reached}
            yield path

    def _updates(self, target: int, writer: TermPrinter) -> Iterator[str]:
        """How registers get their values, where the names do not say it: ``n := n + 1``."""
        operands = self._operands.get(target, ())
        for (_, index), data in self._register_names(target).items():
            if self._keys[target].known[index] is None and index < len(operands):
                constant = reachability.value_or_unknown(operands[index], ())
                operand = operands[index] if constant is UNKNOWN else ("constant", constant)
                name, value = format_data(data), writer.operand(operand)
                if value is not None and value != name:
                    yield f"{name} := {value}"

    def _led(self, number: int, end: Node, known: Sequence[Any]) -> tuple[int | None, list[tuple[int, Manner]]]:
        if end[0] == "fail":
            return None, []
        if end[0] == "self":
            return number, []
        key = self._keys[number]
        return self._targets(end[1], known, key.part, key.closed)

    # -- labels -----------------------------------------------------------------------------------

    def _recorded(self, number: int, tree: str, answers: Answers) -> _Path:
        """The questions on a path, in the words of the law."""
        key = self._keys[number]
        known = self._known(number)
        term = self._planner.shapes[key.shape].term
        registers = self._register_names(number)

        def run() -> _Recorder:
            recorder = _Recorder(self._compiled, answers)
            recorder.names |= {ref: name.name for ref, name in registers.items() if isinstance(name, syntax.Name)}
            if tree == HALT:
                recorder.may_halt(term)
            else:
                recorder.first(term)
            return recorder

        recorder = self._planner.locked(run)
        names: dict[Ref, syntax.Data] = {ref: syntax.Name(name) for ref, name in recorder.names.items() if name}
        writer = TermPrinter(self._compiled, self._params, names | registers)
        conditions = [
            writer.condition(condition, answer)
            for condition, answer in recorder.conditions.items()
            if reachability.value_or_unknown(terms.operand(condition), known) is UNKNOWN
        ]
        texts = {atom: writer.event(*atom) for atom in recorder.atoms}
        return _Path(recorder.atoms, tuple(conditions), texts, writer)

    def _extent(self, atom: _Atom, exact: bool) -> event_types.Extent:
        found = self._extents.get((atom, exact))
        if found is None:
            ground = event_types.named if exact else event_types.anything
            found = self._extents[atom, exact] = event_types.extent(self._compiled, *atom, ground)
        return found

    def _within(self, whole: _Atom, *parts: _Atom) -> bool:
        return event_types.includes(self._extent(whole, True), *(self._extent(part, True) for part in parts))

    def _apart(self, one: _Atom, others: list[_Atom]) -> bool:
        """Is it plain that an event of these types is not of that one?"""
        if any(event_types.disjoint(self._extent(one, False), self._extent(other, False)) for other in others):
            return True
        return event_types.denies(self._extent(one, True), *(self._extent(other, True) for other in others))

    def _abridge(self, path: _Path) -> None:
        """Leave out what the other event types of a path say already."""
        shown = [atom for atom, answer in path.atoms.items() if answer]
        for atom in tuple(shown):
            rest = [other for other in shown if other != atom]
            if self._within(atom, *rest):
                shown = rest
        excluded = [atom for atom, answer in path.atoms.items() if not answer and not self._apart(atom, shown)]
        for atom in tuple(excluded):
            if any(self._within(other, atom) for other in excluded if other != atom):
                excluded.remove(atom)
        path.shown, path.excluded = tuple(shown), tuple(excluded)

    def _label(self, path: _Path, named: set[_Atom]) -> str:
        texts = [path.texts[atom] for atom in path.shown]
        excluded = list(path.excluded)
        if not texts and excluded:
            # "Other" says: none of the types that lead on from here. It must not say less than the path asked.
            asked = [atom for atom, answer in path.atoms.items() if not answer]
            if any(atom in named for atom in asked) and all(
                atom in asked or any(self._within(other, atom) for other in asked) for atom in named
            ):
                texts.append(OTHER)
                excluded = [atom for atom in excluded if atom not in named]
        texts += dict.fromkeys(f"not {path.texts[atom]}" for atom in excluded)
        label = " & ".join(texts) or ANY
        return f"{label} if {' and '.join(path.conditions)}" if path.conditions else label

    def _edges(self, number: int) -> Iterator[_Edge]:
        paths = list(self._paths(number))
        for path in paths:
            self._abridge(path)
        named = {atom for path in paths if path.target is not None or path.spawns for atom in path.shown}
        for path in paths:
            label = self._label(path, named)
            for target, manner in path.spawns:
                yield _Edge(number, _with_updates(label, path.updates[target]), target, manner)
            if path.target is not None:
                yield _Edge(number, _with_updates(label, path.updates[path.target]), path.target, None)
            elif not path.spawns:
                yield _Edge(number, label, None, None)


def _alive(states: Sequence[State], edges: Sequence[_Edge]) -> set[int]:
    """The states from which there is a way to one that may be the last. An instance started counts as a way."""
    sources: dict[int, list[int]] = {}
    for edge in edges:
        if edge.target is not None:
            sources.setdefault(edge.target, []).append(edge.source)
    return reachable((number for number, each in enumerate(states) if each.may_end), sources)


def _merged(
    states: Sequence[State], edges: Sequence[_Edge], starts: Sequence[int], remembered: tuple[str, ...]
) -> Automaton:
    """States that no events can tell apart become one, as `Main` and what it stands for."""
    blocks = _blocks(states, edges)
    first = [blocks.index(block) for block in range(len(set(blocks)))]
    leading = set(first)
    ways: dict[tuple[int, int | None, Manner | None], dict[str, None]] = {}
    for source, label, target, manner in edges:
        if source in leading:
            block = None if target is None else blocks[target]
            ways.setdefault((blocks[source], block, manner), {}).setdefault(label)
    steps: dict[int, dict[int | None, tuple[str, ...]]] = {}
    spawns: list[Spawn] = []
    for (source, target, manner), group in ways.items():
        if manner is not None and target is not None:
            spawns.append(Spawn(source, target, _in_order(group), manner))
        else:
            steps.setdefault(source, {})[target] = _in_order(group)
    transitions: list[Transition] = []
    for source, targets in steps.items():
        started = any(spawn.source == source for spawn in spawns)
        for target, labels in targets.items():
            if len(targets) == 1 and not started:
                labels = (ANY,)
            elif target is None:
                labels = _complement(
                    [label for other in targets if other is not None for label in targets[other]], labels
                )
            transitions.append(Transition(source, target, labels))
    return Automaton(
        tuple(states[number] for number in first),
        tuple(transitions),
        tuple(spawns),
        tuple(blocks[start] for start in starts),
        remembered,
    )


def _blocks(states: Sequence[State], edges: Sequence[_Edge]) -> list[int]:
    """For each state the number of its class, by ever finer partitions; classes count in the order of the states."""
    ways: list[list[_Edge]] = [[] for _ in states]
    for edge in edges:
        if edge.target is not None:  # what leads on determines what does not
            ways[edge.source].append(edge)
    finer = _numbered([replace(state, text="") for state in states])
    blocks: list[int] = []
    while finer != blocks:
        blocks = finer
        led = [frozenset((label, blocks[to], manner) for _, label, to, manner in own if to is not None) for own in ways]
        finer = _numbered(list(zip(blocks, led, strict=True)))
    return blocks


def _numbered(marks: Sequence[Any]) -> list[int]:
    numbers: dict[Any, int] = {}
    return [numbers.setdefault(mark, len(numbers)) for mark in marks]


def _complement(drawn: list[str], labels: tuple[str, ...]) -> tuple[str, ...]:
    """The labels of what breaks the law: "other" is enough where all that leads on is plainly named."""
    plain = not any(label.startswith((OTHER, "not ")) or " & " in label or " if " in label for label in drawn)
    return (OTHER,) if plain else labels


def _with_updates(label: str, updates: tuple[str, ...]) -> str:
    return f"{label} / {', '.join(updates)}" if updates else label


def _in_order(labels: dict[str, None]) -> tuple[str, ...]:
    """What says what it is comes before what says what it is not."""
    return tuple(sorted(labels, key=lambda label: label.startswith((OTHER, "not "))))


class _Recorder(Stepper):
    """A stepper that keeps what it was asked: event types as the law writes them, and conditions outside of them."""

    def __init__(self, compiled: Any, answers: Answers) -> None:
        super().__init__(compiled, answers)
        self.atoms: dict[_Atom, bool] = {}
        self.conditions: dict[Ref, bool] = {}
        self._inside = False

    def first(self, term: Term) -> Any:
        if term.op == terms.LET:
            self.names.setdefault((terms.VARIABLE, term.args[0]), term.args[2])
        return super().first(term)

    def matches(self, name: str, args: tuple[Ref, ...]) -> Iterator[Bindings]:
        if self._inside:
            yield from super().matches(name, args)
            return
        solutions = super().matches(name, args)
        atom = (name, args)
        while True:
            self._inside = True
            found = next(solutions, None)
            self._inside = False
            if found is None:
                break
            self.atoms[atom] = True
            yield found
        self.atoms.setdefault(atom, False)

    def holds(self, condition: Ref) -> bool:
        answer = super().holds(condition)
        if not self._inside and terms.is_ground(condition) and not terms.is_plain(condition):
            self.conditions[condition] = answer
        return answer

    def ask(self, question: Question) -> bool:
        answer = super().ask(question)
        if question[0] == SAME:
            self.conditions[terms.OPERATION, "==", *question[1:]] = answer
        return answer
