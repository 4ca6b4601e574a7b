"""What all scenarios of a rule have in common, and how others differ: against Python's regular expressions."""

import re
from itertools import pairwise, product

import pytest

from lawful.learning import templates, violation_kinds
from lawful.learning.violation_kinds import BOTH, Breach

TEMPLATES = (*templates.DEFAULT, "a(ba)*", "ba", "abb", "a{2,3}b", "(ab|ba)a", "(a|b)(a|b)", "aab|b")
LETTERS = {"a": 0, "b": 1}


def words(longest):
    for length in range(1, longest + 1):
        yield from ("".join(word) for word in product("ab", repeat=length))


def bits(letters):
    return sum(1 << LETTERS[letter] for letter in set(letters))


def letters(word):
    return tuple(LETTERS[letter] for letter in word)


@pytest.mark.parametrize("template", TEMPLATES)
@pytest.mark.parametrize("turned", [0, 1])
def test_shapes(template, turned):
    found = violation_kinds.of(templates.compile([template]))
    language = [word for word in words(9) if re.fullmatch(f"({template})+", word)]
    shape = found.shape(turned)
    assert shape.begins == bits(word[0] for word in language)
    assert shape.ends == bits(word[-1] for word in language)
    assert shape.doubles == bits(a for word in language for a, b in pairwise(word) if a == b)


@pytest.mark.parametrize("template", TEMPLATES)
@pytest.mark.parametrize("turned", [0, 1])
def test_what_is_wrong_with_a_word_is_wrong_with_it_and_with_none_of_the_rule(template, turned):
    compiled = templates.compile([template])
    found = violation_kinds.of(compiled)
    language = [word for word in words(9) if re.fullmatch(f"({template})+", word)]
    wrong = [word for word in words(7) if not re.fullmatch(f"({template})+", word)]
    for word in wrong:
        kind = found.kind(turned, letters(word))
        assert not compiled.satisfied[kind] >> turned & 1
        breach, number = found.shape(turned).broken(letters(word))
        letter = "ab"[number]
        if breach is Breach.MISSING:
            assert letter not in word
        elif breach is Breach.FIRST:
            assert word[0] == letter
            assert all(each[0] != letter for each in language)
        elif breach is Breach.LAST:
            assert word[-1] == letter
            assert all(each[-1] != letter for each in language)
        elif breach is Breach.AGAIN:
            assert letter * 2 in word
            assert all(letter * 2 not in each for each in language)
        else:
            assert breach is Breach.OTHER
            assert set(word) == {"a", "b"}


@pytest.mark.parametrize("texts", [templates.DEFAULT, TEMPLATES])
def test_each_kind_has_a_word_that_ends_in_it(texts):
    compiled = templates.compile(texts)
    found = violation_kinds.of(compiled)
    for rule in range(len(compiled.size)):
        for kind, seen in enumerate(compiled.letters):
            word = found.word(rule, kind)
            assert found.kind(rule, word) == kind
            assert (sum({1 << (letter ^ (rule & 1)) for letter in word}) == BOTH) == (seen == BOTH)
