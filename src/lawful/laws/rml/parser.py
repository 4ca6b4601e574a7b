"""The parser of RML: recursive descent that goes on after an error to find the others.

Each kind of thing in a law has a parser of its own, over that of what stands inside it; this one reads statements.
"""

from __future__ import annotations

from collections.abc import Callable

from lawful.diagnostics import Diagnostic, LawSourceError, Source, quoted
from lawful.laws.rml.data_parser import LITERALS
from lawful.laws.rml.expression_parser import EXPRESSION_HINTS, ExpressionParser
from lawful.laws.rml.lexer import keyword_hint
from lawful.laws.rml.recursion import with_deep_recursion
from lawful.laws.rml.syntax import AnyOf, Declaration, Equation, EventUse, Name, Pattern, Specification
from lawful.laws.rml.token_reader import SyntaxFailure

_END_HINTS = {
    ")": "there is no `(` for it",
    "}": "there is no `{` for it",
    ":": "`:` belongs to a filter, as in `event >> A : B`",
    ">>": "on the left of `>>` stands an event type, as in `event >> A`",
    "else": "there is no `if` for it",
}


def parse(text: str, *, name: str = "<law>") -> Specification:
    """The syntax tree of a law. Raises a `LawSourceError` with every syntax error found."""
    specification, errors = with_deep_recursion(lambda: _Parser(text).specification())
    if errors:
        # By place; the sort is stable, so errors of one place keep their order.
        raise LawSourceError(sorted(errors, key=lambda each: each.span), Source(text, name))
    return specification


class _Parser(ExpressionParser):
    """Reads statements."""

    def specification(self) -> tuple[Specification, list[Diagnostic]]:
        declarations: list[Declaration] = []
        equations: list[Equation] = []
        while self.kind != "END":
            start = self.at
            self.depth = 0
            self.abandoned = None
            try:
                if self.kind == "UID" and self._looks_like_declaration():
                    self._wrong_case("an event type", "lower", str.lower)
                    self.declaration()
                elif self.kind == "UID":
                    equations.append(self.equation())
                elif self.kind == "LID" and self.peek() in ("=", "<"):
                    self._wrong_case("an equation", "upper", str.upper)
                    self.equation()
                elif self.kind == "LID":
                    declaration = self.declaration()
                    declarations.append(declaration)
                    if equations:
                        self.report(
                            "rml-declaration-order",
                            f"the event type `{declaration.name}` is declared after an equation",
                            declaration.name_span,
                            f"move it above the equation `{equations[0].name}`",
                        )
                else:
                    self.unexpected(
                        "a declaration `name matches ...;` or an equation `Name = ...;`",
                        "a statement ends with one `;`" if self.kind == ";" else None,
                    )
            except SyntaxFailure as failure:
                self._recover(failure, start)
        return Specification(tuple(declarations), tuple(equations)), self.errors

    def _wrong_case(self, what: str, case: str, change: Callable[[str], str]) -> None:
        name = self.token.text
        message = f"the name of {what} begins with a {case}-case letter, found {quoted(name)}"
        hint = f"did you mean `{change(name[0])}{name[1:]}`?"
        self.report("rml-syntax", message.replace(" a upper", " an upper"), self.token.span, hint)

    def _looks_like_declaration(self) -> bool:
        return self.peek() in ("matches", "not") or (self.peek() == "(" and self.at in self.starts)

    def _recover(self, failure: SyntaxFailure, start: int) -> None:
        """Report why a statement could not be read, and skip to where the next one begins."""
        abandoned = self.abandoned
        if failure.diagnostic and abandoned and abandoned.diagnostic:
            # Of two that got equally far take the one with more to say, as for `a ()`.
            further = (abandoned.offset, abandoned.diagnostic.hint is not None) > (failure.offset, False)
            failure = abandoned if further else failure
        if failure.diagnostic:
            self.errors.append(failure.diagnostic)
        if self.at <= start and self.tokens[start].kind != "END":
            self.at = start + 1
            if self.tokens[start].kind == ";":
                return
        kinds = [token.kind for token in self.tokens[start : self.at]]
        depth = kinds.count("{") - kinds.count("}")
        while self.kind != "END" and self.at not in self.starts:
            kind = self.advance().kind
            depth += (kind == "{") - (kind == "}")
            if kind == ";" and depth <= 0:
                return

    def equation(self) -> Equation:
        name = self.advance()
        params: tuple[str, ...] = ()
        if self.accept("<"):
            params = self.names("a parameter", (">", ">="))
            # Longest match reads the end of `G<x>=` as one token.
            if not self.accept(">="):
                self.expect(">", "`,` or `>`")
                self.expect("=")
        else:
            hint = "parameters of an equation stand in `<...>`" if self.kind == "(" else None
            if self.kind == "==":
                hint = "an equation has a single `=`"
            self.expect("=", hint=hint)
        body = self.expression()
        end = self.end_of_statement()
        return Equation(name.text, params, body, span=(name.start, end))

    def end_of_statement(self) -> int:
        if self.kind != ";":
            hint = _END_HINTS.get(self.kind, EXPRESSION_HINTS.get(self.kind))
            self.unexpected("`;`", hint)
        return self.advance().end

    def declaration(self) -> Declaration:
        name = self.token
        head = self.event_use()
        negated = self.accept("not")
        if self.kind != "matches":
            close = keyword_hint(self.token)
            if self.kind == "=":
                close = (
                    "an event type is declared with `matches`; the name of an equation begins with an upper-case letter"
                )
            self.unexpected("`matches`" if negated else "`matches` or `not matches`", close)
        self.advance()
        params = self.head_parameters(head)
        body: Pattern | tuple[EventUse, ...]
        if self.kind == "LID":
            body = self.event_types()
        else:
            body = self.pattern(top=True)
            options = body.options if isinstance(body, AnyOf) else (body,)
            for option in options:
                if isinstance(option, Name) and option.name not in params:
                    self.mixed_body(option.span)
        guard = self.data() if self.accept("with") else None
        if guard is None and self.kind == "if":
            self.unexpected("`with` or `;`", "a condition on an event follows `with`")
        if self.kind != ";":
            hint = EXPRESSION_HINTS.get(self.kind)
            wanted = "an operator or `;`" if guard is not None else "`|`, `with` or `;`"
            if self.kind in ("\\/", "/\\"):
                hint = "alternatives in a declaration are written with `|`"
            elif self.kind in ("LID", "{") and guard is None:
                hint = "a declaration describes one event; sequences are written in equations, `Name = ...;`"
            self.unexpected(wanted, hint)
        return Declaration(name.text, params, negated, body, guard, span=(name.start, self.advance().end))

    def head_parameters(self, head: EventUse) -> tuple[str, ...]:
        params: list[str] = []
        for argument in head.args:
            if not isinstance(argument, Name):
                what = quoted(self.text[argument.span[0] : argument.span[1]])
                self.report(
                    "rml-head-parameter",
                    f"a parameter of a declaration is a plain variable, found {what}",
                    argument.span,
                    "put the value into the pattern, or compare a variable with it after `with`",
                )
                continue
            if argument.name in params:
                self.report("rml-duplicate-name", f"`{argument.name}` stands here twice", argument.span)
            params.append(argument.name)
        return tuple(params)

    def event_types(self) -> tuple[EventUse, ...]:
        uses: list[EventUse] = []
        while True:
            if self.kind in ("{", "[", "(", "_", "-", *LITERALS):
                self.mixed_body(self.token.span)
            if self.kind != "LID":
                self.unexpected("an event type")
            uses.append(self.event_use())
            if not self.accept("|"):
                return tuple(uses)
