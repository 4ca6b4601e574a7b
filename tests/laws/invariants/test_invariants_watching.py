"""What a running program shows of its fields, on every core: the same as docs/invariants.md says."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from lawful.sources.python import tracer_choice

PROGRAM = """
import copy
import dataclasses
import enum


class Plain:
    def __init__(self):
        self.rc = 0


class Child(Plain):
    pass


class Slots:
    __slots__ = ("rc",)

    def __init__(self):
        self.rc = 0


@dataclasses.dataclass
class Data:
    rc: int = 0


class Property:
    def __init__(self):
        self._rc = 0

    @property
    def rc(self):
        return self._rc

    @rc.setter
    def rc(self, value):
        self._rc = max(value, 0)


class Bare:
    rc = 0


def lower(thing):
    thing.rc -= 1  # violation


for kind in (Plain, Child, Slots, Data, Property, Bare):
    one = kind()
    lower(one)

two = Plain()
two.rc = -1  # violation
two.rc = -2
del two.rc
two.rc = -3
two.rc = 1
two.rc = -4  # violation

Data(-1)
setattr(two, "rc", -5)
vars(two)["rc"] = -6
object.__setattr__(two, "rc", -7)
three = copy.copy(two)
three.rc = -8  # violation
Plain.rc = -9  # violation
with_text = Plain()
with_text.rc = "many"
"""

LAW = "".join(
    f'[[invariant]]\nclass = "__main__.{name}"\nalways = "o.rc >= 0"\n'
    for name in ("Plain", "Slots", "Data", "Property", "Bare", "Nobody")
)
MARKED = [number for number, line in enumerate(PROGRAM.splitlines(), 1) if line.endswith("# violation")]


def run(folder: Path, program: str, law: str, *options: str) -> tuple[int, dict[str, Any], str]:
    (folder / "program.py").write_text(program, encoding="utf-8")
    (folder / "law.toml").write_text(law, encoding="utf-8")
    options = (*options, "--format", "json", "--output", "report.json")
    done = subprocess.run(
        [sys.executable, "-m", "lawful", "run", "--law", "law.toml", *options, "program.py"],
        cwd=folder,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        encoding="utf-8",
        timeout=120,
    )
    assert (folder / "report.json").exists(), done.stderr
    return done.returncode, json.loads((folder / "report.json").read_text(encoding="utf-8")), done.stdout


@pytest.mark.parametrize("core", tracer_choice.available())
def test_writes_in_own_code_are_seen(core: str, tmp_path: Path) -> None:
    code, found, _ = run(tmp_path, PROGRAM, LAW, "--set", f"core={core}")
    assert code == 1
    assert sorted({finding["line"] for finding in found["findings"]}) == MARKED
    by_law = {finding["law"]: 0 for finding in found["findings"]}
    for finding in found["findings"]:
        by_law[finding["law"]] += finding["count"]
    assert by_law == {
        "law.toml: __main__.Plain o.rc >= 0": 6,
        "law.toml: __main__.Slots o.rc >= 0": 1,
        "law.toml: __main__.Data o.rc >= 0": 1,
        "law.toml: __main__.Property o.rc >= 0": 1,
        "law.toml: __main__.Bare o.rc >= 0": 1,
    }
    slugs = [warning.split(": ")[2] for warning in found["warnings"]]
    assert sorted(slugs) == ["invariant-class-unseen", "invariant-unknown"]


@pytest.mark.parametrize("core", tracer_choice.available())
def test_a_call_that_breaks_a_state_can_be_prevented(core: str, tmp_path: Path) -> None:
    program = """
import lawful


class Account:
    def __init__(self):
        self.open = True

    def pay(self, amount):
        print("paid", amount)
        return amount

    def close(self):
        self.open = False


account = Account()
for amount in (5, -5):
    try:
        account.pay(amount)
    except lawful.Violation:
        print("refused", amount)
account.close()
try:
    account.pay(7)
except lawful.Violation:
    print("closed")
"""
    law = """
[[invariant]]
class = "__main__.Account"
always = "o.open and args[0] > 0"
on = "called('pay')"
"""
    code, found, output = run(tmp_path, program, law, "--set", f"core={core}", "--on-violation", "raise")
    assert (code, output.split()) == (1, ["paid", "5", "refused", "-5", "closed"])
    assert sum(finding["count"] for finding in found["findings"]) == 2
    assert found["warnings"] == []


@pytest.mark.parametrize("core", tracer_choice.available())
def test_a_write_that_is_prevented_is_not_there_and_is_prevented_again(core: str, tmp_path: Path) -> None:
    program = """
import lawful


class Count:
    def __init__(self):
        self.rc = 0


count = Count()
for change in (-1, -1, 1, -1, -1):
    try:
        count.rc += change
    except lawful.Violation:
        print("no", end=" ")
    print(count.rc, end=" ")
"""
    law = '[[invariant]]\nclass = "__main__.Count"\nalways = "o.rc >= 0"\n'
    code, found, output = run(tmp_path, program, law, "--set", f"core={core}", "--on-violation", "raise")
    assert (code, output.split()) == (1, ["no", "0", "no", "0", "1", "0", "no", "0"])
    assert sum(finding["count"] for finding in found["findings"]) == 3
