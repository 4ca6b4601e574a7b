"""Explanations to draw: of given words, of random automata, and with labels that want to break out."""

from __future__ import annotations

from dataclasses import replace
from random import Random

from lawful.explain.automata import Automaton, minimise
from lawful.explain.comparison import Comparison, OtherVersion, Side, Witness
from lawful.explain.explanation import Explanation, FailurePlace, Snapshot, WordExample
from lawful.explain.postprocess import picture
from lawful.explain.teacher import Alphabet, Basis, Bounds, Execution, LabelledEvent, QueryCounts, Word

HOSTILE = (
    "<img src=x onerror=alert(1)>",
    '"; alert(2); "',
    "</script><script>alert(3)</script>",
    "{{ 7 * 7 }}",
    "a\nb\x1b[31m\x00",
    "pkg.module.AVeryLongClassName.a_very_long_method_name_that_never_ends",
    "&lt;b&gt;",
    "名前",
    "]]></svg>",
)


def alphabet(labels: tuple[str, ...], error: str = "AssertionError") -> Alphabet:
    events = [LabelledEvent(label, "src/program.py", 10 + 3 * at) for at, label in enumerate(labels)]
    return Alphabet((*events, LabelledEvent(error, "src/program.py", 99)))


def of_automaton(automaton: Automaton, letters: Alphabet, **more: object) -> Explanation:
    def find(word: Word) -> Execution | None:
        return Execution(word, True, f"values={list(word)!r}")

    found = picture(automaton, letters, length=40, find=find)
    bounds = Bounds(3, 12)
    words = {edge.word for edge in found.edges if edge.word is not None}
    ways = sorted(words, key=lambda word: (len(word), word))[:3]
    given: dict[str, object] = {
        "target": "program.py:sort",
        "alphabet": letters,
        "automaton": automaton,
        "picture": found,
        "bounds": bounds,
        "counts": QueryCounts(
            membership=1234, membership_worked=56, conjectures=7, conjectures_worked=6, executions=341
        ),
        "iterations": 4,
        "seconds": 1.25,
        "snapshots": (Snapshot(bounds, automaton, found),),
        "ways": tuple(WordExample(word, f"values={list(word)!r}") for word in ways),
        "ways_total": 17,
        **more,
    }
    return Explanation(**given)  # type: ignore[arg-type]


def of_words(words: list[str], labels: tuple[str, ...], **more: object) -> Explanation:
    """Words are written with blanks between their labels; the error is put behind each."""
    letters = alphabet(labels)
    found = [letters.word(*word.split(), letters.labels[-1]) for word in words]
    return of_automaton(Automaton.from_words(found, letters.labels), letters, **more)


def bubble_sort() -> Explanation:
    """Like the paper's Fig. 13: any number of insertions, then the walk that meets the bad link."""
    labels = ("gl_insert", "gl_read", "inspect", "swap", "compare")
    letters = alphabet(labels)
    insert, read, inspect, swap, compare, error = range(6)
    words = []
    for inserted in range(1, 4):
        for compared in range(inserted):
            for swapped in range(compared + 1):
                words.append((*[read, insert] * inserted, inspect, *[compare] * compared, *[swap] * swapped, error))
    small = [word for word in words if len(word) <= 8]
    snapshots = []
    for unwind, length, kept in ((1, 8, small[:2]), (2, 8, small), (2, 12, words), (3, 12, words)):
        automaton = Automaton.from_words(kept, letters.labels)
        snapshots.append(Snapshot(Bounds(unwind, length), automaton, picture(automaton, letters)))
    automaton = Automaton.from_words(words, letters.labels)
    return of_automaton(automaton, letters, snapshots=tuple(snapshots), basis=Basis.COMPLETE)


def random_explanation(seed: int, states: int, labels: int, density: float = 0.4, forward: bool = False) -> Explanation:
    """A random automaton that is drawn whole; with `forward`, one without cycles."""
    rng = Random(seed)
    letters = alphabet(tuple(f"event_{at}" for at in range(labels)))
    sink, accepting = states, states - 1
    rows = [[sink] * (labels + 1) for _ in range(states + 1)]
    for state in range(states - 1):
        nearby = range(state + 1, min(states, state + 4))
        rows[state][rng.randrange(labels)] = rng.choice(nearby)
        for letter in range(labels):
            if rng.random() < density / labels * 2 and rows[state][letter] == sink:
                rows[state][letter] = rng.choice(nearby if forward or rng.random() < 0.7 else range(states))
        if rng.random() < 0.1 or state == states - 2:
            rows[state][labels] = accepting
    automaton = Automaton(letters.labels, 0, tuple(map(tuple, rows)), frozenset({accepting}))
    return of_automaton(minimise(automaton), letters)


def hostile() -> Explanation:
    letters = alphabet(HOSTILE, error="<b>boom</b>")
    words = [(0, 1, 2, 9), (3, 4, 5, 9), (0, 6, 7, 8, 9), (1, 1, 9), *((each, 3, 9) for each in range(9))]
    automaton = Automaton.from_words(words, letters.labels)
    return of_automaton(
        automaton,
        letters,
        target="<script>alert(4)</script>.py:f",
        warnings=("</script><b>not a tag</b>",),
        reached=('stopped after "100,000" <paths>',),
        basis=Basis.SAMPLED,
    )


def failing() -> Explanation:
    """Words that end in different errors, and executions that get away from no doomed state."""
    letters = alphabet(("open", "read"), error="error")
    words = [(0, 2), (0, 1, 2)]
    automaton = Automaton.from_words(words, letters.labels)
    found = of_automaton(automaton, letters)
    failures = (
        FailurePlace("src/program.py", 13, 2, "values=[1]", "KeyError", ((0, 2), (0, 1, 2))),
        FailurePlace("src/program.py", 99, 1, None, "<b>ValueError</b>", ((0, 2),)),
    )
    ways = (
        WordExample((0, 2), "values=[0]", ("KeyError", "<b>ValueError</b>")),
        WordExample((0, 1, 2), None, ("KeyError",)),
    )
    read = replace(found.picture, doomed=(2, 3), doomed_reading="program")
    return replace(found, picture=read, failures=failures, ways=ways, ways_total=2)


def outcomes() -> Comparison:
    """Of two versions, one fails where the other ends."""
    letters = Alphabet(
        (LabelledEvent("open"), LabelledEvent("close"), LabelledEvent("KeyError"), LabelledEvent("end")), 2
    )
    old = Automaton.from_words([(0, 2), (0, 1, 2), (0, 1, 3)], letters.labels)
    new = Automaton.from_words([(0, 3)], letters.labels)
    elsewhere = (OtherVersion("new <b>", "input", ((0, 3),)), OtherVersion("new <b>", "events", ((0, 2), (0, 3))))
    sides = [
        Side(
            "only_old",
            "only in old",
            old,
            picture(old, letters),
            ways=(Witness((0, 2), "x=1", elsewhere=elsewhere),),
            ends={2: 2, 3: 1},
        ),
        Side(
            "only_new", "only in new", new, picture(new, letters), certain=False, ways=(Witness((0, 3), certain=False),)
        ),
    ]
    return Comparison(
        kind="diff",
        target="program.py:sort",
        versions={"old": "old", "new": "new <b>"},
        alphabet=letters,
        bounds=Bounds(2, 8),
        sides=tuple(sides),
        failing=frozenset({2}),
    )


def comparison(*, same: bool = False, kind: str = "diff") -> Comparison:
    """Of two versions of which only the old one has words of its own, or none has."""
    letters = alphabet(("open", "read", "close"), error="end")
    old = Automaton.from_words([] if same else [(0, 1, 2, 3), (0, 2, 3)], letters.labels)
    none = Automaton.from_words([], letters.labels)
    sides = [
        Side(key, f"only in {key}", automaton, picture(automaton, letters), ways=ways, ways_total=len(ways))
        for key, automaton, ways in (
            ("old", old, () if same else (Witness((0, 2, 3), "path='<x>'"), Witness((0, 1, 2, 3)))),
            ("new", none, ()),
        )
    ]
    versions = {"diff": ("old", "new"), "merge": ("base", "a", "b", "merged")}[kind]
    return Comparison(
        kind=kind,  # type: ignore[arg-type]
        target="program.py:sort",
        versions={name: name for name in versions},
        alphabet=letters,
        bounds=Bounds(2, 8),
        sides=tuple(sides),
    )
