"""Differences of programs whose words can be listed, and the merge of the paper's Fig. 7."""

from __future__ import annotations

import random
from collections.abc import Iterator

import pytest

from explain.toys import Program, Toy
from lawful.errors import LawfulError
from lawful.explain.automata import words
from lawful.explain.bounds import Range
from lawful.explain.differences import Comparison, How, Side, diff, merge
from lawful.explain.model import Bounds, Limits, Teacher, Word
from lawful.explain.studying import LearnerName, Naming, from_here
from lawful.explain.teachers.executions import ExecutionsTeacher


def always(*runs: str) -> Program:
    """A program with these executions, whatever the bound; letters are a, b, c..., and `!` at the end is the error."""

    def program(unwind: int) -> Iterator[tuple[Word, bool]]:
        for run in runs:
            yield tuple(ord(letter) - ord("a") for letter in run.rstrip("!")), run.endswith("!")

    return program


def spelled(comparison: Comparison, side: Side) -> set[str]:
    """The words of a side; the error is an exclamation mark."""
    letters = comparison.alphabet.labels
    return {
        "".join("!" if letter == comparison.alphabet.error else letters[letter] for letter in word)
        for word in words(side.automaton, comparison.bounds.word_length)
    }


def shown(toy: Toy, before: str = "") -> tuple[Teacher, Naming]:
    return ExecutionsTeacher(toy), lambda file: before + file


def compared(
    old: Program, new: Program, letters: str = "abc", new_letters: str | None = None, learner: LearnerName = "auto"
) -> Comparison:
    teachers = [shown(Toy(letters, old), "old/"), shown(Toy(new_letters or letters, new), "new/")]
    return diff(("OLD", "NEW"), teachers, target="f", ends=False, how=How(learner=learner))


def test_both_sides_of_a_difference() -> None:
    found = compared(always("ab!", "b!"), always("b!", "cb!", "ab"))
    assert not found.same and found.complete
    assert spelled(found, found.side("only_old")) == {"ab!"}
    assert spelled(found, found.side("only_new")) == {"cb!"}
    assert [(way.word, way.example) for way in found.side("only_old").ways] == [((0, 1, 3), "f(01)")]
    assert [edge.example for edge in found.side("only_new").picture.edges] == ["f(21)"] * 3
    assert [(edge.file, edge.line) for edge in found.side("only_old").picture.edges] == [
        ("old/toy.c", 10),
        ("old/toy.c", 11),
        ("old/toy.c", 99),
    ]
    assert {edge.file for edge in found.side("only_new").picture.edges} == {"new/toy.c"}
    assert found.side("only_old").title == "only in OLD" and found.side("only_new").ways_total == 1


def test_the_same_behaviour() -> None:
    found = compared(always("ab!", "c"), always("ab!", "b"))
    assert found.same and found.side("only_old").empty and found.side("only_new").empty


def test_an_error_that_is_gone() -> None:
    found = compared(always("a!", "b"), always("a", "b"))
    assert spelled(found, found.side("only_old")) == {"a!"} and found.side("only_new").empty


def test_no_error_in_either() -> None:
    assert compared(always("a"), always("b")).same


def test_alphabets_are_united_by_label() -> None:
    # In the new version, the first letter is called c and the second a.
    found = compared(always("ab!"), always("ab!", "b!"), letters="ab", new_letters="ca")
    assert found.alphabet.labels == ("a", "b", "c", "error")
    assert spelled(found, found.side("only_old")) == {"ab!"}
    assert spelled(found, found.side("only_new")) == {"ca!", "a!"}
    assert {way.example for way in found.side("only_new").ways} == {"f(01)", "f(1)"}, "inputs of the new version"


def test_the_bounds_are_the_same_for_both() -> None:
    def longer(unwind: int) -> Iterator[tuple[Word, bool]]:
        yield (0,), True
        yield (0, 1, 1, 1, 1, 1), True

    found = compared(always("a!"), longer)
    assert found.bounds == Bounds(1, 8)
    assert found.side("only_old").empty and spelled(found, found.side("only_new")) == {"abbbbb!"}


def turns(least: int) -> Program:
    def program(unwind: int) -> Iterator[tuple[Word, bool]]:
        for count in range(unwind + 1):
            yield (0,) * count, count >= least

    return program


def test_a_difference_is_looked_for_beyond_the_first_failure() -> None:
    def new(unwind: int) -> Iterator[tuple[Word, bool]]:
        yield from turns(1)(unwind)
        if unwind > 2:
            yield (1,), True

    found = compared(turns(1), new)
    assert found.bounds.unwind == 3 and spelled(found, found.side("only_new")) == {"b!"}
    assert found.side("only_old").empty


def test_where_nothing_differs_all_bounds_were_tried() -> None:
    assert compared(turns(1), turns(1)).bounds == Bounds(4, 6)


def test_every_bound_is_tried_if_asked() -> None:
    teachers = [shown(Toy("a", turns(1))), shown(Toy("a", turns(2)))]
    assert diff(("OLD", "NEW"), teachers).bounds.unwind == 1
    found = diff(("OLD", "NEW"), teachers, how=How(within=Range(max_unwind=3, every=True)))
    assert found.bounds.unwind == 3 and spelled(found, found.side("only_old")) == {"a!"}


def test_free_words_are_no_difference() -> None:
    with pytest.raises(LawfulError) as caught:
        compared(always("a!"), always("a!"), learner="dont-care")
    assert caught.value.slug == "explain-learner"


def test_out_of_time_after_some_bounds(monkeypatch: pytest.MonkeyPatch) -> None:
    # The clock moves by ten seconds for each unwinding.
    def slow(unwind: int) -> Iterator[tuple[Word, bool]]:
        clock[0] += 10
        yield (0,), True

    clock = [0.0]
    monkeypatch.setattr("time.monotonic", lambda: clock[0])
    teachers = [shown(Toy("a", slow)), shown(Toy("a", always("a!")))]
    found = diff(("OLD", "NEW"), teachers, how=How(seconds=15))
    assert found.same and not found.complete and found.bounds.unwind == 1
    assert found.reached == ("stopped after 15 seconds, before unwinding 2 could be compared",)


@pytest.mark.parametrize("learner", ["words", "table", "tree"])
@pytest.mark.parametrize("seed", range(25))
def test_random_versions_by_their_words(seed: int, learner: LearnerName) -> None:
    chance = random.Random(seed)

    def some() -> list[str]:
        found = ("".join(chance.choice("ab") for _ in range(chance.randrange(4))) for _ in range(4))
        return [word + chance.choice(("", "!", "!")) for word in found]

    old, new = some(), some()
    teachers = [shown(Toy("ab", always(*runs))) for runs in (old, new)]
    how = How(learner=learner, within=Range(unwind=1, word_length=6))
    found = diff(("OLD", "NEW"), teachers, ends=False, how=how)
    fails_old, fails_new = ({run for run in runs if run.endswith("!")} for runs in (old, new))
    assert spelled(found, found.side("only_old")) == fails_old - fails_new
    assert spelled(found, found.side("only_new")) == fails_new - fails_old
    assert found.same is (fails_old == fails_new)
    for side in found.sides:
        assert all(edge.example is not None for edge in side.picture.edges)


def merged(base: str, a: str, b: str, both: str) -> Comparison:
    teachers = [shown(Toy("abcz", always(*runs.split()))) for runs in (base, a, b, both)]
    return merge(("base", "A", "B", "merged"), teachers)


def test_the_merge_of_the_paper() -> None:
    # Fig. 7: branch A calls functionZ in the place of functionB, branch B adds functionC, and the merge puts it into Z.
    z = chr(ord("a") + 3)
    found = merged("ab!", f"a{z}b!", "abc!", f"a{z}bc!")
    assert not found.same
    assert spelled(found, found.side("not_in_a")) == {"azbc!"}, "Fig. 8"
    assert spelled(found, found.side("not_in_b")) == {"azbc!"}, "Fig. 9"
    assert spelled(found, found.side("in_neither")) == {"azbc!"}
    assert spelled(found, found.side("lost")) == {"azb!", "abc!"}
    assert found.side("back").empty


def test_a_merge_without_surprise() -> None:
    found = merged("a! b!", "a! c!", "a! b! ab!", "a! c! ab!")
    assert found.same
    assert spelled(found, found.side("not_in_a")) == {"ab!"}
    assert spelled(found, found.side("not_in_b")) == {"c!"}
    assert not found.side("not_in_a").matters


def test_a_merge_that_brings_back_what_was_removed() -> None:
    found = merged("a! b!", "a!", "a! b! c!", "a! b! c!")
    assert not found.same and spelled(found, found.side("back")) == {"b!"}
    assert found.side("lost").empty and found.side("in_neither").empty


def test_out_of_time_cannot_be_compared() -> None:
    teachers = [shown(Toy("ab", always("a!"))) for _ in range(2)]
    with pytest.raises(LawfulError) as caught:
        diff(("OLD", "NEW"), teachers, how=How(seconds=0))
    assert caught.value.slug == "explain-time"


def test_limits_and_warnings_name_the_version() -> None:
    first, second = Toy("ab", always("a!", "b!")), Toy("ab", always("a!"))
    for toy in (first, second):
        toy.report.warnings.append("something happened")
    first.report.warnings.append("not deterministic")
    teachers = [(ExecutionsTeacher(first, Limits(words=1)), from_here), (ExecutionsTeacher(second), from_here)]
    found = diff(("OLD", "NEW"), teachers, ends=False)
    assert found.reached == ("OLD: stopped after 1 words",) and not found.complete
    assert found.warnings[:2] == ("something happened", "OLD: not deterministic")
    assert found.same and len(found.warnings) == 2


def test_a_difference_of_samples_is_said_to_be_one() -> None:
    first, second = Toy("ab", always("a!", "b!")), Toy("ab", always("a!", "b!"))
    teachers = [(ExecutionsTeacher(first, Limits(words=1)), from_here), (ExecutionsTeacher(second), from_here)]
    found = diff(("OLD", "NEW"), teachers, ends=False)
    assert not found.same and not found.complete and "not all executions were seen" in found.warnings[-1]


def test_json_has_both_sides() -> None:
    found = compared(always("ab!"), always("b!")).to_json()
    assert (found["old"], found["new"], found["same"], found["complete"]) == ("OLD", "NEW", False, True)
    old = found["differences"]["only_old"]
    assert old["words"] == [{"word": ["a", "b", "error"], "input": "f(01)"}]
    assert old["states"] == 4 and old["accepting"] == [3]
    assert [(edge["from"], edge["event"], edge["to"]) for edge in old["edges"]] == [
        (0, "a", 1),
        (1, "b", 2),
        (2, "error", 3),
    ]
