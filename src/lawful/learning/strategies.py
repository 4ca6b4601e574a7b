"""Strategies, section 3.3: which rules are enforced, still learned, or dead; as in `meet(count, ratio, context)`."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache, partial
from typing import NamedTuple, TypeAlias

from lawful.diagnostics import did_you_mean, quoted
from lawful.errors import LawfulError
from lawful.learning.window_protocol import MOST_CONTEXTS, Instruction, Op, RuleState

DEFAULT = "meet(count, ratio, context)"

MOST_NESTED = 32  # operators in operators; the C core keeps 64 states on its stack
MOST_PARTS = 256

MOST_VERDICTS = 100_000  # that are cached

_LARGEST = 1e9

Judge = Callable[[int, int, int], RuleState]  # of the numbers of satisfied scenarios, of all scenarios, and of contexts


class Threshold(NamedTuple):
    """A constant of a strategy: what it may be, and how the tuner changes it.

    The defaults are the loosest values that are of use: section 3.4 begins with those that admit many rules.
    """

    name: str
    default: float
    lower: float  # what a user may choose
    upper: float
    strictest: float  # as far as the tuner goes
    step: float  # 1 or more: it is a whole number
    meaning: str

    @property
    def stricter(self) -> int:
        """1 if the greater value admits fewer rules, -1 if the smaller one does."""
        return 1 if self.strictest > self.default else -1

    def check(self, value: float) -> float:
        """The value, if it may be one."""
        hint = f"`{self.name}` is {self.meaning}; by default it is {self.default:g}"
        try:
            number = float(value)
        except (TypeError, ValueError, OverflowError):
            raise LawfulError(
                "threshold-range", f"{quoted(str(value))} is not a number", where=self.name, hint=hint
            ) from None
        if not self.lower <= number <= self.upper:  # which NaN is not either
            message = f"{number:g} is not between {self.lower:g} and {self.upper:g}"
            raise LawfulError("threshold-range", message, where=self.name, hint=hint)
        if self.step >= 1 and not number.is_integer():
            raise LawfulError("threshold-range", f"{number:g} is not a whole number", where=self.name, hint=hint)
        return number


# The tuner must not reach values that end all learning. A rule that is new has few scenarios, so `count.dead` is 1 at
# most, for rules that were never satisfied. With `ratio.enforce` at 1 no rule that has ever failed would be enforced.
_THRESHOLDS = (
    Threshold("count.enforce", 4, 0, _LARGEST, 256, 1, "how often an enforced rule was satisfied, and once more"),
    Threshold("count.dead", 0, 0, _LARGEST, 1, 1, "how often a rule must have been satisfied, not to be dead"),
    Threshold(
        "ratio.enforce", 0.75, 0, 1, 0.995, 0.005, "the share of satisfied scenarios above which a rule is enforced"
    ),
    Threshold("ratio.dead", 0.6, 0, 1, 0.75, 0.01, "the share of satisfied scenarios below which a rule is dead"),
    Threshold("ratio.patience", 32, 1, _LARGEST, 8, 4, "how many scenarios it takes until a rule can be dead"),
    Threshold("context.enforce", 1, 0, MOST_CONTEXTS, 16, 1, "the number of places that an enforced rule was seen at"),
)
THRESHOLDS: Mapping[str, Threshold] = {threshold.name: threshold for threshold in _THRESHOLDS}


class Basic(NamedTuple):
    """One of the three strategies, and the names of its thresholds in the order of its instruction's numbers."""

    name: str
    op: Op
    thresholds: tuple[str, ...]


class Combined(NamedTuple):
    """Several strategies: `join` takes the most daring verdict, `meet` the most careful one."""

    op: Op
    parts: tuple[Tree, ...]


Tree: TypeAlias = Basic | Combined

BASIC = {
    "count": Basic("count", Op.COUNT, ("count.enforce", "count.dead")),
    "ratio": Basic("ratio", Op.RATIO, ("ratio.enforce", "ratio.dead", "ratio.patience")),
    "context": Basic("context", Op.CONTEXT, ("context.enforce",)),
}
OPERATORS = {"join": Op.JOIN, "meet": Op.MEET}


@dataclass(frozen=True)
class Strategy:
    """A strategy as the user composed it. Its thresholds' values are kept elsewhere: they change while it runs."""

    tree: Tree

    @cached_property
    def text(self) -> str:
        """As one writes it, in the one usual way."""
        return _spelled(self.tree)

    @cached_property
    def thresholds(self) -> tuple[Threshold, ...]:
        """All that it uses, each once."""
        return tuple(THRESHOLDS[name] for name in dict.fromkeys(_names(self.tree)))

    def values(self, given: Mapping[str, float] | None = None) -> dict[str, float]:
        """Values for all its thresholds: the defaults, and those given instead. Bad ones are errors."""
        values = {threshold.name: float(threshold.default) for threshold in self.thresholds}
        for name, value in (given or {}).items():
            values[name] = self.threshold(name).check(value)
        return values

    def threshold(self, name: str) -> Threshold:
        """The one with this name, which must be one of its own."""
        for threshold in self.thresholds:
            if threshold.name == name:
                return threshold
        own = ", ".join(f"`{threshold.name}`" for threshold in self.thresholds)
        if name in THRESHOLDS:
            raise LawfulError("threshold-unknown", f"`{self.text}` does not use {quoted(name)}", hint=f"it uses {own}")
        similar = did_you_mean(name, THRESHOLDS)
        hint = f"did you mean `{similar}`?" if similar else f"`{self.text}` uses {own}"
        raise LawfulError("threshold-unknown", f"unknown threshold {quoted(name)}", hint=hint)

    def program(self, values: Mapping[str, float]) -> list[Instruction]:
        """Instructions for a stack of states, as the windows run them."""
        return list(_instructions(self.tree, values))


def parse(text: str) -> Strategy:
    """Read a strategy."""
    return Strategy(_Parser(text).whole())


def judge(program: Sequence[Instruction], satisfied: int, total: int, contexts: int) -> RuleState:
    """The state of a rule with these counts, by the program of a strategy."""
    stack: list[RuleState] = []
    ratio = satisfied / total if total else 0.0
    for op, x, y, z in program:
        if op == Op.COUNT:
            state = RuleState.ENFORCING if satisfied > x else RuleState.DEAD if satisfied < y else RuleState.LEARNING
        elif op == Op.RATIO:
            # One failure out of two says little: a rule is dead only after enough scenarios.
            dead = ratio < y and total >= z
            state = RuleState.ENFORCING if ratio > x else RuleState.DEAD if dead else RuleState.LEARNING
        elif op == Op.CONTEXT:
            state = RuleState.ENFORCING if contexts >= x else RuleState.LEARNING
        else:
            right = stack.pop()
            state = max(stack.pop(), right) if op == Op.JOIN else min(stack.pop(), right)
        stack.append(state)
    return stack.pop()


def judge_by(program: Sequence[Instruction]) -> Judge:
    """A judge of rules by the program of a strategy. It caches: most rules have counts that others have, too."""
    return lru_cache(MOST_VERDICTS)(partial(judge, program))


def _instructions(tree: Tree, values: Mapping[str, float]) -> Iterator[Instruction]:
    if isinstance(tree, Basic):
        yield Instruction(tree.op, *(float(values[name]) for name in tree.thresholds))
        return
    for number, part in enumerate(tree.parts):
        yield from _instructions(part, values)
        if number:
            yield Instruction(tree.op)


def _names(tree: Tree) -> Iterator[str]:
    if isinstance(tree, Basic):
        yield from tree.thresholds
    else:
        for part in tree.parts:
            yield from _names(part)


def _spelled(tree: Tree) -> str:
    if isinstance(tree, Basic):
        return tree.name
    return f"{tree.op.name.lower()}({', '.join(_spelled(part) for part in tree.parts)})"


_TOKEN = re.compile(r"\s*([^\W\d]\w*|[(),]|\S|$)")


class _Parser:
    """Reads `NAME` or `meet(STRATEGY, ...)` or `join(STRATEGY, ...)`."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.at = 0  # where the next token begins, with the blanks before it
        self.nested = 0
        self.parts = 0

    def whole(self) -> Tree:
        tree = self.strategy()
        if self.token:
            raise self.error(f"unexpected {quoted(self.token)} after the strategy")
        return tree

    @property
    def match(self) -> re.Match[str]:
        match = _TOKEN.match(self.text, self.at)
        assert match is not None  # one of its parts always fits
        return match

    @property
    def token(self) -> str:
        return self.match[1]

    def take(self) -> str:
        match = self.match
        self.at = match.end()
        return match[1]

    def strategy(self) -> Tree:
        name = self.token
        self.parts += 1
        if self.parts > MOST_PARTS:
            raise self.error(f"a strategy has {MOST_PARTS} parts at most")
        if name in BASIC:
            self.take()
            if self.token == "(":
                raise self.error(
                    f"`{name}` takes no arguments",
                    hint="give thresholds separately, with `--threshold` or `thresholds`",
                )
            return BASIC[name]
        if name in OPERATORS:
            self.take()
            return Combined(OPERATORS[name], self.arguments(name))
        if not name or not name.isidentifier():
            found = f"not {quoted(name)}" if name else "but the text ends"
            raise self.error(f"expected a strategy here, {found}", hint=_SYNTAX)
        similar = did_you_mean(name, [*BASIC, *OPERATORS])
        hint = f"did you mean `{similar}`?" if similar else _SYNTAX
        raise self.error(f"unknown strategy {quoted(name)}", slug="strategy-unknown", hint=hint)

    def arguments(self, name: str) -> tuple[Tree, ...]:
        if self.token != "(":
            raise self.error(f"`{name}` needs strategies in parentheses", hint=f"as in `{name}(count, ratio)`")
        if self.nested == MOST_NESTED:
            raise self.error(f"more than {MOST_NESTED} nested parentheses")
        self.nested += 1
        parts: list[Tree] = []
        while not parts or self.token == ",":
            self.take()
            parts.append(self.strategy())
        if self.token != ")":
            raise self.error("expected `,` or `)` here" + (f", not {quoted(self.token)}" if self.token else ""))
        self.take()
        self.nested -= 1
        return tuple(parts)

    def error(self, message: str, *, slug: str = "strategy-syntax", hint: str | None = None) -> LawfulError:
        column = self.match.start(1) + 1
        return LawfulError(slug, message, where=f"strategy {quoted(self.text)}, column {column}", hint=hint)


_SYNTAX = f"a strategy is {', '.join(f'`{name}`' for name in BASIC)}, or several of them, as in `{DEFAULT}`"
