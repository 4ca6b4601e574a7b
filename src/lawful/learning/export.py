"""Learned rules as a law in RML: one readable file, to be checked on traces and enforced in running programs."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from lawful.diagnostics import printable
from lawful.events.event_kinds import EVENT_KINDS
from lawful.learning import templates, vocabulary
from lawful.learning.window_protocol import ANY, ENDS, Rule, RuleState, Word

_TAKEN = frozenset(
    "not matches with empty all let var if else abs sin cos tan min max true false null any none Main".split()
)
_ESCAPES = str.maketrans({"\\": r"\\", "'": r"\'", "\t": r"\t", "\r": r"\r", "\n": r"\n"})
_ARGUMENT = re.compile(r"argument (?:([1-9][0-9]{0,3})|(.+))", re.DOTALL)
_KEY = re.compile(r"[A-Za-z][A-Za-z0-9_]*")

_HEADER = """\
// Rules that were learned, not written: each is what a program did with nearly all of its objects.
//
// A rule is about two events. For each object that meets one of them, all that it meets of the two, from the first to
// the last, has the order that the equation `Each` of the rule says. Other events and other objects do not matter.
//
// A rule that is broken says nothing of the others. This line has it so; without it they are one law:
// judged: each part alone
"""
_WINDOW = """\
//
// They were learned in a window of {window} events, which takes an object's history apart where the object rests for
// longer. This law does not: what it rejects the learner counts as failed, but `a`, a long rest, and `b` is one
// scenario here, while the learner sees two, and may count them as failed.
"""


def chosen(rules: Iterable[Rule], spoken: Iterable[Rule] = ()) -> list[Rule]:
    """The enforcing rules, of each pair of events only the best: section 2.4.

    That is the one that has `spoken`, in an anomaly. If none has, it is the one that is kept most often; of
    equal ones the strictest, then the first.
    """
    best: dict[frozenset[str], tuple[tuple[bool, float, int], Rule]] = {}
    voices = {(rule.a.label, rule.b.label, rule.pattern) for rule in spoken}
    sizes: dict[str, int] = {}
    for rule in rules:
        if rule.state is not RuleState.ENFORCING:
            continue
        if rule.pattern not in sizes:
            sizes[rule.pattern] = templates.scenario(rule.pattern).words(templates.WORD_LENGTH)
        ratio = rule.satisfied / max(rule.satisfied + rule.failed, 1)
        merit = (rule.a.label, rule.b.label, rule.pattern) in voices, ratio, -sizes[rule.pattern]
        pair = frozenset((rule.a.label, rule.b.label))
        if pair not in best or merit > best[pair][0]:
            best[pair] = merit, rule
    return [rule for _, rule in best.values()]


def chosen_histories(histories: Iterable[Rule], rules: Iterable[Rule], spoken: Iterable[Rule] = ()) -> list[Rule]:
    """Of the rules about histories those whose names say that something ends, and that the other `rules` do not have.

    Of those with the same ends it is the one that is kept most often, and those that have `spoken`. What is said
    about whatever happens to a class is left out: which events that are is not known.
    """
    pairs = {frozenset((rule.a.label, rule.b.label)) for rule in rules}
    voices = {(rule.a, rule.b, rule.more) for rule in spoken}
    best: dict[frozenset[Word], Rule] = {}
    found: dict[tuple[Word, Word, tuple[Word, ...]], Rule] = {}
    for rule in histories:
        if rule.state is not RuleState.ENFORCING or rule.a.event == ANY or rule.pattern != ENDS:
            continue
        if not rule.more and frozenset((rule.a.label, rule.b.label)) in pairs:
            continue
        ends = frozenset((rule.b, *rule.more))
        if not any(map(vocabulary.ends, ends)):
            continue
        if (rule.a, rule.b, rule.more) in voices:
            found[rule.a, rule.b, rule.more] = rule
        elif ends not in best or rule.satisfied > best[ends].satisfied:
            best[ends] = rule
    return [*found.values(), *(rule for rule in best.values() if (rule.a, rule.b, rule.more) not in found)]


def to_rml(
    rules: Iterable[Rule],
    spoken: Iterable[Rule] = (),
    *,
    window: int | None = None,
    histories: Iterable[Rule] = (),
) -> str:
    """The `chosen` rules as one law: `Main` is the intersection of an equation for each of them.

    `window` is that in which they were learned; the file says what this means. `histories` are rules about whole
    histories; those that are `chosen_histories` are in the law, too. A comment names rules that RML
    cannot express.
    """
    names = _Names()
    events: dict[Word, _Event] = {}
    deaths: dict[tuple[str, ...], str] = {}
    written: list[_Written] = []
    omitted: list[tuple[Rule, str]] = []
    spoken = list(spoken)
    wanted = chosen(rules, (rule for rule in spoken if not rule.whole_history))
    wanted += chosen_histories(histories, wanted, (rule for rule in spoken if rule.whole_history))
    for rule in wanted:
        if why := _obstacle(rule):
            omitted.append((rule, why))
            continue
        for word in (rule.a, rule.b, *rule.more):
            if word not in events:
                events[word] = _event(word, names)
        b = events[rule.b]
        if rule.more:
            b = _either([events[word] for word in (rule.b, *rule.more)], names)
        part = _write(rule, len(written) + 1, events[rule.a], b, deaths, names)
        if rule.more:
            part.declarations.insert(0, b.declaration)
        written.append(part)
    lines = [_HEADER + (_WINDOW.format(window=window) if window is not None else "")]
    lines += (event.declaration for event in events.values())
    for part in written:
        lines += ["", *part.declarations]
    lines += ["", *_main(written)]
    for part in written:
        lines += ["", *part.equations]
    if omitted:
        lines += ["", "// Also learned, but not in this law:"]
        lines += (f"// - {printable(str(rule))}: {why}" for rule, why in omitted)
    return "\n".join(lines) + "\n"


def _main(written: list[_Written]) -> Iterator[str]:
    if not written:
        yield "// No rule is enforced: everything is accepted."
        yield "Main = all;"
        return
    yield "Main ="
    for number, part in enumerate(written, 1):
        yield f"    {part.name};" if number == len(written) else f"    {part.name} /\\"


# -- events --------------------------------------------------------------------------------------------


class _Event(NamedTuple):
    """A word as an event type."""

    use: str  # with the object as its argument
    parts: tuple[str, ...]  # of its short name
    declaration: str


def _obstacle(rule: Rule) -> str | None:
    """Why a rule cannot be said in RML."""
    for word in (rule.a, rule.b, *rule.more):
        if word.role.startswith("of its "):
            return "which object belongs to which other one cannot be said in RML"
        if word.role and word.role != "result" and not _ARGUMENT.fullmatch(word.role):
            return f"what `{printable(word.role)}` is cannot be said in RML"
        try:
            f"{word.event}{word.name}{word.role}".encode()
        except UnicodeEncodeError:
            return "this name cannot be written in UTF-8"
    if (rule.a.event, rule.a.name) in ((word.event, word.name) for word in (rule.b, *rule.more)):
        return "one event is `a` for one object and `b` for another one, which cannot be said in RML"
    return None


def _event(word: Word, names: _Names) -> _Event:
    fields = [f"event: {_text(word.event)}"] if word.event else []
    if word.name != word.event or word.event in EVENT_KINDS:  # one of the program's own need not have a name
        fields.append(f"name: {_text(word.name)}")
    fields.append(_place(word))
    parts = _short(word)
    use = f"{names.lower(parts)}(o)"
    return _Event(use, parts, f"{use} matches {{{', '.join(fields)}}};")


def _either(events: list[_Event], names: _Names) -> _Event:
    """One of several, as an event type."""
    parts = (*events[0].parts, "or", *(part for event in events[1:] for part in event.parts[-1:]))
    use = f"{names.lower(parts)}(o)"
    return _Event(use, parts, f"{use} matches {' | '.join(event.use for event in events)};")


def _place(word: Word) -> str:
    """Where in the event the object stands."""
    if word.role == "result":
        return "resultId: o"
    argument = _ARGUMENT.fullmatch(word.role)
    if argument is None:
        return "targetId: o"
    if argument[1]:
        return f"argIds: [{'_, ' * (int(argument[1]) - 1)}o, ...]"
    key = argument[2]
    return f"kwargIds: {{{key if _KEY.fullmatch(key) else _text(key)}: o}}"


def _text(value: str) -> str:
    return f"'{value.translate(_ESCAPES)}'"


# -- rules ---------------------------------------------------------------------------------------------


class _Written(NamedTuple):
    """A rule as it stands in the file."""

    name: str  # of its equation
    declarations: list[str]
    equations: list[str]


def _write(
    rule: Rule, number: int, a: _Event, b: _Event, deaths: dict[tuple[str, ...], str], names: _Names
) -> _Written:
    """`deaths` are the event types that there are already, by the classes of what is gone."""
    same = 0  # parts of the names that need not be said twice
    while same < min(len(a.parts), len(b.parts)) - 1 and a.parts[same] == b.parts[same]:
        same += 1
    name = names.upper((*a.parts, *b.parts[same:]))
    on = names.lower((f"on{number}",))
    objects, each = names.upper((f"Objects{number}",)), names.upper((f"Each{number}",))
    total = rule.satisfied + rule.failed
    scenarios = ("life" if total == 1 else "lives") if rule.whole_history else "scenario" if total == 1 else "scenarios"
    places = "place" if rule.contexts == 1 else "places"
    comment = [
        f"// {printable(str(rule))}",
        f"// kept in {rule.satisfied:,} of {total:,} {scenarios}, at {rule.contexts:,} {places}",
    ]
    declarations = [f"{on}(o) matches {a.use} | {b.use};"]
    # An object's events belong to it, whatever it makes of them, so that only an object that is new begins anew.
    if classes := _classes(rule):
        # An object that is gone and has kept the rule is forgotten. Others are kept, and reported once, at the end.
        seen = names.lower((f"seen{number}",))
        gone = deaths.get(classes)
        if gone is None:
            gone = deaths[classes] = names.lower((*_plain(_tail(classes[0], 1)), "gone"))
            kinds = " | ".join(map(_text, classes))
            declarations.append(f"{gone}(o) matches {{event: 'gone', name: {kinds}, targetId: o}};")
        declarations.append(f"{seen}(o) matches {on}(o) | {gone}(o);")
        equations = [
            f"{name} = {seen}(_) >> ({objects} | {gone}(_)*);",
            f"{objects} = {{let o; {on}(o) ({on}(o)* {gone}(o)? | {objects}) /\\ {each}<o>}}?;",
            *_each(rule.pattern, each, f"{seen}(o)", a.use, b.use, f"{gone}(o) all"),
        ]
    else:
        equations = [
            f"{name} = {on}(_) >> {objects};",
            f"{objects} = {{let o; {on}(o) ({on}(o)* | {objects}) /\\ {each}<o>}}?;",
            *_each(rule.pattern, each, f"{on}(o)", a.use, b.use, ""),
        ]
    return _Written(name, declarations, comment + equations)


def _classes(rule: Rule) -> tuple[str, ...]:
    """The classes that the objects of a rule probably have: when such an object is gone, it can be forgotten."""
    found: list[str] = []
    for word in (rule.a, rule.b, *rule.more):
        if word.event == "field_read":
            return ()  # reported after the read: a temporary object may be gone by then
        if not word.role and (owner := word.name if word.event == "new" else word.name.rpartition(".")[0]):
            found.append(owner)
    return tuple(dict.fromkeys(found))


def _each(pattern: str, name: str, on: str, a: str, b: str, end: str) -> Iterator[str]:
    """The equations for one object: the pattern as it is if RML reads it so, else its automaton.

    In RML, what can take an event takes it and never thinks better of it. That is no loss where at most one place of
    the pattern can take it.
    """
    expression = _expression(pattern, a, b)
    if expression is not None:
        yield f"{name}<o> = {on} >> {expression}{f' ({end})?' if end else ''};"
        return
    automaton = templates.scenario(pattern)
    alive = _alive(automaton)
    yield f"{name}<o> = {on} >> {name}_0<o>;"
    for state, targets in enumerate(automaton.step):
        if not alive[state]:
            continue
        ways = [f"{use} {name}_{target}<o>" for use, target in zip((a, b), targets, strict=True) if alive[target]]
        accepting = automaton.accepting[state]
        if accepting and end:
            ways.append(end)
        body = _OR.join(ways)
        if accepting:
            body = f"({body})?" if ways else "empty"
        yield f"{name}_{state}<o> = {body};"


def _alive(automaton: templates.TemplateAutomaton) -> list[bool]:
    """By state: can something still be accepted?"""
    alive = list(automaton.accepting)
    while True:
        more = [own or any(alive[target] for target in automaton.step[state]) for state, own in enumerate(alive)]
        if more == alive:
            return alive
        alive = more


def _expression(pattern: str, a: str, b: str) -> str | None:
    """One or more repetitions of a template, unless a letter could be read at two places of it."""
    tree = templates.parse(pattern)
    if not templates.is_deterministic(tree) or _leaves_out(tree):
        return None
    if not (isinstance(tree, templates.Repeated) and tree.least == 1 and tree.most is None):
        tree = templates.Repeated(tree, 1, None)
    return _spelled(tree, a, b)[0]


def _leaves_out(node: templates.Node) -> bool:
    """Does a template speak of something that must not be there, as `b{0}`?"""
    match node:
        case templates.Letter():
            return False
        case templates.Repeated(part, _, most):
            return most == 0 or _leaves_out(part)
        case _:
            return any(map(_leaves_out, node.parts))


_OR = " \\/ "
_CHOICE, _SEQUENCE, _TIGHT = range(3)  # how tightly an expression binds


def _spelled(node: templates.Node, a: str, b: str) -> tuple[str, int]:
    """A template in RML, and how tightly it binds."""

    def inner(part: templates.Node, least: int) -> str:
        text, binds = _spelled(part, a, b)
        return text if binds >= least else f"({text})"

    match node:
        case templates.Letter(letters):
            uses = [a if letter == "a" else b for letter in letters]
            return _OR.join(uses), _TIGHT if len(uses) == 1 else _CHOICE
        case templates.Choice(parts):
            return _OR.join(inner(part, _SEQUENCE) for part in parts), _CHOICE
        case templates.Sequenced(parts):
            return " ".join(inner(part, _SEQUENCE) for part in parts), _SEQUENCE
        case templates.Repeated(part, least, most):
            body = inner(part, _TIGHT)
            if (least, most) in _SIGNS:
                return body + _SIGNS[least, most], _TIGHT
            if most is None:
                return f"{body}{{{least - 1}}} {body}+", _SEQUENCE
            counted = [f"{body}{{{least}}}"] if least else []
            return " ".join(counted + [f"{body}?"] * (most - least)), _SEQUENCE


_SIGNS: dict[tuple[int, int | None], str] = {(0, None): "*", (1, None): "+", (0, 1): "?", (1, 1): ""}


# -- names ---------------------------------------------------------------------------------------------


def _short(word: Word) -> tuple[str, ...]:
    """The last two parts of a name, and what else tells its events from others."""
    parts = _tail(word.name, 1 if word.event == "new" else 2)
    if word.event in ("new", "field_read"):
        parts.append(word.event.removeprefix("field_"))
    return _plain(parts + word.role.split())


def _tail(name: str, most: int) -> list[str]:
    return [part for part in name.split(".") if part != "<locals>"][-most:]


def _plain(parts: Iterable[str]) -> tuple[str, ...]:
    """In letters that RML allows."""
    ascii_ = (unicodedata.normalize("NFKD", part).encode("ascii", "ignore").decode() for part in parts)
    kept = (re.sub(r"[^A-Za-z0-9]+", "_", part).strip("_") for part in ascii_)
    return tuple(part for part in kept if part) or ("event",)


class _Names:
    """Names for event types and equations, each given once."""

    def __init__(self) -> None:
        self._given = set(_TAKEN)

    def lower(self, parts: Iterable[str]) -> str:
        name = "_".join(parts).lower()
        return self._fresh(name if name[0].isalpha() else f"e_{name}", "_")

    def upper(self, parts: Iterable[str]) -> str:
        words = (word for part in parts for word in part.split("_"))
        name = "".join(word[:1].upper() + word[1:] for word in words)
        # No `_` here: what stands behind one tells the equations of a rule apart.
        return self._fresh(name if name[0].isalpha() else f"R{name}", "")

    def _fresh(self, name: str, before_number: str) -> str:
        found, number = name, 1
        while found in self._given:
            number += 1
            found = f"{name}{before_number}{number}"
        self._given.add(found)
        return found
