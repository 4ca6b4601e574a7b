"""Inputs of a C program that are not numbers: code that makes structures and pointers, and how they are shown."""

from __future__ import annotations

import copy
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from pycparser import c_ast

from lawful.explain.teachers.c.c_program import below
from lawful.explain.teachers.c.c_types import Scalar, scalar, spelled

MAKE = "__lawful_make_"
PRESENT = Scalar("unsigned char", 8, False, boolean=True)  # whether a pointer points to something
LONGEST = 16  # elements of a list, whatever the unwinding is
DEEPEST = 4  # levels of a branching structure: there would be too many of them
_ELEMENTS = 8
_ROUNDS = 100

TakenInputs = Sequence[tuple[int, str]]
"""Inputs in the order in which they were taken: each its number, and its bits, the highest first."""


@dataclass(frozen=True)
class ScalarShape:
    """A value that is one input. `read` gives the value that begins with this input, and the number of the next."""

    input: int
    type: Scalar

    def read(self, given: TakenInputs, at: int, deep: int) -> tuple[str, int]:
        if at >= len(given) or given[at][0] != self.input:
            return "any", at
        return value(self.type, given[at][1]), at + 1


@dataclass
class PointerShape:
    """NULL, or what it points to."""

    input: int
    to: InputShape | None = None  # not yet known, while it is made: it may point to its like

    def read(self, given: TakenInputs, at: int, deep: int) -> tuple[str, int]:
        if deep == 0 or self.to is None:
            return "NULL", at
        if at >= len(given) or given[at][0] != self.input:
            return "any", at
        if value(PRESENT, given[at][1]) != "1":
            return "NULL", at + 1
        text, after = self.to.read(given, at + 1, deep - 1)
        return text if isinstance(self.to, CompoundShape) else f"&{text}", after


@dataclass
class CompoundShape:
    """The members of a structure by their names, or the elements of an array. Unlisted members may be anything."""

    parts: list[tuple[str | None, InputShape]] = field(default_factory=list)

    def read(self, given: TakenInputs, at: int, deep: int) -> tuple[str, int]:
        texts = []
        for name, shape in self.parts:
            text, at = shape.read(given, at, deep)
            texts.append(text if name is None else f"{name} = {text}")
        return f"{{{', '.join(texts)}}}", at


InputShape = ScalarShape | PointerShape | CompoundShape


@dataclass(frozen=True)
class ObjectInput:
    """An input of several numbers: what it is called, and how they are read."""

    label: str
    shape: InputShape
    deep: int


def value(type: Scalar, bits: str) -> str:
    """A number from its bits, the highest first; what has none does not matter."""
    return type.value([bit == "1" for bit in reversed(bits)]) if bits else "any"


def structures(tree: c_ast.Node) -> dict[str, c_ast.Struct]:
    """The structures of a program by their tags."""
    nodes = reversed([child.node for child in below(tree)])  # the first of a tag counts
    return {str(node.name): node for node in nodes if isinstance(node, c_ast.Struct) and node.name and node.decls}


class InputObjectWriter:
    """Writes functions that make a value of a type out of inputs. Each input has functions of its own."""

    def __init__(
        self,
        typedefs: Mapping[str, c_ast.Node],
        tags: Mapping[str, c_ast.Struct],
        new_input: Callable[[Scalar], tuple[int, str]],
    ) -> None:
        self._typedefs, self._tags = typedefs, tags
        self._new_input = new_input  # its number, and the function that gives it
        self._made: dict[str, tuple[str, PointerShape]] = {}
        self.prototypes: list[str] = []
        self.functions: list[str] = []

    def pointer(self, node: c_ast.Node) -> tuple[str, PointerShape, int] | None:
        """For a pointer or an array of a parameter: the name of a function that makes it, how that is read, and how
        deep it is. None if it is neither, or points to a function."""
        node = self._resolved(node)
        if not isinstance(node, c_ast.PtrDecl | c_ast.ArrayDecl) or not self._declarable(node.type):
            return None
        self._made = {}
        many = self._dimension(node) if isinstance(node, c_ast.ArrayDecl) else None
        name, shape = self._pointer_to(node.type, many)
        return name, shape, self._max_depth(node.type)

    def record(self, node: c_ast.Node, name: str) -> tuple[list[str], CompoundShape, int] | None:
        """For a structure: the statements that fill the variable of this name."""
        self._made = {}
        struct, deep = self._struct(node), self._max_depth(node)
        return None if struct is None else (*self._members(struct, name, f"{deep}u"), deep)

    def _pointer_to(self, node: c_ast.Node, many: int | None = None) -> tuple[str, PointerShape]:
        """A function that gives NULL or what it has made."""
        key = spelled(node, "x") + f" {many}"
        if key in self._made:
            return self._made[key]
        number, given = self._new_input(PRESENT)
        name = f"{MAKE}{number}"
        shape = PointerShape(number)
        self._made[key] = name, shape
        plain = c_ast.PtrDecl([], _plain(node))
        opaque = self._is_opaque(node)
        size = "1" if opaque else f"{many or 1} * sizeof(*made)"
        head = spelled(plain, f"{name}(unsigned int deep)")
        self.prototypes.append(f"{head};")
        lines = [
            head,
            "{",
            f"    {spelled(plain, 'made')};",
            f"    if (deep == 0 || !{given}())",
            "        return 0;",
            f"    made = __CPROVER_allocate({size}, 0);",
        ]
        inside: list[str] = []
        if opaque:
            shape.to = CompoundShape()
        elif many is None:
            inside, shape.to = self._value(node, "(*made)", "deep - 1")
        else:
            inside, shape.to = self._elements(node, "made", many, "deep - 1")
        lines += [f"    {line}" for line in inside]
        self.functions.append("\n".join([*lines, "    return made;", "}"]))
        return name, shape

    def _value(self, node: c_ast.Node, at: str, deep: str) -> tuple[list[str], InputShape]:
        """Statements that fill a place, and how they are read."""
        number = scalar(node, self._typedefs)
        if number is not None:
            which, given = self._new_input(number)
            where = f"*({number.text} *)&{at}" if "const" in (node.quals or []) else at
            return [f"{where} = {given}();"], ScalarShape(which, number)
        struct = self._struct(node)
        if struct is not None:
            return self._members(struct, at, deep)
        resolved = self._resolved(node)
        if isinstance(resolved, c_ast.PtrDecl) and self._declarable(resolved.type):
            name, shape = self._pointer_to(resolved.type)
            where = f"*(void **)&{at}" if "const" in (resolved.quals or []) else at
            return [f"{where} = {name}({deep});"], shape
        many = self._dimension(resolved) if isinstance(resolved, c_ast.ArrayDecl) else None
        return self._elements(resolved.type, at, many, deep) if many else ([], CompoundShape())

    def _elements(self, node: c_ast.Node, at: str, many: int, deep: str) -> tuple[list[str], CompoundShape]:
        """Statements that fill the elements of an array, and how they are read."""
        lines: list[str] = []
        shape = CompoundShape()
        for place in range(many):
            inside, one = self._value(node, f"{at}[{place}]", deep)
            lines += inside
            shape.parts.append((None, one))
        return lines, shape

    def _members(self, struct: c_ast.Struct, at: str, deep: str) -> tuple[list[str], CompoundShape]:
        lines: list[str] = []
        record = CompoundShape()
        for member in struct.decls or []:
            if not isinstance(member, c_ast.Decl) or member.name is None or member.bitsize is not None:
                continue
            inside, shape = self._value(member.type, f"{at}.{member.name}", deep)
            if inside:
                lines += inside
                record.parts.append((str(member.name), shape))
        return lines, record

    def _max_depth(self, node: c_ast.Node) -> int:
        """How far pointers are followed from here."""
        seen: set[int] = set()
        waiting = [node]
        while waiting:
            struct = self._struct(self._pointee(waiting.pop()))
            if struct is None or id(struct) in seen:
                continue
            seen.add(id(struct))
            inner = [member.type for member in struct.decls or [] if isinstance(member, c_ast.Decl)]
            inner = [each for each in inner if self._struct(self._pointee(each)) is not None]
            if len(inner) > 1:
                return DEEPEST
            waiting += inner
        return LONGEST

    def _pointee(self, node: c_ast.Node) -> c_ast.Node:
        """What pointers point to, or arrays are made of."""
        node = self._resolved(node)
        while isinstance(node, c_ast.PtrDecl | c_ast.ArrayDecl):
            node = self._resolved(node.type)
        return node

    def _declarable(self, node: c_ast.Node) -> bool:
        """Can a variable of this type be declared? Not of a function, and not of what has no name."""
        inner = self._pointee(node)
        if isinstance(inner, c_ast.FuncDecl):
            return False
        while isinstance(node, c_ast.PtrDecl | c_ast.ArrayDecl):
            node = node.type
        named = node.type if isinstance(node, c_ast.TypeDecl) else node
        return not isinstance(named, c_ast.Struct | c_ast.Union | c_ast.Enum) or bool(named.name)

    def _dimension(self, node: c_ast.ArrayDecl) -> int | None:
        """How many elements an array has, if that is said by a small number."""
        said = node.dim.value if isinstance(node.dim, c_ast.Constant) else ""
        return int(said) if said.isdecimal() and 0 < int(said) <= _ELEMENTS else None

    def _is_opaque(self, node: c_ast.Node) -> bool:
        """Is nothing known of what is there, such as of `void`?"""
        node = self._resolved(node)
        if isinstance(node, c_ast.TypeDecl):
            node = node.type
        if isinstance(node, c_ast.IdentifierType):
            return list(node.names) == ["void"]
        return isinstance(node, c_ast.Struct | c_ast.Union) and not node.decls and str(node.name) not in self._tags

    def _struct(self, node: c_ast.Node) -> c_ast.Struct | None:
        """The structure of a type, with its members."""
        node = self._resolved(node)
        if isinstance(node, c_ast.TypeDecl):
            node = node.type
        if not isinstance(node, c_ast.Struct):
            return None
        return node if node.decls else self._tags.get(str(node.name))

    def _resolved(self, node: c_ast.Node) -> c_ast.Node:
        """A type without the names that it was given."""
        for _ in range(_ROUNDS):
            inner = node.type if isinstance(node, c_ast.TypeDecl) else None
            if not isinstance(inner, c_ast.IdentifierType) or len(inner.names) != 1:
                break
            known = self._typedefs.get(inner.names[0])
            if known is None:
                break
            node = known
        return node


def _plain(node: c_ast.Node) -> c_ast.Node:
    """The same type, not constant, and without the members that were written there."""
    if isinstance(node, c_ast.TypeDecl):
        kind = copy.copy(node.type)
        if isinstance(kind, c_ast.Struct | c_ast.Union):
            kind.decls = None
        elif isinstance(kind, c_ast.Enum):
            kind.values = None
        return c_ast.TypeDecl(node.declname, [], None, kind)
    return node
