"""The parser of the oracle: text to declarations and equations."""

from __future__ import annotations

import re
from typing import Any

from .terms import (
    All,
    And,
    Call,
    Cat,
    Closure,
    Declaration,
    Empty,
    Equation,
    Filter,
    If,
    Let,
    Lst,
    Obj,
    Op,
    Opt,
    Or,
    Plus,
    RmlError,
    Shuffle,
    Star,
    Times,
    Union,
    Use,
    Val,
    Var,
    Wild,
)

# --- parser --------------------------------------------------------------------------------------------------------

TOKEN = re.compile(
    r"""(?P<skip>(?:[ \t\r\n\f]|//[^\n]*)+)
    | (?P<float>[0-9]+\.[0-9]+) | (?P<int>[0-9]+)
    | (?P<uid>[A-Z][A-Za-z0-9_]*) | (?P<lid>[a-z][A-Za-z0-9_]*)
    | (?P<string>'(?:[^'\\\n]|\\[trn'\\])*')
    | (?P<sign>\.\.\.|/\\|\\/|>>|>=|<=|==|!=|&&|\|\||[-+*/^<>=|!?(){}\[\],;:_])""",
    re.VERBOSE,
)
KEYWORDS = frozenset("not matches with empty all let var if else abs sin cos tan min max true false null".split())
ESCAPES = {"t": "\t", "r": "\r", "n": "\n", "'": "'", "\\": "\\"}
CONSTANTS = {"true": True, "false": False, "null": None}
LOOSE_TO_TIGHT = ("||", "&&", "!=", "==", ">=", ">", "<=", "<", "-", "+", "/", "*", "neg", "^")
LEVEL = {op: level for level, op in enumerate(LOOSE_TO_TIGHT)}


class Parser:
    """Recursive descent with backtracking at the two places where the grammar needs it."""

    def __init__(self, text: str) -> None:
        self.tokens: list[tuple[str, Any]] = []
        self.at = 0
        position = 0
        while position < len(text):
            found = TOKEN.match(text, position)
            if found is None:
                raise RmlError(f"unexpected {text[position]!r} at {position}")
            position = found.end()
            kind, lexeme = str(found.lastgroup), found.group()
            if kind == "skip":
                continue
            if kind == "lid" and lexeme in KEYWORDS:
                kind = "sign"
            value: Any = lexeme
            if kind == "int":
                value = int(lexeme)
            elif kind == "float":
                value = float(lexeme)
            elif kind == "string":
                value = re.sub(r"\\(.)", lambda escape: ESCAPES[escape[1]], lexeme[1:-1])
            self.tokens.append((kind, value))
        self.tokens += [("end", None)] * 3

    def sees(self, *signs: str, ahead: int = 0) -> bool:
        kind, value = self.tokens[self.at + ahead]
        return kind == "sign" and value in signs

    def take(self, sign: str) -> bool:
        if self.sees(sign):
            self.at += 1
            return True
        return False

    def need(self, sign: str) -> None:
        if not self.take(sign):
            raise RmlError(f"expected {sign!r}, found {self.tokens[self.at]} (token {self.at})")

    def name(self, kind: str) -> str:
        found, value = self.tokens[self.at]
        if found != kind:
            raise RmlError(f"expected {kind}, found {value!r} (token {self.at})")
        self.at += 1
        return str(value)

    def list_of(self, item: Any, separator: str = ",") -> tuple[Any, ...]:
        items = [item()]
        while self.take(separator):
            items.append(item())
        return tuple(items)

    def specification(self) -> tuple[list[Declaration], list[Equation]]:
        declarations, equations = [], []
        while self.tokens[self.at][0] == "lid":
            declarations.append(self.declaration())
        while self.tokens[self.at][0] == "uid":
            equations.append(self.equation())
        if self.tokens[self.at][0] != "end":
            raise RmlError(f"unexpected {self.tokens[self.at]} (token {self.at})")
        return declarations, equations

    def declaration(self) -> Declaration:
        name = self.name("lid")
        params: tuple[str, ...] = ()
        if self.take("("):
            params = self.list_of(lambda: self.name("lid"))
            self.need(")")
        negated = self.take("not")
        self.need("matches")
        uses: tuple[Use, ...] = ()
        pattern: Any = Wild()
        if self.tokens[self.at][0] == "lid":
            uses = self.list_of(self.use, "|")
        else:
            pattern = self.pattern()
        guard = self.data() if self.take("with") else Val(True)
        self.need(";")
        return Declaration(name, params, negated, uses, pattern, guard)

    def equation(self) -> Equation:
        name = self.name("uid")
        params: tuple[str, ...] = ()
        if self.take("<"):
            params = self.list_of(lambda: self.name("lid"))
            self.need(">")
        self.need("=")
        body = self.expression()
        self.need(";")
        return Equation(name, params, body)

    # Patterns and event types

    def pattern(self) -> Any:
        result = self.simple_pattern()
        if self.take("|"):
            return Or(result, self.pattern())
        return result

    def simple_pattern(self, inside: Any = None) -> Any:
        inside = inside or self.pattern
        kind, value = self.tokens[self.at]
        if kind in ("int", "float", "string"):
            self.at += 1
            return Val(value)
        if kind == "lid":
            self.at += 1
            return Var(value)
        if self.sees(*CONSTANTS):
            self.at += 1
            return Val(CONSTANTS[value])
        if self.take("_"):
            return Wild()
        if self.take("("):
            result = inside()
            self.need(")")
            return result
        if self.take("{"):
            items: tuple[Any, ...] = ()
            if not self.sees("}"):
                items = self.list_of(lambda: self.field(inside))
            self.need("}")
            return Obj(items)
        self.need("[")
        elements: list[Any] = []
        open_end = False
        while not self.sees("]"):
            if self.take("..."):
                open_end = True
                break
            elements.append(inside())
            if not self.take(","):
                break
            if self.sees("]"):
                raise RmlError("a comma before ]")
        self.need("]")
        return Lst(tuple(elements), open_end)

    def field(self, inside: Any) -> tuple[str, Any]:
        kind, key = self.tokens[self.at]
        if kind not in ("lid", "uid", "string") and key not in KEYWORDS:
            raise RmlError(f"expected a key, found {key!r}")
        self.at += 1
        self.need(":")
        return key, inside()

    def argument_pattern(self) -> Any:
        """A pattern without alternatives, whose leaves may be data expressions."""
        if self.sees("{", "[", "_"):
            return self.simple_pattern(self.argument_pattern)
        return self.data()

    def use(self) -> Use:
        name = self.name("lid")
        if not self.sees("("):
            return Use(name, ())
        start = self.at
        try:
            self.need("(")
            args = self.list_of(self.argument_pattern)
            self.need(")")
        except RmlError:
            # Not an argument list after all: `a (b \/ c)` is a concatenation. But the original reads `a (b | c)` as
            # an event type with an or-pattern as its argument, which is refused here rather than guessed.
            self.at = start
            if self.alternatives_in_parentheses():
                raise RmlError(f"{name}: alternatives in an argument") from None
            self.at = start
            return Use(name, ())
        return Use(name, args)

    def alternatives_in_parentheses(self) -> bool:
        try:
            self.need("(")
            self.list_of(self.pattern)
            return self.take(")")
        except RmlError:
            return False

    # Data expressions

    def data(self, level: int = 0, closed_by_greater: bool = False) -> Any:
        left = self.data_atom(closed_by_greater)
        while True:
            kind, op = self.tokens[self.at]
            if kind != "sign" or op not in LEVEL or LEVEL[op] < level or (closed_by_greater and op == ">"):
                return left
            self.at += 1
            left = Op(op, (left, self.data(LEVEL[op] + 1, closed_by_greater)))

    def data_atom(self, closed_by_greater: bool) -> Any:
        kind, value = self.tokens[self.at]
        self.at += 1
        if kind in ("int", "float", "string"):
            return Val(value)
        if kind == "lid":
            return Var(value)
        if kind == "sign" and value in CONSTANTS:
            return Val(CONSTANTS[value])
        if kind == "sign" and value == "-":
            return Op("neg", (self.data(LEVEL["neg"], closed_by_greater),))
        if kind == "sign" and value == "(":
            inner = self.data()
            self.need(")")
            return inner
        if kind == "sign" and value in ("abs", "sin", "cos", "tan", "min", "max"):
            self.need("(")
            args = self.list_of(self.data)
            self.need(")")
            if len(args) != (2 if value in ("min", "max") else 1):
                raise RmlError(f"{value}: wrong number of arguments")
            return Op(value, args)
        raise RmlError(f"expected data, found {value!r} (token {self.at - 1})")

    # Expressions, loosest first

    def expression(self) -> Any:
        return self.left_associative("|", Shuffle, self.union)

    def union(self) -> Any:
        return self.left_associative("\\/", Union, self.intersection)

    def intersection(self) -> Any:
        return self.left_associative("/\\", And, self.concatenation)

    def left_associative(self, sign: str, node: Any, operand: Any) -> Any:
        left = operand()
        while self.take(sign):
            left = node(left, operand())
        return left

    def concatenation(self) -> Any:
        left = self.postfix()
        if self.tokens[self.at][0] in ("lid", "uid") or self.sees("empty", "all", "{", "if", "("):
            return Cat(left, self.concatenation())
        return left

    def postfix(self) -> Any:
        body = self.primary()
        while True:
            if self.take("*"):
                body = Star(body)
            elif self.take("+"):
                body = Plus(body)
            elif self.take("?"):
                body = Opt(body)
            elif self.take("!"):
                body = Closure(body)
            elif self.sees("{") and self.tokens[self.at + 1][0] == "int":
                body = Times(body, self.tokens[self.at + 1][1])
                self.at += 2
                self.need("}")
            else:
                return body

    def primary(self) -> Any:
        kind, _ = self.tokens[self.at]
        if kind == "lid":
            use = self.use()
            if not self.take(">>"):
                return use
            body = self.expression()
            return Filter(use, body, self.expression() if self.take(":") else All())
        if kind == "uid":
            name = self.name("uid")
            args: tuple[Any, ...] = ()
            if self.take("<"):
                args = self.list_of(lambda: self.data(closed_by_greater=True))
                self.need(">")
            return Call(name, args)
        if self.take("empty"):
            return Empty()
        if self.take("all"):
            return All()
        if self.take("("):
            inner = self.expression()
            self.need(")")
            return inner
        if self.take("if"):
            self.need("(")
            condition = self.data()
            self.need(")")
            then = self.expression()
            self.need("else")
            return If(condition, then, self.expression())
        self.need("{")
        if not self.take("var"):
            self.need("let")
        names = self.list_of(lambda: self.name("lid"))
        self.need(";")
        body = self.expression()
        self.need("}")
        for variable in reversed(names):
            body = Let(variable, body)
        return body
