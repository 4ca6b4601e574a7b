"""Programs for the dashboard to look at, and the way to run them."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import httpx

# Breaks a law of the catalogue, uses a class of a nasty name, and goes on until it has to end.
PROGRAM = """
import io, sys, time

nasty = type("<img src=x onerror=alert(1)>", (), {"open": lambda self: None, "close": lambda self: None})
nasty.__module__ = "program"

class Account:
    def open(self): pass
    def use(self): pass
    def close(self): pass

def step(n):
    a = Account(); a.open(); a.use()
    if n % 40 != 7:
        a.close()
    f = io.StringIO("x"); f.close()
    if n % 3 == 0:
        try:
            f.read()
        except ValueError:
            pass

def main():
    n = 0
    end = time.monotonic() + float(sys.argv[1])
    while time.monotonic() < end:
        step(n); n += 1
        time.sleep(0.002)
    print("done")

main()
"""


class Shown:
    """A program under `lawful run --serve`."""

    def __init__(self, tmp_path: Path, *options: str, seconds: float = 30.0, text: str = PROGRAM) -> None:
        self.file = tmp_path / "program.py"
        self.file.write_text(text)
        command = [sys.executable, "-m", "lawful", "run", "--serve", *options, str(self.file), str(seconds)]
        self.process = subprocess.Popen(
            command, cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=os.environ
        )
        assert self.process.stderr is not None
        line = self.process.stderr.readline()
        found = re.search(r"http://\S+", line)
        assert found is not None, line + self.process.stderr.read()
        self.address = found[0]
        parts = urlsplit(self.address)
        self.base = f"http://{parts.netloc}"
        self.token = parse_qs(parts.query)["token"][0]

    def state(self) -> dict[str, Any]:
        answer = httpx.get(f"{self.base}/state", params={"token": self.token})
        assert answer.status_code == 200, answer.text
        view: dict[str, Any] = answer.json()
        return view

    def until(self, what: Callable[[dict[str, Any]], object]) -> dict[str, Any]:
        """The state, as soon as it is so."""
        end = time.monotonic() + 30
        while time.monotonic() < end:
            view = self.state()
            if view["state"] and what(view):
                return view
            time.sleep(0.05)
        raise AssertionError(json.dumps(view)[:2000])

    def do(self, **command: Any) -> httpx.Response:
        return httpx.post(f"{self.base}/do", json=command, headers={"x-lawful-token": self.token}, timeout=20)

    def interrupt(self) -> tuple[int, str, str]:
        """Ctrl-C; its code, and what it wrote."""
        self.process.send_signal(signal.SIGINT)
        return self.ended()

    def ended(self) -> tuple[int, str, str]:
        out, err = self.process.communicate(timeout=60)
        return self.process.returncode, out, err

    def close(self) -> None:
        with self.process:  # which closes its pipes
            if self.process.poll() is None:
                self.process.kill()
