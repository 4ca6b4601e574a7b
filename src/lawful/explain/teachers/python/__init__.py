"""Python programs as teachers: run on all small inputs, along all paths, or on samples, in a process of their own."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from lawful.explain.teachers.python.execution_source import PythonSource, python_source
    from lawful.explain.teachers.python.options import EventChoice

__all__ = ["EventChoice", "PythonSource", "python_source"]


def __getattr__(name: str) -> object:
    # The child process imports this package too, and needs none of what only its parent does.
    if name in __all__:
        from importlib import import_module

        return getattr(import_module(f"{__name__}.{'options' if name == 'EventChoice' else 'execution_source'}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
