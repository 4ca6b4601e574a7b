"""Random laws of RML, contractive by construction, and random traces that go far in them.

``laws()`` and ``cases()`` are Hypothesis strategies; ``random_case(seed)`` makes the same kind of case from a seed,
for long runs outside Hypothesis. A case is ``(law text, list of events)``.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

from hypothesis import strategies as st

from .rml import Oracle
from .terms import TooLong

Event = dict[str, Any]
Case = tuple[str, list[Event]]
T = TypeVar("T")

# --- choices -------------------------------------------------------------------------------------------------------


class Chooser:
    """Where randomness comes from: ``below(n)`` is a number in 0..n-1, and 0 is the simplest choice."""

    def __init__(self, below: Callable[[int], int]) -> None:
        self.below = below

    def pick(self, items: Sequence[T]) -> T:
        return items[self.below(len(items))]

    def chance(self, percent: int) -> bool:
        return self.below(100) >= 100 - percent


def seeded(seed: int) -> Chooser:
    return Chooser(random.Random(seed).randrange)


# --- event types ---------------------------------------------------------------------------------------------------

# Each entry: the name as it is used, the arity and the text; REFERS has the entries the text needs.
LIBRARY: dict[str, tuple[str, int, str]] = {
    "a": ("a", 0, "a matches {n:'a'};"),
    "b": ("b", 0, "b matches {n:'b'};"),
    "c": ("c", 0, "c matches {n:'c'};"),
    "p/1": ("p", 1, "p(x) matches {n:'p',v:x};"),
    "q/1": ("q", 1, "q(x) matches {n:'q',v:x};"),
    "r/2": ("r", 2, "r(x,y) matches {n:'r',v:x,w:y};"),
    # overloaded by arity; overlapping
    "p": ("p", 0, "p matches p(_);"),
    "q": ("q", 0, "q matches q(_);"),
    "ab": ("ab", 0, "ab matches a|b;"),
    "pq": ("pq", 0, "pq matches p(_)|q(_);"),
    "pq/1": ("pq", 1, "pq(x) matches p(x)|q(x);"),
    "ev/1": ("ev", 1, "ev(f) matches p(f)|q(f)|r(f,_);"),
    # the same variable by different fields, several solutions for one event
    "s/1": ("s", 1, "s(x) matches {n:'r',v:x};"),
    "t/1": ("t", 1, "t(x) matches {n:'r',w:x};"),
    "m/1": ("m", 1, "m(x) matches {n:'r',v:x}|{n:'r',w:x};"),
    "either/1": (
        "either",
        1,
        "either(x) matches {n:'r',w:x};\neither(x) matches {n:'r',v:x};\neither(x) matches p(x);",
    ),
    "half/2": ("half", 2, "half(x,y) matches {n:'r',v:x}|{n:'r',w:y};"),
    "some/1": ("some", 1, "some(x) matches {n:'r',v:_|x,w:x|_};"),
    "o/1": ("o", 1, "o(x) matches {n:'p'|'q',v:x};"),
    "same/1": ("same", 1, "same(x) matches r(x,x);"),
    "swap/2": ("swap", 2, "swap(x,y) matches r(y,x);"),
    # negation
    "na": ("na", 0, "na not matches a;"),
    "np": ("np", 0, "np not matches p(_);"),
    "np/1": ("np", 1, "np(x) not matches p(x);"),
    "npq/1": ("npq", 1, "npq(x) not matches p(x)|q(x);"),
    "nst/1": ("nst", 1, "nst(x) not matches s(x)|t(x);"),
    "nn/1": ("nn", 1, "nn(x) not matches np(x);"),
    # guards
    "big": ("big", 0, "big matches p(x) with x > 1;"),
    "big/1": ("big", 1, "big(x) matches p(x) with x >= 2;"),
    "ge/1": ("ge", 1, "ge(m) matches p(x) with x >= m;"),
    "near/1": ("near", 1, "near(y) matches q(x) with abs(x-y) <= 1;"),
    "gn/1": ("gn", 1, "gn(x) not matches p(x) with x > 1;"),
    "diff/2": ("diff", 2, "diff(x,y) matches r(x,y) with x != y;"),
    "less": ("less", 0, "less matches r(x,y) with x < y || x == 'x' && y != 1;"),
    "mg/1": ("mg", 1, "mg(x) matches m(x) with x == 2;"),
    "next/1": ("next", 1, "next(x) matches p(x+1);"),
    # literals, objects and lists
    "one": ("one", 0, "one matches p(1)|q(1.0);"),
    "odd": ("odd", 0, "odd matches {n:'p',v:true|'x'|null};"),
    "ob/1": ("ob", 1, "ob(x) matches {n:'p',v:{k:x}};"),
    "li/1": ("li", 1, "li(x) matches {n:'q',v:[x]};"),
    "lo/1": ("lo", 1, "lo(x) matches {n:'q',v:[x,...]};"),
    "ne": ("ne", 0, "ne matches {n:'q',v:[...]};"),
    "any": ("any", 0, ""),
    "none": ("none", 0, ""),
}
REFERS = {
    "p": "p/1", "q": "q/1", "ab": "a b", "pq": "p/1 q/1", "pq/1": "p/1 q/1", "ev/1": "p/1 q/1 r/2",
    "either/1": "p/1", "same/1": "r/2", "swap/2": "r/2", "na": "a", "np": "p/1", "np/1": "p/1", "npq/1": "p/1 q/1",
    "nst/1": "s/1 t/1", "nn/1": "np/1", "big": "p/1", "big/1": "p/1", "ge/1": "p/1", "near/1": "q/1", "gn/1": "p/1",
    "diff/2": "r/2", "less": "r/2", "mg/1": "m/1", "next/1": "p/1", "one": "p/1 q/1",
}  # fmt: skip
PLAIN = ("a", "b", "c", "p/1", "q/1", "r/2")
VARIABLES = ("x", "y", "z")
LITERALS = ("1", "2", "3", "1.0", "true", "'x'", "null")


# --- laws ----------------------------------------------------------------------------------------------------------

# How tightly a printed expression holds together.
SHUFFLE, UNION, AND, CAT, POSTFIX, ATOM = range(6)


@dataclass
class Piece:
    """A printed expression: its text, its level, whether it may be empty, and whether it swallows what follows."""

    text: str
    level: int
    nullable: bool
    greedy: bool = False
    bare: bool = False  # an event type without arguments: a parenthesis after it may read as its arguments

    def at(self, level: int, last: bool = True) -> str:
        """As an operand: in parentheses where it is too loose, or greedy with something after it."""
        return self.text if self.level >= level and (last or not self.greedy) else f"({self.text})"


class LawMaker:
    """Builds one law out of choices. An equation may call a later one anywhere, and any one where guarded."""

    def __init__(self, choose: Chooser) -> None:
        self.choose = choose
        self.used: dict[str, None] = {}
        self.types: list[str] = []
        self.own: dict[str, tuple[str, int, str]] = {}
        self.own_refers: dict[str, list[str]] = {}
        self.equations: list[tuple[str, tuple[str, ...]]] = []
        self.current = 0

    def law(self) -> str:
        choose = self.choose
        self._choose_types()
        shape = choose.below(3 + len(SHAPES))
        if shape >= 3:
            body = SHAPES[shape - 3](self)
        else:
            body = self._random_equations()
        names = self._closure(self.used)
        lines = [text for name in names if (text := self._entry(name)[2])]
        return "\n".join([*lines, *body]) + "\n"

    def _entry(self, name: str) -> tuple[str, int, str]:
        return self.own.get(name) or LIBRARY[name]

    def _closure(self, names: dict[str, None]) -> list[str]:
        result: dict[str, None] = {}

        def add(name: str) -> None:
            for base in REFERS.get(name, "").split():
                add(base)
            if name in self.own:
                for base in self.own_refers[name]:
                    add(base)
            result[name] = None

        for name in names:
            add(name)
        return list(result)

    def _choose_types(self) -> None:
        choose = self.choose
        library = list(LIBRARY)
        count = 2 + choose.below(4)
        self.types = [choose.pick(PLAIN) if choose.chance(50) else choose.pick(library) for _ in range(count)]
        for number in range(choose.below(3) if choose.chance(40) else 0):
            self._own_type(number)

    def _own_type(self, number: int) -> None:
        """A random derived event type."""
        choose = self.choose
        params = VARIABLES[: choose.below(3)]
        uses, refers = [], []
        for _ in range(1 + choose.below(3)):
            base = choose.pick([name for name in LIBRARY if name not in ("any", "none")])
            name, arity, _text = LIBRARY[base]
            args = []
            for _ in range(arity):
                kind = choose.below(10)
                args.append(choose.pick(VARIABLES) if kind < 7 else "_" if kind < 9 else choose.pick(LITERALS))
            uses.append(name + (f"({','.join(args)})" if args else ""))
            refers.append(base)
        negated = "not " if choose.chance(30) else ""
        guard = f" with {self.condition(VARIABLES)}" if choose.chance(30) else ""
        head = f"d{number}" + (f"({','.join(params)})" if params else "")
        key = f"own{number}"
        self.own[key] = (f"d{number}", len(params), f"{head} {negated}matches {'|'.join(uses)}{guard};")
        self.own_refers[key] = refers
        self.types.append(key)

    # Leaves

    def condition(self, scope: Sequence[str]) -> str:
        choose = self.choose
        simple = f"{self.number(scope)} {choose.pick(('>', '<=', '==', '!=', '<', '>='))} {self.number(scope)}"
        if choose.chance(20):
            return f"{simple} {choose.pick(('&&', '||'))} {self.number(scope)} {choose.pick(('==', '<'))} 2"
        return simple

    def number(self, scope: Sequence[str]) -> str:
        choose = self.choose
        kind = choose.below(10)
        if not scope or kind >= 8:
            return choose.pick(("0", "1", "2", "3", "1.0", "'x'"))
        variable = choose.pick(scope)
        return variable if kind < 7 else f"{variable}{choose.pick(('+', '-', '*', '/', '^'))}{choose.pick('123')}"

    def argument(self, scope: Sequence[str]) -> str:
        choose = self.choose
        kind = choose.below(30)
        if kind < 24:
            # Now and then a variable that no let declares, or that only a caller's does.
            return choose.pick(scope) if scope and not choose.chance(4) else choose.pick(VARIABLES)
        if kind < 26:
            return "_"
        if kind < 28:
            return choose.pick(LITERALS)
        if kind < 29 and scope:
            return f"{choose.pick(scope)}{choose.pick(('+1', '-1', '*2', '/2'))}"
        return choose.pick(("{k:1}", "{k:_}", "[1]", "[_]", "{}", "[...]", *(f"{{k:{v}}}" for v in scope)))

    def use(self, scope: Sequence[str], key: str | None = None) -> Piece:
        key = key or self.choose.pick(self.types)
        self.used[key] = None
        name, arity, _ = self._entry(key)
        if arity == 0:
            return Piece(name, ATOM, False, bare=True)
        return Piece(f"{name}({','.join(self.argument(scope) for _ in range(arity))})", ATOM, False)

    def call(self, scope: Sequence[str], guarded: bool) -> Piece | None:
        targets = self.equations if guarded else self.equations[self.current + 1 :]
        if not targets:
            return None
        name, params = self.choose.pick(targets)
        args = []
        for _ in params:
            kind = self.choose.below(10)
            if scope and kind < 6:
                args.append(self.choose.pick(scope))
            elif scope and kind < 8:
                args.append(f"{self.choose.pick(scope)}{self.choose.pick(('+1', '-1'))}")
            else:
                args.append(self.choose.pick(LITERALS))
        # The equation may turn out to accept the empty trace, so nothing after it counts as guarded.
        return Piece(name + (f"<{','.join(args)}>" if args else ""), ATOM, True)

    # Expressions

    def cat(self, left: Piece, right: Piece) -> Piece:
        after = right.at(CAT)
        before = left.at(POSTFIX, last=False)
        if left.bare and after.startswith("("):
            before = f"({before})"
        return Piece(f"{before} {after}", CAT, left.nullable and right.nullable, right.greedy)

    def binary(self, sign: str, level: int, nullable: bool, left: Piece, right: Piece) -> Piece:
        return Piece(f"{left.at(level, last=False)} {sign} {right.at(level + 1)}", level, nullable, right.greedy)

    def shuffle(self, left: Piece, right: Piece) -> Piece:
        return self.binary("|", SHUFFLE, left.nullable and right.nullable, left, right)

    def union(self, left: Piece, right: Piece) -> Piece:
        return self.binary("\\/", UNION, left.nullable or right.nullable, left, right)

    def both(self, left: Piece, right: Piece) -> Piece:
        return self.binary("/\\", AND, left.nullable and right.nullable, left, right)

    def postfix(self, body: Piece, sign: str) -> Piece:
        nullable = body.nullable if sign in ("+", "{1}", "{2}", "{3}") else True
        return Piece(body.at(POSTFIX, last=False) + sign, POSTFIX, nullable)

    def filter(self, use: Piece, body: Piece, other: Piece | None) -> Piece:
        if other is None:
            return Piece(f"{use.text} >> {body.text}", ATOM, body.nullable, greedy=True)
        # A filter inside the body would take the `:`.
        text = f"{use.text} >> {body.at(SHUFFLE, last=False)} : {other.text}"
        return Piece(text, ATOM, body.nullable and other.nullable, greedy=True)

    def let(self, names: Sequence[str], body: Piece) -> Piece:
        keyword = self.choose.pick(("let", "let", "var"))
        return Piece(f"{{{keyword} {','.join(names)}; {body.text}}}", ATOM, body.nullable)

    def expression(self, depth: int, scope: tuple[str, ...], guarded: bool) -> Piece:
        choose = self.choose
        if depth <= 0:
            return self.leaf(scope, guarded)
        kind = choose.below(34)
        if kind < 9:
            left = self.expression(depth - 1, scope, guarded)
            return self.cat(left, self.expression(depth - 1, scope, guarded or not left.nullable))
        if kind < 15:
            join = choose.pick((self.shuffle, self.both, self.union, self.both))
            left = self.expression(depth - 1, scope, guarded)
            return join(left, self.expression(depth - 1, scope, guarded))
        if kind < 20:
            sign = choose.pick(("*", "?", "!", "*", "+", "?", "{2}", "{1}", "{3}", "{0}"))
            return self.postfix(self.expression(depth - 1, scope, guarded), sign)
        if kind < 26:
            names = tuple(dict.fromkeys(choose.pick(VARIABLES) for _ in range(1 + choose.below(2))))
            inner = (*(name for name in scope if name not in names), *names)
            if choose.chance(60):
                first = self.binding(inner)
                rest = self.expression(depth - 1, inner, True)
                return self.let(names, self.cat(first, rest))
            return self.let(names, self.expression(depth - 1, inner, guarded))
        if kind < 30:
            body = self.expression(depth - 1, scope, guarded)
            other = self.expression(depth - 1, scope, guarded) if choose.chance(50) else None
            return self.filter(self.use(scope), body, other)
        if kind < 32:
            then = self.expression(depth - 1, scope, guarded)
            other = self.expression(depth - 1, scope, guarded)
            text = f"if ({self.condition(scope)}) {then.text} else {other.text}"
            return Piece(text, ATOM, then.nullable or other.nullable, greedy=True)
        return self.leaf(scope, guarded)

    def binding(self, scope: Sequence[str]) -> Piece:
        """An event type that will bind something, of those there are."""
        wide = [key for key in self.types if self._entry(key)[1] and not self._entry(key)[0].startswith("n")]
        key = self.choose.pick(wide or ("p/1", "q/1"))
        if self.choose.chance(20):
            return self.use(scope, key)
        self.used[key] = None
        name, arity, _ = self._entry(key)
        return Piece(f"{name}({','.join(self.choose.pick(scope[::-1]) for _ in range(arity))})", ATOM, False)

    def leaf(self, scope: tuple[str, ...], guarded: bool) -> Piece:
        choose = self.choose
        kind = choose.below(20)
        if kind < 12:
            return self.use(scope)
        if kind == 12:
            return Piece("empty", ATOM, True)
        if kind == 13:
            return Piece("all", ATOM, True)
        return self.call(scope, guarded) or self.use(scope)

    def _random_equations(self) -> list[str]:
        choose = self.choose
        count = choose.below(4)
        self.equations = [("Main", ())]
        self.equations += [(name, VARIABLES[: choose.below(3)]) for name in ("F", "G", "H")[:count]]
        lines = []
        for index, (name, params) in enumerate(self.equations):
            self.current = index
            body = self.expression(2 + choose.below(3) if index else 3 + choose.below(2), params, False)
            if choose.chance(25):
                body = self.cat(body, Piece("all", ATOM, True))
            elif index == 0 and choose.chance(85):
                body = self.postfix(body, choose.pick("*!*?*"))
            head = name + (f"<{','.join(params)}>" if params else "")
            lines.append(f"{head} = {body.text};")
        return lines

    # Parts for the known shapes of parametric laws

    def part(self, scope: tuple[str, ...], depth: int = 1) -> Piece:
        """An expression without calls."""
        equations, self.equations = self.equations, []
        piece = self.expression(depth, scope, False)
        self.equations = equations
        return piece


def known(make: LawMaker, *keys: str) -> None:
    make.used.update(dict.fromkeys(keys))


def shuffle_of_instances(make: LawMaker) -> list[str]:
    known(make, "p/1", "q/1")
    join = make.choose.pick(("|", "/\\", "|", "\\/"))
    after = make.choose.pick(("?", "*", "!", "?"))
    order = make.choose.pick(("G<x> {} Main", "Main {} G<x>")).format(join)
    body = make.choose.pick(("r(x,_)* q(x)", "r(_,x)? q(x)", "q(x)+", None))
    known(make, "r/2")
    return [f"Main = {{let x; p(x) ({order})}}{after};", f"G<x> = {body or make.part(('x',), 2).text};"]


def intersection_of_instances(make: LawMaker) -> list[str]:
    known(make, "p/1", "q/1", "r/2", "ev/1", "np")
    first = make.choose.pick(("np* {let f; p(f)", "any* {let f; p(f)", "{let f; p(f)", "np* {let f; either(f)"))
    known(make, "either/1")
    body = make.choose.pick(("r(f,_)* q(f)", "r(f,_)* q(f) all", "(r(f,_) \\/ q(f))*", make.part(("f",)).text))
    return [f"Main = {first} ((ev(f) >> {body}) /\\ Main)}}?;"]


def fifo(make: LawMaker) -> list[str]:
    known(make, "p/1", "q/1", "q")
    return [make.choose.pick((
        "Main = {let x; p(x) ((q | Main) /\\ (q >> q(x) all))}?;",
        "Main = {let x; p(x) ((Main | q) /\\ (q >> q(x) all))}?;",
        "Main = {let x; p(x) ((q >> q(x) all) /\\ (q | Main))}!;",
        "Main = {let x; p(x) ((q(x) | Main) /\\ (q >> (q(x) | q*)))}*;",
    ))]  # fmt: skip


def stack(make: LawMaker) -> list[str]:
    known(make, "p/1", "q/1")
    middle = make.choose.pick(("", "r(x,_)* ", "a? ", f"({make.part(('x',)).text})? "))
    known(make, "r/2", "a")
    body = make.choose.pick((f"p(x) S {middle}q(x)", f"p(x) {middle}S q(x)", f"p(x) (S | {middle}q(x))"))
    return ["Main = S;", f"S = {{let x; {body}}}{make.choose.pick('*?*!')};"]


def counter(make: LawMaker) -> list[str]:
    known(make, "a", "b", "p/1", "q/1")
    limit = make.choose.pick("123")
    body = make.choose.pick((
        "a C<n+1> \\/ if (n > 0) b C<n-1> else empty",
        f"if (n < {limit}) a C<n+1> else b C<0>",
        "p(n) C<n+1> \\/ q(n-1) C<n-1>",
        "(a C<n+1>)? \\/ b (C<n-1> | p(n)?)",
        "{let x; p(x) (C<n+1> /\\ (q(x) >> if (n == 1) empty else all))}?",
        "a D<n+1> b?",
    ))  # fmt: skip
    return [f"Main = C<{make.choose.pick('012')}>{make.choose.pick(('', '!', '?'))};", f"C<n> = {body};",
            "D<n> = if (n > 2) p(n) else a C<n>;"]  # fmt: skip


def hash_sets(make: LawMaker) -> list[str]:
    make.own.update({
        "hash": ("", 0, """new(h) matches {n:'a',v:h};
not_new not matches new(_);
add(h,e) matches {n:'r',v:h,w:e};
not_add(h) not matches add(h,_);
remove(h,e) matches {n:'s',v:h,w:e};
modify(t) matches add(t,_)|remove(t,_);
not_modify_remove(h,e) not matches modify(e)|remove(h,e);"""),
    })  # fmt: skip
    make.own_refers["hash"] = []
    make.used = {"hash": None}
    maybe = make.choose.pick(("?", "?", ""))
    return [
        "Main = not_new* {let h; new(h) (Table<h> /\\ Main)}" + maybe + ";",
        "Table<h> = not_add(h)* {let e; add(h,e) (Element<h,e> /\\ Table<h>)}?;",
        "Element<h,e> = not_modify_remove(h,e)* (remove(h,e) all)" + maybe + ";",
    ]


def dynamic_scope(make: LawMaker) -> list[str]:
    make.equations, make.current = [("Main", ()), ("F", ("x",)), ("G", ())], 1
    inner = make.expression(2, ("x", "y"), False)
    make.current = 2
    free = make.expression(2, ("x", "y"), False)
    first = make.binding(("x", "y"))
    outer = make.choose.pick(("G", "F<y>", "(G | F<x>)", "(F<x> /\\ {let x; G})", "{let y; (G /\\ F<x>)}"))
    return [f"Main = {{let x,y; {make.cat(first, Piece(outer, CAT, True)).text}}}{make.choose.pick(('*', '', '!'))};",
            f"F<x> = {inner.text};", f"G = {free.text};"]  # fmt: skip


def recursion_everywhere(make: LawMaker) -> list[str]:
    """Main calls itself, guarded, below a random operator."""
    guard = make.binding(("x",)) if make.choose.chance(70) else make.use(("x",))
    main = Piece("Main", ATOM, True)
    other = make.part(("x",), 2)
    place = make.choose.pick((
        lambda: make.shuffle(main, other),
        lambda: make.shuffle(other, main),
        lambda: make.both(main, other),
        lambda: make.both(other, main),
        lambda: make.cat(main, other),
        lambda: make.union(other, main),
        lambda: make.postfix(make.both(other, main), "!"),
        lambda: make.postfix(make.cat(main, other), "*"),
        lambda: make.filter(make.use(("x",)), main, other),
        lambda: make.filter(make.use(("x",)), other, main),
        lambda: make.cat(make.postfix(main, "?"), other),
        lambda: make.shuffle(make.filter(make.use(("x",)), other, None), main),
        lambda: make.both(make.let(("y",), make.cat(make.use(("x", "y")), other)), main),
        lambda: make.both(make.filter(make.use(("x",)), make.shuffle(other, main), None), other),
        lambda: make.union(make.cat(other, Piece("all", ATOM, True)), main),
        lambda: make.union(make.cat(make.use(("x",)), Piece("all", ATOM, True)), main),
    ))()  # fmt: skip
    let = make.let(("x",), make.cat(guard, place))
    sign = make.choose.pick(("?", "*", "!", "+", ""))
    whole = make.postfix(let, sign) if sign else make.union(let, Piece("empty", ATOM, True))
    before = make.choose.pick((None, None, Piece("na*", POSTFIX, True), Piece("np*", POSTFIX, True)))
    known(make, "na", "np")
    return [f"Main = {(make.cat(before, whole) if before else whole).text};"]


SHAPES: tuple[Callable[[LawMaker], list[str]], ...] = (
    recursion_everywhere,
    recursion_everywhere,
    shuffle_of_instances,
    intersection_of_instances,
    fifo,
    stack,
    counter,
    hash_sets,
    dynamic_scope,
)


# --- traces --------------------------------------------------------------------------------------------------------

COMMON_VALUES: tuple[Any, ...] = (1, 2, 3)
RARE_VALUES: tuple[Any, ...] = (1.0, True, "x", None, {"k": 1}, {"k": 1, "l": 2}, [1], 0, False, [], [{"k": 1}], [2, 1])


def random_value(rng: random.Random, seen: Sequence[Any]) -> Any:
    if seen and rng.random() < 0.5:
        return rng.choice(seen[-6:])
    return rng.choice(COMMON_VALUES) if rng.random() < 0.75 else rng.choice(RARE_VALUES)


def every_event(names: Sequence[str], seen: Sequence[Any]) -> Iterator[Event]:
    values = [*COMMON_VALUES, *RARE_VALUES, *seen[-6:]]
    for name in names:
        if name in "rs":
            yield from ({"n": name, "v": left, "w": right} for left in values for right in values)
        elif name in "pq":
            yield from ({"n": name, "v": value} for value in values)
        else:
            yield {"n": name, "v": 1}


def random_event(rng: random.Random, names: Sequence[str], seen: Sequence[Any]) -> Event:
    event: Event = {"n": rng.choice(names)}
    if event["n"] in "pqrs" or rng.random() < 0.3:
        event["v"] = random_value(rng, seen)
    if event["n"] in "rs" or rng.random() < 0.05:
        event["w"] = random_value(rng, seen)
    return event


MOST_VISITS = 3_000


def random_trace(law: str, rng: random.Random, longest: int = 20) -> list[Event]:
    """A walk of the oracle: mostly events it can take, now and then any event; a little goes on after a failure.

    The walk ends before an event whose literal step would take too long.
    """
    oracle = Oracle(law, MOST_VISITS)
    names = [name for name in "abcpqrs" if f"'{name}'" in law] or ["a"]
    boldness = rng.choice((0.0, 0.02, 0.08))
    trace: list[Event] = []
    seen: list[Any] = []
    for _ in range(rng.randint(4, longest)):
        try:
            event = next_event(oracle, rng, names, seen, bold=rng.random() < boldness)
            oracle.step(event)
        except TooLong:
            break
        trace.append(event)
        seen += [event[key] for key in ("v", "w") if key in event]
        if oracle.failed:
            trace += [random_event(rng, names, seen) for _ in range(rng.randint(0, 1))]
            break
    return trace


def next_event(oracle: Oracle, rng: random.Random, names: Sequence[str], seen: Sequence[Any], bold: bool) -> Event:
    """An event that the oracle can take, if one is found; any event where bold."""
    event = random_event(rng, names, seen)
    if bold:
        return event
    for _ in range(20):
        if oracle.can_step(event):
            return event
        event = random_event(rng, names if rng.random() < 0.95 else "abcpqrs", seen)
    everything = list(every_event(names, seen))
    rng.shuffle(everything)
    return next(filter(oracle.can_step, everything[:120]), event)


# --- what tests use ------------------------------------------------------------------------------------------------


SEEDS = st.integers(0, 2**32 - 1)


@st.composite
def built_laws(draw: st.DrawFn) -> str:
    """Laws drawn choice by choice: they shrink well, but Hypothesis repeats itself."""
    return LawMaker(Chooser(lambda n: draw(st.integers(0, n - 1)))).law()


def laws() -> st.SearchStrategy[str]:
    """The text of a random law; half of them from a seed, for variety."""
    return built_laws() | SEEDS.map(lambda seed: LawMaker(seeded(seed)).law())


def traces(law: str) -> st.SearchStrategy[list[Event]]:
    """Traces that go far in this law."""
    return SEEDS.map(lambda seed: random_trace(law, random.Random(seed)))


@st.composite
def cases(draw: st.DrawFn) -> Case:
    """A random law with a trace that goes far in it."""
    law = draw(laws())
    return law, draw(traces(law))


def random_case(seed: int) -> Case:
    law = LawMaker(seeded(seed)).law()
    return law, random_trace(law, random.Random(seed))


def random_cases(count: int, start: int = 0) -> Iterator[Case]:
    return (random_case(seed) for seed in range(start, start + count))
