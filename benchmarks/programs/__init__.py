"""Six programs to watch: what each is made from, how it is run, and a law that names a few of its methods."""

from __future__ import annotations

import importlib
import json
import random
import shutil
import string
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
PYPERFORMANCE = "pyperformance==1.14.0"
Run = Callable[[int], object]  # a number of rounds


@dataclass(frozen=True)
class Hot:
    """A class of which a program makes many objects, or uses them much: what a law about its objects might name."""

    kind: str
    methods: tuple[str, ...] = ()
    fields: tuple[str, ...] = ()  # that are written

    @property
    def law(self) -> str:
        kinds = {"new": [self.kind]}
        kinds["func_pre"] = [f"{self.kind}.{method}" for method in self.methods]
        kinds["field_write"] = [f"{self.kind}.{name}" for name in self.fields]
        lines = [
            f"{kind} matches {{event: '{kind}', name: {' | '.join(map(repr, names))}, targetId: _}};"
            for kind, names in kinds.items()
            if names
        ]
        either = " \\/ ".join(kind for kind, names in kinds.items() if names)
        return "\n".join([*lines, f"Main = ({either})*;"])


@dataclass(frozen=True)
class Program:
    """Its code lies in a folder of its own, which stands for the project of somebody who watches it."""

    name: str
    package: str  # whose public functions and methods are watched
    rounds: int  # between a tenth and a fifth of a second
    needs: tuple[str, ...]  # from the package index; the last one is or contains the program
    build: Callable[[Path, Path], None]  # from an installation into the project
    load: Callable[[Path], Run]
    law: str
    hot: Hot

    def prepare(self, cache: Path) -> Path:
        """The project, with the program in it."""
        project = cache / self.name
        mark = project / "complete"
        if not mark.exists():
            shutil.rmtree(project, ignore_errors=True)
            project.mkdir(parents=True)
            self.build(install(cache / "installed", self.needs) if self.needs else HERE, project)
            mark.touch()
        return project


def install(folder: Path, requirements: tuple[str, ...]) -> Path:
    """A folder in which these packages lie, for `sys.path`."""
    target = folder / "+".join(requirements)
    mark = target / "complete"
    if not mark.exists():
        shutil.rmtree(target, ignore_errors=True)
        command = [
            sys.executable,
            "-m",
            "pip",
            "install",
            "-qq",
            "--disable-pip-version-check",
            "--target",
            str(target),
        ]
        subprocess.run([*command, *requirements], check=True, stdout=sys.stderr)
        mark.touch()
    return target


def made_before_use(kind: str, *methods: str) -> str:
    """The law that these methods are called on objects that were seen being made."""
    names = " | ".join(f"'{method}'" for method in methods)
    return f"""
made(x) matches {{event: 'new', name: '{kind}', targetId: x}};
use(x) matches {{event: 'func_pre', name: {names}, targetId: x}};
known matches made(_) | use(_);
Main = known >> Objects;
Objects = {{let x; made(x) (use(x)* | Objects)}}?;
"""


# -- how they are made and run -----------------------------------------------------------------------------------------


def benchmark(name: str) -> Callable[[Path, Path], None]:
    """A program of pyperformance is one file."""

    def build(installed: Path, project: Path) -> None:
        folder = installed / "pyperformance" / "data-files" / "benchmarks" / f"bm_{name}"
        shutil.copy(folder / "run_benchmark.py", project / f"{name}.py")
        # It imports what measures it, which is done here.
        (project / "pyperf.py").touch()

    return build


def package(name: str) -> Callable[[Path, Path], None]:
    def build(installed: Path, project: Path) -> None:
        shutil.copytree(installed / name, project / name)

    return build


def build_collections(here: Path, project: Path) -> None:
    shutil.copy(here / "containers.py", project)


def build_json(_: Path, project: Path) -> None:
    """The standard library's, under another name, so that it counts as the project's own code."""
    source = Path(json.__file__).parent
    (project / "purejson").mkdir()
    for path in source.glob("*.py"):
        text = path.read_text(encoding="utf-8").replace("from json", "from purejson")
        (project / "purejson" / path.name).write_text(text, encoding="utf-8")


def build_docutils(installed: Path, project: Path) -> None:
    package("docutils")(installed, project)
    documents = installed / "pyperformance" / "data-files" / "benchmarks" / "bm_docutils" / "data" / "docs"
    shutil.copy(documents / "user" / "config.txt", project)
    shutil.copy(documents / "api" / "publisher.txt", project)


def load_richards(_: Path) -> Run:
    richards = importlib.import_module("richards").Richards()

    def run(rounds: int) -> None:
        if not richards.run(rounds):
            raise SystemExit("richards counts wrong")

    return run


def load_deltablue(_: Path) -> Run:
    delta_blue = importlib.import_module("deltablue").delta_blue

    def run(rounds: int) -> None:
        for _ in range(rounds):
            delta_blue(100)

    return run


def load_collections(_: Path) -> Run:
    run: Run = importlib.import_module("containers").run
    return run


def load_json(_: Path) -> Run:
    purejson = importlib.import_module("purejson")
    purejson.encoder.c_make_encoder = None
    purejson.encoder.encode_basestring_ascii = purejson.encoder.py_encode_basestring_ascii
    purejson.decoder.scanstring = purejson.decoder.py_scanstring
    purejson.scanner.make_scanner = purejson.scanner.py_make_scanner
    document = records(40)

    def run(rounds: int) -> None:
        for _ in range(rounds):
            # Options, so that it does not use the encoder and the decoder that it has ready.
            text = purejson.dumps(document, sort_keys=True)
            if purejson.loads(text, parse_float=float) != document:
                raise SystemExit("json is not read as it was written")

    return run


def records(number: int) -> list[dict[str, Any]]:
    choose = random.Random(7)

    def word() -> str:
        return "".join(choose.choices(string.ascii_letters + ' "\\\u00e9', k=choose.randrange(3, 20)))

    return [
        {
            "id": count,
            "name": word(),
            "tags": [word() for _ in range(choose.randrange(6))],
            "score": choose.random(),
            "parent": None if count % 3 else {"id": count // 3, "live": count % 2 == 0},
        }
        for count in range(number)
    ]


def load_sqlparse(_: Path) -> Run:
    sqlparse = importlib.import_module("sqlparse")
    statements = queries(6)

    def run(rounds: int) -> None:
        for _ in range(rounds):
            for statement in statements:
                sqlparse.format(statement, reindent=True, keyword_case="upper", strip_comments=True)

    return run


def queries(number: int) -> list[str]:
    choose = random.Random(8)
    tables = ("orders", "customers", "items", "stock")

    def column() -> str:
        return f"{choose.choice(tables)[0]}.{choose.choice(('id', 'name', 'price', 'state', 'day'))}"

    def condition() -> str:
        return choose.choice(
            (
                f"{column()} = {column()}",
                f"{column()} between {choose.randrange(9)} and {choose.randrange(10, 99)}",
                f"{column()} in ('a', 'b', 'c') -- as agreed\n",
                f"case when {column()} > 3 then 1 else 0 end = 1",
                f"{column()} not in (select id from {choose.choice(tables)} where price < 10.5)",
            )
        )

    return [
        f"select {', '.join(f'{column()} as c{each}' for each in range(5))}, count(*) "
        f"from {tables[0]} o left join {tables[1]} c on o.id = c.id "
        f"where {' and '.join(condition() for _ in range(4))} group by 1, 2 order by 3 desc limit 10;"
        for _ in range(number)
    ]


def load_docutils(project: Path) -> Run:
    publish = importlib.import_module("docutils.core").publish_string
    large, small = ((project / name).read_text(encoding="utf-8") for name in ("config.txt", "publisher.txt"))
    settings = {"report_level": 5, "input_encoding": "unicode", "output_encoding": "unicode", "_disable_config": True}

    def run(rounds: int) -> None:
        for _ in range(rounds):
            publish(large if rounds > 1 else small, writer="html5", settings_overrides=settings)

    return run


PROGRAMS = [
    Program(
        "richards",
        "richards",
        2,
        (PYPERFORMANCE,),
        benchmark("richards"),
        load_richards,
        made_before_use("richards.Task", "richards.Task.hold", "richards.Task.release"),
        Hot("richards.TaskState", ("isTaskHoldingOrWaiting",), ("packet_pending", "task_waiting", "task_holding")),
    ),
    Program(
        "deltablue",
        "deltablue",
        30,
        (PYPERFORMANCE,),
        benchmark("deltablue"),
        load_deltablue,
        made_before_use("deltablue.Plan", "deltablue.Plan.execute", "deltablue.Plan.add_constraint"),
        Hot("deltablue.Variable", ("add_constraint",), ("value", "mark", "walk_strength", "stay", "determined_by")),
    ),
    Program(
        "collections",
        "containers",
        150,
        (),
        build_collections,
        load_collections,
        made_before_use("collections.deque", "collections.deque.rotate", "collections.deque.clear"),
        Hot("collections.deque", ("append", "popleft", "rotate", "clear")),
    ),
    Program(
        "json",
        "purejson",
        80,
        (),
        build_json,
        load_json,
        made_before_use(
            "purejson.decoder.JSONDecoder",
            "purejson.decoder.JSONDecoder.decode",
            "purejson.decoder.JSONDecoder.raw_decode",
        ),
        Hot("purejson.encoder.JSONEncoder", ("iterencode", "encode", "default"), ("indent", "sort_keys")),
    ),
    Program(
        "sqlparse",
        "sqlparse",
        4,
        ("sqlparse==0.5.3",),
        package("sqlparse"),
        load_sqlparse,
        made_before_use(
            "sqlparse.engine.filter_stack.FilterStack",
            "sqlparse.engine.filter_stack.FilterStack.enable_grouping",
            "sqlparse.engine.filter_stack.FilterStack.run",
        ),
        Hot("sqlparse.sql.Token", ("match", "within", "has_ancestor", "flatten"), ("parent", "value")),
    ),
    Program(
        "docutils",
        "docutils",
        2,
        ("docutils==0.22.4", PYPERFORMANCE),
        build_docutils,
        load_docutils,
        made_before_use(
            "docutils.nodes.document",
            "docutils.nodes.document.note_source",
            "docutils.nodes.document.set_id",
            "docutils.nodes.document.note_implicit_target",
        ),
        Hot("docutils.nodes.Node", ("walk", "walkabout", "dispatch_visit"), ("parent", "source", "line")),
    ),
]
