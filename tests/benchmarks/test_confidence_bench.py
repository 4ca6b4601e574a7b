"""The benchmark of sampled watching runs, and prints its tables. How fast it all is, no test asks."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from functools import cache
from pathlib import Path
from xml.etree import ElementTree

import pytest

from lawful import core as cores

SCRIPT = Path(__file__).resolve().parents[2] / "benchmarks" / "confidence.py"


needs_native = pytest.mark.skipif(cores.native is None, reason="there is no C core")
CORES = (pytest.param("native", marks=needs_native), "python")
FACTORS = ("0.25", "0.5", "1", "2", "4")


def run(*options: str, core: str | None = None) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, str(SCRIPT), "--quick", *options]
    environment = os.environ if core is None else {**os.environ, "LAWFUL_CORE": core}
    return subprocess.run(command, capture_output=True, encoding="utf-8", timeout=300, env=environment)


@cache
def detected(core: str) -> str:
    done = run("--part", "detection", "--sessions", "3", core=core)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def rows(output: str, first: str) -> list[list[str]]:
    lines = re.findall(rf"^\| {first} .*\|$", output, re.MULTILINE)
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]


def test_what_is_simulated_is_found_as_often_as_the_theory_says() -> None:
    done = run("--part", "simulation")
    assert done.returncode == 0, done.stderr
    found = rows(done.stdout, "simulation")
    assert tuple(row[2] for row in found) == FACTORS
    # 1 - (1 - p)^M, with M for an error rate and a doubt of 5 %: 59
    assert [row[7] for row in found] == [f"{1 - (1 - 0.05 * factor) ** 59:.4f}" for factor in (0.25, 0.5, 1, 2, 4)]
    assert all(row[8] == "ok" for row in found)


def test_the_unwatched_program_is_measured_beside_itself() -> None:
    done = run("--part", "overhead", "--workload", "tree", "--way", "plain", "--after", "2")
    assert done.returncode == 0, done.stdout + done.stderr
    (row,) = rows(done.stdout, "a tree")
    assert row[1] == "unwatched again" and row[4] == "2" and float(row[5]) > 0


@pytest.mark.parametrize("core", CORES)
def test_what_is_planted_is_found_in_the_sessions_where_it_is_among_the_samples(core: str) -> None:
    for program in ("leakyfs", "hastyfs"):
        found = rows(detected(core), f"{program}  ")
        assert [row[1:3] for row in found] == [[name, each] for each in FACTORS for name in ("dentries", "inodes")]
        assert all(row[3] == row[9] == "3" for row in found)
        assert sum(int(row[4]) for row in found) > 0


@needs_native
def test_the_same_is_found_whichever_core_watches() -> None:
    # The seeds of the mistakes and of the coins are the same: so is what is followed, also where it is 1 in 4.
    native, python = (rows(detected(core), "(?:leaky|hasty)fs,?") for core in ("native", "python"))
    assert len(native) == 30
    assert native == python


@pytest.mark.parametrize("core", CORES)
def test_the_classes_reach_their_targets_one_after_the_other(core: str, tmp_path: Path) -> None:
    options = ["--part", "overhead", "--workload", "tree", "--way", "off", "--way", "log", "--picture", str(tmp_path)]
    done = run(*options, core=core)
    assert done.returncode == 0, done.stdout + done.stderr
    measured, reached = done.stdout.split("The run in which")
    for way in ("off at the target", "off at the target, with a log"):
        phases = [row[3:5] for row in rows(measured, "a tree") if row[1] == way]
        # In a round 26 dentries and 13 inodes live, and 59 are asked for: that is in runs 3 and 5.
        assert phases == [["all objects", "2"], ["after the first class", "1"], ["after the second", "3"]]
        assert [row[2:] for row in rows(reached, "a tree") if row[1] == way] == [
            ["dentries", "3", "59"],
            ["inodes", "5", "59"],
        ]
    picture = ElementTree.parse(tmp_path / "confidence-tree.svg").getroot()
    texts = {"".join(each.itertext()) for each in picture.iter() if each.tag.endswith("text")}
    assert {"dentries reach the target", "inodes reach the target", "off at the target, with a log"} <= texts


def test_a_fixed_share_of_the_objects_of_a_build_is_followed() -> None:
    done = run("--part", "overhead", "--workload", "build", "--way", "fixed")
    assert done.returncode == 0, done.stdout + done.stderr
    (row,) = rows(done.stdout, "a build")
    assert row[1] == "1 in 64, always" and row[4] == "3" and row[8] == "1.15"


def test_a_part_that_is_not_there_is_refused() -> None:
    done = run("--part", "nothing")
    assert done.returncode == 2
    assert "nothing" in done.stderr


def test_small_overheads_are_measured_in_pairs() -> None:
    done = run("--part", "pairs", "--workload", "tree")
    assert done.returncode == 0, done.stdout + done.stderr
    found = rows(done.stdout, "a tree")
    assert [row[1] for row in found] == ["unwatched again", "off at the target", "1 in 64, always"]
    assert all(row[2] == "4" and float(row[3]) > 0 for row in found)
    assert found[0][7] == "" and {row[7] for row in found[1:]} <= {"ok", "open", "MISSED"}
