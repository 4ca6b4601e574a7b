"""Merge sort whose merge forgets that the right half may be the longer one."""

from __future__ import annotations


def split(values: list[int]) -> tuple[list[int], list[int]]:
    """The two halves."""
    middle = len(values) // 2
    return values[:middle], values[middle:]


def take_left(left: list[int], merged: list[int]) -> None:
    """The next value is the first of the left half."""
    merged.append(left.pop(0))


def take_right(right: list[int], merged: list[int]) -> None:
    """The next value is the first of the right half."""
    merged.append(right.pop(0))


def merge(left: list[int], right: list[int]) -> list[int]:
    """Both halves in one order. What is left of the right one should be taken too, and only its first value is."""
    merged: list[int] = []
    while left and right:
        if left[0] <= right[0]:
            take_left(left, merged)
        else:
            take_right(right, merged)
    while left:
        take_left(left, merged)
    if right:
        take_right(right, merged)
    return merged


def merge_sort(values: list[int]) -> list[int]:
    """The values in order: or so it should be."""
    if len(values) <= 1:
        return values
    left, right = split(values)
    return merge(merge_sort(left), merge_sort(right))


def main(values: list[int]) -> list[int]:
    """Sorts, and looks whether everything is still there."""
    result = merge_sort(list(values))
    assert len(result) == len(values), f"{len(values) - len(result)} values are lost"
    return result
