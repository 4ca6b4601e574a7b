"""The text of views and grammars, read with lark into the trees of `syntax`."""

from __future__ import annotations

import json
from functools import cache
from typing import TYPE_CHECKING, Any

from lawful.diagnostics import Diagnostic, LawSourceError, Source, Span, quoted
from lawful.laws.grammar.groups import Binding
from lawful.laws.grammar.syntax import (
    Alternative,
    Assertion,
    Attribute,
    CallExpression,
    Class,
    Constant,
    Definition,
    Expression,
    File,
    Group,
    Literal_,
    Message,
    Name,
    Operation,
    Parameter,
    Production,
    Start,
    Symbol,
    View,
    Word,
)

if TYPE_CHECKING:
    from lark import Lark, Token

# What may begin a file stands first, so that its words can be names in productions. HEAD looks ahead: productions need
# no sign at their end.
_GRAMMAR = r"""
file: header* production*
?header: constant | view | start | group_is | class_is
constant: "const" NAME "=" (literal | negative) ";"?
negative: MINUS NUMBER -> literal
start: "start" NAME block? ";"?
group_is: "group" DOTTED "is" binding ("," binding)* ";"?
binding: KIND (DOTTED | STRING)
class_is: "class" DOTTED "is" DOTTED ";"?

view: "view" NAME ("grammar" FILE)? ("specifies" DOTTED)? "{" (message ("," message)*)? ","? "}" ";"?
message: DIRECTION DOTTED "(" (parameter ("," parameter)*)? ")" NAME   -> call_message
       | DIRECTION "reply" "(" DOTTED ")" NAME                         -> reply_message
parameter: type NAME?
type: DOTTED arguments?
arguments: "<" type ("," type)* ">"
         | "[" type ("," type)* "]"

production: HEAD "::=" alternative ("|" alternative)* ";"?
alternative: item+
?item: EPSILON            -> epsilon
    | (NAME ":")? NAME    -> symbol
    | block
    | "{" ("assert" expression (";" "assert" expression)* ";"?)? "}" -> assertions
block: "(" (definition (";" definition)* ";"?)? ")"
definition: NAME "." NAME (IS | EQUAL) expression

?expression: disjunction
?disjunction: conjunction | disjunction (OR conjunction) -> binary
?conjunction: negation | conjunction (AND negation) -> binary
?negation: comparison | NOT negation -> unary
?comparison: sum | sum (EQUAL | COMPARES | IS) sum -> binary
?sum: product | sum (PLUS | MINUS) product -> binary
?product: sign | product TIMES sign -> binary
?sign: atom | MINUS sign -> unary
?atom: literal
     | NAME -> word
     | NAME "." NAME -> attribute
     | NAME "(" (expression ("," expression)*)? CLOSE -> call
     | OPEN expression CLOSE -> group
literal: NUMBER | STRING | TRUE | FALSE | NULL

DIRECTION.1: /(?:send|receive)\b/
KIND.1: /(?:class|task|actor|module)\b/
EPSILON.1: /(?:epsilon|ε|ϵ)\b/
HEAD.2: /[^\W\d]\w*(?=(?:\s|\/\/[^\r\n]*)*::=)/
NAME: /[^\W\d]\w*/
DOTTED: /[^\W\d]\w*(?:\.[^\W\d]\w*)*/
FILE: /[\w.-]+/
NUMBER: /\d+(?:\.\d+)?(?:[eE][+-]?\d+)?/
STRING: /"(?:[^"\\\r\n]|\\.)*"/ | /'(?:[^'\\\r\n]|\\.)*'/
TRUE.1: /(?:true|True)\b/
FALSE.1: /(?:false|False)\b/
NULL.1: /(?:null|None)\b/
OR.1: /\|\||or\b/
AND.1: /&&|and\b/
NOT.1: /!(?!=)|not\b/
EQUAL: "=="
COMPARES: "!=" | "<=" | ">=" | "<" | ">"
IS: "="
OPEN: "("
CLOSE: ")"
PLUS: "+"
MINUS: "-"
TIMES: "*" | "/" | "%"

%ignore /\s+/
%ignore /\/\/[^\r\n]*/
%ignore /\/\*(?:[^*]|\*(?!\/))*\*\//
"""

MAX_DEPTH = 100
"""Of nested operations. Trees are walked by recursion; nobody reads such an expression."""

MAX_DIGITS = 300

_EPSILON = ("epsilon", "ε", "ϵ")

_OPS = {"or": "||", "and": "&&", "not": "!"}

_WORDS = {
    "HEAD": "a production (`NAME ::=`)",
    "NAME": "a name",
    "DOTTED": "a name",
    "FILE": "the name of a grammar file",
    "NUMBER": "a number",
    "STRING": "a text",
    "EPSILON": "`epsilon`",
    "DIRECTION": "`send` or `receive`",
    "KIND": "`class`, `task`, `actor` or `module`",
    "OR": "`||`",
    "AND": "`&&`",
    "NOT": "`!`",
    "COMPARES": "a comparison",
    "TIMES": "`*`",
    "TRUE": "`true`",
    "FALSE": "`false`",
    "NULL": "`null`",
    "$END": "the end",
}
_MOST_EXPECTED = 8


def read(text: str, *, name: str = "<law>") -> File:
    """Read a file. Raises a `LawSourceError` at the first place that is not as the language wants it."""
    from lark.exceptions import UnexpectedCharacters, UnexpectedToken

    reader = _Reader()
    try:
        file = reader.build(_parser().parse(text))
    except UnexpectedCharacters as error:
        raise LawSourceError([_characters(error, text)], Source(text, name)) from None
    except UnexpectedToken as error:
        raise LawSourceError([_token(error, text)], Source(text, name)) from None
    if reader.problems:
        raise LawSourceError(sorted(reader.problems, key=lambda each: each.span), Source(text, name))
    return file


@cache
def _parser() -> Lark:
    from lark import Lark

    return Lark(_GRAMMAR, start="file", parser="lalr", lexer="contextual", propagate_positions=False)


def _characters(error: Any, text: str) -> Diagnostic:
    at = error.pos_in_stream
    char = text[at : at + 1]
    if char in ("'", '"'):
        return Diagnostic("error", "view-syntax", "the text is not closed on its line", (at, at + 1))
    if text.startswith("/*", at):
        return Diagnostic("error", "view-syntax", "the comment is not closed", (at, at + 2))
    return Diagnostic("error", "view-syntax", f"unexpected {quoted(char)}", (at, at + 1), _expected(error.allowed))


def _token(error: Any, text: str) -> Diagnostic:
    token = error.token
    hint = _expected(error.accepts or error.expected)
    if token.type == "$END":
        end = len(text.rstrip())
        return Diagnostic("error", "view-syntax", "the text ends too early", (end, end), hint)
    span = (token.start_pos, token.end_pos)
    if text.startswith("/*", span[0]):
        return Diagnostic("error", "view-syntax", "the comment is not closed", span)
    return Diagnostic("error", "view-syntax", f"unexpected {quoted(str(token))}", span, hint)


def _expected(names: Any) -> str | None:
    known = {terminal.name: f"`{terminal.pattern.value}`" for terminal in _parser().terminals} | _WORDS
    words = list(dict.fromkeys(known[each] for each in sorted(names or ()) if each in known))
    if not words or len(words) > _MOST_EXPECTED:
        return None
    return f"expected {' or '.join(filter(None, [', '.join(words[:-1]), words[-1]]))}"


class _Reader:
    """Makes our trees of lark's, from the leaves up and without recursion: a text may nest as deep as it likes."""

    def __init__(self) -> None:
        self.problems: list[Diagnostic] = []

    def build(self, tree: Any) -> File:
        done: dict[int, Any] = {}  # by the ids of trees
        for node in tree.iter_subtrees():
            parts = [done.get(id(child), child) for child in node.children]
            done[id(node)] = getattr(self, str(node.data))(*parts)
        result: File = done[id(tree)]
        return result

    def problem(self, message: str, span: Span, hint: str | None = None, *, slug: str = "view-syntax") -> None:
        self.problems.append(Diagnostic("error", slug, message, span, hint))

    def file(self, *parts: Any) -> File:
        def of(kind: type) -> tuple[Any, ...]:
            return tuple(part for part in parts if isinstance(part, kind))

        return File(of(View), of(Constant), of(Start), of(Production), of(Group), of(Class))

    # -- views ------------------------------------------------------------------------------------

    def constant(self, name: Token, value: Literal_) -> Constant:
        return Constant(_name(name), value.value)

    def start(self, name: Token, block: tuple[Definition, ...] = ()) -> Start:
        return Start(_name(name), block)

    def group_is(self, name: Token, *bindings: Binding) -> Group:
        return Group(_name(name), bindings)

    def binding(self, kind: Token, target: Token) -> Binding:
        name = self._string(str(target), _span(target)) if target.type == "STRING" else str(target)
        if not name:
            self.problem("the name is empty", _span(target))
        return Binding(str(kind), name)

    def class_is(self, name: Token, target: Token) -> Class:
        return Class(_name(name), _name(target))

    def view(self, name: Token, *parts: Any) -> View:
        file = group = None
        messages = []
        for part in parts:
            if isinstance(part, Message):
                messages.append(part)
            elif part.type == "FILE":
                file = _name(part)
            else:
                group = _name(part)
        return View(_name(name), file, group, tuple(messages))

    def call_message(self, direction: Token, method: Token, *parts: Any) -> Message:
        *parameters, terminal = parts
        return Message(
            direction.value, False, _name(method), tuple(parameters), _name(terminal), _span(direction, terminal)
        )

    def reply_message(self, direction: Token, method: Token, terminal: Token) -> Message:
        return Message(direction.value, True, _name(method), (), _name(terminal), _span(direction, terminal))

    def parameter(self, kind: Name, name: Token | None = None) -> Parameter:
        return Parameter(kind, None) if name is None else Parameter(_name(name), kind.text)

    def type(self, name: Token, arguments: str = "") -> Name:
        return Name(f"{name}{arguments}", _span(name))

    def arguments(self, *parts: Name) -> str:
        return f"<{', '.join(part.text for part in parts)}>"

    # -- productions ------------------------------------------------------------------------------

    def production(self, head: Token, *alternatives: Alternative) -> Production:
        if str(head) in _EPSILON:
            self.problem("`epsilon` means no message: a nonterminal cannot have this name", _span(head))
        return Production(_name(head), alternatives)

    def alternative(self, *items: Any) -> Alternative:
        flat = [each for item in items for each in (item if type(item) is tuple else (item,))]
        symbols = tuple(each for each in flat if isinstance(each, Symbol))
        empty = [each.span for each in flat if isinstance(each, Name)]
        spans = [each.span for each in flat]
        if empty and (symbols or len(empty) > 1):
            self.problem("`epsilon` must be the only symbol of its alternative", empty[-1], "leave it out")
        elif not empty and not symbols:
            place = spans[0] if spans else (0, 0)
            self.problem("this alternative has no symbols", place, "write `epsilon` for no message")
        span = (spans[0][0], spans[-1][1]) if spans else (0, 0)
        definitions = tuple(each for each in flat if isinstance(each, Definition))
        return Alternative(symbols, definitions, tuple(each for each in flat if isinstance(each, Assertion)), span)

    def epsilon(self, token: Token) -> Name:
        return _name(token)

    def symbol(self, first: Token, second: Token | None = None) -> Symbol:
        return Symbol(_name(first), None) if second is None else Symbol(_name(second), _name(first))

    def block(self, *parts: Definition) -> tuple[Definition, ...]:
        return parts

    def assertions(self, *parts: Expression) -> tuple[Assertion, ...]:
        return tuple(map(Assertion, parts))

    def definition(self, owner: Token, attribute: Token, sign: Token, value: Expression) -> Definition:
        if sign.type == "EQUAL":
            self.problem("an attribute is defined with `=`", _span(sign), "`==` compares, inside an assertion")
        return Definition(_name(owner), _name(attribute), value, (_span(owner)[0], value.span[1]))

    # -- expressions ------------------------------------------------------------------------------

    def binary(self, left: Expression, sign: Token, right: Expression) -> Operation:
        if sign.type == "IS":
            self.problem("values are compared with `==`", _span(sign), "`=` defines an attribute, in parentheses")
        span = (left.span[0], right.span[1])
        return Operation(_OPS.get(str(sign), str(sign)), (left, right), span, self._depth((left, right), span))

    def unary(self, sign: Token, operand: Expression) -> Operation:
        span = (_span(sign)[0], operand.span[1])
        return Operation("neg" if sign.type == "MINUS" else "!", (operand,), span, self._depth((operand,), span))

    def _depth(self, operands: tuple[Expression, ...], span: Span) -> int:
        depth = 1 + max((each.depth for each in operands), default=0)
        if depth == MAX_DEPTH + 1:
            hint = "split it into several assertions, or give its parts to attributes"
            self.problem(f"more than {MAX_DEPTH} operations inside each other", span, hint, slug="view-too-deep")
        return depth

    def group(self, first: Token, inner: Expression, last: Token) -> Expression:
        return inner._replace(span=_span(first, last))

    def word(self, name: Token) -> Word:
        return Word(str(name), _span(name))

    def attribute(self, owner: Token, name: Token) -> Attribute:
        return Attribute(_name(owner), _name(name), _span(owner, name))

    def call(self, function: Token, *parts: Any) -> CallExpression:
        operands, span = parts[:-1], _span(function, parts[-1])
        return CallExpression(_name(function), operands, span, self._depth(operands, span))

    def literal(self, *tokens: Token) -> Literal_:
        token = tokens[-1]
        span = _span(tokens[0], token)
        text = str(token)
        value: Any
        if token.type == "NUMBER":
            value = self._number(text, span)
            value = -value if len(tokens) > 1 else value
        elif token.type == "STRING":
            value = self._string(text, span)
        else:
            value = {"TRUE": True, "FALSE": False, "NULL": None}[token.type]
        return Literal_(value, span)

    def _number(self, text: str, span: Span) -> int | float:
        if not text.isascii():
            self.problem("a number is written with the digits 0 to 9", span)
            return 0
        if len(text) > MAX_DIGITS:
            self.problem("the number is too long", span)
            return 0
        value = int(text) if text.isdigit() else float(text)
        if value == float("inf"):
            self.problem("the number is too large", span)
        return value

    def _string(self, text: str, span: Span) -> str:
        inner = text[1:-1]
        if text[0] == "'":
            inner = inner.replace("\\'", "'").replace('"', '\\"')
        try:
            value = json.loads(f'"{inner}"', strict=False)
        except ValueError:
            self.problem("unknown escape: texts allow those of JSON, such as \\n \\t \\\\ \\u00e4", span)
            return ""
        return str(value)


def _name(token: Token) -> Name:
    return Name(str(token), _span(token))


def _span(first: Token, last: Token | None = None) -> Span:
    return first.start_pos or 0, (last or first).end_pos or 0
