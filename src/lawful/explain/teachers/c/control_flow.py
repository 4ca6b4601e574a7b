"""The control-flow graph of a program, and the words that it does not rule out.

Functions are copied into their callers, and events are letters on edges."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from pycparser import c_ast

from lawful.explain.automata import Automaton, sources
from lawful.explain.graph_search import distances
from lawful.explain.teacher import Word
from lawful.explain.teachers.c.c_program import arguments, below, called
from lawful.explain.teachers.c.instrument import ABORT, CHECK, EXIT, LEARN, OTHER, Instrumented

_MOST_STATES = 20_000
"""Functions are copied into each place that calls them, while the graph stays below this, and ..."""

_DEEPEST = 12
"""... while no more calls than this are inside of one another."""


@dataclass
class _FunctionWalk:
    """A function being walked through: where `return`, `break`, `continue` and `goto` lead."""

    name: str
    leave: int
    labels: dict[str, int] = field(default_factory=dict)
    breaks: list[int] = field(default_factory=list)
    continues: list[int] = field(default_factory=list)
    cases: list[list[int]] = field(default_factory=list)


class ControlFlowGraph:
    """Walks through a program and lays edges: with a letter for an event, without for everything else."""

    def __init__(self, program: Instrumented) -> None:
        self.program = program
        self.edges: list[list[tuple[int | None, int]]] = []
        self.failed = self.new()
        self.ended = self.new()
        self.shared: dict[str, tuple[int, int]] = {}
        self.stack: list[str] = []
        self.taken = self.addresses()

    def addresses(self) -> list[str]:
        """Functions whose names stand elsewhere than in a call: a call through a pointer may reach any of them."""
        found = set()
        for child in below(self.program.source.tree):
            is_called = isinstance(child.parent, c_ast.FuncCall) and child.slot == "name"
            if isinstance(child.node, c_ast.ID) and child.node.name in self.program.source.functions and not is_called:
                found.add(str(child.node.name))
        return sorted(found)

    def new(self) -> int:
        self.edges.append([])
        return len(self.edges) - 1

    def link(self, one: int, other: int, letter: int | None = None) -> None:
        self.edges[one].append((letter, other))

    def run(self) -> int:
        """Lays the whole program, and gives its first place."""
        start = self.new()
        end = self.call(self.program.target, start)
        self.finish(end)
        return start

    def finish(self, state: int) -> None:
        """The program ends here."""
        self.link(state, self.ended)
        if self.program.at_end:
            self.link(state, self.failed, self.program.alphabet.error)

    def leading_to(self, goal: int) -> set[int]:
        """The places from which control can come there."""
        back: list[list[int]] = [[] for _ in self.edges]
        for state, edges in enumerate(self.edges):
            for _, to in edges:
                back[to].append(state)
        return set(distances([goal], back.__getitem__))

    def call(self, name: str, at: int) -> int:
        """A call of a function with a body: a copy of it, or where it calls itself, the one and only."""
        if name in self.stack or len(self.stack) >= _DEEPEST or len(self.edges) > _MOST_STATES:
            if name not in self.shared:
                self.shared[name] = (self.new(), self.new())
                self.lay(name, *self.shared[name])
            enter, leave = self.shared[name]
            self.link(at, enter)
            after = self.new()
            self.link(leave, after)
            return after
        enter, leave = self.new(), self.new()
        self.link(at, enter)
        self.lay(name, enter, leave)
        return leave

    def lay(self, name: str, enter: int, leave: int) -> None:
        self.stack.append(name)
        frame = _FunctionWalk(name, leave)
        self.link(self.statement(self.program.source.functions[name].body, enter, frame), leave)
        self.stack.pop()

    def statement(self, node: c_ast.Node | None, at: int, frame: _FunctionWalk) -> int:
        """Lays a statement, and gives where it ends."""
        match node:
            case None:
                return at
            case c_ast.Compound():
                for item in node.block_items or []:
                    at = self.statement(item, at, frame)
                return at
            case c_ast.If():
                return self.either(node.cond, [node.iftrue, node.iffalse], at, frame)
            case c_ast.While():
                return self.loop(at, frame, before=node.cond, body=node.stmt)
            case c_ast.DoWhile():
                return self.loop(at, frame, body=node.stmt, after=node.cond)
            case c_ast.For():
                at = self.statement(node.init, at, frame)
                return self.loop(at, frame, before=node.cond, body=node.stmt, after=node.next, tested=False)
            case c_ast.Switch():
                return self.switch(node, at, frame)
            case c_ast.Case() | c_ast.Default():
                place = self.new()
                self.link(at, place)
                if frame.cases:
                    frame.cases[-1].append(place)
                for item in node.stmts or []:
                    place = self.statement(item, place, frame)
                return place
            case c_ast.Return():
                self.link(self.expression(node.expr, at, frame), frame.leave)
                return self.new()
            case c_ast.Break():
                self.link(at, (frame.breaks or [frame.leave])[-1])
                return self.new()
            case c_ast.Continue():
                self.link(at, (frame.continues or [frame.leave])[-1])
                return self.new()
            case c_ast.Goto():
                self.link(at, self.label(node.name, frame))
                return self.new()
            case c_ast.Label():
                place = self.label(node.name, frame)
                self.link(at, place)
                return self.statement(node.stmt, place, frame)
            case c_ast.DeclList():
                for item in node.decls:
                    at = self.statement(item, at, frame)
                return at
            case c_ast.Decl():
                if "static" in (node.storage or []):
                    return at
                return self.expression(node.init, at, frame)
            case _:
                return self.expression(node, at, frame)

    def label(self, name: str, frame: _FunctionWalk) -> int:
        if name not in frame.labels:
            frame.labels[name] = self.new()
        return frame.labels[name]

    def either(self, condition: c_ast.Node, sides: Sequence[c_ast.Node | None], at: int, frame: _FunctionWalk) -> int:
        at, after = self.expression(condition, at, frame), self.new()
        for side in sides:
            begin = self.new()
            self.link(at, begin)
            self.link(self.statement(side, begin, frame), after)
        return after

    def loop(
        self,
        at: int,
        frame: _FunctionWalk,
        *,
        before: c_ast.Node | None = None,
        body: c_ast.Node,
        after: c_ast.Node | None = None,
        tested: bool = True,
    ) -> int:
        """`after` is the condition of a do loop if it is `tested`, the last part of a for loop if not."""
        head, again, leave = self.new(), self.new(), self.new()
        self.link(at, head)
        inside = self.expression(before, head, frame)
        if before is not None:
            self.link(inside, leave)
        frame.breaks.append(leave)
        frame.continues.append(again)
        self.link(self.statement(body, inside, frame), again)
        frame.breaks.pop()
        frame.continues.pop()
        end = self.expression(after, again, frame)
        self.link(end, head)
        if after is not None and tested:
            self.link(end, leave)
        return leave

    def switch(self, node: c_ast.Switch, at: int, frame: _FunctionWalk) -> int:
        at, leave = self.expression(node.cond, at, frame), self.new()
        frame.breaks.append(leave)
        frame.cases.append([])
        self.link(self.statement(node.stmt, self.new(), frame), leave)
        for place in frame.cases.pop():
            self.link(at, place)
        frame.breaks.pop()
        # Whether a default is there or not: one way more does no harm.
        self.link(at, leave)
        return leave

    def expression(self, node: c_ast.Node | None, at: int, frame: _FunctionWalk) -> int:
        """Lays what an expression does, and gives where it ends."""
        match node:
            case None | c_ast.Constant() | c_ast.ID() | c_ast.Typename():
                return at
            case c_ast.Compound():
                return self.statement(node, at, frame)
            case c_ast.FuncCall():
                return self.called(node, at, frame)
            case c_ast.TernaryOp():
                at, after = self.expression(node.cond, at, frame), self.new()
                for side in (node.iftrue, node.iffalse):
                    self.link(self.expression(side, at, frame), after)
                return after
            case c_ast.BinaryOp() if node.op in ("&&", "||"):
                at, after = self.expression(node.left, at, frame), self.new()
                self.link(at, after)
                self.link(self.expression(node.right, at, frame), after)
                return after
            case c_ast.ExprList():
                for part in node.exprs:
                    at = self.expression(part, at, frame)
                return at
            case c_ast.UnaryOp() if node.op in ("sizeof", "_Alignof"):
                return at
            case _:
                return self.any_order([child for _, child in node.children()], at, frame)

    def any_order(self, parts: Sequence[c_ast.Node], at: int, frame: _FunctionWalk) -> int:
        """What is done in an order that C leaves open: anything, any number of times, unless it is only one thing."""
        doing = [part for part in parts if _does(part)]
        if len(doing) <= 1:
            return self.expression(doing[0], at, frame) if doing else at
        middle = self.new()
        self.link(at, middle)
        for part in doing:
            self.link(self.expression(part, middle, frame), middle)
        return middle

    def called(self, node: c_ast.FuncCall, at: int, frame: _FunctionWalk) -> int:
        name, given = called(node), arguments(node)
        if name == LEARN:
            after = self.new()
            self.link(at, after, int(given[0].value))
            return after
        at = self.any_order(given, at, frame)
        if name == CHECK:
            self.link(at, self.failed, self.program.alphabet.error)
            return at
        if name == EXIT:
            self.finish(at)
            return self.new()
        if name == ABORT:
            self.link(at, self.ended)
            return self.new()
        if name == OTHER:
            self.link(at, self.ended)
            return at
        if name is None or name in self.program.source.variables:
            return self.through_pointer(node, at, frame)
        if name in self.program.source.functions:
            return self.call(name, at)
        # A function without a body may call back those that it is given.
        return self.calls_back(given, at)

    def through_pointer(self, node: c_ast.FuncCall, at: int, frame: _FunctionWalk) -> int:
        at, after = self.expression(node.name, at, frame), self.new()
        self.link(at, after)
        # A variable here may have the name of a function elsewhere.
        named = called(node)
        for name in sorted({*self.taken, *([str(named)] if named in self.program.source.functions else [])}):
            self.link(self.call(name, at), after)
        return after

    def calls_back(self, given: Sequence[c_ast.Node], at: int) -> int:
        names = [one.name for part in given for one in _nodes(part) if isinstance(one, c_ast.ID)]
        backs = [name for name in names if name in self.program.source.functions]
        if backs:
            middle = self.new()
            self.link(at, middle)
            for name in backs:
                self.link(self.call(name, middle), middle)
            return middle
        return at


def _nodes(node: c_ast.Node) -> list[c_ast.Node]:
    return [node, *(child.node for child in below(node))]


def _does(node: c_ast.Node) -> bool:
    """Whether an expression calls anything."""
    return any(isinstance(one, c_ast.FuncCall) for one in _nodes(node))


class FlowWords:
    """A_cfg of the paper, projected to the events: no word of an execution is refused, but others may be let through.

    Only words that end with the error are asked for, so states that cannot lead there are left out."""

    def __init__(self, program: Instrumented) -> None:
        self.error = program.alphabet.error
        graph = ControlFlowGraph(program)
        self._failed = graph.failed
        start = graph.run()
        alive = graph.leading_to(graph.failed)
        self._edges = [
            [(letter, to) for letter, to in edges if to in alive] if state in alive else []
            for state, edges in enumerate(graph.edges)
        ]
        self._sets: dict[frozenset[int], int] = {}
        self._members: list[frozenset[int]] = []
        self._steps: list[dict[int, int]] = []
        self._start = self._number(self._closed({start} & alive))

    @property
    def empty(self) -> bool:
        """Whether no way leads to the error."""
        return not self._members[self._start]

    def shortest(self) -> int:
        """The length of the shortest word that is not ruled out, the error letter included."""

        def after(state: int) -> list[int]:
            steps = (self.step(state, letter) for letter in range(self.error))
            return [to for to in steps if self._members[to]]

        away = distances([self._start], after)
        return 1 + next((away[state] for state in away if self._members[self.step(state, self.error)]), 0)

    def allows(self, word: Word) -> bool:
        """Whether a word may end in the error there."""
        state = self._start
        for letter in word:
            state = self.step(state, letter)
        return self._failed in self._members[state]

    def refused(self, automaton: Automaton, longest: int) -> Word | None:
        """A shortest word that the automaton accepts and the program's text rules out."""
        away = distances(automaton.accepting, sources(automaton).__getitem__)
        first = (automaton.initial, self._start)
        came: dict[tuple[int, int], tuple[tuple[int, int], int] | None] = {first: None}
        edge = [first]
        for length in range(longest + 1):
            later: list[tuple[int, int]] = []
            for pair in edge:
                state, there = pair
                if state in automaton.accepting and self._failed not in self._members[there]:
                    return _word(came, pair)
                for letter, to in enumerate(automaton.transitions[state]):
                    after = (to, self.step(there, letter))
                    if after not in came and to in away and length + 1 + away[to] <= longest:
                        came[after] = (pair, letter)
                        later.append(after)
            edge = later
        return None

    def step(self, state: int, letter: int) -> int:
        """The set of places after one more letter."""
        known = self._steps[state].get(letter)
        if known is None:
            reached = {to for one in self._members[state] for at, to in self._edges[one] if at == letter}
            known = self._steps[state][letter] = self._number(self._closed(reached))
        return known

    def _closed(self, states: set[int]) -> frozenset[int]:
        """With the places that steps without an event lead to."""
        return frozenset(distances(states, lambda one: (to for letter, to in self._edges[one] if letter is None)))

    def _number(self, states: frozenset[int]) -> int:
        if states not in self._sets:
            self._sets[states] = len(self._members)
            self._members.append(states)
            self._steps.append({})
        return self._sets[states]


def _word(came: dict[tuple[int, int], tuple[tuple[int, int], int] | None], at: tuple[int, int]) -> Word:
    word: list[int] = []
    while (before := came[at]) is not None:
        at, letter = before
        word.append(letter)
    return tuple(reversed(word))
