"""``lawful trace``: info, head, convert."""

from __future__ import annotations

import gzip
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from lawful.cli.main import cli
from lawful.errors import TraceError

EVENTS: list[dict[str, Any]] = [
    {"event": "new", "name": "socket", "resultId": 1, "thread": 1, "time": 0.5},
    {"event": "func_pre", "name": "send", "targetId": 1, "argIds": [None, 2], "thread": 1, "time": 1.0},
    {"event": "func_post", "name": "send", "targetId": 1, "res": 3, "thread": 2, "time": 2.75},
    {"event": "func_pre", "name": "close", "targetId": 1, "thread": 2, "time": 2.5},
]


@pytest.fixture
def trace(tmp_path: Path) -> str:
    path = tmp_path / "run.jsonl"
    path.write_text("".join(json.dumps(event) + "\n" for event in EVENTS))
    return str(path)


def run(*args: str, input: bytes | None = None) -> Result:
    return CliRunner().invoke(cli, ["trace", *args], input=input)


def lines(result: Result) -> list[Any]:
    assert result.exit_code == 0, result.output
    return [json.loads(line) for line in result.stdout.splitlines()]


def test_info_as_text(trace: str) -> None:
    result = run("info", "--top", "2", trace)
    assert result.exit_code == 0
    size = os.path.getsize(trace)
    assert result.stdout == (
        f"{trace}\n"
        "  events    4\n"
        "  objects   2\n"
        "  threads   2\n"
        f"  size      {size} bytes\n"
        "  time      0.5 s to 2.75 s (2.25 s)\n"
        "  by event\n"
        "    2  func_pre\n"
        "    1  func_post\n"
        "    1  new\n"
        "  by name\n"
        "    2  send\n"
        "    1  close\n"
        "    and 1 more name (--top 0 lists all)\n"
    )
    assert result.stderr == ""


def test_info_as_json_of_several(trace: str) -> None:
    result = run("info", "--format", "json", trace, "-", input=b'{"event":7,"name":[1]}\n{"time":1%s}' % (b"0" * 400))
    assert result.exit_code == 0
    first, second = json.loads(result.stdout)["traces"]
    assert first == {
        "trace": trace,
        "events": 4,
        "bytes": os.path.getsize(trace),
        "bad_lines": 0,
        "objects": 2,
        "threads": 2,
        "time": {"first": 0.5, "last": 2.75},
        "by_event": {"func_pre": 2, "func_post": 1, "new": 1},
        "by_name": {"send": 2, "close": 1, "socket": 1},
        "names": 3,
    }
    assert second["trace"] == "<stdin>"
    assert (second["events"], second["by_event"], second["by_name"]) == (2, {"7": 1}, {"(an array)": 1})
    assert second["time"] is None


def test_info_of_nothing() -> None:
    result = run("info", "-", input=b"")
    assert result.exit_code == 0
    assert "events    0" in result.stdout


def test_names_cannot_steer_the_terminal() -> None:
    result = run("info", "-", input=b'{"event":"\\u001b[2Jx"}')
    assert "\x1b" not in result.stdout
    assert "␛[2Jx" in result.stdout


def test_head(trace: str) -> None:
    assert lines(run("head", trace)) == EVENTS
    assert lines(run("head", "-n", "2", trace)) == EVENTS[:2]
    assert lines(run("head", "-n", "0", trace)) == []
    packed = gzip.compress(json.dumps(EVENTS).encode())
    assert lines(run("head", "-n", "3", "-", input=packed)) == EVENTS[:3]


def test_head_does_not_read_on_to_a_fault_behind(tmp_path: Path) -> None:
    assert lines(run("head", "-n", "1", "-", input=b'{"a":1}\nnonsense\n')) == [{"a": 1}]


def test_head_of_a_live_stream_answers_at_once() -> None:
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)}
    process = subprocess.Popen(
        [sys.executable, "-m", "lawful", "trace", "head", "-n", "2", "-"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        env=environment,
    )
    with process:
        assert process.stdin is not None
        assert process.stdout is not None
        for number in range(2):
            process.stdin.write(b'{"a":%d}\n' % number)
            process.stdin.flush()
            assert process.stdout.readline() == b'{"a":%d}\n' % number
        # It ends although its input does not.
        assert process.wait(timeout=30) == 0


@pytest.mark.parametrize("name", ["o.jsonl", "o.json", "o.jsonl.gz", "o.json.zst"])
def test_convert(trace: str, tmp_path: Path, name: str) -> None:
    target = str(tmp_path / name)
    assert run("convert", trace, target).exit_code == 0
    assert lines(run("head", target)) == EVENTS


def test_convert_with_options(trace: str, tmp_path: Path) -> None:
    result = run("convert", "--to", "array", trace, "-")
    assert json.loads(result.stdout) == EVENTS
    result = run("convert", "--to", "values", "--compress", "gz", trace, "-")
    assert lines(run("head", "-", input=result.stdout_bytes)) == EVENTS
    assert gzip.decompress(result.stdout_bytes).startswith(b'{\n  "event": "new"')
    assert lines(run("convert", "--where", "name=send", "--where", "targetId=1", trace, "-")) == EVENTS[1:3]
    assert lines(run("convert", "--where", "argIds=[null,2]", trace, "-")) == EVENTS[1:2]
    assert lines(run("convert", "--where", "res=4", trace, "-")) == []
    assert run("convert", "--where", "name", trace, "-").exit_code == 2


def test_convert_in_place(trace: str) -> None:
    assert run("convert", "--where", "event=new", trace, trace).exit_code == 0
    assert lines(run("head", trace)) == EVENTS[:1]


@pytest.mark.parametrize("mode", [0o600, 0o640, 0o666])
def test_convert_keeps_the_permissions_of_what_it_replaces(mode: int, trace: str, tmp_path: Path) -> None:
    target = tmp_path / "out.jsonl"
    target.touch()
    for path in (str(target), trace):
        os.chmod(path, mode)
        assert run("convert", trace, path).exit_code == 0
        assert os.stat(path).st_mode & 0o777 == mode
        assert lines(run("head", path)) == EVENTS


def test_a_failed_conversion_leaves_no_file(tmp_path: Path) -> None:
    target = tmp_path / "out.jsonl"
    result = run("convert", "-", str(target), input=b'{"a":1}\nnonsense\n')
    assert isinstance(result.exception, TraceError)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("args", [["info", "-"], ["head", "-"], ["convert", "-", "-"]])
def test_bad_lines(args: list[str]) -> None:
    content = b'{"event":"new"}\nnonsense\n{"event":"gone"}\n{"cut'
    result = run(*args, input=content)
    assert isinstance(result.exception, TraceError)
    assert (result.exception.slug, result.exception.where) == ("trace-bad-json", "<stdin>:2:1")
    result = run(*args, "--skip-bad-lines", input=content)
    assert result.exit_code == 0
    assert result.stderr == "<stdin>: 2 bad lines skipped\n"
    assert "gone" in result.stdout


def test_a_missing_file(tmp_path: Path) -> None:
    result = run("info", str(tmp_path / "none"))
    assert isinstance(result.exception, TraceError)
    assert result.exception.slug == "trace-not-found"


def test_a_bar_is_shown_on_a_terminal_when_it_takes_long(
    trace: str, monkeypatch: pytest.MonkeyPatch, capsys: Any
) -> None:
    monkeypatch.setattr("lawful.cli.progress._DELAY", -1)
    monkeypatch.setattr("sys.stderr.isatty", lambda: True)
    monkeypatch.setenv("TERM", "xterm")
    cli.main(["trace", "info", "--format", "json", trace], standalone_mode=False)
    captured = capsys.readouterr()
    assert json.loads(captured.out)["traces"][0]["events"] == 4
    assert "events" in captured.err


@pytest.mark.parametrize("args", [["--help"], ["info", "--help"], ["head", "--help"], ["convert", "--help"]])
def test_help(args: list[str]) -> None:
    result = run(*args)
    assert result.exit_code == 0
    assert "..." not in result.stdout.replace("FILE...", "").replace("[ARGS]...", "")
