"""Where in a code object something can be watched: the instructions, and where on the stack their operands lie."""

from __future__ import annotations

import re
import sys
from bisect import bisect_right
from collections.abc import Iterator, Set
from functools import lru_cache
from types import CodeType
from typing import Final, NamedTuple

from lawful import core
from lawful.sources.python.frames import stack_bottom
from lawful.sources.python.instructions import (
    ATTR_HAS_FLAG,
    DIRECTIONS,
    ENDS,
    EXTENDED_ARG,
    NAMES,
    SHAPES,
    SUPPORTED,
    VERSION,
    UnknownBytecodeError,
    handlers,
    jump_target,
    next_unit,
    number,
    shape,
    whole_argument,
)
from lawful.sources.python.tracer_protocol import CALLS, Operation, Probe

__all__ = [
    "OPERANDS",
    "RESULT_ABOVE_BASE",
    "SUPPORTED",
    "WATCHABLE",
    "CallMarks",
    "UnknownBytecodeError",
    "loaded_names",
    "probes",
]

# How far above `Probe.base` the result lies at `Probe.result`. Operations that are not here leave none: they are done
# when that instruction comes.
RESULT_ABOVE_BASE = {
    Operation.CALL: 0,
    Operation.CALL_EX: 0,
    Operation.ENTER: 1,  # on top of the bound `__exit__`
    Operation.EXIT_RAISED: 4,  # on top of `__exit__`, an offset, and two exceptions
    Operation.ASYNC_ENTER: 1,
    Operation.ITER: 0,
    Operation.NEXT: 1,  # on top of the iterator
    Operation.ASYNC_ITER: 0,
    Operation.ASYNC_NEXT: 1,
    Operation.AWAIT: 0,
    Operation.CONTAINS: 0,
    Operation.GET_ITEM: 0,
    Operation.GET_SLICE: 0,
    Operation.GET_FIELD: 0,
    Operation.BINARY: 0,
    Operation.COMPARE: 0,
    Operation.UNARY: 0,
}

# Instruction: operation, number of operands (of calls: found at the place), special method (if it is always the same).
WATCHABLE: dict[str, tuple[Operation, int, str | None]] = {
    "CALL": (Operation.CALL, 0, None),
    "CALL_KW": (Operation.CALL, 0, None),
    "CALL_FUNCTION_EX": (Operation.CALL_EX, 0, None),
    "BEFORE_WITH": (Operation.ENTER, 1, "__enter__"),
    "WITH_EXCEPT_START": (Operation.EXIT_RAISED, 4, "__exit__"),
    "BEFORE_ASYNC_WITH": (Operation.ASYNC_ENTER, 1, "__aenter__"),
    "GET_ITER": (Operation.ITER, 1, "__iter__"),
    "FOR_ITER": (Operation.NEXT, 1, "__next__"),
    "GET_AITER": (Operation.ASYNC_ITER, 1, "__aiter__"),
    "GET_ANEXT": (Operation.ASYNC_NEXT, 1, "__anext__"),
    "GET_AWAITABLE": (Operation.AWAIT, 1, "__await__"),
    "CONTAINS_OP": (Operation.CONTAINS, 2, "__contains__"),
    "BINARY_SUBSCR": (Operation.GET_ITEM, 2, "__getitem__"),
    "STORE_SUBSCR": (Operation.SET_ITEM, 3, "__setitem__"),
    "DELETE_SUBSCR": (Operation.DELETE_ITEM, 2, "__delitem__"),
    "BINARY_SLICE": (Operation.GET_SLICE, 3, "__getitem__"),
    "STORE_SLICE": (Operation.SET_SLICE, 4, "__setitem__"),
    "LOAD_ATTR": (Operation.GET_FIELD, 1, None),
    "STORE_ATTR": (Operation.SET_FIELD, 2, None),
    "DELETE_ATTR": (Operation.DELETE_FIELD, 1, None),
    "BINARY_OP": (Operation.BINARY, 2, None),
    "COMPARE_OP": (Operation.COMPARE, 2, None),
    "UNARY_NEGATIVE": (Operation.UNARY, 1, "__neg__"),
    "UNARY_INVERT": (Operation.UNARY, 1, "__invert__"),
    "UNARY_POSITIVE": (Operation.UNARY, 1, "__pos__"),
    "CALL_INTRINSIC_1": (Operation.UNARY, 1, "__pos__"),
}
OPERANDS = {operation: operands for operation, operands, _ in WATCHABLE.values()}
"""How many operands an operation has, but for calls."""
_BINARY = "add and floordiv lshift matmul mul mod or pow rshift sub truediv xor".split()
_BINARY_NAMES = [f"__{name}__" for name in _BINARY] + [f"__i{name}__" for name in _BINARY]
_COMPARISONS = [f"__{name}__" for name in "lt le eq ne gt ge".split()]
_COMPARISON_SHIFT = {(3, 12): 4, (3, 13): 5}.get(VERSION, 0)
_INTRINSIC_UNARY_POSITIVE = 5

_CALL = number("CALL")
_CALL_KW = number("CALL_KW")
_CALL_FUNCTION_EX = number("CALL_FUNCTION_EX")
_CALL_INTRINSIC_1 = number("CALL_INTRINSIC_1")
_KW_NAMES = number("KW_NAMES")
_LOAD_CONST = number("LOAD_CONST")
_LOAD_GLOBAL = number("LOAD_GLOBAL")
_LOAD_NAME = number("LOAD_NAME")
_LOAD_FROM_DICT_OR_GLOBALS = number("LOAD_FROM_DICT_OR_GLOBALS")
_LOAD_ATTR = number("LOAD_ATTR")
_LOAD_METHOD = number("LOAD_METHOD")
_LOAD_SUPER_ATTR = number("LOAD_SUPER_ATTR")
_STORE_ATTR = number("STORE_ATTR")
_DELETE_ATTR = number("DELETE_ATTR")
_LOAD_ASSERTION_ERROR = number("LOAD_ASSERTION_ERROR")
_LOAD_BUILD_CLASS = number("LOAD_BUILD_CLASS")
_PUSH_NULL = number("PUSH_NULL")
_BEFORE_WITH = number("BEFORE_WITH")
_BEFORE_ASYNC_WITH = number("BEFORE_ASYNC_WITH")
_WITH_EXCEPT_START = number("WITH_EXCEPT_START")
_COPY = number("COPY")
_SWAP = number("SWAP")
_BINARY_OP = number("BINARY_OP")
_COMPARE_OP = number("COMPARE_OP")
_CONTAINS_OP = number("CONTAINS_OP")
_LOAD_FAST = number("LOAD_FAST")
_LOAD_FAST_LOAD_FAST = number("LOAD_FAST_LOAD_FAST")

# Up to 3.12 the NULL or the method lies below the callable or its receiver; from 3.13 the callable lies lowest.
_NULL_FIRST = VERSION <= (3, 12)
# A prefix makes an event of its own; on 3.11 the instruction it belongs to makes none.
_EVENT_AT_PREFIX = VERSION == (3, 11)

# What is known of a value on the stack: the attribute it was loaded by; the global, as a tuple; that it is NULL.
_Value = str | tuple[str] | int | None
_Stack = list[_Value]
_NULL = 0
_NAMING = bytes(
    op
    in (
        _LOAD_GLOBAL, _LOAD_NAME, _LOAD_FROM_DICT_OR_GLOBALS, _LOAD_ATTR, _LOAD_METHOD, _LOAD_SUPER_ATTR,
        _LOAD_ASSERTION_ERROR, _LOAD_BUILD_CLASS, _PUSH_NULL, _BEFORE_WITH, _BEFORE_ASYNC_WITH,
    )
    for op in range(256)
)  # fmt: skip
# By how many bits the number of the name is shifted in the argument of an instruction that loads what has the name.
_LOADS = {
    op: shift
    for op, shift in (
        (_LOAD_GLOBAL, 1),
        (_LOAD_NAME, 0),
        (_LOAD_FROM_DICT_OR_GLOBALS, 0),
        (_LOAD_ATTR, 1 if ATTR_HAS_FLAG else 0),
        (_LOAD_METHOD, 0),
        (_LOAD_SUPER_ATTR, 2),
    )
    if 0 <= op < 256
}
# What `x.field += n` has between the copy of x and the writing.
_STEPPING = [_LOAD_ATTR, _LOAD_CONST, _BINARY_OP, _SWAP]
_IN_PLACE = frozenset(_BINARY_NAMES.index(name) for name in ("__iadd__", "__isub__"))
_STEP = 24  # code units that it may take
_LOADING = re.compile(b"[" + re.escape(bytes((*_LOADS, _LOAD_CONST))) + b"]")
_JUMPS = re.compile(b"[" + re.escape(bytes(op for op in range(256) if DIRECTIONS[op])) + b"]")


class CallMarks(NamedTuple):
    """What is noted of calls besides."""

    callers: frozenset[str] = frozenset()  # under which names something is called that is wanted
    name_unwanted: bool = False  # calls by other names can be left alone
    learner_only: bool = False  # so they can once they have often called other things


NO_MARKS: Final = CallMarks()


def probes(code: CodeType, operations: frozenset[Operation], marks: CallMarks = NO_MARKS) -> tuple[Probe, ...]:
    """The places of these operations in the code that can be reached, by offset.

    The offsets are those of the events of `sys.monitoring`, and on 3.11 of opcode events of `sys.settrace`.
    """
    if not SUPPORTED:
        raise UnknownBytecodeError(f"{sys.implementation.name} {'.'.join(map(str, VERSION))}")
    pattern, wanted = _selection(operations)
    bytecode = code.co_code
    ops = bytecode[::2]
    if pattern is None or not pattern.search(ops):
        return ()
    native = core.native_tracer
    try:
        if native is None:
            found, met = _probes(code, bytecode, wanted, marks)
        else:
            found, meets = native.walk_code(code, bytecode, wanted, _TABLES, _MAKING, marks)
            met = {unit for unit, here in enumerate(meets) if here} if Operation.SET_FIELD in operations else set()
    except (IndexError, ValueError) as error:
        raise UnknownBytecodeError("not what a compiler writes") from error
    if Operation.SET_FIELD in operations:
        found = [_with_ways(probe, code, bytecode, met) for probe in found]
    return tuple(found)


def loaded_names(code: CodeType) -> Iterator[str]:
    """The name of each attribute or global that is loaded, and each text, as often as it is written there."""
    bytecode = code.co_code
    ops, args = bytecode[::2], bytecode[1::2]
    unit = 0
    while (found := _LOADING.search(ops, unit)) is not None:
        unit = found.start()
        arg = whole_argument(ops, args, unit)
        if ops[unit] != _LOAD_CONST:
            yield code.co_names[arg >> _LOADS[ops[unit]]]
        elif type(constant := code.co_consts[arg]) is str:
            yield constant
        unit = next_unit(ops, unit)


@lru_cache(maxsize=64)
def _selection(operations: frozenset[Operation]) -> tuple[re.Pattern[bytes] | None, bytes]:
    """What finds a wanted instruction, and a table of whether it is wanted."""
    numbers = [op for op, name in NAMES.items() if name in WATCHABLE and WATCHABLE[name][0] in operations]
    pattern = re.compile(b"[" + re.escape(bytes(numbers)) + b"]") if numbers else None
    return pattern, bytes(op in numbers for op in range(256))


def _probes(code: CodeType, bytecode: bytes, wanted: bytes, marks: CallMarks) -> tuple[list[Probe], Set[int]]:
    """The probes, and the places where ways meet."""
    ops, args = bytecode[::2], bytecode[1::2]
    found, met = _walk(code, ops, args, wanted)
    lines = iter(code.co_lines())
    end, line = 0, 0
    nowhere = (0, len(bytecode), None)
    made = []
    for unit in sorted(found):
        operation, base, count, name, keywords = found[unit]
        while end <= unit * 2:
            _, end, known_line = next(lines, nowhere)
            line = known_line or 0
        result = next_unit(ops, unit) * 2
        if _EVENT_AT_PREFIX:
            while unit and ops[unit - 1] == EXTENDED_ARG:
                unit -= 1
        plain = name if type(name) is str else name[0] if type(name) is tuple else None
        is_call = operation in CALLS
        other = plain not in marks.callers
        made.append(
            Probe(
                unit * 2,
                operation,
                base,
                count,
                plain,
                keywords,
                result,
                line,
                name_unwanted=is_call and marks.name_unwanted and other,
                learner_only=is_call and marks.learner_only and plain is not None and other,
                by_global=type(name) is tuple and (other or not is_call),
            )
        )
    return made, met


def _with_ways(probe: Probe, code: CodeType, bytecode: bytes, met: Set[int]) -> Probe:
    """The same, with what is known of a field that is written."""
    ops, args = bytecode[::2], bytecode[1::2]
    unit = probe.offset // 2
    while ops[unit] == EXTENDED_ARG:
        unit += 1
    if probe.operation is not Operation.SET_FIELD or unit in met:
        return probe
    early = _early(code, ops, args, unit - 1, probe.base)
    return probe._replace(early=early, steps=_steps(code, ops, args, unit, met))


def _early(code: CodeType, ops: bytes, args: bytes, unit: int, base: int) -> tuple[int, int, int] | tuple[()]:
    """Of the instruction before a STORE_ATTR: where value and owner lie. An instrumented STORE_ATTR is a slow one."""
    if unit <= 0 or ops[unit - 1] == EXTENDED_ARG:
        return ()
    op, arg, bottom = ops[unit], args[unit], stack_bottom(code)
    if op == _LOAD_FAST:
        return unit * 2, base, arg - bottom
    if op == _LOAD_FAST_LOAD_FAST:
        return unit * 2, (arg >> 4) - bottom, (arg & 15) - bottom
    if op == _SWAP and arg == 2:
        return unit * 2, base + 1, base
    return ()


def _steps(code: CodeType, ops: bytes, args: bytes, store: int, met: Set[int]) -> bool:
    """Does a STORE_ATTR belong to `x.field += n` or `x.field -= n`, with a number n other than zero?

    Nothing can happen between the reading and the writing of a field that has a number.
    """
    for start in range(store - 1, max(-1, store - _STEP), -1):
        if ops[start] == _COPY and args[start] == 1:
            break
    else:
        return False
    load = next_unit(ops, start)
    constant = next_unit(ops, load)
    operator = next_unit(ops, constant)
    swap = next_unit(ops, operator)
    if next_unit(ops, swap) != store or [ops[each] for each in (load, constant, operator, swap)] != _STEPPING:
        return False
    if args[operator] not in _IN_PLACE or args[swap] != 2 or any(unit in met for unit in range(start + 1, store)):
        return False
    # Longer arguments have prefixes, and are not found here.
    number = code.co_consts[args[constant]]
    return args[load] == args[store] << _LOADS[_LOAD_ATTR] and type(number) in (int, float) and number != 0


_Found = tuple[Operation, int, int, _Value, tuple[str, ...]]


def _walk(code: CodeType, ops: bytes, args: bytes, wanted: bytes) -> tuple[dict[int, _Found], Set[int]]:
    """Follow every way through the code with what is known of the stack, until no way brings anything new.

    Gives the wanted instructions, and the places where ways meet.
    """
    found: dict[int, _Found] = {}
    # Where ways meet: the stack as known so far. From one such place to the next there is one way only.
    met: dict[int, _Stack | None] = dict.fromkeys(jump_target(ops, args, jump.start()) for jump in _JUMPS.finditer(ops))
    table = list(handlers(code.co_exceptiontable))
    starts = [handler.start for handler in table]
    met.update(dict.fromkeys(starts))
    met.update(dict.fromkeys(handler.target for handler in table))
    constants, names, size = code.co_consts, code.co_names, code.co_stacksize

    ways: list[tuple[int, _Stack]] = [(0, [])]
    while ways:
        unit, stack = ways.pop()
        prefix = 0
        keywords: tuple[str, ...] = ()
        while True:
            if unit in met:
                known = met[unit]
                if known == stack:
                    break
                if known is not None:
                    stack = _merge(known, stack)
                    if known == stack:
                        break
                met[unit] = stack.copy()
                entry = bisect_right(starts, unit) - 1
                if entry >= 0 and unit < table[entry].end:
                    handler = table[entry]
                    if len(stack) < handler.depth:
                        raise UnknownBytecodeError("a handler keeps more than there is")
                    ways.append((handler.target, stack[: handler.depth] + [None] * handler.pushed))
            op = ops[unit]
            arg = prefix | args[unit]
            if op == EXTENDED_ARG:
                prefix = arg << 8
                unit += 1
                continue
            prefix = 0
            takes, puts = SHAPES[op] or shape(op, arg)
            depth = len(stack)
            if takes > depth or depth > size:
                raise UnknownBytecodeError("the stack is too small")
            if wanted[op]:
                if op == _CALL_KW and ops[unit - 1] == _LOAD_CONST:
                    keywords = constants[whole_argument(ops, args, unit - 1)]
                site = _site(op, arg, depth, _named(op, arg, stack), names, keywords)
                if site is not None:
                    found[unit] = site
                keywords = ()
            elif op == _KW_NAMES:
                keywords = constants[arg]
            following = next_unit(ops, unit)
            if DIRECTIONS[op]:
                jump_takes, jump_puts = shape(op, 0, True)
                ways.append((following + DIRECTIONS[op] * arg, stack[: depth - jump_takes] + [None] * jump_puts))
            if ENDS[op]:
                break
            if op == _COPY:
                stack.append(stack[-arg])
            elif op == _SWAP:
                stack[-arg], stack[-1] = stack[-1], stack[-arg]
            else:
                if takes:
                    del stack[-takes:]
                if puts:
                    stack += [None] * puts
                    if _NAMING[op]:
                        _note_name(op, arg, stack, names)
            unit = following
    return found, met.keys()


# What the C core must know of instructions; the numbers are those of its enum `Role`.
_ROLES = bytes(
    {
        EXTENDED_ARG: 1, _CALL: 2, _CALL_KW: 3, _CALL_FUNCTION_EX: 4, _KW_NAMES: 5, _COPY: 6, _SWAP: 7, _LOAD_GLOBAL: 8,
        _LOAD_ATTR: 9, _LOAD_METHOD: 10, _LOAD_SUPER_ATTR: 11, _PUSH_NULL: 12, _BEFORE_WITH: 13, _BEFORE_ASYNC_WITH: 14,
        _WITH_EXCEPT_START: 15, _LOAD_BUILD_CLASS: 16, _LOAD_ASSERTION_ERROR: 17, _LOAD_NAME: 18,
        _LOAD_FROM_DICT_OR_GLOBALS: 18, _LOAD_CONST: 19, _STORE_ATTR: 20, _DELETE_ATTR: 20, _BINARY_OP: 21,
        _COMPARE_OP: 22, _CALL_INTRINSIC_1: 23, _CONTAINS_OP: 24,
    }.get(op, 0)
    for op in range(256)
)  # fmt: skip
_BY_ARGUMENT = 255
_TABLES = (
    _ROLES,
    bytes(_BY_ARGUMENT if each is None else each[0] for each in SHAPES),
    bytes(_BY_ARGUMENT if each is None else each[1] for each in SHAPES),
    bytes(each % 3 for each in DIRECTIONS),
    ENDS,
    bytes(WATCHABLE[NAMES[op]][1] if NAMES.get(op) in WATCHABLE else 0 for op in range(256)),
    shape,
    int(_NULL_FIRST),
    int(ATTR_HAS_FLAG),
)
_MAKING = (
    Probe,
    tuple(WATCHABLE[NAMES[op]][0] if NAMES.get(op) in WATCHABLE else None for op in range(256)),
    tuple(WATCHABLE[NAMES[op]][2] if NAMES.get(op) in WATCHABLE else None for op in range(256)),
    tuple(_BINARY_NAMES),
    tuple(_COMPARISONS),
    _COMPARISON_SHIFT,
    int(_EVENT_AT_PREFIX),
)


def _merge(known: _Stack, stack: _Stack) -> _Stack:
    if len(known) != len(stack):
        raise UnknownBytecodeError("the stack has two depths")
    return [one if one == other else None for one, other in zip(known, stack, strict=True)]


def _note_name(op: int, arg: int, stack: _Stack, names: tuple[str, ...]) -> None:
    """Write down what a value was loaded by, where an instruction has just put it."""
    if op == _LOAD_GLOBAL:
        stack[-1] = (names[arg >> 1],)
        if arg & 1:
            stack[-2:] = [_NULL, stack[-1]] if _NULL_FIRST else [stack[-1], _NULL]
    elif op == _LOAD_ATTR:
        if ATTR_HAS_FLAG:
            stack[-2 if arg & 1 else -1] = names[arg >> 1]
        else:
            stack[-1] = names[arg]
    elif op == _LOAD_METHOD:
        stack[-2] = names[arg]
    elif op == _LOAD_SUPER_ATTR:
        stack[-2 if arg & 1 else -1] = names[arg >> 2]
    elif op == _PUSH_NULL:
        stack[-1] = _NULL
    elif op == _BEFORE_WITH:
        stack[-2] = "__exit__"
    elif op == _BEFORE_ASYNC_WITH:
        stack[-2] = "__aexit__"
    elif op == _LOAD_BUILD_CLASS:
        stack[-1] = ("__build_class__",)
    elif op == _LOAD_ASSERTION_ERROR:
        stack[-1] = ("AssertionError",)
    else:
        stack[-1] = (names[arg],)


def _named(op: int, arg: int, stack: _Stack) -> _Value:
    """What is known of the callable of a call, or of the method that is left with an exception."""
    if op == _WITH_EXCEPT_START:
        return stack[-4]
    operands = _operands(op, arg)
    if not operands:
        return None
    return stack[1 - operands] if stack[-operands] == _NULL else stack[-operands]


def _operands(op: int, arg: int) -> int:
    """How many a call has; 0: it is none."""
    if op == _CALL:
        return 2 + arg
    if op == _CALL_KW:
        return 3 + arg
    return 3 + (arg & 1) if op == _CALL_FUNCTION_EX else 0


def _site(
    op: int, arg: int, depth: int, named: _Value, names: tuple[str, ...], keywords: tuple[str, ...]
) -> _Found | None:
    """What is to be known of a wanted instruction, if it is one: some do other things too."""
    operation, operands, method = WATCHABLE[NAMES[op]]
    name: _Value = method
    if operands == 0:
        count = arg & 1 if op == _CALL_FUNCTION_EX else arg
        return operation, depth - _operands(op, arg), count, named, () if op == _CALL_FUNCTION_EX else keywords
    if op == _LOAD_ATTR and ATTR_HAS_FLAG:
        if arg & 1:
            return None
        name = names[arg >> 1]
    elif op in (_LOAD_ATTR, _STORE_ATTR, _DELETE_ATTR):
        name = names[arg]
    elif op == _BINARY_OP:
        name = _BINARY_NAMES[arg]
    elif op == _COMPARE_OP:
        name = _COMPARISONS[arg >> _COMPARISON_SHIFT]
    elif op == _WITH_EXCEPT_START:
        name = named or method  # of `async with`: `__aexit__`
    elif op == _CALL_INTRINSIC_1 and arg != _INTRINSIC_UNARY_POSITIVE:
        return None
    inverted = arg & 1 if operation is Operation.CONTAINS else 0
    return operation, depth - operands, inverted, name, ()
