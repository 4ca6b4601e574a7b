"""`--format` and `--output` of the commands that report findings."""

from __future__ import annotations

import json
from pathlib import Path
from xml.etree import ElementTree

import pytest

from cli.hosted import USE, hosted
from lawful.cli.main import main
from reports.test_json_schema import errors

Capture = pytest.CaptureFixture[str]
RML = Path(__file__).parents[2] / "examples" / "rml"
CHECK = ["check", str(RML / "files.rml"), "--trace", str(RML / "files.rejected.6.jsonl")]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "pyproject.toml").touch()
    (tmp_path / "use.py").write_text(USE)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def trace(folder: Path) -> str:
    """Files that are closed, but for one."""
    events = []
    for number in range(1, 121):
        for name in ("open", "close") if number != 20 else ("open",):
            line = 10 if number == 20 else 3 + ["open", "close"].index(name)
            events.append(
                {"event": "func_pre", "name": f"lib.F.{name}", "targetId": number, "file": "a.py", "line": line}
            )
        events += [{"event": "func_pre", "name": "x", "targetId": 10_000 + number * 50 + k} for k in range(50)]
    (folder / "t.jsonl").write_text("".join(json.dumps(each) + "\n" for each in events))
    return "t.jsonl"


@pytest.mark.parametrize(
    ("form", "begins"),
    [
        ("text", "BROKEN "),
        ("json", '{"report":"check","schema":1,'),
        ("sarif", '{\n "$schema":'),
        ("junit", "<?xml version"),
        ("github", "::error file=app.py,line=8,title="),
        ("html", "<!DOCTYPE html>"),
    ],
)
def test_check_writes_every_format_to_standard_output_alone(
    form: str, begins: str, folder: Path, capsys: Capture
) -> None:
    assert main([*CHECK, "--format", form]) == 1
    out, err = capsys.readouterr()
    assert out.startswith(begins)
    assert out.endswith("\n")
    assert err == ""


@pytest.mark.parametrize(
    ("name", "begins"),
    [
        ("r.txt", "BROKEN "),
        ("r.json", '{"report":'),
        ("r.SARIF", '{\n "$schema":'),
        ("r.xml", "<?xml version"),
        ("r.html", "<!DOCTYPE html>"),
    ],
)
def test_the_name_of_the_report_tells_its_format(name: str, begins: str, folder: Path, capsys: Capture) -> None:
    assert main([*CHECK, "-o", name]) == 1
    assert (folder / name).read_text().startswith(begins)
    assert capsys.readouterr() == ("", "")


def test_a_format_that_is_asked_for_comes_before_the_name(folder: Path) -> None:
    assert main([*CHECK, "-o", "r.html", "--format", "json"]) == 1
    assert json.loads((folder / "r.html").read_text())["report"] == "check"


def test_there_are_no_others(capsys: Capture) -> None:
    assert main([*CHECK, "--format", "yaml"]) == 2
    assert "'html'" in capsys.readouterr().err


def test_a_sampled_check_writes_every_format(folder: Path, capsys: Capture) -> None:
    (folder / "law.toml").write_text('[[invariant]]\nclass = "a.Account"\nalways = "o.balance >= 0"\n')
    events = []
    for number in range(1, 30):
        events.append({"event": "new", "name": "a.Account", "class": "a.Account", "targetId": number})
        balance = -1 if number == 7 else 3
        events.append({"event": "field_write", "name": "a.Account.balance", "targetId": number, "res": balance})
        events.append({"event": "gone", "name": "a.Account", "targetId": number})
    (folder / "t.jsonl").write_text("".join(json.dumps(each) + "\n" for each in events))
    for form in ("json", "sarif", "junit", "github", "html"):
        assert main(["check", "law.toml", "--trace", "t.jsonl", "--confidence", "0.9", "--format", form]) == 1
        out, err = capsys.readouterr()
        assert err == ""
        if form == "json":
            assert errors(json.loads(out)) == []
        assert "law.toml" in out


def test_run_writes_every_format(folder: Path) -> None:
    begins = {"r.json": "{", "r.sarif": "{", "r.xml": "<?xml", "r.html": "<!DOCTYPE html>"}
    for name, begin in begins.items():
        result = hosted(folder, "run", "--law", "files", "-o", name, "use.py")
        assert result == ("closed\n", "", 1)
        assert (folder / name).read_text().startswith(begin)
    assert errors(json.loads((folder / "r.json").read_text())) == []
    assert ElementTree.parse(folder / "r.xml").getroot().get("failures") == "1"
    assert json.loads((folder / "r.json").read_text())["seconds"] > 0
    shown = hosted(folder, "run", "--law", "files", "--format", "github", "use.py")
    assert shown.out == "closed\n"
    assert shown.err.startswith("::error file=use.py,line=4,title=files/use-after-close::")


def test_run_with_laws_and_learning(folder: Path) -> None:
    result = hosted(folder, "run", "--law", "files", "--learn", "-o", "r.html", "use.py")
    assert result == ("closed\n", "", 1)
    assert 'id="rules"' in (folder / "r.html").read_text()


def test_learn_writes_every_format(folder: Path, capsys: Capture) -> None:
    name = trace(folder)
    for form, begin in (("sarif", "{"), ("junit", "<?xml"), ("github", "::warning file=a.py,line="), ("html", "<!DOC")):
        assert main(["learn", name, "--format", form]) == 1
        assert capsys.readouterr().out.startswith(begin)
    assert main(["learn", name, "--format", "json"]) == 1
    report = json.loads(capsys.readouterr().out)
    assert errors(report) == []
    assert report["anomalies"][0]["mark"]["places"] == ["a.py"]


def test_the_schema_is_not_toothless(folder: Path, capsys: Capture) -> None:
    assert main([*CHECK, "--format", "json"]) == 1
    report = json.loads(capsys.readouterr().out)
    assert errors(report) == []
    report["laws"][0]["verdict"] = "perhaps"
    assert errors(report)
