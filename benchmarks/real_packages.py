"""The test suites of real packages, plain and watched: does a test end differently, what does watching cost, and what
does it find?

Each suite runs plain before and after it is watched, so that tests which are not steady by themselves are known. CPU
time is that of the whole test process with its children. What is found is listed, each finding beside the verdict that
someone who read the source has given it in `findings.md`.
"""

from __future__ import annotations

import argparse
import functools
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
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from tables import progress, table

ROOT = Path(__file__).resolve().parent.parent
CACHE = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "lawful" / "real-packages"
VERDICTS = Path(__file__).resolve().with_name("findings.md")
SUITE_LIMIT = 1800  # seconds
PYTEST = "pytest==9.2.0"


@dataclass(frozen=True)
class Package:
    """A source distribution with tests. `modules` is what it consists of, to be watched."""

    name: str
    version: str
    modules: tuple[str, ...]
    needs: tuple[str, ...] = ()  # for its tests
    options: tuple[str, ...] = ()  # of pytest


PACKAGES = [
    # Files, text, containers.
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
    # Threads, processes, watching.
    Package("schedule", "1.2.2", ("schedule",), ("pytz",)),
    Package("watchdog", "7.1.0", ("watchdog",), ("flaky", "pytest-timeout", "pytest-cov", "eventlet")),
    # Databases.
    Package("sqlitedict", "2.1.0", ("sqlitedict",)),
    Package("huey", "3.5.4", ("huey",)),
    Package("zict", "3.0.0", ("zict",), ("pytest-timeout", "pytest-asyncio", "pytest-repeat")),
    # Asynchronous.
    Package("aiofiles", "25.1.0", ("aiofiles",), ("pytest-asyncio",)),
    Package("aiosqlite", "0.22.1", ("aiosqlite",), options=("aiosqlite/tests/smoke.py",)),
    Package(
        "janus",
        "2.0.0",
        ("janus",),
        ("pytest-asyncio", "pytest-benchmark", "pytest-cov"),
        ("--no-cov", "--benchmark-disable"),
    ),
    Package("tenacity", "9.2.1", ("tenacity",), ("tornado", "typeguard")),
    # The network.
    Package("h11", "0.16.0", ("h11",)),
    Package(
        "werkzeug",
        "3.1.9",
        ("werkzeug",),
        ("cffi", "cryptography", "ephemeral-port-reserve", "pytest-timeout", "watchdog"),
        ("-m", "not dev_server"),
    ),
    Package("waitress", "3.0.2", ("waitress",), ("pytest-cov",), ("--no-cov",)),
    Package("websocket-client", "1.9.2", ("websocket",)),
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
    laws: str = ""

    def options(self, package: Package) -> list[str]:
        options = []
        if self.public:
            options += [f"--lawful-public={module}" for module in package.modules]
        if self.calls:
            options.append("--lawful-calls=stdlib")
        if self.laws:
            options.append(f"--lawful-law={self.laws}")
        return ["--lawful", "--lawful-no-learn", *options] if options else []


PLAIN = Mode("plain", "plain")
MODES = [
    Mode("public", "callee side", public=True),
    Mode("calls", "caller side", calls=True),
    Mode("both", "both", public=True, calls=True),
    Mode("laws", "laws", laws="std"),
    Mode("strict", "strict laws", laws="strict"),
]
DEFAULT = "laws"


@dataclass
class Run:
    """One run of a suite."""

    outcomes: dict[str, list[str]]
    cpu: float
    code: int
    events: int | None
    findings: list[dict[str, Any]] | None
    output: str

    @property
    def fault(self) -> str:
        """What ended the watching before the suite ended, if anything did."""
        found = re.search(r"watching was cut short: (.*)", self.output)
        return found[1] if found else ""


class Environment:
    """A virtual environment with packages, their tests' needs, and Lawful as a user would install it."""

    def __init__(self, cache: Path, name: str = "venv") -> None:
        self.folder = cache / f"python-{platform.python_version()}"
        self.home = self.folder / name
        self.python = self.home / "bin" / "python"

    def prepare(self, packages: Iterable[Package], wheel: Path | None = None) -> None:
        if not self.python.exists():
            progress("making a virtual environment")
            subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(self.home)], check=True)
            self.pip("install", PYTEST)
        for package in packages:
            mark = self.home / f"{'+'.join((package.name, package.version, *package.needs))}.installed"
            if not mark.exists():
                progress(f"installing {package.name}")
                # In place: what is tested is then the code of the project that the tests belong to.
                self.pip("install", PYTEST, *package.needs, "-e", str(self.source(package)))
                mark.touch()
        self.install_lawful(wheel or lawful_wheel(self))

    def pip(self, *arguments: str) -> None:
        command = [sys.executable, "-m", "pip", "--python", str(self.python), "-qq", "--disable-pip-version-check"]
        command += arguments
        subprocess.run(command, check=True, stdout=sys.stderr)

    def warm_up(self, package: Package, options: list[str]) -> None:
        """Have bytecode written, so that the first run is like the others."""
        command = [str(self.python), "-m", "pytest", "-q", "-p", "no:cacheprovider", "--collect-only"]
        command += [*package.options, *options]
        with tempfile.TemporaryFile() as sink:
            subprocess.run(
                command,
                cwd=self.source(package),
                env=surroundings(),
                stdin=subprocess.DEVNULL,
                stdout=sink,
                stderr=subprocess.STDOUT,
                timeout=SUITE_LIMIT,
            )

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

    def install_lawful(self, wheel: Path) -> None:
        """Anew when it has changed."""
        mark = self.home / "lawful.installed"
        digest = hashlib.sha256(wheel.read_bytes()).hexdigest()
        if mark.exists() and mark.read_text() == digest:
            return
        progress("installing Lawful")
        self.pip("install", str(wheel))
        self.pip("install", "--force-reinstall", "--no-deps", str(wheel))
        mark.write_text(digest)

    def run(self, package: Package, options: list[str]) -> Run:
        with tempfile.TemporaryDirectory(prefix="lawful-bench-") as scratch:
            result = Path(scratch, "result.xml")
            command = [str(self.python), "-m", "pytest", "-q", "-p", "no:cacheprovider", f"--junitxml={result}"]
            command += [f"--basetemp={Path(scratch, 'tests')}", f"--rootdir={self.source(package)}"]
            command += [*package.options, *options]
            report = Path(scratch, "report.json")
            if options:
                command.append(f"--lawful-output={report}")
            output = Path(scratch, "output")
            with open(output, "wb") as sink:
                child = subprocess.Popen(
                    ["timeout", str(SUITE_LIMIT), *command],
                    cwd=self.source(package),
                    env=surroundings(),
                    stdin=subprocess.DEVNULL,
                    stdout=sink,
                    stderr=subprocess.STDOUT,
                )
                _, status, usage = os.wait4(child.pid, 0)
                child.returncode = os.waitstatus_to_exitcode(status)
            text = output.read_text(encoding="utf-8", errors="replace")
            told = json.loads(report.read_text(encoding="utf-8")) if report.exists() else {}
            return Run(
                outcomes(result),
                usage.ru_utime + usage.ru_stime,
                child.returncode,
                told.get("events"),
                told.get("findings"),
                text,
            )


def surroundings() -> dict[str, str]:
    """The environment variables of a suite. Hypothesis takes the same examples and no deadline if CI is set."""
    settings = {"CI": "1", "PYTHONHASHSEED": "0", "COLUMNS": "200"}
    others = {key: value for key, value in os.environ.items() if not key.startswith(("PYTEST", "PYTHON"))}
    return others | settings


@functools.cache
def lawful_state() -> tuple[str, tuple[Path, ...]]:
    """Lawful's source as it is now: a digest, and its files."""
    state = hashlib.sha256()
    files = [ROOT / name for name in ("pyproject.toml", "setup.py", "README.md", "LICENSE")]
    for path in sorted((ROOT / "src").rglob("*")):
        if path.is_file() and path.suffix not in (".pyc", ".so") and ".egg-info" not in str(path):
            files.append(path)
    for path in files:
        state.update(path.read_bytes())
    return state.hexdigest(), tuple(files)


def lawful_wheel(environment: Environment) -> Path:
    """Lawful, built from a copy, so that nothing is built in the project itself, and once for all environments."""
    digest, files = lawful_state()
    folder = environment.folder / "lawful" / digest
    if not folder.exists():
        progress("building Lawful")
        with tempfile.TemporaryDirectory(prefix="lawful-bench-") as scratch:
            copy, wheels = Path(scratch, "copy"), Path(scratch, "wheels")
            for path in files:
                target = copy / path.relative_to(ROOT)
                target.parent.mkdir(parents=True, exist_ok=True)
                shutil.copy(path, target)
            environment.pip("wheel", "--no-deps", "-w", str(wheels), str(copy))
            shutil.rmtree(folder.parent, ignore_errors=True)
            folder.parent.mkdir(parents=True)
            shutil.move(wheels, folder)
    return next(folder.glob("*.whl"))


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


def restored(package: Package, saved: dict[str, Any]) -> Result:
    """A result that was written as JSON."""
    watched = {key: [Run(**run) for run in runs] for key, runs in saved["watched"].items()}
    return Result(package, [Run(**run) for run in saved["plain"]], watched)


def says(ends: list[str] | None) -> str:
    return ", ".join(ends) if ends else "absent"


def measure(environment: Environment, package: Package, modes: list[Mode], repetitions: int, logs: Path) -> Result:
    result = Result(package, watched={mode.key: [] for mode in modes})
    logs.mkdir(parents=True, exist_ok=True)

    def once(mode: Mode) -> Run:
        progress(f"{package.name}: {mode.title}")
        run = environment.run(package, mode.options(package))
        (logs / f"{package.name}-{mode.key}.txt").write_text(run.output, encoding="utf-8")
        return run

    environment.warm_up(package, [])
    for mode in modes:
        environment.warm_up(package, mode.options(package))
    result.plain.append(once(PLAIN))
    for _ in range(repetitions):
        for mode in modes:
            result.watched[mode.key].append(once(mode))
        result.plain.append(once(PLAIN))
    for mode in modes:
        progress(f"{package.name}: {mode.title}: {result.ratio(mode):.2f} x, {len(result.different(mode))} different")
    return result


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
            "-" if last.findings is None else f"{len(last.findings):,}",
        ]
    return row


# -- the findings ------------------------------------------------------------------------------------------------------

KINDS = ("true", "debatable", "false")
Finding = tuple[str, str, str]  # package, law, place


def verdicts(text: str) -> dict[Finding, str]:
    """What the rows `| package | law | place | verdict | reason |` of a Markdown file say about findings."""
    known = {}
    for line in text.splitlines():
        package, law, place, verdict, *_ = [*(cell.strip(" `") for cell in line.strip("| ").split("|")), *[""] * 4]
        if verdict in KINDS:
            known[package, law, place] = verdict
    return known


def found(results: list[Result], modes: list[Mode], known: dict[Finding, str]) -> Iterator[str]:
    """Every finding once with its verdict, and how many there are of each."""
    rows: dict[Finding, str] = {}
    for result in results:
        for mode in modes:
            for run in result.watched[mode.key] if mode.laws else []:
                for each in run.findings or []:
                    key = (result.package.name, each["law"], f"{each['file']}:{each['line']}")
                    rows[key] = known.get(key, "not looked at")
    yield from ["", *table(["package", "law", "place", "verdict"], [[*key, rows[key]] for key in sorted(rows)])]
    counts = Counter(rows.values())
    yield f"{len(rows)} findings: {', '.join(f'{count} {verdict}' for verdict, count in counts.most_common())}."


# -- the command -------------------------------------------------------------------------------------------------------


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="Run the test suites of real packages plain and watched.")
    names, keys = [package.name for package in PACKAGES], [mode.key for mode in MODES]
    parser.add_argument("--package", action="append", choices=names, help="this one only (repeatable)")
    parser.add_argument(
        "--mode", action="append", choices=[*keys, "plain"], help=f"how to watch (repeatable; default: {DEFAULT})"
    )
    parser.add_argument("--repetitions", type=int, default=1, help="of every watched run (default: 1)")
    parser.add_argument("--quick", action="store_true", help=f"{' and '.join(QUICK)} only: to see that it runs")
    parser.add_argument("--saved", action="store_true", help="run nothing: tables of what each package's last run left")
    parser.add_argument("--wheel", type=Path, help="this build of Lawful, not one of the source as it is now")
    parser.add_argument("--cache", type=Path, default=CACHE, help="where sources and environments are kept")
    options = parser.parse_args()
    options.packages = [
        each for each in PACKAGES if each.name in (options.package or (QUICK if options.quick else names))
    ]
    options.modes = [each for each in MODES if each.key in (options.mode or [DEFAULT])]
    options.cache = options.cache.resolve()
    return options


def main() -> int:
    options = arguments()
    options.cache.mkdir(parents=True, exist_ok=True)
    # A package without settings of its own would be run by those of the project that the cache lies in.
    (options.cache / "pytest.ini").write_text("[pytest]\n")
    logs = options.cache / f"python-{platform.python_version()}" / "output"
    results = []
    for package in options.packages:
        saved = logs / f"{package.name}.json"
        if not options.saved:
            environment = Environment(options.cache, f"venvs/{package.name}")
            environment.prepare([package], options.wheel)
            result = measure(environment, package, options.modes, options.repetitions, logs)
            saved.write_text(json.dumps(asdict(result)), encoding="utf-8")
        elif saved.exists():
            result = restored(package, json.loads(saved.read_text(encoding="utf-8")))
        else:
            continue
        results.append(result)
    modes = [mode for mode in options.modes if all(result.watched.get(mode.key) for result in results)]
    print("\n".join(report(results, modes)))
    if any(mode.laws for mode in modes):
        print("\n".join(found(results, modes, verdicts(VERDICTS.read_text(encoding="utf-8")))))
    print(f"What pytest printed: {logs}")
    wrong = any(result.different(mode) or result.faults(mode) for result in results for mode in modes)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
