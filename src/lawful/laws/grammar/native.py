"""The machine of the C core, with the interface of the machine in Python, and the tables it needs."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from types import ModuleType
from typing import Any

from lawful.laws.grammar.compiled_grammar import (
    Application,
    Assert,
    CompiledGrammar,
    Computation,
    Instruction,
    Load,
    Operand,
    Register,
    Transition,
)
from lawful.laws.grammar.evaluation import Failed
from lawful.laws.grammar.machine import Dispatch, Key, group_key
from lawful.laws.grammar.resolved_grammar import ConstantTerm
from lawful.laws.grammar.steps import Cell, Stack, Steps, flat, silent
from lawful.laws.protocol import Event
from lawful.laws.rml.values import UNDEFINED

# The numbers of grammar.h.
_LOAD, _SET, _ASSERT = range(3)
_PARAMETER, _FIELD, _RESULT = range(3)
_REGISTER, _CONSTANT = range(2)
_OPS = {"==": 2, "!=": 3, "<": 4, "<=": 5, ">": 6, ">=": 7, "+": 8, "-": 9, "*": 10, "neg": 11, "!": 12}
_AND_THEN, _OR_ELSE, _CONDITION, _SIZE, _CALL, _ELSEWHERE = range(13, 19)
_DEEPEST = 60  # operands that may wait


def tables(core: ModuleType, steps: Steps, dispatch: Dispatch) -> Any:
    """The compiled grammar for the C core. What it leaves to Python runs the functions of the Python machine."""
    compiled = steps.compiled
    encoder = _Encoder(compiled)
    transitions = tuple(encoder.transition(each) for each in compiled.transitions)

    def slow(number: int, index: int, registers: list[Any], event: Event, warn: Callable[[str], None] | None) -> Any:
        try:
            steps.instruction(number, index)(registers, event, silent if warn is None else warn)
        except Failed:
            return False
        return True if isinstance(compiled.transitions[number].code[index], Assert) else registers[-1]

    def lost(state: int, values: tuple[Any, ...]) -> bool:
        return steps.is_lost(Cell(state, values, None, 0))

    return core.GrammarTables(
        columns=compiled.columns,
        table=compiled.table,
        states=tuple((state.ending, state.resume, len(state.names), bool(state.lost)) for state in compiled.states),
        transitions=transitions,
        attributes=tuple(_attribute(each.parameter, each.field) for each in compiled.attributes),
        messages=tuple((each.method.text, each.direction, each.reply) for each in compiled.grammar.terminals),
        constants=tuple(encoder.constants),
        functions=tuple(each.call for each in compiled.functions),
        group=dispatch.group,
        undefined=UNDEFINED,
        slow=slow,
        lost=lost,
        key=group_key,
    )


def _attribute(parameter: int | None, field: str | None) -> tuple[int, int, str | None]:
    if parameter is not None:
        return _PARAMETER, parameter, None
    return (_RESULT, 0, None) if field is None else (_FIELD, 0, field)


class _Encoder:
    def __init__(self, compiled: CompiledGrammar) -> None:
        self._compiled = compiled
        self.constants: list[Any] = []

    def transition(self, made: Transition) -> tuple[Any, ...]:
        code = tuple(self._instruction(each) for each in made.code)
        frames = tuple((frame.state, frame.values) for frame in made.frames)
        return code, frames, made.results, made.taken, made.frame_size, made.results_size

    def _instruction(self, instruction: Instruction) -> tuple[int, int, tuple[int, ...]]:
        if isinstance(instruction, Load):
            return _LOAD, instruction.attribute, ()
        asserts = isinstance(instruction, Assert)
        operand = instruction.condition if isinstance(instruction, Assert) else instruction.value
        code: list[int] = []
        try:
            self._expression(operand, code, 1)
        except _Elsewhere:
            code = [_ELSEWHERE]
        return _ASSERT if asserts else _SET, 0, tuple(code)

    def _expression(self, operand: Operand, code: list[int], depth: int) -> None:
        if depth > _DEEPEST:
            raise _Elsewhere
        if isinstance(operand, Register):
            code += (_REGISTER, operand.number)
        elif isinstance(operand, ConstantTerm):
            code += (_CONSTANT, len(self.constants))
            self.constants.append(operand.value)
        elif isinstance(operand, Application):
            self._application(operand, code, depth)
        elif operand.op in ("&&", "||"):
            self._expression(operand.operands[0], code, depth)
            code += (_AND_THEN if operand.op == "&&" else _OR_ELSE, 0)
            place = len(code) - 1
            self._expression(operand.operands[1], code, depth)
            code.append(_CONDITION)
            code[place] = len(code)
        elif operand.op in _OPS:
            self._operands(operand, code, depth)
            code.append(_OPS[operand.op])
        else:
            raise _Elsewhere

    def _application(self, operand: Application, code: list[int], depth: int) -> None:
        self._operands(operand, code, depth)
        if self._compiled.functions[operand.function].name == "size":
            code.append(_SIZE)
        else:
            code += (_CALL, operand.function, len(operand.operands))

    def _operands(self, operand: Computation | Application, code: list[int], depth: int) -> None:
        for index, each in enumerate(operand.operands):
            self._expression(each, code, depth + index)


class _Elsewhere(Exception):
    """The C core leaves this expression to Python."""


class NativeGrammarMachine:
    """The machine of `lawful.laws.grammar.machine`, with the step in C."""

    def __init__(self, core: ModuleType, made: Any, steps: Steps, warn: Callable[[str], None]) -> None:
        self.steps = steps
        self._core = core.GrammarMachine(made, flat(steps.start(warn)), warn)

    @property
    def core(self) -> Any:
        """The machine itself, for inline checks."""
        return self._core

    @property
    def failed(self) -> bool:
        return bool(self._core.failed)

    @failed.setter
    def failed(self, value: bool) -> None:
        self._core.failed = value

    @property
    def at(self) -> int:
        return int(self._core.at)

    @property
    def came(self) -> set[int]:
        return set(self._core.came)

    @property
    def others(self) -> Mapping[tuple[str, str], int]:
        return self._core.others  # type: ignore[no-any-return]

    @property
    def halts(self) -> bool:
        return bool(self._core.halts)

    def feed(self, events: list[Event], start: int, stop_when_lost: bool) -> int:
        return int(self._core.feed(events, start, stop_when_lost))

    def undo(self, position: int) -> bool:
        return bool(self._core.undo(position))

    def stack(self, key: Key) -> Stack:
        return self.steps.stacked(self._core.frames(key))

    def waiting(self) -> Iterator[Key]:
        return iter(self._core.waiting())

    def dump(self) -> dict[str, Any]:
        return {
            "stacks": self._core.dump(),
            "came": sorted(self.came),
            "others": dict(self.others),
            "failed": self.failed,
        }

    def load(self, state: Mapping[str, Any]) -> None:
        self._core.load(state["stacks"], list(state["came"]), dict(state["others"]))
        self.failed = state["failed"]
