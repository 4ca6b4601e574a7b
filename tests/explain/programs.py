"""Small programs for the commands that explain, and whether there is a CBMC for those in C."""

from __future__ import annotations

import pytest

from lawful.errors import LawfulError
from lawful.explain.teachers.c.cbmc import find_cbmc

SORT = '''\
"""Sorts by merging, and forgets what is left on the right."""


def merge_sort(numbers: list[int]) -> list[int]:
    result = sort(numbers)
    assert sorted(numbers) == result
    return result


def sort(numbers: list[int]) -> list[int]:
    if len(numbers) < 2:
        return numbers
    middle = len(numbers) // 2
    return merge(sort(numbers[:middle]), sort(numbers[middle:]))


def merge(left: list[int], right: list[int]) -> list[int]:
    merged = []
    while left and right:
        merged.append(take(left) if left[0] <= right[0] else take(right))
    return merged + rest(left)


def take(numbers: list[int]) -> int:
    return numbers.pop(0)


def rest(numbers: list[int]) -> list[int]:
    return numbers
'''
REPAIRED = SORT.replace("rest(left)", "rest(left) + rest(right)")

# Fig. 7 of the paper.
BASE = """\
void functionA(void) {}
void functionB(void) {}
void functionC(void) {}
void functionZ(void) { functionB(); }
int main(void) { functionA(); functionB(); return 0; }
"""
BRANCH_A = BASE.replace("functionA(); functionB();", "functionA(); functionZ();")
BRANCH_B = BASE.replace("functionA(); functionB();", "functionA(); functionB(); functionC();")
MERGED = BRANCH_A.replace("{ functionB(); }", "{ functionB(); functionC(); }")


def in_python(text: str) -> str:
    """One of these four as a Python program."""
    lines = []
    for line in text.splitlines():
        head, _, body = line.partition("{")
        name = head.split("(")[0].split()[-1]
        calls = [part.strip() for part in body.rstrip("} ").split(";") if part.strip() and "return" not in part]
        lines += [f"def {name}() -> None:", *(f"    {call}" for call in calls or ["pass"]), "", ""]
    return "\n".join(lines)


def _missing() -> str:
    try:
        find_cbmc()
    except LawfulError as error:
        return error.message
    return ""


needs_cbmc = pytest.mark.skipif(bool(_missing()), reason=_missing() or "there is a CBMC")
