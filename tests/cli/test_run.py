"""``lawful run``: what is reported, where, and with which exit code the process ends."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from cli.hosted import ENVIRONMENT, LAWFUL, USE, events, hosted
from lawful.cli.main import main
from lawful.sources.python import tracer_choice

Capture = pytest.CaptureFixture[str]

LAW = """\
used(f) matches {event:'func_pre', name:'io.TextIOWrapper.read', targetId:f};
closed(f) matches {event:'func_post', name:'io.TextIOWrapper.close', targetId:f};
on(f) matches used(f) | closed(f);
other matches used(_);
Main = other* {let f; closed(f) ((on(f) >> closed(f)*) /\\ Main)}?;
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "law.rml").write_text(LAW)
    (tmp_path / "use.py").write_text(USE)
    (tmp_path / "keep.py").write_text("f = open(__file__)\nprint(len(f.read()) > 0)\nf.close()\n")
    return tmp_path


def test_a_violation_is_reported_on_standard_error_and_the_exit_code_is_1(folder: Path) -> None:
    result = hosted(folder, "run", "--law", "law.rml", "use.py")
    assert (result.out, result.code) == ("closed\n", 1)
    assert result.err.startswith("use.py:4: law.rml: io.TextIOWrapper.read")
    assert "4 | f.read()" in result.err
    assert "use.py:2  io.TextIOWrapper.close" in result.err
    assert result.err.splitlines()[-1].startswith("1 finding in 1 law, 2 events, 1 thread")


def test_a_program_that_keeps_the_law(folder: Path) -> None:
    result = hosted(folder, "run", "--law", "law.rml", "keep.py")
    assert (result.out, result.code) == ("True\n", 0)
    assert result.err.startswith("0 findings in 1 law, 2 events, 1 thread")
    assert hosted(folder, "run", "-q", "--law", "law.rml", "keep.py") == ("True\n", "", 0)


@pytest.mark.parametrize(
    ("ends", "options", "code"),
    [
        ("", "", 1),
        ("raise SystemExit(3)", "", 3),
        ("raise SystemExit(3)", "--set fail-on=finding", 1),
        ("raise SystemExit(3)", "--set fail-on=never", 3),
        ("raise SystemExit(256)", "", 1),
        ("", "--set fail-on=never", 0),
        ("1 / 0", "", 1),
        ("import os; os._exit(0)", "", 1),
        ("import os; os._exit(3)", "", 3),
        ("import os; os._exit(3)", "--set fail-on=finding", 1),
        ("raise KeyboardInterrupt", "", -signal.SIGINT),
        ("raise KeyboardInterrupt", "--set fail-on=finding", 1),
    ],
)
def test_exit_codes(ends: str, options: str, code: int, folder: Path) -> None:
    (folder / "use.py").write_text(USE + ends + "\n")
    result = hosted(folder, "run", "--law", "law.rml", *options.split(), "use.py")
    assert result.code == code
    assert "1 finding in 1 law" in result.err


def test_what_is_done_at_the_end_is_done_although_the_code_changes(folder: Path) -> None:
    (folder / "use.py").write_text(
        USE + "class A:\n    def __del__(self): print('gone')\na = A()\nimport atexit\natexit.register(print, 'exit')\n"
    )
    assert hosted(folder, "run", "--law", "law.rml", "use.py")[::2] == ("closed\nexit\ngone\n", 1)


def test_what_exit_handlers_and_late_threads_do_is_watched(folder: Path) -> None:
    (folder / "late.py").write_text(
        "import atexit, threading, time\n"
        f"def use():\n    {USE.replace(chr(10), chr(10) + '    ')}\n"
        "def later():\n    time.sleep(0.2)\n    use()\n"
        "atexit.register(use)\nthreading.Thread(target=later).start()\n"
    )
    result = hosted(folder, "run", "--law", "law.rml", "late.py")
    assert (result.out, result.code) == ("closed\nclosed\n", 1)
    assert "1 finding (2 violations)" in result.err


def test_the_report_as_json_in_a_file(folder: Path) -> None:
    result = hosted(folder, "run", "--law", "law.rml", "--format", "json", "--output", "report.json", "use.py")
    assert result == ("closed\n", "", 1)
    report = json.loads((folder / "report.json").read_text())
    assert report["laws"] == ["law.rml"]
    assert [(each["file"], each["line"], each["count"]) for each in report["findings"]] == [("use.py", 4, 1)]


def test_options_after_the_program_are_the_programs(folder: Path) -> None:
    (folder / "args.py").write_text("import sys; print(sys.argv)\n")
    result = hosted(folder, "run", "-q", "--law", "law.rml", "args.py", "--law", "-m", "-q", "--", "x")
    assert result == ("['args.py', '--law', '-m', '-q', '--', 'x']\n", "", 0)
    result = hosted(folder, "run", "--law=law.rml", "-q", "--", "args.py", "--help")
    assert result == ("['args.py', '--help']\n", "", 0)


@pytest.mark.parametrize("words", [["-m", "use"], ["-muse"]])
def test_a_module(words: list[str], folder: Path) -> None:
    result = hosted(folder, "run", "--law", "law.rml", *words)
    assert (result.out, result.code) == ("closed\n", 1)
    assert "use.py:4: law.rml" in result.err


def test_laws_of_the_catalogue_by_name(folder: Path) -> None:
    result = hosted(folder, "run", "--law", "files/use-after-close", "use.py")
    assert result.code == 1
    assert "use.py:4: files/use-after-close:" in result.err


def test_the_projects_configuration_and_flags_add_up(folder: Path) -> None:
    (folder / "pyproject.toml").write_text('[tool.lawful]\nlaws = ["law.rml"]\nfail-on = "never"\n')
    (folder / "sub").mkdir()
    (folder / "sub" / "use.py").write_text(USE)
    result = hosted(folder / "sub", "run", "use.py")
    assert result.code == 0
    assert f"sub/use.py:4: {os.path.join('..', 'law.rml')}:" in result.err
    assert hosted(folder / "sub", "run", "--set", "fail-on=finding", "use.py").code == 1
    both = hosted(folder / "sub", "run", "--law", "files/use-after-close", "use.py")
    assert "2 findings in 2 laws" in both.err


def test_a_violation_can_be_raised_before_the_call(folder: Path) -> None:
    (folder / "raises.py").write_text(
        "import lawful\nf = open(__file__)\nf.close()\ntry:\n    f.read()\n"
        "except lawful.Violation as error:\n    print(error.finding.line)\n"
    )
    result = hosted(folder, "run", "--law", "law.rml", "--on-violation", "raise", "raises.py")
    assert (result.out, result.code) == ("5\n", 1)


def test_a_violation_can_stop_the_program(folder: Path) -> None:
    (folder / "stops.py").write_text(
        "import atexit\natexit.register(print, 'exit')\nf = open(__file__)\nf.close()\n"
        "try:\n    f.read()\nfinally:\n    print('finally')\nprint('never')\n"
    )
    result = hosted(folder, "run", "--law", "law.rml", "--on-violation", "stop", "stops.py")
    assert (result.out, result.code) == ("finally\nexit\n", 1)
    assert "1 finding" in result.err


def test_a_trace_is_written_while_the_program_runs_and_survives_a_kill(folder: Path) -> None:
    (folder / "waits.py").write_text(
        "f = open(__file__)\nf.read()\nf.close()\nprint('ready', flush=True)\nimport time\ntime.sleep(60)\n"
    )
    command = [*LAWFUL, "run", "--law", "law.rml", "--trace", "t.jsonl", "waits.py"]
    with subprocess.Popen(command, cwd=folder, env=ENVIRONMENT, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"ready\n"
        for _ in range(600):
            if (folder / "t.jsonl").read_bytes().count(b"\n") == 2:
                break
            time.sleep(0.05)
        process.kill()
    assert [each["name"] for each in events(folder / "t.jsonl")] == ["io.TextIOWrapper.read", "io.TextIOWrapper.close"]


def test_after_an_interrupt_the_report_is_written_and_the_process_dies_by_the_signal(folder: Path) -> None:
    (folder / "waits.py").write_text(USE + "import time\nprint('ready', flush=True)\nwhile True: time.sleep(0.01)\n")
    command = [*LAWFUL, "run", "--law", "law.rml", "waits.py"]
    with subprocess.Popen(
        command, cwd=folder, env=ENVIRONMENT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "closed\n"
        assert process.stdout.readline() == "ready\n"
        process.send_signal(signal.SIGINT)
        err = process.communicate(timeout=60)[1]
    assert process.returncode == -signal.SIGINT
    assert "KeyboardInterrupt\n" in err
    assert "1 finding in 1 law" in err


def test_the_watching_thread_is_not_seen(folder: Path) -> None:
    (folder / "threads.py").write_text(
        "import threading, os, warnings, gc\nwarnings.simplefilter('error')\n"
        "print(threading.active_count(), gc.isenabled())\n"
        "for _ in range(3):\n    if os.fork() == 0:\n        os._exit(0)\n    os.wait()\n"
        "print(threading.active_count(), gc.isenabled())\n"
    )
    result = hosted(folder, "run", "-q", "--law", "law.rml", "--calls", "os", "threads.py")
    assert (result.out, result.code) == ("1 True\n1 True\n", 0)


def test_a_program_can_emit_events_of_its_own(folder: Path) -> None:
    (folder / "once.rml").write_text("once matches {event:'once'};\nMain = once?;\n")
    (folder / "emits.py").write_text("import lawful\nlawful.emit('once')\nlawful.emit('once')\n")
    result = hosted(folder, "run", "--law", "once.rml", "emits.py")
    assert result.code == 1
    assert "emits.py:3: once.rml" in result.err


def test_events_that_find_the_buffer_full_are_counted(folder: Path) -> None:
    (folder / "many.py").write_text("import math\nfor i in range(20000):\n    math.floor(1.5)\n")
    options = ["--law", "law.rml", "--calls", "math", "--set", "buffer=10", "--set", "when-full=drop"]
    result = hosted(folder, "run", *options, "many.py")
    if tracer_choice.choose().name == "python":
        pytest.skip("the pure-Python core drops nothing")
    assert result.code == 0
    assert "events dropped" in result.err


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ("run", "error[usage]: there is no program to run"),
        ("run --law law.rml", "error[usage]: there is no program to run"),
        ("run --no-learn use.py", "error[usage]: there is no law to check the program against"),
        ("run --law nowhere.rml use.py", "error[law-not-found]: nowhere.rml"),
        ("run --law nowhere use.py", "error[law-not-found]: nowhere"),
        ("run --law law.rml nowhere.py", "error[run-not-found]: nowhere.py"),
        ("run --lwa law.rml use.py", "error[usage]: no such option"),
        ("run --history 3 use.py", "hint: write --set history=VALUE"),
        ("run --window 3 use.py", "hint: write --set learn.window=VALUE"),
        ("run --law law.rml --output . use.py", "error[file]: "),
        ("run --law law.rml --output law.rml use.py", "error[usage]: law.rml: the report would overwrite"),
        ("run --law law.rml --output use.py use.py", "error[usage]: use.py: the report would overwrite"),
        ("run --law law.rml --output use.py -m use", "error[usage]: use.py: the report would overwrite"),
        ("run --law law.rml --trace use.py use.py", "error[usage]: use.py: the trace would overwrite"),
        ("run --law law.rml --trace ./law.rml use.py", "error[usage]: ./law.rml: the trace would overwrite"),
        ("run --law law.rml --set buffer=99999999999999999999 use.py", "error[config-value]: --set buffer="),
        ("run --law law.rml --set history=99999999999999999999 use.py", "error[config-value]: --set history="),
        ("record -o use.py --calls json use.py", "error[usage]: use.py: the trace would overwrite"),
        ("run --law law.rml --trace nowhere/t.jsonl use.py", "error[trace-not-found]: "),
        ("run --law law.rml --calls 1 use.py", "error[scope-pattern]: "),
        ("run --law law.rml --on-violation x use.py", "error[usage]: "),
        ("record use.py", "error[usage]: there is no trace to write"),
        ("record -o t.jsonl use.py", "error[usage]: nothing says what to record"),
    ],
)
def test_what_is_wrong_is_told_before_the_program_begins(
    words: str, message: str, folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: Capture
) -> None:
    monkeypatch.chdir(folder)
    before = {path: path.read_text() for path in folder.glob("*.*")}
    assert main(words.split()) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert message in err
    assert {path: path.read_text() for path in folder.glob("*.*")} == before


def test_the_program_starts_without_what_it_does_not_need(folder: Path) -> None:
    (folder / "modules.py").write_text(
        "import sys\n"
        "unneeded = {'rich', 'click', 'lawful.reports.live', 'multiprocessing'}\n"
        "unneeded |= {'lawful.events.reader', 'lawful.events.writer'}\n"
        "print(unneeded & set(sys.modules))\n"
        "print([name for name in sys.modules if name.startswith('_sysconfigdata')])\n"
    )
    assert hosted(folder, "run", "-q", "--law", "law.rml", "modules.py").out == "set()\n[]\n"


def test_stop_in_a_thread_reaches_all(folder: Path) -> None:
    (folder / "stops.py").write_text(
        "import threading\ndef use():\n    f = open(__file__)\n    f.close()\n    f.read()\n    print('never')\n"
        "t = threading.Thread(target=use)\nt.start()\nt.join()\nf = open(__file__)\nf.close()\nprint('never')\n"
    )
    result = hosted(folder, "run", "--law", "law.rml", "--on-violation", "stop", "stops.py")
    assert (result.out, result.code) == ("", 1)


# Where it breaks, and whether something was seen before.
FAULTS = {
    "lawful.engine.session.Session.start": False,
    "lawful.engine.session.Flusher.start": False,
    "lawful.engine.session.Session._watch_no_more": True,
    "lawful.engine.session.Session._judge_rest": True,
    "lawful.engine.run.LawRun._judge": False,
    "lawful.engine.run.LawRun._judge_end": True,
    "lawful.sources.python.watch_planner.LawWatchPlanner.plan": False,
    "lawful.sources.python.watch_planner.LawWatchPlanner.callee": False,
    "lawful.sources.python.watch_planner.LawWatchPlanner.class_name": False,
    "lawful.sources.python.emitting._made": True,
}


@pytest.mark.parametrize("core", tracer_choice.available())
@pytest.mark.parametrize("place", FAULTS)
def test_a_fault_of_lawful_is_reported_and_the_program_goes_on(folder: Path, place: str, core: str) -> None:
    target, name = place.rsplit(".", 1)
    (folder / "spoiled.py").write_text(
        f"""
import sys
from pkgutil import resolve_name
from lawful.cli.main import main

def broken(*args, **named):
    raise ZeroDivisionError("spoiled")

import lawful.engine.session, lawful.sources.python.emitting
setattr(resolve_name("{target}"), "{name}", broken)
sys.argv[0] = "lawful"
main()
"""
    )
    tail = "import time, lawful\nlawful.emit('x')\ntime.sleep(0.3)\nprint('end')\nraise SystemExit(3)\n"
    (folder / "program.py").write_text(USE + tail)
    command = [sys.executable, "spoiled.py", "run", "--law", "law.rml", "--set", f"core={core}", "program.py"]
    done = subprocess.run(command, cwd=folder, env=ENVIRONMENT, capture_output=True, text=True, timeout=60)
    assert (done.stdout, done.returncode) == ("closed\nend\n", 3)
    assert "Traceback" not in done.stderr
    assert "watching was cut short: internal error in Lawful: ZeroDivisionError: spoiled" in done.stderr
    assert ("program.py:4: law.rml" in done.stderr) == FAULTS[place]


def test_a_fault_in_the_report_is_told(folder: Path) -> None:
    (folder / "spoiled.py").write_text(
        "import sys, lawful.reports.live\nfrom lawful.cli.main import main\n"
        "lawful.reports.live.report_lines = None\nmain()\n"
    )
    command = [sys.executable, "spoiled.py", "run", "--law", "law.rml", "use.py"]
    done = subprocess.run(command, cwd=folder, env=ENVIRONMENT, capture_output=True, text=True, timeout=60)
    assert (done.stdout, done.returncode) == ("closed\n", 1)
    assert done.stderr.startswith("lawful: an internal error in Lawful, after the program's end: TypeError")
