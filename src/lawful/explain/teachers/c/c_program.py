"""A C program as a syntax tree: its functions, who calls whom, and its assertions."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

from pycparser import c_ast, c_parser

from lawful.diagnostics import did_you_mean
from lawful.errors import LawfulError
from lawful.explain.graph_search import distances
from lawful.explain.teachers.c.preprocessing import Preprocessed, compiler_complaint, preprocess

CONDITIONS = ("assert", "__VERIFIER_assert", "__CPROVER_assert")  # functions that check their first argument
FAILURES = ("__VERIFIER_error", "reach_error", "__assert_fail")  # only called where the program has failed
EXITS = ("exit", "_exit", "_Exit", "quick_exit")  # the program has come to its end
ABORTS = ("abort", "__builtin_trap", "__builtin_abort")  # the program ends before it has come to its end
ASSUMPTIONS = ("__VERIFIER_assume", "assume_abort_if_not")  # only executions that meet a condition count


class NodePlace(NamedTuple):
    """A node, and where it hangs."""

    parent: c_ast.Node
    slot: str
    at: int | None
    node: c_ast.Node

    def replace(self, node: c_ast.Node) -> None:
        """Puts another node in its place."""
        if self.at is None:
            setattr(self.parent, self.slot, node)
        else:
            getattr(self.parent, self.slot)[self.at] = node


def children(parent: c_ast.Node) -> Iterator[NodePlace]:
    """The nodes below a node."""
    for name, node in parent.children():
        slot, _, rest = name.partition("[")
        yield NodePlace(parent, slot, int(rest[:-1]) if rest else None, node)


def below(parent: c_ast.Node) -> Iterator[NodePlace]:
    """All nodes below a node, those above first."""
    waiting = list(children(parent))[::-1]
    while waiting:
        child = waiting.pop()
        yield child
        waiting += list(children(child.node))[::-1]


def called(node: c_ast.Node) -> str | None:
    """The name of the function that a node calls, if it says so."""
    if isinstance(node, c_ast.FuncCall) and isinstance(node.name, c_ast.ID):
        return str(node.name.name)
    return None


def arguments(call: c_ast.FuncCall) -> list[Any]:
    """The arguments of a call."""
    return list(call.args.exprs) if call.args is not None else []


def line_of(node: c_ast.Node) -> int:
    """Where a node stands."""
    return int(node.coord.line) if node.coord is not None else 0


def file_of(node: c_ast.Node) -> str:
    """In which file a node stands."""
    return str(node.coord.file) if node.coord is not None else ""


@dataclass
class CAssertion:
    """A place where the program may fail."""

    file: str
    line: int
    function: str
    place: NodePlace


@dataclass
class CProgram:
    """A parsed C program, before instrumentation."""

    path: Path
    source: Preprocessed
    tree: c_ast.FileAST
    functions: dict[str, c_ast.FuncDef] = field(default_factory=dict)
    declared: dict[str, c_ast.FuncDecl] = field(default_factory=dict)  # functions with or without a body
    foreign: set[str] = field(default_factory=set)  # functions that a header of the system declares
    typedefs: dict[str, c_ast.Node] = field(default_factory=dict)
    variables: set[str] = field(default_factory=set)  # declared names of no function: a call goes through a pointer

    def calls(self, node: c_ast.Node) -> str | None:
        """The function that a node calls, if it says so."""
        name = called(node)
        through_pointer = name in self.variables and name not in self.declared
        return None if through_pointer else name

    def own(self, node: c_ast.Node) -> bool:
        """Whether a node is the user's, and not of a header of the system."""
        return file_of(node) not in self.source.system

    def mentioned(self, function: str) -> set[str]:
        """The functions that a function calls, or whose address it takes."""
        names = (child.node.name for child in below(self.functions[function].body) if isinstance(child.node, c_ast.ID))
        return {name for name in names if name in self.declared or name in self.functions}

    def reachable(self, target: str) -> list[str]:
        """The functions with a body that may run, in the order of the source."""
        starts = [target]
        # A function whose address stands in a table outside of any function may be called by anybody.
        for item in self.tree.ext:
            if isinstance(item, c_ast.Decl) and item.init is not None:
                initial = [item.init, *(child.node for child in below(item.init))]
                starts += [str(node.name) for node in initial if isinstance(node, c_ast.ID)]
        starts = [name for name in starts if name in self.functions]
        found = distances(starts, lambda name: self.mentioned(name) & self.functions.keys())
        return [name for name in self.functions if name in found]

    def distances(self, start: str, among: Sequence[str]) -> dict[str, int]:
        """How many steps in the graph of calls, in either direction, lead from a function to the others."""
        near: dict[str, set[str]] = {name: set() for name in among}
        for name in among:
            for other in self.mentioned(name) & near.keys():
                near[name].add(other)
                near[other].add(name)
        return distances([start], lambda name: near.get(name, ()))

    def assertions(self, among: Sequence[str]) -> list[CAssertion]:
        """The assertions of these functions."""
        return [
            CAssertion(file_of(child.node), line_of(child.node), function, child)
            for function in among
            for child in below(self.functions[function])
            if self.asserts(child.node)
        ]

    def asserts(self, node: c_ast.Node) -> bool:
        """Whether a node is an assertion. One with a body of its own is a function like any other."""
        name = called(node)
        return name is not None and (name in CONDITIONS or name in FAILURES) and name not in self.functions


def read_program(path: str | Path, include: Sequence[str | Path] = (), define: Sequence[str] = ()) -> CProgram:
    """Reads a C file. What cannot be read is an error with its place."""
    path = Path(path)
    if not path.is_file():
        raise LawfulError("c-not-read", f"file {path} does not exist")
    source = preprocess(path, [Path(folder) for folder in include], define)
    try:
        tree = c_parser.CParser().parse(source.text, str(path))
    except (c_parser.ParseError, RecursionError) as error:
        raise compiler_complaint(source) or _not_parsed(error, path) from error
    program = CProgram(path, source, tree)
    for item in tree.ext:
        if isinstance(item, c_ast.FuncDef):
            program.functions[item.decl.name] = item
            program.declared[item.decl.name] = item.decl.type
        elif isinstance(item, c_ast.Typedef):
            program.typedefs[item.name] = item.type
        elif isinstance(item, c_ast.Decl) and isinstance(item.type, c_ast.FuncDecl):
            program.declared.setdefault(item.name, item.type)
            if not program.own(item):
                program.foreign.add(item.name)
    for child in below(tree):
        if isinstance(child.node, c_ast.Decl) and not isinstance(child.node.type, c_ast.FuncDecl):
            program.variables.add(str(child.node.name))
    return program


def _not_parsed(error: Exception, path: Path) -> LawfulError:
    said = re.match(r"(?P<file>.*?):(?P<line>\d+):(?:\d+:)? *(?P<what>.*)", str(error), re.S)
    hint = "C11 is read, without most extensions of compilers"
    if said is None:
        return LawfulError("c-not-parsed", str(error).removeprefix(f"{path}: "), where=str(path), hint=hint)
    return LawfulError("c-not-parsed", said["what"], where=f"{said['file']}:{said['line']}", hint=hint)


def target_of(program: CProgram, function: str | None) -> str:
    """The function whose executions are looked at."""
    own = [name for name, definition in program.functions.items() if program.own(definition)]
    hint = f"it has {', '.join(own)}" if own else "it has no function with a body"
    if function is not None and function not in program.functions:
        close = did_you_mean(function, own)
        hint = f"did you mean {close}?" if close is not None else hint
        if function in program.declared:
            hint = f"{function} is declared there, without a body"
        raise LawfulError("c-no-function", f"{program.path} has no function {function}", hint=hint)
    if function is None and "main" not in program.functions:
        hint = f"name the function to explain, as in {program.path}:{own[0]}; {hint}" if own else hint
        raise LawfulError("c-no-function", f"{program.path} has no function main", hint=hint)
    return function or "main"


def chosen_assertions(program: CProgram, among: Sequence[str], error: str | int | None) -> list[CAssertion]:
    """The assertion to explain: by its line, as `17` or `file.c:17`, or the only one there is; `assert`: all."""
    found = program.assertions(among)
    places = sorted({f"{one.file}:{one.line}" for one in found}, key=lambda place: (len(place), place))
    if error in (None, "assert"):
        if not found:
            hint = "add an assert(), or explain the end of the program with --error end"
            raise LawfulError("c-no-assertion", f"{program.path} has no assertion that it can reach", hint=hint)
        if error is None and len(places) > 1:
            hint = f"choose one by its line, as in --error {found[0].file}:{found[0].line}, or all: --error assert"
            message = f"{program.path} has assertions at {', '.join(places)}"
            raise LawfulError("c-several-assertions", message, hint=hint)
        return found
    file, _, line = str(error).rpartition(":")
    name = Path(file).name
    chosen = [one for one in found if str(one.line) == line and (not file or Path(one.file).name == name)]
    if not chosen:
        hint = f"there are assertions at {', '.join(places)}" if found else "it has none"
        raise LawfulError("c-no-assertion", f"the program cannot reach an assertion at {error}", hint=hint)
    return chosen
