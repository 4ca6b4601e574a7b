"""All words of a C program, enumerated from the formula of the one-run teacher."""

from __future__ import annotations

from collections.abc import Iterator

from lawful.explain.teacher import Bounds, Execution
from lawful.explain.teachers.c.formula import differs
from lawful.explain.teachers.c.one_run_teacher import OneRunTeacher


def executions(teacher: OneRunTeacher, bounds: Bounds) -> Iterator[Execution]:
    """Each word once for the executions that fail and once for those that end well."""
    teacher.bound(bounds)
    for word in sorted(teacher._enumerated().failing):
        if len(word) <= bounds.word_length:
            yield Execution(word, True)
    # The words that end well are blocked one by one, so the formula is one of its own.
    formula = teacher._export(teacher._unwinding().room)
    if formula is not None:
        try:
            while formula.solve([-formula.fails, formula.at_most(bounds.word_length)]):
                word = formula.found()
                formula.add([formula.fails, *differs(formula.length, len(word)), *formula.apart(word)])
                yield Execution(word, False)
        finally:
            formula.close()
