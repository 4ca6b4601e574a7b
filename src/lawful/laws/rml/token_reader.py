"""Reads the tokens of a law one after the other, and words the errors about those that do not fit."""

from __future__ import annotations

from collections.abc import Callable
from typing import NoReturn, TypeVar

from lawful.diagnostics import Diagnostic, Span, quoted
from lawful.laws.rml.lexer import KEYWORDS, Token, keyword_hint, tokenize

T = TypeVar("T")

MAX_NESTING = 2_000
"""Groups, filters, branches or postfix operators inside each other; flat chains of operators may be of any length."""

NUMBERS = ("INT", "FLOAT")
"""The kinds of tokens that carry one."""


class SyntaxFailure(Exception):
    """Parsing cannot go on here. Without a diagnostic the reason was already reported."""

    def __init__(self, diagnostic: Diagnostic | None, offset: int) -> None:
        super().__init__()
        self.diagnostic = diagnostic
        self.offset = offset


class TokenReader:
    """A place in the text of a law."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.tokens, self.errors = tokenize(text)
        self.at = 0
        self.depth = 0
        # The failure of a parenthesis read as arguments that got furthest: the better explanation if nothing else fits.
        self.abandoned: SyntaxFailure | None = None
        self.starts = self._statement_starts()

    # -- tokens -----------------------------------------------------------------------------------

    @property
    def token(self) -> Token:
        return self.tokens[self.at]

    @property
    def kind(self) -> str:
        return self.tokens[self.at].kind

    def peek(self, ahead: int = 1) -> str:
        index = self.at + ahead
        return self.tokens[index].kind if index < len(self.tokens) else "END"

    def advance(self) -> Token:
        token = self.tokens[self.at]
        if token.kind != "END":
            self.at += 1
        return token

    def accept(self, kind: str) -> bool:
        if self.kind == kind:
            self.at += 1
            return True
        return False

    def expect(self, kind: str, wanted: str | None = None, hint: str | None = None) -> Token:
        if self.kind != kind:
            self.unexpected(wanted or f"`{kind}`", hint)
        return self.advance()

    @property
    def last_end(self) -> int:
        """Where the last token read ends."""
        return self.tokens[self.at - 1].end if self.at else 0

    # -- errors -----------------------------------------------------------------------------------

    def report(self, slug: str, message: str, span: Span, hint: str | None = None) -> None:
        """Note an error after which parsing goes on as if nothing had happened."""
        self.errors.append(Diagnostic("error", slug, message, span, hint))

    def fail(self, slug: str, message: str, span: Span, hint: str | None = None) -> NoReturn:
        raise SyntaxFailure(Diagnostic("error", slug, message, span, hint), span[0])

    def unexpected(self, wanted: str, hint: str | None = None) -> NoReturn:
        token = self.token
        if token.kind == "BAD":
            raise SyntaxFailure(None, token.start)
        if token.kind == "END" or self.at in self.starts:
            # What is missing is missing at the end of this statement, not at the start of the next one.
            place = self.last_end
            before = "the end of the text" if token.kind == "END" else f"the next statement, {quoted(token.text)}"
            self.fail("rml-syntax", f"expected {wanted} before {before}", (place, place), hint)
        self.fail("rml-syntax", f"expected {wanted}, found {token.describe()}", token.span, hint or keyword_hint(token))

    def descend(self) -> None:
        self.depth += 1
        if self.depth > MAX_NESTING:
            self.too_deep()

    def too_deep(self) -> NoReturn:
        message = f"nested more than {MAX_NESTING:,} levels deep"
        self.fail("rml-too-deep", message, self.token.span, "give a part of it a name of its own: `Part = ...;`")

    def separated(self, item: Callable[[], T]) -> tuple[T, ...]:
        """``x, y``: one or more."""
        items = [item()]
        while self.accept(","):
            items.append(item())
        return tuple(items)

    def names(self, what: str, closing: tuple[str, ...]) -> tuple[str, ...]:
        """``x, y``, all different."""
        names: list[str] = []
        while True:
            token = self.token
            if token.kind in KEYWORDS:
                self.unexpected(what, f"`{token.text}` is a keyword: choose another name")
            self.expect(
                "LID", what, "names of variables begin with a lower-case letter" if self.kind == "UID" else None
            )
            if token.text in names:
                self.report("rml-duplicate-name", f"`{token.text}` is declared twice", token.span)
            names.append(token.text)
            if not self.accept(","):
                if self.kind not in closing:
                    self.unexpected(f"`,` or `{closing[0]}`")
                return tuple(names)

    # -- where statements begin -------------------------------------------------------------------

    def _statement_starts(self) -> frozenset[int]:
        """The tokens that begin a statement beyond doubt: `matches` and `=` occur nowhere else."""
        starts: set[int] = set()
        tokens = self.tokens
        open_groups: list[int] = []
        opened_by: dict[int, int] = {}
        for index, token in enumerate(tokens):
            kind = token.kind
            if kind == "(":
                open_groups.append(index)
            elif kind == ")" and open_groups:
                opened_by[index] = open_groups.pop()
            elif kind == "matches" and index:
                head = index - 1
                if tokens[head].kind == "not" and head:
                    head -= 1
                if tokens[head].kind == ")":
                    head = opened_by.get(head, 0) - 1
                # `matches: 1` is a key of an object.
                if head >= 0 and tokens[head].kind in ("LID", "UID") and tokens[index + 1].kind != ":":
                    starts.add(head)
            elif kind in ("=", ">=") and index:
                head = index - 1
                if tokens[head].kind == ">" or kind == ">=":
                    head -= kind == "="
                    while head > 0 and tokens[head].kind in ("LID", ","):
                        head -= 1
                    if tokens[head].kind != "<" or not head:
                        continue
                    head -= 1
                if tokens[head].kind not in ("UID", "LID") or (kind == ">=" and not self._opens_line(head)):
                    continue
                starts.add(head)
        return frozenset(starts)

    def _opens_line(self, index: int) -> bool:
        if not index or self.tokens[index - 1].kind == ";":
            return True
        return "\n" in self.text[self.tokens[index - 1].end : self.tokens[index].start]
