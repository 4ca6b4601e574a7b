"""The end of a tracer while threads of the program go on: after its stop, no more events are delivered."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from types import CodeType, ModuleType

import pytest

from lawful.sources.python import tracer_choice
from lawful.sources.python.tracer_protocol import CodePlan, Event, Want
from sources.python.by_name import BRIEF, ByName
from sources.python.conftest import Start

Run = Callable[[str], ModuleType]

CALLS = "def work(times):\n    for i in range(times):\n        [].append(i)\n"


def test_stop_waits_for_what_another_thread_delivers(make: Start, prog: Run) -> None:
    begun, gate = threading.Event(), threading.Event()
    done: list[str] = []

    def deliver(batch: list[Event]) -> None:
        begun.set()
        gate.wait()
        done.append(batch[0]["name"])

    def open_gate() -> None:
        time.sleep(0.2)  # long enough for a stop that does not wait
        gate.set()

    tracer = make(deliver, calls={"list.append": BRIEF}, flush_at=1)
    tracer.start()
    thread = threading.Thread(target=prog(CALLS).work, args=(1,))
    thread.start()
    begun.wait()
    opener = threading.Thread(target=open_gate)
    opener.start()
    tracer.stop()
    assert done == ["list.append"]
    thread.join()
    opener.join()


def test_a_delivery_ends_though_other_threads_go_on(make: Start) -> None:
    batches: list[list[Event]] = []

    def deliver(batch: list[Event]) -> None:
        batches.append(batch)
        if len(batches) < 10:
            other = threading.Thread(target=tracer.emit, args=({"event": "more"},))
            other.start()
            other.join()

    tracer = make(deliver)
    tracer.start()
    tracer.emit({"event": "first"})
    tracer.flush()
    assert [event["event"] for batch in batches for event in batch] == ["first"]
    tracer.flush()
    assert [event["event"] for batch in batches for event in batch] == ["first", "more"]


class Slow(ByName):
    """Decides about code when it may."""

    def __init__(self, calls: dict[str, Want], own: dict[str, Want]) -> None:
        super().__init__(calls, own)
        self.begun, self.gate = threading.Event(), threading.Event()

    def plan(self, code: CodeType, module: str) -> CodePlan | None:
        if code.co_name == "work":
            self.begun.set()
            self.gate.wait()
        return super().plan(code, module)


def test_what_comes_after_the_stop_is_not_delivered(make: Start) -> None:
    events: list[Event] = []
    tracer = make(events.extend, flush_at=1)
    tracer.start()
    tracer.stop()
    tracer.emit({"event": "late"})
    tracer.flush()
    assert not events


@pytest.mark.parametrize("core", [core for core in tracer_choice.available() if core != "python"])
def test_a_thread_may_be_in_the_middle_of_a_call(core: str, prog: Run) -> None:
    """The pure-Python core lets nobody stop it while it decides."""
    events: list[Event] = []
    wanted = Slow({"list.append": BRIEF}, {"prog.work": BRIEF})
    tracer = tracer_choice.choose(core).make(wanted, events.extend, flush_at=1)
    tracer.start()
    thread = threading.Thread(target=prog(CALLS).work, args=(1,))
    thread.start()
    wanted.begun.wait()
    tracer.stop()
    del tracer
    wanted.gate.set()
    thread.join()
    assert not events
