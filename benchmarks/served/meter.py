"""Clocks inside the watched process: for a whole run, or for chunks of one with and without a dashboard.

A dashboard that is attended to ten times a second costs so little that two equal chunks differ by more. So it is
attended to more often, as often as an interval allows, and its own time goes by how often that was: each time is a
tenth of a second, and states are made when so much of this time has passed. What was lost is then told for one second
of its time.
"""

from __future__ import annotations

import json
import random
import resource
import secrets
import sys
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from lawful.engine import run_state
from lawful.engine.control import Control
from lawful.sources.python.flusher import INTERVAL as USUAL
from lawful.sources.python.flusher import Flusher
from lawful.web import dashboard_start, link, serving

if TYPE_CHECKING:
    from lawful.engine.session import ObserverHook, Session

Step = Callable[[int], object]
WAYS = ("plain", "plain again", "served", "looked at")
CLOCKS = ("thread", "process", "elapsed")
CHUNK = 0.05  # seconds of CPU time, about
_WARMING = 5.0  # seconds


class Timed:
    """An observer hook with a clock for what it uses."""

    def __init__(self, observer_hook: ObserverHook) -> None:
        self._observer_hook = observer_hook
        self.spent = 0.0
        self.beats = 0

    def beat(self) -> None:
        began = time.thread_time()
        self._observer_hook.beat()
        self.spent += time.thread_time() - began
        self.beats += 1

    def end(self) -> None:
        self._observer_hook.end()

    def after_fork_in_child(self) -> None:
        self._observer_hook.after_fork_in_child()


class _Time:
    """Stands in for the module `time` where a dashboard looks at it."""

    thread_time = staticmethod(time.thread_time)

    def __init__(self) -> None:
        self.beats = 0

    def monotonic(self) -> float:
        return self.beats * USUAL


class _Meter:
    session: Session
    looked_at: Timed | None = None
    unseen: Timed | None = None
    states = 0  # that were made


_state = Control.state


def _counted(control: Control) -> dict[str, Any]:
    _Meter.states += 1
    return _state(control)


def take(session: Session) -> None:
    """The session is about to start; if it has a dashboard, a client is to look at it."""
    _Meter.session = session
    Control.state = _counted  # type: ignore[method-assign]
    if session.observer_hook is not None:
        session.observer_hook = _Meter.looked_at = Timed(session.observer_hook)
        if "chunks" in sys.argv:
            dashboard_start.start_dashboard(
                session, serving.listen("127.0.0.1", 0), secrets.token_urlsafe(), program=""
            )
            _Meter.unseen = Timed(session.observer_hook)
            session.observer_hook = _Meter.looked_at


def main(step: Step) -> None:
    """Work as the command line says, and print what was measured."""
    kind, *amounts = sys.argv[1:]
    print(json.dumps(whole(step, int(amounts[0])) if kind == "whole" else chunks(step, *map(float, amounts))))


def whole(step: Step, steps: int) -> dict[str, float]:
    """CPU seconds: until the program began, while it ran, of its children, and for the dashboard while it ran."""
    begun = _used(resource.RUSAGE_SELF)
    _work(step, steps)
    ended = _used(resource.RUSAGE_SELF)
    own = 0.0 if _Meter.looked_at is None else _Meter.looked_at.spent
    return {"start": begun, "run": ended - begun, "children": _used(resource.RUSAGE_CHILDREN), "own": own}


def chunks(step: Step, seconds: float, interval: float) -> list[dict[str, dict[str, float]]]:
    """Equal chunks of work, one in each way, in random order and again and again: what each took by each clock, what
    of it the dashboard used by its own, how many states it made, how often the program's thread waited for something,
    and how many seconds of the dashboard's time it was.

    `interval`: seconds from one time that a dashboard is attended to until the next.
    """
    assert _Meter.looked_at is not None and _Meter.unseen is not None
    _Meter.session.observer_hook = None  # a thread of ours attends to them
    sides: dict[str, Timed | None] = dict.fromkeys(WAYS)
    sides |= {"served": _Meter.unseen, "looked at": _Meter.looked_at}
    clock: Any = _Time()
    link.time = run_state.time = clock
    now: Timed | None = _Meter.looked_at

    def beat() -> None:
        side = now
        if side is not None:
            clock.beats += side is _Meter.looked_at  # the other one makes no states, so that it needs no time
            side.beat()

    beating = Flusher(beat, interval)
    beating.start()
    steps = _warm_up(step, min(_WARMING, seconds))
    rounds = []
    order = random.Random(0)
    end = time.monotonic() + seconds
    while time.monotonic() < end or len(rounds) < 2:
        found = {}
        for way in order.sample(WAYS, len(WAYS)):
            now = sides[way]
            found[way] = _measured(step, steps, now)
            now = None
        rounds.append(found)
    beating.stop()
    _Meter.session.observer_hook = _Meter.looked_at
    return rounds


def _warm_up(step: Step, seconds: float) -> int:
    """Work for a while, and until the client has come; the number of steps for a chunk."""
    steps, began, end = 0, time.thread_time(), time.monotonic() + seconds
    while time.monotonic() < end or not _Meter.states:
        _work(step, 1000)
        steps += 1000
    return int(CHUNK * steps / (time.thread_time() - began)) + 1


def _measured(step: Step, steps: int, side: Timed | None) -> dict[str, float]:
    _settle()
    spent, beats = (0.0, 0) if side is None else (side.spent, side.beats)
    states, waits = _Meter.states, _waits()
    process, elapsed, thread = time.process_time(), time.perf_counter(), time.thread_time()
    _work(step, steps)
    thread, elapsed = time.thread_time() - thread, time.perf_counter() - elapsed
    if side is not None:
        spent, beats = side.spent - spent, side.beats - beats
    states, waits = _Meter.states - states, _waits() - waits
    _settle()  # what others do for this chunk belongs to it
    times = (thread, time.process_time() - process, elapsed)
    return dict(zip(CLOCKS, times, strict=True)) | {
        "own": spent,
        "states": states,
        "waits": waits,
        "shown": beats * USUAL,
    }


def _work(step: Step, steps: int) -> None:
    for n in range(steps):
        step(n)


def _settle() -> None:
    """Let all be judged and learned that has happened."""
    _Meter.session.tracer.flush()
    if _Meter.session.learner is not None:
        _Meter.session.learner.catch_up()


def _waits() -> int:
    """How often this thread has given its processor away because it could not go on."""
    return resource.getrusage(resource.RUSAGE_THREAD).ru_nvcsw


def _used(who: int) -> float:
    found = resource.getrusage(who)
    return found.ru_utime + found.ru_stime
