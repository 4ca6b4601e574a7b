"""C types of inputs: how wide a value is, and how its bits are read."""

from __future__ import annotations

import struct
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from pycparser import c_ast, c_generator


@dataclass(frozen=True)
class Scalar:
    """A type whose values are numbers. `text` is how a program names it."""

    text: str
    width: int
    signed: bool = True
    floating: bool = False
    boolean: bool = False

    def value(self, bits: Sequence[bool]) -> str:
        """A value from its bits, the lowest first."""
        number = sum(1 << place for place, bit in enumerate(bits[: self.width]) if bit)
        if self.boolean:
            return "1" if number else "0"
        if self.floating:
            layout = "<f" if self.width == 32 else "<d"
            return repr(struct.unpack(layout, number.to_bytes(self.width // 8, "little"))[0])
        if self.signed and number >> (self.width - 1):
            number -= 1 << self.width
        return str(number)


def _named(names: Sequence[str]) -> Scalar | None:
    words = [name for name in names if name not in ("const", "volatile", "int")]
    text = " ".join(names)
    signed = "unsigned" not in words
    words = [word for word in words if word not in ("signed", "unsigned")]
    kind = " ".join(words)
    if kind == "_Bool":
        return Scalar(text, 8, False, boolean=True)
    if kind in ("float", "double"):
        return Scalar(text, 32 if kind == "float" else 64, floating=True)
    width = {"char": 8, "short": 16, "": 32, "long": 64, "long long": 64}.get(kind)
    return None if width is None else Scalar(text, width, signed)


def scalar(node: c_ast.Node, typedefs: Mapping[str, c_ast.Node]) -> Scalar | None:
    """The type of a declaration, if its values are numbers."""
    for _ in range(100):
        if isinstance(node, c_ast.TypeDecl):
            node = node.type
        elif isinstance(node, c_ast.Enum):
            return Scalar("int", 32)
        elif isinstance(node, c_ast.IdentifierType):
            if len(node.names) == 1 and node.names[0] in typedefs:
                node = typedefs[node.names[0]]
            else:
                return _named(node.names)
        else:
            return None
    return None


def spelled(node: c_ast.Node, name: str) -> str:
    """A declaration of a name with a type, as text, without qualifiers that forbid to leave it open."""
    if isinstance(node, c_ast.TypeDecl):
        node = c_ast.TypeDecl(name, [], None, node.type)
    elif isinstance(node, c_ast.PtrDecl | c_ast.ArrayDecl):
        node = c_ast.PtrDecl([], _kept(node.type, name))
    return str(c_generator.CGenerator().visit(c_ast.Decl(name, [], [], [], [], node, None, None)))


def _kept(node: c_ast.Node, name: str) -> c_ast.Node:
    """What a pointer points to, with all its qualifiers."""
    if isinstance(node, c_ast.TypeDecl):
        return c_ast.TypeDecl(name, node.quals, None, node.type)
    if isinstance(node, c_ast.PtrDecl):
        return c_ast.PtrDecl(node.quals, _kept(node.type, name))
    if isinstance(node, c_ast.ArrayDecl):
        return c_ast.ArrayDecl(_kept(node.type, name), node.dim, node.dim_quals)
    if isinstance(node, c_ast.FuncDecl):
        return c_ast.FuncDecl(node.args, _kept(node.type, name))
    return node


_NAMES = {
    "_Bool": "bool _Bool",
    "char": "char",
    "signed char": "schar s8",
    "unsigned char": "uchar unsigned_char u8",
    "short": "short s16",
    "unsigned short": "ushort u16",
    "int": "int s32",
    "unsigned int": "uint unsigned unsigned_int u32",
    "long": "long loff_t s64",
    "unsigned long": "ulong size_t sector_t u64",
    "long long": "longlong",
    "unsigned long long": "ulonglong",
    "float": "float",
    "double": "double",
}
# The types of `__VERIFIER_nondet_*` and `nondet_*`, where the program does not declare them.
_NONDETERMINISTIC = {name: kind for kind, names in _NAMES.items() for name in names.split()}


def by_name(function: str) -> Scalar | None:
    """The type that a function's name promises."""
    for prefix in ("__VERIFIER_nondet_", "nondet_"):
        if function.startswith(prefix) and function.removeprefix(prefix) in _NONDETERMINISTIC:
            return _named(_NONDETERMINISTIC[function.removeprefix(prefix)].split())
    return None
