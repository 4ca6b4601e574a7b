"""RML's tokens. Bad input becomes a diagnostic and, where the intention is clear, still a token."""

from __future__ import annotations

import re
from dataclasses import dataclass

from lawful.diagnostics import Diagnostic, Span, did_you_mean, printable, quoted
from lawful.laws.rml.syntax import Scalar

KEYWORDS = frozenset("not matches with empty all let var if else abs sin cos tan min max true false null".split())
CONSTANTS: dict[str, bool | None] = {"true": True, "false": False, "null": None}
ESCAPES = {"t": "\t", "r": "\r", "n": "\n", "'": "'", "\\": "\\"}
MAX_DIGITS = 600  # Python itself refuses to read integers far longer than this

_TOKEN = re.compile(
    r"""
      (?P<space>   [ \t\r\n\f]+ | //[^\r\n]* )
    | (?P<upper>   [A-Z][A-Za-z0-9_]* )
    | (?P<lower>   [a-z][A-Za-z0-9_]* )
    | (?P<float>   [0-9]+\.[0-9]+ )
    | (?P<int>     [0-9]+ )
    | (?P<string>  '(?:[^'\\\r\n]|\\[^\r\n])*' )
    | (?P<double>  "(?:[^"\\\r\n]|\\[^\r\n])*" )
    | (?P<open>    ['"][^\r\n]* )
    | (?P<block>   /\*(?s:.*?)(?:\*/|\Z) )
    | (?P<name>    _[A-Za-z0-9_]+ )
    | (?P<symbol>  \.\.\. | >> | >= | <= | == | != | && | \|\| | /\\ | \\/ | [-{}()\[\]<>=;:,|*+?!^/_] )
    """,
    re.VERBOSE,
)
_ESCAPE = re.compile(r"\\(.)", re.DOTALL)

_CHARACTER_HINTS = {
    "&": r"intersection is `/\`, `and` in a condition is `&&`",
    "\u2227": r"intersection is written `/\`",
    "\u2228": r"union is written `\/`",
    "\\": r"union is `\/`, intersection is `/\`",
    "#": "a comment begins with `//`",
    "~": "an event type is negated in its declaration: `name not matches ...;`",
    "%": "RML has no remainder operator; the operators are `^ * / + -`",
    ".": "an open list ends with `...`, as in `[x, ...]`",
    "…": "an open list ends with three dots, as in `[x, ...]`",
    **dict.fromkeys("\u2018\u2019\u201c\u201d", "write strings in straight single quotes: `'text'`"),
    "≤": "write `<=`",
    "≥": "write `>=`",
    "≠": "write `!=`",
    "\u00a0": "this is a no-break space: write a plain one",
}


@dataclass(frozen=True, slots=True)
class Token:
    """
    A piece of the text. The kind of a keyword or symbol is its own text; the others are ``UID``, ``LID``, ``INT``,
    ``FLOAT``, ``STRING``, ``BAD`` (already reported) and ``END``.
    """

    kind: str
    text: str
    start: int
    end: int
    value: Scalar = None

    @property
    def span(self) -> Span:
        return self.start, self.end

    def describe(self) -> str:
        """The token as a message names it."""
        match self.kind:
            case "END":
                return "the end of the text"
            case "STRING":
                return f"the string {quoted(self.text)}"
            case "INT" | "FLOAT":
                return f"the number {quoted(self.text)}"
            case kind if kind in KEYWORDS:
                return f"the keyword `{kind}`"
            case _:
                return quoted(self.text)


def tokenize(text: str) -> tuple[list[Token], list[Diagnostic]]:
    """All tokens, the last of kind ``END``, and what is wrong with them."""
    lexer = _Lexer(text)
    position = 1 if text.startswith("\ufeff") else 0
    while position < len(text):
        position = lexer.token_at(position)
    lexer.tokens.append(Token("END", "", len(text), len(text)))
    return lexer.tokens, lexer.errors


class _Lexer:
    def __init__(self, text: str) -> None:
        self.text = text
        self.tokens: list[Token] = []
        self.errors: list[Diagnostic] = []

    def _error(self, slug: str, message: str, start: int, end: int, hint: str | None = None) -> None:
        self.errors.append(Diagnostic("error", slug, message, (start, end), hint))

    def token_at(self, start: int) -> int:
        """Read what begins here; where it ends."""
        match = _TOKEN.match(self.text, start)
        if match is None:
            return self._bad_character(start)
        end, piece, kind = match.end(), match.group(), match.lastgroup
        if kind == "lower":
            token = Token(piece if piece in KEYWORDS else "LID", piece, start, end, CONSTANTS.get(piece))
        elif kind == "upper":
            token = Token("UID", piece, start, end)
        elif kind == "symbol":
            token = Token(piece, piece, start, end)
        elif kind in ("int", "float"):
            number: int | float = 0
            # Infinity for a float, or more digits than Python reads for an integer.
            if len(piece) > MAX_DIGITS or (number := float(piece) if kind == "float" else int(piece)) == float("inf"):
                self._error("rml-number", "this number is too large", start, end)
                number = 0
            token = Token(kind.upper(), piece, start, end, number)
        elif kind == "string" or kind == "double":
            token = self._string(piece, start, end)
        elif kind == "open":
            token = self._open_string(piece, start)
        elif kind == "name":
            hint = "names begin with a letter; `_` alone stands for any value"
            self._error("rml-character", f"{quoted(piece)} is not a name", start, end, hint)
            token = Token("LID" if piece.strip("_")[:1].islower() else "BAD", piece, start, end)
        else:
            if kind == "block":
                hint = "begin each line of the comment with `//`"
                self._error("rml-character", "RML has no `/* ... */` comments", start, min(end, start + 2), hint)
            return end
        self.tokens.append(token)
        return token.end

    def _bad_character(self, start: int) -> int:
        char = self.text[start]
        end = start + 1
        while end < len(self.text) and self.text[end] == char:
            end += 1
        shown = f"`{printable(char)}`" if char.isprintable() else f"U+{ord(char):04X}"
        self._error("rml-character", f"unexpected character {shown}", start, end, _CHARACTER_HINTS.get(char))
        self.tokens.append(Token("BAD", self.text[start:end], start, end))
        return end

    def _string(self, piece: str, start: int, end: int) -> Token:
        inner = piece[1:-1]
        if piece[0] == '"':
            single = quoted("'" + inner.replace('\\"', '"').replace("'", r"\'") + "'")
            self._error("rml-string", "strings need single quotes", start, end, f"write {single}")
        else:
            for escape in _ESCAPE.finditer(inner):
                if escape[1] not in ESCAPES:
                    place = start + 1 + escape.start()
                    message = f"unknown escape {quoted(escape[0])} in a string"
                    hint = r"the escapes are `\t`, `\r`, `\n`, `\'` and `\\`; for a backslash write `\\`"
                    self._error("rml-string", message, place, place + 2, hint)
        value = _ESCAPE.sub(lambda escape: ESCAPES.get(escape[1], escape[0]), inner)
        return Token("STRING", piece, start, end, value)

    def _open_string(self, piece: str, start: int) -> Token:
        """An unterminated string is taken to end before the ``;`` that ends its line: the next statement is seen."""
        piece = piece.rstrip().removesuffix(";")
        end = start + len(piece)
        hint = f"close it with `{piece[0]}`; a line break inside a string is written `\\n`"
        self._error("rml-string", "this string does not end on its line", start, end, hint)
        return Token("BAD", piece, start, end)


def keyword_hint(token: Token) -> str | None:
    """For a word where none was expected: the keyword that was meant."""
    close = did_you_mean(token.text, KEYWORDS) if token.kind in ("LID", "UID") else None
    return f"did you mean `{close}`?" if close else None
