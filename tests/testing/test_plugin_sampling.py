"""pytest --lawful that samples: in one process and in several, with and without a store."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

THING = "class Thing:\n    def __init__(self):\n        self.x = 0\n    def up(self, n):\n        self.x += n\n"
LAW = '[[invariant]]\nname = "fine"\nclass = "thing.Thing"\nalways = "o.x >= 0"\n'
TESTS = """
import pytest
from thing import Thing

@pytest.mark.parametrize("n", range(20))
def test_it(n):
    for _ in range(30):
        t = Thing()
        t.up(1)
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for name, text in (("thing.py", THING), ("law.toml", LAW), ("test_it.py", TESTS), ("pyproject.toml", "")):
        (tmp_path / name).write_text(text)
    return tmp_path


def run(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "--lawful", *words]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=120)


def samples(text: str) -> int:
    found = re.search(r"law\.toml: fine\s+([\d,]+)", text)
    assert found is not None, text
    return int(found[1].replace(",", ""))


SURE = ("--lawful-law", "law.toml", "--lawful-confidence", "0.99", "--lawful-error-rate", "0.02")


def test_objects_are_followed_until_one_is_sure(folder: Path):
    done = run(folder, *SURE)
    assert done.returncode == 0
    assert samples(done.stdout) == 228 and "reached" in done.stdout


def test_what_workers_have_sampled_is_brought_together(folder: Path):
    done = run(folder, *SURE, "-n", "2")
    assert done.returncode == 0
    assert samples(done.stdout) >= 228 and "reached" in done.stdout


def test_a_store_is_kept_and_heeded(folder: Path):
    less = ("--lawful-law", "law.toml", "--lawful-confidence", "0.99", "--lawful-error-rate", "0.005")
    first = run(folder, *less, "--lawful-store", "s.db")
    assert samples(first.stdout) == 600 and "reached" not in first.stdout  # there are no more
    again = run(folder, *less, "--lawful-store", "s.db", "-n", "2")
    assert samples(again.stdout) >= 919 and "reached" in again.stdout


def test_what_says_nothing_is_refused(folder: Path):
    done = run(folder, "--lawful-confidence", "0.9")
    assert done.returncode == 4 and "no law to be confident of" in done.stdout + done.stderr
    done = run(folder, "--lawful-law", "law.toml", "--lawful-store", "s.db")
    assert done.returncode == 4 and "nothing is learned or sampled" in done.stdout + done.stderr
    done = run(folder, "--lawful-law", "law.toml", "--lawful-confidence", "2")
    assert done.returncode == 4 and "confidence" in done.stdout + done.stderr
    done = run(folder, "--lawful-law", "law.toml", "--lawful-set=sampling.seed=1")
    assert done.returncode == 4 and "nothing is sampled" in done.stdout + done.stderr


def followed(text: str) -> tuple[str, str]:
    found = re.search(r"objects\s+([\d,]+) seen made, ([\d,]+) followed", text)
    assert found is not None, text
    return found[1], found[2]


def test_a_policy_and_a_seed_decide_who_is_followed(folder: Path):
    (folder / "some.policy").write_text("policy some\nstart on\nstate on: sample 1 in 4\n")
    words = ("--lawful-law", "law.toml", "--lawful-set=sampling.policy=some.policy", "--lawful-set=sampling.seed=7")
    first, again = run(folder, *words), run(folder, *words)
    assert first.returncode == 0 and "(policy: on)" in first.stdout
    made, taken = followed(first.stdout)
    assert made == "600" and 100 < int(taken) < 200
    assert followed(again.stdout) == (made, taken)


def test_an_overhead_is_held_and_shares_may_be_percents(folder: Path):
    law = ("--lawful-law", "law.toml")
    done = run(folder, *law, "--lawful-confidence", "99%", "--lawful-error-rate", "2%")
    assert samples(done.stdout) == 228 and "reached" in done.stdout
    done = run(folder, *law, "--lawful-set=sampling.overhead=5%")
    assert done.returncode == 0 and "(policy: " in done.stdout
    done = run(folder, *law, "--lawful-set=sampling.overhead=5%", "--lawful-set=sampling.policy=taper")
    assert done.returncode == 4 and "an overhead and a policy cannot be combined" in done.stdout + done.stderr
    done = run(folder, *law, "--lawful-confidence", "sure")
    assert done.returncode == 4 and "lawful-confidence" in done.stdout + done.stderr


def test_the_project_can_ask_for_samples(folder: Path):
    table = "[tool.lawful.sampling]\nconfidence = 0.99\nerror-rate = 0.02\nseed = 1\n"
    (folder / "pyproject.toml").write_text(f'[tool.lawful]\nlaws = ["law.toml"]\n{table}')
    done = run(folder)
    assert done.returncode == 0 and samples(done.stdout) == 228 and "reached" in done.stdout
