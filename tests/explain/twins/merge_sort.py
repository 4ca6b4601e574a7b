"""The C example of this name, line by line."""

from __future__ import annotations

from itertools import product

MOST = 3


class Memory:
    """What the C program has as static variables."""

    def __init__(self, numbers: list[int]) -> None:
        self.numbers = numbers + [0] * (MOST - len(numbers))
        self.merged = [0] * MOST


def take_left(memory: Memory, at: int, start: int) -> None:
    memory.merged[at] = memory.numbers[start]


def take_right(memory: Memory, at: int, start: int) -> None:
    memory.merged[at] = memory.numbers[start]


def merge(memory: Memory, begin: int, middle: int, end: int) -> None:
    left, right, at = begin, middle, begin
    while left < middle and right < end:
        if memory.numbers[left] <= memory.numbers[right]:
            take_left(memory, at, left)
            left += 1
        else:
            take_right(memory, at, right)
            right += 1
        at += 1
    while left < middle:
        take_left(memory, at, left)
        at, left = at + 1, left + 1
    memory.numbers[begin:end] = memory.merged[begin:end]


def sort(memory: Memory, begin: int, end: int) -> None:
    if end - begin < 2:
        return
    middle = begin + (end - begin) // 2
    sort(memory, begin, middle)
    sort(memory, middle, end)
    merge(memory, begin, middle, end)


def check(memory: Memory, count: int) -> None:
    ordered = True
    for place in range(1, count):
        if memory.numbers[place - 1] > memory.numbers[place]:
            ordered = False
    assert ordered


def main(numbers: list[int]) -> None:
    memory = Memory(numbers)
    sort(memory, 0, len(numbers))
    check(memory, len(numbers))


def inputs(bound: int) -> list[list[int]]:
    """All lists that are not longer, of the numbers that the C program takes."""
    return [list(each) for length in range(1, bound + 1) for each in product((1, 2, 3), repeat=length)]
