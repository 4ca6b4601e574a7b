"""Random small programs compared by all their executions: `diff` says "same" just if their words and ends are."""

from __future__ import annotations

import random
from itertools import product
from pathlib import Path
from typing import Any

import pytest

from lawful.explain.api import diff, merge
from lawful.explain.comparison import Comparison

EVENTS = ("a", "b", "c")
ERRORS = ("KeyError", "ValueError", "IndexError")

HEAD = """
EVENTS = []


def a() -> None:
    EVENTS.append("a")


def b() -> None:
    EVENTS.append("b")


def c() -> None:
    EVENTS.append("c")

"""

Outcome = tuple[str, ...]


def body(chance: random.Random, depth: int, indent: str) -> list[str]:
    """Random statements over the parameters `n`, a small number, and `flags`, a short list."""
    lines = []
    for _ in range(chance.randint(1, 3)):
        kind = chance.choice(("call", "call", "call", "if", "for", "raise", "return", "assert", "pop"))
        if kind == "call" or depth == 0:
            lines.append(f"{indent}{chance.choice(EVENTS)}()")
        elif kind == "if":
            lines.append(f"{indent}if {condition(chance)}:")
            lines += body(chance, depth - 1, indent + "    ")
        elif kind == "for":
            lines.append(f"{indent}for _ in flags:")
            lines += body(chance, depth - 1, indent + "    ")
        elif kind == "raise":
            lines += [f"{indent}if {condition(chance)}:", f"{indent}    raise {chance.choice(ERRORS)}"]
        elif kind == "return":
            lines += [f"{indent}if {condition(chance)}:", f"{indent}    return"]
        elif kind == "assert":
            lines.append(f"{indent}assert {condition(chance)}")
        else:
            lines.append(f"{indent}flags.pop()")
    return lines


def condition(chance: random.Random) -> str:
    return chance.choice(("n > 0", "n < 0", "n == 1", "flags", "not flags", "flags and flags[0]", "len(flags) > n"))


def program(chance: random.Random) -> str:
    return HEAD + "\ndef f(n: int, flags: list[bool]) -> None:\n" + "\n".join(body(chance, 2, "    ")) + "\n"


def changed(text: str, chance: random.Random) -> str:
    """The same program, another one in a detail, or one that only looks different."""
    lines = text.splitlines()
    own = [at for at, line in enumerate(lines) if line.startswith("    ") and at > lines.index("EVENTS = []") + 12]
    at = chance.choice(own)
    kind = chance.choice(("same", "pass", "guard", "error", "event"))
    indent = lines[at][: len(lines[at]) - len(lines[at].lstrip())]
    if kind == "pass":
        lines.insert(at, f"{indent}n = n + 0")
    elif kind == "guard" and not lines[at].endswith(":"):
        lines[at : at + 1] = [f"{indent}if flags:", f"    {lines[at]}"]
    elif kind == "error":
        lines[at] = lines[at].replace("KeyError", "ValueError")
    elif kind == "event":
        lines[at] = lines[at].replace("a()", "b()")
    return "\n".join(lines) + "\n"


def outcomes(text: str, unwind: int) -> set[Outcome]:
    """What happens on all inputs: numbers from -unwind to unwind, lists up to that length. Nothing of Lawful runs."""
    space: dict[str, Any] = {}
    exec(compile(text, "program", "exec"), space)
    found = set()
    for n in range(-unwind, unwind + 1):
        for length in range(unwind + 1):
            for flags in product((False, True), repeat=length):
                space["EVENTS"].clear()
                end = "end"
                try:
                    space["f"](n, list(flags))
                except Exception as error:
                    end = type(error).__name__
                found.add((*space["EVENTS"], end))
    return found


def words_of(found: Comparison, key: str) -> set[Outcome]:
    side = found.side(key)
    assert side.ways_total == len(side.ways), "few enough that all are listed"
    return {found.alphabet.spelled(way.word) for way in side.ways}


def written(folder: Path, *texts: str) -> list[str]:
    for number, text in enumerate(texts):
        (folder / f"v{number}.py").write_text(text)
    return [f"v{number}.py:f" for number in range(len(texts))]


@pytest.mark.parametrize("seed", range(12))
def test_two_versions_by_brute_force(tmp_path: Path, seed: int) -> None:
    chance = random.Random(seed)
    old = program(chance)
    new = changed(old, chance) if seed % 4 else program(chance)
    targets = written(tmp_path, old, new)
    found = diff(*targets, folder=str(tmp_path), unwind=2, events=EVENTS, seconds_per_execution=20.0)
    before, after = outcomes(old, 2), outcomes(new, 2)
    assert found.complete, (found.warnings, found.reached)
    assert words_of(found, "only_old") == before - after
    assert words_of(found, "only_new") == after - before
    assert found.same is (before == after) and (found.verdict == "same") is found.same
    for side, has, lacks in (("only_old", outcomes, new), ("only_new", outcomes, old)):
        for way in found.side(side).ways:
            assert way.certain
            for each in way.elsewhere:
                assert {found.alphabet.spelled(word) for word in each.words} <= has(lacks, 2)


@pytest.mark.parametrize("seed", range(4))
def test_a_merge_by_brute_force(tmp_path: Path, seed: int) -> None:
    chance = random.Random(seed)
    base = program(chance)
    a, b = changed(base, chance), changed(base, chance)
    both = changed(chance.choice((a, b)), chance)
    found = merge(
        *written(tmp_path, base, a, b, both), folder=str(tmp_path), unwind=1, events=EVENTS, seconds_per_execution=20.0
    )
    in_base, in_a, in_b, in_both = (outcomes(text, 1) for text in (base, a, b, both))
    assert words_of(found, "not_in_a") == in_both - in_a
    assert words_of(found, "not_in_b") == in_both - in_b
    assert words_of(found, "in_neither") == in_both - in_a - in_b
    assert words_of(found, "lost") == ((in_a - in_base) | (in_b - in_base)) - in_both
    assert words_of(found, "back") == ((in_base - in_a) | (in_base - in_b)) & in_both


@pytest.mark.parametrize("seed", range(4))
def test_lines_that_have_moved_change_nothing(tmp_path: Path, seed: int) -> None:
    """Branches are called by their lines: a program that only has more comments does the same."""
    chance = random.Random(seed)
    old = program(chance)
    lines: list[str] = []
    for line in old.splitlines():
        lines += ["# something else"] * chance.randrange(3)
        lines.append(line)
    targets = written(tmp_path, old, "\n".join(lines) + "\n")
    found = diff(*targets, folder=str(tmp_path), unwind=1, kinds="branches", seconds_per_execution=20.0)
    assert found.verdict == "same" and found.complete
