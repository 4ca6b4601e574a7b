"""The tables of a compiled grammar for the machine of the C core."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from types import ModuleType
from typing import Any

from lawful.laws.grammar.compiled_grammar import Assert, CompiledGrammar, Instruction, Load, Transition
from lawful.laws.grammar.evaluation import Failed, Run, steps_of
from lawful.laws.grammar.machine import Dispatch, group_key
from lawful.laws.grammar.resolved_grammar import CallTerm, ConstantTerm, OperationTerm, Register, Term
from lawful.laws.grammar.steps import Cell, Steps, silent
from lawful.laws.protocol import Event
from lawful.laws.rml.values import UNDEFINED

# The numbers of grammar.h.
_LOAD, _SET, _ASSERT = range(3)
_REGISTER, _CONSTANT = range(2)
_OPS = {"==": 2, "!=": 3, "<": 4, "<=": 5, ">": 6, ">=": 7, "+": 8, "-": 9, "*": 10, "neg": 11, "!": 12}
_AND_THEN, _OR_ELSE, _CONDITION, _SIZE, _CALL, _ELSEWHERE = range(13, 19)
_DEEPEST = 60  # operands that may wait


def tables(core: ModuleType, steps: Steps, dispatch: Dispatch) -> Any:
    """The compiled grammar for the C core. What it leaves to Python runs the functions of the Python machine."""
    compiled = steps.compiled
    encoder = _Encoder(compiled)

    @cache
    def instructions(number: int) -> list[Run]:
        return steps_of(compiled.transitions[number].code)

    def slow(number: int, index: int, registers: list[Any], event: Event, warn: Callable[[str], None] | None) -> Any:
        try:
            instructions(number)[index](registers, event, silent if warn is None else warn)
        except Failed:
            return False
        return True if isinstance(compiled.transitions[number].code[index], Assert) else registers[-1]

    def lost(state: int, values: tuple[Any, ...]) -> bool:
        return steps.is_lost(Cell(state, values, None, 0))

    return core.GrammarTables(
        numbers=encoder.numbers,
        by_name=dispatch.by_name,
        fields=tuple(load.field for load in compiled.attributes),
        constants=tuple(encoder.constants),
        functions=tuple(encoder.functions),
        group=dispatch.group,
        undefined=UNDEFINED,
        slow=slow,
        lost=lost,
        key=group_key,
    )


class _Encoder:
    """The tables as one list of numbers, in the order in which tables.c reads them."""

    def __init__(self, compiled: CompiledGrammar) -> None:
        self._attributes = compiled.attributes
        self.constants: list[Any] = []
        self.functions: list[Callable[..., Any]] = []
        self.numbers = [compiled.columns, len(compiled.states), len(compiled.transitions)]
        for state in compiled.states:
            self.numbers += (state.ending, state.resume, len(state.names), bool(state.lost))
        self.numbers += compiled.table
        self.numbers += (-1 if load.parameter is None else load.parameter for load in compiled.attributes)
        for transition in compiled.transitions:
            self._transition(transition)

    def _transition(self, made: Transition) -> None:
        sizes = len(made.results), len(made.code), len(made.frames)
        self.numbers += (made.taken, made.frame_size, made.results_size, *sizes, *made.results)
        for instruction in made.code:
            kind, attribute, code = self._instruction(instruction)
            self.numbers += (kind, attribute, len(code), *code)
        for frame in made.frames:
            self.numbers += (frame.state, *frame.values)

    def _instruction(self, instruction: Instruction) -> tuple[int, int, list[int]]:
        if isinstance(instruction, Load):
            return _LOAD, self._attributes.index(instruction), []
        asserts = isinstance(instruction, Assert)
        term = instruction.condition if isinstance(instruction, Assert) else instruction.value
        code: list[int] = []
        try:
            self._expression(term, code, 1)
        except _Elsewhere:
            code = [_ELSEWHERE]
        return _ASSERT if asserts else _SET, 0, code

    def _expression(self, term: Term, code: list[int], depth: int) -> None:
        if depth > _DEEPEST:
            raise _Elsewhere
        if isinstance(term, Register):
            code += (_REGISTER, term.number)
        elif isinstance(term, ConstantTerm):
            code += (_CONSTANT, len(self.constants))
            self.constants.append(term.value)
        elif isinstance(term, CallTerm):
            self._operands(term, code, depth)
            if term.function.name == "size":
                code.append(_SIZE)
            else:
                code += (_CALL, len(self.functions), len(term.operands))
                self.functions.append(term.function.call)
        elif isinstance(term, OperationTerm) and term.op in ("&&", "||"):
            self._expression(term.operands[0], code, depth)
            code += (_AND_THEN if term.op == "&&" else _OR_ELSE, 0)
            place = len(code) - 1
            self._expression(term.operands[1], code, depth)
            code.append(_CONDITION)
            code[place] = len(code)
        elif isinstance(term, OperationTerm) and term.op in _OPS:
            self._operands(term, code, depth)
            code.append(_OPS[term.op])
        else:
            raise _Elsewhere

    def _operands(self, term: OperationTerm | CallTerm, code: list[int], depth: int) -> None:
        for index, each in enumerate(term.operands):
            self._expression(each, code, depth + index)


class _Elsewhere(Exception):
    """The C core leaves this expression to Python."""
