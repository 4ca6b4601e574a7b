"""Patterns of events, as they stand in the text of a law."""

from __future__ import annotations

from typing import NoReturn

from lawful.diagnostics import Span, quoted
from lawful.laws.rml.lexer import CONSTANTS, KEYWORDS, Token
from lawful.laws.rml.recursion import Step
from lawful.laws.rml.syntax import DATA_LEVELS, AnyOf, ListPattern, Literal, Name, ObjectPattern, Pattern, Wildcard
from lawful.laws.rml.token_reader import NUMBERS, TokenReader


class PatternParser(TokenReader):
    """Reads patterns."""

    def pattern(self, *, top: bool = False) -> Step[Pattern]:
        """``p | q``; at the top of a declaration a variable was meant to be an event type."""
        self.descend()
        start = self.token.start
        options: list[Pattern] = []
        while True:
            if top and options and self.kind == "LID" and self.peek() == "(":
                self.mixed_body(self.token.span)
            option: Pattern = yield self.pattern_primary()
            options.append(option)
            if self.kind in DATA_LEVELS and self.kind not in ("||", "<"):
                self.unexpected(
                    "the end of the pattern",
                    "nothing is computed in a pattern: bind a variable, and compare it after `with`",
                )
            if not self.accept("|"):
                break
        self.depth -= 1
        return options[0] if len(options) == 1 else AnyOf(tuple(options), span=(start, self.last_end))

    def pattern_primary(self) -> Step[Pattern]:
        token = self.token
        match token.kind:
            case "{":
                found: Pattern = yield self.object_pattern()
                return found
            case "[":
                found = yield self.list_pattern()
                return found
            case "(":
                self.advance()
                found = yield self.pattern()
                self.expect(")", "`|` or `)`")
                return found
            case "_":
                self.advance()
                return Wildcard(span=token.span)
            case "LID":
                self.advance()
                return Name(token.text, span=token.span)
            case "-" if self.peek() in NUMBERS:
                self.advance()
                return self.negative(token, self.advance())
        if token.kind in NUMBERS or token.kind in ("STRING", *CONSTANTS):
            self.advance()
            return Literal(token.value, span=token.span)
        hint = "names of variables begin with a lower-case letter" if token.kind == "UID" else None
        self.unexpected("a pattern", hint)

    def negative(self, minus: Token, number: Token) -> Literal:
        value = number.value
        if not isinstance(value, int | float):  # unreachable: tokens of these kinds carry numbers
            raise TypeError(value)
        return Literal(-value, span=(minus.start, number.end))

    def object_pattern(self) -> Step[ObjectPattern]:
        start = self.advance().start
        fields: list[tuple[str, Pattern]] = []
        keys: set[str] = set()
        if not self.accept("}"):
            while True:
                key = self.token
                if key.kind not in ("LID", "UID", "STRING") and key.kind not in KEYWORDS:
                    hint = "quote a key that is not a name: `'a key': ...`" if key.kind in NUMBERS else None
                    self.unexpected("a key", hint)
                self.advance()
                text = key.value if key.kind == "STRING" else key.text
                if not isinstance(text, str):  # unreachable: string tokens carry strings
                    raise TypeError(text)
                self.expect(":", hint="an object pattern is `{key: pattern, ...}`")
                value: Pattern = yield self.pattern()
                if text in keys:
                    self.report("rml-duplicate-key", f"the key {quoted(text)} stands here twice", key.span)
                keys.add(text)
                fields.append((text, value))
                if not self.accept(","):
                    self.expect("}", "`,` or `}`")
                    break
                if self.kind == "...":
                    self.unexpected("a key", "an object may always have more keys: leave the dots out")
        return ObjectPattern(tuple(fields), span=(start, self.last_end))

    def list_pattern(self) -> Step[ListPattern]:
        start = self.advance().start
        items: list[Pattern] = []
        is_open = False
        if not self.accept("]"):
            while True:
                if self.accept("..."):
                    is_open = True
                    self.expect("]", hint="`...` is the last item of a list")
                    break
                item: Pattern = yield self.pattern()
                items.append(item)
                if not self.accept(","):
                    self.expect("]", "`,` or `]`", "write `, ...`" if self.kind == "..." else None)
                    break
        return ListPattern(tuple(items), is_open, span=(start, self.last_end))

    def mixed_body(self, span: Span) -> NoReturn:
        self.fail(
            "rml-mixed-body",
            "a declaration has either event types or patterns as its alternatives, not both",
            span,
            "write two declarations of this event type, one with the event types and one with the patterns",
        )
