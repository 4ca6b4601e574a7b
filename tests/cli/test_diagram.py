"""``lawful check --set diagram=...``: which files it writes, and what it says about them."""

from __future__ import annotations

import io
import json
import xml.etree.ElementTree as ET
from pathlib import Path
from typing import Any

import pytest

from lawful.cli.main import main

Capture = pytest.CaptureFixture[str]

VIEW = """\
view Doors specifies House { send Door.open(Int n) open, send Door.close(Int n) close }
S ::= epsilon | open T (T.n = open.n;)
T ::= close {assert close.n == T.n;} S
"""
RML = """\
open matches {name:'Door.open'};
Main = open*;
"""


def message(name: str, number: int, group: int = 1) -> dict[str, Any]:
    return {
        "event": "send",
        "name": f"Door.{name}",
        "group": "House",
        "groupId": group,
        "targetId": 4,
        "args": [number],
    }


TRACES = {
    "good.jsonl": [message("open", 3), message("close", 3)],
    "bad.jsonl": [message("open", 3), message("close", 3), message("open", 7), message("close", 8)],
    "open.jsonl": [message("open", 3), message("open", 5, 2), message("close", 5, 2)],
    "twice.jsonl": [message("close", 1)],
    "long.jsonl": [*[message("open", 1), message("close", 1)] * 50, message("close", 1)],
}


@pytest.fixture(autouse=True)
def inputs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    Path("doors.view").write_text(VIEW)
    Path("other.view").write_text(VIEW)
    Path("doors.rml").write_text(RML)
    for name, events in TRACES.items():
        Path(name).write_text("".join(json.dumps(event) + "\n" for event in events))
    return tmp_path


def written(inputs: Path) -> set[str]:
    return {each.name for each in inputs.iterdir()} - set(TRACES) - {"doors.view", "other.view", "doors.rml"}


def labels(svg: str) -> list[str]:
    texts = ET.fromstring(Path(svg).read_text(encoding="utf-8")).iter("{http://www.w3.org/2000/svg}text")
    return ["".join(each.itertext()) for each in texts]


def test_a_violation_is_drawn_and_reported(inputs: Path, capsys: Capture) -> None:
    assert main(["check", "doors.view", "-t", "bad.jsonl", "--set", "diagram=out.svg"]) == 1
    out, err = capsys.readouterr()
    assert err == ""
    assert "  found     T.n is 7, close.n is 8\n" in out
    assert "  diagram   out.svg\n  earlier   #1 " in out
    assert out.endswith("1 broken, 0 accepted (1 law, 1 trace, 4 events)\n2 findings (2 violations)\n")
    assert written(inputs) == {"out.svg", "out-2.svg"}
    assert labels("out-2.svg")[0] == "Doors is broken by House 1 at the end"
    found = labels("out.svg")
    assert "Doors is broken by House 1 at event 4" in found
    assert found.count("open open(3)") == 1 and "close close(8)" in found and "close.n == T.n" in found


@pytest.mark.parametrize("suffix", [".mmd", ".md", ".MD"])
def test_mermaid(suffix: str, capsys: Capture) -> None:
    assert main(["check", "doors.view", "-t", "bad.jsonl", "--set", f"diagram=out{suffix}"]) == 1
    assert f"  diagram   out{suffix}\n" in capsys.readouterr().out
    text = Path(f"out{suffix}").read_text(encoding="utf-8")
    assert "sequenceDiagram\n" in text and "p0-xp1: (4) close close(8)\n" in text
    assert ("```mermaid" in text) is (suffix != ".mmd")


def test_nothing_to_draw(inputs: Path, capsys: Capture) -> None:
    assert main(["check", "doors.view", "-t", "good.jsonl", "--set", "diagram=out.svg"]) == 0
    assert capsys.readouterr().err == "no trace broke a view, so Lawful did not write out.svg\n"
    # A law of another kind is no view.
    assert main(["check", "doors.rml", "-t", "good.jsonl", "--set", "diagram=out.svg", "--format", "json"]) == 1
    out, err = capsys.readouterr()
    assert err == "no trace broke a view, so Lawful did not write out.svg\n"
    assert not any("diagram" in each or "rejection" in each for each in json.loads(out)["findings"])
    assert main(["check", "doors.view", "-t", "good.jsonl", "--set", "diagram=out.svg", "-q"]) == 0
    assert capsys.readouterr() == ("", "")
    assert written(inputs) == set()


def test_each_violation_has_a_file(inputs: Path, capsys: Capture) -> None:
    args = ["check", "doors.view", "doors.rml", "other.view", "-t", "bad.jsonl", "good.jsonl", "open.jsonl"]
    assert main([*args, "--set", "diagram=out.svg"]) == 1
    names = [line.split()[1] for line in capsys.readouterr().out.splitlines() if line.startswith("  diagram")]
    assert names == ["out.svg", *(f"out-{number}.svg" for number in range(2, 7))]
    assert written(inputs) == set(names)
    places = ["at event 4", "at the end", "at event 4", "at the end", "at the end", "at the end"]
    assert [labels(name)[0] for name in names] == [f"Doors is broken by House 1 {place}" for place in places]
    assert [labels(name)[1] for name in names] == [
        *["doors.view on bad.jsonl"] * 2, *["other.view on bad.jsonl"] * 2,
        "doors.view on open.jsonl", "other.view on open.jsonl",
    ]  # fmt: skip


def test_numbers_pass_over_what_is_read(inputs: Path, capsys: Capture) -> None:
    trace = Path("bad.jsonl").rename("t-2.md")
    before = trace.read_text()
    assert main(["check", "doors.view", "-t", "t-2.md", "open.jsonl", "--set", "diagram=t.md"]) == 1
    assert written(inputs) == {"t-2.md", "t.md", "t-3.md", "t-4.md"}
    assert trace.read_text() == before
    assert "  diagram   t-3.md\n" in capsys.readouterr().out


def test_history(capsys: Capture) -> None:
    def messages(*args: str) -> int:
        main(["check", "doors.view", "-t", "long.jsonl", "--set", "diagram=out.mmd", *args])
        return Path("out.mmd").read_text().count("p0->>p1")

    assert messages() == 20
    assert capsys.readouterr().out.count('"name":"Door.') == 1 + 10
    assert [messages("--set", f"history={number}") for number in ("0", "3", "100", "200")] == [0, 3, 100, 100]


def test_json(capsys: Capture) -> None:
    assert (
        main(["check", "doors.view", "-t", "bad.jsonl", "open.jsonl", "--set", "diagram=o.svg", "--format", "json"])
        == 1
    )
    first, at_end, second = json.loads(capsys.readouterr().out)["findings"]
    assert [each["diagram"] for each in (first, at_end, second)] == ["o.svg", "o-2.svg", "o-3.svg"]
    assert at_end["rejection"]["values"] == {"T.n": 7}
    assert first["note"] == "T.n is 7, close.n is 8" and "note" not in second
    assert first["rejection"] == {
        "group": 1,
        "message": "close",
        "position": "T ::= close S",
        "assertion": "close.n == T.n",
        "where": "doors.view:3:21",
        "reason": None,
        "values": {"T.n": 7, "close.n": 8},
    }
    assert second["rejection"]["message"] is None and second["rejection"]["values"] == {"T.n": 3}


def test_a_stream(inputs: Path, monkeypatch: pytest.MonkeyPatch, capsys: Capture) -> None:
    # What follows the violation is more than is kept of a stream.
    events = [*TRACES["bad.jsonl"], *[message("open", 1, 9), message("close", 1, 9)] * 20_000]
    data = "".join(json.dumps(event) + "\n" for event in events).encode()
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(data)))
    assert main(["check", "doors.view", "-t", "-", "--set", "diagram=out.mmd"]) == 1
    assert "  diagram   out.mmd\n" in capsys.readouterr().out
    assert Path("out.mmd").read_text().count("p0->>p1") == 3
    assert written(inputs) == {"out.mmd", "out-2.mmd"}


def test_a_deep_value(capsys: Capture) -> None:
    deep: Any = []
    for _ in range(900):
        deep = [deep]
    event = message("open", 1) | {"args": [deep]}
    Path("deep.jsonl").write_text(json.dumps(event) + "\n" + json.dumps(message("close", 1)) + "\n")
    assert main(["check", "doors.view", "-t", "deep.jsonl", "--set", "diagram=out.svg", "--format", "json"]) == 1
    assert json.loads(capsys.readouterr().out)["findings"][0]["rejection"]["assertion"] == "close.n == T.n"
    assert any("…" in label for label in labels("out.svg"))


@pytest.mark.parametrize(
    ("args", "slug", "said"),
    [
        (["--set", "diagram=out.png"], "usage", "out.png: the name of a diagram ends in .svg, .mmd or .md"),
        (["--set", "diagram=out"], "usage", "out: the name of a diagram ends in .svg, .mmd or .md"),
        (["--set", "diagram=no/where/out.svg"], "file", "no/where/out.svg: no file can be written there"),
        (
            ["--set", "diagram=x.md", "--output", "x.md"],
            "usage",
            "x.md: the diagram would overwrite a file that is needed",
        ),
        (["--set", "diagram=x.svg", "--confidence", "0.9"], "usage", "diagrams and sampling cannot be combined"),
    ],
)
def test_wrong_usage(args: list[str], slug: str, said: str, inputs: Path, capsys: Capture) -> None:
    assert main(["check", "doors.view", "-t", "bad.jsonl", *args]) == 2
    out, err = capsys.readouterr()
    assert out == "" and err.startswith(f"error[{slug}]: {said}\n")
    assert written(inputs) == set()


def test_a_trace_is_not_overwritten(inputs: Path, capsys: Capture) -> None:
    Path("bad.jsonl").rename("bad.md")
    assert main(["check", "doors.view", "-t", "bad.md", "--set", "diagram=bad.md"]) == 2
    assert capsys.readouterr().err.startswith("error[usage]: bad.md: ")
    assert Path("bad.md").read_text().startswith("{")
