"""The control-flow graph of a program, and the words that it does not rule out.

Functions are copied into their callers, and events are letters on edges."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import reduce
from typing import TypeAlias

from pycparser import c_ast

from lawful.explain.automata import Automaton, sources
from lawful.explain.graph_search import distances
from lawful.explain.teacher import Word
from lawful.explain.teachers.c.c_program import arguments, below, called
from lawful.explain.teachers.c.instrument import ABORT, CHECK, EXIT, LEARN, OTHER, Instrumented

# A call gets a copy of its function while the graph has fewer states, and fewer calls are inside of one another.
_MOST_STATES = 20_000
_DEEPEST = 12

_Part: TypeAlias = c_ast.Node | None


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
        # Functions whose names stand elsewhere than in a call: a call through a pointer may reach any of them.
        names = (
            str(child.node.name)
            for child in below(program.source.tree)
            if isinstance(child.node, c_ast.ID)
            and not (isinstance(child.parent, c_ast.FuncCall) and child.slot == "name")
        )
        self.taken = {name for name in names if name in program.source.functions}

    def new(self) -> int:
        self.edges.append([])
        return len(self.edges) - 1

    def link(self, one: int, other: int, letter: int | None = None) -> None:
        self.edges[one].append((letter, other))

    def after(self, at: int, letter: int | None = None) -> int:
        """A new place after another one."""
        self.link(at, found := self.new(), letter)
        return found

    def run(self) -> int:
        """Lays the whole program, and gives its first place."""
        start = self.new()
        self.finish(self.call(self.program.target, start))
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
            return self.after(leave)
        enter, leave = self.after(at), self.new()
        self.lay(name, enter, leave)
        return leave

    def lay(self, name: str, enter: int, leave: int) -> None:
        self.stack.append(name)
        frame = _FunctionWalk(name, leave)
        self.link(self.statement(self.program.source.functions[name].body, enter, frame), leave)
        self.stack.pop()

    def statement(self, node: _Part, at: int, frame: _FunctionWalk) -> int:
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
                return self.loop(at, frame, node.cond, node.stmt, None)
            case c_ast.DoWhile():
                return self.loop(at, frame, None, node.stmt, node.cond)
            case c_ast.For():
                at = self.statement(node.init, at, frame)
                return self.loop(at, frame, node.cond, node.stmt, node.next, tested=False)
            case c_ast.Switch():
                return self.switch(node, at, frame)
            case c_ast.Case() | c_ast.Default():
                place = self.after(at)
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
        at, end = self.expression(condition, at, frame), self.new()
        for side in sides:
            self.link(self.statement(side, self.after(at), frame), end)
        return end

    def loop(self, at: int, frame: _FunctionWalk, before: _Part, body: _Part, after: _Part, tested: bool = True) -> int:
        """`after` is the condition of a do loop if it is `tested`, the last part of a for loop if not."""
        head, again, leave = self.after(at), self.new(), self.new()
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

    def expression(self, node: _Part, at: int, frame: _FunctionWalk) -> int:
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
                at = self.expression(node.left, at, frame)
                after = self.after(at)
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
        doing = [part for part in parts if any(isinstance(one, c_ast.FuncCall) for one in _nodes(part))]
        if len(doing) <= 1:
            return self.expression(doing[0], at, frame) if doing else at
        middle = self.after(at)
        for part in doing:
            self.link(self.expression(part, middle, frame), middle)
        return middle

    def called(self, node: c_ast.FuncCall, at: int, frame: _FunctionWalk) -> int:
        name, given = called(node), arguments(node)
        if name == LEARN:
            return self.after(at, int(given[0].value))
        at = self.any_order(given, at, frame)
        if name == CHECK:
            self.link(at, self.failed, self.program.alphabet.error)
            return at
        if name == EXIT:
            self.finish(at)
            return self.new()
        if name in (ABORT, OTHER):
            self.link(at, self.ended)
            return at if name == OTHER else self.new()
        if name is None or name in self.program.source.variables:
            return self.through_pointer(node, at, frame)
        if name in self.program.source.functions:
            return self.call(name, at)
        # A function without a body may call back those that it is given.
        return self.calls_back(given, at)

    def through_pointer(self, node: c_ast.FuncCall, at: int, frame: _FunctionWalk) -> int:
        at = self.expression(node.name, at, frame)
        after = self.after(at)
        # A variable here may have the name of a function elsewhere.
        for name in sorted(self.taken | ({str(called(node))} & self.program.source.functions.keys())):
            self.link(self.call(name, at), after)
        return after

    def calls_back(self, given: Sequence[c_ast.Node], at: int) -> int:
        names = [one.name for part in given for one in _nodes(part) if isinstance(one, c_ast.ID)]
        backs = [name for name in names if name in self.program.source.functions]
        if not backs:
            return at
        middle = self.after(at)
        for name in backs:
            self.link(self.call(name, middle), middle)
        return middle


def _nodes(node: c_ast.Node) -> list[c_ast.Node]:
    return [node, *(child.node for child in below(node))]


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
        self._known: dict[frozenset[int], frozenset[int]] = {}
        self._steps: dict[tuple[frozenset[int], int], frozenset[int]] = {}
        self._start = self._closed({start} & alive)

    @property
    def empty(self) -> bool:
        """Whether no way leads to the error."""
        return not self._start

    def shortest(self) -> int:
        """The length of the shortest word that is not ruled out, the error letter included."""

        def after(places: frozenset[int]) -> list[frozenset[int]]:
            steps = (self.step(places, letter) for letter in range(self.error))
            return [to for to in steps if to]

        away = distances([self._start], after)
        return 1 + next((away[places] for places in away if self.step(places, self.error)), 0)

    def allows(self, word: Word) -> bool:
        """Whether a word may end in the error there."""
        return self._failed in reduce(self.step, word, self._start)

    def refused(self, automaton: Automaton, longest: int) -> Word | None:
        """A shortest word that the automaton accepts and the program's text rules out."""
        away = distances(automaton.accepting, sources(automaton).__getitem__)
        words: dict[tuple[int, frozenset[int]], Word] = {(automaton.initial, self._start): ()}
        pending = list(words)
        for pair in pending:
            (state, there), word = pair, words[pair]
            if state in automaton.accepting and self._failed not in there:
                return word
            for letter, to in enumerate(automaton.transitions[state]):
                after = (to, self.step(there, letter))
                if after not in words and to in away and len(word) + 1 + away[to] <= longest:
                    words[after] = (*word, letter)
                    pending.append(after)
        return None

    def step(self, places: frozenset[int], letter: int) -> frozenset[int]:
        """The places after one more letter."""
        known = self._steps.get((places, letter))
        if known is None:
            reached = {to for one in places for at, to in self._edges[one] if at == letter}
            after = self._closed(reached)
            known = self._steps[places, letter] = self._known.setdefault(after, after)  # found again by identity
        return known

    def _closed(self, states: set[int]) -> frozenset[int]:
        """With the places that steps without an event lead to."""
        return frozenset(distances(states, lambda one: (to for letter, to in self._edges[one] if letter is None)))
