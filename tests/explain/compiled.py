"""All executions of the C examples within bounds, by gcc: a process forks where the program takes an input.

Nothing of the teachers is used. Entries of functions come from gcc's `-finstrument-functions`. Loops are counted as
CBMC's `--unwind` does it: control goes back in a loop less often than that, and a function calls itself so often."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Iterable, Sequence
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

EXAMPLES = Path(__file__).resolve().parents[2] / "examples" / "explain" / "c"

Word = tuple[str, ...]
Words = set[tuple[Word, bool]]
"""The functions that were entered, the error among them, and whether the execution failed."""

_INPUTS = range(-1, 5)
"""What an input may be: all that the programs take, and on either side something that they refuse."""

# `--unwind` counts how often control goes back, before the condition is looked at again.
_LOOP = "for (int turns_ = 0, once_ = 1; once_; once_ = 0)"

_DRIVER = """
#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define QUIET __attribute__((no_instrument_function))
#define FUNCTIONS 64

static int unwind, given, tape[256], taken;
static void *path[4096], *active[FUNCTIONS];
static int length, depth[FUNCTIONS];

QUIET void over_(const char *how)
{
    char line[65536];
    int at = sprintf(line, "%s", how);
    for (int place = 0; place < length; place++)
        at += sprintf(line + at, " %lx", (unsigned long)path[place]);
    line[at++] = '\\n';
    if (write(1, line, at) != at)
        abort();
    _exit(0);
}
QUIET int turn_(int *turns) { if ((*turns)++ == unwind) _exit(0); return 1; }
QUIET void __VERIFIER_assume(int holds) { if (!holds) _exit(0); }
QUIET int __VERIFIER_nondet_int(void)
{
    if (given >= 0) {
        if (taken == given)
            over_("hungry");
        return tape[taken++];
    }
    for (int value = LEAST; value <= MOST; value++) {
        int status;
        pid_t child = fork();
        if (child == 0)
            return value;
        if (child < 0 || waitpid(child, &status, 0) != child || status != 0)
            _exit(1);
    }
    _exit(0);
}
QUIET void __cyg_profile_func_enter(void *function, void *site)
{
    int known = 0;
    while (active[known] && active[known] != function)
        known++;
    active[known] = function;
    if (++depth[known] > unwind + 1)
        _exit(0);
    path[length++] = function;
}
QUIET void __cyg_profile_func_exit(void *function, void *site)
{
    int known = 0;
    while (active[known] != function)
        known++;
    depth[known]--;
}
int program(void);
QUIET int main(int count, char **words)
{
    unwind = atoi(words[1]);
    given = strcmp(words[2], "all") ? count - 2 : -1;
    for (int place = 0; place < given; place++)
        tape[place] = atoi(words[2 + place]);
    program();
    over_("ends");
}
"""

_ASSERT = """
void over_(const char *how);
int turn_(int *turns);
#define main program
#define assert(condition) ((condition) ? (void)0 : over_("fails"))
"""


def counted(text: str) -> str:
    """A program whose loops count their turns. `do` is not among what the examples use."""
    assert not re.search(r"\bdo\b|\bgoto\b", re.sub(r"/\*.*?\*/", "", text, flags=re.DOTALL))
    text = re.sub(r"\bfor \(([^;]*);([^;]*);", rf"{_LOOP} for (\1; turn_(&turns_) && (\2);", text)
    text = re.sub(r"\bwhile \((.*)\)(?= \{$|$)", rf"{_LOOP} while (turn_(&turns_) && (\1))", text, flags=re.MULTILINE)
    return re.sub(r"#include <assert.h>", "", _ASSERT + text)


class Compiled:
    """An example as a program that can be run."""

    def __init__(self, name: str, folder: Path) -> None:
        source, driver, self.binary = folder / f"{name}.c", folder / "driver.c", folder / name
        source.write_text(counted((EXAMPLES / f"{name}.c").read_text()))
        driver.write_text(_DRIVER)
        inputs = [f"-DLEAST={_INPUTS[0]}", f"-DMOST={_INPUTS[-1]}"]
        flags = ["-O0", "-w", "-std=gnu11", "-no-pie", f"-I{EXAMPLES}", *inputs, "-finstrument-functions"]
        subprocess.run(["gcc", *flags, str(source), str(driver), "-o", str(self.binary)], check=True, timeout=60)
        said = subprocess.run(["nm", str(self.binary)], check=True, capture_output=True, text=True).stdout
        symbols = (line.split() for line in said.splitlines())
        self.names = {int(each[0], 16): each[2] for each in symbols if len(each) == 3 and each[1] in "tT"}

    def executions(self, unwind: int, functions: Iterable[str], error: str = "assert") -> Words:
        """The words over these functions."""
        seen = frozenset(functions)
        return {self._read(line, seen, error) for line in self._run(unwind, ["all"])}

    def replay(self, unwind: int, inputs: Sequence[int], functions: Iterable[str], error: str = "assert") -> Word:
        """The word of the execution with these inputs."""
        (line,) = self._run(unwind, [str(value) for value in inputs])
        return self._read(line, frozenset(functions), error)[0]

    def _run(self, unwind: int, words: list[str]) -> list[str]:
        command = [str(self.binary), str(unwind), *words]
        return subprocess.run(command, check=True, capture_output=True, text=True, timeout=60).stdout.splitlines()

    def _read(self, line: str, seen: frozenset[str], error: str) -> tuple[Word, bool]:
        how, *addresses = line.split()
        assert how in ("fails", "ends"), f"an execution that wants more inputs than it is given: {line}"
        names = (self.names[int(address, 16)] for address in addresses)
        word = tuple(name for name in names if name in seen)
        return ((*word, error), True) if how == "fails" else (word, False)


_FOLDERS: list[TemporaryDirectory[str]] = []


@cache
def compiled(name: str) -> Compiled:
    """An example, compiled once."""
    folder = TemporaryDirectory(prefix="lawful-proof-")
    _FOLDERS.append(folder)  # it is removed when the tests are over
    return Compiled(name, Path(folder.name))
