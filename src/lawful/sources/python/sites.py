"""Where in a code object something can be watched: the instructions, and where on the stack their operands lie."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator, Set
from functools import lru_cache
from types import CodeType
from typing import Final, NamedTuple

from lawful import core
from lawful.sources.python import instructions, stack_walk
from lawful.sources.python.frames import stack_bottom
from lawful.sources.python.instructions import EXTENDED_ARG, Op, UnknownBytecodeError, next_unit
from lawful.sources.python.stack_walk import C_TABLES, LOAD_SHIFTS, WATCHABLE, Site, StackWalk
from lawful.sources.python.tracer_protocol import Operation, Probe

# What `x.field += n` has between the copy of x and the writing.
_STEPPING = [Op.LOAD_ATTR, Op.LOAD_CONST, Op.BINARY_OP, Op.SWAP]
_IN_PLACE = frozenset(stack_walk.BINARY_NAMES.index(name) for name in ("__iadd__", "__isub__"))
_STEP = 24  # code units that it may take
_COMPARISONS = [f"__{name}__" for name in "lt le eq ne gt ge".split()]
_COMPARISON_SHIFT = {(3, 12): 4, (3, 13): 5}.get(instructions.VERSION, 0)
_INTRINSIC_UNARY_POSITIVE = 5
_WATCHABLE = {op: WATCHABLE[name] for op, name in instructions.NAMES.items() if name in WATCHABLE}
# The name of the method depends on the place; all else has one method.
_SEVERAL_METHODS = frozenset(
    {
        Op.LOAD_ATTR, Op.STORE_ATTR, Op.DELETE_ATTR, Op.BINARY_OP, Op.COMPARE_OP, Op.WITH_EXCEPT_START,
        Op.CALL_INTRINSIC_1,
    }
)  # fmt: skip
# A prefix makes an event of its own; on 3.11 the instruction it belongs to makes none.
_EVENT_AT_PREFIX = instructions.VERSION == (3, 11)
_LOADING = instructions.pattern((*LOAD_SHIFTS, Op.LOAD_CONST))


class CallMarks(NamedTuple):
    """What probes of calls note besides."""

    callers: frozenset[str] = frozenset()  # under which names something is called that is wanted
    name_unwanted: bool = False  # calls by other names can be left alone
    learner_only: bool = False  # so they can once they have often called other things


NO_MARKS: Final = CallMarks()


def probes(code: CodeType, operations: frozenset[Operation], marks: CallMarks = NO_MARKS) -> tuple[Probe, ...]:
    """The places of these operations in the code that can be reached, by offset.

    The offsets are those of the events of `sys.monitoring`, and on 3.11 of opcode events of `sys.settrace`.
    """
    if not instructions.SUPPORTED:
        raise UnknownBytecodeError(f"{sys.implementation.name} {'.'.join(map(str, instructions.VERSION))}")
    search, wanted = _selection(operations)
    bytecode = code.co_code
    if search is None or not search.search(bytecode[::2]):
        return ()
    native = core.native_tracer
    try:
        if native is None:
            walk = StackWalk(code, wanted)
            sites, joins = walk.sites, walk.joins
        else:
            sites, joined = native.walk_code(code, bytecode, wanted, C_TABLES)
            joins = {unit for unit, here in enumerate(joined) if here} if Operation.SET_FIELD in operations else set()
        found = _probes(code, sites, marks)
    except (IndexError, ValueError) as error:
        raise UnknownBytecodeError("not what a compiler writes") from error
    if Operation.SET_FIELD in operations:
        found = [_with_field_hints(probe, code, joins) for probe in found]
    return tuple(found)


def loaded_names(code: CodeType) -> Iterator[str]:
    """The name of each attribute or global that is loaded, and each text, as often as it is written there."""
    bytecode = code.co_code
    ops, args = bytecode[::2], bytecode[1::2]
    unit = 0
    while (found := _LOADING.search(ops, unit)) is not None:
        unit = found.start()
        arg = instructions.whole_argument(ops, args, unit)
        if ops[unit] != Op.LOAD_CONST:
            yield code.co_names[arg >> LOAD_SHIFTS[ops[unit]]]
        elif type(constant := code.co_consts[arg]) is str:
            yield constant
        unit = next_unit(ops, unit)


def lines(code: CodeType) -> dict[int, int]:
    """The line of each code unit that has one, by offset."""
    return {at: line for start, end, line in code.co_lines() if line is not None for at in range(start, end, 2)}


@lru_cache(maxsize=64)
def _selection(operations: frozenset[Operation]) -> tuple[re.Pattern[bytes] | None, bytes]:
    """What finds a wanted instruction, and a table of whether it is wanted."""
    numbers = [op for op, name in instructions.NAMES.items() if name in WATCHABLE and WATCHABLE[name][0] in operations]
    return instructions.pattern(numbers) if numbers else None, bytes(op in numbers for op in range(256))


def _probes(code: CodeType, sites: list[Site], marks: CallMarks) -> list[Probe]:
    ops, args = code.co_code[::2], code.co_code[1::2]
    callers, name_unwanted, learner_only = marks
    made = []
    for unit, op, arg, depth, name, is_global, keywords in sites:
        offset, result = unit * 2, next_unit(ops, unit) * 2
        if _EVENT_AT_PREFIX:
            offset = _first_prefix(ops, unit) * 2
        operation, operands, method, _ = _WATCHABLE[op]
        if operands:
            method = _method(op, arg, name, code.co_names) if op in _SEVERAL_METHODS else method
            if method is not None:
                inverted = arg & 1 if op == Op.CONTAINS_OP else 0
                made.append(Probe(offset, operation, depth - operands, inverted, method, (), result))
            continue
        base = depth - stack_walk.call_operands(op, arg)
        if op == Op.CALL_FUNCTION_EX:
            arg, keywords = arg & 1, ()
        elif op == Op.CALL_KW and ops[unit - 1] == Op.LOAD_CONST:
            keywords = code.co_consts[instructions.whole_argument(ops, args, unit - 1)]
        other = name not in callers
        flags = (other and name_unwanted, other and learner_only and name is not None)
        numbers = (offset, operation, base, arg, name, keywords or (), result)
        made.append(Probe._make((*numbers, *flags, (), False, (), other and is_global, False)))
    return made


def _first_prefix(ops: bytes, unit: int) -> int:
    while unit and ops[unit - 1] == EXTENDED_ARG:
        unit -= 1
    return unit


def _method(op: int, arg: int, exit_name: str | None, names: tuple[str, ...]) -> str | None:
    """The method or field at a site of one of `_SEVERAL_METHODS`. None: the instruction does something else here."""
    if op == Op.LOAD_ATTR and instructions.ATTR_HAS_FLAG:
        return None if arg & 1 else names[arg >> 1]
    if op in (Op.LOAD_ATTR, Op.STORE_ATTR, Op.DELETE_ATTR):
        return names[arg]
    if op == Op.BINARY_OP:
        return stack_walk.BINARY_NAMES[arg]
    if op == Op.COMPARE_OP:
        return _COMPARISONS[arg >> _COMPARISON_SHIFT]
    if op == Op.WITH_EXCEPT_START:
        return exit_name or "__exit__"  # of `async with`: `__aexit__`
    return "__pos__" if arg == _INTRINSIC_UNARY_POSITIVE else None


def _with_field_hints(probe: Probe, code: CodeType, joins: Set[int]) -> Probe:
    """The same probe; if it writes a field, with its `early` operands and whether it `steps`."""
    ops, args = code.co_code[::2], code.co_code[1::2]
    unit = probe.offset // 2
    while ops[unit] == EXTENDED_ARG:
        unit += 1
    if probe.operation is not Operation.SET_FIELD or unit in joins:
        return probe
    early = _early(code, ops, args, unit - 1, probe.base)
    return probe._replace(early=early, steps=_steps(code, ops, args, unit, joins))


def _early(code: CodeType, ops: bytes, args: bytes, unit: int, base: int) -> tuple[int, int, int] | tuple[()]:
    """Of the instruction before a STORE_ATTR: where value and owner lie. An instrumented STORE_ATTR is a slow one."""
    if unit <= 0 or ops[unit - 1] == EXTENDED_ARG:
        return ()
    op, arg, bottom = ops[unit], args[unit], stack_bottom(code)
    if op == Op.LOAD_FAST:
        return unit * 2, base, arg - bottom
    if op == Op.LOAD_FAST_LOAD_FAST:
        return unit * 2, (arg >> 4) - bottom, (arg & 15) - bottom
    if op == Op.SWAP and arg == 2:
        return unit * 2, base + 1, base
    return ()


def _steps(code: CodeType, ops: bytes, args: bytes, store: int, joins: Set[int]) -> bool:
    """Does a STORE_ATTR belong to `x.field += n` or `x.field -= n`, with a number n other than zero?

    Nothing can happen between the reading and the writing of a field that has a number.
    """
    for start in range(store - 1, max(-1, store - _STEP), -1):
        if ops[start] == Op.COPY and args[start] == 1:
            break
    else:
        return False
    load = next_unit(ops, start)
    constant = next_unit(ops, load)
    operator = next_unit(ops, constant)
    swap = next_unit(ops, operator)
    if next_unit(ops, swap) != store or [ops[each] for each in (load, constant, operator, swap)] != _STEPPING:
        return False
    if args[operator] not in _IN_PLACE or args[swap] != 2 or any(unit in joins for unit in range(start + 1, store)):
        return False
    # Longer arguments have prefixes, and are not found here.
    number = code.co_consts[args[constant]]
    return args[load] == args[store] << LOAD_SHIFTS[Op.LOAD_ATTR] and type(number) in (int, float) and number != 0
