"""`--baseline`, `--update-baseline` and `lawful baseline update`."""

from __future__ import annotations

import io
import json
from pathlib import Path
from types import SimpleNamespace

import pytest

from cli.hosted import USE, hosted
from cli.test_formats import CHECK, folder, trace
from lawful.cli.main import main, runs_program

__all__ = ["folder"]
Capture = pytest.CaptureFixture[str]


def known(path: Path) -> list[dict[str, object]]:
    found: list[dict[str, object]] = json.loads(path.read_text())["findings"]
    return found


def test_check_hides_what_is_known(folder: Path, capsys: Capture) -> None:
    assert main([*CHECK, "--update-baseline"]) == 0
    out, err = capsys.readouterr()
    assert out.startswith("BROKEN")  # that is the last time that it is told
    assert "0 broken, 0 accepted, 1 known and hidden (1 law, 1 trace, 7 events)" in out
    assert err == "lawful-baseline.json: 1 finding is known from now on\n"
    assert main([*CHECK, "--baseline", "lawful-baseline.json"]) == 0
    assert capsys.readouterr().out == "0 broken, 0 accepted, 1 known and hidden (1 law, 1 trace, 7 events)\n"
    assert main([*CHECK, "--baseline", "lawful-baseline.json", "--quiet"]) == 0
    assert capsys.readouterr() == ("", "")


def test_json_says_what_was_hidden(folder: Path, capsys: Capture) -> None:
    assert main([*CHECK, "--update-baseline", "--format", "json"]) == 0
    report = json.loads(capsys.readouterr().out)
    assert (report["laws"][0]["accepted"], report["findings"]) == (False, [])
    assert report["baseline"]["hidden"] == 1
    assert report["baseline"]["known"] == known(folder / "lawful-baseline.json")
    assert len(report["baseline"]["known"]) == 1


@pytest.mark.parametrize("form", ["sarif", "junit", "github", "html"])
def test_other_formats_leave_it_out(form: str, folder: Path, capsys: Capture) -> None:
    assert main([*CHECK, "--update-baseline"]) == 0
    capsys.readouterr()
    assert main([*CHECK, "--baseline", "lawful-baseline.json", "--format", form]) == 0
    out = capsys.readouterr().out
    if form == "sarif":
        assert json.loads(out)["runs"][0]["results"] == []
    elif form == "junit":
        assert 'failures="0"' in out.splitlines()[1]
    else:
        assert "known" in out
        assert "::error" not in out


def test_a_second_violation_is_new(folder: Path, capsys: Capture) -> None:
    assert main([*CHECK, "--update-baseline"]) == 0
    capsys.readouterr()
    (folder / "again.jsonl").write_bytes(Path(CHECK[-1]).read_bytes())
    assert main([*CHECK, "again.jsonl", "--baseline", "lawful-baseline.json"]) == 1
    out = capsys.readouterr().out
    assert "BROKEN" in out
    assert "1 broken, 0 accepted, 1 known and hidden" in out


def test_a_stream_does_not_tell_what_is_known(folder: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch) -> None:
    assert main([*CHECK, "--update-baseline"]) == 0
    capsys.readouterr()
    content = Path(CHECK[-1]).read_bytes()
    monkeypatch.setattr("sys.stdin", SimpleNamespace(buffer=io.BytesIO(content), fileno=lambda: -1))
    assert main([*CHECK[:3], "-", "--baseline", "lawful-baseline.json", "--quiet"]) == 0
    assert capsys.readouterr().out == ""


def test_run_hides_what_is_known_also_when_lines_move(folder: Path) -> None:
    first = hosted(folder, "run", "--law", "files", "--update-baseline", "use.py")
    assert (first.out, first.code) == ("closed\n", 0)
    assert first.err.startswith("lawful: lawful-baseline.json: 1 finding is known from now on\n0 findings, 1 known")
    (folder / "use.py").write_text("# a line\n\n" + USE)
    moved = hosted(folder, "run", "--law", "files", "--baseline", "lawful-baseline.json", "use.py")
    assert moved.code == 0
    assert moved.err.startswith("0 findings, 1 known and hidden in ")
    (folder / "use.py").write_text(
        USE
        + "\ndef again():\n    f.closed or f.write('x')\n    f.read()\n\ntry:\n    again()\nexcept ValueError: pass\n"
    )
    more = hosted(folder, "run", "--law", "files", "--baseline", "lawful-baseline.json", "use.py")
    assert more.code == 1
    assert more.err.startswith("use.py:10: files/use-after-close")


def test_the_configuration_names_it(folder: Path, capsys: Capture) -> None:
    (folder / "pyproject.toml").write_text('[tool.lawful]\nbaseline = "sub/known.json"\n')
    (folder / "sub").mkdir()
    result = hosted(folder, "run", "--law", "files", "use.py")
    assert result.code == 2
    assert "error[baseline-not-found]" in result.err
    assert hosted(folder, "run", "--law", "files", "--update-baseline", "use.py").code == 0
    assert len(known(folder / "sub" / "known.json")) == 1
    assert hosted(folder, "run", "--law", "files", "use.py").code == 0
    assert main(CHECK) == 1
    assert "BROKEN" in capsys.readouterr().out


def test_learn_hides_what_is_known(folder: Path, capsys: Capture) -> None:
    name = trace(folder)
    assert main(["learn", name, "--format", "json", "-o", "r.json"]) == 1
    assert main(["baseline", "update", "r.json"]) == 0
    capsys.readouterr()
    assert main(["learn", name, "--baseline", "lawful-baseline.json"]) == 0
    out = capsys.readouterr().out
    assert out.startswith("0 anomalies")
    assert "known and hidden" in out.splitlines()[0]
    for form in ("json", "html"):
        assert main(["learn", name, "--baseline", "lawful-baseline.json", "--format", form]) == 0
        out = capsys.readouterr().out
        if form == "json":
            assert json.loads(out)["anomalies"] == []
            assert json.loads(out)["baseline"]["hidden"] > 0
        else:
            assert "Nothing was found." in out
    # Known at another place, it is new at this one.
    path = folder / "lawful-baseline.json"
    path.write_text(path.read_text().replace('"places": ["a.py"]', '"places": ["b.py"]'))
    assert main(["learn", name, "--baseline", "lawful-baseline.json"]) == 1


def test_update_reads_reports_of_every_command(folder: Path, capsys: Capture) -> None:
    assert main([*CHECK, "-o", "check.json"]) == 1
    assert main(["learn", trace(folder), "-o", "learn.json"]) == 1
    assert hosted(folder, "run", "--law", "files", "-o", "run.json", "use.py").code == 1
    capsys.readouterr()
    assert main(["baseline", "update", "check.json", "learn.json", "run.json", "--baseline", "k.json"]) == 0
    found = known(folder / "k.json")
    assert capsys.readouterr().out == f"k.json: {len(found)} findings are known from now on\n"
    assert {str(each["law"]) for each in found} == {"files.rml", "learned", "files/use-after-close"}


def test_update_replaces_or_adds(folder: Path, capsys: Capture) -> None:
    assert main([*CHECK, "-o", "check.json"]) == 1
    assert hosted(folder, "run", "--law", "files", "-o", "run.json", "use.py").code == 1
    assert main(["baseline", "update", "check.json"]) == 0
    assert main(["baseline", "update", "--add", "run.json"]) == 0
    assert len(known(folder / "lawful-baseline.json")) == 2
    assert main(["baseline", "update", "run.json"]) == 0
    assert len(known(folder / "lawful-baseline.json")) == 1


def test_update_keeps_what_a_baseline_had_hidden(folder: Path) -> None:
    assert main([*CHECK, "--update-baseline"]) == 0
    before = (folder / "lawful-baseline.json").read_text()
    assert main([*CHECK, "--baseline", "lawful-baseline.json", "-o", "check.json"]) == 0
    assert main(["baseline", "update", "check.json"]) == 0
    assert (folder / "lawful-baseline.json").read_text() == before


def test_update_can_run_a_command(folder: Path, capsys: Capture) -> None:
    result = hosted(folder, "baseline", "update", "run", "--law", "files", "use.py")
    assert (result.out, result.code) == ("closed\n", 0)
    assert len(known(folder / "lawful-baseline.json")) == 1
    assert main(["baseline", "update", *CHECK, "--baseline", "other.json"]) == 0
    assert len(known(folder / "other.json")) == 1


def test_a_program_of_a_baseline_is_a_host() -> None:
    assert runs_program(["run", "app.py"])
    assert runs_program(["baseline", "update", "run", "app.py"])
    assert not runs_program(["baseline", "update", "run.json"])
    assert not runs_program(["check", "run"])


@pytest.mark.parametrize(
    ("words", "slug"),
    [
        (["baseline", "update", "gone.json"], "file"),
        (["baseline", "update", "use.py"], "baseline-report"),
        (["baseline", "update", "pyproject.toml"], "baseline-report"),
        (["baseline", "update", "empty.json"], "baseline-report"),
        (["baseline", "update"], "usage"),
        ([*CHECK, "--baseline", "gone.json"], "baseline-not-found"),
        ([*CHECK, "--baseline", "use.py"], "baseline-bad"),
        ([*CHECK, "--baseline", "."], "file"),
        ([*CHECK, "--update-baseline", "--baseline", "no/such/folder.json"], "file"),
        ([*CHECK, "--baseline", "empty.json", "-o", "empty.json"], "usage"),
        ([*CHECK, "--update-baseline", "--baseline", "use.py"], "baseline-bad"),
        (["learn", "t.jsonl", "--update-baseline", "--baseline", "t.jsonl"], "baseline-bad"),
        (["baseline", "update", "empty.json", "--baseline", "use.py"], "baseline-bad"),
    ],
)
def test_what_is_wrong_is_told(words: list[str], slug: str, folder: Path, capsys: Capture) -> None:
    (folder / "empty.json").write_text("{}")
    (folder / "t.jsonl").write_text('{"event":"func_pre","name":"f","targetId":1}\n')
    before = {path.name: path.read_bytes() for path in folder.iterdir() if path.is_file()}
    assert main(words) == 2
    assert capsys.readouterr().err.startswith(f"error[{slug}]: ")
    assert {path.name: path.read_bytes() for path in folder.iterdir() if path.is_file()} == before


@pytest.mark.parametrize("old", ["", "\n", '{"lawful-baseline": 99}', '<<<<<<< HEAD\n{"lawful-baseline": 1,\n'])
def test_a_baseline_that_is_damaged_is_written_anew(old: str, folder: Path, capsys: Capture) -> None:
    (folder / "k.json").write_text(old)
    main([*CHECK, "--update-baseline", "--baseline", "k.json"])
    assert "known from now on" in capsys.readouterr().err
    assert main([*CHECK, "--baseline", "k.json"]) == 0


def test_a_baseline_that_cannot_be_written_is_told_and_the_report_comes(folder: Path) -> None:
    (folder / "use.py").write_text(f"import os\nos.rmdir('gone')\n{USE}")
    (folder / "gone").mkdir()
    result = hosted(folder, "run", "--law", "files", "--update-baseline", "--baseline", "gone/k.json", "use.py")
    assert "the baseline is not written" in result.err
    assert "use.py:6: files/use-after-close" in result.err or "1 finding" in result.err
