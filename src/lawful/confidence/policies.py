"""The sampling policies that come with Lawful, and what users call them."""

from __future__ import annotations

import os
import re
from fractions import Fraction

from lawful.confidence.policy_automaton import MOST_NUMBER, Auto, Policy, PolicyState, Transition, Trigger
from lawful.diagnostics import did_you_mean, quoted
from lawful.errors import LawfulError

COINS = 6  # of `taper`: the last one takes 1 in 64
MOST_COINS = 62
SHARE = Fraction(5, 100)
SUFFIX = ".policy"

_ALL, _NONE = Fraction(1), Fraction(0)


def off() -> Policy:
    """Every object, until the target is reached; then none. The paper's case study (section 5) does so."""
    watch, rest = PolicyState("watch", _ALL), PolicyState("off", _NONE)
    return Policy("off", (watch, rest), "watch", (Transition("watch", Trigger.TARGET, "off"),))


def taper(coins: int = COINS, *, wraps: bool = False) -> Policy:
    """PA_n of the paper's section 3: in state k a coin of 2^k sides; with every target reached the next larger one.

    A violation, or new code, leads back to the first. In the paper the last state `wraps` to the first one, so that
    every n targets the overhead would return to where it began because nothing happened. Here it stays.
    """
    if not 1 <= coins <= MOST_COINS:
        raise LawfulError(
            "policy-argument", f"`taper` has from 1 to {MOST_COINS} coins, not {coins}", hint="as in `taper(8)`"
        )
    states = tuple(PolicyState(f"coin-{2**k}", Fraction(1, 2**k)) for k in range(1, coins + 1))
    first = states[0].name
    ways: list[Transition] = []
    for number, state in enumerate(states):
        if number + 1 < coins:
            ways.append(Transition(state.name, Trigger.TARGET, states[number + 1].name))
        elif wraps:
            ways.append(Transition(state.name, Trigger.TARGET, first))
        if number:
            ways.append(Transition(state.name, Trigger.VIOLATION, first))
            ways.append(Transition(state.name, Trigger.NEW_CODE, first))
    return Policy(f"taper-{coins}", states, first, tuple(ways))


def coverage() -> Policy:
    """Every object until the target is reached, then 1 in 64; all again when new code runs, 1 in 8 for rare code.

    The paper's section 7 names this as future work.
    """
    states = (
        PolicyState("watch", _ALL),
        PolicyState("rest", Fraction(1, 64)),
        PolicyState("look", Fraction(1, 8)),
    )
    ways = (
        Transition("watch", Trigger.TARGET, "rest"),
        Transition("rest", Trigger.VIOLATION, "watch"),
        Transition("rest", Trigger.NEW_CODE, "watch"),
        Transition("rest", Trigger.RARE_CODE, "look"),
        Transition("look", Trigger.TARGET, "rest"),
        Transition("look", Trigger.VIOLATION, "watch"),
        Transition("look", Trigger.NEW_CODE, "watch"),
    )
    return Policy("coverage", states, "watch", ways)


def overhead(share: Fraction | float = SHARE) -> Policy:
    """As many objects as keep the overhead at a share, until the target is reached; then none."""
    share = share if isinstance(share, Fraction) else Fraction(str(share))
    states = (PolicyState("hold", Auto(share)), PolicyState("off", _NONE))
    return Policy("overhead", states, "hold", (Transition("hold", Trigger.TARGET, "off"),))


NAMES = {"off": off, "taper": taper, "coverage": coverage, "overhead": overhead}

_WORD = re.compile(r"\s*([^\s()]+)\s*(?:\((.*)\))?\s*", re.DOTALL)
_NUMBER = re.compile(r"\s*([0-9]{1,18}(?:\.[0-9]{1,12})?|\.[0-9]{1,12})\s*(%?)\s*")


def named(word: str) -> Policy:
    """The policy that a user calls so: `off`, `taper`, `taper(8)`, `coverage`, `overhead`, `overhead(5%)`."""
    match = _WORD.fullmatch(word)
    name, argument = match.groups() if match else (word, None)
    if name not in NAMES:
        similar = did_you_mean(name, NAMES)
        every = ", ".join(f"`{each}`" for each in NAMES)
        hint = f"did you mean `{similar}`?" if similar else f"there are {every}, and files `*{SUFFIX}`"
        raise LawfulError("policy-unknown", f"unknown policy {quoted(name)}", hint=hint)
    if argument is None:
        return NAMES[name]()
    if name == "taper":
        if not re.fullmatch(r"\s*[0-9]{1,18}\s*", argument):
            message = f"`taper` takes a number of coins, not {quoted(argument)}"
            raise LawfulError("policy-argument", message, hint="as in `taper(8)`")
        return taper(int(argument))
    if name == "overhead":
        return overhead(share(argument))
    message = f"`{name}` takes nothing in parentheses, as {quoted(argument)}"
    raise LawfulError("policy-argument", message, hint=f"write `{name}`")


def find(word: str | os.PathLike[str]) -> Policy:
    """The policy that a user names: one that comes with Lawful, or a file."""
    word = os.fspath(word)
    if word.lower().endswith(SUFFIX) or (word not in NAMES and os.path.isfile(word)):
        from lawful.confidence import policy_parser  # the others do not need it

        return policy_parser.read(word)
    return named(word)


def share(text: str) -> Fraction:
    """A share as users write it: `5%`, or `0.05`. Above nothing; an overhead may be more than 100 %."""
    match = _NUMBER.fullmatch(text)
    number = Fraction(match[1]) / (100 if match[2] else 1) if match else _NONE
    if not 0 < number <= MOST_NUMBER:
        message = f"{quoted(text)} is not an overhead that Lawful can hold"
        raise LawfulError("policy-overhead", message, hint="as in `5%` or `0.05`")
    return number
