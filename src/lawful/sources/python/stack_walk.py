"""Follows the instructions of a code object, tracks names on the value stack, and finds watched instructions.

The twin in C is _native/tracer/sites.c; test_sites_native.py compares them.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Set
from types import CodeType
from typing import NamedTuple

from lawful.sources.python import instructions
from lawful.sources.python.instructions import ATTR_HAS_FLAG, DIRECTIONS, SHAPES, Op, UnknownBytecodeError
from lawful.sources.python.tracer_protocol import Operation


class Watchable(NamedTuple):
    """An instruction that can be watched."""

    operation: Operation
    operands: int  # 0: a call, whose operands are counted at the place
    method: str | None  # the special method, if it is always the same
    # How far above `Probe.base` the result lies at `Probe.result`. None: no result, and the operation is done when
    # that instruction comes.
    result_above: int | None


WATCHABLE = {
    "CALL": Watchable(Operation.CALL, 0, None, 0),
    "CALL_KW": Watchable(Operation.CALL, 0, None, 0),
    "CALL_FUNCTION_EX": Watchable(Operation.CALL_EX, 0, None, 0),
    "BEFORE_WITH": Watchable(Operation.ENTER, 1, "__enter__", 1),  # on top of the bound `__exit__`
    # On top of `__exit__`, an offset, and two exceptions.
    "WITH_EXCEPT_START": Watchable(Operation.EXIT_RAISED, 4, "__exit__", 4),
    "BEFORE_ASYNC_WITH": Watchable(Operation.ASYNC_ENTER, 1, "__aenter__", 1),
    "GET_ITER": Watchable(Operation.ITER, 1, "__iter__", 0),
    "FOR_ITER": Watchable(Operation.NEXT, 1, "__next__", 1),  # on top of the iterator
    "GET_AITER": Watchable(Operation.ASYNC_ITER, 1, "__aiter__", 0),
    "GET_ANEXT": Watchable(Operation.ASYNC_NEXT, 1, "__anext__", 1),
    "GET_AWAITABLE": Watchable(Operation.AWAIT, 1, "__await__", 0),
    "CONTAINS_OP": Watchable(Operation.CONTAINS, 2, "__contains__", 0),
    "BINARY_SUBSCR": Watchable(Operation.GET_ITEM, 2, "__getitem__", 0),
    "STORE_SUBSCR": Watchable(Operation.SET_ITEM, 3, "__setitem__", None),
    "DELETE_SUBSCR": Watchable(Operation.DELETE_ITEM, 2, "__delitem__", None),
    "BINARY_SLICE": Watchable(Operation.GET_SLICE, 3, "__getitem__", 0),
    "STORE_SLICE": Watchable(Operation.SET_SLICE, 4, "__setitem__", None),
    "LOAD_ATTR": Watchable(Operation.GET_FIELD, 1, None, 0),
    "STORE_ATTR": Watchable(Operation.SET_FIELD, 2, None, None),
    "DELETE_ATTR": Watchable(Operation.DELETE_FIELD, 1, None, None),
    "BINARY_OP": Watchable(Operation.BINARY, 2, None, 0),
    "COMPARE_OP": Watchable(Operation.COMPARE, 2, None, 0),
    "UNARY_NEGATIVE": Watchable(Operation.UNARY, 1, "__neg__", 0),
    "UNARY_INVERT": Watchable(Operation.UNARY, 1, "__invert__", 0),
    "UNARY_POSITIVE": Watchable(Operation.UNARY, 1, "__pos__", 0),
    "CALL_INTRINSIC_1": Watchable(Operation.UNARY, 1, "__pos__", 0),
}
OPERANDS = {each.operation: each.operands for each in WATCHABLE.values()}
"""How many operands an operation has, but for calls."""
RESULT_ABOVE_BASE = {each.operation: each.result_above for each in WATCHABLE.values() if each.result_above is not None}

_BINARY = "add and floordiv lshift matmul mul mod or pow rshift sub truediv xor".split()
BINARY_NAMES = [f"__{name}__" for name in _BINARY] + [f"__i{name}__" for name in _BINARY]

# Up to 3.12 the NULL or the method lies below the callable or its receiver; from 3.13 the callable lies lowest.
_NULL_FIRST = instructions.VERSION <= (3, 12)

# A value on the stack: the attribute it was loaded by; the global, as a tuple; NULL; or None if it is unknown.
_Value = str | tuple[str] | int | None
_Stack = list[_Value]
_NULL = 0
# By how many bits the number of the name is shifted in the argument of an instruction that loads something by a name.
LOAD_SHIFTS = {
    Op.LOAD_GLOBAL: 1, Op.LOAD_NAME: 0, Op.LOAD_FROM_DICT_OR_GLOBALS: 0, Op.LOAD_METHOD: 0, Op.LOAD_SUPER_ATTR: 2,
    Op.LOAD_ATTR: 1 if ATTR_HAS_FLAG else 0,
}  # fmt: skip
_GLOBALS = frozenset({Op.LOAD_GLOBAL, Op.LOAD_NAME, Op.LOAD_FROM_DICT_OR_GLOBALS})
_CONSTANT_NAMES: dict[int, tuple[int, _Value]] = {
    Op.PUSH_NULL: (-1, _NULL),
    Op.BEFORE_WITH: (-2, "__exit__"),
    Op.BEFORE_ASYNC_WITH: (-2, "__aexit__"),
    Op.LOAD_BUILD_CLASS: (-1, ("__build_class__",)),
    Op.LOAD_ASSERTION_ERROR: (-1, ("AssertionError",)),
}
_JUMPS = instructions.pattern(op for op in range(256) if DIRECTIONS[op])

Site = tuple[int, int, int, int, str | None, bool, tuple[str, ...] | None]
"""A wanted instruction: its code unit, number and argument; how many values lie on the stack. Of a call also the name
that loaded the callable, if one did; whether that is a global; and the keywords, if an instruction before says them."""


class StackWalk:
    """Follows every path through the code until no path brings anything new. What it finds: `sites`, and `joins`."""

    def __init__(self, code: CodeType, wanted: bytes) -> None:
        """`wanted` has a byte for each instruction number: is it watched?"""
        self._code = code
        self._ops, self._args = ops, args = code.co_code[::2], code.co_code[1::2]
        self._wanted = wanted
        self._found: dict[int, Site] = {}  # by code units
        self._table = list(instructions.handlers(code.co_exceptiontable))
        self._starts = [handler.start for handler in self._table]
        # Where paths join: the stack as known so far. From one such place to the next there is one path only.
        self._joins: dict[int, _Stack | None] = dict.fromkeys(
            instructions.jump_target(ops, args, jump.start()) for jump in _JUMPS.finditer(ops)
        )
        self._joins.update(dict.fromkeys(self._starts))
        self._joins.update(dict.fromkeys(handler.target for handler in self._table))
        self._paths: list[tuple[int, _Stack]] = [(0, [])]
        while self._paths:
            self._follow(*self._paths.pop())

    @property
    def sites(self) -> list[Site]:
        """The wanted instructions, in their order."""
        return [self._found[unit] for unit in sorted(self._found)]

    @property
    def joins(self) -> Set[int]:
        return self._joins.keys()

    def _join(self, unit: int, stack: _Stack) -> _Stack | None:
        """The stack where paths join; None: this one brings nothing new."""
        known = self._joins[unit]
        if known is not None:
            if len(known) != len(stack):
                raise UnknownBytecodeError("the stack has two depths")
            stack = [one if one == other else None for one, other in zip(known, stack, strict=True)]
        if known == stack:
            return None
        self._joins[unit] = stack.copy()
        entry = bisect_right(self._starts, unit) - 1
        if entry >= 0 and unit < self._table[entry].end:
            handler = self._table[entry]
            if len(stack) < handler.depth:
                raise UnknownBytecodeError("a handler keeps more than there is")
            self._paths.append((handler.target, stack[: handler.depth] + [None] * handler.pushed))
        return stack

    def _follow(self, unit: int, stack: _Stack) -> None:
        """One path, until it ends or brings nothing new."""
        ops, args, constants, names = self._ops, self._args, self._code.co_consts, self._code.co_names
        prefix = 0
        keywords: tuple[str, ...] | None = None
        while True:
            if unit in self._joins:
                joined = self._join(unit, stack)
                if joined is None:
                    return
                stack = joined
            op = ops[unit]
            arg = prefix | args[unit]
            if op == instructions.EXTENDED_ARG:
                prefix = arg << 8
                unit += 1
                continue
            prefix = 0
            takes, puts = SHAPES[op] or instructions.shape(op, arg)
            depth = len(stack)
            if takes > depth or depth > self._code.co_stacksize:
                raise UnknownBytecodeError("the stack is too small")
            if self._wanted[op]:
                name = _named(op, arg, stack)
                is_global = type(name) is tuple
                plain = name[0] if type(name) is tuple else name if type(name) is str else None
                self._found[unit] = unit, op, arg, depth, plain, is_global, keywords
                keywords = None
            elif op == Op.KW_NAMES:
                keywords = constants[arg]
            following = instructions.next_unit(ops, unit)
            if DIRECTIONS[op]:
                jump_takes, jump_puts = instructions.shape(op, 0, True)
                jumped = stack[: depth - jump_takes] + [None] * jump_puts
                self._paths.append((following + DIRECTIONS[op] * arg, jumped))
            if instructions.ENDS[op]:
                return
            _apply(op, arg, takes, puts, stack, names)
            unit = following


def _apply(op: int, arg: int, takes: int, puts: int, stack: _Stack, names: tuple[str, ...]) -> None:
    """Do to the known stack what an instruction does to the stack."""
    if op == Op.COPY:
        stack.append(stack[-arg])
    elif op == Op.SWAP:
        stack[-arg], stack[-1] = stack[-1], stack[-arg]
    else:
        if takes:
            del stack[-takes:]
        if puts:
            stack += [None] * puts
            if op in LOAD_SHIFTS or op in _CONSTANT_NAMES:
                _note_name(op, arg, stack, names)


def _note_name(op: int, arg: int, stack: _Stack, names: tuple[str, ...]) -> None:
    """Write down what a value was loaded by, where an instruction has just put it."""
    if op in _CONSTANT_NAMES:
        place, value = _CONSTANT_NAMES[op]
        stack[place] = value
        return
    name = names[arg >> LOAD_SHIFTS[op]]
    if op == Op.LOAD_GLOBAL and arg & 1:
        stack[-2:] = [_NULL, (name,)] if _NULL_FIRST else [(name,), _NULL]
    elif op in _GLOBALS:
        stack[-1] = (name,)
    else:
        is_method = op == Op.LOAD_METHOD or (arg & 1 and (ATTR_HAS_FLAG or op != Op.LOAD_ATTR))
        stack[-2 if is_method else -1] = name


def _named(op: int, arg: int, stack: _Stack) -> _Value:
    """The name of a call's callable, or of the method that leaves a `with` block with an exception."""
    if op == Op.WITH_EXCEPT_START:
        return stack[-4]
    operands = call_operands(op, arg)
    if not operands:
        return None
    return stack[1 - operands] if stack[-operands] == _NULL else stack[-operands]


def call_operands(op: int, arg: int) -> int:
    """How many operands a call has; 0: it is not a call."""
    if op == Op.CALL:
        return 2 + arg
    if op == Op.CALL_KW:
        return 3 + arg
    return 3 + (arg & 1) if op == Op.CALL_FUNCTION_EX else 0


# What the C twin must know of instructions; the numbers are those of its enum `Role`.
_ROLES = (
    "EXTENDED_ARG CALL CALL_KW CALL_FUNCTION_EX KW_NAMES COPY SWAP LOAD_GLOBAL LOAD_ATTR LOAD_METHOD LOAD_SUPER_ATTR"
    " PUSH_NULL BEFORE_WITH BEFORE_ASYNC_WITH WITH_EXCEPT_START LOAD_BUILD_CLASS LOAD_ASSERTION_ERROR"
    " LOAD_NAME/LOAD_FROM_DICT_OR_GLOBALS"
)
_ROLE_NUMBERS = {name: role for role, names in enumerate(_ROLES.split(), 1) for name in names.split("/")}
_BY_ARGUMENT = 255
C_TABLES = (
    bytes(_ROLE_NUMBERS.get(instructions.NAMES.get(op, ""), 0) for op in range(256)),
    bytes(_BY_ARGUMENT if each is None else each[0] for each in SHAPES),
    bytes(_BY_ARGUMENT if each is None else each[1] for each in SHAPES),
    bytes(each % 3 for each in DIRECTIONS),
    instructions.ENDS,
    ("__exit__", "__aexit__", "__build_class__", "AssertionError"),
    instructions.shape,
    int(_NULL_FIRST),
    int(ATTR_HAS_FLAG),
)
