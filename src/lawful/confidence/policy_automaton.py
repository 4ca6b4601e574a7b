"""Sampling-policy automata: states with a rate, transitions with a trigger. `policy_run.PolicyRun` executes one."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from fractions import Fraction
from functools import cached_property
from typing import NamedTuple

from lawful.diagnostics import did_you_mean, quoted
from lawful.errors import LawfulError

NAME = re.compile(r"[^\W\d][\w-]*")
MOST_SIDES = 2**62  # of a coin: a number of 64 bits decides it
MOST_NUMBER = 10**18
LEAST = Fraction(1, 2**20)  # where a controller stops to turn the rate down, so that there is something to measure


class Trigger(Enum):
    """What makes a run go on to another state. The values are the words of the text form."""

    TARGET = "after clean samples"  # so many in a row
    TIME = "after time"  # in this state
    VIOLATION = "on violation"
    NEW_CODE = "on new code"
    RARE_CODE = "on rare code"
    OVERHEAD_ABOVE = "on overhead above"
    OVERHEAD_BELOW = "on overhead below"


@dataclass(frozen=True, slots=True)
class Auto:
    """A rate that a controller finds: as high as keeps the overhead at a share."""

    share: Fraction
    least: Fraction = LEAST
    most: Fraction = Fraction(1)

    def __str__(self) -> str:
        least = f" at least {rate_text(self.least)}" if self.least != LEAST else ""
        most = f" at most {rate_text(self.most)}" if self.most != 1 else ""
        return f"by overhead {percent(self.share)}{least}{most}"


@dataclass(frozen=True, slots=True)
class PolicyState:
    """A state, and the rate at which objects are followed in it."""

    name: str
    rate: Fraction | Auto

    @property
    def sample(self) -> str:
        """The rate, as one writes it."""
        return str(self.rate) if isinstance(self.rate, Auto) else rate_text(self.rate)


@dataclass(frozen=True, slots=True)
class Transition:
    """From a state, when something happens, to another."""

    source: str
    trigger: Trigger
    target: str
    amount: int | Fraction | None = None  # of samples (None: as many as the confidence needs), seconds, or a share

    @property
    def when(self) -> str:
        """What happens, as one writes it."""
        match self.trigger:
            case Trigger.TARGET:
                if self.amount is None:
                    return "after target"
                return f"after {self.amount} clean sample{'' if self.amount == 1 else 's'}"
            case Trigger.TIME:
                return f"after {duration(Fraction(self.amount or 0))}"
            case Trigger.OVERHEAD_ABOVE | Trigger.OVERHEAD_BELOW:
                return f"{self.trigger.value} {percent(Fraction(self.amount or 0))}"
            case _:
                return str(self.trigger.value)


@dataclass(frozen=True)
class Policy:
    """A sampling-policy automaton. An invalid one raises LawfulError."""

    name: str
    states: tuple[PolicyState, ...]
    start: str
    transitions: tuple[Transition, ...] = ()

    def __post_init__(self) -> None:
        for problem in problems(self.name, self.states, self.start, self.transitions):
            raise LawfulError(problem.slug, problem.message, where=f"policy {quoted(self.name)}", hint=problem.hint)

    def __str__(self) -> str:
        return self.text

    @cached_property
    def text(self) -> str:
        """The policy in its text form, which reads as the same policy."""
        lines = [f"policy {self.name}", f"start {self.start}"]
        for state in self.states:
            lines += ["", f"state {state.name}: sample {state.sample}"]
            lines += [f"  {each.when} go {each.target}" for each in self.leaving(state.name)]
        return "".join(f"{line}\n" for line in lines)

    @cached_property
    def _by_name(self) -> dict[str, PolicyState]:
        return {state.name: state for state in self.states}

    @cached_property
    def _by_trigger(self) -> dict[tuple[str, Trigger], Transition]:
        return {(each.source, each.trigger): each for each in self.transitions}

    def state(self, name: str) -> PolicyState:
        return self._by_name[name]

    def leaving(self, state: str) -> list[Transition]:
        """The transitions that leave a state."""
        return [each for each in self.transitions if each.source == state]

    def transition(self, state: str, trigger: Trigger) -> Transition | None:
        return self._by_trigger.get((state, trigger))

    @cached_property
    def triggers(self) -> frozenset[Trigger]:
        """All triggers of the policy: the others need not be measured."""
        return frozenset(each.trigger for each in self.transitions)


# -- what can be wrong with a policy ---------------------------------------------------------------------------------


class Problem(NamedTuple):
    """Why a policy is invalid; `part` is the place in its text."""

    slug: str
    message: str
    part: tuple[str, int]  # "name", "start", "state", "rate", "source", "trigger", "amount", "target"; and its number
    hint: str | None = None
    other: tuple[str, int] | None = None  # what it gets in the way of


def problems(
    name: str, states: Sequence[PolicyState], start: str | None, transitions: Sequence[Transition]
) -> Iterator[Problem]:
    """Everything that is wrong; `start` is None if the text names no start."""
    if not NAME.fullmatch(name):
        yield Problem("policy-nameless", f"{_named(name)} is not a name for a policy", ("name", 0), _NAMES)
    if not states:
        yield Problem("policy-no-state", "a policy needs at least one state", ("name", 0), _STATE)
    known: dict[str, int] = {}
    sound = bool(states)
    for number, state in enumerate(states):
        if not NAME.fullmatch(state.name):
            sound = False
            message = f"{_named(state.name)} is not a name for a state"
            yield Problem("policy-nameless", message, ("state", number), _NAMES)
        elif state.name in known:
            sound = False
            message = f"there are two states {quoted(state.name)}"
            first = ("state", known[state.name])
            yield Problem("policy-duplicate-state", message, ("state", number), "give one of them another name", first)
        known.setdefault(state.name, number)
        yield from _rate_problems(state.rate, number)
    if start is None or start not in known:
        sound = False
        if start is None:
            hint = f"as in `start {states[0].name}`" if states else None
            yield Problem("policy-no-start", "the policy has no start state", ("start", 0), hint)
        elif states:
            yield Problem("policy-unknown-state", _unknown(start), ("start", 0), _similar(start, known))
    seen: dict[tuple[str, Trigger], int] = {}
    for number, each in enumerate(transitions):
        for end, part in ((each.source, "source"), (each.target, "target")):
            if end not in known:
                sound = False
                yield Problem("policy-unknown-state", _unknown(end), (part, number), _similar(end, known))
        first = ("trigger", seen.setdefault((each.source, each.trigger), number))
        if first[1] != number:
            message = f"{quoted(each.source)} has two ways to go `{each.trigger.value}`"
            hint = "a state has one way to go for each thing that can happen; use another state"
            yield Problem("policy-ambiguous", message, ("trigger", number), hint, first)
        yield from _amount_problems(each, number)
    if sound and start is not None:  # otherwise most would be beyond reach for want of something else
        reached = _reached(start, transitions)
        for number, state in enumerate(states):
            if state.name not in reached:
                message = f"no way leads from {quoted(start)} to {quoted(state.name)}"
                hint = f"write `go {state.name}` in a state that can be reached, or leave it out"
                yield Problem("policy-unreachable", message, ("state", number), hint)


def _rate_problems(rate: Fraction | Auto, number: int) -> Iterator[Problem]:
    part = ("rate", number)
    if isinstance(rate, Fraction):
        if not 0 <= rate <= 1:
            yield Problem("policy-rate", "more than all objects cannot be sampled", part, _RATES)
        elif 0 < rate < Fraction(1, MOST_SIDES) or rate.denominator > MOST_SIDES:
            yield Problem("policy-rate", f"a coin has {MOST_SIDES} sides at most", part, _RATES)
        return
    if not _fits(rate.share):
        yield Problem("policy-overhead", "an overhead to hold is more than nothing", part, "as in `5%`")
    for bound in (rate.least, rate.most):
        if bound == 0:
            message = "a rate of nothing leaves no overhead to measure"
            yield Problem("policy-rate", message, part, "as in `at least 1 in 1000`")
        else:
            yield from _rate_problems(bound, number)
    if rate.least > rate.most:
        message = f"the least rate, {rate_text(rate.least)}, is above the highest, {rate_text(rate.most)}"
        yield Problem("policy-rate", message, part, "`at least` goes with the smaller rate")


def _amount_problems(each: Transition, number: int) -> Iterator[Problem]:
    part = ("amount", number)
    amount = each.amount
    match each.trigger:
        case Trigger.TARGET:
            if amount is not None and not (isinstance(amount, int) and 1 <= amount <= MOST_NUMBER):
                message = f"it takes from 1 to {MOST_NUMBER} clean samples to go on"
                yield Problem("policy-amount", message, part, "`after target` waits for as many as are needed")
        case Trigger.TIME:
            if amount is None or not _fits(amount):
                message = f"a time is more than nothing, and {MOST_NUMBER} seconds at most"
                yield Problem("policy-amount", message, part, "as in `after 10 minutes`")
        case Trigger.OVERHEAD_ABOVE | Trigger.OVERHEAD_BELOW:
            if amount is None or not _fits(amount):
                yield Problem("policy-overhead", "an overhead to compare with is more than nothing", part, "as in `5%`")
        case _:
            if amount is not None:
                yield Problem("policy-amount", f"`{each.trigger.value}` takes no amount", part)


def _fits(amount: int | Fraction) -> bool:
    return 0 < amount <= MOST_NUMBER and amount.denominator <= MOST_NUMBER


def _reached(start: str, transitions: Sequence[Transition]) -> set[str]:
    targets: dict[str, list[str]] = {}
    for each in transitions:
        targets.setdefault(each.source, []).append(each.target)
    reached = {start}
    queue = [start]
    while queue:
        for target in targets.get(queue.pop(), ()):
            if target not in reached:
                reached.add(target)
                queue.append(target)
    return reached


_NAMES = "a name begins with a letter, and has letters, digits, `_` and `-`"
_STATE = "as in `state watch: sample all`"
_RATES = "as in `sample all`, `sample 1 in 8`, `sample none`"


def _named(name: str) -> str:
    return quoted(name) if name else "nothing"


def _unknown(name: str) -> str:
    return f"unknown state {quoted(name)}"


def _similar(name: str, known: Mapping[str, int]) -> str | None:
    similar = did_you_mean(name, known)
    if similar:
        return f"did you mean `{similar}`?"
    return f"the states are {', '.join(f'`{each}`' for each in known)}" if known else None


# -- how amounts are written -----------------------------------------------------------------------------------------

UNITS = {"day": 86400, "hour": 3600, "minute": 60, "second": 1}


def rate_text(rate: Fraction) -> str:
    """A rate: `all`, `none`, or `1 in 8`."""
    if rate == 1:
        return "all"
    return f"{rate.numerator} in {rate.denominator}" if rate else "none"


def percent(share: Fraction) -> str:
    return f"{number_text(share * 100)}%"


def duration(seconds: Fraction) -> str:
    """A time in the largest unit of which it is a whole number, or in seconds."""
    for unit, size in UNITS.items():
        if (count := seconds / size).denominator == 1:
            return f"{count} {unit}{'' if count == 1 else 's'}"
    return f"{number_text(seconds)} seconds"


def number_text(number: Fraction) -> str:
    """`5`, `2.5`, or `1/3` where decimals would not end."""
    rest, digits = number.denominator, 0
    while rest > 1 and digits < 18:
        rest //= math.gcd(rest, 10)
        digits += 1
    if rest > 1:
        return str(number)
    whole = str(int(number * 10**digits)).rjust(digits + 1, "0")
    return f"{whole[:-digits]}.{whole[-digits:]}" if digits else whole
