"""One sentence for each template and each way to break it, and that none of them says what is not so."""

import re
from itertools import product

import pytest

from lawful.learning import templates, violation_kinds, wording
from lawful.learning.violation_kinds import Breach
from lawful.learning.window_protocol import ExampleScenario, Rule, RuleState, Site, Word

OWN = ("a(ba)*", "ba", "abb", "a{2,3}b", "(ab|ba)a", "aab|b")


def scene(*places, id_=7):
    return ExampleScenario(id_, 1, tuple(("x", Site(*place)) for place in places), False)


BAD = (scene(("db.py", 80), ("db.py", 88)),)


def sentence(template, word, a="open", b="close", bad=BAD, kept=41, total=42):
    found = violation_kinds.of(templates.compile([template]))
    rule = Rule(Word("func_pre", a), Word("func_pre", b), template, kept, total - kept, 3, RuleState.ENFORCING)
    violation = found.shape(0).broken(tuple("ab".index(letter) for letter in word))
    return wording.sentence(rule, found.shape(0), violation, kept, total, bad)


FOLLOWED = "`open` is followed by `close` in 41 of 42 uses; not at `db.py:88`"
AFTER = "`close` comes after `open` in 41 of 42 uses; not at `db.py:88`"
SWAPPED = "`open` comes before `close` in 41 of 42 uses; after it at `db.py:88`"
LAST = "`open` is followed by `close` in 41 of 42 uses; not the last one at `db.py:88`"
TWO_OPENS = "each `open` is followed by `close` in 41 of 42 uses; it comes twice in a row at `db.py:88`"
TWO_CLOSES = "each `close` has its own `open` before it in 41 of 42 uses; it comes twice in a row at `db.py:88`"
NO_CLOSE = "`open` and `close` go together in 41 of 42 uses; `close` is missing at `db.py:88`"
NO_OPEN = "`open` and `close` go together in 41 of 42 uses; `open` is missing at `db.py:88`"


@pytest.mark.parametrize(
    ("template", "word", "expected"),
    [
        ("ab", "a", FOLLOWED),
        ("ab", "b", AFTER),
        ("ab", "ba", SWAPPED),
        ("ab", "aba", LAST),
        ("ab", "aab", TWO_OPENS),
        ("ab", "abb", TWO_CLOSES),
        ("ab+", "aa", FOLLOWED),
        ("ab+", "bb", AFTER),
        ("ab+", "aab", TWO_OPENS),
        ("a+b", "a", FOLLOWED),
        ("a+b", "b", AFTER),
        ("a+b", "abb", TWO_CLOSES),
        ("ab?", "b", AFTER),
        ("ab?", "ba", SWAPPED),
        ("ab?", "abb", TWO_CLOSES),
        ("a?b", "a", FOLLOWED),
        ("a?b", "ba", LAST),
        ("a?b", "aab", TWO_OPENS),
        ("a+b*", "bb", AFTER),
        ("a+b*", "ba", SWAPPED),
        ("a*b+", "aa", FOLLOWED),
        ("a*b+", "aba", LAST),
        ("ab|ba", "a", NO_CLOSE),
        ("ab|ba", "b", NO_OPEN),
        ("ab|ba", "aab", "`open` and `close` keep to `a b | b a` in 41 of 42 uses; not at `db.py:88`"),
        ("a+b+|b+a+", "aa", NO_CLOSE),
        ("a+b+|b+a+", "bb", NO_OPEN),
        ("a(ba)*", "ab", "`close` is followed by `open` in 41 of 42 uses; not the last one at `db.py:88`"),
        ("a{2,3}b", "ab", "`open` and `close` keep to `a{2,3} b` in 41 of 42 uses; not at `db.py:88`"),
        ("ba", "ab", "`close` comes before `open` in 41 of 42 uses; after it at `db.py:88`"),
        ("ba", "a", "`open` comes after `close` in 41 of 42 uses; not at `db.py:88`"),
        ("ba", "b", "`close` is followed by `open` in 41 of 42 uses; not at `db.py:88`"),
    ],
)
def test_each_way(template, word, expected):
    assert sentence(template, word) == expected


@pytest.mark.parametrize("template", (*templates.DEFAULT, *OWN))
def test_what_is_said_to_be_usual_holds_for_all_scenarios_with_both(template):
    words = ["".join(word) for length in range(1, 9) for word in product("ab", repeat=length)]
    language = [word for word in words if re.fullmatch(f"({template})+", word)]
    both = [word for word in language if set(word) == {"a", "b"}]
    said = 0
    for word in words[:100]:
        if word in language:
            continue
        text = sentence(template, word)
        assert text.count("`") % 2 == 0 and "  " not in text
        letter = {"open": "a", "close": "b"}
        if usual := re.match(r"(?:each )?`(\w+)` is followed by `(\w+)` in ", text):
            x, y = (letter[name] for name in usual.groups())
            assert all(re.search(f"{x}[^{y}]*$", each) is None for each in both)
            said += 1
        elif usual := re.match(r"`(\w+)` comes after `(\w+)` in ", text):
            assert all(each[0] == letter[usual[2]] for each in both)
            said += 1
        elif usual := re.match(r"`(\w+)` comes before `(\w+)` in ", text):
            assert all(each[0] == letter[usual[1]] for each in both)
            said += 1
        elif usual := re.match(r"each `(\w+)` has its own `(\w+)` before it in ", text):
            assert all(letter[usual[1]] * 2 not in each for each in both)
            said += 1
        else:
            assert re.match(r"`open` and `close` (go together|keep to `[^`]+`) in ", text)
            said += 1
    assert said


def test_places():
    def at(*lines):
        return sentence("ab", "a", bad=tuple(scene(("x.py", line)) for line in lines)).partition("; ")[2]

    assert at(1) == "not at `x.py:1`"
    assert at(1, 1) == "not at `x.py:1`"
    assert at(1, 2) == "not at `x.py:1` and `x.py:2`"
    assert at(1, 2, 3) == "not at `x.py:1`, `x.py:2` and `x.py:3`"
    assert at(1, 2, 3, 4) == "not at `x.py:1`, `x.py:2` and 2 other places"
    assert sentence("ab", "a", bad=(scene(("x.py", None)),)).endswith("; not at `x.py`")
    assert sentence("ab", "a", bad=(scene((None, None)),)).endswith("; not for object 7")
    assert sentence("ab", "a", bad=(scene(),)).endswith("; not for object 7")


def test_numbers():
    assert " in 1,234 of 1,235 uses; " in sentence("ab", "a", kept=1234, total=1235)


def test_events_that_are_no_calls():
    shape = violation_kinds.of(templates.compile(["ab"])).shape(0)

    def say(a, b):
        rule = Rule(a, b, "ab", 41, 1, 3, RuleState.ENFORCING)
        return wording.sentence(
            rule, shape, violation_kinds.ViolationKind(Breach.MISSING, 1), 41, 42, [scene(("x.py", 1))]
        )

    assert say(Word("new", "Cursor"), Word("func_pre", "Cursor.close")) == (
        "a new `Cursor` is followed by `Cursor.close` in 41 of 42 uses; not at `x.py:1`"
    )
    assert say(Word("field_write", "Node.size"), Word("field_write", "Node.used")) == (
        "a write of `Node.size` is followed by a write of `Node.used` in 41 of 42 uses; not at `x.py:1`"
    )
    assert say(Word("field_read", "Node.size"), Word("func_post", "open", "result")) == (
        "`Node.size (read)` is followed by `open (result)` in 41 of 42 uses; not at `x.py:1`"
    )


def test_nothing_steers_a_terminal():
    text = sentence("ab", "a", a="o\x1b[31mpen\n", bad=(scene(("x\x1b]0;.py", 1)),))
    assert "\x1b" not in text and "\n" not in text
