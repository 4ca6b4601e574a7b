"""Reports to render: of a program under watch, of traces, of a learner; and with names that mean harm."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from lawful.engine import TraceRun, TraceSettings
from lawful.engine.run import LawRun
from lawful.laws.protocol import Law
from lawful.laws.rml import compile
from lawful.learning.learner import Learner
from lawful.learning.parameters import Learning
from lawful.reports import gather, json, live
from lawful.reports.baseline import Baseline
from lawful.reports.core import Report
from lawful.reports.sources import SourceLines
from lawful.reports.text import WIDTH, plain

FILES = """\
// title: Files are closed
// rule: What is open is closed in the end.
// severity: warning
open(f) matches {event:'func_post', name:'open', resultId:f};
write(f) matches {event:'func_pre', name:'io.TextIOWrapper.write', targetId:f};
close(f) matches {event:'func_pre', name:'io.TextIOWrapper.close', targetId:f};
relevant matches open(_) | write(_) | close(_);
Main = relevant >> Files;
Files = {let f; open(f) (Files | (write(f)* close(f)))}?;
"""
PROGRAM = """\
def work(path, other):
    first = open(path, "w")
    first.write("a")
    first.close()
    for word in ("b", "c"):
        first.write(word)


class Keeper:
    def keep(self, path):
        second = open(path, "w")
        second.write("d")
"""
EVIL = "<img src=x onerror=alert(1)>"
ENDING = "</script><script>alert(2)</script>"


def event(kind: str, name: str, line: int, **parts: Any) -> dict[str, Any]:
    return {"event": kind, "name": name, **parts, "file": "app.py", "line": line, "thread": 1, "time": line / 8}


def opened(number: int, line: int) -> dict[str, Any]:
    return event("func_post", "open", line, args=[f"{number}.txt", "w"], resultId=number)


def wrote(number: int, line: int, text: str = "a") -> dict[str, Any]:
    return event("func_pre", "io.TextIOWrapper.write", line, targetId=number, args=[text])


def closed(number: int, line: int) -> dict[str, Any]:
    return event("func_pre", "io.TextIOWrapper.close", line, targetId=number, args=[])


def files(name: str = "laws/files.rml") -> Law:
    return compile(FILES, name=name)


def a_run(shift: int = 0, law: str = "laws/files.rml") -> LawRun:
    """A run of the program, whose lines are moved down by so many."""
    run = LawRun([files(law), compile("a matches {event:'a'}; Main = a?;", name="kept.rml")])
    run.deliver([opened(1, 2 + shift), wrote(1, 3 + shift), closed(1, 4 + shift)])
    run.log.context = "tests/test_app.py::test_work"
    run.deliver([wrote(1, 6 + shift, "b"), wrote(1, 6 + shift, "c")])
    run.log.context = None
    run.deliver([opened(2, 11 + shift), wrote(2, 12 + shift)])
    run.end()
    return run


def project(folder: Path, shift: int = 0) -> SourceLines:
    """The source of the program, moved down by so many lines."""
    (folder / "app.py").write_text("# a line\n" * shift + PROGRAM)
    return SourceLines(folder)


def live_report(folder: Path) -> Report:
    return gather.of_live(a_run(), project(folder))


def evil_report(folder: Path) -> Report:
    """Whatever a program or a trace can name is markup here, or a command, or no text at all."""
    law = compile(
        "a(f) matches {event:'func_pre', targetId:f}; Main = {let f; a(f)}?;", name=f"{ENDING}{EVIL}\n::error::x.rml"
    )
    run = LawRun([law])
    run.log.context = f"{EVIL}::test\r\n::stop-commands::x"
    for number in (1, 2):
        run.deliver(
            [
                {
                    "event": "func_pre",
                    "name": f"{EVIL}.{ENDING}\n::error::owned %0A\udc80\x00\x1b[31m",
                    "targetId": number,
                    "args": [ENDING, EVIL],
                    "file": f"{EVIL},line=9:{ENDING}%\udc80.py",
                    "line": 1,
                    "time": 0.5,
                }
            ]
        )
    run.warn(f"{EVIL}\n::error::w")
    run.errors.append(f"{ENDING}\n::error::f")
    run.end()
    return gather.of_live(run, SourceLines(folder))


def trace_report(folder: Path, baseline: Baseline | None = None) -> Report:
    """Two laws on two traces, one of them broken on one."""
    from json import dumps

    good, bad = folder / "good.jsonl", folder / "bad.jsonl"
    good.write_text("".join(dumps(each) + "\n" for each in (opened(1, 2), wrote(1, 3), closed(1, 4))))
    bad.write_text("".join(dumps(each) + "\n" for each in (opened(1, 2), closed(1, 4), wrote(1, 6))))
    laws = [files("files.rml"), compile("a matches {event:'a'}; Main = a >> a?;", name="k.rml")]
    found = gather.TraceFindings(project(folder), baseline)
    for path in (good, bad):
        run = TraceRun(laws[:1] if path is bad else laws, str(path), TraceSettings())
        run.run()
        run.name, run.seconds = path.name, 0.5
        found.add(run)
    return gather.of_traces(found, baseline=None if baseline is None else baseline.path)


def a_learner() -> Learner:
    """What most do, and one does not."""
    learner = Learner(Learning(window=20, seed=1))
    events: list[dict[str, Any]] = []
    for number in range(1, 60):
        names = ["open", "read", "close"] if number != 30 else ["open", "read"]
        for at, name in enumerate(names):
            line = (20 if number == 30 else 2) + at
            events.append(
                {"event": "func_pre", "name": f"lib.File.{name}", "targetId": number, "file": "app.py", "line": line}
            )
        events += [
            {"event": "func_pre", "name": "lib.Other.tick", "targetId": 1000 + number + k, "file": "o.py", "line": 1}
            for k in range(20)
        ]
    learner.feed(events)
    learner.finish()
    return learner


def learned_report(folder: Path) -> Report:
    learner = a_learner()
    findings = gather.anomaly_findings(learner.anomalies())
    return gather.of_learner(learner, findings, ["run.jsonl"], project(folder), seconds=0.25)


def render_text(run: LawRun, folder: Path | str = ".", *, width: int = WIDTH, **options: Any) -> str:
    """The report on a watched program as text."""
    return plain(live.report_lines(run, folder, width=width, **options))


def render_json(run: LawRun, folder: Path | str = ".", baseline: str | None = None) -> bytes:
    """The same as JSON."""
    return json.render(gather.of_live(run, SourceLines(folder), baseline=baseline))
