"""``lawful check``: what it says, where it says it, and with which exit code."""

from __future__ import annotations

import gzip
import io
import json
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterable
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from cli.gold_files import assert_gold
from lawful.cli.main import main
from lawful.engine import LawRun
from lawful.laws.loader import load_law

GOLD = Path(__file__).parent / "gold"

Capture = pytest.CaptureFixture[str]
Event = dict[str, Any]

FILES = """\
open(f) matches {event:'func_post', name:'open', resultId:f};
read(f) matches {event:'func_pre', name:'read', targetId:f};
close(f) matches {event:'func_pre', name:'close', targetId:f};
File<f> = read(f)* close(f);
Main = {let f; open(f) (File<f> | Main)}?;
"""
ONE = """\
open(f) matches {event:'func_post', name:'open', resultId:f};
read(f) matches {event:'func_pre', name:'read', targetId:f};
close(f) matches {event:'func_pre', name:'close', targetId:f};
Main = {let f; open(f) read(f)* close(f)};
"""
DOOMED = """\
a matches {e:'a'};
b matches {e:'b'};
c matches {e:'c'};
Main = a (b b c /\\ b c c) \\/ c;
"""
SWALLOWED = """\
a matches {e:'a'};
Main = a* a;
"""
GUARD = """\
step(x) matches {step: x} with x > 0;
Main = {let x; step(x)}*;
"""
WRONG = """\
a matches {e:'a'};
Main = a bb;
Other = aa;
"""
QUICK = """\
a matches {e:'a'};
Main = a all;
"""


def opened(file: int) -> Event:
    return {"event": "func_post", "name": "open", "args": ["/etc/hosts"], "resultId": file}


def read(file: int, **more: object) -> Event:
    return {"event": "func_pre", "name": "read", "targetId": file, **more}


def closed(file: int) -> Event:
    return {"event": "func_pre", "name": "close", "targetId": file}


def lines(events: Iterable[Event]) -> str:
    return "".join(json.dumps(event) + "\n" for event in events)


GOOD = [opened(1), opened(2), read(1), read(2), closed(1), closed(2)]
BAD = [opened(1), opened(2), read(1), read(2), closed(1), read(1, why="x" * 200, args=list(range(100, 130))), read(2)]
INPUTS = {
    "files.rml": FILES,
    "one.rml": ONE,
    "doomed.rml": DOOMED,
    "swallowed.rml": SWALLOWED,
    "guard.rml": GUARD,
    "wrong.rml": WRONG,
    "quick.rml": QUICK,
    "good.jsonl": lines(GOOD),
    "bad.jsonl": lines(BAD),
    "left_open.jsonl": lines([opened(1), read(1), read(1)]),
    "one.jsonl": lines([opened(7), read(7), read(8)]),
    "doomed.jsonl": '{"e":"a"}\n{"e":"b"}\n{"e":"b"}\n',
    "true.jsonl": '{"e":"a"}\n{"e":"b"}\n',
    "a.jsonl": '{"e":"a"}\n',
    "guard.jsonl": '{"step":"one"}\n{"step":1}\n',
    "empty.jsonl": "",
    "spoilt.jsonl": lines(BAD) + "oops\n" + lines(GOOD),
    "cut_short.jsonl": lines(GOOD[:3]) + '{"event":\n' + lines(GOOD[3:]),
    "hostile.jsonl": lines([{"event": "func_post", "name": "open", "resultId": "\x1b[31m\u202e"}, read(1)]),
}


@pytest.fixture
def inputs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name, text in INPUTS.items():
        (tmp_path / name).write_text(text, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "80")
    return tmp_path


CASES = {
    "accepted": "files.rml -t good.jsonl",
    "accepted_json": "files.rml -t good.jsonl --format json",
    "rejected": "files.rml -t bad.jsonl",
    "rejected_json": "files.rml -t bad.jsonl --format json",
    "rejected_with_bindings": "one.rml -t one.jsonl",
    "rejected_at_end": "one.rml -t left_open.jsonl",
    "rejected_at_end_json": "one.rml -t left_open.jsonl --format json",
    "rejected_when_empty": "one.rml -t empty.jsonl",
    "doomed": "doomed.rml -t doomed.jsonl",
    "doomed_json": "doomed.rml -t doomed.jsonl --format json",
    "doomed_at_end": "doomed.rml -t a.jsonl",
    "many": "files.rml one.rml -t good.jsonl -t bad.jsonl -t left_open.jsonl --set history=2",
    "many_json": "files.rml one.rml -t good.jsonl -t bad.jsonl -t left_open.jsonl --set history=0 --format json",
    "quiet": "files.rml one.rml -t good.jsonl -q --set history=1",
    "first": "files.rml one.rml -t good.jsonl -t bad.jsonl -t left_open.jsonl --first --set history=0",
    "law_warning": "swallowed.rml -t a.jsonl",
    "data_warning": "guard.rml -t guard.jsonl -t guard.jsonl",
    "bad_laws": "wrong.rml file.rml good.jsonl -t good.jsonl",
    "bad_trace": "files.rml one.rml -t cut_short.jsonl -t good.jsonl",
    "bad_trace_json": "files.rml -t cut_short.jsonl -t bad.jsonl --set history=0 --format json",
    "decided_before_a_bad_line": "files.rml one.rml -t spoilt.jsonl --set history=0",
    "decided_and_true": "quick.rml -t true.jsonl --format json",
    "skip_bad_lines": "files.rml -t cut_short.jsonl --skip-bad-lines",
    "no_trace": "files.rml",
    "trace_not_found": "files.rml -t good.jsonl -t nowhere.jsonl",
    "hostile": "files.rml -t hostile.jsonl",
}


@pytest.mark.parametrize("name", CASES)
def test_gold(name: str, inputs: Path, capsys: Capture) -> None:
    code = main(["check", *CASES[name].split()])
    out, err = capsys.readouterr()
    if CASES[name].endswith("--format json") and out:
        out = json.dumps(json.loads(out), indent=1, ensure_ascii=False) + "\n"
    else:
        assert all(len(line) <= 80 for line in out.splitlines())
    found = f"$ lawful check {CASES[name]}\n{out}--- standard error\n{err}--- exit code {code}\n"
    assert_gold(found, GOLD / f"{name}.txt")


def test_every_gold_file_has_its_case() -> None:
    assert {path.stem for path in GOLD.glob("*.txt")} == set(CASES)


def check_json(capsys: Capture, *args: str) -> Any:
    main(["check", *args, "--format", "json"])
    return json.loads(capsys.readouterr().out)


def test_json_has_the_promised_fields(inputs: Path, capsys: Capture) -> None:
    report = check_json(capsys, "files.rml", "-t", "bad.jsonl")
    assert report["events"] == 7
    (law,) = report["laws"]
    promised = "law trace accepted verdict rejected_at doomed_at message".split()
    assert {name: law[name] for name in promised} == {
        "law": "files.rml",
        "trace": "bad.jsonl",
        "accepted": False,
        "verdict": "false",
        "rejected_at": 6,
        "doomed_at": None,
        "message": "event 6 is not allowed here",
    }
    finding, at_end = report["findings"]
    promised = "law trace rejected_at count event expected bindings message".split()
    assert {name: finding[name] for name in promised} == {
        "law": "files.rml",
        "trace": "bad.jsonl",
        "rejected_at": 6,
        "count": 1,
        "event": BAD[5],  # in full: only text is shortened
        "expected": finding["expected"],
        "bindings": finding["bindings"],
        "message": finding["message"],
    }
    assert "read(2)" in finding["expected"]
    assert [seen["number"] for seen in finding["history"]] == [1, 3, 5]
    assert (at_end["rejected_at"], at_end["bindings"], report["violations"]) == ("end", {"f": 2}, 2)


def test_laws_and_traces_may_stand_in_any_order(inputs: Path, capsys: Capture) -> None:
    assert main(["check", "-t", "good.jsonl", "files.rml"]) == 0


def test_a_value_without_a_past_shows_what_the_law_saw_last(inputs: Path, capsys: Capture) -> None:
    (inputs / "unknown.jsonl").write_text(
        '{"event":"func_post","name":"open","resultId":1}\n'
        '{"event":"func_pre","name":"read","targetId":1}\n'
        '{"event":"func_pre","name":"close","targetId":8}\n'
    )
    finding, _ = check_json(capsys, "files.rml", "-t", "unknown.jsonl")["findings"]
    assert finding["rejected_at"] == 3
    assert [seen["number"] for seen in finding["history"]] == [1, 2]


def test_instances_beside_the_one_that_is_shown_are_counted(inputs: Path, capsys: Capture) -> None:
    opened = "".join(f'{{"event":"func_post","name":"open","resultId":{number}}}\n' for number in range(1, 6))
    (inputs / "open.jsonl").write_text(opened)
    report = check_json(capsys, "files.rml", "-t", "open.jsonl")
    (finding,) = report["findings"]
    assert (finding["rejected_at"], finding["bindings"], finding["count"]) == ("end", {"f": 1}, 5)
    assert (report["laws"][0]["rejected_at"], report["violations"]) == ("end", 5)
    main(["check", "files.rml", "-t", "open.jsonl"])
    out = capsys.readouterr().out
    assert "seen      5 times; what follows is the first\n" in out
    assert "bindings  f = 1\n" in out
    assert "\n1 broken, 0 accepted (1 law, 1 trace, 5 events)\n1 finding (5 violations)\n" in out


@pytest.mark.parametrize(
    "args",
    [
        ["files.rml", "--trace", "good.jsonl", "bad.jsonl"],
        ["--trace", "good.jsonl", "bad.jsonl", "files.rml"],
        ["--trace=good.jsonl", "bad.jsonl", "files.rml"],
        ["-t", "good.jsonl", "files.rml", "-t", "bad.jsonl"],
        ["--quiet", "-t", "good.jsonl", "bad.jsonl", "files.rml"],
    ],
)
def test_several_traces_after_one_option(args: list[str], inputs: Path, capsys: Capture) -> None:
    report = check_json(capsys, *args)
    assert [(law["law"], law["trace"]) for law in report["laws"]] == [
        ("files.rml", "good.jsonl"),
        ("files.rml", "bad.jsonl"),
    ]


def test_output_goes_to_a_file(inputs: Path, capsys: Capture) -> None:
    assert main(["check", "files.rml", "-t", "bad.jsonl", "--format", "json", "--output", "report.json"]) == 1
    assert capsys.readouterr() == ("", "")
    assert json.loads((inputs / "report.json").read_text())["events"] == 7
    assert main(["check", "files.rml", "-t", "bad.jsonl", "--output", "report.txt"]) == 1
    assert capsys.readouterr() == ("", "")
    assert (inputs / "report.txt").read_text().startswith("BROKEN ")


@pytest.mark.parametrize("victim", ["bad.jsonl", "files.rml", "./bad.jsonl"])
def test_output_does_not_overwrite_what_is_checked(victim: str, inputs: Path, capsys: Capture) -> None:
    assert main(["check", "files.rml", "-t", "bad.jsonl", "--output", victim]) == 2
    assert capsys.readouterr().err.startswith("error[usage]: ")
    assert (inputs / victim).read_text() == INPUTS[victim.removeprefix("./")]


def test_output_that_cannot_be_written_is_an_error(inputs: Path, capsys: Capture) -> None:
    assert main(["check", "files.rml", "-t", "bad.jsonl", "--output", "none/report"]) == 2
    assert capsys.readouterr().err.startswith("error[file]: none/report: ")


@pytest.mark.parametrize("form", ["text", "json"])
def test_output_to_a_dash_is_standard_output(form: str, inputs: Path, capsys: Capture) -> None:
    assert main(["check", "files.rml", "-t", "bad.jsonl", "--format", form]) == 1
    expected = capsys.readouterr()
    assert main(["check", "files.rml", "-t", "bad.jsonl", "--format", form, "--output", "-"]) == 1
    assert capsys.readouterr() == expected
    assert not Path("-").exists()


def test_a_forgotten_option_is_named(inputs: Path, capsys: Capture) -> None:
    assert main(["check", "files.rml", "good.jsonl", "bad.jsonl"]) == 2
    assert capsys.readouterr().err.endswith("  hint: write `--trace good.jsonl bad.jsonl`\n")


def test_names_that_are_not_utf8_are_shown(inputs: Path, capsys: Capture) -> None:
    law, trace, spoilt = (os.fsdecode(name) for name in (b"l\xff.rml", b"t\xfe.jsonl", b"s\xfd.jsonl"))
    Path(law).write_text(FILES)
    Path(trace).write_text(INPUTS["bad.jsonl"])
    Path(spoilt).write_text("oops\n")
    report = check_json(capsys, law, "-t", trace, "-t", spoilt)
    assert [(each["law"], each["trace"]) for each in report["laws"]] == [
        ("l\ufffd.rml", "t\ufffd.jsonl"),
        ("l\ufffd.rml", "s\ufffd.jsonl"),
    ]
    assert [each["trace"] for each in report["traces"]] == ["t\ufffd.jsonl", "s\ufffd.jsonl"]
    assert report["traces"][1]["error"]["where"] == "s\ufffd.jsonl:1:1"
    assert main(["trace", "info", "--format", "json", trace]) == 0
    assert json.loads(capsys.readouterr().out)["traces"][0]["trace"] == "t\ufffd.jsonl"
    assert main(["laws", "explain", "--format", "json", law]) == 0
    assert json.loads(capsys.readouterr().out)["law"] == "l\ufffd.rml"


@pytest.mark.parametrize(
    ("args", "slug"),
    [
        (["secret.rml", "-t", "good.jsonl"], "law-not-readable"),
        (["files.rml", "-t", "secret.jsonl"], "trace-no-permission"),
    ],
)
def test_files_that_may_not_be_read(
    args: list[str], slug: str, inputs: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("secret.rml", "secret.jsonl"):
        Path(name).write_text("")
    access = os.access

    def refuse(really: Any, name: Any, *rest: Any, **options: Any) -> Any:
        if str(name).startswith("secret"):
            raise PermissionError(13, "Permission denied", name)
        return really(name, *rest, **options)

    # For root every file is readable: what the system would say is said here.
    monkeypatch.setattr("builtins.open", partial(refuse, open))
    monkeypatch.setattr("lawful.pristine_os.files.raw", partial(refuse, io.FileIO))
    monkeypatch.setattr("os.access", lambda name, *rest: not str(name).startswith("secret") and access(name, *rest))
    assert main(["check", *args]) == 2
    assert capsys.readouterr().err.startswith(f"error[{slug}]: secret")


def test_a_trace_of_bad_lines_only_is_an_error(inputs: Path, capsys: Capture) -> None:
    assert main(["check", "files.rml", "-t", "one.rml", "--skip-bad-lines"]) == 2
    out, err = capsys.readouterr()
    assert "accepted    " not in out
    assert "error[trace-no-events]: one.rml: " in err
    assert err.endswith("  hint: this looks like a law; a trace was expected\n")


def test_standard_input_only_once(inputs: Path, capsys: Capture) -> None:
    assert main(["check", "files.rml", "-t", "-", "-t", "-"]) == 2
    assert capsys.readouterr().err.startswith("error[usage]: standard input can be read only once")


def test_history_of_a_long_compressed_trace(inputs: Path, capsys: Capture) -> None:
    other = [opened(2), *[read(2)] * 20_000, closed(2)]
    with gzip.open("long.jsonl.gz", "wt") as file:
        file.write(lines([opened(1), *other, read(1), closed(1), *other, read(1), *other]))
    report = check_json(capsys, "files.rml", "-t", "long.jsonl.gz")
    (finding,) = report["findings"]
    assert [seen["number"] for seen in finding["history"]] == [1, 20004, 20005]
    assert finding["rejected_at"] == report["laws"][0]["rejected_at"] == 40008
    assert (report["traces"][0]["complete"], report["events"]) == (True, 60010)
    assert main(["check", "files.rml", "-t", "long.jsonl.gz", "--first", "--format", "json"]) == 1
    report = json.loads(capsys.readouterr().out)
    assert report["traces"][0]["complete"] is False
    assert 40008 <= report["events"] < 60010


def test_events_as_deep_as_can_be_read_are_reported(inputs: Path, capsys: Capture) -> None:
    deep = sys.getrecursionlimit() * 12  # beyond what msgspec decodes, on every Python
    codes = set()
    for form in ("text", "json"):
        for depth in (deep, *range(9_990, 10_000, 3), *range(900, 1_000, 3)):
            nested = "[" * depth + "]" * depth
            Path("deep.jsonl").write_text(f'{{"e":"a"}}\n{{"e":"z","x":{nested}}}\n{{"e":"z"}}\n')
            code = main(["check", "doomed.rml", "-t", "deep.jsonl", "--format", form])
            codes.add(code)
            out, err = capsys.readouterr()
            assert "error[internal]" not in err
            assert form == "text" or json.loads(out.replace(nested, "0"))
    assert codes == {1, 2}


# -- in a process of its own -------------------------------------------------------------------------------------------


def start(*args: str) -> subprocess.Popen[str]:
    # A blocked pipe must not hang the tests: the process is killed after a while, and the test fails.
    process = subprocess.Popen(
        [sys.executable, "-m", "lawful", "check", *args],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        bufsize=1,
    )
    killer = threading.Timer(60, process.kill)
    killer.daemon = True
    killer.start()
    process.killer = killer  # type: ignore[attr-defined]
    return process


def finish(process: subprocess.Popen[str]) -> tuple[int, str, str]:
    # Not `communicate`, which would miss what earlier reads have left in the buffer. Standard error stays short.
    assert process.stdin and process.stdout and process.stderr
    with suppress(BrokenPipeError):
        process.stdin.close()
    out, err = process.stdout.read(), process.stderr.read()
    process.stdout.close()
    process.stderr.close()
    process.wait(60)
    process.killer.cancel()  # type: ignore[attr-defined]
    return process.returncode, out, err


def test_a_violation_in_a_stream_is_told_when_it_happens(inputs: Path) -> None:
    process = start("files.rml", "one.rml", "-t", "-")
    assert process.stdin and process.stdout
    for event in (opened(1), closed(1), read(1)):
        process.stdin.write(lines([event]))
    told = {process.stdout.readline() for _ in range(7)}  # and standard input is still open
    assert "BROKEN      files.rml on <stdin> at event 3\n" in told
    code, out, err = finish(process)
    assert (code, err) == (1, "")
    assert "0 accepted (2 laws, 1 trace, 3 events)" in out


def test_a_lost_law_in_a_stream_is_told_when_it_happens(inputs: Path) -> None:
    process = start("doomed.rml", "-t", "-")
    assert process.stdin and process.stdout
    process.stdin.write('{"e":"a"}\n')
    assert process.stdout.readline() == "BROKEN      doomed.rml on <stdin> at event 1\n"
    assert process.stdout.readline().startswith("  lost      at event 1: ")
    code, out, err = finish(process)
    assert (code, err) == (1, "")
    assert "BROKEN" not in out  # once is enough
    assert "\n1 broken, 0 accepted (1 law, 1 trace, 1 event)\n" in out


@pytest.mark.parametrize("laws", [["one.rml"], ["one.rml", "files.rml"]], ids=["decided", "undecided"])
def test_a_stream_is_left_with_first(laws: list[str], inputs: Path) -> None:
    process = start(*laws, "--first", "-t", "-")
    assert process.stdin and process.stdout
    process.stdin.write(lines([opened(1), opened(2)]))
    out = process.stdout.read()  # to its end, with standard input still open
    assert "BROKEN      one.rml on <stdin> at event 2\n" in out
    assert "<stdin>: reading stopped after 2 events: " in out
    assert finish(process)[0] == 1


@pytest.mark.parametrize("law", ["doomed.rml", "quick.rml"], ids=["broken", "true"])
def test_a_stream_is_read_to_its_end_when_all_is_decided(law: str, inputs: Path) -> None:
    process = start(law, "-t", "-")
    assert process.stdin and process.stdout
    process.stdin.write('{"e":"a"}\n{"e":"z"}\n' if law == "doomed.rml" else '{"e":"a"}\n')
    if law == "doomed.rml":
        assert process.stdout.readline() == "BROKEN      doomed.rml on <stdin> at event 1\n"
    for _ in range(30):  # more than a pipe holds: somebody must read it
        process.stdin.write("no event at all, " * 1000 + "\n")
    code, out, err = finish(process)
    assert (code, err) == (1 if law == "doomed.rml" else 0, "")
    events = "2 events" if law == "doomed.rml" else "1 event"
    assert f"<stdin>: judging stopped after {events}: every law was decided\n" in out


def test_json_from_a_stream_comes_alone(inputs: Path) -> None:
    process = start("files.rml", "-t", "-", "--format", "json")
    assert process.stdin
    process.stdin.write(lines(BAD))
    code, out, err = finish(process)
    assert (code, err) == (1, "")
    report = json.loads(out)
    assert report["laws"][0]["rejected_at"] == 6
    assert [seen["number"] for seen in report["findings"][0]["history"]] == [1, 3, 5]


def test_an_interruption_tells_what_was_decided(inputs: Path) -> None:
    process = start("files.rml", "doomed.rml", "-t", "bad.jsonl", "-t", "-")
    assert process.stdin and process.stdout
    process.stdin.write(lines(GOOD[:1]))
    wait_for(process.stdout.readline, "BROKEN      doomed.rml on <stdin> at event 1\n")
    process.send_signal(signal.SIGINT)
    process.wait(30)
    code, _, err = finish(process)
    assert code == 130
    assert err == (
        "undecided   files.rml on <stdin>\n            currently_false after 1 event\ninterrupted after 8 events\n"
    )


def test_an_interruption_after_one_event(inputs: Path) -> None:
    process = start("doomed.rml", "-t", "-")
    assert process.stdin and process.stdout
    process.stdin.write('{"e":"a"}\n')
    wait_for(process.stdout.readline, "  lost ")
    process.send_signal(signal.SIGINT)
    process.wait(30)
    assert finish(process)[2].endswith("interrupted after 1 event\n")


def test_an_interruption_leaves_no_half_json(inputs: Path) -> None:
    process = start("guard.rml", "-t", "guard.jsonl", "-t", "-", "--format", "json")
    assert process.stderr
    wait_for(process.stderr.readline, "warning[law-data]: ")  # the first trace is done
    process.send_signal(signal.SIGINT)
    process.wait(30)
    code, out, err = finish(process)
    assert (code, out) == (130, "")
    assert err.startswith("BROKEN      guard.rml on guard.jsonl at event 1\n")
    assert err.endswith("interrupted after 2 events\n")


def wait_for(next_line: Callable[[], str], *wanted: str) -> None:
    for line in iter(next_line, ""):
        if line.startswith(wanted):
            return
    raise AssertionError(f"no line begins with {wanted}")


def test_nothing_slow_is_imported(inputs: Path) -> None:
    for form in ("text", "json"):
        program = (
            "import sys; from lawful.cli.main import main;"
            f"main(['check', 'files.rml', '-t', 'bad.jsonl', '--format', '{form}']);"
            "bad = {'rich', 'zstandard', 'asyncio', 'lawful.cli.trace', 'lawful.cli.progress'} & set(sys.modules);"
            "sys.exit(f'imported: {bad}' if bad else 0)"
        )
        done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60)
        assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.parametrize("form", ["text", "json", "html", "sarif", "junit", "github"])
def test_the_tracer_is_not_imported(form: str, inputs: Path) -> None:
    program = (
        "import sys; from lawful.cli.main import main;"
        f"main(['check', 'files.rml', '-t', 'bad.jsonl', '--format', '{form}']);"
        "bad = [name for name in sys.modules if name.startswith('lawful.sources.python')];"
        "sys.exit(f'imported: {bad}' if bad else 0)"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stderr) == (0, "")


def in_source(event: Event, line: int) -> Event:
    return event | {"file": "app.py", "line": line}


def test_what_the_source_or_the_project_ignores_is_no_finding(inputs: Path, capsys: Capture) -> None:
    events = [in_source(opened(1), 1), in_source(closed(1), 2), in_source(read(1), 3), in_source(read(1), 4)]
    (inputs / "late.jsonl").write_text(lines(events))
    assert main(["check", "files.rml", "-t", "late.jsonl"]) == 1
    capsys.readouterr()
    (inputs / "app.py").write_text("f = open()\nf.close()\nf.read()  # lawful: ignore[files]\nf.read()\n")
    report = check_json(capsys, "files.rml", "-t", "late.jsonl")
    assert [(each["file"], each["line"]) for each in report["findings"]] == [("app.py", 4)]
    assert (report["suppressed"], report["laws"][0]["rejected_at"]) == (1, 3)
    (inputs / "pyproject.toml").write_text('[tool.lawful]\nignore = ["files: app.py"]\n')
    assert main(["check", "files.rml", "-t", "late.jsonl"]) == 0
    assert "late.jsonl: 2 violations ignored, as the source or the project asks\n" in capsys.readouterr().out


def test_the_findings_of_check_and_run_are_the_same(inputs: Path, capsys: Capture) -> None:
    events = [in_source(opened(1), 1), in_source(closed(1), 2), *[in_source(read(1), 3)] * 5, in_source(read(2), 4)]
    (inputs / "late.jsonl").write_text(lines(events))
    found = check_json(capsys, "files.rml", "-t", "late.jsonl")["findings"]
    run = LawRun([load_law("files.rml")])
    run.deliver(events)
    run.end()
    assert [{**each.to_json(), "trace": "late.jsonl"} for each in run.findings] == [
        {key: value for key, value in each.items() if key not in ("message", "mark")} for each in found
    ]
    assert [(each["line"], each["count"]) for each in found] == [(3, 5), (4, 1)]


class Usage(NamedTuple):
    events: int
    kilobytes: int


def memory_for(events: int) -> Usage:
    """The peak memory of a check of a stream of so many events, with one file open at a time."""
    program = (
        "import resource, sys; from lawful.cli.main import main;"
        "code = main(['check', 'files.rml', '-t', '-', '--format', 'json', '--output', 'report.json']);"
        "print(code, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)"
    )
    process = subprocess.Popen(
        [sys.executable, "-c", program], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=1 << 16
    )
    assert process.stdin and process.stdout
    for number in range(events // 10):
        process.stdin.write(lines([opened(number), *[read(number)] * 8, closed(number)]))
    out, _ = process.communicate(timeout=300)
    code, kilobytes = map(int, out.split())
    assert code == 0
    return Usage(json.loads(Path("report.json").read_text())["events"], kilobytes)


def test_memory_does_not_grow_with_the_trace(inputs: Path) -> None:
    short, long = memory_for(20_000), memory_for(120_000)
    assert (short.events, long.events) == (20_000, 120_000)
    # A hundred thousand events decoded take some 40 MB.
    assert long.kilobytes < short.kilobytes + 8_000


@pytest.mark.skipif(not hasattr(os, "openpty"), reason="no pseudo-terminals here")
def test_colour_on_a_terminal_only(inputs: Path) -> None:
    main_end, child_end = os.openpty()
    environment = {name: value for name, value in os.environ.items() if name != "NO_COLOR"} | {"TERM": "xterm-256color"}
    done = subprocess.run(
        [sys.executable, "-m", "lawful", "check", "files.rml", "-t", "bad.jsonl"],
        stdout=child_end,
        stderr=subprocess.PIPE,
        env=environment,
        timeout=60,
    )
    os.close(child_end)
    shown = os.read(main_end, 1 << 16).decode()
    os.close(main_end)
    assert (done.returncode, done.stderr) == (1, b"")
    assert "\x1b[1;31mBROKEN" in shown
