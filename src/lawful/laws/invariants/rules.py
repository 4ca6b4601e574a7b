"""An invariant as it is written down, and as it is judged: properties, rules, durations."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields
from functools import cached_property
from typing import Any, Final, NamedTuple

from lawful.diagnostics import Span, did_you_mean, quoted
from lawful.laws.invariants.expressions import GONE, Expression, ExpressionError, Key, Tree, parse

Duration = str | float | int

_UNITS: Final = {"us": 1e-6, "ms": 1e-3, "s": 1.0, "sec": 1.0, "min": 60.0, "m": 60.0, "h": 3600.0}
_DURATION: Final = re.compile(r"\s*(\d+(?:\.\d*)?|\.\d+)\s*([a-z]*)\s*")
_EXPRESSIONS: Final = ("always", "next", "when", "then", "on", "from", "until")
_CHECKS: Final = 10  # how often within the time allowed it is looked whether that is over, if nothing else is said
_SOONEST, _LATEST = 0.01, 1.0
_MOST_KEYS: Final = 64  # bits of a word

NativeRule = tuple[tuple[Any, ...], tuple[str, ...], tuple[Tree, ...], bool, int, float]
"""A rule for the C core, with numbers for fields and keys: plans by key, names of fields, expressions, whether it has a
`from`, its `on`, its time."""


@dataclass(frozen=True)
class Property:
    """What an invariant says, as its author wrote it."""

    class_name: str
    always: str | None = None
    next: str | None = None
    when: str | None = None
    then: str | None = None
    within: Duration | None = None
    every: Duration | None = None
    on: str | None = None
    from_: str | None = None
    until: str | None = None
    name: str | None = None

    def texts(self) -> Iterator[tuple[str, str]]:
        """The expressions, each with its key."""
        for key in _EXPRESSIONS:
            text = getattr(self, "from_" if key == "from" else key)
            if text is not None:
                yield key, text

    def given(self) -> dict[str, object]:
        """Its values, by the keys of the language."""
        found = {each.name.rstrip("_"): getattr(self, each.name) for each in fields(self)}
        found = {"class": found.pop("class_name")} | found
        return {key: value for key, value in found.items() if value is not None}

    @property
    def title(self) -> str:
        """A name that distinguishes it from others in the same file."""
        if self.name:
            return self.name
        if self.then is not None:
            return f"{self.class_name} {_flat(self.when)} => {_flat(self.then)}"
        return f"{self.class_name} {_flat(self.always or self.next)}"

    @property
    def source(self) -> str:
        """The same in TOML."""
        lines = (f"{key} = {_toml(value)}" for key, value in self.given().items())
        return "\n".join(("[[invariant]]", *lines)) + "\n"


def class_name(of: object) -> str:
    """The name of a class, with its module; a text is taken as the name."""
    if isinstance(of, type):
        return f"{of.__module__}.{of.__qualname__}" if of.__module__ != "builtins" else of.__qualname__
    return of if isinstance(of, str) else repr(of)


def _flat(text: object) -> str:
    return " ".join(str(text or "").split())  # other types are reported later


def _toml(value: object) -> str:
    if not isinstance(value, str):
        return repr(value)
    escaped = (f"\\u{ord(char):04X}" if char < " " or char in '"\\\x7f' else char for char in value)
    return f'"{"".join(escaped)}"'


@dataclass(frozen=True)
class Problem:
    """An error in a property: under which key, and where in its text (None: the whole)."""

    slug: str
    message: str
    key: str
    span: Span | None = None
    hint: str | None = None


class KeyPlan(NamedTuple):
    """What is to be done at steps of one kind: the field that they write, and the expressions that they can change."""

    writes: str
    begins: Expression | None
    state: Expression | None
    transition: Expression | None
    pays: Expression | None
    ends: Expression | None
    asks: Expression | None


@dataclass(frozen=True)
class Rule:
    """A property ready to be judged."""

    given: Property
    always: Expression | None
    next: Expression | None
    when: Expression | None
    then: Expression | None
    on: Expression | None
    from_: Expression | None
    until: Expression | None
    within: float | None
    every: float | None
    places: Mapping[str, str] = field(default_factory=dict)  # of expressions and the class, as file:line:column

    @property
    def class_name(self) -> str:
        return self.given.class_name

    @property
    def expressions(self) -> dict[str, Expression]:
        all_of = {key: getattr(self, "from_" if key == "from" else key) for key in _EXPRESSIONS}
        return {key: each for key, each in all_of.items() if each is not None}

    @cached_property
    def native(self) -> NativeRule | None:
        """The rule for the C core; None if the core cannot judge it."""
        return native_rule(self)

    @cached_property
    def plans(self) -> dict[Key, KeyPlan]:
        """What is to be done at the steps of each key."""
        return {key: self._plan(key) for key in self.keys}

    def _plan(self, key: Key) -> KeyPlan:
        def at(expression: Expression | None) -> Expression | None:
            return expression if expression is not None and key in expression.keys else None

        judged = key in self.judged
        return KeyPlan(
            key[1].rpartition(".")[2] if key[0] == "field_write" else "",
            begins=at(self.from_),
            state=self.always if judged else None,
            transition=self.next if judged else None,
            pays=at(self.then),
            ends=at(self.until),
            asks=at(self.when),
        )

    @property
    def judged(self) -> frozenset[Key]:
        """The steps at which a state or a transition is judged."""
        if self.on is not None:
            return self.on.acts
        found = self.always or self.next
        return found.keys if found is not None else frozenset()

    @cached_property
    def keys(self) -> frozenset[Key]:
        """All steps that concern it."""
        named = (key for each in self.expressions.values() for key in each.keys)
        return frozenset((("new", self.class_name), GONE, *named))


def native_rule(rule: Rule) -> NativeRule | None:
    """A rule as the C core takes it; None if the core cannot judge it."""
    if len(rule.keys) > _MOST_KEYS:
        return None
    keys = {key: number for number, key in enumerate(sorted(rule.keys))}
    expressions = list(rule.expressions.values())
    names = {name: number for number, name in enumerate(dict.fromkeys(n for each in expressions for n in each.fields))}

    def place(expression: Expression | None) -> int:
        return next((number for number, each in enumerate(expressions) if each is expression), -1)

    def numbered(tree: Tree) -> Tree:
        kind, parts, more = tree
        if kind in ("new", "old"):
            more = names[more]
        elif kind == "key":
            more = sum(1 << keys[key] for key in more)
        return kind, tuple(map(numbered, parts)), more

    plans = []
    for key in keys:
        writes, *judged = rule.plans[key]
        plans.append((key, names.get(writes, -1), *map(place, judged)))
    trees = tuple(numbered(each.tree) for each in expressions)
    return tuple(plans), tuple(names), trees, rule.from_ is not None, place(rule.on), rule.within or 0.0


class PropertyError(Exception):
    """A property that makes no rule."""

    def __init__(self, problems: Sequence[Problem]) -> None:
        super().__init__(problems)
        self.problems = problems


def compiled(given: Property, places: Callable[[str, int], str] | None = None) -> Rule:
    """The rule of a property. Raises PropertyError. `places` words an offset in the text of a key."""
    found = _Problems()
    _check_class(given.class_name, found)
    _check_shape(given, found)
    expressions: dict[str, Expression | None] = dict.fromkeys(_EXPRESSIONS)
    for key, text in given.texts():
        if not isinstance(text, str):
            found.add("invariant-key", key, f"`{key}` is an expression, written as text")
            continue
        try:
            expressions[key] = parse(text, given.class_name)
        except ExpressionError as error:
            found.append(Problem(error.slug, error.message, key, error.span, error.hint))
    within = _seconds("within", given.within, found)
    every = _seconds("every", given.every, found)
    if within is not None and every is not None and every > within:
        hint = "leave `every` out, and it is chosen to fit `within`"
        found.add("invariant-duration", "every", "`every` is longer than `within`, and would miss its end", hint=hint)
    if not found:
        _check_uses(expressions, found)
    if found:
        raise PropertyError(found)
    if within is not None and every is None:
        every = min(max(within / _CHECKS, _SOONEST), _LATEST)
    where: dict[str, str] = {}
    if places is not None:
        where = {key: places(key, 0) for key in ("class", *(key for key, _ in given.texts()))}
        for key, each in expressions.items():
            for name, span in each.fields.items() if each is not None else ():
                where.setdefault(f"{key}.{name}", places(key, span[0]))
    named = {"from_" if key == "from" else key: each for key, each in expressions.items()}
    return Rule(given, within=within, every=every, places=where, **named)


class _Problems(list[Problem]):
    def add(self, slug: str, key: str, message: str, span: Span | None = None, hint: str | None = None) -> None:
        self.append(Problem(slug, message, key, span, hint))


def _check_class(name: object, found: _Problems) -> None:
    if not isinstance(name, str):
        hint = "write it in quotes: class = 'module.Class'"
        found.add("invariant-class", "class", "the class must be a string", hint=hint)
    elif not name:
        found.add("invariant-class", "class", "the class is missing", hint="class = 'module.Class'")
    elif not all(part.isidentifier() or part == "<locals>" for part in name.split(".")):
        hint = "a class is named with its module, as in app.models.Account"
        found.add("invariant-class", "class", f"{quoted(name)} is not the name of a class", hint=hint)


def _check_shape(given: Property, found: _Problems) -> None:
    """Check that the keys together make one property."""
    kinds = [key for key in ("always", "next", "then") if getattr(given, key) is not None]
    if given.then is None and (given.when is not None or given.within is not None):
        key = "when" if given.when is not None else "within"
        found.add("invariant-key", key, f"`{key}` without `then`: what must follow?")
    elif not kinds:
        hint = "say always = '...', next = '...', or when, then and within"
        found.add("invariant-key", "class", "the invariant says nothing", hint=hint)
    if len(kinds) > 1:
        message = f"`{kinds[0]}` and `{kinds[1]}` are two invariants"
        found.add("invariant-key", kinds[1], message, hint="make two tables")
    if given.then is not None:
        for key, value in (("when", given.when), ("within", given.within)):
            if value is None:
                hint = "when = 'created()' if it is to follow the creation" if key == "when" else "within = '5s'"
                found.add("invariant-key", "then", f"`then` without `{key}`", hint=hint)
        if given.on is not None:
            found.add("invariant-key", "on", "`on` goes with always and next", hint="put it into `when`")
    if given.every is not None and given.within is None:
        found.add("invariant-key", "every", "`every` goes with `within`")


def _check_uses(expressions: Mapping[str, Expression | None], found: _Problems) -> None:
    """Check that names are used where they have a meaning."""
    on = expressions["on"]
    if on is not None and not on.acts:
        calls = "called('name'), returned('name'), raised('name'), created() or gone()"
        hint = f"{calls}; for a condition on fields there are `from` and `until`"
        found.add("invariant-place", "on", "`on` names no call", hint=hint)
    for key, each in expressions.items():
        if each is None:
            continue
        if key == "always" and each.states - {"o"}:
            found.add("invariant-place", key, "a state has no `old` and no `new`", hint="for these there is `next`")
        if key == "next" and "old" not in each.states:
            found.add("invariant-place", key, "`next` speaks of `old` and `new`", hint="else use `always`")
        named = {kind for kind, _ in (*each.calls, *(on.calls if on is not None and key in ("always", "next") else ()))}
        for name, span in each.data.items():
            if name == "res" and "func_post" not in named:
                found.add("invariant-place", key, "`res` is the result of no call", span, "name it: returned('name')")
            elif not named:
                found.add("invariant-place", key, f"`{name}` are those of no call", span, "name it: called('name')")


def _seconds(key: str, value: object, found: _Problems) -> float | None:
    """A time in seconds, from a number of them or from text as `2s`, `100ms`, `5 min`."""
    if value is None:
        return None
    message, hint = "", "as in 2s, 100ms, 1.5 min"
    match = _DURATION.fullmatch(value) if isinstance(value, str) else None
    unit = (match[2] or "s") if match else ""
    seconds = 0.0
    if isinstance(value, int | float) and not isinstance(value, bool):
        seconds = float(value) if abs(value) < 1e15 else math.inf
    elif not isinstance(value, str):
        message = "a time is a number of seconds, or text"
    elif match is None:
        message = f"{quoted(value)} is not a time"
    elif unit not in _UNITS:
        meant = did_you_mean(unit, _UNITS)
        message = f"unknown unit {quoted(unit)}"
        hint = f"did you mean {meant}?" if meant else f"there are {', '.join(_UNITS)}"
    else:
        seconds = float(match[1]) * _UNITS[unit]
    if not message and not 0 < seconds < math.inf:
        message = "a time is more than nothing, and less than for ever"
    if message:
        found.add("invariant-duration", key, f"`{key}`: {message}", hint=hint)
    return None if message else seconds
