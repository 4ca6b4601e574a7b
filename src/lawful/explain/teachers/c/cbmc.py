"""Finds CBMC, the model checker that is asked about C programs, and runs it."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

from lawful.errors import LawfulError

VARIABLE = "LAWFUL_CBMC"  # the environment variable that names the program to use
HOW_TO_GET_IT = (
    "install it: `apt install cbmc` (Debian 13 and later, Ubuntu), `brew install cbmc`, or one of CBMC's releases; "
    f"from a checkout of Lawful, `make cbmc`; or name the program in {VARIABLE}"
)
_PLACE = re.compile(r"\bfile \S+ line \d+(?: function (\w+))?: ")


class CbmcTimeout(Exception):
    """CBMC did not answer within the seconds that it was given."""


@dataclass(frozen=True)
class Cbmc:
    """A program that works, and its version."""

    path: str
    version: tuple[int, ...]

    @property
    def flags(self) -> list[str]:
        """What makes all versions check the properties that are named, and nothing of their own."""
        if self.version < (6,):
            return []
        return ["--no-standard-checks", "--no-unwinding-assertions", "--no-malloc-may-fail"]

    def run(self, arguments: Sequence[str], seconds: float | None = None) -> subprocess.CompletedProcess[str]:
        """Runs it to its end."""
        try:
            return subprocess.run(
                [self.path, *self.flags, *arguments],
                capture_output=True,
                text=True,
                errors="replace",
                timeout=seconds,
                check=False,
                stdin=subprocess.DEVNULL,
            )
        except subprocess.TimeoutExpired as error:
            raise CbmcTimeout from error

    def asked(self, arguments: Sequence[str], seconds: float | None = None) -> list[dict[str, Any]]:
        """What it says, as JSON. The exit code is 0 where all properties hold and 10 where one does not."""
        ran = self.run([*arguments, "--json-ui"], seconds)
        try:
            said = json.loads(ran.stdout)
        except ValueError:
            said = []
        if ran.returncode not in (0, 10) or not isinstance(said, list):
            raise failed(ran, said)
        return said


def failed(ran: subprocess.CompletedProcess[str], said: object = None) -> LawfulError:
    """The error for a run of CBMC that gave no answer."""
    texts = [
        str(message.get("messageText", ""))
        for message in (said if isinstance(said, list) else [])
        if isinstance(message, dict) and message.get("messageType") == "ERROR"
    ]
    texts = texts or [line for line in ran.stderr.splitlines() if line.strip() and "**** WARNING" not in line]
    # CBMC names places in a temporary file, which is gone.
    said = "; ".join(
        _PLACE.sub(lambda place: f"in {place[1]}(): " if place[1] else "", " ".join(text.split())) for text in texts[:3]
    )
    message = f"CBMC could not work on the program: {said or f'exit code {ran.returncode}'}"
    return LawfulError("cbmc-failed", message, hint="the program may use an extension of C that CBMC does not know")


@lru_cache(maxsize=8)
def _checked(path: str) -> Cbmc | None:
    try:
        said = subprocess.run([path, "--version"], capture_output=True, text=True, timeout=60, check=True).stdout
    except (OSError, subprocess.SubprocessError):
        return None
    numbers = re.match(r"(\d+(?:\.\d+)*)", said.strip())
    return Cbmc(path, tuple(map(int, numbers[1].split(".")))) if numbers else None


def find_cbmc() -> Cbmc:
    """CBMC from the environment variable, the PATH, or the folder of the running Python."""
    named = os.environ.get(VARIABLE)
    if named:
        cbmc = _checked(named)
        if cbmc is None:
            raise LawfulError("no-cbmc", f"{VARIABLE} is {named!r}, which is not a CBMC that runs", hint=HOW_TO_GET_IT)
        return cbmc
    for path in (shutil.which("cbmc"), str(Path(sys.executable).with_name("cbmc"))):
        cbmc = _checked(path) if path and os.path.exists(path) else None
        if cbmc is not None:
            return cbmc
    raise LawfulError("no-cbmc", "programs in C are explained with CBMC, which is not here", hint=HOW_TO_GET_IT)
