"""The names that one alternative of a production can speak of, and the rule that it becomes."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from lawful.diagnostics import Span, did_you_mean, quoted
from lawful.laws.grammar.functions import find_function, function_names
from lawful.laws.grammar.resolved_grammar import (
    CHILD,
    GIVEN,
    HEAD,
    MESSAGE,
    Action,
    CallTerm,
    Check,
    ConstantTerm,
    Let,
    LocatedAssertion,
    OperationTerm,
    Ref,
    Rule,
    Term,
    attributes,
    known_at,
    refs,
)
from lawful.laws.grammar.syntax import (
    Alternative,
    Attribute,
    CallExpression,
    Definition,
    Expression,
    Literal_,
    Name,
    Operation,
    Word,
    conjuncts,
)

if TYPE_CHECKING:
    from lawful.laws.grammar.checker import Checker

_MOST_NAMES = 8


class Refused(Exception):
    """The term has an error, which is reported already."""


def listed(names: Iterable[str]) -> str:
    words = [f"`{name}`" for name in names]
    if len(words) > _MOST_NAMES:
        words = [*words[:_MOST_NAMES], "..."]
    return ", ".join(words)


class Scope:
    """The names that one alternative can speak of."""

    def __init__(self, checker: Checker, head: str, alternative: Alternative) -> None:
        self.checker = checker
        self.head = head
        self.alternative = alternative
        self.symbols: list[str] = []
        self.places: dict[str, list[int]] = {}  # names and labels
        self.labels: dict[str, str] = {}  # of symbols that have one
        for position, symbol in enumerate(alternative.symbols):
            name = symbol.name
            self.symbols.append(name.text)
            if name.text not in checker.terminals and name.text not in checker.nonterminals:
                hint = checker.near(name.text) or f"messages of the view are {listed(checker.terminals)}"
                message = f"`{name.text}` is neither a message of the view nor a nonterminal"
                checker.error("view-unknown-symbol", message, name.span, hint)
            if symbol.label is not None:
                label = symbol.label.text
                taken = label in checker.terminals or label in checker.nonterminals or label in self.places
                if taken:
                    message = f"`{label}` is the name of something else here"
                    checker.error("view-duplicate", message, symbol.label.span, "choose another label")
                self.labels[name.text] = label
            self.places.setdefault((symbol.label or name).text, []).append(position)

    def symbol_of(self, owner: str) -> str | None:
        places = self.places.get(owner)
        return self.symbols[places[0]] if places else None

    def draft(self) -> Draft:
        draft = Draft(self)
        for definition in self.alternative.definitions:
            try:
                self._define(draft, definition)
            except Refused:
                continue
        for assertion in self.alternative.assertions:
            # Each part of a conjunction is checked as soon as it can be, and is what a finding shows.
            for part in conjuncts(assertion.condition):
                try:
                    draft.asserted.append((self.term(part), part.span))
                except Refused:
                    continue
        return draft

    def _define(self, draft: Draft, definition: Definition) -> None:
        checker = self.checker
        owner, attribute = definition.owner, definition.attribute.text
        symbol = self._owner(owner)
        if symbol in checker.terminals:
            message = f"`{owner.text}` is a message: its attributes come with it"
            raise checker.refuse(
                "view-attribute-kind", message, definition.span, "define an attribute of a nonterminal"
            )
        if symbol not in checker.nonterminals:
            raise Refused  # reported where it stands
        term = self.term(definition.value)
        if checker.kinds.get((symbol, attribute)) == CHILD and owner.text == self.head:
            if attribute in draft.results:
                raise checker.refuse(
                    "view-duplicate", f"`{owner.text}.{attribute}` has a value already", definition.span
                )
            draft.results[attribute] = term
            return
        if owner.text not in self.places:
            raise Refused  # it is of two kinds, which is reported
        position = self._position(owner)
        ref = Ref(GIVEN, position, attribute)
        if ref in draft.given:
            raise checker.refuse("view-duplicate", f"`{owner.text}.{attribute}` has a value already", definition.span)
        draft.given[ref] = term, definition

    def _owner(self, owner: Name) -> str:
        """The symbol that a name stands for here."""
        symbol = self.symbol_of(owner.text)
        if symbol is not None:
            return symbol
        if owner.text == self.head:
            return owner.text
        hint = None
        if owner.text in self.labels:
            hint = f"here it is called `{self.labels[owner.text]}`"
        elif near := did_you_mean(owner.text, (*self.places, self.head)):
            hint = f"did you mean `{near}`?"
        else:
            hint = f"here there are {listed(dict.fromkeys((self.head, *self.places)))}"
        raise self.checker.refuse("view-not-here", f"`{owner.text}` is not part of this alternative", owner.span, hint)

    def _position(self, owner: Name) -> int:
        places = self.places[owner.text]
        if len(places) > 1:
            message = f"`{owner.text}` occurs {len(places)} times here: the name is ambiguous"
            hint = f"give each a label, as `first:{owner.text}`, and write `first` in expressions"
            raise self.checker.refuse("view-ambiguous-name", message, owner.span, hint)
        return places[0]

    # -- expressions ------------------------------------------------------------------------------

    def term(self, expression: Expression) -> Term:
        """An expression with its names resolved; all errors in it are reported."""
        checker = self.checker
        match expression:
            case Literal_(value=value):
                return ConstantTerm(value)
            case Word():
                return self._word(expression)
            case Attribute():
                return self._attribute(expression)
            case Operation(op=op):
                return OperationTerm(op, self._terms(expression.operands))
            case CallExpression(function=name):
                function = find_function(name.text)
                operands = self._terms(expression.operands)
                if function is None:
                    near = did_you_mean(name.text, function_names())
                    hint = "lawful.grammar.function registers one from Python, --set functions=FILE.py a file of them"
                    hint = f"did you mean `{near}`?" if near else hint
                    raise checker.refuse("view-unknown-function", f"unknown function `{name.text}`", name.span, hint)
                count = len(operands)
                if count < function.least or (function.most is not None and count > function.most):
                    wanted = str(function.least) if function.most == function.least else f"at least {function.least}"
                    if function.most is not None and function.most != function.least:
                        wanted = f"{function.least} to {function.most}"
                    message = f"`{name.text}` takes {wanted} argument{'s' * (wanted != '1')}, not {count}"
                    raise checker.refuse("view-arguments", message, expression.span)
                return CallTerm(function, operands)
        raise TypeError(expression)  # pragma: no cover

    def _terms(self, operands: tuple[Expression, ...]) -> tuple[Term, ...]:
        found: list[Term] = []
        refused = False
        for operand in operands:
            try:
                found.append(self.term(operand))
            except Refused:
                refused = True
        if refused:
            raise Refused
        return tuple(found)

    def _word(self, word: Word) -> Term:
        checker = self.checker
        symbol = self.symbol_of(word.name)
        if symbol in checker.terminals:
            return Ref(MESSAGE, self._position(Name(word.name, word.span)), "call")
        if symbol is not None or word.name in checker.nonterminals:
            message = f"`{word.name}` is a nonterminal, not a value"
            raise checker.refuse("view-not-a-value", message, word.span, f"name one of its attributes: `{word.name}.x`")
        if word.name in checker.terminals:
            self._owner(Name(word.name, word.span))
        if word.name in checker.constants:
            return ConstantTerm(checker.constants[word.name])
        if not word.name[0].isupper():
            candidates = (*self.places, *checker.constants)
            near = did_you_mean(word.name, candidates)
            hint = f"did you mean `{near}`?" if near else "constants begin with a capital letter, texts stand in quotes"
            raise checker.refuse("view-unknown-name", f"{quoted(word.name)} is not known here", word.span, hint)
        checker.words.setdefault(word.name, []).append(word.span)
        return ConstantTerm(word.name)

    def _attribute(self, expression: Attribute) -> Ref:
        checker = self.checker
        owner, attribute = expression.owner, expression.name
        symbol = self._owner(owner)
        if symbol in checker.terminals:
            known = attributes(checker.view.messages[checker.terminals[symbol]])
            if attribute.text not in known:
                raise self._unknown(owner, attribute, known)
            return Ref(MESSAGE, self._position(owner), attribute.text)
        if symbol not in checker.nonterminals:
            raise Refused  # reported where it stands
        kind = checker.kinds.get((symbol, attribute.text))
        if kind is None:
            raise self._unknown(owner, attribute, [name for of, name in checker.kinds if of == symbol])
        if kind == GIVEN and owner.text == self.head:
            return Ref(HEAD, -1, attribute.text)
        if kind == CHILD and owner.text not in self.places:
            message = f"`{owner.text}.{attribute.text}` is what this production computes: it has no value yet"
            raise checker.refuse("view-attribute-order", message, expression.span)
        return Ref(kind, self._position(owner), attribute.text)

    def _unknown(self, owner: Name, attribute: Name, known: list[str]) -> Refused:
        near = did_you_mean(attribute.text, known) or next(
            (name for name in known if name.startswith(attribute.text)), None
        )
        own = f"`{owner.text}` has {listed(known)}" if known else f"`{owner.text}` has no attributes"
        hint = f"did you mean `{near}`?" if near else own
        message = f"`{owner.text}` has no attribute `{attribute.text}`"
        return self.checker.refuse("view-unknown-attribute", message, attribute.span, hint)


class Draft:
    """An alternative with its names resolved, before it is known when each value is computed."""

    def __init__(self, scope: Scope) -> None:
        self.scope = scope
        self.given: dict[Ref, tuple[Term, Definition]] = {}
        self.results: dict[str, Term] = {}
        self.asserted: list[tuple[Term, Span]] = []
        self.local: set[Ref] = set()  # given to a child, and read here as well

    def reads(self) -> Iterator[Ref]:
        for term in (*(term for term, _ in self.given.values()), *self.results.values()):
            yield from refs(term)
        for term, _ in self.asserted:
            yield from refs(term)

    def rule(
        self,
        number: int,
        inherited: tuple[tuple[str, ...], ...],
        synthesised: tuple[tuple[str, ...], ...],
    ) -> Rule:
        """The rule, in which each assertion is checked as soon as its values are there."""
        scope, checker = self.scope, self.scope.checker
        size = len(scope.symbols)
        lets: list[list[Ref]] = [[] for _ in range(size + 1)]
        for ref, (term, definition) in self.given.items():
            head = checker.nonterminals[scope.symbols[ref.position]]
            if ref.attribute in inherited[head] or ref in self.local:
                self._in_time(ref, term, definition)
                lets[ref.position].append(ref)
        actions: list[list[Action]] = [[] for _ in range(size + 1)]
        for position, wanted in enumerate(lets):
            for ref in self._ordered(wanted):
                actions[position].append(Let(ref, self.given[ref][0]))
        firsts = [0] * (size + 1)
        for term, span in self.asserted:
            read = refs(term)
            position = max((known_at(ref) for ref in read), default=0)
            text = " ".join(checker.text[slice(*span)].split())
            check = Check(term, len(checker.assertions))
            checker.assertions.append(LocatedAssertion(number, span, text))
            # What does not need the child's values comes before them: they may have none.
            own = any(ref.kind == GIVEN and ref.position == position for ref in read)
            actions[position].insert(len(actions[position]) if own else firsts[position], check)
            if not own:
                firsts[position] += 1
        head = checker.nonterminals[scope.head]
        return Rule(
            number,
            head,
            tuple(
                checker.terminals[name] if name in checker.terminals else ~checker.nonterminals[name]
                for name in scope.symbols
            ),
            tuple(map(tuple, actions)),
            tuple(self.results[attribute] for attribute in synthesised[head]),
            scope.alternative,
        )

    def _in_time(self, ref: Ref, term: Term, definition: Definition) -> None:
        late = [other for other in refs(term) if known_at(other) > ref.position]
        if late:
            symbols = self.scope.alternative.symbols
            name = symbols[late[0].position].name.text
            self.scope.checker.error(
                "view-attribute-order",
                f"`{definition.owner.text}.{ref.attribute}` is needed before `{name}` has come",
                definition.span,
                "an attribute is computed from what stands to the left of its owner",
            )

    def _ordered(self, wanted: list[Ref]) -> list[Ref]:
        """Values given to one child, each after those that it is computed from."""
        done: list[Ref] = []
        rest = list(wanted)
        while rest:
            ready = [ref for ref in rest if not any(other in rest for other in refs(self.given[ref][0]))]
            if not ready:
                definition = self.given[rest[0]][1]
                message = f"`{definition.owner.text}.{rest[0].attribute}` is computed from itself"
                self.scope.checker.error("view-attribute-order", message, definition.span)
                return done
            done += ready
            rest = [ref for ref in rest if ref not in ready]
        return done
