"""Templates, section 3.2: regular expressions over a and b, compiled into one automaton for a pair of events."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from functools import lru_cache
from typing import NamedTuple, TypeAlias

from lawful.diagnostics import quoted
from lawful.errors import LawfulError
from lawful.learning.window_protocol import MOST_TEMPLATES, Product

DEFAULT: tuple[str, ...] = ("ab", "ab+", "a+b", "ab?", "a?b", "a+b*", "a*b+", "ab|ba", "a+b+|b+a+")

MOST_STATES = 4096  # of the product, and of one template
MOST_POSITIONS = 256  # letters of one template, after `{m,n}` is written out
MOST_NESTED = 32  # parentheses in parentheses
WORD_LENGTH = 24  # languages are compared by their words up to this length, whose number fits into 32 bits

_EXAMPLES = f"templates are regular expressions over a and b, such as {', '.join(f'`{text}`' for text in DEFAULT)}"


def compile(texts: Sequence[str]) -> Product:
    """All templates, in both orders, as one automaton. Equal languages are not merged: see `distinct`."""
    if not texts:
        raise LawfulError("template-empty", "no template is given, so Lawful cannot learn any rule", hint=_EXAMPLES)
    if len(texts) > MOST_TEMPLATES:
        raise LawfulError("template-too-many", f"{len(texts)} templates are given; {MOST_TEMPLATES} is the limit")
    return _compiled(tuple(texts))


@lru_cache(maxsize=16)  # a forked child begins with the same
def _compiled(texts: tuple[str, ...]) -> Product:
    return _product([scenario(text) for text in texts])


def distinct(texts: Iterable[str]) -> tuple[str, ...]:
    """The templates without blanks and without those that mean the same as an earlier one, be it with a and b swapped.

    `ab` and `(ab)+` have the same scenarios, and `ba` would make the rules of `ab` once more: the first one stays.
    """
    kept: dict[TemplateAutomaton, str] = {}
    for text in texts:
        automaton = scenario(text)
        if automaton not in kept and automaton.swapped() not in kept:
            kept[automaton] = tidy(text)
    return tuple(kept.values())


def tidy(text: str) -> str:
    """The name of a template: its text as the user wrote it, without blanks."""
    return "".join(text.split())


def parse(text: str) -> Node:
    """A template as a tree."""
    return _Parser(text).whole()


def is_deterministic(tree: Node) -> bool:
    """Does every letter of a scenario, read from the left, tell at once which letter of the template it is?"""
    positions = _Positions("")
    positions.follow[0] = positions.looped(positions.read(tree)).first
    return all((after & mask).bit_count() <= 1 for after in positions.follow for mask in positions.masks)


class TemplateAutomaton(NamedTuple):
    """The minimal automaton of a language over a and b, states numbered as they are met: equal if the languages are."""

    step: tuple[tuple[int, int], ...]  # by state, from the start: the next state for a and for b
    accepting: tuple[bool, ...]

    def swapped(self) -> TemplateAutomaton:
        """The same with a for b and b for a."""
        return _minimal([(b, a) for a, b in self.step], self.accepting)

    def words(self, length: int) -> int:
        """How many words it has, up to this length."""
        ways = [0] * len(self.step)
        ways[0] = 1
        found = 0
        for _ in range(length + 1):
            found += sum(number for number, accepts in zip(ways, self.accepting, strict=True) if accepts)
            after = [0] * len(ways)
            for targets, number in zip(self.step, ways, strict=True):
                for target in targets:
                    after[target] += number
            ways = after
        return found


def scenario(text: str) -> TemplateAutomaton:
    """The language of a template's scenarios: one or more repetitions of it, but not the empty word."""
    positions = _Positions(text)
    whole = positions.looped(positions.read(parse(text)))
    positions.follow[0] = whole.first
    letters = sum(1 << letter for letter in (0, 1) if positions.masks[letter])
    if letters == 0:
        raise LawfulError(
            "template-empty", "only the empty word fits this template", where=_where(text), hint=_EXAMPLES
        )
    if letters != 0b11:
        message = f"this template uses only `{'ab'[letters - 1]}`, but a rule is about two events"
        raise LawfulError("template-letters", message, where=_where(text), hint=_EXAMPLES)
    # The start is in no fragment's `last`, so the empty word is not a scenario even if it fits the template.
    queue = [1]
    numbers = {1: 0}
    step: list[tuple[int, int]] = []
    for state in queue:
        after = positions.after(state)
        targets = []
        for mask in positions.masks:
            target = after & mask
            if target not in numbers:
                numbers[target] = len(numbers)
                queue.append(target)
            targets.append(numbers[target])
        if len(numbers) > MOST_STATES:
            raise _too_big(f"this template has more than {MOST_STATES} states", text)
        step.append((targets[0], targets[1]))
    return _minimal(step, [bool(state & whole.last) for state in queue])


def _product(automata: Sequence[TemplateAutomaton]) -> Product:
    """Run all automata side by side, each on the word and on the word with swapped letters.

    The result is minimal already: two states differ in the letters seen, or in the state of some automaton, and as that
    one is minimal, some way to go on satisfies one rule from the one and not from the other.
    """
    start = (0,) * (2 * len(automata))
    numbers = {(start, 0): 0}
    queue = [(start, 0)]
    kinds: dict[tuple[int, int], int] = {}
    step: list[tuple[int, int]] = []
    kind: list[int] = []
    for states, seen in queue:
        targets = []
        for letter in (0, 1):
            after = tuple(automata[rule >> 1].step[state][letter ^ (rule & 1)] for rule, state in enumerate(states))
            target = after, seen | 1 << letter
            if target not in numbers:
                numbers[target] = len(numbers)
                queue.append(target)
            targets.append(numbers[target])
        if len(numbers) > MOST_STATES:
            raise _too_big(f"the automaton of all {len(automata)} templates has more than {MOST_STATES} states")
        step.append((targets[0], targets[1]))
        if seen == 0:
            kind.append(0)  # the start, whose kind is never asked for
            continue
        satisfied = sum(1 << rule for rule, state in enumerate(states) if automata[rule >> 1].accepting[state])
        kind.append(kinds.setdefault((satisfied, seen), len(kinds)))
    sizes = [automaton.words(WORD_LENGTH) for automaton in automata]
    return Product(
        start=0,
        step=tuple(step),
        kind=tuple(kind),
        satisfied=tuple(satisfied for satisfied, _ in kinds),
        letters=tuple(seen for _, seen in kinds),
        size=tuple(size for size in sizes for _ in range(2)),
    )


def _minimal(step: Sequence[tuple[int, int]], accepting: Sequence[bool]) -> TemplateAutomaton:
    """Moore's refinement: split classes of states until all states of a class go to the same classes."""
    classes = [int(accepts) for accepts in accepting]
    number = len(set(classes))
    while True:
        signatures: dict[tuple[int, int, int], int] = {}
        classes = [
            signatures.setdefault((own, classes[a], classes[b]), len(signatures))
            for own, (a, b) in zip(classes, step, strict=True)
        ]
        if len(signatures) == number:
            break
        number = len(signatures)
    member = {own: state for state, own in enumerate(classes)}
    queue = [classes[0]]
    numbers = {classes[0]: 0}
    for own in queue:
        for target in step[member[own]]:
            if classes[target] not in numbers:
                numbers[classes[target]] = len(numbers)
                queue.append(classes[target])
    return TemplateAutomaton(
        tuple((numbers[classes[a]], numbers[classes[b]]) for a, b in (step[member[own]] for own in queue)),
        tuple(accepting[member[own]] for own in queue),
    )


# From the text to positions: Glushkov's construction, in which a state is the set of letters of the expression that may
# have been read last. Every letter stands in some word, since no expression has an empty language.


class Letter(NamedTuple):
    letters: str  # any one of these


class Sequenced(NamedTuple):
    parts: tuple[Node, ...]


class Choice(NamedTuple):
    parts: tuple[Node, ...]


class Repeated(NamedTuple):
    part: Node
    least: int
    most: int | None


Node: TypeAlias = Letter | Sequenced | Choice | Repeated


class _Fragment(NamedTuple):
    """A part of an expression: can it be empty, and the positions, as bits, at which its words begin and end."""

    empty: bool
    first: int
    last: int


_NOTHING = _Fragment(True, 0, 0)


class _Positions:
    """The letters of an expression, from 1, and which ones may follow which. Number 0 is the start."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.follow = [0]
        self.masks = [0, 0]  # by letter: the positions where it stands

    def after(self, positions: int) -> int:
        """All that may follow one of these."""
        found = 0
        while positions:
            lowest = positions & -positions
            found |= self.follow[lowest.bit_length() - 1]
            positions ^= lowest
        return found

    def read(self, node: Node) -> _Fragment:
        match node:
            case Letter(letters):
                bits = [self.placed("ab".index(letter)) for letter in letters]
                return _Fragment(False, sum(bits), sum(bits))
            case Choice(parts):
                fragments = [self.read(part) for part in parts]
                whole = fragments[0]
                for other in fragments[1:]:
                    whole = _Fragment(whole.empty or other.empty, whole.first | other.first, whole.last | other.last)
                return whole
            case Sequenced(parts):
                whole = _NOTHING
                for part in parts:
                    whole = self.joined(whole, self.read(part))
                return whole
            case Repeated(part, least, most):
                return self.repeated(part, least, most)

    def placed(self, letter: int) -> int:
        if len(self.follow) > MOST_POSITIONS:
            raise _too_big(f"this template has more than {MOST_POSITIONS} letters", self.text)
        self.masks[letter] |= 1 << len(self.follow)
        self.follow.append(0)
        return 1 << (len(self.follow) - 1)

    def linked(self, last: int, first: int) -> None:
        while last:
            lowest = last & -last
            self.follow[lowest.bit_length() - 1] |= first
            last ^= lowest

    def joined(self, left: _Fragment, right: _Fragment) -> _Fragment:
        self.linked(left.last, right.first)
        return _Fragment(
            left.empty and right.empty,
            left.first | right.first if left.empty else left.first,
            left.last | right.last if right.empty else right.last,
        )

    def looped(self, fragment: _Fragment) -> _Fragment:
        self.linked(fragment.last, fragment.first)
        return fragment

    def repeated(self, part: Node, least: int, most: int | None) -> _Fragment:
        """Written out: `x{2,4}` is `xxx?x?`, and `x{2,}` is `xx+`."""
        if most == 0:
            return _NOTHING
        whole = _NOTHING
        for copy in range(most or least or 1):
            fragment = self.read(part)
            if not fragment.first:
                return _NOTHING  # the empty word, as often as one likes
            if most is None and copy + 1 >= least:
                self.looped(fragment)
            whole = self.joined(whole, fragment._replace(empty=fragment.empty or copy >= least))
        return whole


_BOUNDS = re.compile(r"\{\s*([0-9]*)\s*(,?)\s*([0-9]*)\s*\}")
_REPEATS = {"*": (0, None), "+": (1, None), "?": (0, 1)}
_SYNTAX = "a template is made of a, b, `|`, `*`, `+`, `?`, `{m,n}` and parentheses; `.` and `[ab]` are `(a|b)`"


class _Parser:
    """Reads a template by recursive descent. Blanks mean nothing."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.at = 0
        self.nested = 0

    def whole(self) -> Node:
        if not self.peek():
            raise LawfulError("template-empty", "the template is blank", hint=_EXAMPLES)
        node = self.choice()
        if self.peek():
            raise self.error("this `)` has no matching `(`")
        return node

    def peek(self) -> str:
        """The next character that is not blank, or nothing."""
        while self.at < len(self.text) and self.text[self.at].isspace():
            self.at += 1
        return self.text[self.at : self.at + 1]

    def choice(self) -> Node:
        parts = [self.sequence()]
        while self.peek() == "|":
            self.at += 1
            parts.append(self.sequence())
        return parts[0] if len(parts) == 1 else Choice(tuple(parts))

    def sequence(self) -> Node:
        parts = []
        while (char := self.peek()) and char not in "|)":
            parts.append(self.repetition())
        if not parts:
            raise self.error("a letter or a group is missing here", hint="write `?` after an optional part")
        return parts[0] if len(parts) == 1 else Sequenced(tuple(parts))

    def repetition(self) -> Node:
        node = self.atom()
        if (bounds := self.bounds()) is None:
            return node
        # Elsewhere `a+?` is a lazy `a+`, in the academic syntax it is `a*`: whoever writes it should say which.
        if (char := self.peek()) and char in "*+?{":
            raise self.error("this repeats a repetition", hint="put parentheses around the inner one")
        return Repeated(node, *bounds)

    def bounds(self) -> tuple[int, int | None] | None:
        char = self.peek()
        if char in _REPEATS:
            self.at += 1
            return _REPEATS[char]
        if char != "{":
            return None
        match = _BOUNDS.match(self.text, self.at)
        if not match or not (match[1] or match[3]) or (match[3] and not match[2]):
            raise self.error("this is not a number of repetitions", hint="write `{2}`, `{2,}`, `{,3}` or `{2,3}`")
        if any(len(digits.lstrip("0")) > len(str(MOST_POSITIONS)) for digits in match.groups()):
            raise _too_big(f"this template has more than {MOST_POSITIONS} letters", self.text)
        least = int(match[1] or 0)
        most = int(match[3]) if match[3] else None if match[2] else least
        if most is not None and most < least:
            raise self.error(f"{least} repetitions at least, but {most} at most")
        self.at = match.end()
        return least, most

    def atom(self) -> Node:
        char = self.peek()
        if char in "ab.":
            self.at += 1
            return Letter("ab" if char == "." else char)
        if char == "(":
            return self.group()
        if char == "[":
            return self.set()
        if char.isalnum() or char == "_":
            word = re.compile(r"\w+").match(self.text, self.at)
            found = quoted(word[0] if word else char)
            raise self.error(f"{found} has other letters than a and b", slug="template-letters", hint=_EXAMPLES)
        if char in "*+?{":
            raise self.error(f"there is nothing to repeat before this `{char}`")
        raise self.error(f"{quoted(char)} has no meaning in a template", hint=_SYNTAX)

    def group(self) -> Node:
        opened = self.at
        self.at += 1
        self.nested += 1
        if self.nested > MOST_NESTED:
            raise _too_big(f"this template has more than {MOST_NESTED} nested parentheses", self.text)
        node = self.choice()
        if self.peek() != ")":
            self.at = opened
            raise self.error("this `(` has no matching `)`")
        self.at += 1
        self.nested -= 1
        return node

    def set(self) -> Node:
        end = self.text.find("]", self.at)
        inner = tidy(self.text[self.at + 1 : end]) if end > 0 else ""
        if not inner or set(inner) - {"a", "b"}:
            slug = "template-letters" if inner.isalnum() else "template-syntax"
            raise self.error("this is not a set of the letters a and b", slug=slug, hint="write `[ab]`, or `(a|b)`")
        self.at = end + 1
        return Letter("".join(sorted(set(inner))))

    def error(self, message: str, *, slug: str = "template-syntax", hint: str | None = None) -> LawfulError:
        return LawfulError(slug, message, where=f"{_where(self.text)}, column {self.at + 1}", hint=hint)


def _where(text: str) -> str:
    return f"template {quoted(text)}"


def _too_big(message: str, text: str | None = None) -> LawfulError:
    return LawfulError("template-too-big", message, where=text and _where(text), hint="remove or shorten a template")
