"""What can come first and what can follow: the table that chooses a rule by the next message, and its conflicts."""

from __future__ import annotations

import heapq
from collections.abc import Iterator, Sequence

from lawful.diagnostics import Diagnostic
from lawful.laws.grammar.resolved_grammar import Grammar, Rule

_MOST_SHOWN = 12  # messages of an example


class Analysis:
    """Nullable nonterminals, FIRST and FOLLOW sets. The end of the trace is the terminal after the last."""

    def __init__(self, grammar: Grammar) -> None:
        self.grammar = grammar
        self.end = len(grammar.terminals)
        count = len(grammar.nonterminals)
        self.rules = [rule for rule in grammar.rules if rule.head in grammar.reached]
        self.nullable = [False] * count
        self.firsts: list[set[int]] = [set() for _ in range(count)]
        self.follows: list[set[int]] = [set() for _ in range(count)]
        self.shortest: list[tuple[int, ...] | None] = [None] * count  # the shortest derived sequence of messages
        self.follows[grammar.start].add(self.end)
        while self._grow():
            pass

    def _grow(self) -> bool:
        """Apply each rule once more; was anything new found?"""
        grown = False
        for rule in reversed(self.rules):  # later definitions are mostly needed first
            head, symbols = rule.head, rule.symbols
            if not self.nullable[head] and self.is_nullable(symbols):
                self.nullable[head] = grown = True
            grown |= _add(self.firsts[head], self.first(symbols))
            for position, symbol in enumerate(symbols):
                if symbol < 0:
                    rest = symbols[position + 1 :]
                    after = self.follows[head] if self.is_nullable(rest) else set()
                    grown |= _add(self.follows[~symbol], self.first(rest) | after)
            words, known = self.shortest_of(symbols), self.shortest[head]
            if words is not None and (known is None or len(words) < len(known)):
                self.shortest[head] = words
                grown = True
        return grown

    def is_nullable(self, symbols: Sequence[int]) -> bool:
        return all(symbol < 0 and self.nullable[~symbol] for symbol in symbols)

    def first(self, symbols: Sequence[int]) -> set[int]:
        found: set[int] = set()
        for symbol in symbols:
            if symbol >= 0:
                return found | {symbol}
            found |= self.firsts[~symbol]
            if not self.nullable[~symbol]:
                break
        return found

    def shortest_of(self, symbols: Sequence[int]) -> tuple[int, ...] | None:
        """The fewest messages that the symbols stand for; None: no finite number."""
        found: list[int] = []
        for symbol in symbols:
            words = (symbol,) if symbol >= 0 else self.shortest[~symbol]
            if words is None:
                return None
            found += words
        return tuple(found)

    def selects(self, rule: Rule) -> set[int]:
        """The messages at which this rule is chosen."""
        found = self.first(rule.symbols)
        return found | self.follows[rule.head] if self.is_nullable(rule.symbols) else found

    def choices(self) -> list[dict[int, Rule]]:
        """The rule of each nonterminal for each next message, for a grammar without conflicts."""
        found: list[dict[int, Rule]] = [{} for _ in self.grammar.nonterminals]
        for rule in self.rules:
            for terminal in self.selects(rule):
                found[rule.head].setdefault(terminal, rule)
        return found

    # -- what is wrong ----------------------------------------------------------------------------

    def problems(self) -> Iterator[Diagnostic]:
        """Why the grammar cannot be used."""
        grammar = self.grammar
        endless = [index for index in sorted(self.grammar.reached) if self.shortest[index] is None]
        for index in endless:
            name = grammar.nonterminals[index]
            span = grammar.alternatives[index][0].alternative.span
            yield Diagnostic(
                "error",
                "view-endless",
                f"no finite number of messages is `{name}`: each alternative leads to another one",
                span,
                f"add an alternative that ends, as `{name} ::= epsilon | ...`",
            )
        if endless:
            return
        recursive = list(self._left_recursive())
        yield from recursive
        if not recursive:
            yield from self._conflicts()

    def _left_recursive(self) -> Iterator[Diagnostic]:
        grammar = self.grammar
        begins: dict[int, set[int]] = {index: set() for index in self.grammar.reached}
        for rule in self.rules:
            for symbol in rule.symbols:
                if symbol >= 0:
                    break
                begins[rule.head].add(~symbol)
                if not self.nullable[~symbol]:
                    break
        for index in sorted(self.grammar.reached):
            seen, pending = set(begins[index]), list(begins[index])
            while pending:
                new = begins[pending.pop()] - seen
                seen |= new
                pending += new
            if index in seen:
                name = grammar.nonterminals[index]
                span = next(
                    (rule.alternative.span for rule in grammar.alternatives[index] if rule.symbols[:1] == (~index,)),
                    grammar.alternatives[index][0].alternative.span,
                )
                yield Diagnostic(
                    "error",
                    "view-left-recursion",
                    f"`{name}` begins with `{name}` itself: a message would have to be read again and again",
                    span,
                    f"put it last: `{name} ::= epsilon | ... {name}`",
                )

    def _conflicts(self) -> Iterator[Diagnostic]:
        grammar = self.grammar
        for index in sorted(self.grammar.reached):
            taken: dict[int, Rule] = {}
            told: set[tuple[int, int]] = set()
            for rule in grammar.alternatives[index]:
                for terminal in sorted(self.selects(rule)):
                    other = taken.setdefault(terminal, rule)
                    if other is not rule and (other.number, rule.number) not in told:
                        told.add((other.number, rule.number))
                        yield self._conflict(other, rule, terminal)

    def _conflict(self, one: Rule, two: Rule, terminal: int) -> Diagnostic:
        grammar = self.grammar
        readings = [self._reading(rule, terminal) for rule in (one, two)]
        follows = any(terminal not in self.first(rule.symbols) for rule in (one, two))
        before = self._before(one.head, terminal if follows else None)
        shown = ["..."] * (len(before) > _MOST_SHOWN) + [grammar.terminal_name(each) for each in before[-_MOST_SHOWN:]]
        if terminal != self.end:
            name = grammar.terminal_name(terminal)
            place = f"in `{' '.join([*shown, name])}`, the last `{name}`" if shown else f"at the start, `{name}`"
        else:
            place = f"the end after `{' '.join(shown)}`" if shown else "no message at all"
        both_empty = follows and all(self.is_nullable(rule.symbols) for rule in (one, two))
        if both_empty:
            hint = "only one alternative may be no message at all"
        elif follows:
            hint = f"`{grammar.nonterminals[one.head]}` may be empty, and what follows it begins with the same message"
        else:
            hint = "write once what both begin with, and give the rest to a nonterminal of its own"
        return Diagnostic(
            "error",
            "view-conflict",
            f"{place} can be read in two ways: {readings[0]}, or {readings[1]}",
            two.alternative.span,
            hint,
            ((one.alternative.span, "the other reading"),),
        )

    def _reading(self, rule: Rule, terminal: int) -> str:
        text = f"`{self.grammar.rule_text(rule)}`"
        if terminal in self.first(rule.symbols):
            return f"as the first of {text}"
        head = self.grammar.nonterminals[rule.head]
        return f"after {text}" if terminal != self.end else f"as the end of `{head}` by {text}"

    def _before(self, nonterminal: int, follower: int | None) -> tuple[int, ...]:
        """The fewest messages after which this nonterminal can stand, with this terminal after it."""
        # Upwards from the nonterminal to the start; what must still follow is part of the state.
        queue: list[tuple[int, int, tuple[int, ...], int, bool]] = [(0, 0, (), nonterminal, follower is not None)]
        seen: set[tuple[int, bool]] = set()
        number = 0
        while queue:
            _, _, words, head, open_ = heapq.heappop(queue)
            if (head, open_) in seen:
                continue
            seen.add((head, open_))
            if head == self.grammar.start and (not open_ or follower == self.end):
                return words
            for rule in self.rules:
                for position, symbol in enumerate(rule.symbols):
                    if symbol != ~head:
                        continue
                    longer = (*(self.shortest_of(rule.symbols[:position]) or ()), *words)
                    rest = rule.symbols[position + 1 :]
                    states = []
                    if not open_ or follower in self.first(rest):
                        states.append(False)
                    if open_ and self.is_nullable(rest):
                        states.append(True)
                    for state in states:
                        number += 1
                        heapq.heappush(queue, (len(longer), number, longer, rule.head, state))
        return ()  # pragma: no cover


def _add(known: set[int], new: set[int]) -> bool:
    """Is anything of this new?"""
    size = len(known)
    known |= new
    return len(known) > size
