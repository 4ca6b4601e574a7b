"""From a C file to text that pycparser reads: the preprocessor, with headers of our own for the standard ones."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from lawful.errors import LawfulError

HEADERS = Path(__file__).with_name("headers")
BUILT_IN = "<lawful>"  # the file that declares what compilers know by themselves; nothing of it is written out

# Words of GNU C that mean nothing to a model checker. They stand in the headers of the system, which the preprocessor
# takes where Lawful has no header.
_WITHOUT = {
    "__attribute__(x)": "",
    "__attribute(x)": "",
    "__extension__": "",
    "__asm__(...)": "",
    "__asm(...)": "",
    "__restrict": "restrict",
    "__restrict__": "restrict",
    "__inline": "inline",
    "__inline__": "inline",
    "__const": "const",
    "__volatile__": "volatile",
    "__signed__": "signed",
    "__nonnull(x)": "",
    "__builtin_offsetof(t,m)": "((unsigned long)&((t *)0)->m)",
}
_KNOWN_TYPES = (
    "typedef int __builtin_va_list;",
    "typedef int __CPROVER_bool;",
    "typedef unsigned long __CPROVER_size_t;",
    "typedef long double _Float128;",
    "typedef float _Float32;",
    "typedef double _Float64;",
    "typedef double _Float32x;",
    "typedef long double _Float64x;",
)
_MARK = re.compile(r'^# \d+ "((?:[^"\\]|\\.)*)"((?: \d)*)$', re.M)
_SAID = re.compile(r"^(?P<file>[^:\n]+):(?P<line>\d+)(?::(?P<column>\d+))?: (?:fatal )?error: (?P<what>.*)$", re.M)


@dataclass(frozen=True)
class Preprocessed:
    """The text with its line marks, and which files of it are not the user's own."""

    path: Path
    text: str
    system: frozenset[str]


def compiler() -> str | None:
    """The C compiler of this machine, which is asked to preprocess."""
    return next((found for name in ("gcc", "cc", "clang") if (found := shutil.which(name))), None)


def _compile(command: list[str], text: str = "") -> subprocess.CompletedProcess[str]:
    english = {**os.environ, "LC_ALL": "C"}  # Lawful reads the compiler's messages
    return subprocess.run(command, input=text, capture_output=True, text=True, errors="replace", env=english)


def preprocess(path: Path, include: Sequence[Path] = (), define: Sequence[str] = ()) -> Preprocessed:
    """Runs the preprocessor."""
    program = compiler()
    if program is None:
        message = "a C file is read through the preprocessor of a C compiler, and none is here"
        raise LawfulError("no-c-compiler", message, hint="install gcc or clang")
    command = [program, "-E", "-x", "c", "-std=gnu11", "-isystem", str(HEADERS)]
    command += [f"-I{folder}" for folder in include]
    command += [f"-D{name}={value}" for name, value in _WITHOUT.items()]
    command += [f"-D{definition}" for definition in define]
    ran = _compile([*command, str(path)])
    if ran.returncode != 0:
        raise complaint(ran.stderr, path) or LawfulError("c-not-read", ran.stderr.strip(), where=str(path))
    system = {BUILT_IN}
    for name, flags in _MARK.findall(ran.stdout):
        # 1 is where a file begins and 3 that it is the system's; 3 alone is what a macro of the system was expanded to.
        if {"1", "3"} <= set(flags.split()) or name.startswith("<"):
            system.add(name)
    known = f'# 1 "{BUILT_IN}"\n' + "\n".join(_KNOWN_TYPES) + "\n"
    return Preprocessed(path, known + ran.stdout, frozenset(system))


def complaint(said: str, path: Path) -> LawfulError | None:
    """The first error of a compiler, with its place."""
    found = _SAID.search(said)
    if found is None:
        return None
    what, where = found["what"].strip(), f"{found['file']}:{found['line']}"
    if "No such file" in what or "file not found" in what:
        hint = "headers are looked for beside the file, where the compiler looks, and in the folders of --include"
        return LawfulError("c-not-read", what, where=where, hint=hint)
    return LawfulError("c-not-parsed", what, where=where)


def compiler_complaint(source: Preprocessed) -> LawfulError | None:
    """What the compiler has against the text, which it says better than a parser that knows less of C."""
    program = compiler()
    if program is None:
        return None
    text = source.text.split("\n", len(_KNOWN_TYPES) + 1)[-1]
    ran = _compile([program, "-fsyntax-only", "-x", "cpp-output", "-std=gnu11", "-w", "-"], text)
    return complaint(ran.stderr, source.path) if ran.returncode else None
