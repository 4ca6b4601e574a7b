"""Sampling policies as text, the files `*.policy`: a parser whose errors name the place. `str(policy)` writes them."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable
from fractions import Fraction
from functools import cache
from typing import TYPE_CHECKING, Any, TypeAlias

from lawful.confidence.policy_automaton import (
    LEAST,
    UNITS,
    Auto,
    Policy,
    PolicyState,
    Problem,
    Transition,
    Trigger,
    problems,
)
from lawful.diagnostics import Diagnostic, LawSourceError, Source, Span, did_you_mean, quoted
from lawful.errors import LawfulError

if TYPE_CHECKING:
    from lark import Lark

Node: TypeAlias = Any  # a tree or a token of the parser's: the grammar says which, and of what

# Every word is a token only where the grammar wants it: a state may be called `all`, `on` or `state`.
_WORDS = (
    "policy start state sample all none in by overhead at least most after target clean on violation new rare code "
    "above below go"
).split()
_GROUPS = {
    "SAMPLES": ("sample", "samples"),
    **{f"{unit.upper()}S": (unit, f"{unit}s") for unit in UNITS},
}

_GRAMMAR = r"""
policy: POLICY NAME (start | state)*
start: START NAME
state: STATE NAME ":" SAMPLE _rate way*

_rate: all | none | part | auto
all: ALL
none: NONE
part: WHOLE IN WHOLE
auto: BY OVERHEAD share [AT LEAST bound] [AT MOST bound]
bound: _bound
_bound: all | part

way: _when GO NAME
_when: target | samples | time | violation | new_code | rare_code | above | below
target: AFTER TARGET
samples: AFTER WHOLE CLEAN SAMPLES
time: AFTER (WHOLE | NUMBER) (SECONDS | MINUTES | HOURS | DAYS)
violation: ON VIOLATION
new_code: ON NEW CODE
rare_code: ON RARE CODE
above: ON OVERHEAD ABOVE share
below: ON OVERHEAD BELOW share
share: (WHOLE | NUMBER) "%"

NAME: /[^\W\d][\w-]*/
NUMBER.2: /[0-9][0-9_]*(\.[0-9]+|\/[0-9]+)/
WHOLE.1: /[0-9][0-9_]*(?![0-9_]*[.\/])/
COMMENT: /#[^\n\r]*/
%ignore COMMENT
%ignore /\s+/
"""

_TRIGGERS = {
    "target": Trigger.TARGET,
    "samples": Trigger.TARGET,
    "time": Trigger.TIME,
    "violation": Trigger.VIOLATION,
    "new_code": Trigger.NEW_CODE,
    "rare_code": Trigger.RARE_CODE,
    "above": Trigger.OVERHEAD_ABOVE,
    "below": Trigger.OVERHEAD_BELOW,
}

_WHAT = {
    "NAME": "a name",
    "NUMBER": "a number",
    "WHOLE": "a whole number",
    "COLON": "`:`",
    "PERCENT": "`%`",
    "$END": "the end",
}
_SHOWN = {  # an example for each set of words one of which must come
    frozenset(["POLICY"]): "a policy begins with its name, as in `policy careful`",
    frozenset(["SAMPLE"]): "a state says how many objects it takes, as in `state watch: sample 1 in 8`",
    frozenset(["ALL", "NONE", "WHOLE", "BY"]): "`sample all`, `none`, `1 in 8`, or `by overhead 5%`",
    frozenset(["ALL", "WHOLE"]): "a rate is `all`, or as in `1 in 8`",
    frozenset(["IN"]): "a rate is written as in `1 in 8`",
    frozenset(["VIOLATION", "NEW", "RARE", "OVERHEAD"]): (
        "`on violation`, `on new code`, `on rare code`, `on overhead above 5%` or `below 5%`"
    ),
    frozenset(["TARGET", "NUMBER", "WHOLE"]): "`after target`, `after 1000 clean samples` or `after 10 minutes`",
    frozenset(["CLEAN", "SECONDS", "MINUTES", "HOURS", "DAYS"]): "as in `1000 clean samples`, or `10 minutes`",
    frozenset(["SECONDS", "MINUTES", "HOURS", "DAYS"]): "as in `1.5 minutes`",
    frozenset(["GO"]): "what happens is followed by where to go, as in `on violation go watch`",
    frozenset(["PERCENT"]): "an overhead is in percent, as in `5%`",
}
_MOST_DIGITS = 80
_EXAMPLES = {"policy": "careful", "state": "watch: sample all"}
_COMMENT = re.compile(r"#[^\n\r]*")
_LEADING = re.compile(r"[\w-]+(?:[./]\w+)*|\S|$")


def read(path: str | os.PathLike[str]) -> Policy:
    """The policy in a file."""
    name = os.fspath(path)
    try:
        with open(name, "rb") as file:
            content = file.read()
    except FileNotFoundError:
        raise LawfulError("policy-not-found", "there is no such file", where=name, hint=_nearby(name)) from None
    except OSError as error:
        raise LawfulError("policy-not-readable", error.strerror or str(error), where=name) from None
    except ValueError as error:  # a null byte in the name
        raise LawfulError("policy-not-found", f"no file can have this name: {error}", where=repr(name)) from None
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        message = f"a policy is text in UTF-8, this has the byte 0x{content[error.start]:02x}"
        raise LawfulError("policy-not-text", message, where=f"{name}:{line}") from None
    return parse(text, name)


def parse(text: str, name: str = "<policy>") -> Policy:
    """Read a policy; `name` is what errors call the text. Raises LawSourceError, with all that is wrong."""
    return _Reader(Source(text, name)).policy()


def _nearby(name: str) -> str | None:
    folder, base = os.path.split(name)
    try:
        names = [entry for entry in os.listdir(folder or ".") if entry.endswith(".policy")]
    except OSError:
        return None
    similar = did_you_mean(base, names)
    return f"did you mean `{os.path.join(folder, similar)}`?" if similar else None


@cache
def _parser() -> Lark:
    # Who has no policy of his own must not pay for the import.
    from lark import Lark

    terminals = {word.upper(): (word,) for word in _WORDS} | _GROUPS
    # A word ends where no name could go on: `goon` is not `go on`.
    words = [f"{name}.3: /({'|'.join(words)})(?![\\w-])/" for name, words in terminals.items()]
    return Lark("\n".join([_GRAMMAR, *words]), start="policy", parser="lalr", propagate_positions=True)


class _Reader:
    """One text on its way to a policy."""

    def __init__(self, source: Source) -> None:
        self.source = source
        self.found: list[Diagnostic] = []
        self.spans: dict[tuple[str, int], Span] = {}

    def policy(self) -> Policy:
        tree = self.tree()
        name, *parts = tree.children[1:]
        self.spans["name", 0] = self.spans["start", 0] = _span(name)
        starts: list[Node] = []
        states: list[PolicyState] = []
        ways: list[Transition] = []
        for part in parts:
            if part.data == "start":
                starts.append(part.children[1])
                continue
            _, state, _, rate, *leaving = part.children
            self.spans["state", len(states)] = _span(state)
            self.spans["rate", len(states)] = _span(rate)
            states.append(PolicyState(str(state), self.rate(rate)))
            for way in leaving:
                ways.append(self.way(str(state), way, len(ways)))
        for again in starts[1:]:
            message = "a policy starts in one state only"
            self.error("policy-two-starts", message, _span(again), notes=((_span(starts[0]), "it starts here"),))
        start = str(starts[0]) if starts else None
        if starts:
            self.spans["start", 0] = _span(starts[0])
        for problem in problems(str(name), states, start, ways):
            self.add(problem)
        if self.found:
            raise LawSourceError(sorted(self.found, key=lambda each: each.span), self.source)
        return Policy(str(name), tuple(states), start or "", tuple(ways))

    def add(self, problem: Problem) -> None:
        span = self.spans[problem.part]
        if any(each.span == span for each in self.found):
            return  # one complaint about a place is enough
        notes = () if problem.other is None else ((self.spans[problem.other], "the other one is here"),)
        self.error(problem.slug, problem.message, span, hint=problem.hint, notes=notes)

    def rate(self, tree: Node) -> Fraction | Auto:
        match tree.data:
            case "all":
                return Fraction(1)
            case "none":
                return Fraction(0)
            case "part":
                return self.part(tree)
        share, *bounds = (child for child in tree.children if child is not None and _is_tree(child))
        words = [str(child) for child in tree.children if child in ("least", "most")]
        rates = {"least": LEAST, "most": Fraction(1)}
        for word, (bound,) in zip(words, (each.children for each in bounds), strict=True):
            rates[word] = Fraction(1) if bound.data == "all" else self.part(bound)
        return Auto(self.number(share.children[0]) / 100, rates["least"], rates["most"])

    def part(self, tree: Node) -> Fraction:
        some, _, every = tree.children
        if not (sides := self.number(every)):
            self.error("policy-rate", "there is no 1 in 0", _span(every), hint="`sample none` takes no object")
            return Fraction(1)  # whatever: the text is refused
        return self.number(some) / sides

    def way(self, state: str, tree: Node, number: int) -> Transition:
        when, _, target = tree.children
        self.spans["source", number] = self.spans["trigger", number] = self.spans["amount", number] = _span(when)
        self.spans["target", number] = _span(target)
        return Transition(state, _TRIGGERS[when.data], str(target), self.amount(when))

    def amount(self, when: Node) -> int | Fraction | None:
        children = when.children
        match when.data:
            case "samples":
                return int(self.number(children[1]))
            case "time":
                return self.number(children[1]) * UNITS[children[2].removesuffix("s")]
            case "above" | "below":
                return self.number(children[-1].children[0]) / 100
        return None

    def number(self, token: Node) -> Fraction:
        digits = str(token).replace("_", "")
        if len(digits) > _MOST_DIGITS:
            self.error("policy-amount", f"a number has {_MOST_DIGITS} digits at most", _span(token))
            return Fraction(1)
        if "/" in digits and not int(digits.partition("/")[2]):
            self.error("policy-amount", "nothing can be divided by 0", _span(token))
            return Fraction(1)
        return Fraction(digits)

    def error(
        self, slug: str, message: str, span: Span, *, hint: str | None = None, notes: Iterable[tuple[Span, str]] = ()
    ) -> None:
        self.found.append(Diagnostic("error", slug, message, span, hint, tuple(notes)))

    # -- syntax ---------------------------------------------------------------------------------------

    def tree(self) -> Node:
        parser = _parser()
        from lark.exceptions import UnexpectedCharacters, UnexpectedToken

        try:
            return parser.parse(self.source.text)
        except UnexpectedToken as error:
            wanted = error.accepts or error.expected
            at = len(self.source.text) if error.token.type == "$END" else error.token.start_pos or 0
        except UnexpectedCharacters as error:
            wanted = error.allowed or set()
            at = error.pos_in_stream
        raise self.syntax_error(at, set(wanted)) from None

    def syntax_error(self, at: int, wanted: set[str]) -> LawSourceError:
        match = _LEADING.match(self.source.text, at)
        word = match[0] if match else ""
        before = _COMMENT.sub("", self.source.text[:at]).split()
        if not word:
            at = len(self.source.text.rstrip())  # below something, not in the void after it
        span = (at, at + len(word))
        found = f"not {quoted(word)}" if word else "but the text ends"
        if wanted == {"NAME"} and before[-1] in _EXAMPLES:
            message = f"a {before[-1]} needs a name, {found}"
            self.error("policy-nameless", message, span, hint=f"as in `{before[-1]} {_EXAMPLES[before[-1]]}`")
        else:
            self.error("policy-syntax", f"{_wanted(wanted)} is expected here, {found}", span, hint=_hint(word, wanted))
        return LawSourceError(self.found, self.source)


def _wanted(terminals: set[str]) -> str:
    words = [_WHAT.get(name, f"`{_spelled(name)}`") for name in sorted(terminals - {"COMMENT"}, key=_order)]
    if "a whole number" in words and "a number" in words:
        words.remove("a whole number")
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} or {words[-1]}"


def _hint(word: str, wanted: set[str]) -> str | None:
    words = [each for name in wanted if name not in _WHAT for each in _GROUPS.get(name, (name.lower(),))]
    similar = did_you_mean(word, words) if word else None
    return f"did you mean `{similar}`?" if similar else _SHOWN.get(frozenset(wanted))


def _spelled(terminal: str) -> str:
    return _GROUPS[terminal][1] if terminal in _GROUPS else terminal.lower()


def _order(terminal: str) -> tuple[int, str]:
    """Words as the grammar names them; the end last."""
    return (terminal == "$END", f"{_GRAMMAR.find(terminal):05}")


def _is_tree(child: Node) -> bool:
    return not isinstance(child, str)


def _span(part: Node) -> Span:
    """Where a token or a tree stands."""
    if _is_tree(part):
        return part.meta.start_pos, part.meta.end_pos
    return part.start_pos, part.end_pos
