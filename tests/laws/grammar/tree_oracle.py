"""An independent reading of grammars: lark's Earley parser over the whole trace, attributes computed on the tree.

It shares nothing with the package: a grammar is made here as data, printed once as a view and once for lark, and its
expressions are computed by a few lines of their own.
"""

from __future__ import annotations

import random
from dataclasses import dataclass, field
from typing import Any

from lark import Lark, Token, Tree
from lark.exceptions import UnexpectedCharacters, UnexpectedEOF, UnexpectedInput, UnexpectedToken

TERMINALS = "abcd"

Ref = tuple[str, int]  # ("head", -1): its inherited attribute; ("message", p); ("child", p): what it has computed
Expression = Any  # an int, a Ref, or (op, left, right)


@dataclass
class Rule:
    head: int
    symbols: list[str]  # "a", or "N2"
    given: dict[int, Expression] = field(default_factory=dict)
    result: Expression = None
    asserted: list[Expression] = field(default_factory=list)


@dataclass
class RandomGrammar:
    rules: list[Rule]
    inherited: set[int]
    synthesised: set[int]
    start_value: int

    # -- as text ----------------------------------------------------------------------------------

    def view(self) -> str:
        messages = ", ".join(
            f"{'send' if index % 2 else 'receive'} Thing.{name}(Int x) {name}" for index, name in enumerate(TERMINALS)
        )
        lines = [f"view Random specifies Group {{ {messages} }}"]
        if 0 in self.inherited:
            lines.append(f"start N0 (N0.i = {self.start_value};)")
        for head in sorted({rule.head for rule in self.rules}):
            alternatives = [self._alternative(rule) for rule in self.rules if rule.head == head]
            lines.append(f"N{head} ::= " + "\n   | ".join(alternatives))
        return "\n".join(lines) + "\n"

    def _alternative(self, rule: Rule) -> str:
        words = [f"p{index}:{symbol}" for index, symbol in enumerate(rule.symbols)] or ["epsilon"]
        words += [f"(p{position}.i = {self._text(rule, value)};)" for position, value in rule.given.items()]
        if rule.result is not None:
            words.append(f"(N{rule.head}.s = {self._text(rule, rule.result)};)")
        words += [f"{{assert {self._text(rule, each)};}}" for each in rule.asserted]
        return " ".join(words)

    def _text(self, rule: Rule, value: Expression) -> str:
        if isinstance(value, int):
            return str(value)
        if len(value) == 2:
            kind, position = value
            return {"head": f"N{rule.head}.i", "message": f"p{position}.x", "child": f"p{position}.s"}[kind]
        op, left, right = value
        return f"({self._text(rule, left)} {op} {self._text(rule, right)})"

    def lark(self) -> Lark:
        lines = []
        for head in sorted({rule.head for rule in self.rules}):
            alternatives = [
                f"{' '.join(symbol.upper() if symbol in TERMINALS else symbol.lower() for symbol in rule.symbols)}"
                f" -> rule{number}"
                for number, rule in enumerate(self.rules)
                if rule.head == head
            ]
            lines.append(f"n{head}: " + " | ".join(alternatives))
        lines += [f'{name.upper()}: "{name}"' for name in TERMINALS]
        return Lark("\n".join(lines), start="n0", parser="earley", lexer="basic", ambiguity="explicit")

    # -- as a judge -------------------------------------------------------------------------------

    def tree(self, parser: Lark, trace: list[tuple[str, int]]) -> Tree[Token] | int:
        """The tree, or the number of the first message that cannot be (one more than there are: the end)."""
        try:
            return parser.parse("".join(name for name, _ in trace))
        except UnexpectedEOF:
            return len(trace) + 1
        except UnexpectedToken as error:
            return len(trace) + 1 if error.token.type == "$END" else (error.token.start_pos or 0) + 1
        except (UnexpectedCharacters, UnexpectedInput) as error:
            return int(error.pos_in_stream or 0) + 1

    def accepts(self, parser: Lark, trace: list[tuple[str, int]]) -> bool:
        tree = self.tree(parser, trace)
        if isinstance(tree, int):
            return False
        assert not any(node.data == "_ambig" for node in tree.iter_subtrees()), "two readings"
        return self._holds(tree, self.start_value, [x for _, x in trace])[0]

    def _holds(self, tree: Tree[Token], inherited: int, values: list[int]) -> tuple[bool, int]:
        rule = self.rules[int(tree.data.removeprefix("rule"))]
        known: dict[Ref, int] = {("head", -1): inherited}
        holds = True
        for position, child in enumerate(tree.children):
            if isinstance(child, Token):
                known["message", position] = values[child.start_pos or 0]
            else:
                given = compute(rule.given[position], known) if position in rule.given else 0
                fine, known["child", position] = self._holds(child, given, values)
                holds = holds and fine
        holds = holds and all(compute(each, known) for each in rule.asserted)
        return holds, 0 if rule.result is None else compute(rule.result, known)


def compute(value: Expression, known: dict[Ref, int]) -> Any:
    if isinstance(value, int):
        return value
    if len(value) == 2:
        return known[value]
    op, left, right = value
    one, two = compute(left, known), compute(right, known)
    return {
        "+": lambda: one + two,
        "-": lambda: one - two,
        "==": lambda: one == two,
        "!=": lambda: one != two,
        "<=": lambda: one <= two,
        "||": lambda: one or two,
    }[op]()


# -- random ---------------------------------------------------------------------------------------


def random_grammar(dice: random.Random, *, regular: bool) -> RandomGrammar:
    """A grammar that may well have conflicts; if regular, a rule has at most one nonterminal, at its end."""
    count = dice.randint(1, 4)
    inherited = {index for index in range(count) if dice.random() < 0.6}
    synthesised = set() if regular else {index for index in range(count) if dice.random() < 0.5}
    rules: list[Rule] = []
    for head in range(count):
        firsts = dice.sample(TERMINALS, dice.randint(1, 3))
        bodies = [[first, *_rest(dice, count, regular)] for first in firsts]
        if dice.random() < 0.7:
            bodies.append([])
        if not regular and head + 1 < count and dice.random() < 0.4:  # later ones only: no left recursion
            bodies[dice.randrange(len(bodies))] = [f"N{dice.randrange(head + 1, count)}", *_rest(dice, count, regular)]
        rules += [_rule(dice, head, body, inherited, synthesised) for body in bodies]
    return RandomGrammar(_reached(rules), inherited, synthesised, dice.randint(0, 3))


def _reached(rules: list[Rule]) -> list[Rule]:
    heads = {0}
    while True:
        found = {int(symbol[1:]) for rule in rules if rule.head in heads for symbol in rule.symbols if symbol[0] == "N"}
        if found <= heads:
            return [rule for rule in rules if rule.head in heads]
        heads |= found


def _rest(dice: random.Random, count: int, regular: bool) -> list[str]:
    if regular:
        words = [dice.choice(TERMINALS) for _ in range(dice.choice([0, 0, 1]))]
        return [*words, f"N{dice.randrange(count)}"] if dice.random() < 0.8 else words
    return [
        dice.choice(TERMINALS) if dice.random() < 0.5 else f"N{dice.randrange(count)}"
        for _ in range(dice.choice([0, 1, 1, 2, 3]))
    ]


def _rule(dice: random.Random, head: int, symbols: list[str], inherited: set[int], synthesised: set[int]) -> Rule:
    rule = Rule(head, symbols)
    known: list[Ref] = [("head", -1)] if head in inherited else []
    for position, symbol in enumerate(symbols):
        if symbol in TERMINALS:
            known.append(("message", position))
            continue
        child = int(symbol[1:])
        if child in inherited:
            rule.given[position] = _value(dice, known)
        if child in synthesised:
            known.append(("child", position))
    if head in synthesised:
        rule.result = _value(dice, known)
    for _ in range(dice.choice([0, 0, 0, 1, 1, 2])):
        condition = (dice.choice(["==", "!=", "<=", "<="]), _value(dice, known), _value(dice, known))
        if dice.random() < 0.3:
            condition = ("||", condition, ("!=", _value(dice, known), _value(dice, known)))
        rule.asserted.append(condition)
    return rule


def _value(dice: random.Random, known: list[Ref]) -> Expression:
    pick = dice.random()
    if not known or pick < 0.15:
        return dice.randint(0, 3)
    if pick < 0.8:
        return dice.choice(known)
    return dice.choice("+-"), dice.choice(known), dice.choice([dice.choice(known), dice.randint(0, 2)])


def random_trace(dice: random.Random, grammar: RandomGrammar, most: int) -> list[tuple[str, int]]:
    """A derivation, cut where it gets long, and often spoiled."""
    words: list[str] = []
    pending = ["N0"]
    while pending and len(words) < most:
        symbol = pending.pop(0)
        if symbol in TERMINALS:
            words.append(symbol)
            continue
        choices = [rule.symbols for rule in grammar.rules if rule.head == int(symbol[1:])]
        if len(pending) > 6:
            choices = [min(choices, key=len)]
        pending = [*dice.choice(choices), *pending][:30]
    if words and dice.random() < 0.3:
        words[dice.randrange(len(words))] = dice.choice(TERMINALS)
    if words and dice.random() < 0.15:
        del words[dice.randrange(len(words))]
    few = dice.random() < 0.5  # with few values, assertions hold more often
    return [(word, dice.randint(0, 1 if few else 3)) for word in words]


def events(trace: list[tuple[str, int]], group: int = 1) -> list[dict[str, Any]]:
    return [
        {
            "event": "send" if TERMINALS.index(name) % 2 else "receive",
            "name": f"Thing.{name}",
            "group": "Group",
            "groupId": group,
            "args": [x],
            "argIds": [None],
        }
        for name, x in trace
    ]
