"""The program in a process of its own: watched, with a dashboard or without one, with somebody who looks or nobody."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import Any

DRIVER = Path(__file__).resolve().parent / "driver.py"


def look(address: str) -> threading.Thread:
    """Take all news, as a page does, until the server ends."""
    import httpx

    def take() -> None:
        base, _, token = address.partition("?")
        try:
            with httpx.stream("GET", f"{base}news?{token}", timeout=60) as answer:
                for _ in answer.iter_raw():
                    pass
        except httpx.TransportError:
            pass

    thread = threading.Thread(target=take)
    thread.start()
    return thread


def run(folder: Path, words: Sequence[str], program: Sequence[str], *, served: bool, looked_at: bool) -> Any:
    """What the meter in the watched process tells."""
    command = [sys.executable, str(DRIVER), "run", *(["--serve"] if served else []), "--quiet", *words, *program]
    with subprocess.Popen(
        command, cwd=folder, stderr=subprocess.PIPE, stdout=subprocess.PIPE, encoding="utf-8"
    ) as process:
        assert process.stderr is not None
        looker, said = None, ""
        if served:
            said = process.stderr.readline()
            found = re.search(r"http://\S+", said)
            looker = look(found[0]) if looked_at and found is not None else None
        out, rest = process.communicate()
    if looker is not None:
        looker.join(60)
    if not out:
        raise RuntimeError(f"the run told nothing:\n{said}{rest}")
    return json.loads(out.splitlines()[0])
