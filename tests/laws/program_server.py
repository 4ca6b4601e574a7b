"""Runs `lawful` again and again, each time in a fork of a process that has it loaded: importing it takes longer.

Each line of standard input is a JSON object with `folder`, `output` (a file) and `arguments`. The answer is a line with
the exit code.
"""

from __future__ import annotations

import functools
import gc
import json
import os
import signal
import sys
from typing import Any

import lawful.cli.run
import lawful.engine.run
import lawful.laws.loader
import lawful.laws.rml
import lawful.reports.live
from lawful.cli import law_input
from lawful.cli.main import main

MOST_SECONDS = 120


def serve() -> None:
    # Laws are compiled once, and what they find out about themselves they keep. What they remember of a program is in
    # their monitors.
    law_input.load_law = functools.cache(lawful.laws.loader.load_law)  # type: ignore[assignment]
    for name, path in law_input.find_laws("strict").items():
        law = law_input.load_law(path, name=name)
        assert not law.warnings
        assert law.watches
        law.monitor()
    gc.freeze()
    for line in sys.stdin:
        request = json.loads(line)
        child = os.fork()
        if child == 0:
            run(request)
        _, status = os.waitpid(child, 0)
        print(os.waitstatus_to_exitcode(status), flush=True)


def run(request: dict[str, Any]) -> None:
    signal.alarm(MOST_SECONDS)
    os.chdir(request["folder"])
    output = os.open(request["output"], os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
    null = os.open(os.devnull, os.O_RDONLY)
    for source, target in ((null, 0), (output, 1), (output, 2)):
        os.dup2(source, target)
    sys.exit(main(request["arguments"]))


if __name__ == "__main__":
    serve()
