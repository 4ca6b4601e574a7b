"""Running `lawful run` and `lawful record` in a process of their own."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any, NamedTuple

import lawful

LAWFUL = [sys.executable, str(Path(lawful.__file__).parent / "__main__.py")]
ENVIRONMENT = {name: value for name, value in os.environ.items() if not name.startswith(("PYTEST", "PYTHON"))}

# A file that is read after it was closed.
USE = "f = open(__file__)\nf.close()\ntry:\n    f.read()\nexcept ValueError:\n    print('closed')\n"


class Result(NamedTuple):
    out: str
    err: str
    code: int


def hosted(folder: Path, *words: str, env: dict[str, str] | None = None) -> Result:
    done = subprocess.run(
        [*LAWFUL, *words], cwd=folder, env=ENVIRONMENT | (env or {}), capture_output=True, text=True, timeout=120
    )
    return Result(done.stdout, done.stderr, done.returncode)


def events(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
