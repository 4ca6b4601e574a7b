"""What the instructions of CPython's bytecode do to the value stack, and how they lie in a code object."""

from __future__ import annotations

import dis
import re
import sys
from collections.abc import Iterable, Iterator
from functools import cache
from typing import NamedTuple

VERSION = sys.version_info[:2]

# Bytecode is not a public interface: this module was checked against these versions, and does not know others.
SUPPORTED = sys.implementation.name == "cpython" and (3, 11) <= VERSION <= (3, 13)

# `CodeType.co_code` never shows the instructions that others are replaced by where the interpreter is watched.
NAMES = {number: name for name, number in dis.opmap.items() if number < 256 and not name.startswith("INSTRUMENTED_")}

# Instructions that put nothing on the stack, like all whose name begins with one of `_NO_RESULT_PREFIXES`, and some
# that put several values there. All others put one. How many they take follows from `dis.stack_effect`.
_NO_RESULT = set(
    "CACHE NOP RESUME MAKE_CELL COPY_FREE_VARS KW_NAMES PRECALL SETUP_ANNOTATIONS EXTENDED_ARG POP_TOP POP_EXCEPT"
    " PRINT_EXPR IMPORT_STAR LIST_APPEND LIST_EXTEND SET_ADD SET_UPDATE MAP_ADD DICT_MERGE DICT_UPDATE END_FOR"
    " END_ASYNC_FOR RETURN_VALUE RETURN_CONST RAISE_VARARGS RERAISE INTERPRETER_EXIT".split()
)
_NO_RESULT_PREFIXES = ("STORE_", "DELETE_", "POP_JUMP_", "JUMP_")
_PUSHES = {
    "STORE_FAST_LOAD_FAST": 1,
    "LOAD_FAST_LOAD_FAST": 2,
    "BEFORE_WITH": 2,
    "BEFORE_ASYNC_WITH": 2,
    "LOAD_METHOD": 2,
    "PUSH_EXC_INFO": 2,
    "CHECK_EG_MATCH": 2,
    "CLEANUP_THROW": 2,
}
_SHAPE_BY_ARGUMENT = set(
    "COPY SWAP CALL CALL_KW CALL_FUNCTION_EX LOAD_ATTR LOAD_SUPER_ATTR LOAD_GLOBAL UNPACK_SEQUENCE UNPACK_EX"
    " RAISE_VARARGS FORMAT_VALUE MAKE_FUNCTION BUILD_CONST_KEY_MAP BUILD_LIST BUILD_MAP BUILD_SET BUILD_SLICE"
    " BUILD_STRING BUILD_TUPLE".split()
)
_ENDS = set(
    "RETURN_VALUE RETURN_CONST RAISE_VARARGS RERAISE INTERPRETER_EXIT JUMP_FORWARD JUMP_BACKWARD"
    " JUMP_BACKWARD_NO_INTERRUPT".split()
)


class UnknownBytecodeError(Exception):
    """Code that no compiler of a supported version made, so that its stack cannot be predicted."""


def _numbers(names: str) -> list[int]:
    """The numbers of instructions; -1, which no instruction has, for those that this version lacks."""
    return [dis.opmap.get(name, -1) for name in names.split()]


class Op:
    """Numbers of instructions."""

    CALL, CALL_KW, CALL_FUNCTION_EX = _numbers("CALL CALL_KW CALL_FUNCTION_EX")
    CALL_INTRINSIC_1, KW_NAMES, PUSH_NULL = _numbers("CALL_INTRINSIC_1 KW_NAMES PUSH_NULL")
    LOAD_CONST, LOAD_GLOBAL, LOAD_NAME = _numbers("LOAD_CONST LOAD_GLOBAL LOAD_NAME")
    LOAD_FROM_DICT_OR_GLOBALS, LOAD_FAST = _numbers("LOAD_FROM_DICT_OR_GLOBALS LOAD_FAST")
    LOAD_FAST_LOAD_FAST, LOAD_METHOD = _numbers("LOAD_FAST_LOAD_FAST LOAD_METHOD")
    LOAD_ATTR, LOAD_SUPER_ATTR = _numbers("LOAD_ATTR LOAD_SUPER_ATTR")
    STORE_ATTR, DELETE_ATTR = _numbers("STORE_ATTR DELETE_ATTR")
    LOAD_ASSERTION_ERROR, LOAD_BUILD_CLASS = _numbers("LOAD_ASSERTION_ERROR LOAD_BUILD_CLASS")
    BEFORE_WITH, BEFORE_ASYNC_WITH = _numbers("BEFORE_WITH BEFORE_ASYNC_WITH")
    WITH_EXCEPT_START, COPY, SWAP = _numbers("WITH_EXCEPT_START COPY SWAP")
    BINARY_OP, COMPARE_OP, CONTAINS_OP = _numbers("BINARY_OP COMPARE_OP CONTAINS_OP")


(EXTENDED_ARG,) = _numbers("EXTENDED_ARG")

# The lowest bit of LOAD_ATTR's argument says whether it loads a method.
ATTR_HAS_FLAG = VERSION >= (3, 12)


def _effect(op: int, arg: int, jump: bool) -> int:
    """`dis.stack_effect`, corrected where it says what the compiler assumes and not what happens."""
    name = NAMES[op]
    if name == "RETURN_GENERATOR":
        return 1  # what is sent first, when the generator starts
    if VERSION == (3, 11) and name == "PRECALL":
        return 0
    if VERSION == (3, 11) and name == "CALL":
        return -1 - arg
    return dis.stack_effect(op, arg if op >= dis.HAVE_ARGUMENT else None, jump=jump)


def _pushes(op: int, arg: int) -> int:
    match NAMES[op]:
        case "LOAD_GLOBAL" | "LOAD_SUPER_ATTR":
            return 1 + (arg & 1)
        case "LOAD_ATTR":
            return 1 + (arg & 1 if ATTR_HAS_FLAG else 0)
        case "UNPACK_SEQUENCE":
            return arg
        case "UNPACK_EX":
            return (arg & 0xFF) + 1 + (arg >> 8)
        case name if name in _PUSHES:
            return _PUSHES[name]
        case name:
            return 0 if name in _NO_RESULT or name.startswith(_NO_RESULT_PREFIXES) else 1


@cache
def shape(op: int, arg: int, jump: bool = False) -> tuple[int, int]:
    """How many values an instruction takes from the stack, and how many it puts there."""
    if op not in NAMES:
        raise UnknownBytecodeError(f"instruction {op}")
    if jump and NAMES[op] == "FOR_ITER" and VERSION == (3, 11):
        return 1, 0
    pushes = _pushes(op, arg)
    return pushes - _effect(op, arg, jump), pushes


def _fixed_shape(op: int) -> tuple[int, int] | None:
    return shape(op, 0) if SUPPORTED and op in NAMES and NAMES[op] not in _SHAPE_BY_ARGUMENT else None


def _direction(op: int) -> int:
    if op not in dis.hasjrel or op not in NAMES:
        return 0
    return -1 if "BACKWARD" in NAMES[op] else 1


SHAPES = [_fixed_shape(op) for op in range(256)]  # None: see `shape`
DIRECTIONS = [_direction(op) for op in range(256)]  # of a jump, else 0
ENDS = bytes(NAMES.get(op) in _ENDS for op in range(256))  # the next instruction does not follow
_caches = [-1] * 256  # code units of inline cache after an instruction; found where it is first met


def next_unit(ops: bytes, unit: int) -> int:
    """The code unit after an instruction and its inline cache, which has the number 0 for instructions."""
    op = ops[unit]
    caches = _caches[op]
    if caches < 0:
        end = unit + 1
        while end < len(ops) and not ops[end]:
            end += 1
        caches = _caches[op] = end - unit - 1
    return unit + 1 + caches


def whole_argument(ops: bytes, args: bytes, unit: int) -> int:
    """The argument of the instruction at this code unit, with the prefixes before it."""
    value, shift = args[unit], 8
    while unit and ops[unit - 1] == EXTENDED_ARG:
        unit -= 1
        value |= args[unit] << shift
        shift += 8
    return value


def jump_target(ops: bytes, args: bytes, unit: int) -> int:
    """The code unit that the jump at this one leads to."""
    return next_unit(ops, unit) + DIRECTIONS[ops[unit]] * whole_argument(ops, args, unit)


class Handler(NamedTuple):
    """An entry of the exception table, in code units."""

    start: int
    end: int
    target: int
    depth: int  # of the stack, as far as it is kept
    pushed: int  # values that are put on it before the target is run


def handlers(table: bytes) -> Iterator[Handler]:
    """Read an exception table: four numbers to an entry, six bits to a byte; bit 6 says that a number goes on."""
    numbers: list[int] = []
    value = 0
    for byte in table:
        value = value << 6 | byte & 63
        if not byte & 64:
            numbers.append(value)
            value = 0
    for start, length, target, depth in zip(*[iter(numbers)] * 4, strict=True):
        yield Handler(start, start + length, target, depth >> 1, 1 + (depth & 1))


def pattern(numbers: Iterable[int]) -> re.Pattern[bytes]:
    """Finds one of these instructions."""
    return re.compile(b"[" + re.escape(bytes(each for each in numbers if 0 <= each < 256)) + b"]")
