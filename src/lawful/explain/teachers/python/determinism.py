"""Is the program deterministic? Some inputs are run again: in another process, in another order, with other hashes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

_BEFORE = 40
_AFTER = 40
_LOOKED_AT = 10
_SHORT = 200
_OFTEN = 20

Ask = Callable[[int, int, list[int], bool], list[list[Any]]]
"""What becomes of the inputs of a bound in a process: its number, the bound, the inputs' numbers, and whether each is
run in a process of its own. The answer has for each input its number, text, word, whether it failed, how it ended."""

_Seen = dict[int, list[Any]]


class DeterminismCheck:
    """Runs inputs again, and says what differs."""

    def __init__(self, ask: Ask, renew: Callable[[], None], *, isolated: bool) -> None:
        self._ask = ask
        self._renew = renew  # puts new processes in the place of those that have run something
        self._noted: _Seen = {}
        self.nondeterministic = False
        self.isolated = isolated

    def note(self, number: int, text: str, word: list[int], failed: bool, end: str) -> None:
        """An execution that was the first with its word."""
        if len(self._noted) < _AFTER and len(word) < _SHORT and end in ("done", "error"):
            self._noted[number] = [number, text, word, failed, end]

    def before(self, bound: int, warnings: list[str]) -> str | None:
        """Looks at the first inputs before all are run. If each execution needs a process of its own, an example."""
        first = self._ask(0, bound, list(range(_BEFORE)), False)
        known = _by_number(first)
        first += self._ask(0, bound, _repeat_few(list(known)), False) if len(known) < _OFTEN else []
        other = _by_number(self._ask(1, bound, list(reversed(known)), False)) if known else {}
        differing = [each[0] for each in first if _differ(each, known[each[0]])]
        differing += [number for number in known if number in other and _differ(known[number], other[number])]
        if not differing:
            return None
        looked_at = list(dict.fromkeys(differing))[:_LOOKED_AT] * 2
        looked_at = looked_at if len(looked_at) >= _OFTEN else _repeat_few(looked_at)
        alone = []
        for host in (0, 0, 1):
            if host == 0:
                self._renew()  # a process may settle chance when it begins
            alone.append(self._ask(host, bound, looked_at, True))
        same = [one == another == third for one, another, third in zip(*alone, strict=False)]
        if same and all(same) and _stable(alone[0]):  # if there was not time for all, those that were looked at count
            self.isolated = True
            example: str = known[differing[0]][1]
            return example
        number = differing[0]
        self._warn(known[number][1], other.get(number, known[number])[1], number, alone, warnings)
        return None

    def after(self, bound: int, warnings: list[str]) -> None:
        """Looks at one execution for each word, once all were run."""
        if self.nondeterministic or not self._noted:
            return
        other = _by_number(self._ask(1, bound, sorted(self._noted, reverse=True), self.isolated))
        for number, seen in self._noted.items():
            if number in other and _differ(other[number], seen):
                self._warn(seen[1], other[number][1], number, [], warnings)
                return

    def _warn(self, one: str, other: str, number: int, alone: list[list[list[Any]]], warnings: list[str]) -> None:
        """Says what is not deterministic: the input with this number, or what happens with it."""
        self.nondeterministic = True
        if one != other:
            warnings.append(f"not deterministic: input {number} is once {one}, then {other}")
            return
        cause = "chance, time, or what else is not an input"
        if len(alone) == 3 and all(map(_stable, alone)):
            # Processes have the same hashes but for the third, and addresses each of its own.
            if alone[0] == alone[1]:
                cause = "the order of sets, or another matter of hashes"
            else:
                cause = "addresses, as of id(), or what else a process has of its own"
        warnings.append(f"not deterministic: run twice with {one}, it did different things; it depends on {cause}")


def _by_number(found: list[list[Any]]) -> _Seen:
    return {each[0]: each for each in found}


def _differ(one: list[Any], other: list[Any]) -> bool:
    """Did something else happen? Whether an execution ends in its time may depend on how busy the machine is, whether
    memory suffices, on what was there before; and of one that could not be watched nothing is known."""
    return one != other and not {"slow", "memory", "lost"} & {one[4], other[4]}


def _stable(found: list[list[Any]]) -> bool:
    """Has each input the same outcome each time?"""
    known = _by_number(found)
    return all(each == known[each[0]] for each in found)


def _repeat_few(numbers: list[int]) -> list[int]:
    """Few inputs are looked at several times, so that chance shows."""
    return numbers * max(1, _OFTEN // len(numbers)) if numbers else []
