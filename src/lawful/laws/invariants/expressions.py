"""Expressions of invariants: a small part of Python's, parsed by `ast` and turned into functions, never run as code.

The C core evaluates the same trees (`_native/invariants/expressions.c`); test_invariants_cores.py compares the two.
"""

from __future__ import annotations

import ast
import operator
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from lawful.diagnostics import Span, did_you_mean, quoted
from lawful.laws.protocol import Event

LONGEST: Final = 2_000  # characters of an expression
_DEEPEST: Final = 80  # operators inside each other

MISSING: Final = object()  # a value that is not known

Key = tuple[str, str]
"""A kind of event and a name: what makes a step of an object."""

GONE: Final = ("gone", "")
"""The key of the end of an object: its name is that of its own class, which may be any subclass."""

CALLS: Final = {"called": "func_pre", "returned": "func_post", "raised": "func_raise"}
_MOMENTS: Final = {"created": "new", "gone": "gone"}
_EXAMPLE: Final = "write it as in Python: o.count >= 0 and o.open"
_STATES: Final = ("o", "new", "old")
_DATA: Final = ("args", "kwargs", "res")


class NotYet(Exception):
    """A value that the expression names is not known yet, so it has no verdict."""


# What an expression over values of the wrong kinds can raise. It says nothing about the program.
FAULTS: Final = (TypeError, ArithmeticError, ValueError)
_OPEN: Final = (NotYet, *FAULTS)


@dataclass(frozen=True, slots=True, repr=False)
class Ref:
    """A value that is an object: known by its id alone."""

    id: int | str

    def __bool__(self) -> bool:
        raise TypeError("whether an object counts as true is not known")

    def __repr__(self) -> str:
        return f"object {self.id}"


@dataclass(slots=True, eq=False)
class Step:
    """One event about one object, and the object's values around it."""

    key: Key
    event: Event
    values: dict[str, Any]  # after it
    target: int | str = 0  # the object's id
    number: int = 0  # of the event
    field: str = ""  # that it writes
    replaced: Any = MISSING  # what this field was before
    snapshot: dict[str, Any] | None = None  # what `old` stands for, if not the values before the event


Evaluate = Callable[[Step], Any]

Tree = tuple[str, tuple["Tree", ...], Any]
"""A checked expression: its kind, its parts, and what else there is to say. The C core takes the same trees."""


@dataclass(eq=False)
class ExpressionError(Exception):
    """What is wrong with an expression, and where in its text."""

    slug: str
    message: str
    span: Span
    hint: str | None = None


@dataclass(frozen=True)
class Expression:
    """A compiled expression, and the names in it."""

    text: str
    tree: Tree
    evaluate: Evaluate
    fields: Mapping[str, Span]  # each with its first place
    states: frozenset[str]  # which of `o`, `old`, `new`
    calls: Mapping[Key, Span]
    moments: Mapping[Key, Span]  # creation and end
    data: Mapping[str, Span]  # `args`, `kwargs`, `res`
    keys: frozenset[Key]  # of all steps at which it can change

    @property
    def acts(self) -> frozenset[Key]:
        """The calls and moments that it names."""
        return frozenset((*self.calls, *self.moments))


def parse(text: str, class_name: str) -> Expression:
    """An expression about objects of a class. Raises ExpressionError."""
    if len(text) > LONGEST:
        raise ExpressionError("invariant-too-large", f"an expression has at most {LONGEST:,} characters", (0, LONGEST))
    flat = "".join(" " if char in "\r\n\t\f" else char for char in text)  # in one line
    indent = len(flat) - len(flat.lstrip(" "))
    tree = _tree(flat, indent)
    compiler = _Compiler(flat, indent, class_name)
    checked: Tree = compiler.visit(tree)
    if compiler.end(tree) < len(rest := flat.rstrip(" )")) and rest[compiler.end(tree) :].lstrip(" )").startswith("#"):
        at = flat.index("#", compiler.end(tree))
        hint = "put it after the closing quote, or into a line of its own"
        raise ExpressionError("invariant-syntax", "an expression has no comments", (at, len(flat)), hint)
    keys = frozenset(
        (*compiler.calls, *compiler.moments, *(("field_write", f"{class_name}.{each}") for each in compiler.fields))
    )
    if not keys and not compiler.data:
        raise ExpressionError(
            "invariant-constant",
            "this names no field and no call, so no event can change it",
            (indent, len(flat.rstrip())),
            "fields are written o.name, calls called('name')",
        )
    return Expression(
        text.strip(),
        checked,
        _evaluator(checked),
        compiler.fields,
        frozenset(compiler.states),
        compiler.calls,
        compiler.moments,
        compiler.data,
        keys,
    )


def _tree(flat: str, indent: int) -> ast.expr:
    if not flat.strip():
        raise ExpressionError("invariant-syntax", "an expression is missing", (0, len(flat)), _EXAMPLE)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # the interpreter's advice on style
            return ast.parse(flat[indent:], mode="eval").body
    except SyntaxError as error:
        last = len(flat.rstrip())
        at = indent + error.offset - 1 if error.offset else last  # without one, it ends too early
        end = indent + (error.end_offset or 0) - 1
        hint = "equality is ==" if "==" in (error.msg or "") or flat[at : at + 1] == "=" else _EXAMPLE
        raise ExpressionError(
            "invariant-syntax", f"this is not an expression: {error.msg}", _span(at, end, flat), hint
        ) from None
    except (ValueError, MemoryError, RecursionError) as error:
        message = f"this cannot be read: {error}"
        raise ExpressionError("invariant-syntax", message, (indent, len(flat)), _EXAMPLE) from None


def _span(start: int, end: int, text: str) -> Span:
    start = min(start, len(text))
    return start, min(max(end, start), len(text))


# -- Python's trees to ours -----------------------------------------------------------------------


class _Compiler(ast.NodeVisitor):
    """Checks Python's trees and makes ours of them, and notes what they name."""

    def __init__(self, text: str, indent: int, class_name: str) -> None:
        self._text = text
        self._bytes = text.encode()[indent:]  # places in trees count these
        self._indent = indent
        self._class = class_name
        self._depth = 0
        self.fields: dict[str, Span] = {}
        self.states: set[str] = set()
        self.calls: dict[Key, Span] = {}
        self.moments: dict[Key, Span] = {}
        self.data: dict[str, Span] = {}

    def end(self, node: ast.expr) -> int:
        return self._offset(node.end_col_offset or 0)

    def visit(self, node: ast.AST) -> Tree:
        assert isinstance(node, ast.expr)
        self._depth += 1
        if self._depth > _DEEPEST:
            raise ExpressionError("invariant-too-large", "this nests too deep", self._place(node))
        found: Tree = super().visit(node)
        self._depth -= 1
        return found

    def generic_visit(self, node: ast.AST) -> Tree:
        assert isinstance(node, ast.expr)
        raise self._unsupported(node, _KINDS.get(type(node).__name__, "this"))

    def _all(self, nodes: Sequence[ast.expr]) -> tuple[Tree, ...]:
        return tuple(map(self.visit, nodes))

    def _offset(self, column: int) -> int:
        return self._indent + len(self._bytes[:column].decode(errors="replace"))

    def _place(self, node: ast.expr) -> Span:
        return self._offset(node.col_offset), self.end(node)

    def _unsupported(self, node: ast.expr, what: str, hint: str | None = None) -> ExpressionError:
        return ExpressionError(
            "invariant-unsupported",
            f"{what} cannot stand in an invariant",
            self._place(node),
            hint or "there are fields, literals, comparisons, and, or, not, in, + - * / // %, abs, min, max and len",
        )

    # -- values -----------------------------------------------------------------------------------

    def visit_Constant(self, node: ast.Constant) -> Tree:
        value = node.value
        if value is not None and not isinstance(value, bool | int | float | str):
            raise self._unsupported(node, f"{type(value).__name__} literals")
        return "constant", (), value

    def visit_Name(self, node: ast.Name) -> Tree:
        if node.id == "res":
            self.data.setdefault("res", self._place(node))
            return "result", (), None
        if node.id in _STATES:
            hint = f"its fields are written {node.id}.name"
            raise ExpressionError("invariant-unsupported", "an object itself is not a value", self._place(node), hint)
        if node.id in ("args", "kwargs"):
            index = "0" if node.id == "args" else "'name'"
            hint = f"one of them is {node.id}[{index}]"
            raise ExpressionError("invariant-unsupported", "all arguments are not one value", self._place(node), hint)
        missing = "calls are written with parentheses" if node.id in _FUNCTIONS else None
        raise self._unknown(node, node.id, (*_STATES, *_DATA), missing)

    def _unknown(
        self, node: ast.expr, name: str, known: tuple[str, ...], hint: str | None = None, what: str = "name"
    ) -> ExpressionError:
        meant = did_you_mean(name, known) if len(name) > 1 else None
        hint = hint or (f"did you mean {meant}?" if meant else f"there are {', '.join(known)}")
        message = f"there is no {what} {quoted(name)} in an invariant"
        return ExpressionError("invariant-unknown-name", message, self._place(node), hint)

    def visit_Attribute(self, node: ast.Attribute) -> Tree:
        if not isinstance(node.value, ast.Name):
            if isinstance(node.value, ast.Attribute):
                hint = "make an invariant of the other object's class"
                raise self._unsupported(node, "a field of a field", hint)
            raise self._unsupported(node, "an attribute of this")
        state = node.value.id
        if state in _DATA:
            raise self._unsupported(node, "an attribute of an argument or result")
        if state not in _STATES:
            raise self._unknown(node.value, state, _STATES)
        name, start = node.attr, self._place(node)
        self.fields.setdefault(name, (start[1] - len(name), start[1]))
        self.states.add(state)
        return "old" if state == "old" else "new", (), name

    def visit_Subscript(self, node: ast.Subscript) -> Tree:
        if not isinstance(node.value, ast.Name) or node.value.id not in ("args", "kwargs"):
            raise self._unsupported(node, "an element of this")
        name, index = node.value.id, node.slice
        self.data.setdefault(name, self._place(node))
        value = index.value if isinstance(index, ast.Constant) else None
        if name == "args" and type(value) is int and value >= 0:
            return "argument", (), value
        if name == "kwargs" and isinstance(value, str):
            return "named", (), value
        hint = "args[0] is the first" if name == "args" else "kwargs['name'] is that of this name"
        raise self._unsupported(node, "this argument", hint)

    # -- operators --------------------------------------------------------------------------------

    def visit_BoolOp(self, node: ast.BoolOp) -> Tree:
        return "all" if isinstance(node.op, ast.And) else "any", self._all(node.values), None

    def visit_UnaryOp(self, node: ast.UnaryOp) -> Tree:
        inner = self.visit(node.operand)
        if type(node.op) not in _UNARY:
            raise self._unsupported(node, "~")
        return _UNARY[type(node.op)], (inner,), None

    def visit_BinOp(self, node: ast.BinOp) -> Tree:
        sign = _sign(node.op)
        if sign not in _ARITHMETIC:
            raise self._unsupported(node, sign)
        return sign, self._all([node.left, node.right]), None

    def visit_Compare(self, node: ast.Compare) -> Tree:
        parts = [self.visit(node.left)]
        for sign, operand in zip(node.ops, node.comparators, strict=True):
            if isinstance(sign, ast.In | ast.NotIn) and isinstance(operand, ast.Tuple | ast.List | ast.Set):
                parts.append(("choices", self._all(operand.elts), None))
                continue
            if isinstance(sign, ast.Is | ast.IsNot) and not _is_sole(operand):
                raise self._unsupported(operand, "`is` with this", "`is` goes with None, True and False; else ==")
            parts.append(self.visit(operand))
        return "compare", tuple(parts), tuple(map(_sign, node.ops))

    def visit_IfExp(self, node: ast.IfExp) -> Tree:
        return "if", self._all([node.test, node.body, node.orelse]), None

    # -- calls ------------------------------------------------------------------------------------

    def visit_Call(self, node: ast.Call) -> Tree:
        if not isinstance(node.func, ast.Name):
            hint = "whether it is called is asked with called('name')"
            raise self._unsupported(node, "a call of a method", hint)
        name = node.func.id
        if node.keywords:
            raise self._unsupported(node.keywords[0].value, "an argument with a name")
        if name in CALLS:
            return self._act(node, name)
        if name in _MOMENTS:
            if node.args:
                raise self._unsupported(node.args[0], f"an argument of {name}")
            key = ("new", self._class) if name == "created" else GONE
            self.moments.setdefault(key, self._place(node))
            return "key", (), frozenset((key,))
        if name not in _FUNCTIONS:
            raise self._unknown(node.func, name, _FUNCTIONS, what="function")
        if name in ("abs", "len") and len(node.args) != 1:
            raise self._unsupported(node, f"{name} of {len(node.args)} values")
        if name in ("min", "max") and len(node.args) < 2:
            raise self._unsupported(node, f"{name} of fewer than two values")
        return name, self._all(node.args), None

    def _act(self, node: ast.Call, name: str) -> Tree:
        keys: set[Key] = set()
        for each in node.args:
            value = each.value if isinstance(each, ast.Constant) else None
            if not isinstance(value, str) or not all(part.isidentifier() for part in value.split(".")):
                raise self._unsupported(each, f"this in {name}", f"methods are given as text: {name}('close')")
            key = (CALLS[name], value if "." in value else f"{self._class}.{value}")
            self.calls.setdefault(key, self._place(each))
            keys.add(key)
        if not keys:
            raise self._unsupported(node, f"{name}()", f"say what is called: {name}('close')")
        return "key", (), frozenset(keys)


def _is_sole(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and (node.value is None or type(node.value) is bool)


def _sign(operator: ast.operator | ast.cmpop) -> str:
    """An operator as Python writes it."""
    x, y = ast.Name("x"), ast.Name("y")
    node = ast.BinOp(x, operator, y) if isinstance(operator, ast.operator) else ast.Compare(x, [operator], [y])
    return ast.unparse(node)[2:-2]


_FUNCTIONS: Final = (*CALLS, *_MOMENTS, "abs", "min", "max", "len")
_UNARY: Final[dict[type[ast.unaryop], str]] = {ast.Not: "not", ast.USub: "minus", ast.UAdd: "plus"}
_KINDS: Final = {
    "Lambda": "a function",
    "ListComp": "a comprehension",
    "SetComp": "a comprehension",
    "DictComp": "a comprehension",
    "GeneratorExp": "a comprehension",
    "JoinedStr": "an f-string",
    "NamedExpr": "an assignment",
    "Await": "await",
    "Yield": "yield",
    "YieldFrom": "yield",
    "Starred": "*",
    "Dict": "a dict",
    "Tuple": "a tuple outside of `in`",
    "List": "a list outside of `in`",
    "Set": "a set outside of `in`",
}


# -- trees to functions ---------------------------------------------------------------------------


def _evaluator(tree: Tree) -> Evaluate:
    kind, trees, more = tree
    parts = tuple(map(_evaluator, trees))
    if kind in ("all", "any"):
        return _connected(parts, kind == "any")
    if kind == "compare":
        return _comparison(parts, more)
    if kind in _ARITHMETIC:
        # Numbers only: text could be multiplied or formatted beyond all bounds.
        apply, (left, right) = _ARITHMETIC[kind], parts
        return lambda step: apply(_number(left(step)), _number(right(step)))
    return _MAKERS[kind](parts, more)


def value_of(event: Mapping[str, Any]) -> Any:
    """The result, or the value written: MISSING if the event does not tell."""
    object_id = event.get("resultId")
    if object_id is not None:
        return Ref(object_id) if isinstance(object_id, int | str) else MISSING
    value = event.get("res", MISSING)
    return MISSING if isinstance(value, dict | list) else value


def _field(name: str, *, old: bool) -> Evaluate:
    def evaluate(step: Step) -> Any:
        if old and step.snapshot is not None:
            value = step.snapshot.get(name, MISSING)
        elif old and step.field == name:
            value = step.replaced
        else:
            value = step.values.get(name, MISSING)
        if value is MISSING:
            raise NotYet
        return value

    return evaluate


def _result(step: Step) -> Any:
    if step.key[0] != "func_post":
        raise NotYet
    value = value_of(step.event)
    if value is MISSING:
        raise TypeError("the event does not tell the result")
    return value


def _pick(step: Step, key: str, id_key: str, kind: type, index: Any) -> Any:
    if not step.key[0].startswith("func_"):
        raise NotYet
    values, ids = step.event.get(key), step.event.get(id_key)
    object_id = None
    try:
        object_id = ids[index] if isinstance(ids, kind) else None  # type: ignore[index]
        value = values[index] if isinstance(values, kind) else MISSING  # type: ignore[index]
    except LookupError:
        value = MISSING
    if value is MISSING or isinstance(value, dict | list):
        raise TypeError(f"the call has no {key}[{index!r}]")
    return Ref(object_id) if isinstance(object_id, int | str) else value


def _connected(parts: tuple[Evaluate, ...], decides: bool) -> Evaluate:
    """`and`, `or`: an unknown part does not matter if another decides."""

    def evaluate(step: Step) -> Any:
        value: Any = not decides
        unknown: Exception | None = None
        for part in parts:
            try:
                value = part(step)
                if bool(value) is decides:
                    return value
            except _OPEN as error:
                if unknown is None or isinstance(unknown, NotYet):
                    unknown = error
        if unknown is not None:
            try:
                raise unknown
            finally:
                unknown = None  # it knows this frame: they would be a cycle
        return value

    return evaluate


def _comparison(parts: tuple[Evaluate, ...], signs: tuple[str, ...]) -> Evaluate:
    first, *others = parts
    pairs = [(_COMPARISONS[sign], other) for sign, other in zip(signs, others, strict=True)]
    if len(pairs) == 1:
        ((only, second),) = pairs
        return lambda step: only(first(step), second(step))

    def evaluate(step: Step) -> Any:
        left = first(step)
        for compare, operand in pairs:
            right = operand(step)
            if not compare(left, right):
                return False
            left = right
        return True

    return evaluate


def _number(value: Any) -> Any:
    if not isinstance(value, int | float):
        raise TypeError(f"{shown(value)} is not a number")
    return value


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise TypeError(f"{shown(value)} has no length")
    return value


def _ordered(compare: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
    def ordered(left: Any, right: Any) -> Any:
        if left.__class__ is int and right.__class__ is int:  # nearly always
            return compare(left, right)
        kind: Any = str if isinstance(left, str) else int | float
        if not isinstance(left, str | int | float) or not isinstance(right, kind):
            raise TypeError(f"{shown(left)} is neither less nor more than {shown(right)}")
        return compare(left, right)

    return ordered


def _in(left: Any, right: Any) -> bool:
    if isinstance(right, str) and not isinstance(left, str):
        raise TypeError(f"{shown(left)} cannot be in a text")
    if not isinstance(right, str | tuple):
        raise TypeError(f"nothing can be in {shown(right)}")
    return left in right


def shown(value: Any) -> str:
    """A value in a message."""
    text = f"{value!r}" if not isinstance(value, int) or value.bit_length() < 1000 else "a large number"
    return text if len(text) <= 60 else text[:59] + "…"


_ARITHMETIC: Final[dict[str, Callable[[Any, Any], Any]]] = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "/": operator.truediv,
    "//": operator.floordiv,
    "%": operator.mod,
}
_COMPARISONS: Final[dict[str, Callable[[Any, Any], Any]]] = {
    "==": operator.eq,
    "!=": operator.ne,
    "<": _ordered(operator.lt),
    "<=": _ordered(operator.le),
    ">": _ordered(operator.gt),
    ">=": _ordered(operator.ge),
    "is": operator.is_,
    "is not": operator.is_not,
    "in": _in,
    "not in": lambda left, right: not _in(left, right),
}
_MAKERS: Final[dict[str, Callable[[tuple[Evaluate, ...], Any], Evaluate]]] = {
    "constant": lambda parts, value: lambda step: value,
    "new": lambda parts, name: _field(name, old=False),
    "old": lambda parts, name: _field(name, old=True),
    "key": lambda parts, keys: lambda step: step.key in keys,
    "result": lambda parts, more: _result,
    "argument": lambda parts, index: lambda step: _pick(step, "args", "argIds", list, index),
    "named": lambda parts, name: lambda step: _pick(step, "kwargs", "kwargIds", dict, name),
    "choices": lambda parts, more: lambda step: tuple(part(step) for part in parts),
    "if": lambda parts, more: lambda step: parts[1](step) if parts[0](step) else parts[2](step),
    "not": lambda parts, more: lambda step: not parts[0](step),
    "minus": lambda parts, more: lambda step: -_number(parts[0](step)),
    "plus": lambda parts, more: lambda step: _number(parts[0](step)),
    "abs": lambda parts, more: lambda step: abs(_number(parts[0](step))),
    "len": lambda parts, more: lambda step: len(_text(parts[0](step))),
    "min": lambda parts, more: lambda step: min(_number(part(step)) for part in parts),
    "max": lambda parts, more: lambda step: max(_number(part(step)) for part in parts),
}
"""For each kind of tree what makes a function of its parts' functions and of what else it says."""
