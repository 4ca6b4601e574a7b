"""A literal rewriting monitor for RML: parser, matcher and one-step rewriting, written only to be right.

It shares nothing with ``lawful``. A step is a generator of solutions ``(term, bindings)`` as in the original's
Prolog, and the monitor takes the first; nothing is cached, indexed or simplified beyond what the original simplifies.
"""

from __future__ import annotations

import itertools
import math
import re
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

sys.setrecursionlimit(max(sys.getrecursionlimit(), 10_000))


class RmlError(ValueError):
    """The text is not a law of RML."""


class TooLong(RuntimeError):
    """One step visited more terms than it was allowed to: literal backtracking can be exponential."""


# --- data expressions and patterns -------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Val:
    """A value. As a pattern: a scalar equals, an object is a sub-object, a list matches element by element."""

    value: Any


@dataclass(frozen=True, slots=True)
class Var:
    name: str


@dataclass(frozen=True, slots=True)
class Undef:
    """What an expression in error evaluates to as an argument; it equals nothing."""


@dataclass(frozen=True, slots=True)
class Op:
    name: str
    args: tuple[Any, ...]


@dataclass(frozen=True, slots=True)
class Wild:
    """``_``"""


@dataclass(frozen=True, slots=True)
class Obj:
    items: tuple[tuple[str, Any], ...]


@dataclass(frozen=True, slots=True)
class Lst:
    items: tuple[Any, ...]
    open: bool


@dataclass(frozen=True, slots=True)
class Or:
    left: Any
    right: Any


Env = dict[str, Any]


class DataError(Exception):
    """Wrong type, unbound variable, division by zero: the expression has no value."""


def is_number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def same(left: Any, right: Any) -> bool:
    """Strict equality: 1, 1.0 and true all differ, at any depth."""
    if type(left) is not type(right):
        return False
    if isinstance(left, dict):
        return left.keys() == right.keys() and all(same(left[key], right[key]) for key in left)
    if isinstance(left, list):
        return len(left) == len(right) and all(map(same, left, right))
    return bool(left == right)


def equal(left: Any, right: Any) -> bool:
    """``==`` of data expressions: numbers by value, everything else strictly."""
    if is_number(left) and is_number(right):
        return bool(left == right)
    return same(left, right)


def evaluate(expr: Any, env: Mapping[str, Any]) -> Any:
    """The value of a data expression, or DataError."""
    if isinstance(expr, Val):
        return expr.value
    if isinstance(expr, Var):
        if expr.name not in env:
            raise DataError(f"{expr.name} is unbound")
        return env[expr.name]
    if not isinstance(expr, Op):
        raise DataError("no value")
    if expr.name in ("&&", "||"):
        left = evaluate(expr.args[0], env)
        if not isinstance(left, bool):
            raise DataError("not a boolean")
        if left is (expr.name == "||"):
            return left
        right = evaluate(expr.args[1], env)
        if not isinstance(right, bool):
            raise DataError("not a boolean")
        return right
    args = [evaluate(arg, env) for arg in expr.args]
    if expr.name == "==":
        return equal(*args)
    if expr.name == "!=":
        return not equal(*args)
    numbers = all(map(is_number, args))
    if expr.name in ("<", "<=", ">", ">="):
        if not numbers and not all(isinstance(arg, str) for arg in args):
            raise DataError("not comparable")
        left, right = args
        return {"<": left < right, "<=": left <= right, ">": left > right, ">=": left >= right}[expr.name]
    if not numbers:
        raise DataError("not a number")
    try:
        return arithmetic(expr.name, args)
    except (ArithmeticError, ValueError) as error:
        raise DataError(str(error)) from None


def arithmetic(op: str, args: list[Any]) -> Any:
    if len(args) == 1:
        unary = {"neg": lambda x: -x, "abs": abs, "sin": math.sin, "cos": math.cos, "tan": math.tan}
        return unary[op](args[0])
    left, right = args
    whole = isinstance(left, int) and isinstance(right, int)
    if op == "/":
        return left // right if whole and left % right == 0 else left / right
    if op == "^":
        if whole and right >= 0:
            return left**right
        power = float(left) ** float(right)
        if isinstance(power, complex):
            raise DataError("complex")
        return power
    if op in ("min", "max"):
        return min(left, right) if op == "min" else max(left, right)
    return {"*": lambda: left * right, "+": lambda: left + right, "-": lambda: left - right}[op]()


def holds(guard: Any, env: Mapping[str, Any]) -> bool:
    try:
        return evaluate(guard, env) is True
    except DataError:
        return False


def settle(arg: Any, env: Mapping[str, Any]) -> Any:
    """An argument as it is passed on: an unbound variable or a pattern stays, anything else becomes a value."""
    if isinstance(arg, Obj):
        return Obj(tuple((key, settle(item, env)) for key, item in arg.items))
    if isinstance(arg, Lst):
        return Lst(tuple(settle(item, env) for item in arg.items), arg.open)
    if isinstance(arg, Wild) or (isinstance(arg, Var) and arg.name not in env):
        return arg
    try:
        return Val(evaluate(arg, env))
    except DataError:
        return Undef()


def put(expr: Any, args: Mapping[str, Any]) -> Any:
    """Replace variables in a data expression or a pattern."""
    if isinstance(expr, Var):
        return args.get(expr.name, expr)
    if isinstance(expr, Op):
        return Op(expr.name, tuple(put(arg, args) for arg in expr.args))
    if isinstance(expr, Obj):
        return Obj(tuple((key, put(item, args)) for key, item in expr.items))
    if isinstance(expr, Lst):
        return Lst(tuple(put(item, args) for item in expr.items), expr.open)
    if isinstance(expr, Or):
        return Or(put(expr.left, args), put(expr.right, args))
    return expr


def variables(expr: Any) -> Iterator[str]:
    if isinstance(expr, Var):
        yield expr.name
    elif isinstance(expr, Op):
        for arg in expr.args:
            yield from variables(arg)
    elif isinstance(expr, Obj):
        for _, item in expr.items:
            yield from variables(item)
    elif isinstance(expr, Lst):
        for item in expr.items:
            yield from variables(item)
    elif isinstance(expr, Or):
        yield from variables(expr.left)
        yield from variables(expr.right)


def match(pattern: Any, value: Any, env: Env) -> Iterator[Env]:
    """Every way in which the pattern matches the value, as the environment extended by it."""
    if isinstance(pattern, Wild):
        yield env
    elif isinstance(pattern, Var):
        if pattern.name in env:
            yield from match(Val(env[pattern.name]), value, env)
        else:
            yield {**env, pattern.name: value}
    elif isinstance(pattern, Or):
        yield from match(pattern.left, value, env)
        yield from match(pattern.right, value, env)
    elif isinstance(pattern, Obj):
        yield from match_object(pattern.items, value, env)
    elif isinstance(pattern, Lst):
        # An open list needs an element in place of the dots only where it names none: `[...]`, but `[1,...]` fits [1].
        fits = isinstance(value, list) and (
            len(value) >= max(1, len(pattern.items)) if pattern.open else len(value) == len(pattern.items)
        )
        if fits:
            yield from match_items(pattern.items, value, env)
    elif isinstance(pattern, Val):
        if isinstance(pattern.value, dict):
            yield from match_object(tuple((key, Val(item)) for key, item in pattern.value.items()), value, env)
        elif isinstance(pattern.value, list):
            yield from match(Lst(tuple(map(Val, pattern.value)), False), value, env)
        elif same(pattern.value, value):
            yield env


def match_object(items: Sequence[tuple[str, Any]], value: Any, env: Env) -> Iterator[Env]:
    if isinstance(value, dict) and all(key in value for key, _ in items):
        yield from match_items([item for _, item in items], [value[key] for key, _ in items], env)


def match_items(patterns: Sequence[Any], values: Sequence[Any], env: Env) -> Iterator[Env]:
    if not patterns:
        yield env
        return
    for extended in match(patterns[0], values[0], env):
        yield from match_items(patterns[1:], values[1:], extended)


# --- terms ---------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Empty:
    pass


@dataclass(frozen=True, slots=True)
class All:
    pass


@dataclass(frozen=True, slots=True)
class Use:
    """An event type with its arguments."""

    name: str
    args: tuple[Any, ...]


@dataclass(frozen=True, slots=True)
class Union:
    left: Any
    right: Any


@dataclass(frozen=True, slots=True)
class Shuffle:
    left: Any
    right: Any


@dataclass(frozen=True, slots=True)
class Cat:
    left: Any
    right: Any


@dataclass(frozen=True, slots=True)
class And:
    left: Any
    right: Any


@dataclass(frozen=True, slots=True)
class Star:
    body: Any


@dataclass(frozen=True, slots=True)
class Plus:
    body: Any


@dataclass(frozen=True, slots=True)
class Opt:
    body: Any


@dataclass(frozen=True, slots=True)
class Closure:
    body: Any


@dataclass(frozen=True, slots=True)
class Times:
    body: Any
    count: int


@dataclass(frozen=True, slots=True)
class Let:
    name: str
    body: Any


@dataclass(frozen=True, slots=True)
class Filter:
    use: Use
    body: Any
    other: Any


@dataclass(frozen=True, slots=True)
class Call:
    name: str
    args: tuple[Any, ...]


@dataclass(frozen=True, slots=True)
class If:
    condition: Any
    then: Any
    other: Any


@dataclass(frozen=True, slots=True)
class Declaration:
    name: str
    params: tuple[str, ...]
    negated: bool
    uses: tuple[Use, ...]  # empty where the declaration gives a pattern
    pattern: Any
    guard: Any


@dataclass(frozen=True, slots=True)
class Equation:
    name: str
    params: tuple[str, ...]
    body: Any


def free(term: Any) -> set[str]:
    """The variables of a term that no let inside it binds."""
    if isinstance(term, (Use, Call)):
        return {name for arg in term.args for name in variables(arg)}
    if isinstance(term, (Union, Shuffle, Cat, And)):
        return free(term.left) | free(term.right)
    if isinstance(term, (Star, Plus, Opt, Closure, Times)):
        return free(term.body)
    if isinstance(term, Let):
        return free(term.body) - {term.name}
    if isinstance(term, Filter):
        return free(term.use) | free(term.body) | free(term.other)
    if isinstance(term, If):
        return set(variables(term.condition)) | free(term.then) | free(term.other)
    return set()


def substitute(term: Any, args: Mapping[str, Any]) -> Any:
    """Replace free variables by values or by other variables, renaming a let that would capture one of these."""
    if not args or isinstance(term, (Empty, All)):
        return term
    if isinstance(term, (Use, Call)):
        return replace(term, args=tuple(put(arg, args) for arg in term.args))
    if isinstance(term, (Union, Shuffle, Cat, And)):
        return replace(term, left=substitute(term.left, args), right=substitute(term.right, args))
    if isinstance(term, (Star, Plus, Opt, Closure, Times)):
        return replace(term, body=substitute(term.body, args))
    if isinstance(term, Filter):
        return Filter(*(substitute(part, args) for part in (term.use, term.body, term.other)))
    if isinstance(term, If):
        return If(put(term.condition, args), substitute(term.then, args), substitute(term.other, args))
    names = free(term)
    args = {name: arg for name, arg in args.items() if name in names}
    arriving = {name for arg in args.values() for name in variables(arg)}
    if term.name not in arriving:
        return Let(term.name, substitute(term.body, args))
    taken = arriving | free(term.body) | set(args)
    fresh = next(name for i in itertools.count() if (name := f"{term.name}'{i}") not in taken)
    return Let(fresh, substitute(substitute(term.body, {term.name: Var(fresh)}), args))


def cat(left: Any, right: Any) -> Any:
    return right if left == Empty() else left if right == Empty() else Cat(left, right)


def shuffle(left: Any, right: Any) -> Any:
    return right if left == Empty() else left if right == Empty() else Shuffle(left, right)


def conjoin(left: Any, right: Any) -> Any:
    return right if left == All() else left if right == All() else And(left, right)


def merge(left: Env, right: Env) -> Env | None:
    """The union of two bindings, or None where they give a variable two values."""
    if any(name in right and not same(value, right[name]) for name, value in left.items()):
        return None
    return {**left, **right}


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


# --- parser --------------------------------------------------------------------------------------------------------

TOKEN = re.compile(
    r"""(?P<skip>(?:[ \t\r\n\f]|//[^\n]*)+)
    | (?P<float>[0-9]+\.[0-9]+) | (?P<int>[0-9]+)
    | (?P<uid>[A-Z][A-Za-z0-9_]*) | (?P<lid>[a-z][A-Za-z0-9_]*)
    | (?P<string>'(?:[^'\\\n]|\\[trn'\\])*')
    | (?P<sign>\.\.\.|/\\|\\/|>>|>=|<=|==|!=|&&|\|\||[-+*/^<>=|!?(){}\[\],;:_])""",
    re.VERBOSE,
)
KEYWORDS = frozenset("not matches with empty all let var if else abs sin cos tan min max true false null".split())
ESCAPES = {"t": "\t", "r": "\r", "n": "\n", "'": "'", "\\": "\\"}
CONSTANTS = {"true": True, "false": False, "null": None}
LOOSE_TO_TIGHT = ("||", "&&", "!=", "==", ">=", ">", "<=", "<", "-", "+", "/", "*", "neg", "^")
LEVEL = {op: level for level, op in enumerate(LOOSE_TO_TIGHT)}


class Parser:
    """Recursive descent with backtracking at the two places where the grammar needs it."""

    def __init__(self, text: str) -> None:
        self.tokens: list[tuple[str, Any]] = []
        self.at = 0
        position = 0
        while position < len(text):
            found = TOKEN.match(text, position)
            if found is None:
                raise RmlError(f"unexpected {text[position]!r} at {position}")
            position = found.end()
            kind, lexeme = str(found.lastgroup), found.group()
            if kind == "skip":
                continue
            if kind == "lid" and lexeme in KEYWORDS:
                kind = "sign"
            value: Any = lexeme
            if kind == "int":
                value = int(lexeme)
            elif kind == "float":
                value = float(lexeme)
            elif kind == "string":
                value = re.sub(r"\\(.)", lambda escape: ESCAPES[escape[1]], lexeme[1:-1])
            self.tokens.append((kind, value))
        self.tokens += [("end", None)] * 3

    def sees(self, *signs: str, ahead: int = 0) -> bool:
        kind, value = self.tokens[self.at + ahead]
        return kind == "sign" and value in signs

    def take(self, sign: str) -> bool:
        if self.sees(sign):
            self.at += 1
            return True
        return False

    def need(self, sign: str) -> None:
        if not self.take(sign):
            raise RmlError(f"expected {sign!r}, found {self.tokens[self.at]} (token {self.at})")

    def name(self, kind: str) -> str:
        found, value = self.tokens[self.at]
        if found != kind:
            raise RmlError(f"expected {kind}, found {value!r} (token {self.at})")
        self.at += 1
        return str(value)

    def list_of(self, item: Any, separator: str = ",") -> tuple[Any, ...]:
        items = [item()]
        while self.take(separator):
            items.append(item())
        return tuple(items)

    def specification(self) -> tuple[list[Declaration], list[Equation]]:
        declarations, equations = [], []
        while self.tokens[self.at][0] == "lid":
            declarations.append(self.declaration())
        while self.tokens[self.at][0] == "uid":
            equations.append(self.equation())
        if self.tokens[self.at][0] != "end":
            raise RmlError(f"unexpected {self.tokens[self.at]} (token {self.at})")
        return declarations, equations

    def declaration(self) -> Declaration:
        name = self.name("lid")
        params: tuple[str, ...] = ()
        if self.take("("):
            params = self.list_of(lambda: self.name("lid"))
            self.need(")")
        negated = self.take("not")
        self.need("matches")
        uses: tuple[Use, ...] = ()
        pattern: Any = Wild()
        if self.tokens[self.at][0] == "lid":
            uses = self.list_of(self.use, "|")
        else:
            pattern = self.pattern()
        guard = self.data() if self.take("with") else Val(True)
        self.need(";")
        return Declaration(name, params, negated, uses, pattern, guard)

    def equation(self) -> Equation:
        name = self.name("uid")
        params: tuple[str, ...] = ()
        if self.take("<"):
            params = self.list_of(lambda: self.name("lid"))
            self.need(">")
        self.need("=")
        body = self.expression()
        self.need(";")
        return Equation(name, params, body)

    # Patterns and event types

    def pattern(self) -> Any:
        result = self.simple_pattern()
        if self.take("|"):
            return Or(result, self.pattern())
        return result

    def simple_pattern(self, inside: Any = None) -> Any:
        inside = inside or self.pattern
        kind, value = self.tokens[self.at]
        if kind in ("int", "float", "string"):
            self.at += 1
            return Val(value)
        if kind == "lid":
            self.at += 1
            return Var(value)
        if self.sees(*CONSTANTS):
            self.at += 1
            return Val(CONSTANTS[value])
        if self.take("_"):
            return Wild()
        if self.take("("):
            result = inside()
            self.need(")")
            return result
        if self.take("{"):
            items: tuple[Any, ...] = ()
            if not self.sees("}"):
                items = self.list_of(lambda: self.field(inside))
            self.need("}")
            return Obj(items)
        self.need("[")
        elements: list[Any] = []
        open_end = False
        while not self.sees("]"):
            if self.take("..."):
                open_end = True
                break
            elements.append(inside())
            if not self.take(","):
                break
            if self.sees("]"):
                raise RmlError("a comma before ]")
        self.need("]")
        return Lst(tuple(elements), open_end)

    def field(self, inside: Any) -> tuple[str, Any]:
        kind, key = self.tokens[self.at]
        if kind not in ("lid", "uid", "string") and key not in KEYWORDS:
            raise RmlError(f"expected a key, found {key!r}")
        self.at += 1
        self.need(":")
        return key, inside()

    def argument_pattern(self) -> Any:
        """A pattern without alternatives, whose leaves may be data expressions."""
        if self.sees("{", "[", "_"):
            return self.simple_pattern(self.argument_pattern)
        return self.data()

    def use(self) -> Use:
        name = self.name("lid")
        if not self.sees("("):
            return Use(name, ())
        start = self.at
        try:
            self.need("(")
            args = self.list_of(self.argument_pattern)
            self.need(")")
        except RmlError:
            # Not an argument list after all: `a (b \/ c)` is a concatenation. But the original reads `a (b | c)` as
            # an event type with an or-pattern as its argument, which is refused here rather than guessed.
            self.at = start
            if self.alternatives_in_parentheses():
                raise RmlError(f"{name}: alternatives in an argument") from None
            self.at = start
            return Use(name, ())
        return Use(name, args)

    def alternatives_in_parentheses(self) -> bool:
        try:
            self.need("(")
            self.list_of(self.pattern)
            return self.take(")")
        except RmlError:
            return False

    # Data expressions

    def data(self, level: int = 0, closed_by_greater: bool = False) -> Any:
        left = self.data_atom(closed_by_greater)
        while True:
            kind, op = self.tokens[self.at]
            if kind != "sign" or op not in LEVEL or LEVEL[op] < level or (closed_by_greater and op == ">"):
                return left
            self.at += 1
            left = Op(op, (left, self.data(LEVEL[op] + 1, closed_by_greater)))

    def data_atom(self, closed_by_greater: bool) -> Any:
        kind, value = self.tokens[self.at]
        self.at += 1
        if kind in ("int", "float", "string"):
            return Val(value)
        if kind == "lid":
            return Var(value)
        if kind == "sign" and value in CONSTANTS:
            return Val(CONSTANTS[value])
        if kind == "sign" and value == "-":
            return Op("neg", (self.data(LEVEL["neg"], closed_by_greater),))
        if kind == "sign" and value == "(":
            inner = self.data()
            self.need(")")
            return inner
        if kind == "sign" and value in ("abs", "sin", "cos", "tan", "min", "max"):
            self.need("(")
            args = self.list_of(self.data)
            self.need(")")
            if len(args) != (2 if value in ("min", "max") else 1):
                raise RmlError(f"{value}: wrong number of arguments")
            return Op(value, args)
        raise RmlError(f"expected data, found {value!r} (token {self.at - 1})")

    # Expressions, loosest first

    def expression(self) -> Any:
        return self.left_associative("|", Shuffle, self.union)

    def union(self) -> Any:
        return self.left_associative("\\/", Union, self.intersection)

    def intersection(self) -> Any:
        return self.left_associative("/\\", And, self.concatenation)

    def left_associative(self, sign: str, node: Any, operand: Any) -> Any:
        left = operand()
        while self.take(sign):
            left = node(left, operand())
        return left

    def concatenation(self) -> Any:
        left = self.postfix()
        if self.tokens[self.at][0] in ("lid", "uid") or self.sees("empty", "all", "{", "if", "("):
            return Cat(left, self.concatenation())
        return left

    def postfix(self) -> Any:
        body = self.primary()
        while True:
            if self.take("*"):
                body = Star(body)
            elif self.take("+"):
                body = Plus(body)
            elif self.take("?"):
                body = Opt(body)
            elif self.take("!"):
                body = Closure(body)
            elif self.sees("{") and self.tokens[self.at + 1][0] == "int":
                body = Times(body, self.tokens[self.at + 1][1])
                self.at += 2
                self.need("}")
            else:
                return body

    def primary(self) -> Any:
        kind, _ = self.tokens[self.at]
        if kind == "lid":
            use = self.use()
            if not self.take(">>"):
                return use
            body = self.expression()
            return Filter(use, body, self.expression() if self.take(":") else All())
        if kind == "uid":
            name = self.name("uid")
            args: tuple[Any, ...] = ()
            if self.take("<"):
                args = self.list_of(lambda: self.data(closed_by_greater=True))
                self.need(">")
            return Call(name, args)
        if self.take("empty"):
            return Empty()
        if self.take("all"):
            return All()
        if self.take("("):
            inner = self.expression()
            self.need(")")
            return inner
        if self.take("if"):
            self.need("(")
            condition = self.data()
            self.need(")")
            then = self.expression()
            self.need("else")
            return If(condition, then, self.expression())
        self.need("{")
        if not self.take("var"):
            self.need("let")
        names = self.list_of(lambda: self.name("lid"))
        self.need(";")
        body = self.expression()
        self.need("}")
        for variable in reversed(names):
            body = Let(variable, body)
        return body
