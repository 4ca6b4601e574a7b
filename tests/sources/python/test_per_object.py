"""What is kept for objects as long as they live."""

from __future__ import annotations

import gc
import random
import sys
from types import FrameType

import pytest

from lawful.sources.python.per_object import PerObject


class Same:
    """All are equal, and none can be hashed."""

    def __eq__(self, other: object) -> bool:
        return True

    __hash__ = None  # type: ignore[assignment]


def test_objects_that_are_equal_are_not_the_same() -> None:
    kept: PerObject[int] = PerObject()
    one, other = Same(), Same()
    kept.put(one, 1)
    assert kept.get(one) == 1
    assert kept.get(other) is None
    kept.put(one, 2)
    assert (kept.get(one), len(kept)) == (2, 1)


@pytest.mark.parametrize("seed", range(5))
def test_it_forgets_what_is_gone_and_nothing_else(seed: int) -> None:
    chance = random.Random(seed)
    kept: PerObject[int] = PerObject()
    alive: dict[int, Same] = {}
    for number in range(500):
        if alive and chance.random() < 0.5:
            del alive[chance.choice(list(alive))]  # its id is free for the next
        alive[number] = Same()
        kept.put(alive[number], number)
        if chance.random() < 0.2:
            kept.put(alive[number], number)
        assert all(kept.get(each) == which for which, each in alive.items())
    gc.collect()
    assert len(kept) == len(alive)
    kept.clear()
    assert len(kept) == 0
    assert not any(kept.get(each) for each in alive.values())


def test_what_has_no_weak_references_is_refused() -> None:
    with pytest.raises(TypeError):
        PerObject[int]().put(3, 1)


def test_a_trace_function_does_not_see_how_it_forgets() -> None:
    kept: PerObject[int] = PerObject()
    one = Same()
    kept.put(one, 1)
    seen: list[str] = []

    def trace(frame: FrameType, event: str, arg: object) -> None:
        seen.append(frame.f_code.co_qualname)

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        del one
    finally:
        sys.settrace(before)
    assert (seen, len(kept)) == ([], 0)
