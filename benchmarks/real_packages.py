"""The test suites of real packages, plain and watched: does a test end differently, and what does watching cost?

Each suite runs plain before and after it is watched, so that tests which are not steady by themselves are known. CPU
time is that of the whole test process with its children.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import platform
import re
import shutil
import statistics
import subprocess
import sys
import tarfile
import tempfile
import xml.etree.ElementTree as ElementTree
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
CACHE = ROOT / ".cache" / "real-packages"
SUITE_LIMIT = 1800  # seconds


@dataclass(frozen=True)
class Package:
    """A source distribution with tests. `modules` is what it consists of, to be watched."""

    name: str
    version: str
    modules: tuple[str, ...]
    needs: tuple[str, ...] = ()  # for its tests
    options: tuple[str, ...] = ()  # of pytest


PACKAGES = [
    Package("tinydb", "4.9.0", ("tinydb",), ("pyyaml",)),
    Package("toolz", "1.0.0", ("toolz", "tlz")),
    Package("boltons", "26.2.0", ("boltons",)),
    Package("jsonpatch", "1.46", ("jsonpatch",), ("jsonpointer", "hypothesis", "simplejson"), ("tests.py",)),
    # Its source distribution has no tests but the examples in its documentation.
    Package("sortedcontainers", "2.4.0", ("sortedcontainers",), options=("--doctest-modules", "sortedcontainers")),
    Package("click", "8.5.1", ("click",)),
    Package("attrs", "26.1.0", ("attr", "attrs"), ("hypothesis", "cloudpickle", "pympler")),
    Package("sqlparse", "0.6.1", ("sqlparse",)),
    Package("cachetools", "8.0.0", ("cachetools",)),
    Package("tomlkit", "0.15.2", ("tomlkit",), ("pyyaml",)),
    Package("itsdangerous", "2.2.0", ("itsdangerous",), ("freezegun",)),
    Package("simpleeval", "1.0.8", ("simpleeval",)),
]
QUICK = ("toolz", "cachetools")

# -- what is run -------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Mode:
    """How a suite is watched. Titles are heads of Markdown tables."""

    key: str
    title: str
    public: bool = False
    calls: bool = False
    laws: bool = False

    def options(self, package: Package, laws: Iterable[str]) -> list[str]:
        options = []
        if self.public:
            options += [f"--lawful-public={module}" for module in package.modules]
        if self.calls:
            options.append("--lawful-calls=stdlib")
        if self.laws:
            options += [f"--lawful-law={law}" for law in laws]
        return ["--lawful", "--lawful-no-learn", *options] if options else []


PLAIN = Mode("plain", "plain")
MODES = [
    Mode("public", "callee side", public=True),
    Mode("calls", "caller side", calls=True),
    Mode("both", "both", public=True, calls=True),
    Mode("laws", "laws", laws=True),
]


@dataclass
class Run:
    """One run of a suite."""

    outcomes: dict[str, list[str]]
    cpu: float
    code: int
    events: int | None
    findings: int | None
    output: str

    @property
    def fault(self) -> str:
        """What ended the watching before the suite ended, if anything did."""
        found = re.search(r"watching was cut short: (.*)", self.output)
        return found[1] if found else ""


class Environment:
    """A virtual environment with the packages, their tests' needs, and Lawful as a user would install it."""

    def __init__(self, cache: Path) -> None:
        self.folder = cache / f"python-{platform.python_version()}"
        self.python = self.folder / "venv" / "bin" / "python"

    def prepare(self, packages: Iterable[Package]) -> None:
        if not self.python.exists():
            say("making a virtual environment")
            subprocess.run([sys.executable, "-m", "venv", str(self.python.parent.parent)], check=True)
            self.pip("install", "pytest==9.2.0")
        for package in packages:
            mark = self.folder / f"{'+'.join((package.name, package.version, *package.needs))}.installed"
            if not mark.exists():
                say(f"installing {package.name}")
                # In place: what is tested is then the code of the project that the tests belong to.
                self.pip("install", *package.needs, "-e", str(self.source(package)))
                mark.touch()
        self.install_lawful()

    def pip(self, *arguments: str) -> None:
        command = [str(self.python), "-m", "pip", "-qq", "--disable-pip-version-check", *arguments]
        subprocess.run(command, check=True, stdout=sys.stderr)

    def source(self, package: Package) -> Path:
        """The unpacked source distribution."""
        folder = self.folder / "source" / f"{package.name}-{package.version}"
        if not folder.exists():
            with tempfile.TemporaryDirectory(prefix="lawful-bench-") as scratch:
                wanted = f"{package.name}=={package.version}"
                self.pip("download", "--no-deps", "--no-binary", package.name, "-d", scratch, wanted)
                with tarfile.open(next(Path(scratch).glob("*.tar.gz"))) as archive:
                    archive.extractall(Path(scratch, "unpacked"), filter="data")
                folder.parent.mkdir(parents=True, exist_ok=True)
                shutil.move(next(Path(scratch, "unpacked").iterdir()), folder)
        return folder

    def install_lawful(self) -> None:
        """A copy, so that nothing is built in the project itself; anew when the source has changed."""
        state = hashlib.sha256()
        files = [ROOT / name for name in ("pyproject.toml", "setup.py", "README.md", "LICENSE")]
        for path in sorted((ROOT / "src").rglob("*")):
            if path.is_file() and path.suffix not in (".pyc", ".so") and ".egg-info" not in str(path):
                files.append(path)
        for path in files:
            state.update(path.read_bytes())
        mark = self.folder / "lawful.installed"
        if mark.exists() and mark.read_text() == state.hexdigest():
            return
        say("installing Lawful")
        copy = self.folder / "lawful"
        shutil.rmtree(copy, ignore_errors=True)
        for path in files:
            target = copy / path.relative_to(ROOT)
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(path, target)
        self.pip("install", str(copy))
        self.pip("install", "--force-reinstall", "--no-deps", str(copy))
        mark.write_text(state.hexdigest())

    def laws(self) -> list[str]:
        """The names of the catalogue."""
        code = "import json\nfrom lawful.laws import catalog\nprint(json.dumps(sorted(catalog.names())))"
        done = subprocess.run([str(self.python), "-c", code], check=True, stdout=subprocess.PIPE)
        names: list[str] = json.loads(done.stdout)
        return names

    def run(self, package: Package, options: list[str]) -> Run:
        with tempfile.TemporaryDirectory(prefix="lawful-bench-") as scratch:
            result = Path(scratch, "result.xml")
            command = [str(self.python), "-m", "pytest", "-q", "-p", "no:cacheprovider", f"--junitxml={result}"]
            command += [f"--basetemp={Path(scratch, 'tests')}", *package.options, *options]
            output = Path(scratch, "output")
            with open(output, "wb") as sink:
                # Hypothesis takes the same examples every time and no deadline if CI is set.
                settings = {"CI": "1", "PYTHONHASHSEED": "0", "COLUMNS": "200"}
                others = {key: value for key, value in os.environ.items() if not key.startswith("PYTEST")}
                child = subprocess.Popen(
                    ["timeout", str(SUITE_LIMIT), *command],
                    cwd=self.source(package),
                    env=others | settings,
                    stdin=subprocess.DEVNULL,
                    stdout=sink,
                    stderr=subprocess.STDOUT,
                )
                _, status, usage = os.wait4(child.pid, 0)
                child.returncode = os.waitstatus_to_exitcode(status)
            text = output.read_text(encoding="utf-8", errors="replace")
            return Run(
                outcomes(result),
                usage.ru_utime + usage.ru_stime,
                child.returncode,
                reported(r"([\d,]+) events?\b", text),
                reported(r"([\d,]+) findings?\b", text),
                text,
            )


def outcomes(path: Path) -> dict[str, list[str]]:
    """How each test ended; one that fails and whose teardown fails too ended twice."""
    ends: dict[str, list[str]] = {}
    if not path.exists():
        return ends
    for case in ElementTree.parse(path).getroot().iter("testcase"):
        name = f"{case.get('classname', '')}::{case.get('name', '')}"
        kinds = [child.tag for child in case if child.tag in ("failure", "error", "skipped")]
        ends.setdefault(name, []).append("+".join(kinds) or "passed")
    return ends


def reported(pattern: str, output: str) -> int | None:
    """A number that stands in the summary of a watched suite."""
    summary = output[output.find("lawful") :] if "lawful" in output else ""
    found = re.findall(pattern, summary)
    return int(found[-1].replace(",", "")) if found else None


# -- the run -----------------------------------------------------------------------------------------------------------


@dataclass
class Result:
    """What became of one package."""

    package: Package
    plain: list[Run] = field(default_factory=list)
    watched: dict[str, list[Run]] = field(default_factory=dict)

    @property
    def unsteady(self) -> set[str]:
        """Tests that do not always end in the same way, without being watched."""
        first, *others = (run.outcomes for run in self.plain)
        return {name for other in others for name in first.keys() | other.keys() if first.get(name) != other.get(name)}

    def different(self, mode: Mode) -> list[str]:
        """Tests that end in another way when they are watched."""
        expected = self.plain[0].outcomes
        lines = []
        for run in self.watched[mode.key]:
            for name in sorted((expected.keys() | run.outcomes.keys()) - self.unsteady):
                plain, watched = expected.get(name), run.outcomes.get(name)
                if plain != watched:
                    lines.append(f"{name}: plain {says(plain)}, {mode.title} {says(watched)}")
            if run.code != self.plain[0].code:
                lines.append(f"exit code: plain {self.plain[0].code}, {mode.title} {run.code}")
        return lines

    def faults(self, mode: Mode) -> list[str]:
        return [f"{mode.title}: {run.fault}" for run in self.watched[mode.key] if run.fault]

    def ratio(self, mode: Mode) -> float:
        plain = statistics.median(run.cpu for run in self.plain)
        return statistics.median(run.cpu for run in self.watched[mode.key]) / plain


def says(ends: list[str] | None) -> str:
    return ", ".join(ends) if ends else "absent"


def measure(environment: Environment, package: Package, modes: list[Mode], repetitions: int, logs: Path) -> Result:
    result = Result(package, watched={mode.key: [] for mode in modes})
    names = environment.laws() if any(mode.laws for mode in modes) else []
    logs.mkdir(parents=True, exist_ok=True)

    def once(mode: Mode) -> Run:
        say(f"{package.name}: {mode.title}")
        run = environment.run(package, mode.options(package, names))
        (logs / f"{package.name}-{mode.key}.txt").write_text(run.output, encoding="utf-8")
        return run

    result.plain.append(once(PLAIN))
    for _ in range(repetitions):
        for mode in modes:
            result.watched[mode.key].append(once(mode))
        result.plain.append(once(PLAIN))
    for mode in modes:
        say(f"{package.name}: {mode.title}: {result.ratio(mode):.2f} x, {len(result.different(mode))} different")
    return result


def say(text: str) -> None:
    print(f"... {text}", file=sys.stderr, flush=True)


# -- the tables --------------------------------------------------------------------------------------------------------


def report(results: list[Result], modes: list[Mode]) -> Iterator[str]:
    yield f"CPython {platform.python_version()}, {platform.machine()}, {os.cpu_count()} cores."
    yield ""
    head = ["package", "tests", "plain, CPU s"]
    for mode in modes:
        head += [f"{mode.title}: different", "x", "events", "findings"]
    yield from table(head, [cells(result, modes) for result in results])
    if results and modes:
        means = ", ".join(
            f"{mode.title} {statistics.geometric_mean(result.ratio(mode) for result in results):.2f}" for mode in modes
        )
        yield from ["", f"Geometric means of the ratios: {means}."]
    total = sum(len(result.different(mode)) for result in results for mode in modes)
    yield f"Tests with a different result: {total or 'none'}."
    for result in results:
        failing = sorted(name for name, ends in result.plain[0].outcomes.items() if {"failure", "error"} & set(ends))
        for title, names in (("fails also plain", failing), ("not steady, plain", sorted(result.unsteady))):
            for name in names:
                yield f"  {result.package.name}, {title}: {name}"
        for mode in modes:
            for line in result.different(mode):
                yield f"  {result.package.name}, DIFFERENT: {line}"
            for line in result.faults(mode):
                yield f"  {result.package.name}, CUT SHORT: {line}"


def cells(result: Result, modes: list[Mode]) -> list[str]:
    plain = result.plain[0]
    row = [
        f"{result.package.name} {result.package.version}",
        f"{sum(map(len, plain.outcomes.values())):,}",
        f"{statistics.median(run.cpu for run in result.plain):.1f}",
    ]
    for mode in modes:
        last = result.watched[mode.key][-1]
        row += [
            str(len(result.different(mode))),
            f"{result.ratio(mode):.2f}",
            "-" if last.events is None else f"{last.events:,}",
            "-" if last.findings is None else f"{last.findings:,}",
        ]
    return row


def table(head: list[str], rows: Iterable[list[str]]) -> Iterator[str]:
    lines = [head, *rows]
    widths = [max(3, *(len(line[column]) for line in lines)) for column in range(len(head))]
    lines.insert(1, ["-" * widths[0]] + ["-" * (width - 1) + ":" for width in widths[1:]])
    for line in lines:
        first, *others = (cell.rjust(width) for cell, width in zip(line, widths, strict=True))
        yield f"| {' | '.join([line[0].ljust(len(first)), *others])} |"


# -- the command -------------------------------------------------------------------------------------------------------


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="Run the test suites of real packages plain and watched.")
    names, keys = [package.name for package in PACKAGES], [mode.key for mode in MODES]
    parser.add_argument("--package", action="append", choices=names, help="this one only (repeatable)")
    parser.add_argument("--mode", action="append", choices=[*keys, "plain"], help="this one only (repeatable)")
    parser.add_argument("--repetitions", type=int, default=1, help="of every watched run (default: 1)")
    parser.add_argument("--quick", action="store_true", help=f"{' and '.join(QUICK)} only: to see that it runs")
    parser.add_argument("--cache", type=Path, default=CACHE, help="where sources and environments are kept")
    options = parser.parse_args()
    options.packages = [
        each for each in PACKAGES if each.name in (options.package or (QUICK if options.quick else names))
    ]
    options.modes = [each for each in MODES if each.key in (options.mode or keys)]
    options.cache = options.cache.resolve()
    return options


def main() -> int:
    options = arguments()
    options.cache.mkdir(parents=True, exist_ok=True)
    # A package without settings of its own would be run by those of the project that the cache lies in.
    (options.cache / "pytest.ini").write_text("[pytest]\n")
    environment = Environment(options.cache)
    environment.prepare(options.packages)
    logs = environment.folder / "output"
    results = [measure(environment, package, options.modes, options.repetitions, logs) for package in options.packages]
    print("\n".join(report(results, options.modes)))
    print(f"What pytest printed: {logs}")
    wrong = any(result.different(mode) or result.faults(mode) for result in results for mode in options.modes)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
