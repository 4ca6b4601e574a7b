"""The value stack of a running frame, read through ctypes: one table of offsets per CPython version."""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable
from types import CodeType, FrameType
from typing import Any, Final, NamedTuple


class Layout(NamedTuple):
    """Where things are, in bytes."""

    frame: int  # in a frame object: the pointer to the interpreter's frame
    code: int  # in the interpreter's frame: its code object
    values: int  # in the interpreter's frame: the local variables, followed by the stack


LAYOUTS: Final = {
    (3, 11): Layout(frame=24, code=32, values=72),
    (3, 12): Layout(frame=24, code=0, values=72),
    (3, 13): Layout(frame=24, code=0, values=72),
}


MISSING: Final = object()
"""Stands where the stack has NULL."""

Top = Callable[[FrameType], Any]
"""The value on top of a frame's stack, while a trace function looks at it. On 3.11 only: others keep no depth."""

_TOP_OFFSET = 64  # of the depth, in the interpreter's frame of 3.11

Read = Callable[[FrameType, int, int], list[Any]]
"""`read(frame, index, count)`: values from the variables and the stack of a frame, `MISSING` for NULL."""


def stack_bottom(code: CodeType) -> int:
    """The index of the lowest stack slot: local variables, cells and free variables lie below it."""
    names = code.co_varnames
    return len(names) + sum(name not in names for name in code.co_cellvars) + len(code.co_freevars)


def _refusal() -> str | None:
    if sys.implementation.name != "cpython":
        return f"Lawful does not know the frames of {sys.implementation.name}"
    if sys.version_info[:2] not in LAYOUTS:
        return f"Lawful does not know the frames of CPython {sys.version_info[0]}.{sys.version_info[1]}"
    if "t" in getattr(sys, "abiflags", ""):
        return "Lawful does not know the frames of free-threaded CPython"
    if hasattr(sys, "gettotalrefcount"):
        return "Lawful does not know the frames of a debug build of CPython"
    if sys.maxsize != 2**63 - 1:
        return "Lawful does not know the frames of 32-bit CPython"
    return None


def _make_reader(layout: Layout) -> Read:
    import ctypes

    array = functools.cache(lambda count: ctypes.py_object * count)
    pointer_at = ctypes.c_void_p.from_address
    frame_at, values_at = layout.frame, layout.values

    def read(frame: FrameType, index: int, count: int) -> list[Any]:
        if not count:
            return []
        address: Any = pointer_at(id(frame) + frame_at).value
        values: Any = array(count).from_address(address + values_at + 8 * index)
        try:
            return list(values)
        except ValueError:  # there is a NULL among them
            return [_one(values, i) for i in range(count)]

    def _one(values: Any, i: int) -> Any:
        try:
            return values[i]
        except ValueError:
            return MISSING

    return read


def make_top(read: Read) -> Top:
    """What reads the top of the stack on 3.11."""
    import ctypes

    layout = LAYOUTS[(3, 11)]

    def top(frame: FrameType) -> Any:
        address: Any = ctypes.c_void_p.from_address(id(frame) + layout.frame).value
        return read(frame, ctypes.c_int.from_address(address + _TOP_OFFSET).value - 1, 1)[0]

    return top


def _self_test(layout: Layout, read: Read) -> str | None:
    """Reads frames whose contents are known."""
    import ctypes

    frame = sys._getframe()
    address = ctypes.c_void_p.from_address(id(frame) + layout.frame).value
    if address is None or ctypes.c_void_p.from_address(address + layout.code).value != id(frame.f_code):
        return "a frame's code is not where it should be"

    class Operand:
        def __add__(self, other: object) -> list[Any]:
            caller = sys._getframe(1)
            return [*read(caller, 0, 1), *read(caller, stack_bottom(caller.f_code), 1)]

    def adds(variable: object) -> Any:
        return [variable, Operand() + 1]  # the first item waits on the stack

    known = object()
    if any(each is not known for each in adds(known)[1]):
        return "the variables and operands of a frame are not where they should be"
    return None


@functools.cache
def reader() -> tuple[Read | None, str | None]:
    """The function that reads, or None and the reason why not. Tested at the first call."""
    refusal = _refusal()
    if refusal is not None:
        return None, refusal
    layout = LAYOUTS[sys.version_info[:2]]
    try:
        read = _make_reader(layout)
        refusal = _self_test(layout, read)
    except Exception as error:
        return None, f"reading a frame failed: {type(error).__name__}: {error}"
    return (read, None) if refusal is None else (None, refusal)
