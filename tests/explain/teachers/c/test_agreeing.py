"""The paper's teacher and the one of one run give the same answers, whatever the bounds and in whatever order."""

from __future__ import annotations

from itertools import product
from pathlib import Path

import pytest

from explain.teachers.c.gcc_oracle import RandomProgram
from explain.teachers.c.requirements import needs_cbmc
from lawful.explain.automata import Automaton, words
from lawful.explain.lstar import AutomatonLearner, TableLearner, TreeLearner
from lawful.explain.teacher import Bounds, Word
from lawful.explain.teachers.c import CTeacher, c_teacher
from lawful.explain.teachers.c.one_run_teacher import OneRunTeacher

pytestmark = needs_cbmc

LOOP = """
int main(void)
{
    int n = 0;
    while (nondet_bool()) { Learn("turn"); n++; }
    for (int i = 0; i < n; i++) if (nondet_bool()) { Learn("stop"); break; }
    assert(n < 1 || n > 2);
}
"""

RECURSION = """
static int down(int n) { Learn("down"); if (n > 0) return down(n - 1); Learn("bottom"); return 0; }
void main(int n) { down(n); assert(n == 0); }
"""

POINTERS = """
struct node { unsigned char kind; struct node *next; };
void main(struct node *at)
{
    unsigned sum = 0;
    for (; at; at = at->next) { if (at->kind) Learn("some"); else Learn("none"); sum += at->kind; }
    assert(sum != 300);
}
"""

PROGRAMS = {"loop": LOOP, "recursion": RECURSION, "pointers": POINTERS, "random": RandomProgram(4).text}

# Up, down and up again: what is kept from other bounds must not get in the way.
BOUNDS = [Bounds(1, 3), Bounds(3, 4), Bounds(2, 2), Bounds(2, 5), Bounds(3, 3)]


@pytest.mark.parametrize(
    ("name", "kind"),
    [("loop", TreeLearner), ("recursion", TableLearner), ("pointers", TreeLearner), ("random", TableLearner)],
)
def test_what_is_learned_is_the_same_at_all_bounds(name: str, kind: type[AutomatonLearner], tmp_path: Path) -> None:
    path = tmp_path / "program.c"
    path.write_text(PROGRAMS[name])
    asking, listing = c_teacher(path, way="asking"), c_teacher(path)
    assert isinstance(listing, OneRunTeacher) and asking.alphabet == listing.alphabet
    failed = 0
    for bounds in BOUNDS:
        asking.bound(bounds)
        listing.bound(bounds)
        learned, listed = kind().learn(asking), listing.failing
        expected = set(words(listed, bounds.word_length))
        assert set(words(learned, bounds.word_length)) == expected
        failed += len(expected)
        for word in [*sorted(expected)[:1], *_others(asking, bounds, expected)]:
            one, other = asking.example(word), listing.example(word)
            assert (one is None) is (other is None)
            assert one is None or other is None or (one.failed, one.word) == (other.failed, other.word)
    assert failed


def _others(teacher: CTeacher, bounds: Bounds, failing: set[Word]) -> list[Word]:
    """A word that does not fail, one that may end well, and one that is too long."""
    error = teacher.alphabet.error
    short = [word for size in (1, 2) for word in product(range(error), repeat=size)]
    fine = next((word for word in short if (*word, error) not in failing), None)
    return [*([] if fine is None else [(*fine, error)]), short[0], (0,) * bounds.word_length + (error,)]


def test_conjectures_are_judged_alike(tmp_path: Path) -> None:
    path = tmp_path / "program.c"
    path.write_text(LOOP)
    asking, listing = c_teacher(path, way="asking"), c_teacher(path)
    assert isinstance(listing, OneRunTeacher)
    for bounds in (Bounds(3, 4), Bounds(2, 3), Bounds(3, 3)):
        asking.bound(bounds)
        listing.bound(bounds)
        labels, right = asking.alphabet.labels, sorted(words(listing.failing, bounds.word_length))
        wrong = [(0, 0, 0, asking.alphabet.error)[-bounds.word_length :], (1, asking.alphabet.error)]
        for tried in (right, right[1:], *([*right, each] for each in wrong if each not in right)):
            conjecture = Automaton.from_words(sorted(tried), labels)
            one, other = asking.counterexample(conjecture), listing.counterexample(conjecture)
            assert (one is None) is (other is None) is (tried == right)
            for found in (one, other):
                assert found is None or found.accept is (found.word in right) is not conjecture.accepts(found.word)
