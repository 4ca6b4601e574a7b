"""All bounded executions of a C program, by compiling it and trying every choice: what the teachers are compared with.

A program under test chooses with `pick(n)`, a number below `n`. `BACK(k)` stands where control goes back in its k-th
loop, and `LOOP(k)` before that loop; `DOWN` and `UP` stand around a call that may be recursive. To the teachers these
mean nothing."""

from __future__ import annotations

import random
import subprocess
from dataclasses import dataclass, field
from pathlib import Path

# What a program begins with. The teachers' own view of it is the second half.
PRELUDE = """
#ifdef ORACLE
#include "oracle.h"
#else
#include <assert.h>
#include <stdlib.h>
extern int __VERIFIER_nondet_int(void);
#define LOOP(k)
#define BACK(k)
#define AGAIN(k) 1
#define DOWN
#define UP
static int pick(int below)
{
    int chosen = __VERIFIER_nondet_int();
    __VERIFIER_assume(chosen >= 0 && chosen < below);
    return chosen;
}
#endif
"""

ORACLE = """
#include <setjmp.h>
#include <stdio.h>
static jmp_buf over;
static int tape[4096], limit[4096], used, taken;
static char word[65536];
static int at, depth, events;
static void cut(void) { longjmp(over, 3); }
static int pick(int below)
{
    if (taken == used) { tape[used] = 0; limit[used] = below; used++; }
    return tape[taken++];
}
static void Learn(int letter)
{
    if (++events > LONGEST) cut();
    at += sprintf(word + at, "%d ", letter);
}
#define LOOP(k) int loop_##k = 0;
#define BACK(k) if (++loop_##k >= UNWIND) cut();
#define AGAIN(k) (++loop_##k >= UNWIND ? (cut(), 0) : 1)
#define DOWN if (++depth > UNWIND + 1) cut();
#define UP depth--;
#define assert(condition) do { if (!(condition)) longjmp(over, 2); } while (0)
#define exit(status) longjmp(over, 1)
#define main program
static int program(void);
static int run(void)
{
    int how = setjmp(over);
    if (how == 0) { program(); return 1; }
    return how;
}
static int next(void)
{
    while (used > 0 && tape[used - 1] + 1 >= limit[used - 1]) used--;
    if (used == 0) return 0;
    tape[used - 1]++;
    return 1;
}
#undef main
int main(void)
{
    do {
        taken = at = depth = events = 0;
        word[0] = 0;
        int how = run();
        if (how != 3) printf("%s %s\\n", how == 2 ? "fails" : "ends", word);
    } while (next());
    return 0;
}
#define main program
"""


@dataclass(frozen=True)
class Runs:
    """The words of the executions, without an error letter: the labels of their `Learn` calls."""

    failing: frozenset[tuple[str, ...]]
    passing: frozenset[tuple[str, ...]]


def runs(source: Path, unwind: int, longest: int) -> Runs:
    """Compiles a program and tries all its choices, up to words of a length that counts the error letter."""
    folder = source.parent
    (folder / "oracle.h").write_text(ORACLE)
    binary = folder / f"{source.stem}.{unwind}"
    bounds = [f"-DUNWIND={unwind}", f"-DLONGEST={longest}"]
    command = ["gcc", "-O1", "-w", "-std=gnu11", "-DORACLE", *bounds, f"-I{folder}", str(source), "-o", str(binary)]
    subprocess.run(command, check=True, timeout=60)
    said = subprocess.run([str(binary)], check=True, capture_output=True, text=True, timeout=60).stdout
    found: dict[str, set[tuple[str, ...]]] = {"fails": set(), "ends": set()}
    for line in set(said.splitlines()):
        how, *word = line.split()
        if len(word) + (how == "fails") <= longest:
            found[how].add(tuple(word))
    return Runs(frozenset(found["fails"]), frozenset(found["ends"]))


@dataclass
class RandomProgram:
    """Writes a program with nested branches, loops, calls, recursion, gotos out of loops, and one assertion."""

    seed: int
    lines: list[str] = field(default_factory=list)
    letters: int = 0
    loops: int = 0

    def __post_init__(self) -> None:
        self.random = random.Random(self.seed)
        self.text = self.write()

    def write(self) -> str:
        helpers = self.random.randint(0, 2)
        parts = [PRELUDE, "static int x, y;"]
        for helper in range(helpers):
            body = self.block(1, range(helper))
            parts.append(f"static int f{helper}(int a) {{ {body} return x + a; }}")
        recursive = self.random.random() < 0.3
        if recursive:
            again = "if (pick(2)) { DOWN down(a + 1); UP }"
            parts.append(f"static void down(int a) {{ {self.learn()} x = x + 1; {again} {self.learn()} }}")
        body = self.block(2, range(helpers))
        call = "DOWN down(0); UP" if recursive else ""
        condition = self.random.choice(["x < 1", "x != y", "pick(2)", "pick(2) || y", "!x && pick(2)"])
        end = self.random.choice(["", f"if (pick(2)) exit(1); {self.learn()}", self.learn()])
        parts.append(
            f"int main(void) {{ x = 0; y = 0; {body} {call} {self.learn()} assert({condition}); {end} return 0; }}"
        )
        return "\n".join(parts)

    def learn(self) -> str:
        if self.letters < 4:
            self.letters += 1
            return f"Learn({self.letters - 1});"
        return f"Learn({self.random.randrange(self.letters)});"

    def block(self, depth: int, callable_: range) -> str:
        return " ".join(self.statement(depth, callable_) for _ in range(self.random.randint(1, 3)))

    def statement(self, depth: int, callable_: range) -> str:
        kind = self.random.choice(["learn", "assign", "if", "while", "do", "for", "call", "switch", "exit", "early"])
        if kind in ("if", "while", "do", "for", "switch") and depth == 0:
            kind = "learn"
        condition = self.random.choice(["pick(2)", "x < 2", "x == y", "pick(2) && x < 3", "y || pick(2)"])
        if kind == "assign":
            return self.random.choice(["x = x + 1;", "y = pick(2);", "x = y;", "y = y ? 0 : x;"])
        if kind == "if":
            other = f"else {{ {self.block(depth - 1, callable_)} }}" if self.random.random() < 0.5 else ""
            return f"if ({condition}) {{ {self.block(depth - 1, callable_)} }} {other}"
        if kind == "switch":
            first, second = self.block(depth - 1, callable_), self.block(depth - 1, callable_)
            return f"switch (pick(3)) {{ case 0: {first} case 1: {second} break; default: {self.learn()} }}"
        if kind in ("while", "do", "for"):
            self.loops += 1
            number, leave = self.loops, self.random.choice(["", "if (pick(2)) break;"])
            body = f"{self.block(depth - 1, callable_)} {leave}"
            if kind == "while":
                return f"{{ LOOP({number}) while ({condition}) {{ {body} BACK({number}) }} }}"
            if kind == "do":
                return f"{{ LOOP({number}) do {{ {body} }} while ({condition} && AGAIN({number})); }}"
            return f"{{ LOOP({number}) for (int i = 0; i < pick(3); i++) {{ {body} BACK({number}) }} }}"
        if kind == "call" and len(callable_):
            return f"x = f{self.random.choice(callable_)}(pick(2)) % 3;"
        if kind == "exit" and self.random.random() < 0.3:
            return "if (pick(2)) exit(2);"
        if kind == "early" and self.random.random() < 0.3:
            return "if (pick(2)) return 0;"
        return self.learn()
