"""``lawful confidence``: each of samples, confidence and error rate from the others; plots; bad input."""

from __future__ import annotations

import json
import xml.etree.ElementTree as ET
from fractions import Fraction
from pathlib import Path

import pytest

from cli.gold_files import assert_gold
from confidence.exact import at_most
from lawful.cli.main import main
from lawful.confidence.statistics import upper_bound

GOLD = Path(__file__).parent / "gold" / "confidence"

Capture = pytest.CaptureFixture[str]


def told(words: str, capsys: Capture) -> list[str]:
    assert main(["confidence", *words.split()]) == 0
    shown = capsys.readouterr()
    assert shown.err == ""
    return shown.out.splitlines()


def test_the_papers_number_stands_alone_on_the_first_line(capsys: Capture) -> None:
    lines = told("--epsilon 1e-5 --delta 1e-5", capsys)
    assert lines[0] == "1151287"
    assert lines[1:] == [
        "1,151,287 clean samples show, with 99.999 % confidence, that fewer than 1 in 100,000 objects break the law."
    ]


@pytest.mark.parametrize(
    "words",
    [
        "--error-rate 1e-5 --confidence 0.99999",
        "--error-rate 0.001% --confidence 99.999%",
        "--error-rate 0.00100% --delta 0.001%",
        "--epsilon 0.00001 --confidence .99999",
    ],
)
def test_other_ways_to_say_it(words: str, capsys: Capture) -> None:
    assert told(words, capsys)[0] == "1151287"


def test_with_violations_by_definition(capsys: Capture) -> None:
    samples = int(told("--epsilon 0.1 --delta 0.05 --violations 2", capsys)[0])
    rate, size = Fraction(1, 10), Fraction(1, 20)
    assert at_most(samples, 2, rate) <= size < at_most(samples - 1, 2, rate)
    confidence = Fraction(told("--epsilon 0.1 --samples 50 --violations 2", capsys)[0])
    assert 0 <= 1 - at_most(50, 2, rate) - confidence < Fraction(1, 10**6)
    bound = Fraction(told("--delta 0.05 --samples 50 --violations 2", capsys)[0])
    assert at_most(50, 2, bound) <= size < at_most(50, 2, bound * (1 - Fraction(1, 10**4)))


def test_numbers_are_on_the_safe_side(capsys: Capture) -> None:
    for n in range(1, 40):
        bound = float(told(f"--confidence 0.99 --samples {n}", capsys)[0])
        assert bound >= upper_bound(n, 0, 0.01)
        confidence = Fraction(told(f"--epsilon 0.3 --samples {n}", capsys)[0])
        assert confidence <= 1 - Fraction(7, 10) ** n
    assert told("--epsilon 0.5 --samples 1e18", capsys)[0] == "0.999999999999999"


def test_one_sample_is_one(capsys: Capture) -> None:
    assert told("--epsilon 0.5 --samples 1", capsys)[1].startswith("1 clean sample gives 50 %")
    assert told("--delta 0.5 --samples 1", capsys)[1].startswith("1 clean sample shows, with 50 %")
    assert told("--epsilon 0.9 --delta 0.9", capsys)[1].startswith("1 clean sample shows, with 10 %")


def test_many_samples_are_exactly_as_many_as_was_said(capsys: Capture) -> None:
    (line,) = told("--epsilon 0.5 --samples 1e30 --format json", capsys)
    assert json.loads(line)["samples"] == 10**30


@pytest.mark.parametrize(
    ("words", "hint"),
    [
        ("--confidence 2 --samples 9", "write 0.999 or 99.9%"),
        ("--delta 2 --samples 9", "it is what confidence lacks to 1: "),
        ("--error-rate 2 --samples 9", "0.00001 or 1e-5 is one in a hundred thousand"),
        ("--error-rate 0.1 --samples 1e400", "at most 1e300"),
    ],
)
def test_hints(words: str, hint: str, capsys: Capture) -> None:
    assert main(["confidence", *words.split()]) == 2
    assert f"hint: {hint}" in capsys.readouterr().err


@pytest.mark.parametrize("samples", ["1000000", "1_000_000", "1e6", "+1000000", "1000000.0"])
def test_ways_to_write_a_number_of_samples(samples: str, capsys: Capture) -> None:
    assert told(f"--epsilon 1e-6 --samples {samples}", capsys)[1].startswith("1,000,000 clean samples give 63 %")


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ("--epsilon 1e-5 --delta 1e-5", {"asked": "samples", "samples": 1151287, "confidence": 0.99999}),
        ("--epsilon 0.5 --samples 2", {"asked": "confidence", "confidence": 0.75, "delta": 0.25, "violations": 0}),
        ("--confidence 0.75 --samples 2", {"asked": "error_rate", "error_rate": 0.5, "delta": 0.25}),
        ("--confidence 0.9 --samples 2 --violations 2", {"error_rate": 1.0, "violations": 2}),
        ("--epsilon 1e-30 --delta 1e-5", {"samples": 11512925464970228420089957273417}),
    ],
)
def test_json(words: str, expected: dict[str, object], capsys: Capture) -> None:
    (line,) = told(f"{words} --format json", capsys)
    found = json.loads(line)
    assert set(found) == {"asked", "error_rate", "confidence", "delta", "samples", "violations", "says"}
    for key, value in expected.items():
        assert found[key] == (pytest.approx(value) if isinstance(value, float) else value)


@pytest.mark.parametrize(
    ("gold", "words"),
    [
        ("samples", "--epsilon 1e-5 --delta 1e-5 --violations 2"),
        ("confidence", "--epsilon 1e-5 --samples 500000"),
        ("bound", "--confidence 0.99 --samples 2000 --violations 3"),
        ("nothing", "--epsilon 0.5 --samples 0"),
    ],
)
def test_plots_in_the_terminal(gold: str, words: str, capsys: Capture) -> None:
    lines = told(f"{words} --plot", capsys)
    assert max(map(len, lines[2:])) <= 80
    assert_gold("".join(f"{line}\n" for line in lines), GOLD / f"{gold}.txt")


@pytest.mark.parametrize(
    "words",
    [
        "--epsilon 1e-5 --delta 1e-5",
        "--epsilon 1e-320 --delta 1e-5",
        "--epsilon 0.5 --samples 1e18",
        "--delta 0.1 --samples 0",
        "--delta 0.1 --samples 5 --violations 5",
        "--epsilon 0.1 --samples 5 --violations 5",
        "--epsilon 0.9 --delta 0.9",
    ],
)
def test_plots_of_all_kinds(words: str, tmp_path: Path, capsys: Capture) -> None:
    target = tmp_path / "plot.svg"
    lines = told(f"{words} --plot {target}", capsys)
    assert len(lines) == 2
    assert ET.fromstring(target.read_text(encoding="utf-8")).tag.endswith("svg")
    assert any("*" in line for line in told(f"{words} --plot", capsys))


def test_a_plot_does_not_spoil_json(capsys: Capture) -> None:
    assert main("confidence --epsilon 0.1 --delta 0.1 --format json --plot".split()) == 0
    shown = capsys.readouterr()
    assert json.loads(shown.out)["samples"] == 22
    assert "Confidence that fewer than 1 in 10 objects break the law" in shown.err


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ("", "error[usage]: of error rate, confidence and samples, two are needed"),
        ("--epsilon 1e-5", "error[usage]: of error rate, confidence and samples, two are needed"),
        ("--epsilon 1e-5 --violations 1", "error[usage]: of error rate, confidence and samples, two are needed"),
        ("--epsilon 0.1 --delta 0.1 --samples 9", "error[usage]: of error rate, confidence and samples, all three"),
        ("--confidence 0.9 --delta 0.1 --samples 9", "error[usage]: --confidence and --delta say the same"),
        ("--epsilon 0 --delta 0.1", "error[confidence-range]: the error rate must be between 0 and 1, and is 0"),
        ("--epsilon 1 --delta 0.1", "error[confidence-range]: the error rate"),
        ("--epsilon -0.1 --delta 0.1", "error[confidence-range]: the error rate"),
        ("--epsilon nan --delta 0.1", "error[confidence-range]: the error rate must be between 0 and 1, and is nan"),
        ("--epsilon inf --delta 0.1", "error[confidence-range]: the error rate"),
        ("--epsilon few --delta 0.1", "error[confidence-range]: --error-rate: 'few' is no number"),
        ("--epsilon % --delta 0.1", "error[confidence-range]: --error-rate: '%' is no number"),
        ("--epsilon 0.1 --delta 1.5", "error[confidence-range]: delta must be"),
        ("--epsilon 0.1 --confidence 100%", "error[confidence-range]: the confidence must be"),
        ("--epsilon 0.1 --samples 1.5", "error[confidence-samples]: --samples: '1.5' is no whole number"),
        ("--epsilon 0.1 --samples nan", "error[confidence-samples]: --samples: 'nan' is no whole number"),
        ("--epsilon 0.1 --samples inf", "error[confidence-samples]: --samples: 'inf' is no whole number"),
        ("--epsilon 0.1 --samples -1", "error[confidence-samples]: there cannot be -1 samples"),
        ("--epsilon 0.1 --samples 3 --violations 4", "error[confidence-samples]: there are more violations than"),
        ("--epsilon 0.1 --delta 0.1 --violations -4", "error[confidence-samples]: there cannot be -4 violations"),
        ("--epsilon 0.1 --samples 1e15 --violations 4", "error[confidence-samples]: bounds with violations"),
        ("--epsilon 1e-30 --delta 0.1 --violations 4", "error[confidence-range]: no number of samples"),
        ("--epsilon 0.1 --delta 0.1 --plot x.png", "error[usage]: x.png: a plot is written as SVG"),
        ("--epsilon 0.1 --delta 0.1 --plot no/x.svg", "error[file]: no/x.svg: no file can be written there"),
        ("--epsilon 0.1 --delta 0.1 more", "error[usage]: no such command"),
    ],
)
def test_mistakes(words: str, message: str, capsys: Capture) -> None:
    assert main(["confidence", *words.split()]) == 2
    shown = capsys.readouterr()
    assert shown.out == ""
    assert shown.err.startswith(message)
    assert "hint: " in shown.err or "error[file]" in shown.err
