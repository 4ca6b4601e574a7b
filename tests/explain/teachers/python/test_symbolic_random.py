"""Random small programs along all their paths, and on all their inputs: the same words, or it is said why not."""

from __future__ import annotations

import random
import textwrap
from collections.abc import Callable
from typing import Any

import pytest

from lawful.explain.teachers.python.inputs import InputScope

pytest.importorskip("z3")

from lawful.explain.teachers.python.symbolic_paths import OutOfBounds, SymbolicPaths

Word = tuple[str, ...]
BOUND = 2
ERRORS = ("ValueError", "IndexError", "ZeroDivisionError", "KeyError")
PARAMETERS = {"a": "int", "b": "int", "xs": "list[int]", "flag": "bool", "s": "str"}


class Writer:
    """Writes a function that always ends, over some parameters, with nested calls, loops, exceptions, lists, texts."""

    def __init__(self, seed: int) -> None:
        self.chance = random.Random(seed)
        self.names = self.chance.sample(sorted(PARAMETERS), 2)
        self.counters = self.events = 0
        heads = ", ".join(f"{name}: {PARAMETERS[name]}" for name in self.names)
        helper = "\n".join(self.block(2, inside=True))
        body = "\n".join(self.block(3))
        self.text = (
            f"def helper({', '.join(self.names)}, k, deep):\n    if deep > 2:\n        return k\n"
            f"{textwrap.indent(helper, '    ')}\n    return k + 1\n"
            f"def main({heads}):\n    k, deep = 0, 0\n{textwrap.indent(body, '    ')}\n"
        )

    def number(self, depth: int = 2) -> str:
        pick = self.chance.choice
        atoms = ["k", "0", "1", "-1", "2", *(name for name in self.names if name in ("a", "b"))]
        if "xs" in self.names:
            atoms += ["len(xs)", "sum(xs)", "max(xs, default=0)", "xs[0]", "xs[-1]", "xs.count(1)", "sorted(xs)[0]"]
        if "s" in self.names:
            atoms += ["len(s)", "s.find('b')"]
        if "flag" in self.names:
            atoms += ["flag", "(1 if flag else 3)"]
        if depth == 0 or self.chance.random() < 0.4:
            return pick(atoms)
        kind = pick(["+", "-", "*", "//", "%", "abs", "min"])
        left, right = self.number(depth - 1), self.number(depth - 1)
        if kind == "abs":
            return f"abs({left})"
        if kind == "min":
            return f"min({left}, {right})"
        return f"({left} {kind} {right})"

    def condition(self) -> str:
        pick = self.chance.choice
        if "s" in self.names and self.chance.random() < 0.3:
            return pick(["s == 'ab'", "'b' in s", "s.startswith('a')", "s < 'b'", "s[:1] == 'c'", "not s"])
        if "xs" in self.names and self.chance.random() < 0.3:
            return pick(["xs", "xs == sorted(xs)", "1 in xs", "any(xs)", "all(x < 1 for x in xs)", "xs[::-1] == xs"])
        if "flag" in self.names and self.chance.random() < 0.3:
            return pick(["flag", "not flag", f"flag and {self.number(1)} > 0", f"flag == ({self.number(1)} > 1)"])
        return f"{self.number(1)} {pick(['<', '<=', '==', '!=', '>'])} {self.number(1)}"

    def block(self, depth: int, inside: bool = False) -> list[str]:
        lines: list[str] = []
        for _ in range(self.chance.randint(1, 3)):
            lines += self.statement(depth, inside)
        return lines

    def statement(self, depth: int, inside: bool) -> list[str]:
        kinds = ["event", "event", "assign"]
        if depth > 0:
            kinds += ["if", "if", "while", "try", "raise", "call", "for", "change"]
        kind = self.chance.choice(kinds)
        indented = lambda lines: [f"    {line}" for line in lines]  # noqa: E731
        if kind == "event":
            self.events += 1
            return [f"event('{self.chance.choice('pqr')}')"]
        if kind == "assign":
            return [f"k = {self.number()}"]
        if kind == "if":
            other = ["else:", *indented(self.block(depth - 1, inside))] if self.chance.random() < 0.5 else []
            return [f"if {self.condition()}:", *indented(self.block(depth - 1, inside)), *other]
        if kind == "while":
            self.counters += 1
            i = f"i{self.counters}"
            loop = [f"{i} = 0", f"while {i} < 3 and {self.condition()}:", f"    {i} += 1"]
            return [*loop, *indented(self.block(depth - 1, inside))]
        if kind == "for":
            over = "xs[:]" if "xs" in self.names else "s" if "s" in self.names else f"range(min(2, {self.number(1)}))"
            return [f"for each in {over}:", *indented(self.block(depth - 1, inside))]
        if kind == "try":
            handled = self.chance.choice([*ERRORS, "Exception"])
            return [
                "try:",
                *indented(self.block(depth - 1, inside)),
                f"except {handled}:",
                *indented(self.block(depth - 1, inside)),
                *(["finally:", "    event('z')"] if self.chance.random() < 0.3 else []),
            ]
        if kind == "raise":
            return [f"if {self.condition()}:", f"    raise {self.chance.choice(ERRORS)}"]
        if kind == "call":
            return [f"k = helper({', '.join(self.names)}, k, deep + 1)"]
        if "xs" in self.names:
            return [self.chance.choice(["xs = [*xs, k]", "xs = sorted(xs)", "xs = [x + 1 for x in xs]", "xs.pop()"])]
        return [f"k = {{0: 1, 1: 0}}[{self.number(1)}]"]


def compiled(writer: Writer) -> tuple[Callable[..., Any], list[str]]:
    events: list[str] = []
    space: dict[str, Any] = {"event": events.append}
    exec(writer.text, space)
    return space["main"], events


def word_of(main: Callable[..., Any], events: list[str], make: Callable[[], tuple[Any, dict[str, Any]]]) -> Word:
    events.clear()
    try:
        positional, keywords = make()
        main(*positional, **keywords)
    except Exception as error:
        return (*events, type(error).__name__)
    return tuple(events)


def explored(writer: Writer, *, small: bool) -> tuple[set[Word], bool]:
    """The words along the paths of a program, and whether these are all. Each is what a real input does."""
    main, events = compiled(writer)
    scope = InputScope(main, "main", BOUND)
    paths = SymbolicPaths(BOUND, small=small, deepest=400, beat=lambda: None)
    found: set[Word] = set()
    going, tried = True, 0
    while going and tried < 400:
        tried += 1
        paths.start()
        try:
            word = word_of(main, events, scope.built(lambda: paths).arguments)
        except OutOfBounds:
            pass
        else:
            found.add(word)
            again = scope.built(paths.solution().again)
            assert word_of(main, events, again.arguments) == word, writer.text
        going = paths.next()
    notes = paths.notes
    return found, not (going or notes.unsupported or notes.unknown or notes.texts)


def of_inputs(writer: Writer) -> set[Word]:
    main, events = compiled(writer)
    return {word_of(main, events, call.arguments) for _, call in InputScope(main, "main", BOUND).each(None, 0)}


@pytest.mark.parametrize("seed", [*range(40), 542, 908])  # the last two need numbers larger than the bound
def test_paths_have_the_words_of_inputs(seed: int) -> None:
    writer = Writer(seed)
    expected = of_inputs(writer)
    found, complete = explored(writer, small=True)
    assert found <= expected, writer.text
    assert found == expected or not complete, writer.text


@pytest.mark.parametrize("seed", range(40, 60))
def test_with_any_numbers_there_are_more_words_and_none_is_missing(seed: int) -> None:
    writer = Writer(seed)
    found, complete = explored(writer, small=False)
    assert of_inputs(writer) <= found or not complete, writer.text


def test_most_of_them_are_followed_to_the_end() -> None:
    """Otherwise the tests above would test little."""
    programs = [Writer(seed) for seed in range(40)]
    for what in ("while", "helper(", "raise", "except", "xs", "s.", "for"):
        assert sum(what in each.text for each in programs) >= 5
    assert sum(explored(each, small=True)[1] for each in programs) >= 35
