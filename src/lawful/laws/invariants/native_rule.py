"""Rules as the C core wants them: plans and expressions as plain tuples."""

from __future__ import annotations

import ast
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

from lawful.laws.invariants.expressions import CALLS, GONE, Expression, Key, tree_of
from lawful.laws.invariants.tracker import plan_of

if TYPE_CHECKING:
    from lawful.laws.invariants.rules import Rule

_MOST_KEYS: Final = 64  # bits of a word

Tree = tuple[str, tuple[Any, ...], Any]
"""An expression for the C core: its kind, its parts, and what else there is to say."""

NativeRule = tuple[tuple[Any, ...], tuple[str, ...], tuple[Tree, ...], bool, int, float]
"""A rule: plans by key, names of fields, expressions, whether it has a `from`, its `on`, its time."""


def native_rule(rule: Rule) -> NativeRule | None:
    """A rule as the C core wants it; None if that cannot do it."""
    if len(rule.keys) > _MOST_KEYS:
        return None
    keys = {key: number for number, key in enumerate(sorted(rule.keys))}
    expressions = list(rule.expressions.values())
    names = {name: number for number, name in enumerate(dict.fromkeys(n for each in expressions for n in each.fields))}
    trees = _TreeBuilder(rule.class_name, names, keys)

    def place(expression: Expression | None) -> int:
        return next((number for number, each in enumerate(expressions) if each is expression), -1)

    plans = []
    for key in keys:
        writes, *judged = plan_of(rule, key)
        plans.append((key, names.get(writes, -1), *map(place, judged)))
    parsed = tuple(trees.of(tree_of(each.text)) for each in expressions)
    return tuple(plans), tuple(names), parsed, rule.from_ is not None, place(rule.on), rule.within or 0.0


class _TreeBuilder:
    """From Python's trees, of expressions that were compiled before, to those of the C core."""

    def __init__(self, class_name: str, names: Mapping[str, int], keys: Mapping[Key, int]) -> None:
        self._class = class_name
        self._names = names
        self._keys = keys

    def of(self, node: ast.expr) -> Tree:
        match node:
            case ast.Constant(value):
                return "constant", (), value
            case ast.Name():
                return "result", (), None
            case ast.Attribute(ast.Name(state), name):
                return "old" if state == "old" else "new", (), self._names[name]
            case ast.Subscript(ast.Name(name), ast.Constant(index)):
                return "argument" if name == "args" else "named", (), index
            case ast.BoolOp(operator, values):
                return "all" if isinstance(operator, ast.And) else "any", self._all(values), None
            case ast.UnaryOp(operator, operand):
                return _UNARY[type(operator)], (self.of(operand),), None
            case ast.BinOp(left, operator, right):
                return _BINARY[type(operator)], (self.of(left), self.of(right)), None
            case ast.Compare(left, operators, others):
                return "compare", self._all([left, *others]), tuple(_SIGNS[type(each)] for each in operators)
            case ast.IfExp(test, then, otherwise):
                return "if", self._all([test, then, otherwise]), None
            case ast.Tuple(parts) | ast.List(parts) | ast.Set(parts):
                return "choices", self._all(parts), None
            case ast.Call(ast.Name(name), arguments):
                return self._call(name, arguments)
        raise AssertionError(f"no expression has {ast.dump(node)}")

    def _all(self, nodes: Sequence[ast.expr]) -> tuple[Tree, ...]:
        return tuple(map(self.of, nodes))

    def _call(self, name: str, arguments: Sequence[ast.expr]) -> Tree:
        keys: list[Key] = []
        if name in CALLS:
            for each in arguments:
                assert isinstance(each, ast.Constant) and isinstance(each.value, str)
                keys.append((CALLS[name], each.value if "." in each.value else f"{self._class}.{each.value}"))
        elif name in ("created", "gone"):
            keys.append(("new", self._class) if name == "created" else GONE)
        else:
            return name, self._all(arguments), None
        return "key", (), sum(1 << number for number in {self._keys[key] for key in keys})


_UNARY: Final[dict[type[ast.unaryop], str]] = {ast.Not: "not", ast.USub: "minus", ast.UAdd: "plus"}
_BINARY: Final[dict[type[ast.operator], str]] = {
    ast.Add: "+",
    ast.Sub: "-",
    ast.Mult: "*",
    ast.Div: "/",
    ast.FloorDiv: "//",
    ast.Mod: "%",
}
_SIGNS: Final[dict[type[ast.cmpop], str]] = {
    ast.Eq: "==",
    ast.NotEq: "!=",
    ast.Lt: "<",
    ast.LtE: "<=",
    ast.Gt: ">",
    ast.GtE: ">=",
    ast.Is: "is",
    ast.IsNot: "is not",
    ast.In: "in",
    ast.NotIn: "not in",
}
