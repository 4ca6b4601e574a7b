"""What the text of a grammar cannot get wrong unseen: every name is looked up, every attribute has a value in time."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from lawful.diagnostics import Diagnostic, Span, did_you_mean
from lawful.laws.grammar.resolved_grammar import CHILD, GIVEN, HEAD, Grammar, LocatedAssertion, Ref, Term, refs
from lawful.laws.grammar.scope import Draft, Refused, Scope
from lawful.laws.grammar.syntax import Alternative, Constant, Definition, Production, Start, View

CONSTANTS: Mapping[str, Any] = {"EmptySet": [], "EmptyList": [], "EmptyMap": {}, "Nothing": None}
"""Names of the paper's language that mean a value of JSON."""


@dataclass
class Problems:
    """Errors and warnings about the view's text and about the grammar's, which may be two files."""

    view: list[Diagnostic] = field(default_factory=list)
    grammar: list[Diagnostic] = field(default_factory=list)


Notes = tuple[tuple[Span, str], ...]


class Checker:
    """Checks a whole grammar, and resolves its names.

    Constants come from the file of the view and from that of the grammar; `text` is that of the productions.
    """

    def __init__(
        self,
        view: View,
        constants: tuple[Sequence[Constant], Sequence[Constant]],
        starts: Sequence[Start],
        productions: Sequence[Production],
        text: str,
        problems: Problems,
    ) -> None:
        self.view = view
        self.text = text
        self.problems = problems
        self.starts = starts
        self.productions = productions
        self.failed = False
        self.terminals = {message.terminal.text: index for index, message in enumerate(view.messages)}
        heads = dict.fromkeys(production.head.text for production in productions)
        self.nonterminals = {name: index for index, name in enumerate(heads)}
        self.constants = {**CONSTANTS} | {each.name.text: each.value for own in constants for each in own}
        self.kinds: dict[tuple[str, str], str] = {}  # of attributes: GIVEN is inherited, CHILD synthesised
        self.kind_spans: dict[tuple[str, str], Span] = {}
        self.words: dict[str, list[Span]] = {}  # constants that nobody declared
        self.assertions: list[LocatedAssertion] = []
        self._duplicates()
        self._constants(constants[0], problems.view, ())
        self._constants(constants[1], problems.grammar, constants[0])

    # -- reporting --------------------------------------------------------------------------------

    def error(self, slug: str, message: str, span: Span, hint: str | None = None, notes: Notes = ()) -> None:
        self.failed = True
        self.problems.grammar.append(Diagnostic("error", slug, message, span, hint, notes))

    def warn(self, slug: str, message: str, span: Span, hint: str | None = None) -> None:
        self.problems.grammar.append(Diagnostic("warning", slug, message, span, hint))

    def refuse(self, slug: str, message: str, span: Span, hint: str | None = None, notes: Notes = ()) -> Refused:
        self.error(slug, message, span, hint, notes)
        return Refused()

    # -- the view ---------------------------------------------------------------------------------

    def _once(
        self, problems: list[Diagnostic], known: dict[Any, Span | None], key: Any, span: Span, what: str, hint: str
    ) -> None:
        """Report the second of two that have the same key. `known` has the places of the first ones in this text."""
        if key in known:
            self.failed = True
            first = known[key]
            notes = () if first is None else ((first, "the first one is here"),)
            problems.append(Diagnostic("error", "view-duplicate", what, span, hint, notes))
        known.setdefault(key, span)

    def _duplicates(self) -> None:
        problems = self.problems.view
        names: dict[Any, Span | None] = {}
        methods: dict[Any, Span | None] = {}
        for message in self.view.messages:
            name, span = message.terminal
            self._once(problems, names, name, span, f"two messages are called `{name}`", "give each a name of its own")
            key = message.direction, message.reply, message.method.text
            what = f"`{message.direction} {message.method.text}` is in the view already"
            self._once(problems, methods, key, message.span, what, "a message has one name")
            parameters: dict[Any, Span | None] = {}
            for parameter in message.parameters:
                name, span = parameter.name
                what = f"two parameters are called `{name}`"
                self._once(problems, parameters, name, span, what, "rename one of them")

    def _constants(self, own: Sequence[Constant], problems: list[Diagnostic], others: Sequence[Constant]) -> None:
        known: dict[Any, Span | None] = {each.name.text: None for each in others}
        for constant in own:
            name, span = constant.name
            what = f"the constant `{name}` has a value already"
            self._once(problems, known, name, span, what, "leave out one of them")

    # -- the whole --------------------------------------------------------------------------------

    def grammar(self) -> Grammar | None:
        """The grammar with its names resolved, or None if there are errors."""
        for production in self.productions:
            name = production.head.text
            if name in self.terminals:
                hint = "give the nonterminal another name"
                self.error("view-name-clash", f"`{name}` is a message of the view", production.head.span, hint)
        scopes = [
            Scope(self, production.head.text, alternative)
            for production in self.productions
            for alternative in production.alternatives
        ]
        self._infer_kinds(scopes)
        start = self._start()
        drafts = [scope.draft() for scope in scopes]
        if self.failed:
            return None
        inherited, synthesised = self._attributes(drafts)
        self._complete(drafts, inherited, synthesised)
        start_values = self._start_values(inherited[start])
        if self.failed:
            return None
        rules = [draft.rule(number, inherited, synthesised) for number, draft in enumerate(drafts)]
        if self.failed:
            return None
        grammar = Grammar(
            self.view.messages,
            tuple(self.nonterminals),
            tuple(rules),
            start,
            tuple(start_values),
            inherited,
            synthesised,
            tuple(self.assertions),
        )
        self._warnings(grammar)
        return grammar

    def _infer_kinds(self, scopes: list[Scope]) -> None:
        """Which attributes are inherited and which synthesised: by where they are defined."""
        unclear: list[tuple[str, Definition]] = []
        for scope in scopes:
            for definition in scope.alternative.definitions:
                owner = definition.owner.text
                if owner == scope.head and owner not in scope.places:
                    self._kind(owner, definition, CHILD)
                elif owner == scope.head:
                    unclear.append((owner, definition))
                elif (symbol := scope.symbol_of(owner)) in self.nonterminals:
                    self._kind(symbol, definition, GIVEN)
        for start in self.starts:
            for definition in start.definitions:
                self._kind(definition.owner.text, definition, GIVEN)
        # `S ::= a S (S.n = S.n + 1;)` can be read both ways; other definitions decide.
        for owner, definition in unclear:
            self.kinds.setdefault((owner, definition.attribute.text), GIVEN)

    def _kind(self, owner: str, definition: Definition, kind: str) -> None:
        key = owner, definition.attribute.text
        if self.kinds.setdefault(key, kind) != kind:
            words = {GIVEN: "given to", CHILD: "computed by"}
            self.error(
                "view-attribute-kind",
                f"`{owner}.{key[1]}` is {words[kind]} `{owner}` here and {words[self.kinds[key]]} it elsewhere",
                definition.span,
                "an attribute is either inherited or synthesised: use two",
                ((self.kind_spans[key], "elsewhere"),),
            )
        self.kind_spans.setdefault(key, definition.span)

    def _start(self) -> int:
        if not self.starts:
            return 0
        if len(self.starts) > 1:
            self.error("view-duplicate", "there are two `start` lines", self.starts[1].name.span, "remove one of them")
        name = self.starts[0].name
        if name.text not in self.nonterminals:
            self.error("view-unknown-symbol", f"`{name.text}` has no production", name.span, self.near(name.text))
            return 0
        return self.nonterminals[name.text]

    def near(self, name: str) -> str | None:
        """A hint at the symbol that was probably meant."""
        near = did_you_mean(name, (*self.terminals, *self.nonterminals))
        return f"did you mean `{near}`?" if near else None

    def _attributes(self, drafts: list[Draft]) -> tuple[tuple[tuple[str, ...], ...], tuple[tuple[str, ...], ...]]:
        """The attributes of each nonterminal that are read, in the order in which they were first defined."""
        read: set[tuple[str, str]] = set()
        for draft in drafts:
            for ref in draft.reads():
                if ref.kind == HEAD:
                    read.add((draft.scope.head, ref.attribute))
                elif ref.kind == CHILD:
                    read.add((draft.scope.symbols[ref.position], ref.attribute))
                elif ref.kind == GIVEN:
                    draft.local.add(ref)
        for (owner, attribute), span in self.kind_spans.items():
            used_here = any(
                draft.scope.symbols[ref.position] == owner and ref.attribute == attribute
                for draft in drafts
                for ref in draft.local
            )
            if (owner, attribute) not in read and not used_here:
                self.warn("view-unused-attribute", f"`{owner}.{attribute}` is never used", span, "leave it out")

        def of(name: str, kind: str) -> tuple[str, ...]:
            return tuple(
                a for (owner, a), found in self.kinds.items() if owner == name and found == kind and (owner, a) in read
            )

        names = list(self.nonterminals)
        return tuple(of(name, GIVEN) for name in names), tuple(of(name, CHILD) for name in names)

    def _complete(
        self,
        drafts: list[Draft],
        inherited: tuple[tuple[str, ...], ...],
        synthesised: tuple[tuple[str, ...], ...],
    ) -> None:
        """Does every attribute that is read have a value wherever it may be asked for?"""
        for draft in drafts:
            scope = draft.scope
            for position, name in enumerate(scope.symbols):
                if name not in self.nonterminals:
                    continue
                symbol = scope.alternative.symbols[position]
                for attribute in inherited[self.nonterminals[name]]:
                    if Ref(GIVEN, position, attribute) not in draft.given:
                        self.error(
                            "view-attribute-missing",
                            f"`{name}` uses the attribute `{attribute}`, which it is not given here",
                            symbol.name.span,
                            f"define it: `({symbol.called}.{attribute} = ...;)`",
                        )
            for ref in sorted(draft.local - set(draft.given)):
                child = scope.alternative.symbols[ref.position].name
                message = f"`{child.text}.{ref.attribute}` is read, but not given here"
                self.error("view-attribute-missing", message, child.span)
            for attribute in synthesised[self.nonterminals[scope.head]]:
                if attribute not in draft.results:
                    self.error(
                        "view-attribute-missing",
                        f"this alternative does not say what `{scope.head}.{attribute}` is",
                        scope.alternative.span,
                        f"define it: `({scope.head}.{attribute} = ...;)`",
                    )

    def _start_values(self, attributes: tuple[str, ...]) -> list[Term]:
        name = next(iter(self.nonterminals)) if not self.starts else self.starts[0].name.text
        given = {each.attribute.text: each for each in self.starts[0].definitions} if self.starts else {}
        empty = Scope(self, name, Alternative((), (), (), (0, 0)))
        terms: list[Term] = []
        for definition in given.values():
            if definition.owner.text != name:
                message = f"only attributes of `{name}` can be given here"
                self.error("view-not-here", message, definition.owner.span)
        for attribute in attributes:
            if attribute not in given:
                span = self.starts[0].name.span if self.starts else self.productions[0].head.span
                self.error(
                    "view-attribute-missing",
                    f"`{name}` uses the attribute `{attribute}`, which has no value at the start",
                    span,
                    f"begin the grammar with `start {name} ({name}.{attribute} = ...;)`",
                )
                continue
            try:
                term = empty.term(given[attribute].value)
            except Refused:
                continue
            if refs(term):
                message = "an attribute of the start cannot read other attributes"
                self.error("view-attribute-order", message, given[attribute].value.span, "give it a constant")
            terms.append(term)
        return terms

    # -- warnings ---------------------------------------------------------------------------------

    def _warnings(self, grammar: Grammar) -> None:
        used = {symbol for rule in grammar.rules for symbol in rule.symbols}
        for index, message in enumerate(self.view.messages):
            if index not in used:
                what = f"`{message.terminal.text}` is not used by any production: all such messages are rejected"
                hint = "leave it out of the view if it does not matter"
                span = message.terminal.span
                self.problems.view.append(Diagnostic("warning", "view-unused-message", what, span, hint))
        for name, index in self.nonterminals.items():
            if index not in grammar.reached:
                span = next(each.head.span for each in self.productions if each.head.text == name)
                self.warn("view-unreachable", f"the start does not lead to `{name}`", span)
        for word, spans in self.words.items():
            near = did_you_mean(word, (*(set(self.words) - {word}), *self.constants))
            if near is not None and (near not in self.words or len(self.words[near]) > len(spans)):
                hint = f"did you mean `{near}`? `const {word} = ...;` says that it is another"
                self.warn("view-similar-names", f"`{word}` is nearly `{near}`", spans[0], hint)
