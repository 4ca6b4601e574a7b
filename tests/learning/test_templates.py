"""Templates: their languages against Python's `re` on all short words, the product, and what is refused."""

from __future__ import annotations

import re
from itertools import product as words_over

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from lawful.errors import LawfulError
from lawful.learning import templates
from lawful.learning.window_protocol import MOST_TEMPLATES, Product

LONGEST = 10
WORDS = ["".join(word) for length in range(1, LONGEST + 1) for word in words_over("ab", repeat=length)]
SWAP = str.maketrans("ab", "ba")


def ending(machine: Product, word: str) -> int:
    """The state after a word whose a is letter 0 of the pair."""
    state = machine.start
    for char in word:
        state = machine.step[state]["ab".index(char)]
    return state


def check(texts: list[str] | tuple[str, ...], words: list[str]) -> None:
    """Every word satisfies those rules, and has seen those letters, that `re` and `in` say."""
    machine = templates.compile(texts)
    patterns = [re.compile(f"(?:{text})+", re.VERBOSE) for text in texts]
    for word in words:
        kind = machine.kind[ending(machine, word)]
        expected = 0
        for number, pattern in enumerate(patterns):
            expected |= bool(pattern.fullmatch(word)) << 2 * number
            expected |= bool(pattern.fullmatch(word.translate(SWAP))) << 2 * number + 1
        assert machine.satisfied[kind] == expected, word
        assert machine.letters[kind] == ("a" in word) + 2 * ("b" in word), word


def refused(*texts: str) -> LawfulError:
    with pytest.raises(LawfulError) as caught:
        templates.compile(texts)
    return caught.value


def test_the_nine_on_all_short_words() -> None:
    check(templates.DEFAULT, WORDS)


def test_the_size_of_the_product_of_the_nine() -> None:
    machine = templates.compile(templates.DEFAULT)
    assert len(machine.step) == 33

    # Without the letters seen there are 29: in both orders, what has seen one letter alone or both can go on alike.
    def future(state: int, depth: int) -> tuple[object, ...]:
        satisfied = None if state == machine.start else machine.satisfied[machine.kind[state]]
        return (satisfied, *(future(target, depth - 1) for target in machine.step[state])) if depth else (satisfied,)

    assert len({future(state, 6) for state in range(33)}) == 29


def test_states_and_kinds_are_minimal() -> None:
    machine = templates.compile(["ab?", "(a|b)a{1,3}b", "ba|ab"])
    pairs = list(zip(machine.satisfied, machine.letters, strict=True))
    assert len(set(pairs)) == len(pairs)
    assert {machine.kind[state] for state in range(len(machine.step)) if state != machine.start} == set(
        range(len(pairs))
    )
    futures = set()
    for state in range(len(machine.step)):
        kinds = []
        for word in ["", *WORDS[:254]]:
            here = state
            for char in word:
                here = machine.step[here]["ab".index(char)]
            kinds.append(-1 if here == machine.start else machine.kind[here])
        futures.add(tuple(kinds))
    assert len(futures) == len(machine.step)
    assert machine.start not in {target for targets in machine.step for target in targets}


EXPRESSIONS = st.recursive(
    st.sampled_from(["a", "b", ".", "[ab]", "[ba]", "[a]"]),
    lambda inner: st.one_of(
        st.lists(inner, min_size=2, max_size=4).map("".join),
        st.lists(inner, min_size=2, max_size=3).map(lambda parts: f"({'|'.join(parts)})"),
        st.builds(
            lambda part, times: f"({part}){times}",
            inner,
            st.sampled_from(["", "*", "+", "?", "{2}", "{1,2}", "{0,2}", "{2,}", "{,2}", "{0}", "{0,}"]),
        ),
        inner.map(lambda part: f"( {part} )"),
    ),
    max_leaves=8,
)


@settings(max_examples=60, deadline=None)
@given(st.lists(EXPRESSIONS, min_size=1, max_size=3))
def test_any_template_on_all_short_words(texts: list[str]) -> None:
    try:
        templates.compile(texts)
    except LawfulError as error:
        expected = {"template-letters": "a+|b+", "template-empty": "", "template-too-big": None}[error.slug]
        assume(expected is not None)
        hits = [[word for word in WORDS[:254] if re.fullmatch(text.replace(" ", ""), word)] for text in texts]
        assert any(all(re.fullmatch(str(expected), word) for word in found) for found in hits)
        return
    check(texts, WORDS[:510])


@settings(max_examples=60, deadline=None)
@given(EXPRESSIONS, EXPRESSIONS)
def test_one_of_two_templates_with_the_same_scenarios_is_kept(one: str, other: str) -> None:
    try:
        kept = templates.distinct([one, other])
    except LawfulError:
        assume(False)
    first, second = (
        [bool(re.fullmatch(f"(?:{text})+", word)) for word in WORDS]
        for text in (templates.tidy(one), templates.tidy(other))
    )
    swapped = [bool(re.fullmatch(f"(?:{templates.tidy(other)})+", word.translate(SWAP))) for word in WORDS]
    same = first in (second, swapped)
    # Languages may differ in longer words only, so the short ones say only that they are not the same.
    assert kept[0] == templates.tidy(one)
    assert len(kept) == 2 or same


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("ab", True),
        ("a+b*", True),
        ("ab|ba", True),
        ("(a|b)a?b", True),
        ("ab|a", False),
        ("a?b", True),
        ("ab?a?", False),  # the second a may begin the next repetition
        ("a+b+|b+a+", False),
        ("a{2}b", True),
        (".b", True),
        ("a{1,2}b", True),
        ("a*ab", False),
    ],
)
def test_which_templates_can_be_read_letter_by_letter(text: str, expected: bool) -> None:
    assert templates.is_deterministic(templates.parse(text)) is expected


def test_distinct() -> None:
    assert templates.distinct([*templates.DEFAULT, "( a b )+", "ba", "b?a", "(ab)*", "a b a?"]) == (
        *templates.DEFAULT,
        "aba?",
    )
    assert templates.distinct(["(a b)+", "ab"]) == ("(ab)+",)


def test_the_stricter_template_is_the_smaller_one() -> None:
    def count(text: str, longest: int) -> int:
        pattern = re.compile(f"(?:{text})+")
        return sum(bool(pattern.fullmatch(word)) for word in WORDS if len(word) <= longest)

    for text in (*templates.DEFAULT, "(ab)*", "a{2,3}b"):
        assert templates.scenario(text).words(LONGEST) == count(text, LONGEST)
        assert templates.scenario(text).words(3) == count(text, 3)
    size = templates.compile(templates.DEFAULT).size
    by_text = dict(zip(templates.DEFAULT, size[::2], strict=True))
    assert size[::2] == size[1::2]
    assert by_text["ab"] < by_text["ab|ba"] < by_text["ab+"] < by_text["ab?"] < by_text["a+b*"] < by_text["a+b+|b+a+"]
    assert max(size) < 2**31


@pytest.mark.parametrize(
    ("text", "slug", "column"),
    [
        ("", "template-empty", None),
        (" \t", "template-empty", None),
        ("a{0}", "template-empty", None),
        ("(a*b){0,0}", "template-empty", None),
        ("((a{0}){255}){255}", "template-empty", None),
        ("a+", "template-letters", None),
        ("b{2}a{0}", "template-letters", None),
        ("abc", "template-letters", 3),
        ("a B", "template-letters", 3),
        ("open close", "template-letters", 1),
        ("[ac]b", "template-letters", 1),
        ("(ab", "template-syntax", 1),
        ("a(b(ab)", "template-syntax", 2),
        ("ab)", "template-syntax", 3),
        ("a||b", "template-syntax", 3),
        ("|ab", "template-syntax", 1),
        ("ab|", "template-syntax", 4),
        ("a()b", "template-syntax", 3),
        ("*ab", "template-syntax", 1),
        ("a**b", "template-syntax", 3),
        ("a+?b", "template-syntax", 3),
        ("a{2}{3}b", "template-syntax", 5),
        ("a{2", "template-syntax", 2),
        ("a{}b", "template-syntax", 2),
        ("a{,}b", "template-syntax", 2),
        ("a{1 2}b", "template-syntax", 2),
        ("a{3,2}b", "template-syntax", 2),
        ("^ab", "template-syntax", 1),
        ("a\\b", "template-syntax", 2),
        ("a[", "template-syntax", 2),
        ("a[]b", "template-syntax", 2),
        ("a[^b]", "template-syntax", 2),
        ("a\x1bb", "template-syntax", 2),
        ("a{999999999999999999999999}b", "template-too-big", None),
        ("(a{20}b){20}", "template-too-big", None),
        ("(a|b)*a(a|b){12}", "template-too-big", None),
        ("(" * 2000 + "ab" + ")" * 2000, "template-too-big", None),
    ],
)
def test_what_is_refused(text: str, slug: str, column: int | None) -> None:
    error = refused("ab", text)
    assert error.slug == slug
    assert ("\x1b" not in str(error)) and "Traceback" not in str(error)
    if column is not None:
        assert error.where is not None
        assert error.where.endswith(f", column {column}")


def test_there_is_a_most_of_templates_and_a_least() -> None:
    texts = [f"a{{{number}}}b" for number in range(1, MOST_TEMPLATES + 2)]
    assert refused(*texts).slug == "template-too-many"
    assert len(templates.compile(["ab"] * MOST_TEMPLATES).size) == 2 * MOST_TEMPLATES
    assert refused().slug == "template-empty"


def test_a_product_can_be_too_big() -> None:
    primes = [f"(a|b){{{number}}}" for number in (7, 11, 13, 17)]
    assert all(templates.compile([text]) for text in primes)
    assert refused(*primes).slug == "template-too-big"
