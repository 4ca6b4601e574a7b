"""Rewrites a C program for CBMC: events, the assertion, exits and inputs become calls that each query defines."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from pycparser import c_ast, c_generator

from lawful.errors import LawfulError
from lawful.explain.teacher import MOST_EVENTS, Alphabet, LabelledEvent
from lawful.explain.teachers.c import events
from lawful.explain.teachers.c.c_program import (
    ABORTS,
    ASSUMPTIONS,
    CONDITIONS,
    EXITS,
    CProgram,
    arguments,
    below,
    called,
    chosen_assertions,
    file_of,
    line_of,
    read_program,
    target_of,
)
from lawful.explain.teachers.c.c_types import Scalar, by_name, scalar, spelled
from lawful.explain.teachers.c.input_objects import InputObjectWriter, ObjectInput, TakenInputs, structures, value
from lawful.explain.teachers.c.preprocessing import BUILT_IN

LEARN = "__lawful_learn"
CHECK = "__lawful_check"
OTHER = "__lawful_other"
EXIT = "__lawful_exit"
ABORT = "__lawful_abort"
ASSUME = "__CPROVER_assume"
MAIN = "__lawful_main"
INPUT = "__lawful_input_"

END = "end"  # the error that is the end of the program
ABORTED = "abort"  # the error that is a call of abort()

# Library functions that give inputs, and the condition that their values meet.
_LIBRARY_INPUTS = {"rand": "value >= 0", "random": "value >= 0", "getchar": "value >= -1 && value <= 255"}
_PROTOTYPES = f"""
void {LEARN}(unsigned int letter);
void {CHECK}(_Bool holds);
void {OTHER}(_Bool holds);
void {EXIT}(int status);
void {ABORT}(void);
"""


@dataclass(frozen=True)
class ProgramInput:
    """A value that the program does not determine: what it is called, and where it comes from."""

    label: str
    type: Scalar
    condition: str = ""


@dataclass
class Instrumented:
    """The text of the program, and what its calls mean."""

    source: CProgram
    target: str
    alphabet: Alphabet
    text: str
    at_end: bool  # whether the end of the program is the error
    inputs: list[ProgramInput] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)
    wholes: dict[int, ObjectInput] = field(default_factory=dict)  # inputs of several numbers, by the first of these

    def describe(self, inputs: TakenInputs) -> str | None:
        """Inputs for a reader: `n = 3, list = {value = 0, next = NULL}, choose() = 1`."""
        parts = []
        at = 0
        while at < len(inputs):
            number, bits = inputs[at]
            whole = self.wholes.get(number)
            if whole is None:
                one = self.inputs[number]
                parts.append(f"{one.label} = {value(one.type, bits)}")
                at += 1
            else:
                text, after = whole.shape.read(inputs, at, whole.deep)
                parts.append(f"{whole.label} = {text}")
                at = max(after, at + 1)
        return ", ".join(parts) or None


def instrument(
    path: str | Path,
    function: str | None = None,
    *,
    patterns: Sequence[str] = (),
    kinds: Sequence[str] = (),
    error: str | int | None = None,
    most: int = MOST_EVENTS,
    include: Sequence[str | Path] = (),
    define: Sequence[str] = (),
) -> Instrumented:
    """Reads a program, chooses its events and its error, and writes it anew."""
    program = read_program(path, include, define)
    target = target_of(program, function)
    among = program.reachable(target)
    at_end = error == END
    failing = [] if error in (END, ABORTED) else chosen_assertions(program, among, error)
    found = events.candidates(program, among)
    nearest = failing[0] if failing else None
    chosen = events.choose(program, found, target, nearest, among, kinds, patterns, most)
    writer = _Writer(program, target, at_end, error == ABORTED)
    places = {(one.file, one.line) for one in failing}
    alphabet = writer.alphabet(chosen, *(next(iter(places)) if len(places) == 1 else (None, None)))
    writer.rewrite({id(one.place.node) for one in failing})
    letters = {label: letter for letter, label in enumerate(alphabet.labels)}
    # From the last to the first: a place inside of another changes before the place around it.
    for one in reversed(chosen):
        one.insert(c_ast.FuncCall(c_ast.ID(LEARN), c_ast.ExprList([c_ast.Constant("int", str(letters[one.label]))])))
    writer.drop_unused()
    text = writer.text()
    return Instrumented(program, target, alphabet, text, at_end, writer.inputs, writer.warnings, writer.wholes)


class _Writer:
    """Changes a program's tree and writes it out."""

    def __init__(self, program: CProgram, target: str, at_end: bool, at_abort: bool) -> None:
        self.program = program
        self.target = target
        self.at_end = at_end
        self.at_abort = at_abort
        self.inputs: list[ProgramInput] = []
        self.warnings: list[str] = []
        self.stubs: dict[str, str] = {}
        self.wholes: dict[int, ObjectInput] = {}
        self.maker = InputObjectWriter(program.typedefs, structures(program.tree), lambda kind: self.numbered("", kind))

    def alphabet(self, chosen: Sequence[events.EventCandidate], file: str | None, line: int | None) -> Alphabet:
        """A letter for each label, in the order of the source, and the error."""
        letters: dict[str, LabelledEvent] = {}
        for one in chosen:
            letters.setdefault(one.label, LabelledEvent(one.label, one.file, one.line))
        label = END if self.at_end else ABORTED if self.at_abort else "assert"
        while label in letters:
            label += "!"
        if self.at_end:
            definition = self.program.functions[self.target]
            file, line = str(self.program.path), line_of(definition.decl)
        return Alphabet((*letters.values(), LabelledEvent(label, file, line)))

    def rewrite(self, failing: set[int]) -> None:
        """Turns assertions, exits and inputs into calls of our own. Nodes stay the same objects: events hang there."""
        for function, definition in self.program.functions.items():
            for child in list(below(definition.body)):
                node = child.node
                name = self.program.calls(node)
                if name is None:
                    continue
                given = arguments(node)
                nothing = c_ast.Constant("int", "0")
                if self.program.asserts(node):
                    if name in CONDITIONS and not given:
                        where = f"{self.program.path}:{line_of(node)}"
                        raise LawfulError("c-not-parsed", f"{name}() has no condition", where=where)
                    node.name = c_ast.ID(CHECK if id(node) in failing else OTHER)
                    node.args = c_ast.ExprList([given[0] if name in CONDITIONS else nothing])
                elif name in self.program.functions:
                    continue
                elif name in EXITS:
                    node.name = c_ast.ID(EXIT)
                    node.args = c_ast.ExprList(given[:1] or [nothing])
                elif name in ABORTS and self.at_abort:
                    node.name = c_ast.ID(CHECK)
                    node.args = c_ast.ExprList([nothing])
                elif name in ABORTS:
                    node.name = c_ast.ID(ABORT)
                elif name in ASSUMPTIONS:
                    node.name = c_ast.ID(ASSUME)
                elif not name.startswith(("__CPROVER_", "__builtin_")) and name != events.LEARN:
                    self.input(node, name, given, function)

    def drop_unused(self) -> None:
        """Takes out the user's events that were not chosen: what they are called need not be declared."""
        for definition in self.program.functions.values():
            for child in list(below(definition.body)):
                if called(child.node) == events.LEARN and events.LEARN not in self.program.functions:
                    child.replace(c_ast.Constant("int", "0"))

    def input(self, call: c_ast.FuncCall, name: str, given: Sequence[c_ast.Node], function: str) -> None:
        """A call of a function without a body: it gives whatever fits its type."""
        declared = self.program.declared.get(name)
        kind = by_name(name) if declared is None else scalar(declared.type, self.program.typedefs)
        if name in self.program.foreign and name not in _LIBRARY_INPUTS:
            return
        if kind is not None and not given:
            label = f"{name.removeprefix('__VERIFIER_')}() at line {line_of(call)}"
            if file_of(call) != file_of(self.program.functions[self.target]):
                label = f"{function}()"
            call.name = c_ast.ID(self.new_input(label, kind, _LIBRARY_INPUTS.get(name, "")))
        elif name not in self.stubs:
            self.stub(name, declared, kind)
        if declared is None and by_name(name) is None and not name.startswith("nondet"):
            self.warn(f"{name}() is not declared: Lawful assumes that it returns any int")
        elif declared is not None and by_name(name) is None and name not in _LIBRARY_INPUTS:
            what = "returns any value" if kind is not None else "does nothing"
            if kind is None and name in self.stubs:
                what = "returns NULL, or a pointer to one object with any content"
            self.warn(f"{name}() has no body: Lawful assumes that it {what}")

    def warn(self, text: str) -> None:
        """Says something once."""
        if text not in self.warnings:
            self.warnings.append(text)

    def new_input(self, label: str, kind: Scalar, condition: str = "") -> str:
        """The name of a function that gives an input."""
        return self.numbered(label, kind, condition)[1]

    def numbered(self, label: str, kind: Scalar, condition: str = "") -> tuple[int, str]:
        """The number of an input, and the name of the function that gives it."""
        self.inputs.append(ProgramInput(label, kind, condition))
        return len(self.inputs) - 1, f"{INPUT}{len(self.inputs) - 1}"

    def stub(self, name: str, declared: c_ast.FuncDecl | None, kind: Scalar | None) -> None:
        """Writes a body for a function that has none, if it gives a number, or a pointer that can be made."""
        head = f"int {name}()" if declared is None else self.function_head(name, declared)
        if declared is None or kind is not None:
            given = self.new_input(f"{name}()", kind or Scalar("int", 32))
            self.stubs[name] = f"{head} {{ return {given}(); }}"
        elif (made := self.maker.pointer(declared.type)) is not None:
            function, shape, deep = made
            self.wholes[shape.input] = ObjectInput(f"{name}()", shape, deep)
            self.stubs[name] = f"{head} {{ return {function}({deep}); }}"

    def function_head(self, name: str, declared: c_ast.FuncDecl) -> str:
        """The head of a definition for what is only declared. Its parameters may be without names there."""
        parameters = []
        for number, parameter in enumerate(declared.args.params if declared.args is not None else []):
            if isinstance(parameter, c_ast.EllipsisParam):
                parameters.append("...")
            elif not (isinstance(parameter, c_ast.Typename) and _void(parameter.type)):
                parameters.append(spelled(parameter.type, f"given_{number}"))
        kind = scalar(declared.type, self.program.typedefs)
        nothing = "void" if declared.args is not None else ""
        rest = f"{name}({', '.join(parameters) or nothing})"
        return f"{kind.text} {rest}" if kind else spelled(declared.type, rest)

    def main(self) -> str:
        """The function that everything starts with. Parameters that are not numbers are left to the model checker."""
        declared = self.program.functions[self.target].decl.type
        outer, inner, given = [], [], []
        parameters = declared.args.params if declared.args is not None else []
        for number, parameter in enumerate(parameters):
            if isinstance(parameter, c_ast.EllipsisParam | c_ast.ID) or _void(parameter.type):
                continue
            name = f"given_{number}"
            kind = scalar(parameter.type, self.program.typedefs)
            given.append(name)
            if kind is None:
                if lines := self.made(parameter, name):
                    inner += lines
                else:
                    outer.append(spelled(parameter.type, name))
            else:
                inner.append(f"    {kind.text} {name} = {self.new_input(str(parameter.name), kind)}();")
        call = f"    {self.target}({', '.join(given)});"
        end = f"    {EXIT}(0);" if self.at_end else "    __lawful_end();"
        return "\n".join([f"void {MAIN}({', '.join(outer) or 'void'})", "{", *inner, call, end, "}"])

    def made(self, parameter: c_ast.Decl, name: str) -> list[str]:
        """Statements that make a parameter which is not a number; none where the model checker chooses it."""
        label, first = str(parameter.name), len(self.inputs)
        pointer = self.maker.pointer(parameter.type)
        if pointer is not None:
            function, shape, deep = pointer
            self.warn(f"parameter {label} of {self.target}() is NULL, or points to one object with any content")
            self.wholes[shape.input] = ObjectInput(label, shape, deep)
            return [f"    {spelled(parameter.type, name)} = {function}({deep});"]
        record = self.maker.record(parameter.type, name)
        if record is None or len(self.inputs) == first:
            self.warn(f"parameter {label} of {self.target}() may be anything, and explanations do not show it")
            return []
        lines, whole, deep = record
        self.wholes[first] = ObjectInput(label, whole, deep)
        return [f"    {spelled(parameter.type, name)};", *(f"    {line}" for line in lines)]

    def text(self) -> str:
        """The whole program, but for the functions that a question defines."""
        main = self.main()
        generator = c_generator.CGenerator()
        own = [
            generator.visit(item) + ("" if isinstance(item, c_ast.FuncDef | c_ast.Pragma) else ";")
            for item in self.program.tree.ext
            if file_of(item) != BUILT_IN
        ]
        takes = "".join(f"{one.type.text} {INPUT}{number}(void);\n" for number, one in enumerate(self.inputs))
        return "\n".join(
            [
                _PROTOTYPES + "void __lawful_end(void);\n" + takes,
                *own,
                *self.maker.prototypes,
                *self.maker.functions,
                *self.stubs.values(),
                main,
                self.input_functions(),
                _runtime(self.at_end),
            ]
        )

    def input_functions(self) -> str:
        """The functions that give inputs. `mark` says that one was taken, `at` after how many others."""
        lines = ["unsigned int __lawful_taken = 0;"]
        for number, one in enumerate(self.inputs):
            # A _Bool that is left open is a whole byte to CBMC.
            text = "unsigned char" if one.type.boolean else one.type.text
            condition = one.condition or ("value <= 1" if one.type.boolean else "")
            lines += [
                f"{one.type.text} {INPUT}{number}(void)",
                "{",
                f"    {text} value;",
                "    unsigned char mark;",
                "    unsigned int at;",
                "    __lawful_taken = __lawful_taken + 1;",
                f"    {ASSUME}((mark & 1) && at + 1 == __lawful_taken);",
                *([f"    {ASSUME}({condition});"] if condition else []),
                "    return value;",
                "}",
            ]
        return "\n".join(lines)


def _void(node: c_ast.Node) -> bool:
    kind = node.type if isinstance(node, c_ast.TypeDecl) else None
    return isinstance(kind, c_ast.IdentifierType) and kind.names == ["void"]


def _runtime(at_end: bool) -> str:
    end = "__lawful_fail();" if at_end else "__lawful_end();"
    return f"""
void __lawful_fail(void);
void {CHECK}(_Bool holds) {{ if (!holds) {{ __lawful_fail(); {ASSUME}(0); }} }}
void {OTHER}(_Bool holds) {{ if (!holds) {{ __lawful_end(); {ASSUME}(0); }} }}
void {EXIT}(int status) {{ {end} {ASSUME}(0); }}
void {ABORT}(void) {{ __lawful_end(); {ASSUME}(0); }}
"""
