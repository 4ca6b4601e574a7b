"""The automaton of a law speaks the law's language, and its labels say so in the law's words."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lawful.laws.protocol import Event, Verdict
from lawful.laws.rml import compile
from lawful.laws.rml.automaton import Automaton, NotFiniteError, automaton
from lawful.laws.rml.law import RmlLaw
from lawful.laws.rml.printer import format_spec
from lawful.laws.rml.syntax import Specification

LETTERS = "abcd"
DECLARATIONS = (
    "".join(f"{letter} matches {{n: '{letter}'}};\n" for letter in LETTERS)
    + "ab matches a | b;\nbc matches b | c;\nnotc not matches {n: 'c'};\n"
)
FILES = (
    "open(f) matches {e: 'open', f: f};\nread(f) matches {e: 'read', f: f};\nclose(f) matches {e: 'close', f: f};\n"
    "use(f) matches read(f) | close(f);\n"
)
CONFORMANCE = [
    json.loads(line) for line in (Path(__file__).parents[2] / "data" / "rml-conformance.jsonl").read_text().splitlines()
]


def letters(law: str) -> RmlLaw:
    return compile(DECLARATIONS + law)


class TreeWalker:
    """Walks an automaton by its labels alone: what is of which event type, the law of that one event type says."""

    def __init__(self, law: RmlLaw, automaton: Automaton) -> None:
        self.declarations = format_spec(Specification(law.specification.declarations, ()))
        self.automaton = automaton
        self.state: int | None = automaton.starts[0]

    def step(self, event: Event) -> None:
        ways = [each for each in self.automaton.transitions if each.source == self.state]
        named = {
            word.removeprefix("not ")
            for way in ways
            if way.target is not None
            for label in way.labels
            for word in label.split(" & ")
            if not word.startswith("not ") and word != "other"
        }

        def holds(word: str) -> bool:
            if word == "other":
                return not any(map(holds, named))
            if word.startswith("not "):
                return not holds(word.removeprefix("not "))
            return is_of_type(self.declarations, word, json.dumps(event))

        taken = {way.target for way in ways if any(all(map(holds, label.split(" & "))) for label in way.labels)}
        assert len(taken) == 1, f"{event} in state {self.state} leads to {taken}"
        self.state = taken.pop()


@cache
def is_of_type(declarations: str, name: str, event: str) -> bool:
    return compile(f"{declarations}Main = {name};").check([json.loads(event)]).accepted


def assert_same_language(law: RmlLaw, word: list[Any]) -> None:
    built = automaton(law)
    assert built.finite
    assert not built.remembered
    walker, monitor = TreeWalker(law, built), law.monitor()
    for event in (None, *word):
        if event is not None:
            monitor.step(event)
            walker.step(event)
        assert (walker.state is None) == (monitor.rejected_at is not None)
        if walker.state is None:
            return
        state = built.states[walker.state]
        assert state.ends_if == ()
        assert state.may_end == monitor.verdict.accepts
        assert state.is_true == (monitor.verdict is Verdict.TRUE)
        if "{" in law.source.partition("Main")[2]:  # the engine looks at a count as it looks at any other value
            assert state.dead or monitor.verdict is not Verdict.FALSE
        else:
            assert state.dead == (monitor.verdict is Verdict.FALSE)


WORDS = st.lists(st.sampled_from([{"n": letter} for letter in "abcde"]), max_size=8)

EXPRESSIONS = st.recursive(
    st.sampled_from([*LETTERS, "ab", "bc", "notc", "any", "none", "all", "empty"]).map(lambda word: f"({word})"),
    lambda inner: st.one_of(
        st.tuples(inner, st.sampled_from(["", " | ", " \\/ ", " /\\ "]), inner).map(lambda p: f"({p[0]}{p[1]}{p[2]})"),
        st.tuples(inner, st.sampled_from(["*", "+", "?", "!", "{2}", "{3}"])).map(lambda p: f"({p[0]}{p[1]})"),
        st.tuples(st.sampled_from(["a", "ab", "notc"]), inner, inner).map(lambda p: f"({p[0]} >> {p[1]} : {p[2]})"),
    ),
    max_leaves=6,
)


@pytest.mark.parametrize(
    ("text", "size"),
    [
        ("Main = (a b)*;", 2),
        ("Main = a{3};", 4),
        ("Main = (a b)!;", 3),
        ("Main = a | b;", 4),
        ("Main = a* | b*;", 1),
        ("Main = a* | (b c)*;", 2),
        ("Main = ab >> (a b)*;", 2),
        ("Main = ab >> (a b)* : c >> c{1};", 4),
        ("Main = a >> empty;", 1),
        ("Main = (a >> empty) /\\ b*;", 1),
        ("Main = (a b)+ /\\ (any any)*;", 3),
        ("Main = (a \\/ any)*;", 1),
        ("Main = a (b none \\/ c all);", 4),
        ("Main = ab >> (bc >> b* : a{2});", 3),
        ("Main = Count<3>; Count<n> = if (n > 0) a Count<n-1> else b;", 5),
        ("Main = A; A = a B; B = b A \\/ c;", 3),
        ("Main = notc* c;", 2),
    ],
)
def test_a_law_has_as_many_states_as_it_needs(text: str, size: int) -> None:
    law = letters(text)
    assert len(automaton(law).states) == size
    for first in "abcde":
        for second in "abcde":
            for third in "abcde":
                assert_same_language(law, [{"n": letter} for letter in (first, second, third)])


@given(EXPRESSIONS, WORDS)
def test_the_automaton_speaks_the_language_of_the_law(expression: str, word: list[Any]) -> None:
    assert_same_language(letters(f"Main = {expression};"), word)


def test_conformance_laws() -> None:
    walked = 0
    for case in CONFORMANCE:
        law = compile(case["spec"])
        try:
            built = automaton(law)
        except NotFiniteError:
            continue
        if not built.finite or built.remembered or any("(" in label for t in built.transitions for label in t.labels):
            continue
        walker = TreeWalker(law, built)
        walked += 1
        halts = ""
        for event in (None, *case["trace"]):
            if event is not None and walker.state is not None:
                walker.step(event)
            halts += "x" if walker.state is None else "ft"[built.states[walker.state].may_end]
        assert halts[: halts.find("x") + 1 or None] == case["prefix_may_halt"], case["name"]
    assert walked > 30


def edges(built: Automaton) -> list[str]:
    """The automaton in a line for each arrow; a star marks states in which a trace may end."""

    def shown(number: int | None) -> str:
        if number is None:
            return "violated"
        state = built.states[number]
        return state.text + ("*" if state.may_end else "")

    return [
        *(f"{shown(t.source)} -> {shown(t.target)}: {', '.join(t.labels)}" for t in built.transitions),
        *(f"{shown(s.source)} => {shown(s.target)}: {', '.join(s.labels)} {s.manner}" for s in built.spawns),
    ]


def test_values_have_the_names_of_their_variables() -> None:
    assert edges(automaton(compile(FILES + "Main = {let f; open(f) read(f)* close(f)}?;"))) == [
        "Main* -> read(f)* close(f): open(f)",
        "Main* -> violated: other",
        "read(f)* close(f) -> read(f)* close(f): read(f)",
        "read(f)* close(f) -> empty*: close(f)",
        "read(f)* close(f) -> violated: other",
        "empty* -> violated: any",
    ]


def test_a_value_that_changes_its_place_is_told() -> None:
    law = compile(FILES + "Main = {let f; open(f) Next<f>}; Next<g> = {let f; open(f) (close(f) | close(g))};")
    assert edges(automaton(law))[2:5:2] == [
        "Next<f> -> close(f) | close(f'): open(f) / f' := f",
        "close(f) | close(f') -> close(f): close(f) / f := f', close(f') & not close(f)",
    ]


def test_the_parts_of_a_law_that_grows() -> None:
    built = automaton(compile(FILES + "Main = {let f; open(f) (File<f> | Main)}?; File<f> = read(f)* close(f);"))
    assert not built.finite
    assert built.remembered == ("f",)
    assert [built.states[start].text for start in built.starts] == ["Main", "File<f>"]
    assert edges(built) == [
        "Main* -> Main*: open(f)",
        "Main* -> violated: other",
        "File<f> -> File<f>: read(f)",
        "File<f> -> empty*: close(f)",
        "File<f> -> violated: other",
        "empty* -> violated: any",
        "Main* => File<f>: open(f) beside",
    ]


def test_the_parts_of_an_intersection_that_grows() -> None:
    built = automaton(compile(FILES + "Main = {let f; open(f) ((use(f) >> read(f)* close(f)) /\\ Main)}?;"))
    assert edges(built) == [
        "Main* -> Main*: open(f)",
        "Main* -> violated: other",
        "use(f) >> read(f)* close(f) -> use(f) >> read(f)* close(f): read(f), not use(f)",
        "use(f) >> read(f)* close(f) -> use(f) >> empty*: close(f)",
        "use(f) >> empty* -> violated: use(f)",
        "use(f) >> empty* -> use(f) >> empty*: not use(f)",
        "Main* => use(f) >> read(f)* close(f): open(f) and",
    ]


def test_what_follows_a_nested_call_is_a_part() -> None:
    built = automaton(letters("Main = (a Main b)?;"))
    assert [each for each in edges(built) if "=>" in each] == ["Main* => b: a then"]


def test_a_filter_that_grows_has_two_parts() -> None:
    built = automaton(letters("Main = a (ab >> Main : c*);"))
    assert [each for each in edges(built) if "=>" in each] == ["Main => Main: a filter", "Main => c**: a otherwise"]


def test_counting_without_end_becomes_a_condition() -> None:
    built = automaton(letters("Main = Count<0>; Count<n> = a Count<n+1> \\/ (if (n > 2) b Count<n-1> else empty);"))
    assert built.finite
    assert built.remembered == ("n",)
    assert edges(built)[0] == "Main* -> Count<n>*: a / n := 1"
    assert "Count<n>* -> Count<n>*: a / n := n + 1, b if n > 2 / n := n - 1" in edges(built)
    assert built.states[1].ends_if == ("n <= 2",)


def test_event_types_that_overlap() -> None:
    assert edges(automaton(letters("Main = (ab >> a : bc)+;")))[:3] == [
        "Main -> (ab >> empty : bc) (ab >> a : bc)*: a",
        "Main -> violated: ab & not a, other & not ab",
        "Main -> (ab >> a : empty) (ab >> a : bc)*: bc & not ab",
    ]


def test_too_many_states() -> None:
    law = letters(f"Main = {'(a|b|c|d) ' * 200};")
    with pytest.raises(NotFiniteError) as caught:
        automaton(law, 50)
    assert caught.value.slug == "rml-not-finite"
    assert "--max-states 500" in str(caught.value)
    assert len(automaton(letters("Main = a{49};"), 50).states) == 50


def test_a_count_that_is_too_high_is_left_as_a_value() -> None:
    built = automaton(letters("Main = a{1000};"))
    assert built.remembered == ("n",)
    assert len(built.states) == 2


def test_deep_and_long_laws() -> None:
    assert edges(automaton(letters(f"Main = {'(' * 900}a{')?' * 900};")))[0] == "Main* -> empty*: a"
    assert len(automaton(letters(f"Main = {'a ' * 400};")).states) == 401


def test_a_type_and_its_negation_need_no_other_word() -> None:
    law = compile(FILES + "unused(f) not matches use(f);\nMain = {let f; open(f) unused(f)* (close(f) all)?};")
    assert edges(automaton(law)) == [
        "Main -> unused(f)* (close(f) all)?*: open(f)",
        "Main -> violated: other",
        "unused(f)* (close(f) all)?* -> violated: other",
        "unused(f)* (close(f) all)?* -> all*: close(f)",
        "unused(f)* (close(f) all)?* -> unused(f)* (close(f) all)?*: unused(f)",
        "all* -> all*: any",
    ]
