"""Whatever the text, nothing but a LawError comes out; whatever the tree, its text is read back as the same tree."""

from __future__ import annotations

import json
from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as st

from lawful.diagnostics import LawSourceError
from lawful.laws.rml import syntax
from lawful.laws.rml.equations import own_arguments as own
from lawful.laws.rml.equations import preorder, values
from lawful.laws.rml.law_warnings import check
from lawful.laws.rml.lexer import KEYWORDS, tokenize
from lawful.laws.rml.parser import parse
from lawful.laws.rml.printer import format_spec

CASES = Path(__file__).parents[2] / "data" / "rml-conformance.jsonl"
LAWS = sorted({json.loads(line)["spec"] for line in CASES.read_text(encoding="utf-8").splitlines()})
SYMBOLS = "... >> >= <= == != && || /\\ \\/ { } ( ) [ ] < > = ; : , | * + ? ! ^ / - _".split(" ")
WORDS = [
    *SYMBOLS,
    *sorted(KEYWORDS),
    "a",
    "b",
    "p",
    "x",
    "Main",
    "G",
    "1",
    "2.5",
    "'s'",
    "any",
    "\n",
    "// c\n",
    "'",
    '"',
    "&",
]


def attempt(text: str) -> None:
    """Parse, check and render, with every place inside the text."""
    try:
        found = check(parse(text), text)
    except LawSourceError as error:
        assert error.render().startswith(("error[rml-", "warning[rml-"))
        found = list(error.diagnostics)
        assert found
    for each in found:
        for start, end in (each.span, *(span for span, _ in each.notes)):
            assert 0 <= start <= end <= len(text)


@given(st.text())
def test_any_text(text: str) -> None:
    attempt(text)
    tokens, _ = tokenize(text)
    places = [place for token in tokens for place in token.span]
    assert places == sorted(places)


@given(st.lists(st.sampled_from(WORDS), max_size=60), st.sampled_from(["", " "]))
def test_any_tokens(words: list[str], separator: str) -> None:
    attempt(separator.join(words))


@given(st.lists(st.sampled_from(WORDS), max_size=30))
def test_any_tokens_in_an_equation(words: list[str]) -> None:
    attempt(f"a matches {{n: 'a'}}; b matches a; p(x) matches {{v: x}}; Main = {' '.join(words)};\nG<x> = p(x) Main;")


@given(st.lists(st.sampled_from(WORDS), max_size=30))
def test_any_tokens_in_a_declaration(words: list[str]) -> None:
    attempt(f"a matches {{n: 'a'}}; b(x) matches {' '.join(words)};\nMain = a b(1);")


@given(st.data())
def test_changed_laws(draws: st.DataObject) -> None:
    text = draws.draw(st.sampled_from(LAWS))
    for _ in range(draws.draw(st.integers(1, 4))):
        start = draws.draw(st.integers(0, len(text)))
        end = draws.draw(st.integers(start, min(len(text), start + 10)))
        text = text[:start] + draws.draw(st.sampled_from([*WORDS, "", text[start : end + 20], "é"])) + text[end:]
    attempt(text)


# -- trees --------------------------------------------------------------------------------------------------------

lower = st.sampled_from(["a", "b", "p", "x", "y", "any", "letter"])
upper = st.sampled_from(["Main", "G", "H1"])
scalars = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-5, 10**20),
    st.floats(allow_nan=False, allow_infinity=False),
    st.text(st.characters(exclude_characters="\x00"), max_size=5),
)
literals = st.builds(syntax.Literal, scalars)
names = st.builds(syntax.Name, lower)


def _apply(children: st.SearchStrategy[syntax.Literal | syntax.Name]) -> st.SearchStrategy[syntax.Apply]:
    return st.sampled_from(sorted(syntax.FUNCTIONS)).flatmap(
        lambda name: st.builds(syntax.Apply, st.just(name), st.tuples(*[children] * syntax.FUNCTIONS[name]))
    )


data = st.recursive(
    st.one_of(literals, names),
    lambda inner: st.one_of(
        st.builds(syntax.Unary, st.just("-"), inner),
        st.builds(syntax.Binary, st.sampled_from([op for op in syntax.DATA_LEVELS if op != "neg"]), inner, inner),
        _apply(inner),
    ),
    max_leaves=8,
)
keys = st.one_of(lower, upper, st.sampled_from(["if", "a b", "1", "", "it's"]))


def _patterns(leaves: st.SearchStrategy[syntax.Literal | syntax.Name | syntax.Wildcard]) -> st.SearchStrategy[object]:
    return st.recursive(
        leaves,
        lambda inner: st.one_of(
            st.builds(
                syntax.ObjectPattern,
                st.lists(st.tuples(keys, inner), max_size=3, unique_by=lambda field: field[0]).map(tuple),
            ),
            st.builds(syntax.ListPattern, st.lists(inner, max_size=3).map(tuple), st.booleans()),
            st.builds(syntax.AnyOf, st.lists(inner, min_size=2, max_size=3).map(tuple)),
        ),
        max_leaves=6,
    )


patterns = _patterns(st.one_of(literals, names, st.builds(syntax.Wildcard)))
bodies = patterns.filter(
    lambda body: (
        not any(isinstance(each, syntax.Name) for each in (body.options if isinstance(body, syntax.AnyOf) else (body,)))
    )
)
event_uses = st.builds(syntax.EventUse, lower, st.lists(st.one_of(data, patterns), max_size=2).map(tuple))
unique_names = st.lists(lower, max_size=2, unique=True).map(tuple)
expressions = st.recursive(
    st.one_of(
        st.builds(syntax.Empty),
        st.builds(syntax.All),
        st.builds(syntax.Event, st.builds(syntax.EventUse, lower)),
        st.builds(syntax.Event, event_uses),
        st.builds(syntax.EquationCall, upper, st.lists(data, max_size=2).map(tuple)),
    ),
    lambda inner: st.one_of(
        *(st.builds(syntax.Infix, st.just(op), inner, inner) for op in (" ", "/\\", "\\/", "|")),
        *(st.builds(syntax.Postfix, st.just(op), inner) for op in "*+?!"),
        st.builds(syntax.Times, inner, st.integers(0, 20)),
        st.builds(syntax.Let, st.lists(lower, min_size=1, max_size=2, unique=True).map(tuple), inner),
        st.builds(syntax.Filter, event_uses, inner, st.one_of(st.none(), inner)),
        st.builds(syntax.If, data, inner, inner),
    ),
    max_leaves=12,
)
laws = st.builds(
    syntax.Specification,
    st.lists(
        st.builds(
            syntax.Declaration,
            lower,
            unique_names,
            st.booleans(),
            st.one_of(bodies, st.lists(event_uses, min_size=1, max_size=3).map(tuple)),
            st.one_of(st.none(), data),
        ),
        max_size=2,
    ).map(tuple),
    st.lists(st.builds(syntax.Equation, upper, unique_names, expressions), min_size=1, max_size=2).map(tuple),
)


@given(laws)
@settings(max_examples=500)
def test_round_trip(law: syntax.Specification) -> None:
    text = format_spec(law)
    again = parse(text)
    assert again == law
    assert format_spec(again) == text  # `==` takes 1, 1.0 and true for the same
    for equation in again.equations:
        for node in preorder(equation.body):
            assert 0 <= node.span[0] < node.span[1] <= len(text)
            for value in values(*own(node)):
                assert node.span[0] <= value.span[0] < value.span[1] <= node.span[1]


@given(laws)
def test_checking_any_tree(law: syntax.Specification) -> None:
    attempt(format_spec(law))
