"""The executions of one request along symbolic paths, in the child process."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from lawful.explain.teachers.python.inputs import InputScope
from lawful.explain.teachers.python.loading import our_module
from lawful.explain.teachers.python.recorder import InputRefused, TooSlow
from lawful.explain.teachers.python.request_runs import RunTally
from lawful.explain.teachers.python.runner import run_to_end

_FORKS = {False: 100, True: 400}  # of a path: with any numbers, and with small ones


def run_paths(function: Callable[..., Any], scope: InputScope, bound: int, tally: RunTally) -> dict[str, Any]:
    """Runs the function along all its paths. Where some do not end, numbers are kept within the bound after all."""
    exploration = our_module("lawful.explain.teachers.python.symbolic_paths")
    checks = 0
    notes: list[str] = []
    complete = False
    for small in (False, True):
        paths = exploration.SymbolicPaths(bound, small=small, deepest=_FORKS[small], beat=lambda: tally.beat(tally.ran))
        deep, slow = 0, tally.counts["slow"]
        going = True
        while going and not tally.limit_reached():
            tally.beat(tally.ran)
            deep += _one_path(function, scope, paths, tally)
            going = paths.next()
            if not small and (deep or tally.counts["slow"] > slow):
                break
        checks += paths.checks
        notes = paths.notes.named()
        cut = tally.counts["slow"] > slow or tally.counts["memory"] or tally.counts["lost"]
        complete = not (going or deep or cut or notes)
        if (not deep and tally.counts["slow"] == slow) or small or tally.stopped not in (None, "slow"):
            if deep:
                notes.append(f"{deep} paths were given up after {_FORKS[small]} forks")
            break
        tally.counts["slow"], tally.stopped, tally.begun = 0, None, []
        tally.examples.pop("slow", None)
    return tally.end(complete=complete, solver=checks, notes=notes, unfollowed=bool(notes))


def _one_path(function: Callable[..., Any], scope: InputScope, paths: Any, tally: RunTally) -> int:
    """Runs one path; 1 if it was given up for its depth."""
    exploration = our_module("lawful.explain.teachers.python.symbolic_paths")
    runner = tally.runner
    ended: list[BaseException] = []

    def body() -> None:
        try:
            paths.start()
            with runner.recorder.paused():
                positional, keywords = scope.built(lambda: paths).arguments()
            run_to_end(function(*positional, **keywords))
        except (exploration.OutOfBounds, exploration.TooManyForks, exploration.Diverged, TooSlow, InputRefused) as cut:
            ended.append(cut)
            raise

    symbolic = runner.run(body, paths.on_event)
    paths.ended(raised=symbolic.end == "error")
    cut = ended[0] if ended else None
    if isinstance(cut, TooSlow):
        paths.restore()
    if isinstance(cut, InputRefused):
        tally.add(symbolic, "")
    paths.notes.diverged += isinstance(cut, exploration.Diverged)
    if cut is not None and not isinstance(cut, TooSlow):
        return int(isinstance(cut, exploration.TooManyForks))
    solution = paths.solution()
    call = scope.built(solution.again)
    # With an input of real numbers the same must happen, or else the program looked behind the symbolic ones.
    if tally.add(symbolic, call):
        real = runner.call(function, call)
        if real.outcome() != symbolic.outcome():
            paths.notes.differs = call.text()
            tally.take_back(symbolic)
            tally.add(real, call)
    return 0
