"""A literal rewriting monitor for RML: parser, matcher and one-step rewriting, written only to be right.

It shares nothing with ``lawful``. A step is a generator of solutions ``(term, bindings)`` as in the original's
Prolog, and the monitor takes the first; nothing is cached, indexed or simplified beyond what the original simplifies.
"""

from __future__ import annotations

import itertools
import sys
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

from .parser import Parser
from .terms import (
    All,
    And,
    Call,
    Cat,
    Closure,
    Declaration,
    Empty,
    Env,
    Equation,
    Filter,
    If,
    Let,
    Obj,
    Opt,
    Plus,
    RmlError,
    Shuffle,
    Star,
    Times,
    TooLong,
    Union,
    Use,
    Val,
    Var,
    Wild,
    cat,
    conjoin,
    free,
    holds,
    match,
    merge,
    put,
    settle,
    shuffle,
    substitute,
    variables,
)

sys.setrecursionlimit(max(sys.getrecursionlimit(), 10_000))

# --- the law and its monitor ---------------------------------------------------------------------------------------

Solutions = Iterator[tuple[Any, Env]]


class Specification:
    """A parsed and checked law: what a term's names mean, and its steps."""

    def __init__(self, text: str, most_visits: int | None) -> None:
        self.most_visits = most_visits
        self.visits = 0
        declarations, equations = Parser(text).specification()
        self.declarations = [
            Declaration("any", (), False, (), Obj(()), Val(True)),
            Declaration("none", (), True, (), Obj(()), Val(True)),
            *declarations,
        ]
        self.equations: dict[str, Equation] = {}
        for equation in equations:
            if equation.name in self.equations:
                raise RmlError(f"{equation.name} is defined twice")
            self.equations[equation.name] = equation
        if "Main" not in self.equations or self.equations["Main"].params:
            raise RmlError("no Main without parameters")
        self._check_names()
        self._pass_free_variables()
        self._check_contractive()

    def _check_names(self) -> None:
        known = {(d.name, len(d.params)) for d in self.declarations}

        def check(term: Any) -> None:
            if isinstance(term, Use) and (term.name, len(term.args)) not in known:
                raise RmlError(f"no event type {term.name}/{len(term.args)}")
            if isinstance(term, Call):
                if term.name not in self.equations:
                    raise RmlError(f"no equation {term.name}")
                if len(term.args) != len(self.equations[term.name].params):
                    raise RmlError(f"{term.name} has {len(self.equations[term.name].params)} parameters")

        for declaration in self.declarations:
            if len(set(declaration.params)) != len(declaration.params):
                raise RmlError(f"{declaration.name}: a parameter stands twice")
            for use in declaration.uses:
                check(use)
        self._check_event_types_end()
        for equation in self.equations.values():
            if len(set(equation.params)) != len(equation.params):
                raise RmlError(f"{equation.name}: a parameter stands twice")
            for term in subterms(equation.body):
                check(term)

    def _check_event_types_end(self) -> None:
        edges: dict[str, set[str]] = {}
        for d in self.declarations:
            edges.setdefault(f"{d.name}/{len(d.params)}", set()).update(f"{u.name}/{len(u.args)}" for u in d.uses)
        check_acyclic(edges, "the event type refers to itself")

    def _pass_free_variables(self) -> None:
        """Make dynamic scope static: an equation's free variables become parameters that every call passes by name."""
        extra: dict[str, set[str]] = {name: set() for name in self.equations}
        changed = True
        while changed:
            changed = False
            for name, equation in self.equations.items():
                found = free(pass_extra(equation.body, extra)) - set(equation.params)
                changed |= found != extra[name]
                extra[name] = found
        self.equations = {
            name: Equation(name, (*eq.params, *sorted(extra[name])), pass_extra(eq.body, extra))
            for name, eq in self.equations.items()
        }

    def _check_contractive(self) -> None:
        nullable: dict[str, bool] = dict.fromkeys(self.equations, False)
        for _ in self.equations:
            nullable = {name: may_be_empty(eq.body, nullable) for name, eq in self.equations.items()}
        edges = {name: set(unguarded(eq.body, nullable)) for name, eq in self.equations.items()}
        check_acyclic(edges, "not contractive")

    def root(self) -> Any:
        main = self.equations["Main"]
        return Call("Main", tuple(map(Var, main.params)))

    def unfold(self, call: Call) -> Any:
        equation = self.equations[call.name]
        args = dict(zip(equation.params, (settle(arg, {}) for arg in call.args), strict=True))
        return substitute(equation.body, args)

    def matches(self, use: Use, event: Any) -> Iterator[Env]:
        """Every match of an event type, as what it binds of the variables in the use's arguments."""
        own = {name for arg in use.args for name in variables(arg)}
        for env in self._matches(use, event, {}, itertools.count()):
            yield {name: value for name, value in env.items() if name in own}

    def _matches(self, use: Use, event: Any, env: Env, fresh: Iterator[int]) -> Iterator[Env]:
        # A `_` is a variable of its own: the declaration's pattern may bind it and its guard may ask for it.
        settled = [settle(arg, env) for arg in use.args]
        args = [Var(f"_#{next(fresh)}") if isinstance(arg, Wild) else arg for arg in settled]
        for declaration in self.declarations:
            if (declaration.name, len(declaration.params)) != (use.name, len(args)):
                continue
            mentioned = {*variables(declaration.pattern), *variables(declaration.guard)}
            mentioned.update(name for base in declaration.uses for arg in base.args for name in variables(arg))
            scope: dict[str, Any] = {name: Var(f"{name}#{next(fresh)}") for name in sorted(mentioned)}
            scope.update(zip(declaration.params, args, strict=True))
            found = self._body_matches(declaration, scope, event, env, fresh)
            guard = put(declaration.guard, scope)
            if declaration.negated:
                if next(found, None) is None and holds(guard, env):
                    yield env
            else:
                yield from (extended for extended in found if holds(guard, extended))

    def _body_matches(
        self, declaration: Declaration, scope: Mapping[str, Any], event: Any, env: Env, fresh: Iterator[int]
    ) -> Iterator[Env]:
        if not declaration.uses:
            yield from match(put(declaration.pattern, scope), event, env)
        for base in declaration.uses:
            args = tuple(put(arg, scope) for arg in base.args)
            yield from self._matches(Use(base.name, args), event, env, fresh)

    def may_halt(self, term: Any) -> bool:
        match term:
            case Empty() | All() | Star() | Opt() | Closure():
                return True
            case Use():
                return False
            case Union(left, right):
                return self.may_halt(left) or self.may_halt(right)
            case Shuffle(left, right) | Cat(left, right) | And(left, right) | Filter(_, left, right):
                return self.may_halt(left) and self.may_halt(right)
            case Plus(body) | Let(_, body):
                return self.may_halt(body)
            case Times(body, count):
                return count == 0 or self.may_halt(body)
            case Call():
                return self.may_halt(self.unfold(term))
            case If(condition, then, other):
                return self.may_halt(then if holds(condition, {}) else other)
        raise AssertionError(term)

    def steps(self, term: Any, event: Any) -> Solutions:
        """Every solution of one step, best first."""
        self.visits += 1
        if self.most_visits is not None and self.visits > self.most_visits:
            raise TooLong(f"more than {self.most_visits} terms visited in one step")
        match term:
            case Empty():
                pass
            case All():
                yield term, {}
            case Use():
                for bindings in self.matches(term, event):
                    yield Empty(), bindings
            case Union(left, right):
                first = next(self.steps(left, event), None)
                if first is not None:
                    yield first
                else:
                    yield from self.steps(right, event)
            case Shuffle(left, right):
                first = next(self.steps(left, event), None)
                if first is not None:
                    yield shuffle(first[0], right), first[1]
                else:
                    for after, bindings in self.steps(right, event):
                        yield shuffle(left, after), bindings
            case Cat(left, right):
                first = next(self.steps(left, event), None)
                if first is not None:
                    yield cat(first[0], right), first[1]
                elif self.may_halt(left):
                    yield from self.steps(right, event)
            case And(left, right):
                for after_left, bindings_left in self.steps(left, event):
                    for after_right, bindings_right in self.steps(right, event):
                        merged = merge(bindings_left, bindings_right)
                        if merged is not None:
                            yield conjoin(after_left, after_right), merged
            case Star(body) | Plus(body):
                for after, bindings in self.steps(body, event):
                    yield cat(after, Star(body)), bindings
            case Opt(body):
                yield from self.steps(body, event)
            case Times(body, count):
                if count > 0:
                    for after, bindings in self.steps(body, event):
                        yield cat(after, Times(body, count - 1)), bindings
            case Closure(body):
                for after, bindings in self.steps(body, event):
                    yield Closure(after), bindings
            case Let(name, body):
                first = next(self.steps(body, event), None)
                if first is not None:
                    after, bindings = first
                    if name in bindings:
                        rest = {other: value for other, value in bindings.items() if other != name}
                        yield substitute(after, {name: Val(bindings[name])}), rest
                    else:
                        yield Let(name, after), bindings
            case Filter(use, body, other):
                chosen = next(self.matches(use, event), None)
                if chosen is None:
                    for after, bindings in self.steps(other, event):
                        yield Filter(use, body, after), bindings
                else:
                    for after, bindings in self.steps(body, event):
                        merged = merge(chosen, bindings)
                        if merged is not None:
                            yield Filter(use, after, other), merged
            case Call():
                yield from self.steps(self.unfold(term), event)
            case If(condition, then, other):
                yield from self.steps(then if holds(condition, {}) else other, event)
            case _:
                raise AssertionError(term)


def subterms(term: Any) -> Iterator[Any]:
    yield term
    for field in ("left", "right", "use", "body", "then", "other"):
        part = getattr(term, field, None)
        if part is not None:
            yield from subterms(part)


def pass_extra(term: Any, extra: Mapping[str, set[str]]) -> Any:
    """Append to every call the names of the callee's free variables."""
    if isinstance(term, Call):
        return Call(term.name, (*term.args, *map(Var, sorted(extra[term.name]))))
    fields = ("left", "right", "body", "then", "other")
    parts = {field: pass_extra(getattr(term, field), extra) for field in fields if hasattr(term, field)}
    return replace(term, **parts) if parts else term


def may_be_empty(term: Any, nullable: Mapping[str, bool]) -> bool:
    """Whether a term may halt for some values of its variables."""

    def sub(part: Any) -> bool:
        return may_be_empty(part, nullable)

    match term:
        case Use():
            return False
        case Union(left, right) | If(_, left, right):
            return sub(left) or sub(right)
        case Shuffle(left, right) | Cat(left, right) | And(left, right) | Filter(_, left, right):
            return sub(left) and sub(right)
        case Plus(body) | Let(_, body):
            return sub(body)
        case Times(body, count):
            return count == 0 or sub(body)
        case Call(name, _):
            return nullable[name]
    return True


def unguarded(term: Any, nullable: Mapping[str, bool]) -> Iterator[str]:
    """The equations a step of this term may enter at once."""
    if isinstance(term, Call):
        yield term.name
    if isinstance(term, Cat):
        yield from unguarded(term.left, nullable)
        if may_be_empty(term.left, nullable):
            yield from unguarded(term.right, nullable)
        return
    for field in ("left", "right", "body", "then", "other"):
        part = getattr(term, field, None)
        if part is not None:
            yield from unguarded(part, nullable)


def check_acyclic(edges: Mapping[str, set[str]], complaint: str) -> None:
    done: set[str] = set()

    def visit(node: str, path: tuple[str, ...]) -> None:
        if node in path:
            raise RmlError(f"{node}: {complaint}")
        if node not in done:
            for after in edges.get(node, ()):
                visit(after, (*path, node))
            done.add(node)

    for node in edges:
        visit(node, ())


class Oracle:
    """The monitor: a law's state, and its verdict after each event.

    With ``most_visits`` a step that would visit more terms raises TooLong and leaves the state as it was.
    """

    def __init__(self, text: str, most_visits: int | None = None) -> None:
        self.law = Specification(text, most_visits)
        self.state = self.law.root()
        self.failed = False

    def copy(self) -> Oracle:
        other = object.__new__(Oracle)
        other.law, other.state, other.failed = self.law, self.state, self.failed
        return other

    def _first(self, event: Any) -> tuple[Any, Env] | None:
        self.law.visits = 0
        return next(self.law.steps(self.state, event), None)

    def can_step(self, event: Any) -> bool:
        return not self.failed and self._first(event) is not None

    def step(self, event: Any) -> str:
        if not self.failed:
            first = self._first(event)
            if first is None:
                self.failed = True
            else:
                self.state = first[0]
        return self.verdict

    def may_halt(self) -> bool:
        return not self.failed and self.law.may_halt(self.state)

    @property
    def verdict(self) -> str:
        if self.failed:
            return "false"
        state = self.state
        while isinstance(state, Call):
            state = self.law.unfold(state)
        if state == All():
            return "true"
        return "currently_true" if self.may_halt() else "currently_false"
