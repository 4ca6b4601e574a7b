"""Events that are called by their lines: the same in versions whose lines have moved."""

from __future__ import annotations

import random
from collections.abc import Sequence

import pytest

from lawful.explain.shared_alphabet import aligned_labels
from lawful.explain.teacher import LabelledEvent

PROGRAM = """\
def f(n):
    if n > 0:
        return 1
    while n < -3:
        n += 1
    for each in range(n):
        if each == 2:
            break
    return 0
"""


def branches(text: str, file: str = "f.py") -> list[LabelledEvent]:
    """The branches of a text, as Python programs name them."""
    found = []
    for number, line in enumerate(text.splitlines(), 1):
        if line.strip().startswith(("if ", "while ", "for ")):
            found += [LabelledEvent(f"f:{number} {arm}", file, number) for arm in ("then", "else")]
    return found


def called(*texts: str, files: Sequence[str] | None = None) -> list[dict[str, str]]:
    files = files or ["f.py"] * len(texts)
    events = [branches(text, file) for text, file in zip(texts, files, strict=True)]
    readers = [lambda file, text=text: text.splitlines() for text in texts]
    return [dict(each) for each in aligned_labels(events, readers, ("old", "new", "third")[: len(texts)])]


def test_lines_that_have_moved() -> None:
    old, new = called(PROGRAM, "# one\n\n" + PROGRAM.replace("    while", "\n    while"))
    assert all(label == name for label, name in old.items())
    assert new == {
        f"f:{number} {arm}": f"f:{before} {arm}"
        for number, before in ((4, 2), (7, 4), (9, 6), (10, 7))
        for arm in ("then", "else")
    }


def test_a_condition_that_was_changed_is_the_same_branch() -> None:
    _, new = called(PROGRAM, PROGRAM.replace("n > 0", "n >= 0"))
    assert new["f:2 then"] == "f:2 then"
    _, new = called(PROGRAM, PROGRAM.replace("if n > 0:", "print(n)\n    if n >= 0:"))
    assert new["f:3 then"] == "f:2 then", "the most alike of the lines that were changed"


def test_a_new_branch_is_not_taken_for_an_old_one() -> None:
    _, new = called(PROGRAM, PROGRAM.replace("    while", "    if extra():\n        pass\n    while"))
    assert new["f:4 then"] == "f:4 then [new]" and new["f:6 then"] == "f:4 then"


def test_versions_in_files_of_other_names() -> None:
    _, new = called(PROGRAM, "\n" + PROGRAM, files=["old.py", "new.py"])
    assert new["f:3 then"] == "f:2 then"


def test_what_two_branches_of_a_merge_share() -> None:
    added = PROGRAM.replace("    return 0", "    if n == 7:\n        pass\n    return 0")
    _, a, merged = called(PROGRAM, added, "# merged\n" + added)
    assert a["f:9 then"] == "f:9 then" and merged["f:10 then"] == "f:9 then"


def test_other_labels_stay_as_they_are() -> None:
    events = [
        [LabelledEvent("g", "f.py", 1), LabelledEvent("if n (line 3)", "f.c", 3)],
        [LabelledEvent("g", "f.py", 9), LabelledEvent("if n (line 4)", "f.c", 4)],
    ]
    texts = ["int n;\n\nif (n)", "int n;\n\n\nif (n)"]
    readers = [lambda file, text=text: text.splitlines() for text in texts]
    assert aligned_labels(events, readers, ("old", "new"))[1] == {"g": "g", "if n (line 4)": "if n (line 3)"}
    nothing = [lambda file: () for _ in texts]
    assert aligned_labels(events, nothing, ("old", "new"))[1] == {"g": "g", "if n (line 4)": "if n (line 4)"}


@pytest.mark.parametrize("seed", range(20))
def test_lines_put_in_anywhere_change_no_name(seed: int) -> None:
    chance = random.Random(seed)
    lines: list[str] = []
    moved = {}
    for number, line in enumerate(PROGRAM.splitlines(), 1):
        lines += [f"    # {chance.random()}" for _ in range(chance.randrange(3))]
        lines.append(line)
        moved[len(lines)] = number
    _, new = called(PROGRAM, "\n".join(lines))
    assert new == {
        f"f:{number} {arm}": f"f:{moved[number]} {arm}"
        for number, line in enumerate(lines, 1)
        if line.strip().startswith(("if ", "while ", "for "))
        for arm in ("then", "else")
    }
