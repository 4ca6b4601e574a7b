"""Watching less as one grows surer: the case study of the Monte Carlo paper, its Figure 4, and what is found.

Overhead: the file system of `examples/vfs` at work in two processes that take turns, one unwatched and one watched
until both classes of objects have reached their target, and beyond. CPU time is counted; a ratio is that of two
neighbours, and the median of a phase is taken. Compare the numbers of one run with each other, not with those of
another run or machine.

Pairs: small overheads, those of watching that has reached its target and of following 1 in 64, by short pieces of equal
work in one process, as pairs.py says.

Detection: mistakes are put into lives of objects with a known probability, around the error rate that is to be ruled
out. How often is one found before the target is reached? Beside it stands the theory, and an interval in which the true
share lies with 99.9 % confidence. Where all objects are followed it is also known, session by session, whether there
was something to be found.
"""

from __future__ import annotations

import argparse
import contextlib
import gc
import importlib
import json
import math
import os
import platform
import statistics
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from types import TracebackType
from typing import Any, Self

from pairs import SURE, Pairs, pair
from tables import progress, table

EXAMPLE = Path(__file__).resolve().parent.parent / "examples" / "vfs"
LAWS = EXAMPLE / "refcounts.toml"
TOP = "/mnt"
CLASSES = {"vfs.Dentry": "dentries", "vfs.Inode": "inodes"}
SIDES = 64  # of the coin of the last way
FIXED = f"policy fixed\nstart on\nstate on: sample 1 in {SIDES}\n"
DOUBT = 0.001  # that an interval does not hold what it should
FACTORS = (0.25, 0.5, 1.0, 2.0, 4.0)  # of the error rate
DELTA = 0.05  # the doubt that is left where mistakes are to be found: small, but such that some are missed
PHASES = ("all objects", "after the first class", "after the second")

# -- the program -------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Workload:
    """A way to use the file system, and what the paper measured for its like."""

    name: str
    title: str
    paper: tuple[str, str, str]
    first: int  # runs after which the first class is to reach its target, as in the paper
    error_rate: float  # that is ruled out, if nothing else is asked for; the other half of the claim is the same
    small: dict[str, int]  # the size of a round if it is to be quick
    size: dict[str, int]  # and if not


WORKLOADS = [
    Workload("tree", "a tree", ("10", "3", "1.33"), 5, 2e-4, {"depth": 2, "width": 3}, {"depth": 4, "width": 4}),
    Workload("build", "a build", ("1.46", "1.14", "1.11"), 10, 2e-3, {"files": 4}, {"files": 60}),
]


class Subject:
    """The example's file system, with a workload that is done again and again."""

    def __init__(
        self, workload: str, size: dict[str, int], fs: str = "ramfs", rate: float = 0.0, seed: int = 0
    ) -> None:
        if str(EXAMPLE) not in sys.path:
            sys.path.insert(0, str(EXAMPLE))
        filesystems, vfs = importlib.import_module("filesystems"), importlib.import_module("vfs")
        workloads = importlib.import_module("workloads")
        self._work = workloads.tree if workload == "tree" else workloads.build
        self._size = size if workload == "tree" else {}
        self._vfs = vfs.Vfs(filesystems.RamFS())
        self._vfs.mkdir(TOP)
        # What is made here is there before watching begins: no life of it is counted.
        self.mount = self._vfs.mount(TOP, filesystems.named(fs, rate, seed))
        if workload == "build":
            workloads.prepare(self._vfs, TOP, **size)

    def run(self, rounds: int) -> None:
        for _ in range(rounds):
            self._work(self._vfs, TOP, **self._size)

    def unmount(self) -> None:
        """What has leaked is gone then, too."""
        self._vfs.unmount(TOP)

    def tracking(self) -> tuple[int, int]:
        """Objects that live and die in a round, by class."""
        self.run(1)  # some are made in the first round only
        before = self.mount.dentries_made, self.mount.inodes_made
        self.run(1)
        return self.mount.dentries_made - before[0], self.mount.inodes_made - before[1]


# -- one process, which does a run when it is told to ------------------------------------------------------------------


def work(job: dict[str, Any]) -> None:
    subject = Subject(job["workload"], job["size"])
    subject.run(job["rounds"])
    gc.collect()
    gc.disable()
    with watching(job) as run:
        for line in sys.stdin:
            began = time.process_time()
            subject.run(int(line))
            cpu = time.process_time() - began
            print(json.dumps({"cpu": cpu, "classes": [] if run is None else seen(run)}), flush=True)
            gc.collect()
    if run is not None and run.findings:
        raise SystemExit(f"there is nothing to be found, but: {run.findings[0]}")


def watching(job: dict[str, Any]) -> Any:
    """The watch of a process; of one that is not watched, a context that does nothing."""
    if job["policy"] is None:
        return contextlib.nullcontext()
    import lawful

    return lawful.watch(
        [LAWS],
        sampling=lawful.Sampling(
            confidence=1 - job["error_rate"], error_rate=job["error_rate"], policy=job["policy"], seed=job["seed"]
        ),
        trace=job["trace"],
        project=EXAMPLE,
    )


def seen(run: Any) -> list[dict[str, Any]]:
    """What is known at this moment about each class."""
    return [
        {
            "name": each.class_name,
            "rate": each.rate,
            "confidence": min(law.confidence for law in each.laws),
            "samples": min(law.samples for law in each.laws),
        }
        for each in run.confidence
    ]


def work_in_pairs(job: dict[str, Any]) -> None:
    """The same in a process that is watched now and then: a line is answered with the ratio of a pair."""
    subject = Subject(job["workload"], job["size"])
    rounds, cpu = 1, 0.0
    while cpu < job["piece"]:
        rounds *= 2
        began = time.process_time()
        subject.run(rounds)
        cpu = time.process_time() - began
    rounds = max(1, round(rounds * job["piece"] / cpu)) if cpu else rounds
    goes_off = job["policy"] == "off"

    def ready(run: Any) -> bool:
        return not goes_off or not any(each.rate for each in run.confidence)

    for number, _ in enumerate(sys.stdin):
        ratio = pair(number, subject.run, rounds, lambda: watching(job), ready)
        print(json.dumps({"ratio": ratio}), flush=True)


class Process:
    """Such a process, from outside."""

    def __init__(self, job: dict[str, Any], role: str = "--worker") -> None:
        command = [sys.executable, __file__, role, json.dumps(job)]
        pipe = subprocess.PIPE
        self._process = subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=pipe, encoding="utf-8")

    def run(self, rounds: int) -> dict[str, Any]:
        assert self._process.stdin is not None and self._process.stdout is not None
        with contextlib.suppress(BrokenPipeError):
            self._process.stdin.write(f"{rounds}\n")
            self._process.stdin.flush()
        line = self._process.stdout.readline()
        if not line:
            raise ChildError(self._end())
        result: dict[str, Any] = json.loads(line)
        return result

    def close(self) -> None:
        error = self._end()
        if self._process.returncode:
            raise ChildError(error)

    def _end(self) -> str:
        _, error = self._process.communicate()
        return (error.strip() or "died").splitlines()[-1]

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, group: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._process.poll() is None:
            self._process.kill()
            self._process.communicate()


class ChildError(Exception):
    """A process has failed; the message is its last word."""


# -- overhead ----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Way:
    """How the program is watched."""

    key: str
    title: str
    policy: str | None = None  # None: it is not
    log: bool = False
    limit: float | None = None  # in the last phase, at most so many times the unwatched program


WAYS = [
    Way("plain", "unwatched again"),
    Way("off", "off at the target", "off", limit=1.02),
    Way("log", "off at the target, with a log", "off", log=True),
    Way("fixed", f"1 in {SIDES}, always", "fixed", limit=1.15),
]


@dataclass
class Run:
    """A run of the watched program, beside its unwatched neighbour."""

    ratio: float
    phase: int | None  # how many classes were off; None: that changed on the way
    confidence: dict[str, float]
    samples: dict[str, int]


@dataclass
class Curve:
    """All runs of a workload, watched in one way."""

    workload: Workload
    way: Way
    error_rate: float
    rounds: int = 0
    repeats: list[list[Run]] = field(default_factory=list)

    @property
    def runs(self) -> list[Run]:
        """The first time."""
        return self.repeats[0] if self.repeats else []

    def phase(self, number: int) -> list[float]:
        return [run.ratio for runs in self.repeats for run in runs if run.phase == number]

    def reached(self) -> Iterator[tuple[str, int]]:
        """By class, the number of the run in which it reached its target."""
        for name in CLASSES:
            for number, run in enumerate(self.runs, 1):
                if run.confidence.get(name, 0.0) >= 1 - self.error_rate:
                    yield name, number
                    break


class Overhead:
    """Measures, and keeps what was measured."""

    def __init__(self, options: argparse.Namespace) -> None:
        self.options = options
        self.curves: list[Curve] = []
        self.faults: list[str] = []

    def run(self) -> None:
        for workload in self.options.workloads:
            for way in self.options.ways:
                rate = self.options.error_rate or workload.error_rate
                curve = Curve(workload, way, rate)
                self.curves.append(curve)
                progress(f"{workload.name}, {way.title}")
                try:
                    for _ in range(self.options.repeats):
                        self.measure(curve)
                except ChildError as error:
                    self.faults.append(f"{workload.name}, {way.title}: {error}")

    def measure(self, curve: Curve) -> None:
        from lawful.confidence.statistics import samples_needed

        workload, way = curve.workload, curve.way
        needed = samples_needed(curve.error_rate, curve.error_rate)
        size = workload.small if self.options.quick else workload.size
        most = max(Subject(workload.name, size).tracking())
        curve.rounds = max(1, round(needed / most / workload.first))
        with tempfile.TemporaryDirectory(prefix="lawful-bench-") as folder:
            policy = way.policy
            if policy == "fixed":
                policy = str(Path(folder, "fixed.policy"))
                Path(policy).write_text(FIXED, encoding="utf-8")
            job = {
                "workload": workload.name,
                "size": size,
                "rounds": curve.rounds,
                "error_rate": curve.error_rate,
                "policy": policy,
                "trace": str(Path(folder, "log.jsonl")) if way.log else None,
                "seed": self.options.seed,
            }
            with Process({**job, "policy": None}) as plain, Process(job) as watched:
                self.alternate(curve, plain, watched)
                plain.close()
                watched.close()

    def alternate(self, curve: Curve, plain: Process, watched: Process) -> None:
        off = 0
        last = 0
        rounds = curve.rounds
        runs: list[Run] = []
        curve.repeats.append(runs)
        # Twice what should be enough: a class has at least a third as many lives as the other.
        for number in range(8 * curve.workload.first + self.options.after):
            if number % 2:  # neither is always the first
                beside, alone = watched.run(rounds), plain.run(rounds)
            else:
                alone, beside = plain.run(rounds), watched.run(rounds)
            before, off = off, sum(each["rate"] == 0 for each in beside["classes"])
            classes = beside["classes"]
            runs.append(
                Run(
                    beside["cpu"] / alone["cpu"],
                    off if off == before else None,
                    {each["name"]: each["confidence"] for each in classes},
                    {each["name"]: each["samples"] for each in classes},
                )
            )
            # What never gets to another phase is watched as long as a phase takes.
            final = off == len(CLASSES) or curve.way.policy != "off"
            last = last + 1 if off == before and final else 0
            if last == self.options.after:
                return
            if final:  # where little differs it takes longer to see it
                rounds = max(curve.rounds, math.ceil(self.options.long / alone["cpu"] * rounds))
        raise ChildError("the classes do not reach their targets")


# -- pairs -------------------------------------------------------------------------------------------------------------

SOON = 0.05  # the error rate that is ruled out before a piece is timed


def in_pairs(options: argparse.Namespace) -> Iterator[Pairs]:
    for workload in options.workloads:
        for way in options.ways:
            if way.log:
                continue
            progress(f"{workload.name}, {way.title}, in pairs")
            found = Pairs(workload.title, way.title, way.limit)
            with tempfile.TemporaryDirectory(prefix="lawful-bench-") as folder:
                fixed = Path(folder, "fixed.policy")
                fixed.write_text(FIXED, encoding="utf-8")
                job = {
                    "workload": workload.name,
                    "size": workload.small if options.quick else workload.size,
                    "policy": str(fixed) if way.policy == "fixed" else way.policy,
                    "error_rate": SOON if way.policy == "off" else workload.error_rate,
                    "piece": options.piece,
                    "trace": None,
                    "seed": options.seed,
                }
                for _ in range(options.processes):
                    with Process(job, "--pair-worker") as process:
                        found.ratios.append([process.run(1)["ratio"] for _ in range(options.pairs)])
                        process.close()
            yield found


# -- detection ---------------------------------------------------------------------------------------------------------


@dataclass
class Detection:
    """How often mistakes of a given rate were found before the target was reached."""

    level: str
    group: str
    factor: float
    rate: float
    needed: int
    sessions: int = 0
    found: int = 0
    right: int | None = None  # sessions in which one was found just if there was one, where that is known

    @property
    def theory(self) -> float:
        return -math.expm1(self.needed * math.log1p(-self.rate))

    def interval(self) -> tuple[float, float]:
        """Clopper and Pearson's, both sides together as sure as is said at the top."""
        from lawful.confidence.statistics import lower_bound, upper_bound

        return lower_bound(self.sessions, self.found, DOUBT / 2), upper_bound(self.sessions, self.found, DOUBT / 2)

    @property
    def holds(self) -> bool:
        low, high = self.interval()
        return low <= self.theory <= high


def simulated(error_rate: float, sessions: int, seed: int) -> Iterator[Detection]:
    """Without any program: lives that overlap, each with its coin, and what the confidence makes of them."""
    from lawful.confidence import policies
    from lawful.confidence.engine import Demand

    for factor in FACTORS:
        progress(f"simulation, {factor:g} times the error rate")
        random = Random(f"{seed} {factor}")
        result = None
        for _ in range(sessions):
            demand = Demand(1 - DELTA, error_rate, policies.off(), random.getrandbits(32))
            if result is None:
                result = Detection("simulation", "objects", factor, factor * error_rate, demand.needed)
            result.sessions += 1
            result.found += session(demand, result.rate, random)
        if result is not None:
            yield result


def session(demand: Any, rate: float, random: Random, together: int = 16) -> bool:
    """Objects are born and die until the target is reached or a mistake was found."""
    from lawful.confidence.engine import Confidence

    confidence = Confidence(demand, {"Object": ["law"]})
    group = confidence.groups["Object"]
    alive: list[bool] = []  # those that are followed: will they break the law?
    while group.policy_run.rate > 0:
        if len(alive) < together and confidence.flip(group):
            alive.append(random.random() < rate)
        elif alive.pop(random.randrange(len(alive))):
            confidence.violated(group)
            return True
        else:
            confidence.ended(group, confidence.now, (), ())
    return False


@dataclass(frozen=True)
class SeededBug:
    """A file system with a mistake, and how it is watched."""

    fs: str
    sides: int  # of the coin that decides which objects are followed

    @property
    def title(self) -> str:
        return self.fs if self.sides == 1 else f"{self.fs}, 1 in {self.sides}"

    @property
    def policy(self) -> Any:
        from lawful.confidence import policy_parser

        on = f"state on: sample 1 in {self.sides} after target go done"
        return policy_parser.parse(f"policy sides-{self.sides} start on {on} state done: sample none")


SEEDED_BUGS = [SeededBug("leakyfs", 1), SeededBug("hastyfs", 1), SeededBug("hastyfs", 4)]


class SeededTruth:
    """Knows which objects of a file system have a mistake, in the order of their births, whoever watches or not."""

    def __init__(self, fs: Any) -> None:
        self._born: Counter[str] = Counter()
        self._numbers: dict[int, int] = {}  # of births, by the id of what is alive
        self.first: dict[str, int] = {}  # the number of the first one with a mistake, by class
        fs.fill_dentry = self._told(fs.fill_dentry)
        fs.fill_inode = self._told(fs.fill_inode)
        fs.bad_block = self._asked(fs.bad_block)

    def _told(self, fill: Callable[[Any], None]) -> Callable[[Any], None]:
        def noted(thing: Any) -> None:
            name = type(thing).__name__
            self._numbers[id(thing)] = self._born[name]
            self._born[name] += 1
            fill(thing)

        return noted

    def _asked(self, bad_block: Callable[[Any], bool]) -> Callable[[Any], bool]:
        def noted(thing: Any) -> bool:
            bad = bad_block(thing)
            number = self._numbers.get(id(thing))  # the root was there before
            if bad and number is not None:
                name = type(thing).__name__
                self.first[name] = min(number, self.first.get(name, number))
            return bad

        return noted


def watched(bug: SeededBug, error_rate: float, sessions: int, seed: int) -> Iterator[Detection]:
    """The example with a file system that makes mistakes, watched from the first life to the target."""
    from lawful.confidence.statistics import samples_needed

    needed = samples_needed(error_rate, DELTA)
    for factor in FACTORS:
        progress(f"{bug.title}, {factor:g} times the error rate")
        random = Random(f"{seed} {bug.title} {factor}")
        rate = factor * error_rate
        right = 0 if bug.sides == 1 else None
        results = {name: Detection(bug.title, name, factor, rate, needed, right=right) for name in CLASSES}
        for _ in range(sessions):
            there, violations = watched_session(bug, error_rate, rate, needed, random)
            for name, result in results.items():
                result.sessions += 1
                result.found += violations[name] > 0
                if result.right is not None:
                    result.right += there[name] == (violations[name] > 0)
        yield from results.values()


def watched_session(
    bug: SeededBug, error_rate: float, rate: float, needed: int, random: Random
) -> tuple[dict[str, bool], dict[str, int]]:
    """By class: was there a mistake in the first lives, as many as are needed? And how many were found?"""
    import lawful

    subject = Subject("tree", {"depth": 3, "width": 3}, bug.fs, rate, random.getrandbits(32))
    truth = SeededTruth(subject.mount.fs)
    with lawful.watch(
        [LAWS],
        sampling=lawful.Sampling(
            confidence=1 - DELTA, error_rate=error_rate, policy=bug.policy, seed=random.getrandbits(32)
        ),
        on_violation="count",
        project=EXAMPLE,
    ) as run:
        # What leaks lives on, so that samples are counted when they begin.
        while not all(each.sampled >= needed or violations_of(each) for each in run.confidence):
            subject.run(1)
        subject.unmount()
    for each in run.confidence:
        if not violations_of(each) and each.laws[0].samples != needed:
            raise SystemExit(f"{each.laws[0].samples} samples of {each.class_name}, and not {needed}")
    there = {name: truth.first.get(name.removeprefix("vfs."), needed) < needed for name in CLASSES}
    return there, {each.class_name: violations_of(each) for each in run.confidence}


def violations_of(summary: Any) -> int:
    return max(int(law.violations) for law in summary.laws)


# -- the tables --------------------------------------------------------------------------------------------------------


def heading(options: argparse.Namespace) -> Iterator[str]:
    from lawful import __version__
    from lawful.sources.python import tracer_choice

    core = tracer_choice.choose().name
    yield f"Lawful {__version__} ({core} core), CPython {platform.python_version()}, {platform.machine()}, " + (
        f"{os.cpu_count()} cores, load {os.getloadavg()[0]:.1f}; seed {options.seed}."
    )


def overhead(measured: Overhead) -> Iterator[str]:
    times = "once" if measured.options.repeats == 1 else f"{measured.options.repeats} times"
    yield from ["", f"CPU time as a ratio to the unwatched program, {times}. The paper's numbers are with a log.", ""]
    head = ["workload", "watched", "error rate", "phase", "runs", "ratio", "quartiles", "paper", "target", ""]
    yield from table(head, [row for curve in measured.curves for row in rows(curve)])
    yield from ["", "The run in which a class reached its target.", ""]
    reached = [
        [curve.workload.title, curve.way.title, CLASSES[name], str(number), f"{curve.runs[number - 1].samples[name]:,}"]
        for curve in measured.curves
        for name, number in curve.reached()
    ]
    yield from table(["workload", "watched", "class", "run", "samples"], reached)
    for fault in measured.faults:
        yield f"FAULT {fault}"


def rows(curve: Curve) -> Iterator[list[str]]:
    way = curve.way
    phases = PHASES if way.policy == "off" else ("",)
    for number, phase in enumerate(phases):
        ratios = curve.phase(number)
        start = [curve.workload.title, way.title, f"{curve.error_rate:g}", phase, str(len(ratios))]
        paper = curve.workload.paper[number] if way.policy == "off" else ""
        if not ratios:
            yield [*start, "-", "", paper, "", ""]
            continue
        ratio = statistics.median(ratios)
        quartiles = statistics.quantiles(ratios, n=4, method="inclusive") if len(ratios) > 1 else [ratio] * 3
        limit = way.limit if number == len(phases) - 1 else None
        verdict = ["", ""] if limit is None else [f"{limit:g}", "ok" if ratio <= limit else "MISSED"]
        yield [*start, f"{ratio:.2f}", f"{quartiles[0]:.2f} to {quartiles[2]:.2f}", paper, *verdict]


def pairs(measured: Iterable[Pairs]) -> Iterator[str]:
    yield from ["", "CPU time of a piece of work to that of its unwatched neighbour in the same process.", ""]
    head = ["workload", "watched", "pairs", "ratio", f"{SURE:.0%} interval", "by process", "target", ""]
    yield from table(head, map(paired, measured))


def paired(found: Pairs) -> list[str]:
    low, high = found.interval()
    medians = found.by_process()
    limit = "" if found.limit is None else f"{found.limit:g}"
    spread = f"{min(medians):.3f} to {max(medians):.3f}"
    interval = f"{low:.3f} to {high:.3f}"
    return [found.title, found.way, str(found.count), f"{found.median():.3f}", interval, spread, limit, found.verdict()]


def detection(results: list[Detection], error_rate: float) -> Iterator[str]:
    needed = f"{results[0].needed:,} samples"
    claim = f"{1 - DELTA:.0%} confidence in an error rate below {error_rate:g}"
    yield from ["", f"Mistakes found before the target was reached: {needed}, for {claim}.", ""]
    head = ["program", "class", "mistakes ÷ error rate", "sessions", "found", "share", "99.9 % interval", "theory", ""]
    head.append("as planted")
    yield from table(head, map(found, results))


def found(result: Detection) -> list[str]:
    low, high = result.interval()
    return [
        result.level,
        CLASSES.get(result.group, result.group),
        f"{result.factor:g}",
        f"{result.sessions:,}",
        f"{result.found:,}",
        f"{result.found / result.sessions:.3f}",
        f"{low:.3f} to {high:.3f}",
        f"{result.theory:.4f}",
        "ok" if result.holds else "MISSED",
        "" if result.right is None else f"{result.right:,}",
    ]


def draw(measured: Overhead, folder: Path) -> None:
    """A picture for each workload, as in Figure 4: overhead and confidence by the number of the run."""
    from lawful.reports.chart import Axis, Chart, Panel, Series, VerticalLine, nines, render_svg

    folder.mkdir(parents=True, exist_ok=True)
    for workload in measured.options.workloads:
        curves = [each for each in measured.curves if each.workload is workload and each.way.policy == "off"]
        if not curves or not curves[0].runs:
            continue
        ratios = [
            Series(each.way.title, [(number, run.ratio) for number, run in enumerate(each.runs, 1)]) for each in curves
        ]
        confidences = [
            Series(title, [(number, 1 - run.confidence[name]) for number, run in enumerate(curves[0].runs, 1)])
            for name, title in CLASSES.items()
        ]
        chart = Chart(
            f"{workload.title}: overhead and confidence",
            Axis("runs"),
            [
                Panel(ratios, Axis("CPU time to unwatched", low=0)),
                Panel(confidences, Axis("confidence", log=True, high=1, form=nines, falling=True)),
            ],
            [VerticalLine(number, f"{CLASSES[name]} reach the target") for name, number in curves[0].reached()],
        )
        Path(folder, f"confidence-{workload.name}.svg").write_text(render_svg(chart), encoding="utf-8")


# -- the command -------------------------------------------------------------------------------------------------------

PARTS = ("overhead", "pairs", "simulation", "detection")


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="Measure what sampled watching costs as it grows surer, and finds.")
    names, keys = [workload.name for workload in WORKLOADS], [way.key for way in WAYS]
    parser.add_argument("--part", action="append", choices=PARTS, help="this one only (repeatable)")
    parser.add_argument("--workload", action="append", choices=names, help="this one only (repeatable)")
    parser.add_argument("--way", action="append", choices=keys, help="this way of watching only (repeatable)")
    parser.add_argument("--full", action="store_true", help="rule out 1e-5, as the paper does: this takes hours")
    parser.add_argument("--quick", action="store_true", help="rule out 5 %%: to see that it runs")
    parser.add_argument("--repeats", type=int, help="of a workload and a way, in new processes (default: 3)")
    parser.add_argument("--after", type=int, help="runs after the last target (default: 10)")
    parser.add_argument("--pairs", type=int, help="in each process (default: 40)")
    parser.add_argument("--processes", type=int, help="that do pairs, one after the other (default: 5)")
    parser.add_argument("--sessions", type=int, help="of a program, for each rate of mistakes (default: 200)")
    parser.add_argument("--picture", type=Path, metavar="FOLDER", help="draw Figure 4 there")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--worker", metavar="JOB", help=argparse.SUPPRESS)
    parser.add_argument("--pair-worker", metavar="JOB", help=argparse.SUPPRESS)
    options = parser.parse_args()
    options.parts = options.part or PARTS
    options.workloads = [each for each in WORKLOADS if each.name in (options.workload or names)]
    options.ways = [each for each in WAYS if each.key in (options.way or keys)]
    options.error_rate = 1e-5 if options.full else 0.05 if options.quick else None
    options.repeats = options.repeats or (1 if options.quick else 3)
    options.after = options.after or (3 if options.quick else 10)
    options.long = 0.0 if options.quick else 0.4  # CPU seconds of a run in the last phase
    options.pairs = options.pairs or (2 if options.quick else 40)
    options.processes = options.processes or (2 if options.quick else 5)
    options.piece = 0.002 if options.quick else 0.08  # CPU seconds
    options.sessions = options.sessions or (20 if options.quick else 200)
    return options


def main() -> int:
    options = arguments()
    if options.worker:
        work(json.loads(options.worker))
        return 0
    if options.pair_worker:
        work_in_pairs(json.loads(options.pair_worker))
        return 0
    print("\n".join(heading(options)))
    failed = False
    if "overhead" in options.parts:
        measured = Overhead(options)
        measured.run()
        print("\n".join(overhead(measured)), flush=True)
        failed = bool(measured.faults)
        if options.picture:
            draw(measured, options.picture)
    if "pairs" in options.parts:
        print("\n".join(pairs(in_pairs(options))), flush=True)
    # What is found does not depend on how rare it is, only on how rare it is beside what is ruled out.
    error_rate = 0.05 if options.quick else 0.02
    results: list[Detection] = []
    if "simulation" in options.parts:
        results += simulated(error_rate, 10 * options.sessions, options.seed)
    if "detection" in options.parts:
        for bug in SEEDED_BUGS:
            results += watched(bug, error_rate, options.sessions, options.seed)
        failed |= any(each.right not in (None, each.sessions) for each in results)
    if results:
        print("\n".join(detection(results, error_rate)))
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
