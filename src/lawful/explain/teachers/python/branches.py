"""Branches as events: the child process compiles own modules so that each arm records that it is taken.

Bytecode has branches too, but other ones in each version of CPython; arms of the source are the same everywhere."""

from __future__ import annotations

import ast
import builtins
import importlib.machinery
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from types import CodeType, ModuleType
from typing import Any

from lawful.explain.teachers.python.recorder import WordRecorder

_TEST = "__lawful_test__"
_ARM = "__lawful_arm__"


@dataclass(frozen=True)
class BranchArm:
    """One way that execution can go on."""

    file: str
    line: int
    column: int
    function: str
    arm: str

    @property
    def key(self) -> tuple[Any, ...]:
        return ("branches", self.file, self.line, self.column, self.arm)

    def name(self, *, with_column: bool = False) -> str:
        """What a reader calls it."""
        column = f".{self.column}" if with_column else ""
        return f"{self.function}:{self.line}{column} {self.arm}"


class Branches:
    """The arms of all modules that were compiled here."""

    def __init__(self, recorder: WordRecorder) -> None:
        self.arms: list[BranchArm] = []
        self._letters: list[int | None] = []
        self._recorder = recorder
        setattr(builtins, _TEST, self._tested)
        setattr(builtins, _ARM, self._taken)

    def begin(self) -> None:
        """The letters are known."""
        self._letters = [self._recorder.letters.get(arm.key) for arm in self.arms]

    def compile(self, source: bytes, file: str) -> CodeType:
        """Code of a module in which each arm records that it is taken."""
        made = ast.fix_missing_locations(_Instrument(self.arms, file).visit(ast.parse(source, file)))
        code: CodeType = compile(made, file, "exec", dont_inherit=True)
        return code

    def install(self, own: Callable[[str], bool]) -> None:
        """Own modules that are imported from now on are compiled here."""
        sys.meta_path.insert(0, _Finder(self, own))

    def _tested(self, first: int, value: object) -> bool:
        true = bool(value)
        self._taken(first if true else first + 1)
        return true

    def _taken(self, arm: int) -> None:
        letter = self._letters[arm] if arm < len(self._letters) else None
        if letter is not None:
            self._recorder.record(letter)


class _Instrument(ast.NodeTransformer):
    def __init__(self, arms: list[BranchArm], file: str) -> None:
        self._arms = arms
        self._file = file
        self._names: list[str] = []

    def _arm(self, node: ast.expr | ast.stmt | ast.excepthandler | ast.pattern, *arms: str) -> int:
        first = len(self._arms)
        function = ".".join(self._names).removesuffix(".<locals>") or "<module>"
        self._arms += [BranchArm(self._file, node.lineno, node.col_offset, function, arm) for arm in arms]
        return first

    def _test(self, node: ast.expr, first: int) -> ast.expr:
        return ast.copy_location(ast.Call(ast.Name(_TEST, ast.Load()), [ast.Constant(first), node], []), node)

    def _record(self, arm: int, at: ast.AST) -> ast.stmt:
        return ast.copy_location(ast.Expr(ast.Call(ast.Name(_ARM, ast.Load()), [ast.Constant(arm)], [])), at)

    def _named(self, node: Any, *inside: str) -> Any:
        self._names += [node.name, *inside]
        found = self.generic_visit(node)
        del self._names[-1 - len(inside) :]
        return found

    def visit_ClassDef(self, node: ast.ClassDef) -> Any:
        return self._named(node)

    def visit_FunctionDef(self, node: ast.FunctionDef | ast.AsyncFunctionDef) -> Any:
        return self._named(node, "<locals>")

    visit_AsyncFunctionDef = visit_FunctionDef

    def visit_If(self, node: ast.If) -> Any:
        first = self._arm(node, "then", "else")
        self.generic_visit(node)
        node.test = self._test(node.test, first)
        return node

    visit_IfExp = visit_If  # type: ignore[assignment]

    def visit_While(self, node: ast.While) -> Any:
        if isinstance(node.test, ast.Constant):  # it is endless
            return self.generic_visit(node)
        first = self._arm(node, "loop", "done")
        self.generic_visit(node)
        node.test = self._test(node.test, first)
        return node

    def visit_For(self, node: ast.For | ast.AsyncFor) -> Any:
        first = self._arm(node, "loop", "done")
        self.generic_visit(node)
        node.body.insert(0, self._record(first, node.body[0]))
        node.orelse.insert(0, self._record(first + 1, node))
        return node

    visit_AsyncFor = visit_For

    def visit_comprehension(self, node: ast.comprehension) -> Any:
        firsts = [self._arm(test, "then", "else") for test in node.ifs]
        self.generic_visit(node)
        node.ifs = [self._test(test, first) for test, first in zip(node.ifs, firsts, strict=True)]
        return node

    def visit_ExceptHandler(self, node: ast.ExceptHandler) -> Any:
        first = self._arm(node, "except")
        self.generic_visit(node)
        node.body.insert(0, self._record(first, node.body[0]))
        return node

    def visit_Match(self, node: ast.Match) -> Any:
        firsts = [self._arm(case.pattern, "case") for case in node.cases]
        self.generic_visit(node)
        for case, first in zip(node.cases, firsts, strict=True):
            case.body.insert(0, self._record(first, case.body[0]))
        return node


class _Loader(importlib.machinery.SourceFileLoader):
    def __init__(self, name: str, path: str, branches: Branches) -> None:
        super().__init__(name, path)
        self._branches = branches

    def get_code(self, fullname: str) -> CodeType:
        return self._branches.compile(self.get_data(self.path), self.path)


class _Finder:
    def __init__(self, branches: Branches, own: Callable[[str], bool]) -> None:
        self._branches = branches
        self._own = own

    def find_spec(
        self, name: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        spec = importlib.machinery.PathFinder.find_spec(name, path, target)
        if spec is not None and isinstance(spec.loader, importlib.machinery.SourceFileLoader):
            file = spec.loader.path
            if self._own(file):
                spec.loader = _Loader(name, file, self._branches)
                return spec
        return None
