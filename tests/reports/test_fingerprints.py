"""What findings are known by stays when lines move, and changes when they are others."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from lawful.engine.findings import Finding
from lawful.engine.live_learning import as_finding
from lawful.engine.run import LawRun
from lawful.laws.protocol import Expectation
from lawful.reports.fingerprints import Fingerprinter, marks
from lawful.reports.sources import SourceLines
from reports.sample_reports import a_learner, a_run, files, opened, project, wrote

NOTHING = Expectation((), {})


def finding(
    line: int = 1, *, law: str = "a.rml", name: str = "f", file: str | None = "app.py", **more: object
) -> Finding:
    event = {"event": "func_pre", "name": name, "targetId": more.pop("target", 1), "time": more.pop("time", 0.0)}
    if file is not None:
        event |= {"file": file, "line": line}
    return Finding(7, event, NOTHING, None, None, law=law)


def test_they_stay_when_lines_move(tmp_path: Path) -> None:
    before = marks(a_run().findings, project(tmp_path))
    after = marks(a_run(shift=17).findings, project(tmp_path, shift=17))
    assert before == after
    assert [mark.function for mark in before] == ["work", "Keeper.keep"]
    assert len({mark.fingerprint for mark in before}) == len(before)


def test_they_stay_when_objects_times_and_places_of_laws_are_others() -> None:
    source = SourceLines("/nowhere")
    one, other = finding(target=1, time=0.5), finding(target=99, time=7.5, law="../elsewhere/a.rml")
    assert marks([one], source) == marks([other], source)


def test_files_outside_of_the_project_are_known_by_their_names() -> None:
    source = SourceLines("/nowhere")
    one, other = finding(file="/usr/lib/python3/a.py"), finding(file="/home/x/.venv/a.py")
    assert marks([one], source) == marks([other], source)


@pytest.mark.parametrize("other", [{"law": "b.rml"}, {"name": "g"}, {"file": "other.py"}, {"file": None}])
def test_they_change_with(other: dict[str, Any]) -> None:
    source = SourceLines("/nowhere")
    assert marks([finding()], source)[0].fingerprint != marks([finding(**other)], source)[0].fingerprint


def test_laws_of_the_catalogue_keep_their_areas() -> None:
    found = marks(
        [finding(law="files/use-after-close"), finding(law="archives/use-after-close")], SourceLines("/nowhere")
    )
    assert [mark.law for mark in found] == ["files/use-after-close", "archives/use-after-close"]
    assert found[0].fingerprint != found[1].fingerprint


def test_the_function_tells_places_apart(tmp_path: Path) -> None:
    (tmp_path / "app.py").write_text("def a():\n    f()\n\ndef b():\n    f()\n")
    found = marks([finding(2), finding(5)], SourceLines(tmp_path))
    assert [mark.function for mark in found] == ["a", "b"]
    assert found[0].fingerprint != found[1].fingerprint


def test_what_nothing_tells_apart_is_numbered_by_lines() -> None:
    found = marks([finding(9), finding(3), finding(5)], SourceLines("/nowhere"))
    base = found[1].fingerprint
    assert [mark.fingerprint for mark in found] == [f"{base}-3", base, f"{base}-2"]


def test_a_marker_numbers_as_they_come() -> None:
    marker = Fingerprinter(SourceLines("/nowhere"))
    assert marker.mark(finding(1), keep=False) == marker.mark(finding(1))
    assert marker.mark(finding(2)).fingerprint.endswith("-2")


def test_what_was_left_open_does_not_depend_on_how_much_history_is_shown(tmp_path: Path) -> None:
    found = []
    for history in (0, 1, 10):
        run = LawRun([files()], history=history)
        run.deliver([opened(1, 2), *(wrote(1, 3) for _ in range(20))])
        run.end()
        found.append(marks(run.findings, project(tmp_path)))
    assert found[0] == found[1] == found[2]
    assert len(found[0]) == 1


def test_an_anomaly_is_known_by_its_rule_and_places(tmp_path: Path) -> None:
    anomalies = a_learner().anomalies()
    found = marks([as_finding(each) for each in anomalies], project(tmp_path))
    assert found[0].places == ("app.py",)  # which has no line 21
    assert found[0].event == str(anomalies[0].rule)
    assert found[0].law == "learned"


def test_names_that_are_no_text() -> None:
    found = marks([finding(name="\udc80", file="\udcff.py", law="\udc80.rml")], SourceLines("/nowhere"))
    assert found[0].file == "\ufffd.py"
    assert found[0].event == "func_pre \ufffd"
