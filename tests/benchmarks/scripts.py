"""The scripts of the folder benchmarks, as modules."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from types import ModuleType

FOLDER = Path(__file__).resolve().parent.parent.parent / "benchmarks"


def load(name: str, path: str | None = None) -> ModuleType:
    """A script by its name; those that it imports must be loaded before."""
    spec = importlib.util.spec_from_file_location(name, FOLDER / (path or f"{name}.py"))
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module  # dataclasses look there, and other scripts
    spec.loader.exec_module(module)
    return module
