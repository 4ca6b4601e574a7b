"""What versions of a program do differently: both sides of a difference, and what a merge made of two branches."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from lawful.explain.automata import Automaton, difference, intersection, union
from lawful.explain.compared_program import ComparedProgram
from lawful.explain.comparison import Comparison
from lawful.explain.version_comparison import UndrawnSide, compare_versions


def diff(names: Sequence[str], programs: Sequence[ComparedProgram], **options: Any) -> Comparison:
    """Both sides of the difference of two versions. `options` are those of `compare_versions`."""

    def sides(has: Sequence[Automaton], may: Sequence[Automaton]) -> tuple[UndrawnSide, ...]:
        return (
            UndrawnSide("only_old", f"only in {names[0]}", difference(has[0], may[1]), (0,), (1,)),
            UndrawnSide("only_new", f"only in {names[1]}", difference(has[1], may[0]), (1,), (0,)),
        )

    return compare_versions("diff", dict(zip(("old", "new"), names, strict=True)), programs, sides, **options)


def merge(names: Sequence[str], programs: Sequence[ComparedProgram], **options: Any) -> Comparison:
    """What a merge does that its branches do not (Figs. 8 and 9 of the paper), and what it has lost of theirs.

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
