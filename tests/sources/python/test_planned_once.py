"""What is done about a code object is decided once, also if that is nothing."""

from __future__ import annotations

from collections import Counter

import pytest

from lawful.sources.python import tracer_choice
from lawful.sources.python.tracer_protocol import WatchPlanner


class Nothing(WatchPlanner):
    """Wants nothing, and counts how often it is asked."""

    def __init__(self) -> None:
        self.asked: Counter[str] = Counter()

    def plan(self, code, module):
        self.asked[code.co_qualname] += 1

    def _none(self, *_):
        return None

    callee = receiver_callee = operation = field = _none

    def class_name(self, kind):
        return kind.__qualname__


@pytest.mark.parametrize("core", tracer_choice.available())
def test_code_of_no_interest_is_asked_about_once(core: str) -> None:
    wanted = Nothing()

    def work(n: int) -> int:
        return n

    tracer = tracer_choice.choose(core).make(wanted, lambda batch: None)
    tracer.start()
    try:
        for n in range(50):
            work(n)
    finally:
        tracer.stop()
    assert tracer.fault is None
    assert wanted.asked[work.__qualname__] == 1
