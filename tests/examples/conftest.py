"""The example programs as modules."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

VFS = Path(__file__).resolve().parents[2] / "examples" / "vfs"
MODULES = ("vfs", "filesystems", "workloads", "main")


@pytest.fixture
def example(monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """The modules of the file system, made anew for each test, and nobody else's afterwards."""
    monkeypatch.syspath_prepend(VFS)
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    before = {name: sys.modules.pop(name, None) for name in MODULES}
    try:
        yield SimpleNamespace(**{name: importlib.import_module(name) for name in MODULES})
    finally:
        for name, module in before.items():
            sys.modules.pop(name, None)
            if module is not None:
                sys.modules[name] = module
