"""What the process of a program is told at its beginning: the target, where modules are, and the user's inputs."""

from __future__ import annotations

import base64
import inspect
import os
import pickle
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from lawful.errors import LawfulError
from lawful.explain.targets import PytestTarget, PythonTarget
from lawful.explain.teachers.python.options import ErrorChoice


def child_config(
    target: PythonTarget | PytestTarget, error: ErrorChoice, inputs: object, folder: Path, *, branches: bool
) -> dict[str, Any]:
    """What a process needs to know before it loads the target."""
    path = [str(folder), *([str(folder / "src")] if (folder / "src").is_dir() else [])]
    path += [os.path.abspath(each) for each in sys.path if each and each not in path]
    config: dict[str, Any] = {
        "name": str(target),
        "folder": str(folder),
        "path": path,
        "error": error.as_json(),
        "branches": branches,
        "project": None,
    }
    if isinstance(target, PytestTarget):
        if inputs is not None:
            raise LawfulError("explain-inputs", "a test brings its own inputs", where=str(target))
        config |= {"node": str(target), "file": str(target.file)}
    else:
        config |= {"file": target.file and str(target.file), "module": target.module, "function": target.function}
        config["inputs"] = _sent(inputs)
    return config


def _sent(inputs: object) -> dict[str, str] | None:
    """Inputs for another process: by name, or as they are."""
    if inputs is None:
        return None
    if isinstance(inputs, str):
        return {"name": inputs}
    name = getattr(inputs, "__qualname__", "")
    if callable(inputs) and name.isidentifier():
        file = inspect.getsourcefile(inspect.unwrap(inputs))
        if file is not None:
            return {"name": f"{os.path.abspath(file)}:{name}"}
    try:
        given = list(inputs) if isinstance(inputs, Iterator) else inputs
        return {"name": "the inputs", "pickled": base64.b64encode(pickle.dumps(given)).decode()}
    except Exception as error:
        hint = "name a file, as in inputs.py:name"
        message = f"the inputs cannot be sent to another process: {error}"
        raise LawfulError("explain-inputs", message, hint=hint) from None
