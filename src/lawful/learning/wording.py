"""An anomaly in one sentence: what is done nearly everywhere, how often, and where it is not."""

from __future__ import annotations

from collections.abc import Sequence

from lawful.diagnostics import printable
from lawful.learning.violation_kinds import BOTH, Breach, RuleShape, ViolationKind
from lawful.learning.window_protocol import ANY, ExampleScenario, Rule, Word, spelled

MOST_PLACES = 3  # that are named
MOST_ENDS = 4  # the same of events


def sentence(
    rule: Rule,
    shape: RuleShape,
    violation: ViolationKind,
    kept: int,
    total: int,
    bad: Sequence[ExampleScenario],
    changed: bool = False,
) -> str:
    """`Cursor.execute` is followed by `Cursor.close` in 41 of 42 uses; not at `db.py:88`.

    If that has changed, earlier runs did it there.
    """
    claim, exception = _words(rule, shape, violation)
    if changed:
        exception = "no longer" if exception == "not" else f"now {exception}"
    return f"{claim} in {kept:,} of {total:,} {'use' if total == 1 else 'uses'}; {exception} {_places(bad)}"


def of_history(
    rule: Rule, breach: Breach, kept: int, total: int, bad: Sequence[ExampleScenario], changed: bool = False
) -> str:
    """`Cursor.execute` is followed by `Cursor.close` in 41 of 42 histories; not at `db.py:88`."""
    histories = f"in {kept:,} of {total:,} {'life' if total == 1 else 'lives'}"
    no = "no longer" if changed else "not"
    if breach is Breach.FIRST:
        return f"{_noun(rule.b)} comes after {_noun(rule.a)} {histories}; {no} {_places(bad)}"
    ends = _either([_noun(word) for word in (rule.b, *rule.more)])
    if breach is Breach.MISSING:
        return f"{_noun(rule.a)} is followed by {ends} {histories}; {no} {_places(bad)}"
    late = f"`{printable(bad[0].events[-1][0])}`" if bad and bad[0].events else "something"
    does = "now does" if changed else "does"
    return f"nothing comes after {ends} {histories} with {_noun(rule.a)}; {late} {does} {_places(bad)}"


def _either(nouns: Sequence[str]) -> str:
    if len(nouns) > MOST_ENDS:
        nouns = [*nouns[: MOST_ENDS - 1], f"one of {len(nouns) - MOST_ENDS + 1} others"]
    return f"{', '.join(nouns[:-1])} or {nouns[-1]}" if len(nouns) > 1 else nouns[0]


def _words(rule: Rule, shape: RuleShape, violation: ViolationKind) -> tuple[str, str]:
    """What is usual, and how the exception differs."""
    events = (_noun(rule.a), _noun(rule.b))
    letter, other = events[violation.letter], events[1 - violation.letter]
    bit = 1 << violation.letter
    if violation.breach is Breach.MISSING:
        if shape.ends == bit:
            return f"{other} is followed by {letter}", "not"
        if shape.begins == bit:
            return f"{other} comes after {letter}", "not"
        return f"{events[0]} and {events[1]} go together", f"{letter} is missing"
    if violation.breach is Breach.FIRST:
        return f"{other} comes before {letter}", "after it"
    if violation.breach is Breach.LAST:
        return f"{letter} is followed by {other}", "not the last one"
    if violation.breach is Breach.AGAIN:
        if shape.ends == BOTH - bit:
            return f"each {letter} is followed by {other}", "it comes twice in a row"
        if shape.begins == BOTH - bit:
            return f"each {letter} has its own {other} before it", "it comes twice in a row"
    return f"{events[0]} and {events[1]} keep to `{printable(spelled(rule.pattern, 'a', 'b'))}`", "not"


def _noun(word: Word) -> str:
    """An event as a subject: calls by their name, the others with what happens."""
    if word.event == ANY:
        return f"a use of `{printable(word.name)}`"
    name = f"`{printable(word.label)}`"
    if word.role:
        return name
    return {"new": "a new ", "field_write": "a write of ", "field_read": ""}.get(word.event, "") + name


def _places(bad: Sequence[ExampleScenario]) -> str:
    places = list(dict.fromkeys(f"`{printable(str(site))}`" for site in _sites(bad)))
    if not places:
        return f"for object {bad[0].object}" if bad else "everywhere"
    if len(places) > MOST_PLACES:
        rest = len(places) - MOST_PLACES + 1
        places[MOST_PLACES - 1 :] = [f"{rest} other places"]
    return "at " + (f"{', '.join(places[:-1])} and {places[-1]}" if len(places) > 1 else places[0])


def _sites(bad: Sequence[ExampleScenario]) -> list[object]:
    return [scene.where for scene in bad if scene.where is not None and scene.where.file is not None]
