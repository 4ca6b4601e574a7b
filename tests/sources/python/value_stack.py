"""Reads the value stack of running frames, so that tests can compare probes with it."""

from __future__ import annotations

import ctypes
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import CodeType, FrameType
from typing import Any

_FRAME_POINTER = 24  # in a frame object: behind its head and `f_back`
_STACK_TOP = 64  # in an interpreter frame
_LOCALS = 72
NULL = type("Null", (), {"__repr__": lambda self: "NULL"})()

Visit = Callable[[FrameType, int], None]


def all_code(code: CodeType) -> list[CodeType]:
    """A code object and those within it."""
    return [code, *(inner for each in code.co_consts if isinstance(each, CodeType) for inner in all_code(each))]


def _local_count(code: CodeType) -> int:
    count = 0
    while True:
        try:
            code._varname_from_oparg(count)  # type: ignore[attr-defined]
        except IndexError:
            return count
        count += 1


def _address(frame: FrameType) -> int:
    address = ctypes.c_void_p.from_address(id(frame) + _FRAME_POINTER).value
    assert address is not None
    return address


def value(frame: FrameType, index: int) -> Any:
    """The value at this index of the stack of a frame that is being traced."""
    place = _address(frame) + _LOCALS + ctypes.sizeof(ctypes.c_void_p) * (_local_count(frame.f_code) + index)
    pointer = ctypes.c_void_p.from_address(place).value
    return NULL if pointer is None else ctypes.cast(pointer, ctypes.py_object).value


def depth(frame: FrameType) -> int | None:
    """The depth of the stack, where the interpreter has written it down."""
    top = ctypes.c_int.from_address(_address(frame) + _STACK_TOP).value
    return top - _local_count(frame.f_code) if top >= 0 else None


@contextmanager
def each_instruction(codes: list[CodeType], visit: Visit, visit_line: Visit) -> Iterator[None]:
    """Visit what these code objects do, before each instruction, and before each line."""
    if sys.version_info >= (3, 12):
        monitoring = sys.monitoring
        tool = next(number for number in (4, 3, 2) if monitoring.get_tool(number) is None)

        def on_instruction(code: CodeType, offset: int) -> None:
            visit(sys._getframe(1), offset)

        def on_line(code: CodeType, line: int) -> None:
            frame = sys._getframe(1)
            visit_line(frame, frame.f_lasti)

        monitoring.use_tool_id(tool, "value_stack")
        monitoring.register_callback(tool, monitoring.events.INSTRUCTION, on_instruction)
        monitoring.register_callback(tool, monitoring.events.LINE, on_line)
        for code in codes:
            monitoring.set_local_events(tool, code, monitoring.events.INSTRUCTION | monitoring.events.LINE)
        try:
            yield
        finally:
            for code in codes:
                monitoring.set_local_events(tool, code, monitoring.events.NO_EVENTS)
            monitoring.register_callback(tool, monitoring.events.INSTRUCTION, None)
            monitoring.register_callback(tool, monitoring.events.LINE, None)
            monitoring.free_tool_id(tool)
    else:
        wanted = set(codes)

        def trace(frame: FrameType, event: str, argument: object) -> Any:
            if frame.f_code not in wanted:
                return None
            frame.f_trace_opcodes = True
            if event == "opcode":
                visit(frame, frame.f_lasti)
                visit_line(frame, frame.f_lasti)
            return trace

        before = sys.gettrace()
        sys.settrace(trace)
        try:
            yield
        finally:
            sys.settrace(before)
