"""Run a Python module and log what it does with files, as events: the smallest source of a trace.

    python examples/log_files.py TRACE.jsonl MODULE [ARGUMENT ...]

Files that the module opens are wrapped, so that `open`, `read`, `write` and `close` leave a line each. Lawful does not
need to know how a trace was made: any program that can print JSON can be checked.
"""

from __future__ import annotations

import builtins
import io
import itertools
import json
import runpy
import sys
import time
from typing import Any

numbers = itertools.count(1)
started = time.monotonic()


class LoggedFile:
    """Stands before a file and logs the calls that go through."""

    def __init__(self, file: Any, number: int, log: Any) -> None:
        self._file, self._number, self._log = file, number, log

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._file, name)
        if name not in ("read", "write", "close"):
            return found

        def logged(*args: Any) -> Any:
            if name != "close":
                self._log("func_pre", name, targetId=self._number)
            result = found(*args)
            if name == "close":
                self._log("func_post", name, targetId=self._number)
            return result

        return logged

    def __iter__(self) -> Any:
        return iter(self._file)

    def __enter__(self) -> LoggedFile:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()


def main(trace: str, module: str, *args: str) -> None:
    """Run the module, its calls on files going to the trace."""
    real_open = open
    with real_open(trace, "w", encoding="utf-8") as out:

        def log(event: str, name: str, **fields: Any) -> None:
            seconds = round(time.monotonic() - started, 6)
            out.write(json.dumps({"event": event, "name": name, **fields, "time": seconds}) + "\n")

        def logged_open(path: Any, *args: Any, **kwargs: Any) -> LoggedFile:
            file, number = real_open(path, *args, **kwargs), next(numbers)
            log("func_post", "open", args=[str(path)], resultId=number)
            return LoggedFile(file, number, log)

        builtins.open = io.open = logged_open  # type: ignore[assignment]
        sys.argv = [module, *args]
        try:
            runpy.run_module(module, run_name="__main__", alter_sys=True)
        finally:
            builtins.open = io.open = real_open


if __name__ == "__main__":
    if len(sys.argv) < 3:
        sys.exit(f"usage: {sys.argv[0]} TRACE.jsonl MODULE [ARGUMENT ...]")
    main(*sys.argv[1:])
