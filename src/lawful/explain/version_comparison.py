"""Compares versions, learned with the same bounds over one alphabet: what two do differently, and what a merge made."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from itertools import islice
from typing import Any, Literal

from lawful.errors import LawfulError
from lawful.explain.automata import Automaton, count, difference, intersection, is_empty, union, words
from lawful.explain.bounds import Range
from lawful.explain.compared_program import ComparedProgram
from lawful.explain.comparison import Comparison, OtherVersion, Side, Witness
from lawful.explain.learning_run import LearningRun, Naming, SearchSettings, found_nothing, learn_from
from lawful.explain.lstar import LearningInterrupted
from lawful.explain.postprocess import picture
from lawful.explain.shared_alphabet import RunsByEnding, SharedAlphabet
from lawful.explain.teacher import UNSEEN, Basis, Bounds, Execution, Teacher, TeacherReport, Word

_SHOWN_WAYS = 50
_SHOWN_ENDS = 3  # ways with each kind of end, at least
_OFTEN_CUT = "not all executions were seen: what one version seems to lack, it may only not have shown"


@dataclass(frozen=True)
class UndrawnSide:
    """A side before it is drawn. `having` are the versions that have its words, `lacking` those that have not."""

    key: str
    title: str
    automaton: Automaton
    having: tuple[int, ...]
    lacking: tuple[int, ...]
    matters: bool = True


Sides = Callable[[Sequence[Automaton], Sequence[Automaton]], tuple[UndrawnSide, ...]]
"""The sides, from what each version has, and what each may have: more, where executions were not seen to their end."""


def compare_versions(
    kind: Literal["diff", "merge"],
    versions: Mapping[str, str],
    programs: Sequence[ComparedProgram],
    sides: Sides,
    *,
    target: str | None = None,
    narrowed: bool = False,
    how: SearchSettings = SearchSettings(),  # noqa: B008 - it cannot be changed
) -> Comparison:
    """Compares versions with the same bounds: those of the first unwinding that shows a difference, else of the last.

    The search of an explanation ends where something fails. Here that would be too early: that nothing differs is only
    worth something if it was looked for."""
    if how.learner == "dont-care":
        message = "where words are taken freely, versions differ in words that neither of them has"
        raise LawfulError("explain-learner", message, hint="choose another explain.learner")
    shared, interrupted, reached = _search_bounds(programs, versions, sides, how)
    found = _Comparing(shared, versions, sides, interrupted).comparison(kind, target, narrowed)
    return replace(found, reached=(*found.reached, *reached))


@contextmanager
def errors_name_version(version: str) -> Iterator[None]:
    """Says of which version an error speaks."""
    try:
        yield
    except LawfulError as error:
        if not f"{error.where or error.message}:".startswith(f"{version}:"):
            error.where = version if error.where is None else f"{version}: {error.where}"
        raise


def _search_bounds(
    programs: Sequence[ComparedProgram], versions: Mapping[str, str], sides: Sides, how: SearchSettings
) -> tuple[SharedAlphabet, bool, list[str]]:
    """All versions with the same bounds, whether Ctrl-C has ended the search, and what limit has."""
    began = time.monotonic()
    longest = how.within.lengths(1)[-1]
    shared: SharedAlphabet | None = None

    def over_one_alphabet(runs: list[RunsByEnding]) -> SharedAlphabet:
        return SharedAlphabet(programs, list(versions), runs, began)

    for unwind in how.within.unwinds():
        left = None if how.seconds is None else how.seconds - (time.monotonic() - began)
        try:
            kinds = []
            for name, program in zip(versions.values(), programs, strict=True):
                how.watcher(Bounds(unwind, longest), 0, 0)
                with errors_name_version(name):
                    kinds.append(program.teachers(unwind, longest))
            shared = over_one_alphabet(_learned_runs(programs, kinds, replace(how, seconds=left), unwind))
        except KeyboardInterrupt:
            if shared is not None:
                return shared, True, [f"interrupted before unwinding {unwind} could be compared"]
            return over_one_alphabet(_interrupted(programs, how, unwind, longest)), True, []
        except LearningInterrupted:
            stopped = f"stopped after {how.seconds:g} seconds"
            if shared is None:
                hint = "allow more --seconds, or fix smaller bounds: --unwind, --word-length"
                raise LawfulError("explain-time", f"{stopped}: nothing could be compared", hint=hint) from None
            return shared, False, [f"{stopped}, before unwinding {unwind} could be compared"]
        found = any(side.matters and not is_empty(side.automaton) for side in sides(shared.has, shared.may))
        if not how.within.every and (found or shared.endless):
            break
    assert shared is not None
    return shared, False, []


def _interrupted(
    programs: Sequence[ComparedProgram], how: SearchSettings, unwind: int, longest: int
) -> list[RunsByEnding]:
    """What there was when the user pressed Ctrl-C, if all versions were looked at."""
    kinds = []
    for program in programs:
        known = program.so_far(unwind, longest)
        if known is None:
            raise KeyboardInterrupt
        kinds.append(known)
    return _learned_runs(programs, kinds, replace(how, learner="words", seconds=None), unwind)


def _learned_runs(
    programs: Sequence[ComparedProgram], kinds: Sequence[Mapping[str, Teacher]], how: SearchSettings, unwind: int
) -> list[RunsByEnding]:
    """Learns from each teacher, in the end with words of the same length: or else that would be the difference."""

    def learned(teacher: Teacher, naming: Naming, within: Range) -> LearningRun:
        done = learn_from(teacher, replace(how, within=within), naming)
        if done.search.interrupted:
            raise KeyboardInterrupt
        if done.search.reached:
            raise LearningInterrupted
        return done

    within = replace(how.within, unwind=unwind)
    runs = [
        {kind: learned(teacher, program.naming, within) for kind, teacher in teachers.items()}
        for program, teachers in zip(programs, kinds, strict=True)
    ]
    every = [each for version in runs for each in version.values()]
    length = max([each.bounds.word_length for each in every if not found_nothing(each)] or [within.lengths(1)[-1]])
    return [
        {
            kind: each
            if each.bounds.word_length == length
            else learned(each.teacher, each.naming, replace(within, word_length=length))
            for kind, each in version.items()
        }
        for version in runs
    ]


class _Comparing:
    """Makes a comparison of versions. Ctrl-C while inputs are looked for leaves them out."""

    def __init__(self, shared: SharedAlphabet, versions: Mapping[str, str], sides: Sides, interrupted: bool) -> None:
        self._shared = shared
        self._versions = versions
        self._sides = sides
        self._interrupted = interrupted

    def comparison(self, kind: Literal["diff", "merge"], target: str | None, narrowed: bool) -> Comparison:
        shared, reports = self._shared, self._shared.reports
        certain = self._sides(shared.has, shared.may)
        shown = self._sides(shared.has, shared.has)
        drawn = tuple(self._drawn(side, sure.automaton) for side, sure in zip(shown, certain, strict=True))
        complete = all(report.basis is Basis.COMPLETE and not report.limits_reached() for report in reports)
        warnings = _with_version_names(self._versions, [_useful_warnings(report) for report in reports])
        if not all(side.empty for side in drawn) and (not complete or any(report.begun for report in reports)):
            warnings += (_OFTEN_CUT,)
        return Comparison(
            kind=kind,
            target=target,
            versions=self._versions,
            alphabet=shared.alphabet,
            bounds=shared.bounds,
            sides=drawn,
            failing=shared.failing,
            narrowed=narrowed,
            basis=Basis.COMPLETE if complete else Basis.SAMPLED,
            interrupted=self._interrupted,
            reached=_with_version_names(self._versions, [report.limits_reached() for report in reports]),
            warnings=warnings,
            doubts=tuple(self._doubts()),
            seconds=time.monotonic() - shared.began,
        )

    def _doubts(self) -> Iterable[str]:
        """Why versions that show the same words may not be the same."""
        reports, has = self._shared.reports, self._shared.has
        names = list(self._versions.values())
        if all(is_empty(each) for each in has) and any(report.left_out or report.reached for report in reports):
            yield "no execution was followed to its end within the bounds: there was nothing to compare"
            return
        slow = [name for name, report in zip(names, reports, strict=True) if report.slow]
        if slow and len(slow) < len(names):
            others = [name for name in names if name not in slow]
            yield f"executions of {', '.join(slow)} did not end in their time, and all of {', '.join(others)} did"

    def _drawn(self, side: UndrawnSide, certain: Automaton) -> Side:
        """A side with its picture, and with executions of those versions that have its words."""
        shared, length = self._shared, self._shared.bounds.word_length
        finders = [shared.finder(number) for number in side.having]
        seen: dict[Word, Execution] = {}

        def find(word: Word) -> Execution | None:
            for finder in finders:
                if (execution := finder(word)) is not None:
                    seen[word] = execution
                    return execution
            return None

        cheap = all(each.cheap for number in side.having for each in shared.runs[number].values())
        parted = {end: shared.with_end(side.automaton, end) for end in shared.alphabet.terminal}
        shown = set(islice(words(side.automaton, length), _SHOWN_WAYS))
        for each in parted.values():  # an end that only longer words have must not be overlooked
            shown.update(islice(words(each, length), _SHOWN_ENDS))
        first = sorted(shown, key=lambda word: (len(word), word))
        alphabet = shared.with_places(side.having)
        elsewhere: Mapping[Word, tuple[OtherVersion, ...]] = {}
        drawn = None
        if not self._interrupted:
            try:
                drawn = picture(side.automaton, alphabet, length=length, find=find)
                for word in first if cheap else ():
                    find(word)
                inputs = {word: seen[word].example for word in first if word in seen}
                elsewhere = self._other_versions(side, inputs, first)
            except KeyboardInterrupt:
                self._interrupted = True
        # No state is marked as doomed: that the words of one version end is nothing to be afraid of.
        drawn = replace(drawn or picture(side.automaton, alphabet, length=length), doomed=())
        known = {word: each.example for word, each in seen.items()}
        ways = [Witness(word, known.get(word), (), certain.accepts(word), elsewhere.get(word, ())) for word in first]
        counted = {end: count(each, length) for end, each in parted.items()}
        return Side(
            key=side.key,
            title=side.title,
            automaton=side.automaton,
            picture=drawn,
            matters=side.matters,
            certain=is_empty(side.automaton) or not is_empty(certain),
            ways=tuple(ways),
            ways_total=sum(counted.values()),
            ends={end: number for end, number in counted.items() if number},
        )

    def _other_versions(
        self, side: UndrawnSide, inputs: Mapping[Word, str | None], shown: Sequence[Word]
    ) -> dict[Word, tuple[OtherVersion, ...]]:
        """What the versions that lack the words of a side do in their place."""
        shared, names = self._shared, list(self._versions.values())
        texts = list(dict.fromkeys(text for text in inputs.values() if text is not None))
        found: dict[Word, tuple[OtherVersion, ...]] = {}
        for number in side.lacking:
            repeated = shared.programs[number].repeated(texts, shared.bounds.unwind) if texts else {}
            for word in shown:
                ran = repeated.get(inputs.get(word) or "")
                spelled = None if ran is None else shared.spelled(number, *ran)
                others = ((*word[:-1], letter) for letter in shared.alphabet.terminal)
                by: Literal["input", "events"] = "events" if spelled is None else "input"
                instead = [other for other in others if shared.has[number].accepts(other)]
                if spelled is not None:
                    instead = [spelled] if spelled != word else []
                if instead:
                    found[word] = (*found.get(word, ()), OtherVersion(names[number], by, tuple(instead)))
        return found


def _useful_warnings(report: TeacherReport) -> tuple[str, ...]:
    """What a reader must know of a version. An event that it never shows is a difference, or is missing in all."""
    seen = replace(report, warnings=[text for text in report.warnings if not text.startswith(UNSEEN)])
    return seen.shown_warnings()


def _with_version_names(versions: Mapping[str, str], texts: Sequence[Sequence[str]]) -> tuple[str, ...]:
    """Sentences, each with the version it is about, or once if it is about all."""
    found = dict.fromkeys(each for per_version in texts for each in per_version)
    sentences = []
    for each in found:
        about = [name for name, per_version in zip(versions.values(), texts, strict=True) if each in per_version]
        sentences.append(each if len(about) == len(texts) else f"{', '.join(about)}: {each}")
    return tuple(sentences)


def diff(names: Sequence[str], programs: Sequence[ComparedProgram], **options: Any) -> Comparison:
    """Both sides of the difference of two versions. `options` are those of `compare_versions`."""

    def sides(has: Sequence[Automaton], may: Sequence[Automaton]) -> tuple[UndrawnSide, ...]:
        return (
            UndrawnSide("only_old", f"only in {names[0]}", difference(has[0], may[1]), (0,), (1,)),
            UndrawnSide("only_new", f"only in {names[1]}", difference(has[1], may[0]), (1,), (0,)),
        )

    return compare_versions("diff", dict(zip(("old", "new"), names, strict=True)), programs, sides, **options)


def merge(names: Sequence[str], programs: Sequence[ComparedProgram], **options: Any) -> Comparison:
    """What a merge does that its branches do not (Figs. 8 and 9 of the paper), and what it has lost.

    To differ from one branch is what a merge is for. What should be looked at is behaviour that neither branch has,
    what a branch has added to the base and is gone, and what a branch has taken away and is back."""
    name = names[3]

    def sides(has: Sequence[Automaton], may: Sequence[Automaton]) -> tuple[UndrawnSide, ...]:
        base, a, b, merged = has
        added = union(difference(a, may[0]), difference(b, may[0]))
        removed = union(difference(base, may[1]), difference(base, may[2]))
        neither = difference(difference(merged, may[1]), may[2])
        return (
            UndrawnSide("not_in_a", f"in {name}, not in {names[1]}", difference(merged, may[1]), (3,), (1,), False),
            UndrawnSide("not_in_b", f"in {name}, not in {names[2]}", difference(merged, may[2]), (3,), (2,), False),
            UndrawnSide("in_neither", f"in {name}, in neither branch", neither, (3,), (1, 2)),
            UndrawnSide("lost", f"added by a branch, not in {name}", difference(added, may[3]), (1, 2), (3,)),
            UndrawnSide("back", f"removed by a branch, but in {name}", intersection(removed, merged), (3,), (1, 2)),
        )

    versions = dict(zip(("base", "a", "b", "merged"), names, strict=True))
    return compare_versions("merge", versions, programs, sides, **options)
