"""What watching costs: six programs under a law, recorded, and reporting themselves, beside cProfile and other peers.

A program is run by turns unwatched and watched in one process, whose CPU time is counted; a ratio is that of two
neighbours, and the median of all is taken. Every way of watching has processes of its own. Compare the numbers of one
run with each other, not with those of another run or machine.
"""

from __future__ import annotations

import argparse
import asyncio
import cProfile
import gc
import importlib
import json
import math
import os
import platform
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

from programs import PROGRAMS, Program, install
from tables import progress, table

CACHE = Path(__file__).resolve().parent.parent / ".cache" / "watching"
VIZTRACER = "viztracer==1.1.1"
NEVER = 1 << 40  # more events than there can be: they stay in memory until watching stops
BATCH = 4096
WARM = 5  # rounds at least until a program has been adapted again: large ones take several

# -- ways of watching --------------------------------------------------------------------------------------------------


class Way(Protocol):
    """How a program is watched."""

    def start(self) -> None: ...

    def settle(self) -> None:
        """The program has run for a while, and is measured from now on."""
        ...

    def stop(self) -> None: ...

    def events(self) -> int | None:
        """How many were seen since the start, if that is known. Asked once, after the stop."""
        ...


class Plain:
    """Nothing is done: how far two runs of the same program differ."""

    def start(self) -> None:
        pass

    def settle(self) -> None:
        pass

    def stop(self) -> None:
        pass

    def events(self) -> int | None:
        return None


class Lawful(Plain):
    """What the project's own code does, or what a package reports, or what a law needs."""

    def __init__(self, program: Program, project: Path, way: str) -> None:
        from lawful.laws import rml
        from lawful.sources.python.scope import Scope
        from lawful.sources.python.tracer_protocol import Want
        from lawful.sources.python.watch_planner import SCOPE_DETAIL, LawWatchPlanner

        calls = Scope(calls=("*", program.package), project=project)
        self.law = rml.compile(program.law) if way == "law" else None
        self.wanted: Callable[[], Any] = {
            "law": lambda: LawWatchPlanner([self.law] if self.law else [], Scope(project=project)),
            "calls": lambda: LawWatchPlanner([], calls, detail=Want.PRE),
            "values": lambda: LawWatchPlanner([], calls, detail=SCOPE_DETAIL),
            "starts": lambda: LawWatchPlanner([], Scope(public=(program.package,), project=project), detail=Want.PRE),
            "public": lambda: LawWatchPlanner(
                [], Scope(public=(program.package,), project=project), detail=Want.PRE | Want.POST
            ),
        }[way]
        self.tracer: Any = None
        self.monitor: Any = None
        self.seen = 0

    def start(self) -> None:
        from lawful.sources.python import tracer_choice

        self.seen = 0
        self.monitor = self.law and self.law.monitor()
        make: Callable[..., Any] = tracer_choice.choose().make
        self.tracer = make(self.wanted(), self.deliver, flush_at=BATCH if self.law else NEVER)
        self.tracer.start()

    def stop(self) -> None:
        self.tracer.stop()
        if self.tracer.fault is not None:
            raise self.tracer.fault
        if self.tracer.dropped:
            raise SystemExit(f"{self.tracer.dropped} events were dropped")
        if self.monitor is not None and self.monitor.rejected_at is not None:
            raise SystemExit(f"the law rejects event {self.monitor.rejected_at}")

    def deliver(self, events: list[Any]) -> None:
        self.seen += len(events)
        if self.monitor is not None:
            self.monitor.feed(events)

    def events(self) -> int | None:
        return self.seen


class Nothing(Lawful):
    """The interpreter tells the same at the same places, and nobody listens: what no way of watching can be below."""

    def settle(self) -> None:
        from lawful._native import _core

        hook: Any = getattr(sys, "monitoring")  # noqa: B009  (3.12)
        for tool in range(6):
            if hook.get_tool(tool) == "lawful":
                for event in (1 << number for number in range(15)):
                    if hook.register_callback(tool, event, None) is not None:
                        hook.register_callback(tool, event, _core.empty_callback)

    def events(self) -> int | None:
        return None  # those that were seen before it began to be measured do not count


class Sampled(Plain):
    """A law about objects that are in much use: samples of them, or none any more."""

    def __init__(self, program: Program, project: Path, rate: float) -> None:
        from lawful.laws import rml

        self.kind = program.hot.kind
        self.law = rml.compile(program.hot.law)
        self.project = project
        self.rate = rate
        self.tracer: Any = None
        self.seen = 0

    def start(self) -> None:
        from lawful.sources.python import tracer_choice
        from lawful.sources.python.scope import Scope
        from lawful.sources.python.tracer_protocol import Sampling
        from lawful.sources.python.watch_planner import LawWatchPlanner

        self.seen = 0
        make: Callable[..., Any] = tracer_choice.choose().make
        wanted = LawWatchPlanner([self.law], Scope(project=self.project), sampling=Sampling({self.kind: 1}))
        self.monitor = self.law.monitor()
        self.tracer = make(wanted, self.deliver, flush_at=BATCH)
        self.tracer.sample(1, self.rate)
        self.tracer.start()

    def deliver(self, events: list[Any]) -> None:
        self.seen += len(events)
        self.monitor.feed([event for event in events if event["event"] not in ("born", "gone")])

    def stop(self) -> None:
        self.tracer.stop()
        if self.tracer.fault is not None:
            raise self.tracer.fault

    def events(self) -> int | None:
        return self.seen


class Learning(Plain):
    """Rules are learned from the calls while the program runs. The CPU time of the learner's own thread counts."""

    def __init__(self, program: Program, project: Path) -> None:
        from lawful.sources.python.scope import Scope

        self.scope = Scope(calls=("*", program.package), project=project)
        self.tracer: Any = None
        self.learner: Any = None

    def start(self) -> None:
        from lawful.engine.live_learning import LiveLearner
        from lawful.learning.parameters import Learning
        from lawful.sources.python import tracer_choice
        from lawful.sources.python.watch_planner import LawWatchPlanner

        self.learner = LiveLearner(Learning())
        make: Callable[..., Any] = tracer_choice.choose().make
        self.tracer = make(LawWatchPlanner([], self.scope, learn=True), self.learner.feed, learner=self.learner)
        self.learner.start(self.tracer)
        self.tracer.start()

    def stop(self) -> None:
        self.tracer.stop()
        self.learner.finish()
        if self.tracer.fault is not None:
            raise self.tracer.fault

    def events(self) -> int | None:
        return int(self.learner.reached)


class Profile(Plain):
    """The profiler of the standard library."""

    def start(self) -> None:
        self.profile = cProfile.Profile()
        self.profile.enable()

    def stop(self) -> None:
        self.profile.disable()


class Viztracer(Plain):
    """Records calls and returns with their times."""

    def __init__(self) -> None:
        self.tracer = importlib.import_module("viztracer").VizTracer(verbose=0, tracer_entries=10_000_000)

    def start(self) -> None:
        self.tracer.start()

    def stop(self) -> None:
        self.tracer.stop()
        self.tracer.clear()


class SetProfile(Plain):
    """The oldest hook, and a callback that does nothing."""

    def start(self) -> None:
        sys.setprofile(nothing)

    def stop(self) -> None:
        sys.setprofile(None)


class Monitoring(Plain):
    """The newest hook, and a callback that does nothing."""

    def __init__(self, *names: str) -> None:
        self.hook: Any = getattr(sys, "monitoring")  # noqa: B009  (3.12)
        self.watched = [getattr(self.hook.events, name) for name in names]

    def start(self) -> None:
        tool = self.hook.PROFILER_ID
        self.hook.use_tool_id(tool, "benchmark")
        for event in self.watched:
            self.hook.register_callback(tool, event, nothing)
        self.hook.set_events(tool, sum(self.watched))

    def stop(self) -> None:
        tool = self.hook.PROFILER_ID
        self.hook.set_events(tool, 0)
        for event in self.watched:
            self.hook.register_callback(tool, event, None)
        self.hook.free_tool_id(tool)


def nothing(*_: object) -> None:
    pass


@dataclass(frozen=True)
class Column:
    """A way of watching, as the tables name it."""

    key: str
    title: str
    make: Callable[[Program, Path], Way]
    limit: float | None = None  # at most so many times the plain program, as a geometric mean
    needs: tuple[str, ...] = ()
    since: tuple[int, int] = (3, 11)
    in_task: bool = False  # the program runs in an asyncio task, as services do


COLUMNS = [
    Column("plain", "unwatched again", lambda *_: Plain()),
    Column("law", "a law", lambda program, project: Lawful(program, project, "law"), 1.1),
    Column("calls", "calls", lambda program, project: Lawful(program, project, "calls"), 1.7),
    Column("calls-nothing", "calls, nothing done", lambda *job: Nothing(*job, "calls"), since=(3, 12)),
    Column("values", "calls with arguments and results", lambda program, project: Lawful(program, project, "values")),
    Column("objects", "objects in much use, all", lambda *job: Sampled(*job, 1)),
    Column("sampled", "one in 64 of them", lambda *job: Sampled(*job, 1 / 64), 1.15),
    Column("off", "none of them any more", lambda *job: Sampled(*job, 0), 1.02),
    Column("learning", "calls, learning", Learning, 2),
    Column("public", "public functions", lambda program, project: Lawful(program, project, "public"), 1.25),
    Column("public-starts", "public functions, starts", lambda *job: Lawful(*job, "starts"), 1.25),
    Column("calls-task", "calls, in an asyncio task", lambda *job: Lawful(*job, "calls"), in_task=True),
    Column("public-task", "public functions, in an asyncio task", lambda *job: Lawful(*job, "public"), in_task=True),
    Column("public-nothing", "public functions, nothing done", lambda *job: Nothing(*job, "public"), since=(3, 12)),
    Column("cprofile", "cProfile", lambda *_: Profile()),
    Column("viztracer", "viztracer", lambda *_: Viztracer(), needs=(VIZTRACER,)),
    Column("setprofile", "sys.setprofile, empty", lambda *_: SetProfile()),
    Column("starts", "sys.monitoring starts, empty", lambda *_: Monitoring("PY_START", "PY_RETURN"), since=(3, 12)),
    Column("sites", "sys.monitoring calls, empty", lambda *_: Monitoring("CALL", "C_RETURN", "C_RAISE"), since=(3, 12)),
]


# -- one process: a program, unwatched and watched by turns ------------------------------------------------------------


def work(job: dict[str, Any]) -> dict[str, Any]:
    program = next(each for each in PROGRAMS if each.name == job["program"])
    column = next(each for each in COLUMNS if each.key == job["column"])
    project = Path(job["project"])
    sys.path[:0] = [str(project), *job["path"]]
    run = program.load(project)
    if column.in_task:
        run = within_task(run)
    way = column.make(program, project)
    rounds = job["rounds"]
    warm = max(WARM, rounds // 4)
    run(rounds)
    gc.collect()
    gc.disable()
    before = timed(run, rounds)
    unwatched: list[tuple[float, float]] = []
    watched: list[tuple[float, float]] = []
    events = 0
    for _ in range(job["pairs"]):
        way.start()
        # The interpreter adapts code as it runs, anew after every change of what is watched.
        run(warm)
        way.settle()
        watched.append(timed(run, rounds))
        way.stop()
        events = way.events() or 0
        gc.collect()
        run(warm)
        unwatched.append(timed(run, rounds))
        gc.collect()
    return {
        "before": before[0],
        "unwatched": [cpu for cpu, _ in unwatched],
        "watched": [cpu for cpu, _ in watched],
        "wall": [after[1] / ahead[1] for ahead, after in zip(unwatched, watched, strict=True)],
        "events": events * rounds / (rounds + warm) if events else None,
        "peak": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024,
    }


def within_task(run: Callable[[int], object]) -> Callable[[int], object]:
    async def main(rounds: int) -> None:
        run(rounds)

    return lambda rounds: asyncio.run(main(rounds))


def timed(run: Callable[[int], object], rounds: int) -> tuple[float, float]:
    """CPU and wall time."""
    began, moment = time.process_time(), time.perf_counter()
    run(rounds)
    return time.process_time() - began, time.perf_counter() - moment


# -- the run -----------------------------------------------------------------------------------------------------------


@dataclass
class Cell:
    """What was measured of one program, watched in one way."""

    pairs: list[tuple[float, float]] = field(default_factory=list)  # unwatched, watched: seconds
    before: list[float] = field(default_factory=list)
    walls: list[float] = field(default_factory=list)  # ratios of wall time
    events: float | None = None

    @property
    def ratio(self) -> float:
        return statistics.median(watched / unwatched for unwatched, watched in self.pairs)

    @property
    def left(self) -> float:
        """How much slower the program is when it is not watched any more than before it was."""
        return statistics.median(unwatched for unwatched, _ in self.pairs) / statistics.median(self.before)

    @property
    def nanoseconds(self) -> float | None:
        if not self.events:
            return None
        return statistics.median(watched - unwatched for unwatched, watched in self.pairs) / self.events * 1e9


class Bench:
    """Measures, and keeps what was measured."""

    def __init__(self, options: argparse.Namespace) -> None:
        self.programs: list[Program] = options.programs
        self.columns: list[Column] = options.columns
        self.processes: int = options.processes
        self.pairs: int = options.pairs
        self.scale: float = options.scale
        self.cache: Path = options.cache / f"python-{platform.python_version()}"
        self.cells = {(program.name, column.key): Cell() for program in self.programs for column in self.columns}
        self.faults: list[str] = []
        self.startup: dict[str, list[tuple[float, float]]] = {}

    def run(self) -> None:
        projects = {program.name: program.prepare(self.cache) for program in self.programs}
        paths = {column.key: self.path(column) for column in self.columns}
        for process in range(self.processes):
            for program in self.programs:
                progress(f"{program.name}, {process + 1} of {self.processes}")
                for column in self.columns:
                    self.measure(program, column, projects[program.name], paths[column.key])

    def path(self, column: Column) -> list[str]:
        return [str(install(self.cache / "installed", column.needs))] if column.needs else []

    def measure(self, program: Program, column: Column, project: Path, path: list[str]) -> None:
        cell = self.cells[program.name, column.key]
        job = {
            "program": program.name,
            "column": column.key,
            "project": str(project),
            "path": path,
            "rounds": max(1, round(program.rounds * self.scale)),
            "pairs": self.pairs,
        }
        command = [sys.executable, __file__, "--worker", json.dumps(job)]
        done = subprocess.run(command, cwd=project, capture_output=True, encoding="utf-8")
        if done.returncode:
            self.faults.append(f"{program.name}, {column.title}: {(done.stderr.strip() or 'died').splitlines()[-1]}")
            return
        result = json.loads(done.stdout.splitlines()[-1])
        cell.pairs += zip(result["unwatched"], result["watched"], strict=True)
        cell.before.append(result["before"])
        cell.walls += result["wall"]
        cell.events = result["events"]

    def start(self, repetitions: int) -> None:
        """Start-up: a script that does nothing, under laws and without."""
        progress("start-up")
        with tempfile.TemporaryDirectory(prefix="lawful-bench-") as folder:
            script = Path(folder, "empty.py")
            script.touch()
            lawful = [sys.executable, "-m", "lawful"]
            commands = {
                "python empty.py": [sys.executable, str(script)],
                "lawful run --law files empty.py": [*lawful, "run", "--law", "files", str(script)],
                "lawful record --calls stdlib empty.py": [
                    *lawful,
                    "record",
                    "--calls",
                    "stdlib",
                    "-o",
                    str(Path(folder, "trace.jsonl")),
                    str(script),
                ],
            }
            # Once for nothing: what is imported is compiled then.
            for command in commands.values():
                seconds(command, folder)
            for _ in range(repetitions):
                for name, command in commands.items():
                    self.startup.setdefault(name, []).append(seconds(command, folder))


def seconds(command: list[str], folder: str) -> tuple[float, float]:
    """CPU and wall time of a process."""
    began = time.perf_counter()
    kept = {key: value for key, value in os.environ.items() if key != "PYTHONDONTWRITEBYTECODE"}
    child = subprocess.Popen(command, cwd=folder, env=kept, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    _, status, usage = os.wait4(child.pid, 0)
    child.returncode = os.waitstatus_to_exitcode(status)
    wall = time.perf_counter() - began
    return (usage.ru_utime + usage.ru_stime, wall) if child.returncode == 0 else (math.nan, math.nan)


# -- the tables --------------------------------------------------------------------------------------------------------


def report(bench: Bench) -> Iterator[str]:
    yield f"Lawful {version()}, CPython {platform.python_version()}, {platform.machine()}, {os.cpu_count()} cores;"
    yield f"{bench.processes} processes of {bench.pairs} pairs of runs each."
    yield ""
    programs = [program.name for program in bench.programs]
    yield from table(
        ["way", *programs, "geometric mean", "target", ""], [ratios(bench, each) for each in bench.columns]
    )
    yield from ["", "The same in wall time: what has a thread of its own takes less of it if a core is free.", ""]
    yield from table(["way", *programs, "geometric mean"], [walls(bench, each) for each in bench.columns])
    yield from ["", "Events in a run, and nanoseconds for each.", ""]
    yield from table(["way", *programs], counts(bench))
    yield from ["", "The unwatched program after watching, as ratio to the program that was never watched.", ""]
    yield from table(["way", *programs], [[each.title, *lefts(bench, each)] for each in bench.columns])
    if bench.startup:
        yield from ["", "Start-up of a script that does nothing.", ""]
        yield from table(["command", "CPU ms", "wall ms", "more CPU ms", ""], startup(bench.startup))
    for fault in bench.faults:
        yield f"FAULT {fault}"


def version() -> str:
    from lawful import __version__
    from lawful.sources.python import tracer_choice

    return f"{__version__} ({tracer_choice.choose().name} core)"


def ratios(bench: Bench, column: Column) -> list[str]:
    cells = [bench.cells[program.name, column.key] for program in bench.programs]
    known = [cell.ratio for cell in cells if cell.pairs]
    mean = statistics.geometric_mean(known) if known else None
    row = [column.title, *(f"{cell.ratio:.2f}" if cell.pairs else "-" for cell in cells)]
    row.append(f"{mean:.2f}" if mean else "-")
    if column.limit is None or mean is None:
        return [*row, "", ""]
    return [*row, f"{column.limit:g}", "ok" if mean <= column.limit else "MISSED"]


def walls(bench: Bench, column: Column) -> list[str]:
    cells = [bench.cells[program.name, column.key] for program in bench.programs]
    known = [statistics.median(cell.walls) for cell in cells if cell.walls]
    mean = f"{statistics.geometric_mean(known):.2f}" if known else "-"
    return [column.title, *(f"{statistics.median(cell.walls):.2f}" if cell.walls else "-" for cell in cells), mean]


def counts(bench: Bench) -> Iterator[list[str]]:
    for column in bench.columns:
        cells = [bench.cells[program.name, column.key] for program in bench.programs]
        if any(cell.events for cell in cells):
            yield [column.title, *(count(cell) for cell in cells)]


def count(cell: Cell) -> str:
    nanoseconds = cell.nanoseconds
    return "-" if nanoseconds is None else f"{cell.events:,.0f}: {nanoseconds:,.0f}"


def lefts(bench: Bench, column: Column) -> Iterator[str]:
    for program in bench.programs:
        cell = bench.cells[program.name, column.key]
        yield f"{cell.left:.2f}" if cell.pairs else "-"


def startup(times: dict[str, list[tuple[float, float]]]) -> Iterator[list[str]]:
    first: float | None = None
    for name, runs in times.items():
        cpu, wall = (min(each) * 1000 for each in zip(*runs, strict=True))
        if math.isnan(cpu):
            yield [f"`{name}`", "-", "-", "-", "failed"]
            continue
        first = first or cpu
        verdict = "" if cpu == first else "ok" if cpu - first <= 150 else "MISSED"
        yield [f"`{name}`", f"{cpu:.0f}", f"{wall:.0f}", f"{cpu - first:.0f}", verdict]


# -- the command -------------------------------------------------------------------------------------------------------


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="Measure what watching Python programs costs, and the peers.")
    names, keys = [program.name for program in PROGRAMS], [column.key for column in COLUMNS]
    parser.add_argument("--program", action="append", choices=names, help="this one only (repeatable)")
    parser.add_argument("--way", action="append", choices=keys, help="this way of watching only (repeatable)")
    parser.add_argument("--processes", type=int, help="for each program and way (default: 3)")
    parser.add_argument("--pairs", type=int, help="of runs in a process (default: 5)")
    parser.add_argument("--quick", action="store_true", help="small programs, one pair: to see that it runs")
    parser.add_argument("--no-start-up", action="store_true", help="do not measure start-up")
    parser.add_argument("--cache", type=Path, default=CACHE, help="where the programs are kept")
    parser.add_argument("--worker", metavar="JOB", help=argparse.SUPPRESS)
    options = parser.parse_args()
    options.programs = [each for each in PROGRAMS if each.name in (options.program or names)]
    wanted = [each for each in COLUMNS if each.key in (options.way or keys)]
    options.columns = [each for each in wanted if sys.version_info >= each.since]
    options.processes = options.processes or (1 if options.quick else 3)
    options.pairs = options.pairs or (1 if options.quick else 5)
    options.scale = 0.05 if options.quick else 1
    options.cache = options.cache.resolve()
    return options


def main() -> int:
    options = arguments()
    if options.worker:
        print(json.dumps(work(json.loads(options.worker))))
        return 0
    bench = Bench(options)
    bench.run()
    if not options.no_start_up:
        bench.start(3 if options.quick else 15)
    print("\n".join(report(bench)))
    return 1 if bench.faults else 0


if __name__ == "__main__":
    sys.exit(main())
