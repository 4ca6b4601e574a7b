"""The walk over instructions in C against the one in Python, and the names that code loads against `dis`."""

from __future__ import annotations

import ast
import asyncio.base_events
import contextlib
import dis
import subprocess
import threading
import typing
import zipfile
from collections.abc import Iterator
from types import CodeType, ModuleType

import pytest

from lawful import core
from lawful.sources.python import instructions, sites, stack_walk
from lawful.sources.python.tracer_protocol import Operation, Probe

MODULES = [asyncio.base_events, ast, contextlib, subprocess, threading, typing, zipfile]
OWN = """
async def several(a, b):
    async with a as x, b:
        with x:
            return await b(*a, k=1, **b) if a else [c async for c in b if c(1, k=2)]
    try:
        a.b.c = a[1:2] = b
    except* (ValueError, TypeError) as e:
        raise RuntimeError(e.args[0]) from None
    finally:
        del a[0], b.c
    match a:
        case {"k": [x, *_]} | (x, _):
            assert x in b, super().name(x)
"""
MARKS = sites.CallMarks(frozenset({"append", "name7", "len", "attribute3", "__exit__"}), name_unwanted=True)
LOADS = {f"LOAD_{each}" for each in "GLOBAL NAME FROM_DICT_OR_GLOBALS ATTR METHOD SUPER_ATTR CONST".split()}


def codes(code: CodeType) -> Iterator[CodeType]:
    yield code
    for each in code.co_consts:
        if isinstance(each, CodeType):
            yield from codes(each)


def code_of(module: ModuleType) -> CodeType:
    assert module.__file__ is not None
    with open(module.__file__, "rb") as file:
        return compile(file.read(), module.__file__, "exec")


MANY_NAMES = "\n".join(f"name{n}.attribute{n}(name{n}, k{n}={n})" for n in range(300))  # numbers that need prefixes
PROGRAMS = [*map(code_of, MODULES), compile(OWN, "own", "exec"), compile(MANY_NAMES, "many", "exec")]


@pytest.mark.skipif(
    core.native_tracer is None or not instructions.SUPPORTED, reason="the C core does not know this bytecode"
)
@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.co_filename.rpartition("/")[2])
def test_both_find_the_same_places(program: CodeType, monkeypatch: pytest.MonkeyPatch) -> None:
    every = frozenset(Operation)
    calls = frozenset({Operation.CALL, Operation.CALL_EX, Operation.ENTER, Operation.EXIT_RAISED})
    wants = [
        (every, sites.CallMarks()),
        (calls, MARKS),
        (calls, MARKS._replace(name_unwanted=False, learner_only=True)),
    ]
    in_c = [sites.probes(code, *each) for code in codes(program) for each in wants]
    monkeypatch.setattr(core, "native_tracer", None)
    assert in_c == [sites.probes(code, *each) for code in codes(program) for each in wants]
    assert all(type(probe) is Probe for each in in_c for probe in each)
    assert any(in_c)


@pytest.mark.skipif(
    core.native_tracer is None or not instructions.SUPPORTED, reason="the C core does not know this bytecode"
)
def test_code_that_no_compiler_writes() -> None:
    def plain(a: int) -> object:
        return print(a, a)

    code = plain.__code__
    for spoiled in (
        code.replace(co_stacksize=0),
        code.replace(co_code=code.co_code[:-4]),
        code.replace(co_exceptiontable=b"\x80\x7f\x7f\x7f\x01"),
        code.replace(co_code=bytes([dis.opmap["JUMP_FORWARD"], 255]) + code.co_code),
        code.replace(co_code=bytes([dis.opmap["POP_TOP"], 0]) + code.co_code),
    ):
        with pytest.raises(instructions.UnknownBytecodeError):
            sites.probes(spoiled, frozenset(Operation))


@pytest.mark.skipif(core.native_tracer is None, reason="the C core is not built")
def test_tables_of_another_size_are_refused() -> None:
    assert core.native_tracer is not None
    code = compile("", "", "exec")
    with pytest.raises(ValueError, match="a table has an entry for each instruction"):
        core.native_tracer.walk_code(code, b"", b"", stack_walk.C_TABLES)
    with pytest.raises(ValueError, match="not bytecode"):
        core.native_tracer.walk_code(code, b"a", bytes(256), stack_walk.C_TABLES)


@pytest.mark.skipif(not instructions.SUPPORTED, reason="the bytecode is not known")
@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.co_filename.rpartition("/")[2])
def test_names_that_are_loaded(program: CodeType) -> None:
    for code in codes(program):
        expected = [
            each.argval for each in dis.get_instructions(code) if each.opname in LOADS and type(each.argval) is str
        ]
        assert list(sites.loaded_names(code)) == expected
