"""How a scenario breaks a rule: something is missing, out of order, or there once too often."""

from __future__ import annotations

from collections.abc import Sequence
from enum import Enum
from functools import lru_cache
from itertools import pairwise
from typing import NamedTuple

from lawful.learning.window_protocol import Product

Letters = tuple[int, ...]  # of letters: 0 is the rule's `a`, 1 its `b`

BOTH = 3


class Breach(Enum):
    """What is wrong with one of the letters."""

    MISSING = "missing"
    FIRST = "first"  # it comes first, where the other must
    LAST = "last"  # it comes last, where the other must
    AGAIN = "again"  # it comes twice in a row, where that cannot be
    OTHER = "other"  # none of these: only the user's own patterns can be broken so

    __hash__ = object.__hash__  # that of enums is Python code, and these are looked up with every broken rule


class ViolationKind(NamedTuple):
    breach: Breach
    letter: int


class RuleShape(NamedTuple):
    """What all scenarios of a rule have in common. Letters are bits: 1 is `a`, 2 is `b`."""

    begins: int  # letters that may come first
    ends: int  # letters that may come last
    doubles: int  # letters that may come twice in a row

    def broken(self, word: Letters) -> ViolationKind:
        """How a word that is not one of the rule's differs from those."""
        letters = sum(1 << letter for letter in set(word))
        if letters != BOTH:
            return ViolationKind(Breach.MISSING, 2 - letters)
        if not self.begins >> word[0] & 1:
            return ViolationKind(Breach.FIRST, word[0])
        if not self.ends >> word[-1] & 1:
            return ViolationKind(Breach.LAST, word[-1])
        for before, letter in pairwise(word):
            if before == letter and not self.doubles >> letter & 1:
                return ViolationKind(Breach.AGAIN, letter)
        return ViolationKind(Breach.OTHER, word[-1])


class ViolationKinds:
    """The shapes of all rules of a product, and a shortest word for each kind of ending."""

    def __init__(self, product: Product) -> None:
        self._product = product
        self._words = _shortest(product)
        self._shapes = [_shape(product, rule) for rule in range(len(product.size))]
        self._broken: dict[tuple[int, int], ViolationKind] = {}

    def shape(self, rule: int) -> RuleShape:
        return self._shapes[rule]

    def word(self, rule: int, kind: int) -> Letters:
        """A scenario that ends in this kind, in the rule's letters."""
        return tuple(letter ^ (rule & 1) for letter in self._words[kind])

    def kind(self, rule: int, word: Sequence[int]) -> int:
        """In which kind a scenario ends, given in the rule's letters."""
        state = self._product.start
        for letter in word:
            state = self._product.step[state][letter ^ (rule & 1)]
        return self._product.kind[state]

    def broken(self, rule: int, kind: int) -> ViolationKind:
        """How scenarios that end in this kind break a rule, by the shortest of them."""
        violation = self._broken.get((rule, kind))
        if violation is None:
            violation = self._broken[rule, kind] = self._shapes[rule].broken(self.word(rule, kind))
        return violation


@lru_cache(maxsize=8)
def of(product: Product) -> ViolationKinds:
    """Those of a product: there are few products, and each is asked for often."""
    return ViolationKinds(product)


def _shortest(product: Product) -> dict[int, Letters]:
    """By kind, in the letters of the pair."""
    words: dict[int, Letters] = {}
    seen = {product.start}
    queue: list[tuple[int, Letters]] = [(product.start, ())]
    for state, word in queue:
        if word:
            words.setdefault(product.kind[state], word)
        for letter, target in enumerate(product.step[state]):
            if target not in seen:
                seen.add(target)
                queue.append((target, (*word, letter)))
    return words


def _shape(product: Product, rule: int) -> RuleShape:
    size = len(product.step)
    accepting = [
        state != product.start and bool(product.satisfied[product.kind[state]] >> rule & 1) for state in range(size)
    ]
    alive = list(accepting)  # a scenario of the rule can still come of it
    changed = True
    while changed:
        changed = False
        for state in range(size):
            if not alive[state] and any(alive[target] for target in product.step[state]):
                alive[state] = changed = True
    begins = ends = doubles = 0
    for letter in (0, 1):
        bit = 1 << (letter ^ (rule & 1))
        after = [targets[letter] for targets in product.step]
        begins |= bit * alive[after[product.start]]
        ends |= bit * any(accepting[target] for target in after)
        doubles |= bit * any(alive[after[target]] for target in after)
    return RuleShape(begins, ends, doubles)
