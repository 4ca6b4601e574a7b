"""Sampling by ``lawful run`` and ``lawful check``: what is claimed, kept, drawn and refused."""

from __future__ import annotations

import fcntl
import json
import signal
import subprocess
import termios
import time
from pathlib import Path
from typing import IO, Any
from xml.etree import ElementTree

import pytest

from cli.hosted import ENVIRONMENT, LAWFUL, events, hosted

BANK = """\
import random, sys

class Account:
    def __init__(self, balance):
        self.balance = balance

def life(overdrawn):
    account = Account(10)
    account.balance -= 20 if overdrawn else 5

for number in range(int(sys.argv[1])):
    life(number % 20 == 19 and len(sys.argv) > 2)
"""
LAW = '[[invariant]]\nname = "never"\nclass = "bank.Account"\nalways = "o.balance >= 0"\n'
SURE = ("--confidence", "0.9", "--error-rate", "0.05")  # 45 clean lives


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "bank.py").write_text(BANK)
    (tmp_path / "bank.toml").write_text(LAW)
    return tmp_path


def report(folder: Path, *words: str) -> tuple[dict[str, Any], int]:
    result = hosted(folder, *words, "--format", "json", "--output", "report.json", *(["bank.py", "500"]))
    assert result.err == ""
    return json.loads((folder / "report.json").read_text()), result.code


def test_as_many_objects_are_followed_as_it_takes_and_no_more(folder: Path) -> None:
    data, code = report(folder, "run", *SURE, "--law", "bank.toml", "--trace", "log.jsonl")
    (kind,) = data["confidence"]
    (law,) = kind["laws"]
    assert code == 0
    assert (kind["class"], kind["sampled"], kind["state"]) == ("bank.Account", 45, "off")
    assert (law["samples"], law["violations"], law["claim"]) == (45, 0, "reached")
    # The trace is the log of what was checked.
    writes = [event["targetId"] for event in events(folder / "log.jsonl") if event["event"] == "field_write"]
    assert len(writes) == 2 * 45 and len(set(writes)) == 45


def test_confidence_grows_from_run_to_run(folder: Path) -> None:
    words = (
        "run",
        "--set",
        "sampling.policy=thin.policy",
        "--law",
        "bank.toml",
        "--store",
        "history.db",
        "--set",
        "sampling.seed=3",
    )
    (folder / "thin.policy").write_text("policy thin\nstart thin\nstate thin: sample 1 in 10\n")
    counts = [report(folder, *words)[0]["confidence"][0]["laws"][0]["samples"] for _ in range(3)]
    assert 0 < counts[0] < counts[1] < counts[2] < 3 * 500


def test_violations_may_be_only_counted(folder: Path) -> None:
    words = ("run", "--law", "bank.toml", "--on-violation", "count")
    few = hosted(folder, *words, "--error-rate", "0.2", "--confidence", "0.9", "bank.py", "500", "overdrawn")
    assert few.code == 0 and "0 findings" in few.err
    many = hosted(folder, *words, "--error-rate", "0.001", "--confidence", "0.9", "bank.py", "500", "overdrawn")
    assert many.code == 1 and "0 findings" in many.err and "refuted" in many.err


def test_a_violation_tells_where_the_object_was_made_and_by_whom(folder: Path) -> None:
    result = hosted(folder, "run", *SURE, "--law", "bank.toml", "bank.py", "500", "overdrawn")
    assert result.code == 1
    assert "made      bank.Account at bank.py:8" in result.err
    assert "in bank.py:8 life" in result.err and "in bank.py:12 <module>" in result.err


def test_the_picture_is_drawn(folder: Path) -> None:
    result = hosted(folder, "run", *SURE, "--law", "bank.toml", "--set", "sampling.picture=p.svg", "bank.py", "500")
    assert result.code == 0
    assert ElementTree.parse(folder / "p.svg").getroot().tag.endswith("svg")


def test_the_projects_configuration_may_ask_for_it(folder: Path) -> None:
    (folder / "pyproject.toml").write_text(
        '[tool.lawful]\nlaws = ["bank.toml"]\n[tool.lawful.sampling]\nconfidence = 0.9\nerror-rate = 0.05\n'
    )
    result = hosted(folder, "run", "bank.py", "500")
    assert result.code == 0 and "45 followed" in result.err


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ("--confidence 1", "error[confidence-range]: the confidence must be between 0 and 1"),
        ("--error-rate 0", "error[confidence-range]: the error rate must be between 0 and 1"),
        ("--confidence much", "error[confidence-range]: --confidence: 'much' is no number"),
        ("--set sampling.policy=tapr", "error[policy-unknown]"),
        ("--set sampling.policy=none.policy", "error[policy-not-found]"),
        ("--set sampling.overhead=-5%", "error[policy-overhead]"),
        (
            "--set sampling.overhead=5% --set sampling.policy=taper",
            "error[usage]: an overhead and a policy cannot be combined",
        ),
        (
            "--set sampling.picture=p.svg",
            "error[usage]: there is a picture of confidence to draw, but nothing is sampled",
        ),
        ("--confidence 0.9 --set sampling.picture=p.png", "error[usage]: p.png: the name of a picture ends in .svg"),
        ("--on-violation count", "error[usage]: violations are only counted, but nothing is sampled"),
        ("--confidence 0.9 --store bank.py", "error[store-not-ours]"),
    ],
)
def test_mistakes_are_told_before_the_program_begins(folder: Path, words: str, message: str) -> None:
    result = hosted(folder, "run", "--law", "bank.toml", *words.split(), "bank.py", "5")
    assert message in result.err
    assert (result.out, result.code) == ("", 2)
    assert "Traceback" not in result.err


def test_there_must_be_a_law_to_be_sure_of(folder: Path) -> None:
    result = hosted(folder, "run", "--confidence", "0.9", "bank.py", "5")
    assert result.code == 2 and "no law to be confident of" in result.err


def test_what_was_named_and_never_seen_is_told(folder: Path) -> None:
    (folder / "other.toml").write_text(LAW.replace("bank.Account", "bank.Acount"))
    result = hosted(folder, "run", *SURE, "--law", "other.toml", "bank.py", "5")
    assert "invariant-class-unseen" in result.err and "nothing can be said" in result.err


def test_a_trace_is_sampled_like_a_program(folder: Path) -> None:
    hosted(folder, "run", "--law", "bank.toml", "--trace", "all.jsonl", "bank.py", "500", "overdrawn")
    sampled = hosted(folder, "check", "bank.toml", "--trace", "all.jsonl", *SURE, "--format", "json")
    data = json.loads(sampled.out)
    (kind,) = data["confidence"]
    assert kind["created"] == 500
    assert sampled.code == 1 and data["violations"] == kind["laws"][0]["violations"] > 0


def test_a_trace_counts_once_in_a_store(folder: Path) -> None:
    hosted(folder, "run", "--law", "bank.toml", "--trace", "all.jsonl", "bank.py", "20")
    words = ("check", "bank.toml", "--trace", "all.jsonl", "--confidence", "0.9", "--store", "history.db")
    assert hosted(folder, *words).code == 0
    again = hosted(folder, *words)
    assert again.code == 2 and "error[store-overlap]: all.jsonl" in again.err


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ("--trace all.jsonl --first", "error[usage]: --first and sampling cannot be combined"),
        ("--trace all.jsonl all.jsonl", "error[usage]: all.jsonl: the same trace is given twice"),
        ("--trace all.jsonl copy.jsonl", "error[usage]: copy.jsonl: the same trace is given twice"),
        ("--trace all.jsonl all.jsonl --store s.db", "error[usage]: all.jsonl: the same trace is given twice"),
        ("--trace all.jsonl --set sampling.picture=p.png", "hint: pictures are SVG: --set sampling.picture=p.svg"),
        ("--trace all.jsonl --set sampling.policy=off(3)", "hint: write `off`"),
        ("--trace all.jsonl --confidence 2", "hint: write 0.999 or 99.9%"),
    ],
)
def test_what_a_check_that_samples_refuses(folder: Path, words: str, message: str) -> None:
    for name in ("all.jsonl", "copy.jsonl"):
        (folder / name).write_text('{"event": "new", "name": "bank.Account", "targetId": 1}\n')
    result = hosted(folder, "check", "bank.toml", "--error-rate", "0.1", *words.split())
    assert (result.out, result.code) == ("", 2)
    assert message in result.err


def wait_until_read(pipe: IO[str]) -> None:
    """Wait until the other side has taken all from a pipe: how long it takes to start depends on the machine."""
    unread, end = b"?", time.monotonic() + 60
    while any(unread) and time.monotonic() < end:
        time.sleep(0.1)
        unread = fcntl.ioctl(pipe, termios.FIONREAD, bytes(4))
    time.sleep(0.5)  # to judge four events; nothing can be seen of that from outside before the end


@pytest.mark.parametrize("output", [None, "report.json"])
def test_an_interrupted_check_tells_what_it_has_found(folder: Path, output: str | None) -> None:
    words = ["check", "bank.toml", *SURE, "--trace", "-", "--store", "s.db"]
    words += ["--format", "json", "--output", output] if output else []
    process = subprocess.Popen(
        [*LAWFUL, *words], cwd=folder, env=ENVIRONMENT, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
        stderr=subprocess.PIPE, text=True, bufsize=1,
    )  # fmt: skip
    assert process.stdin
    for number in (1, 2):
        write = {"event": "field_write", "name": "bank.Account.balance", "targetId": number, "res": 1 - number}
        for event in ({"event": "new", "name": "bank.Account", "targetId": number}, write):
            process.stdin.write(json.dumps(event) + "\n")
    process.stdin.flush()
    wait_until_read(process.stdin)
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=30)
    assert process.returncode == 130
    assert err.endswith("interrupted after 4 events\n") and "Traceback" not in err
    if output:
        data = json.loads((folder / output).read_text())
        assert (data["violations"], data["events"], data["traces"][0]["error"]) == (1, 4, None)
        assert (out, len(data["confidence"])) == ("", 1)
    else:
        assert out.startswith("BROKEN      bank.toml: never on <stdin> at event 4\n")  # when it happened
        assert "bank.Account: 2 created" in err or "bank.Account" in err
