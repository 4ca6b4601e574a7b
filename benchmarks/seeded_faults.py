"""Faults put into real programs, one at a time: does the learner find them, at which rank, and what else does it say?

A fault is one protocol call removed or moved (`seeded_faults/faults.toml`) in a program or its tests
(`seeded_faults/subjects.toml`). Every program is recorded once as it is and once with each fault; the learner sees the
trace only. What it says about the programs as they are has been judged by hand (`seeded_faults/verdicts.toml`).

There are two sets: faults of `suites` are in packages' tests, those of `programs` in programs and libraries themselves,
at work. The learner may be improved by looking at the suites, and at the first, third ... of the programs' faults.
The others are held out: nothing is chosen by looking at them.

Each faulty run is learned from four times: alone; with a store that was taught by the other programs, without faults;
and with stores that were taught by one and by three earlier runs of the same program, without the fault, as a CI would
have them. With these, what earlier runs had at the same place, too, is known, and does not count as reported.
"""

from __future__ import annotations

import argparse
import ast
import itertools
import json
import os
import platform
import shutil
import statistics
import subprocess
import sys
import sysconfig
import tarfile
import tempfile
import tomllib
import zipfile
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path
from types import MappingProxyType
from typing import Any, TypeVar

import real_packages
from tables import progress, table

ROOT = Path(__file__).resolve().parent.parent
TABLES = Path(__file__).resolve().parent / "seeded_faults"
CACHE = ROOT / ".cache" / "seeded-faults"
EXAMPLES = "EXAMPLES"  # in a command: the script that runs all scripts of a folder
DRIVER = "drive.py"  # its name in a project; what it does itself is not watched
INTERPRETER = "CPython"  # as a package: the standard library
SETS = {"programs": "every second one held out", "suites": "for training"}
COLUMNS = {
    "alone": "alone",
    "others": "taught by others",
    "own": "taught by an earlier run",
    "later": "taught by three earlier runs",
}
EARLIER = ("", ".third", ".fourth")  # runs of a program without a fault that teach; one more is judged
LEARN = TABLES / "learn.py"  # learns from a trace in all these ways
LIMIT = 900  # seconds
BUDGET = 10  # anomalies that a person looks at
LEAST_USES, LEAST_KEPT = 5, 0.8  # that there is a protocol
FOUND_TARGET = 2 / 3
WORTH_TARGET = 1 / 2
Entry = TypeVar("Entry")
Stores = dict[str, Path | None]  # by column

VERDICTS = {"true": True, "worth a look": True, "false": False}

# -- the tables --------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Subject:
    """A program, how it is run, and what of it is watched."""

    name: str
    package: str  # name==version
    run: tuple[str, ...] = ()
    driver: str = ""  # instead of `run`: a script in `drivers` that puts the program to use
    path: str = ""
    own: tuple[str, ...] = ()
    needs: tuple[str, ...] = ()
    calls: tuple[str, ...] = ()
    public: tuple[str, ...] = ()
    fields: tuple[str, ...] = ()

    @property
    def scope(self) -> list[str]:
        """Options of `lawful record`."""
        asked = (("--calls=", self.calls), ("--public=", self.public), ("--set=fields=", self.fields))
        options = [f"{option}{name}" for option, names in asked for name in names]
        return [*options, "--exclude", DRIVER] if self.driver else options

    @property
    def here(self) -> bool:
        """It can be run: the standard library is that of one version."""
        name, _, version = self.package.partition("==")
        return name != INTERPRETER or version == platform.python_version()


@dataclass(frozen=True)
class Fault:
    """A change of one file, and how an anomaly that tells of it looks."""

    name: str
    set: str
    subject: str
    kind: str
    file: str
    old: str
    new: str
    events: tuple[str, ...]  # patterns of names; an anomaly's rule has one of them
    uses: tuple[str, ...]  # of an object: with one of these calls
    keeps: tuple[str, ...]  # it has one of these, too
    also: tuple[str, ...] = ()  # FILE::FUNCTION: where it may show, beside the function that is changed

    def apply(self, text: str) -> str:
        if (times := text.count(self.old)) != 1:
            raise ValueError(f"{self.name}: the old text stands {times} times in {self.file}")
        return text.replace(self.old, self.new)


@dataclass(frozen=True)
class Verdict:
    """What a person thinks of an anomaly in a program without a fault."""

    subject: str
    a: str
    b: str
    site: str  # file, and the function if there is one: FILE::FUNCTION
    verdict: str
    why: str


def read(kind: type[Entry], file: Path) -> list[Entry]:
    """The entries of a table, in their order."""
    rows: list[dict[str, Any]] = next(iter(tomllib.loads(file.read_text(encoding="utf-8")).values()), [])
    return [kind(**{key: tuple(v) if isinstance(v, list) else v for key, v in row.items()}) for row in rows]


# -- where a fault is --------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Region:
    """Lines of a file, both ends included."""

    file: str
    first: int
    last: int

    def has(self, site: str) -> bool:
        file, _, line = site.rpartition(":")
        return file == self.file and line.isdigit() and self.first <= int(line) <= self.last


def functions(text: str) -> list[tuple[str, int, int]]:
    """Qualified names and lines of all functions, outer ones before inner ones."""
    found: list[tuple[str, int, int]] = []

    def visit(node: ast.AST, outer: str) -> None:
        for child in ast.iter_child_nodes(node):
            name = outer
            if isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
                name = f"{outer}.{child.name}" if outer else child.name
                if not isinstance(child, ast.ClassDef):
                    first = min([child.lineno, *(each.lineno for each in child.decorator_list)])
                    found.append((name, first, child.end_lineno or child.lineno))
            visit(child, name)

    visit(ast.parse(text), "")
    return found


def enclosing(text: str, line: int) -> str:
    """The innermost function around a line; nothing for the module itself."""
    return next((name for name, first, last in reversed(functions(text)) if first <= line <= last), "")


def regions(fault: Fault, original: str, files: dict[str, str]) -> list[Region]:
    """Where the fault may show in these files. `original` is its file without it."""
    same = sum(1 for _ in itertools.takewhile(lambda pair: pair[0] == pair[1], zip(fault.old, fault.new, strict=False)))
    line = original[: original.index(fault.old) + same].count("\n") + 1
    # The line after the change may be out of the function, the one before is in it.
    name = enclosing(fault.apply(original), line) or enclosing(original, line)
    found = []
    for each in (f"{fault.file}::{name or '*'}", *fault.also):
        file, _, name = each.partition("::")
        if name == "*":
            found.append(Region(file, 1, sys.maxsize))
            continue
        for qualified, first, last in functions(files[file]):
            if qualified == name or qualified.rpartition(".")[2] == name:
                found.append(Region(file, first, last))
    return found


# -- runs --------------------------------------------------------------------------------------------------------------


class Environment(real_packages.Environment):
    """A virtual environment with what the programs need, and Lawful as a user would install it."""

    def __init__(self, cache: Path) -> None:
        super().__init__(cache)
        self.traces = self.folder / "traces"

    def ready(self, subjects: Sequence[Subject]) -> None:
        self.prepare([])
        mark = self.folder / "needs.installed"
        there = set(mark.read_text().split()) if mark.exists() else set()
        if missing := {need for subject in subjects for need in subject.needs} - there:
            progress("installing what the programs need")
            self.pip("install", *sorted(missing))
            mark.write_text("\n".join(sorted(there | missing)))
        for subject in subjects:
            self.unpacked(subject)
        self.traces.mkdir(parents=True, exist_ok=True)

    def unpacked(self, subject: Subject) -> Path:
        """The source distribution."""
        if subject.package.partition("==")[0] == INTERPRETER:
            return Path(sysconfig.get_path("stdlib"))
        folder = self.folder / "source" / subject.package
        if not folder.exists():
            name = subject.package.partition("==")[0]
            with tempfile.TemporaryDirectory(prefix="lawful-bench-") as scratch:
                self.pip(
                    "download", "--no-deps", "--no-build-isolation", "--no-binary", name, "-d", scratch, subject.package
                )
                (file,) = Path(scratch).iterdir()
                unpack(file, Path(scratch, "unpacked"))
                folder.parent.mkdir(parents=True, exist_ok=True)
                shutil.move(next(Path(scratch, "unpacked").iterdir()), folder)
        return folder

    def record(self, subject: Subject, fault: Fault | None, again: bool, suffix: str = "") -> Path:
        """The trace of a run, with a fault or without. With a suffix: one more."""
        trace = self.traces / f"{fault.name if fault else subject.name}{suffix}.jsonl"
        if trace.exists() and not again:
            return trace
        source = self.unpacked(subject)
        with tempfile.TemporaryDirectory(prefix="lawful-bench-") as scratch:
            project = Path(scratch, subject.name)
            project.mkdir()
            for part in subject.own or (".",):
                copy(source / part, project / part)
            (project / "setup.cfg").touch()  # so that it is a project
            settings = Path(scratch, "pytest.ini")  # none: what a package asks for may not be installed
            settings.write_text("[pytest]\n", encoding="utf-8")
            command = list(subject.run) or [DRIVER]
            if subject.driver:
                shutil.copy(TABLES / "drivers" / subject.driver, project / DRIVER)
            elif command[0] == EXAMPLES:
                shutil.copy(TABLES / "examples.py", project / "run_examples.py")
                command[0] = "run_examples.py"
            else:
                command += ["-q", "-c", str(settings), "--rootdir=.", "-p", "no:cacheprovider"]
                command.append(f"--basetemp={Path(scratch, 'tests')}")
            if fault:
                file = project / fault.file
                file.write_text(fault.apply(file.read_text(encoding="utf-8")), encoding="utf-8")
            if subject.driver:
                path = [project / subject.path]
            else:
                path = [project / subject.path, source / subject.path] if not subject.own else [source / subject.path]
            temporary = Path(scratch, "tmp")  # some programs use fixed names there
            temporary.mkdir()
            settled = {"CI": "1", "PYTHONHASHSEED": "0", "PYTHONPATH": os.pathsep.join(map(str, path))}
            settled["TMPDIR"] = str(temporary)
            others = {key: value for key, value in os.environ.items() if not key.startswith("PYTEST")}
            unfinished = trace.with_suffix(".part.jsonl")
            done = subprocess.run(
                [str(self.python), "-m", "lawful", "record", "-o", str(unfinished), *subject.scope, *command],
                cwd=project,
                env=others | settled,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                timeout=LIMIT,
                check=False,
            )
            trace.with_suffix(".log").write_bytes(done.stdout)
            unfinished.rename(trace)
        return trace

    def teach(self, subject: Subject, traces: Sequence[Path], name: str = "") -> Path:
        """A store with what some runs have taught, one after the other."""
        store = self.traces / f"{subject.name}{name}.db"
        store.unlink(missing_ok=True)
        for trace in traces:
            self._learn(trace, {"teach": str(store), "folder": str(self.unpacked(subject))})
        return store

    def merge(self, name: str, stores: Sequence[Path]) -> Path:
        merged = self.traces / f"{name}.others.db"
        merged.unlink(missing_ok=True)
        self._lawful("learn", "merge", str(merged), *map(str, stores))
        return merged

    def _lawful(self, *arguments: str) -> None:
        done = subprocess.run([str(self.python), "-m", "lawful", *arguments], stdout=subprocess.DEVNULL, timeout=LIMIT)
        if done.returncode not in (0, 1):
            raise RuntimeError(f"lawful {' '.join(arguments[:3])} ended with {done.returncode}")

    def learn(
        self, subject: Subject, trace: Path, stores: Stores, joins: str, fault: Fault | None = None
    ) -> dict[str, dict[str, Any]]:
        """What the learner says about a trace, by column."""
        source = self.unpacked(subject)
        told: dict[str, Any] = {"joins": joins, "folder": str(source)}
        told["stores"] = {name: str(store) if store else None for name, store in stores.items()}
        if fault is None:
            return self._learn(trace, told)
        with tempfile.TemporaryDirectory(prefix="lawful-bench-") as changed:
            file = Path(changed, fault.file)
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(fault.apply((source / fault.file).read_text(encoding="utf-8")), encoding="utf-8")
            return self._learn(trace, told | {"changed": changed})

    def _learn(self, trace: Path, told: dict[str, Any]) -> dict[str, dict[str, Any]]:
        command = [str(self.python), str(LEARN), str(trace), json.dumps(told)]
        done = subprocess.run(command, stdout=subprocess.PIPE, timeout=2 * LIMIT, check=False)
        if done.returncode:
            raise RuntimeError(f"learning from {trace.name} ended with {done.returncode}")
        answers: dict[str, dict[str, Any]] = json.loads(done.stdout)
        return answers


def copy(source: Path, target: Path) -> None:
    """A file or a folder, without what was compiled."""
    if source.is_dir():
        shutil.copytree(source, target, dirs_exist_ok=True, ignore=shutil.ignore_patterns("__pycache__"))
    else:
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(source, target)


def unpack(archive: Path, folder: Path) -> None:
    if archive.suffix == ".zip":
        with zipfile.ZipFile(archive) as parts:
            parts.extractall(folder)
    else:
        with tarfile.open(archive) as parts:
            parts.extractall(folder, filter="data")


# -- the protocols -----------------------------------------------------------------------------------------------------

NOT_CALLS = {"func_post", "func_raise", "gone", "yield", "resume", "iter_next", "field_read"}


ObjectHistory = set[tuple[str, str]]  # names of events, and their places


def object_histories(trace: Path) -> list[ObjectHistory]:
    """What happened to each object, in its whole life."""
    found: dict[int, ObjectHistory] = {}
    with open(trace, encoding="utf-8") as lines:
        for line in lines:
            event = json.loads(line)
            if "targetId" in event and event["event"] not in NOT_CALLS:
                place = f"{event.get('file')}:{event.get('line')}"
                found.setdefault(event["targetId"], set()).add((event.get("name", event["event"]), place))
    return list(found.values())


def names_of(history: ObjectHistory) -> set[str]:
    return {name for name, _ in history}


def kept(fault: Fault, objects: Iterable[ObjectHistory]) -> tuple[int, int]:
    """How many objects keep the protocol, of how many that it is about."""
    about = [names for names in map(names_of, objects) if matches(names, fault.uses)]
    return sum(matches(names, fault.keeps) for names in about), len(about)


def matches(names: Iterable[str], patterns: Iterable[str]) -> bool:
    return any(fnmatchcase(name, pattern) for name in names for pattern in patterns)


# -- judging -----------------------------------------------------------------------------------------------------------


@dataclass
class Told:
    """How a fault is told, in one column."""

    rank: int | None
    message: str
    said: int  # anomalies within the budget
    near: int | None = None  # rank of one at its place with another rule, that breaks a rule with the call besides
    worth: int = 0  # of what is said: it tells of the fault, or is worth a look in the program without it, too


@dataclass
class Result:
    """What became of one fault."""

    fault: Fault
    events: int
    told: dict[str, Told]  # by column
    held_out: bool
    keep: int = 0  # objects that keep the protocol in the program without the fault,
    uses: int = 0  # of so many
    cause: str = ""  # for which it is not found, alone

    @property
    def rank(self) -> int | None:
        return self.told["alone"].rank

    @property
    def near(self) -> int | None:
        return self.told["alone"].near

    @property
    def kept(self) -> bool:
        """The program without the fault keeps the protocol."""
        return self.keep >= LEAST_USES and self.keep >= LEAST_KEPT * self.uses


def tells_of(anomaly: dict[str, Any], fault: Fault, where: Iterable[Region], rules: Iterable[dict[str, Any]]) -> bool:
    """One of the rules has the call that is missing or out of place, and the place is that of the fault."""
    if not any(matches((rule["a"], rule["b"], *rule.get("alternatives", ())), fault.events) for rule in rules):
        return False
    sites = [*anomaly["sites"], *(f"{event['file']}:{event['line']}" for event in anomaly["events"])]
    return any(region.has(site) for site in sites for region in where)


def same(one: dict[str, Any], other: dict[str, Any]) -> bool:
    """Two anomalies of the same rule."""
    return all(one["rule"][key] == other["rule"][key] for key in ("a", "b", "pattern"))


def judge(
    fault: Fault,
    subject: Subject,
    source: Path,
    plain: dict[str, Any],
    faulty: dict[str, Any],
    verdicts: Sequence[Verdict],
) -> Told:
    """At which rank the fault is told. What is said there of the program as it is does not count."""
    before, after = around(fault, source)
    changed = {fault.file: fault.apply((source / fault.file).read_text(encoding="utf-8"))}
    known = [each for each in plain["anomalies"][:BUDGET] if tells_of(each, fault, before, [each["rule"]])]
    said = faulty["anomalies"][:BUDGET]
    result = Told(None, "", len(said))
    for rank, anomaly in enumerate(said, 1):
        verdict = verdict_on(subject, anomaly, source, verdicts, changed)
        old = any(same(anomaly, each) for each in known)
        seeded = not old and tells_of(anomaly, fault, after, [anomaly["rule"]])
        result.worth += seeded or (verdict is not None and VERDICTS[verdict.verdict])
        if old:
            continue
        if result.rank is None and seeded:
            result.rank, result.message = rank, anomaly["message"]
        if result.near is None and tells_of(anomaly, fault, after, anomaly.get("others", [])):
            result.near = rank
    return result


def around(fault: Fault, source: Path) -> tuple[list[Region], list[Region]]:
    """Where the fault may show: lines of the program without it, and with it."""
    files = {file: (source / file).read_text(encoding="utf-8") for file in {fault.file, *places(fault)}}
    original = files[fault.file]
    return regions(fault, original, files), regions(fault, original, files | {fault.file: fault.apply(original)})


CAUSES = {
    "unseen": "the call is not seen at that place, or not as one of a single object",
    "life": "the object has the call at another time of its long life",
    "few": f"fewer than {LEAST_USES} objects keep the protocol",
    "unkept": f"fewer than {LEAST_KEPT:.0%} of the objects keep it",
    "beside": "it is told besides, in an anomaly about other calls of the object",
    "weak": "a rule is broken, but others are as often: its score is below the bar, or it is not enforced",
}


def cause(
    fault: Fault, source: Path, plain: Sequence[ObjectHistory], faulty: Sequence[ObjectHistory], result: Result
) -> str:
    """Why the fault is not found without a store: by the traces alone, with no regard to the learner's inner life."""
    before, after = around(fault, source)

    def there(life: ObjectHistory, where: Sequence[Region]) -> set[str]:
        return {name for name, site in life if any(region.has(site) for region in where)}

    if not any(matches(there(life, before), fault.events) for life in plain):
        return "unseen"
    touched = [names_of(life) for life in faulty if there(life, after)]
    about = [names for names in touched if matches(names, fault.uses)]
    if about and all(matches(names, fault.keeps) for names in about):
        return "life"
    if result.keep < LEAST_USES:
        return "few"
    if not result.kept:
        return "unkept"
    return "beside" if result.near else "weak"


def places(fault: Fault) -> list[str]:
    return [each.partition("::")[0] for each in fault.also]


def place(anomaly: dict[str, Any], source: Path, changed: Mapping[str, str]) -> str:
    """The function that an anomaly is in, since lines move from version to version. Some files may be changed."""
    file, _, line = str(anomaly["sites"][0] if anomaly["sites"] else "?").rpartition(":")
    if not line.isdigit() or not (source / file).is_file():
        return file or line
    name = enclosing(changed.get(file) or (source / file).read_text(encoding="utf-8"), int(line))
    return f"{file}::{name}" if name else file


def verdict_on(
    subject: Subject,
    anomaly: dict[str, Any],
    source: Path,
    verdicts: Iterable[Verdict],
    changed: Mapping[str, str] = MappingProxyType({}),
) -> Verdict | None:
    rule, site = anomaly["rule"], place(anomaly, source, changed)
    for each in verdicts:
        if (each.subject, each.site) == (subject.name, site) and {each.a, each.b} == {rule["a"], rule["b"]}:
            return each
    return None


# -- the report --------------------------------------------------------------------------------------------------------


def report(
    environment: Environment,
    subjects: Sequence[Subject],
    results: Sequence[Result],
    plain: dict[str, dict[str, dict[str, Any]]],
    verdicts: Sequence[Verdict],
) -> Iterator[str]:
    yield f"CPython {platform.python_version()}, {platform.machine()}; a budget of {BUDGET} anomalies."
    for kind, use in SETS.items():
        mine = [each for each in results if each.fault.set == kind]
        if mine:
            names = {each.fault.subject for each in mine}
            yield f"\n## {kind} ({use})\n"
            yield from faults_found(mine)
            for column, title in COLUMNS.items():
                yield f"\nSaid about the programs as they are, {title}; judged by hand:\n"
                some = [each for each in subjects if each.name in names]
                yield from alarms(environment, some, {name: each[column] for name, each in plain.items()}, verdicts)
    yield "\n## all\n"
    yield from shares_of(results)
    yield from worth_looking_at(environment, subjects, results, plain, verdicts)


def faults_found(results: Sequence[Result]) -> Iterator[str]:
    head = ["fault", "kind", "events", "kept", *(f"rank {title}" for title in COLUMNS.values()), "cause, if not alone"]
    rows = []
    for each in results:
        row = [f"{each.fault.name}{' (held out)' if each.held_out else ''}", each.fault.kind, f"{each.events:,}"]
        row.append(f"{each.keep:,} of {each.uses:,}")
        row += [f"{told.rank or '-'} of {told.said}" for told in each.told.values()]
        rows.append([*row, each.cause])
    yield from table(head, rows)
    yield ""
    yield from shares_of(results)
    yield from shares(results)
    by_kind = Counter(each.fault.kind for each in results)
    told = Counter(each.fault.kind for each in results if each.rank)
    yield "By kind: " + ", ".join(f"{kind} {told[kind]} of {number}" for kind, number in sorted(by_kind.items())) + "."
    causes = Counter(each.cause for each in results if each.cause)
    for name, number in causes.most_common():
        yield f"- {number} are missed: {CAUSES[name]} ({name})."


def shares_of(results: Sequence[Result]) -> Iterator[str]:
    """How many are found, by column, among those that were looked at and those that were not."""
    parts = {
        "all": results,
        "looked at": [each for each in results if not each.held_out],
        "held out": [each for each in results if each.held_out],
    }
    rows = []
    for column, title in COLUMNS.items():
        row = [title]
        for some in parts.values():
            ranks = [each.told[column].rank for each in some if each.told[column].rank]
            row.append(f"{len(ranks)} of {len(some)} ({len(ranks) / len(some):.0%})" if some else "-")
        first = sum(1 for each in results if each.told[column].rank == 1)
        good = sum(1 for each in results if each.told[column].rank)
        row += [str(first), met(good / len(results), FOUND_TARGET) if results else "-"]
        rows.append(row)
    yield from table(["learned", *parts, "as the first", f"target {FOUND_TARGET:.0%}"], rows)
    yield ""


def alarms(
    environment: Environment,
    subjects: Sequence[Subject],
    plain: dict[str, dict[str, Any]],
    verdicts: Sequence[Verdict],
) -> Iterator[str]:
    """What is said about the programs without faults, and what a person thinks of it."""
    marks: Counter[str] = Counter()
    rows = []
    for subject in subjects:
        mine: Counter[str] = Counter()
        for anomaly in plain[subject.name]["anomalies"][:BUDGET]:
            found = verdict_on(subject, anomaly, environment.unpacked(subject), verdicts)
            mine[found.verdict if found else "not judged"] += 1
        marks += mine
        rows.append(
            [subject.name, f"{plain[subject.name]['events']:,}", *(str(mine[key]) for key in (*VERDICTS, "not judged"))]
        )
    yield from table(["program", "events", *VERDICTS, "not judged"], rows)
    judged = sum(marks[key] for key in VERDICTS)
    if judged:
        worth = sum(marks[key] for key, good in VERDICTS.items() if good) / judged
        yield ""
        yield f"Worth looking at: {worth:.0%} of {judged}; target {WORTH_TARGET:.0%}: {met(worth, WORTH_TARGET)}."


def worth_looking_at(
    environment: Environment,
    subjects: Sequence[Subject],
    results: Sequence[Result],
    plain: dict[str, dict[str, dict[str, Any]]],
    verdicts: Sequence[Verdict],
) -> Iterator[str]:
    """Two shares: of what is said about programs without faults; and of all that is said, with faults and without.

    In the second one an anomaly that tells of the fault is worth a look. What nobody has judged is not.
    """
    rows = []
    for column, title in COLUMNS.items():
        said = good = 0
        for subject in subjects:
            source = environment.unpacked(subject)
            for anomaly in plain[subject.name][column]["anomalies"][:BUDGET]:
                found = verdict_on(subject, anomaly, source, verdicts)
                said += 1
                good += found is not None and VERDICTS[found.verdict]
        more = sum(each.told[column].said for each in results)
        told = sum(each.told[column].worth for each in results)
        rows.append([title, share_of(good, said), share_of(told, more), share_of(good + told, said + more)])
    head = ["worth a look, not judged: not", "without faults", "with faults", f"together, target {WORTH_TARGET:.0%}"]
    yield from table(head, rows)
    yield ""


def share_of(some: int, number: int) -> str:
    return f"{some} of {number} ({some / number:.0%})" if number else "-"


def shares(results: Sequence[Result]) -> Iterator[str]:
    """The share of all faults is the result; that of faults against a kept protocol tells what could be learned."""
    if not results:
        return
    ranks = [each.rank for each in results if each.rank]
    share = len(ranks) / len(results)
    end = f"target {FOUND_TARGET:.0%}: {met(share, FOUND_TARGET)}"
    yield f"Found: {len(ranks)} of {len(results)} ({share:.0%}); {end}."
    if ranks:
        yield f"Ranks: median {statistics.median(ranks):g}, first in {ranks.count(1)} of {len(ranks)}."
    beside = sum(1 for each in results if each.near and not each.rank)
    yield f"Only besides, in an anomaly at the place that is about other calls: {beside}."
    clear = [each for each in results if each.kept]
    told = sum(1 for each in clear if each.rank)
    bar = f"at least {LEAST_USES} uses, {LEAST_KEPT:.0%} of them right"
    yield f"Of the {len(clear)} faults against a protocol that the program keeps ({bar}): {told} found."


def met(value: float, target: float) -> str:
    return "ok" if value >= target else "MISSED"


def unjudged(
    environment: Environment, subject: Subject, plain: dict[str, Any], verdicts: Sequence[Verdict]
) -> Iterator[str]:
    """Rows for the table of verdicts, to be filled in by hand."""
    source = environment.unpacked(subject)
    for anomaly in plain["anomalies"][:BUDGET]:
        if verdict_on(subject, anomaly, source, verdicts) is None:
            yield f"# {anomaly['message']}\n# {' '.join(anomaly['sites'])}"
            yield f"[[verdict]]\nsubject = {json.dumps(subject.name)}"
            yield f"a = {json.dumps(anomaly['rule']['a'])}\nb = {json.dumps(anomaly['rule']['b'])}"
            yield f'site = {json.dumps(place(anomaly, source, {}))}\nverdict = ""\nwhy = ""\n'


# -- the run -----------------------------------------------------------------------------------------------------------


def studied(
    environment: Environment,
    subjects: Sequence[Subject],
    faults: Sequence[Fault],
    verdicts: Sequence[Verdict],
    options: argparse.Namespace,
) -> tuple[list[Result], dict[str, dict[str, dict[str, Any]]]]:
    """What becomes of each fault; and what is said about the programs without one, by column."""
    named = {each.name: each for each in subjects}
    order: dict[str, list[str]] = {}
    for each in read(Fault, TABLES / "faults.toml"):
        order.setdefault(each.set, []).append(each.name)
    again, joins = not options.keep, options.join or ""
    every = [each for each in read(Subject, TABLES / "subjects.toml") if each.here] if options.all_teach else subjects
    environment.ready(every)

    def taught(subject: Subject) -> Path:
        return environment.teach(subject, [environment.record(subject, None, again)])

    def taught_again(subject: Subject) -> Path:
        runs = [environment.record(subject, None, again and bool(suffix), suffix=suffix) for suffix in EARLIER]
        return environment.teach(subject, runs, ".later")

    def as_it_is(subject: Subject) -> dict[str, dict[str, Any]]:
        trace = environment.traces / f"{subject.name}.jsonl"
        answers = environment.learn(subject, trace, asked_for({"alone": None, "others": others[subject.name]}), joins)
        # Its own store has this very run: what is said of another one counts.
        last = environment.record(subject, None, again, suffix=".again")
        known: Stores = {"own": stores[subject.name], "later": later[subject.name]}
        answers |= environment.learn(subject, last, asked_for(known), joins)
        progress(f"{subject.name}: {' + '.join(str(len(each['anomalies'])) for each in answers.values())} anomalies")
        return {column: answers[column] for column in COLUMNS}

    def with_fault(fault: Fault) -> dict[str, dict[str, Any]]:
        subject = named[fault.subject]
        trace = environment.record(subject, fault, again)
        known: Stores = {"alone": None, "others": others[subject.name]}
        known |= {"own": stores[subject.name], "later": later[subject.name]}
        answers = environment.learn(subject, trace, asked_for(known), joins, fault)
        progress(f"{fault.name}: {' + '.join(str(len(each['anomalies'])) for each in answers.values())} anomalies")
        return answers

    with ThreadPoolExecutor(options.jobs) as pool:
        stores = dict(zip((each.name for each in every), pool.map(taught, every), strict=True))
        later = dict(zip(named, pool.map(taught_again, subjects), strict=True))
        strangers = {
            each.name: [stores[other.name] for other in every if not related(each, other)] for each in subjects
        }
        asked = "others" in COLUMNS
        merged = pool.map(lambda item: environment.merge(*item) if item[1] and asked else None, strangers.items())
        others = dict(zip(strangers, merged, strict=True))
        plain = dict(zip(named, pool.map(as_it_is, subjects), strict=True))
        faulty = list(zip(faults, pool.map(with_fault, faults), strict=True))
    traced = {each.name: object_histories(environment.traces / f"{each.name}.jsonl") for each in subjects}
    results = []
    for fault, answers in faulty:
        source = environment.unpacked(named[fault.subject])
        subject = named[fault.subject]
        told = {
            each: judge(fault, subject, source, plain[fault.subject][each], answers[each], verdicts) for each in COLUMNS
        }
        held_out = fault.set == "programs" and order[fault.set].index(fault.name) % 2 == 1
        result = Result(fault, answers["alone"]["events"], told, held_out)
        result.keep, result.uses = kept(fault, traced[fault.subject])
        if not result.rank:
            objects = object_histories(environment.traces / f"{fault.name}.jsonl")
            result.cause = cause(fault, source, traced[fault.subject], objects, result)
        results.append(result)
    return results, plain


def asked_for(known: Stores) -> Stores:
    """The stores of the columns that are wanted."""
    return {column: store for column, store in known.items() if column in COLUMNS}


def related(one: Subject, other: Subject) -> bool:
    """Is it the same program, or a part of it? Those of the standard library are told apart by what is theirs."""
    if one.package != other.package:
        return False
    return one.package.partition("==")[0] != INTERPRETER or not {*one.own}.isdisjoint(other.own)


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", help="programs or faults; all if none is named")
    parser.add_argument("--keep", action="store_true", help="learn from the traces that were recorded before, if any")
    parser.add_argument("--check", action="store_true", help="only see whether each fault can be put in")
    parser.add_argument("--unjudged", action="store_true", help="print rows for the table of verdicts")
    parser.add_argument("--messages", action="store_true", help="print what is said, too")
    parser.add_argument("--set", choices=SETS, help="only these faults")
    parser.add_argument("--join", metavar="WORDS", help="let the learner join objects; not the figure that counts")
    parser.add_argument("--all-teach", action="store_true", help="programs that are not named teach, too")
    parser.add_argument("--without", choices=("others", "own", "later"), action="append", default=[], help="a column")
    parser.add_argument("--protocols", action="store_true", help="only count what keeps the protocols")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    options = parser.parse_args(arguments)
    subjects = read(Subject, TABLES / "subjects.toml")
    faults = read(Fault, TABLES / "faults.toml")
    verdicts = read(Verdict, TABLES / "verdicts.toml")
    for column in options.without:
        COLUMNS.pop(column, None)
    if options.set:
        faults = [each for each in faults if each.set == options.set]
    if options.names:
        faults = [each for each in faults if {each.name, each.subject} & set(options.names)]
    wanted = {*options.names, *(fault.subject for fault in faults)}
    for each in subjects:
        if each.name in wanted and not each.here:
            progress(f"{each.name}: needs {each.package}, left out")
    subjects = [each for each in subjects if each.name in wanted and each.here]
    faults = [each for each in faults if each.subject in {subject.name for subject in subjects}]
    named = {each.name: each for each in subjects}
    environment = Environment(CACHE)
    environment.ready(subjects)
    for fault in faults:
        text = (environment.unpacked(named[fault.subject]) / fault.file).read_text(encoding="utf-8")
        compile(fault.apply(text), fault.file, "exec")
    if options.check:
        print(f"{len(faults)} faults can be put in.")
        return

    if options.protocols:
        for subject in subjects:
            objects = object_histories(environment.record(subject, None, again=not options.keep))
            for fault in faults:
                if fault.subject == subject.name:
                    keep, uses = kept(fault, objects)
                    print(f"{fault.name}: kept by {keep} of {uses}")
        return
    results, plain = studied(environment, subjects, faults, verdicts, options)
    for line in report(environment, subjects, results, plain, verdicts):
        print(line)
    if options.messages:
        print()
        for result in results:
            for column, told in result.told.items():
                print(f"{result.fault.name}, {COLUMNS[column]}: {told.message or 'not found'}")
    if options.unjudged:
        for subject in subjects:
            for column in COLUMNS:
                for line in unjudged(environment, subject, plain[subject.name][column], verdicts):
                    print(line)


if __name__ == "__main__":
    main()
