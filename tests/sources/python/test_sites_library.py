"""Probes of the standard library, compared with its syntax trees and with the stack depths that `dis` gives."""

from __future__ import annotations

import ast
import dis
import functools
import random
import sys
import sysconfig
import warnings
from collections.abc import Iterator
from pathlib import Path
from types import CodeType

import pytest

from lawful.sources.python.instructions import SUPPORTED
from lawful.sources.python.sites import lines, probes
from lawful.sources.python.tracer_protocol import Operation, Probe
from sources.python.value_stack import all_code

pytestmark = pytest.mark.skipif(not SUPPORTED, reason="probes are for CPython 3.11 to 3.13")

LIBRARY = Path(sysconfig.get_path("stdlib"))
ALL = frozenset(Operation)
CALLS = frozenset({Operation.CALL, Operation.CALL_EX})
SAMPLE = 30  # files
OPERANDS = {
    **dict.fromkeys((Operation.CONTAINS, Operation.GET_ITEM, Operation.DELETE_ITEM, Operation.SET_FIELD), 2),
    **dict.fromkeys((Operation.BINARY, Operation.COMPARE), 2),
    **dict.fromkeys((Operation.SET_ITEM, Operation.GET_SLICE), 3),
    **dict.fromkeys((Operation.SET_SLICE, Operation.EXIT_RAISED), 4),
}


def library_files() -> list[Path]:
    packages = "", "asyncio", "collections", "concurrent/futures", "email", "json", "logging", "unittest", "xml/dom"
    files = [path for package in packages for path in sorted((LIBRARY / package).glob("*.py"))]
    files = [path for path in files if path.stat().st_size > 3000 and "data" not in path.name]  # others may do nothing
    chosen = random.Random(3).sample(files, SAMPLE)
    return [*chosen, LIBRARY / "contextlib.py", LIBRARY / "asyncio/locks.py", LIBRARY / "asyncio/taskgroups.py"]


def parsed(path: Path) -> tuple[ast.Module, list[CodeType]]:
    source = path.read_bytes()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return ast.parse(source), all_code(compile(source, path.name, "exec", dont_inherit=True))


def depths(code: CodeType) -> dict[int, int]:
    """The depth of the stack before each instruction that can be reached."""
    bytecode = dis.Bytecode(code)
    instructions = list(bytecode)
    index = {instruction.offset: number for number, instruction in enumerate(instructions)}
    generator = any(instruction.opname == "RETURN_GENERATOR" for instruction in instructions)
    known: dict[int, int] = {}
    # Up to 3.12 `dis` leaves out what is sent to a generator to start it.
    ways = [(0, int(generator and sys.version_info < (3, 13)))]
    handled = [(entry.target, entry.depth + 1 + entry.lasti) for entry in bytecode.exception_entries]  # type: ignore[attr-defined]
    while ways or handled:
        offset, depth = ways.pop() if ways else handled.pop()
        while True:
            if offset in known:
                assert known[offset] == depth, (code, offset)
                break
            known[offset] = depth
            number = index[offset]
            here = instructions[number]
            if here.opcode in dis.hasjrel:
                ways.append((here.argval, depth + dis.stack_effect(here.opcode, here.arg, jump=True)))
            if here.opname.startswith(("JUMP_FORWARD", "JUMP_BACKWARD", "RETURN_", "RAISE_", "RERAISE")) and (
                here.opname != "RETURN_GENERATOR"
            ):
                break
            depth += dis.stack_effect(here.opcode, here.arg, jump=False)
            following = next(each for each in instructions[number + 1 :] if each.opname != "CACHE")
            offset = following.offset
    return known


def depth_before(probe: Probe, code: CodeType) -> int:
    match probe.operation:
        case Operation.CALL:
            name = dis.opname[code.co_code[probe.offset]]
            # 3.11 reckons that the arguments are gone before the call, which they are not.
            return (
                probe.base
                + 2
                + (probe.count if name != "CALL" or sys.version_info >= (3, 12) else 0)
                + (name == "CALL_KW")
            )
        case Operation.CALL_EX:
            return probe.base + 3 + probe.count
        case operation:
            return probe.base + OPERANDS.get(operation, 1)


@pytest.mark.parametrize("path", library_files(), ids=lambda path: path.name)
def test_depths_are_those_of_dis(path: Path) -> None:
    compared = 0
    for code in parsed(path)[1]:
        there = probes(code, ALL)
        if there:
            expected = depths(code)
            reached = max(expected.values())
            assert reached <= code.co_stacksize
        for probe in there:
            if code.co_code[probe.offset] == dis.EXTENDED_ARG:
                continue
            assert depth_before(probe, code) == expected[probe.offset], (code, probe)
            compared += 1
    assert compared > 0


Span = tuple[int, int, int, int]


def span(node: ast.expr) -> Span:
    assert node.end_lineno is not None and node.end_col_offset is not None
    return node.lineno, node.end_lineno, node.col_offset, node.end_col_offset


def call_nodes(tree: ast.Module) -> dict[Span, ast.Call]:
    """The calls on one line, whose place the compiler keeps as it is; no decorators, which stand for two calls."""
    decorators = {
        id(decorator)
        for node in ast.walk(tree)
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef))
        for decorator in node.decorator_list
    }
    return {
        span(node): node
        for node in ast.walk(tree)
        if isinstance(node, ast.Call) and node.lineno == node.end_lineno and id(node) not in decorators
    }


def call_probes(codes: list[CodeType]) -> Iterator[tuple[CodeType, Probe, Span]]:
    for code in codes:
        places = list(code.co_positions())
        for probe in probes(code, CALLS):
            place = places[probe.offset // 2]
            if None not in place:
                yield code, probe, place  # type: ignore[misc]


@pytest.mark.parametrize("path", library_files(), ids=lambda path: path.name)
def test_calls_are_those_of_the_syntax_tree(path: Path) -> None:
    tree, codes = parsed(path)
    nodes = call_nodes(tree)
    lines_of = functools.cache(lines)
    seen = set()
    for code, probe, place in call_probes(codes):
        node = nodes.get(place)
        if node is None or probe.name in ("__exit__", "__aexit__"):
            continue
        seen.add(place)
        where = f"{path.name}:{place[0]}: {probe}"
        starred = any(isinstance(each, ast.Starred) for each in node.args) or any(
            not each.arg for each in node.keywords
        )
        if starred:
            assert probe.operation is Operation.CALL_EX, where
        else:
            assert probe.operation is Operation.CALL, where
            assert probe.count == len(node.args) + len(node.keywords), where
            assert probe.keywords == tuple(keyword.arg for keyword in node.keywords), where
        assert lines_of(code)[probe.offset] == node.lineno, where
        match node.func:
            case ast.Attribute(attr=name) if not name.startswith("__") or name.endswith("__"):
                assert probe.name == name, where
                assert not probe.by_global, where
            case ast.Name(id=name) if name in code.co_varnames + code.co_cellvars + code.co_freevars:
                assert probe.name in (None, name), where
            case ast.Name(id=name):
                assert probe.name == name, where
                assert probe.by_global, where
            case ast.Call() | ast.Subscript() | ast.IfExp() | ast.Lambda():
                assert probe.name is None, where
    # From 3.12 `super()` is often no call.
    missing = [
        node
        for place, node in nodes.items()
        if place not in seen and ast.unparse(node.func) not in ("super", "__debug__")
    ]
    assert len(missing) <= len(nodes) // 20, [ast.unparse(node) for node in missing]
