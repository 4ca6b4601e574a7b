"""Code and expressions of a compiled grammar as Python functions, made of the parsed trees: nothing is ever eval'ed."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from lawful.laws.grammar.compiled_grammar import Assert, Instruction, Load
from lawful.laws.grammar.resolved_grammar import OF_REPLIES, CallTerm, ConstantTerm, Ref, Register, Term
from lawful.laws.protocol import Event
from lawful.laws.rml.values import UNDEFINED, NoValue, apply, describe, equal

Registers = list[Any]
Evaluate = Callable[[Registers], Any]
Warn = Callable[[str], None]


class Failed(Exception):
    """An assertion does not hold, or has no value: `reason` says why."""

    def __init__(self, assertion: int, reason: str | None) -> None:
        super().__init__(assertion, reason)
        self.assertion = assertion
        self.reason = reason
        self.place: Any = None  # the transition, its registers, the frame and the results that came to it, once known


Run = Callable[[Registers, Event, Warn], None]
"""Extends the registers by what the code computes; raises `Failed`."""


def runner(code: Sequence[Instruction]) -> Run | None:
    """The code of a transition; None: nothing to do."""
    if not code:
        return None
    steps = steps_of(code)

    def run(registers: Registers, event: Event, warn: Warn) -> None:
        for step in steps:
            step(registers, event, warn)

    return steps[0] if len(steps) == 1 else run


def steps_of(code: Sequence[Instruction]) -> list[Run]:
    """The same, instruction by instruction."""
    return [_step(instruction) for instruction in code]


def _step(instruction: Instruction) -> Run:
    if isinstance(instruction, Load):
        return _load(instruction)
    if isinstance(instruction, Assert):
        return _assert(expression(instruction.condition), instruction.number)
    return _set(expression(instruction.value))


def _set(value: Evaluate) -> Run:
    def run(registers: Registers, event: Event, warn: Warn) -> None:
        try:
            registers.append(value(registers))
        except NoValue as error:
            warn(str(error))
            registers.append(UNDEFINED)

    return run


def _assert(condition: Evaluate, number: int) -> Run:
    def run(registers: Registers, event: Event, warn: Warn) -> None:
        try:
            value = condition(registers)
        except NoValue as error:
            warn(str(error))
            raise Failed(number, str(error)) from None
        if value is not True:
            if value is False:
                raise Failed(number, None)
            reason = f"an assertion wants a condition, not {describe(value)}"
            warn(reason)
            raise Failed(number, reason)

    return run


# -- attributes of messages -----------------------------------------------------------------------


def _load(load: Load) -> Run:
    value_of = loader(load)

    def run(registers: Registers, event: Event, warn: Warn) -> None:
        value = value_of(event)
        if value is UNDEFINED:
            warn(f"the event has no value for `{load}`")
        registers.append(value)

    return run


def loader(load: Load) -> Callable[[Event], Any]:
    """Finds an attribute's value in an event: an object's id before any value."""
    if load.parameter is not None:
        return _parameter(load.parameter, load.name)
    field = load.field
    if field is None:
        return _result
    if field == OF_REPLIES["exception"]:
        return _exception
    return lambda event: event.get(field, UNDEFINED)


def _parameter(position: int, name: str) -> Callable[[Event], Any]:
    def value_of(event: Event) -> Any:
        ids = event.get("argIds")
        if ids.__class__ is list and position < len(ids) and ids[position] is not None:
            return ids[position]
        args = event.get("args")
        if args.__class__ is list and position < len(args):
            return args[position]
        for key in ("kwargIds", "kwargs"):
            named = event.get(key)
            if named.__class__ is dict and name in named and (key == "kwargs" or named[name] is not None):
                return named[name]
        return UNDEFINED

    return value_of


def _exception(event: Event) -> Any:
    """What has a result has no exception: that is null, so that a law can say so."""
    has_result = "res" in event or "resultId" in event
    return event.get("exception", None if has_result else UNDEFINED)


def _result(event: Event) -> Any:
    result = event.get("resultId")
    return event.get("res", UNDEFINED) if result is None else result


# -- expressions ----------------------------------------------------------------------------------


def expression(term: Term) -> Evaluate:
    """An expression over registers; it raises NoValue where it has none."""
    assert not isinstance(term, Ref), "the compiler has replaced it by a register"
    if isinstance(term, Register):
        number = term.number
        return lambda registers: registers[number]
    if isinstance(term, ConstantTerm):
        constant = term.value
        return lambda registers: constant
    parts = [expression(each) for each in term.operands]
    if isinstance(term, CallTerm):
        call = term.function.call
        return _applied(lambda *values: call(*map(_defined, values)), parts)
    if term.op in ("&&", "||"):
        return _logical(term.op, *parts)
    if term.op in ("==", "!="):
        return _equality(term.op == "==", *parts)
    return _applied(_OWN.get(term.op) or partial(apply, term.op), parts)


def _applied(function: Callable[..., Any], parts: list[Evaluate]) -> Evaluate:
    def evaluate(registers: Registers) -> Any:
        return function(*[part(registers) for part in parts])

    return evaluate


def _defined(value: Any) -> Any:
    if value is UNDEFINED:
        raise NoValue("an operand has no value")
    return value


def _logical(op: str, left: Evaluate, right: Evaluate) -> Evaluate:
    decides = op == "||"

    def evaluate(registers: Registers) -> bool:
        for part in (left, right):
            value = part(registers)
            if value is decides:
                return bool(decides)
            if value is not (not decides):
                raise _no_condition(op, value)
        return not decides

    return evaluate


def _no_condition(op: str, value: Any) -> NoValue:
    _defined(value)
    return NoValue(f"`{op}` wants conditions, not {describe(value)}")


def _equality(wanted: bool, left: Evaluate, right: Evaluate) -> Evaluate:
    def evaluate(registers: Registers) -> bool:
        one, two = left(registers), right(registers)
        if one.__class__ is int and two.__class__ is int:
            return bool(one == two) is wanted
        return equal(_defined(one), _defined(two)) is wanted

    return evaluate


def _not(value: Any) -> bool:
    if value.__class__ is not bool:
        raise _no_condition("!", value)
    return not value


def _remainder(one: Any, two: Any) -> int:
    if _defined(one).__class__ is not int or _defined(two).__class__ is not int:
        raise NoValue("`%` wants integers")
    if two == 0:
        raise NoValue("division by zero")
    return int(one % two)


_OWN: dict[str, Callable[..., Any]] = {"!": _not, "%": _remainder}  # operations that RML does not have
