"""Differences of programs whose words can be listed, and the merge of the paper's Fig. 7."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from itertools import product

import pytest

from explain.toys import Toy, ToyRuns
from lawful.errors import LawfulError
from lawful.explain.automata import words
from lawful.explain.bounds import Range
from lawful.explain.compared_program import ComparedProgram, ObservedEndings
from lawful.explain.comparison import Comparison, Side
from lawful.explain.learning_run import LearnerName, SearchSettings, relative_to_cwd
from lawful.explain.teacher import Alphabet, Basis, Bounds, Execution, LabelledEvent, Limits, TeacherReport, Word
from lawful.explain.teachers.executions import ExecutionsTeacher
from lawful.explain.version_comparison import diff, merge


def always(*runs: str) -> ToyRuns:
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


def shown(toy: Toy, before: str = "") -> ComparedProgram:
    return ComparedProgram({"error": ExecutionsTeacher(toy)}, lambda file: before + file)


def compared(
    old: ToyRuns,
    new: ToyRuns,
    letters: str = "abc",
    new_letters: str | None = None,
    learner: LearnerName = "auto",
) -> Comparison:
    teachers = [shown(Toy(letters, old), "old/"), shown(Toy(new_letters or letters, new), "new/")]
    return diff(("OLD", "NEW"), teachers, target="f", how=SearchSettings(learner=learner))


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


def turns(least: int) -> ToyRuns:
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
    found = diff(("OLD", "NEW"), teachers, how=SearchSettings(within=Range(max_unwind=3, every=True)))
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
    found = diff(("OLD", "NEW"), teachers, how=SearchSettings(seconds=15))
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
    how = SearchSettings(learner=learner, within=Range(unwind=1, word_length=6))
    found = diff(("OLD", "NEW"), teachers, how=how)
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
        diff(("OLD", "NEW"), teachers, how=SearchSettings(seconds=0))
    assert caught.value.slug == "explain-time"


def test_limits_and_warnings_name_the_version() -> None:
    first, second = Toy("ab", always("a!", "b!")), Toy("ab", always("a!"))
    for toy in (first, second):
        toy.report.warnings.append("something happened")
    first.report.warnings.append("not deterministic")
    teachers = [
        ComparedProgram({"error": ExecutionsTeacher(first, Limits(words=1))}, relative_to_cwd),
        ComparedProgram({"error": ExecutionsTeacher(second)}, relative_to_cwd),
    ]
    found = diff(("OLD", "NEW"), teachers)
    assert found.reached == ("OLD: stopped after 1 words",) and not found.complete
    assert found.warnings[:2] == ("something happened", "OLD: not deterministic")
    assert found.same and len(found.warnings) == 2


def test_a_difference_of_samples_is_said_to_be_one() -> None:
    first, second = Toy("ab", always("a!", "b!")), Toy("ab", always("a!", "b!"))
    teachers = [
        ComparedProgram({"error": ExecutionsTeacher(first, Limits(words=1))}, relative_to_cwd),
        ComparedProgram({"error": ExecutionsTeacher(second)}, relative_to_cwd),
    ]
    found = diff(("OLD", "NEW"), teachers)
    assert not found.same and not found.complete and "not all executions were seen" in found.warnings[-1]


def test_json_has_both_sides() -> None:
    found = compared(always("ab!"), always("b!")).to_json()
    assert (found["old"], found["new"], found["same"], found["complete"]) == ("OLD", "NEW", False, True)
    old = found["differences"]["only_old"]
    assert old["words"] == [
        {"word": ["a", "b", "error"], "fails": True, "input": "f(01)", "certain": True, "elsewhere": []}
    ]
    assert found["ends"] == [{"end": "error", "fails": True}]
    assert old["states"] == 4 and old["accepting"] == [3]
    assert [(edge["from"], edge["event"], edge["to"]) for edge in old["edges"]] == [
        (0, "a", 1),
        (1, "b", 2),
        (2, "error", 3),
    ]


class Raising(Toy):
    """A toy whose executions fail with different errors: `ab!K` fails with K after a and b."""

    def __init__(self, letters: str, runs: Sequence[str]) -> None:
        super().__init__(letters, always())
        self._runs = runs

    def executions(self, bounds: Bounds, limits: Limits) -> Iterator[Execution]:
        for run in self._runs:
            events, failed, error = run.partition("!")
            word = self.alphabet.word(*events) + ((self.alphabet.error,) if failed else ())
            if len(word) <= bounds.word_length:
                yield Execution(word, bool(failed), f"f({events})", error=error or None)


def ending(runs: Sequence[str], letters: str = "ab") -> ComparedProgram:
    return ObservedEndings(Raising(letters, runs), Limits(), relative_to_cwd)


def ended(comparison: Comparison, key: str) -> set[str]:
    """The words of a side as they were given to a toy."""
    found = set()
    for word in words(comparison.side(key).automaton, comparison.bounds.word_length):
        *events, end = comparison.alphabet.spelled(word)
        found.add("".join(events) + ("" if end == "end" else f"!{end}"))
    return found


def test_a_version_that_fails_where_another_ends() -> None:
    found = diff(("OLD", "NEW"), [ending(["a!KeyError", "b"]), ending(["a", "b"])])
    assert found.verdict == "differs" and found.complete
    assert ended(found, "only_old") == {"a!KeyError"} and ended(found, "only_new") == {"a"}
    (failing,) = found.side("only_old").ways
    assert found.alphabet.labels == ("a", "b", "KeyError", "end") and found.failing == {2}
    assert [(each.version, each.by, each.words) for each in failing.elsewhere] == [("NEW", "events", ((0, 3),))]
    reported = found.to_json()["differences"]["only_new"]["words"][0]
    assert reported["fails"] is False and reported["elsewhere"] == [
        {"version": "OLD", "by": "events", "word": ["a", "KeyError"], "fails": True}
    ]


def test_another_error_is_another_end() -> None:
    found = diff(("OLD", "NEW"), [ending(["a!KeyError", "a!ValueError"]), ending(["a!KeyError"])])
    assert ended(found, "only_old") == {"a!ValueError"} and found.side("only_new").empty


def test_events_and_errors_that_are_called_like_an_end() -> None:
    versions = []
    for runs in (["a", "b"], ["a", "b", "a!end"]):
        toy = Raising("ab", runs)
        toy.alphabet = Alphabet((LabelledEvent("a"), LabelledEvent("b"), LabelledEvent("end"), LabelledEvent("error")))
        versions.append(ObservedEndings(toy, Limits(), relative_to_cwd))
    found = diff(("OLD", "NEW"), versions)
    assert found.alphabet.labels == ("a", "b", "end", "end (error)", "end!")
    assert ended(found, "only_new") == {"a!end (error)"} and found.side("only_old").empty


def test_an_end_of_longer_words_is_not_overlooked() -> None:
    many = ["".join(letters) for size in (3, 4, 5) for letters in product("ab", repeat=size)]
    found = diff(("OLD", "NEW"), [ending([*many, "aaaaaa!KeyError"]), ending(["b"])])
    side = found.side("only_old")
    assert side.ways_total == len(many) + 1 and len(side.ways) == 51
    assert side.ends == {2: 1, 3: len(many)}
    assert found.to_json()["differences"]["only_old"]["ends"] == {"KeyError": 1, "end": len(many)}
    assert found.alphabet.spelled(side.ways[-1].word)[-1] == "KeyError"


@pytest.mark.parametrize("learner", ["words", "table", "tree"])
@pytest.mark.parametrize("seed", range(40))
def test_random_versions_by_their_words_and_ends(seed: int, learner: LearnerName) -> None:
    chance = random.Random(seed)

    def some() -> list[str]:
        found = ("".join(chance.choice("ab") for _ in range(chance.randrange(3))) for _ in range(4))
        return [word + chance.choice(("", "!K", "!V")) for word in found]

    old, new = some(), some()
    new = old[::-1] if seed % 5 == 0 else new
    how = SearchSettings(learner=learner, within=Range(unwind=1))
    found = diff(("OLD", "NEW"), [ending(old), ending(new)], how=how)
    assert ended(found, "only_old") == set(old) - set(new)
    assert ended(found, "only_new") == set(new) - set(old)
    assert (found.verdict == "same") is (set(old) == set(new))


def test_a_word_that_is_too_long_with_its_end_is_told() -> None:
    how = SearchSettings(within=Range(unwind=1, word_length=2))
    found = diff(("OLD", "NEW"), [ending(["a", "ab"]), ending(["a", "b", "ba!K"])], how=how)
    assert ended(found, "only_new") == {"b"} and found.side("only_old").empty
    assert "OLD: words that end well after 2 events are left out, e.g. that of f(ab)" in found.warnings


def cut(runs: Sequence[str], *begun: Word, slow: int = 1) -> ComparedProgram:
    """A version of which executions were not followed to their end, after these events."""
    toy = Raising("ab", runs)
    toy.report = TeacherReport(Basis.SAMPLED, left_out=True, slow=slow, begun=begun)
    return ObservedEndings(toy, Limits(), relative_to_cwd)


def test_what_an_execution_may_do_that_was_cut_off_is_no_difference() -> None:
    found = diff(("OLD", "NEW"), [cut(["b"], (0,)), ending(["b", "ab"])])
    assert found.verdict == "undecided" and not found.same and not found.complete
    assert not found.side("only_new").certain and not found.side("only_new").ways[0].certain
    assert found.reached == ("OLD: 1 execution was cut off after the time that each has (explain.execution-seconds)",)


def test_what_it_cannot_have_done_is() -> None:
    found = diff(("OLD", "NEW"), [cut(["b"], (0,)), ending(["b", "ab", "ba!K"])])
    assert found.verdict == "differs"
    assert [(found.alphabet.spelled(way.word), way.certain) for way in found.side("only_new").ways] == [
        (("a", "b", "end"), False),
        (("b", "a", "K"), True),
    ]


def test_a_version_that_ends_nowhere() -> None:
    found = diff(("OLD", "NEW"), [cut([], ()), ending(["a", "b"])])
    assert found.verdict == "undecided" and found.bounds.unwind == 1, "larger inputs tell no more"
    nowhere = diff(("OLD", "NEW"), [cut([], ()), cut([], ())])
    assert nowhere.same and nowhere.verdict == "undecided" and "nothing to compare" in nowhere.doubts[0]


def test_one_version_is_slow_and_the_other_is_not() -> None:
    found = diff(("OLD", "NEW"), [ending(["a"]), cut(["a"], (0,))], how=SearchSettings(within=Range(unwind=1)))
    assert found.same and found.verdict == "undecided" and "did not end in their time" in found.doubts[0]
    both = diff(("OLD", "NEW"), [cut(["a"], (0,)), cut(["a"], (0,))], how=SearchSettings(within=Range(unwind=1)))
    assert both.verdict == "same" and not both.complete


@pytest.mark.parametrize("seed", range(40))
def test_certain_differences_hold_whatever_was_cut_off(seed: int) -> None:
    """The test cuts off some executions of a version, so that only their beginnings are known."""
    chance = random.Random(seed)

    def some() -> list[str]:
        return ["".join(chance.choice("ab") for _ in range(chance.randrange(1, 4))) for _ in range(4)]

    whole = [some(), some()]
    versions = []
    for runs in whole:
        gone = [run for run in runs if chance.random() < 0.3]
        begun = [tuple("ab".index(letter) for letter in run[: chance.randrange(len(run) + 1)]) for run in gone]
        left = [run for run in runs if run not in gone]
        versions.append(cut(left, *sorted(set(begun)), slow=len(gone)) if gone else ending(runs))
    found = diff(("OLD", "NEW"), versions, how=SearchSettings(within=Range(unwind=1)))
    old, new = whole
    for key, has, lacks in (("only_old", old, new), ("only_new", new, old)):
        for way in found.side(key).ways:
            events = "".join(found.alphabet.spelled(way.word)[:-1])
            assert events in has and (not way.certain or events not in lacks)


class Interrupting(Raising):
    """Ctrl-C comes with a certain execution."""

    def __init__(self, letters: str, runs: Sequence[str], unwind: int) -> None:
        super().__init__(letters, runs)
        self._unwind = unwind

    def executions(self, bounds: Bounds, limits: Limits) -> Iterator[Execution]:
        for number, each in enumerate(super().executions(bounds, limits)):
            if bounds.unwind == self._unwind and number == 1:
                raise KeyboardInterrupt
            yield each


def test_interrupted_after_some_bounds() -> None:
    new = ObservedEndings(Interrupting("ab", ["a", "b"], unwind=2), Limits(), relative_to_cwd)
    found = diff(("OLD", "NEW"), [ending(["a", "b"]), new])
    assert found.interrupted and found.same and not found.complete and found.bounds.unwind == 1
    assert found.reached == ("interrupted before unwinding 2 could be compared",)


def test_interrupted_in_the_first_bounds() -> None:
    new = ObservedEndings(Interrupting("ab", ["ab", "b"], unwind=1), Limits(), relative_to_cwd)
    found = diff(("OLD", "NEW"), [ending(["a"]), new])
    assert found.interrupted and found.verdict == "differs" and ended(found, "only_new") == {"ab"}
    assert ended(found, "only_old") == {"a"} and not found.side("only_old").certain
    assert found.reached == ("NEW: interrupted",)


def test_interrupted_before_all_were_looked_at() -> None:
    old = ObservedEndings(Interrupting("ab", ["ab", "b"], unwind=1), Limits(), relative_to_cwd)
    with pytest.raises(KeyboardInterrupt):
        diff(("OLD", "NEW"), [old, ending(["a"])])
