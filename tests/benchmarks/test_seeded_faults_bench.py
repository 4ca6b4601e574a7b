"""The benchmark of seeded faults: its tables, and how it judges. It needs no package index and runs no program."""

from __future__ import annotations

import json
import platform
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from benchmarks.scripts import load

SCRIPT = Path(__file__).resolve().parents[2] / "benchmarks" / "seeded_faults.py"
TEXT = """\
def before():
    return 1


class Store:
    def save(self):
        file = open("x")
        file.flush()
        file.close()

    def load(self):
        return open("x")
"""


@pytest.fixture(scope="module")
def bench() -> Any:
    load("tables")
    load("real_packages")
    return load("seeded_faults")


def fault(bench: Any, **changes: Any) -> Any:
    given = {
        "name": "toy",
        "set": "programs",
        "subject": "toy",
        "kind": "close missing",
        "file": "a.py",
        "old": "        file.flush()\n        file.close()\n",
        "new": "        file.flush()\n",
        "events": ("*.close",),
        "uses": ("File",),
        "keeps": ("*.close", "*.__exit__"),
    }
    return bench.Fault(**given | changes)


class FakeEnvironment:
    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def unpacked(self, subject: Any) -> Path:
        return self.folder


def toy(bench: Any) -> Any:
    return bench.Subject("toy", "toy==1", ("x.py",))


def anomaly(a: str, b: str, *sites: str, others: tuple[tuple[str, str], ...] = ()) -> dict[str, Any]:
    besides = [{"a": one, "b": other, "pattern": "ab"} for one, other in others]
    rule = {"a": a, "b": b, "pattern": "ab"}
    return {"rule": rule, "sites": list(sites), "events": [], "message": f"{a} {b}", "others": besides}


def said(*anomalies: dict[str, Any]) -> dict[str, Any]:
    return {"events": 1, "anomalies": list(anomalies)}


def test_tables(bench: Any) -> None:
    subjects = bench.read(bench.Subject, bench.TABLES / "subjects.toml")
    faults = bench.read(bench.Fault, bench.TABLES / "faults.toml")
    verdicts = bench.read(bench.Verdict, bench.TABLES / "verdicts.toml")
    names = {each.name for each in subjects}
    for kind in bench.SETS:
        mine = [each for each in faults if each.set == kind]
        assert len(mine) >= 30 and len({each.kind for each in mine}) >= 8
    assert {each.set for each in faults} == set(bench.SETS)
    assert max(Counter(each.name for each in [*faults, *subjects]).values()) == 1
    assert {each.subject for each in faults} == names >= {each.subject for each in verdicts}
    assert all("==" in need for each in subjects for need in (each.package, *each.needs))
    assert all(bool(each.run) != bool(each.driver) for each in subjects)
    assert {each.driver for each in subjects} - {""} == {each.name for each in (bench.TABLES / "drivers").glob("*.py")}
    assert all(each.old != each.new and each.events and each.uses and each.keeps for each in faults)
    assert all(each.verdict in bench.VERDICTS and each.why for each in verdicts)


def test_a_fault_must_fit_exactly_once(bench: Any) -> None:
    assert "close" not in fault(bench).apply(TEXT)
    with pytest.raises(ValueError, match="stands 0 times"):
        fault(bench, old="nothing").apply(TEXT)
    with pytest.raises(ValueError, match="stands 2 times"):
        fault(bench, old='open("x")').apply(TEXT)


def test_the_place_is_the_changed_function(bench: Any) -> None:
    one = fault(bench)
    (place,) = bench.regions(one, TEXT, {"a.py": one.apply(TEXT)})
    assert [line for line in range(1, 13) if place.has(f"a.py:{line}")] == [6, 7, 8]
    assert not place.has("b.py:7") and not place.has("?")
    (_, more) = bench.regions(fault(bench, also=("a.py::load",)), TEXT, {"a.py": TEXT})
    assert more.has("a.py:12") and not more.has("a.py:8")
    assert bench.enclosing(TEXT, 3) == "" and bench.enclosing(TEXT, 12) == "Store.load"


def test_rank(bench: Any, tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text(TEXT, encoding="utf-8")
    other, hit = anomaly("list.append", "list.pop", "a.py:8"), anomaly("File.flush", "File.close", "a.py:8")
    elsewhere = anomaly("File.flush", "File.close", "a.py:11")

    def rank(plain: dict[str, Any], faulty: dict[str, Any]) -> int | None:
        found: int | None = bench.judge(fault(bench), toy(bench), tmp_path, plain, faulty, []).rank
        return found

    assert rank(said(), said(other, elsewhere, hit)) == 3
    assert rank(said(), said(other, elsewhere)) is None
    assert rank(said(), said(*[other] * 10, hit)) is None  # beyond the budget
    assert rank(said(hit), said(hit)) is None  # it was there before


def test_what_tells_of_the_fault_is_worth_a_look_and_so_is_what_was_before(bench: Any, tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text(TEXT, encoding="utf-8")
    hit, other = anomaly("File.flush", "File.close", "a.py:8"), anomaly("list.append", "list.pop", "a.py:11")
    verdict = bench.Verdict("toy", "list.append", "list.pop", "a.py::Store.load", "worth a look", "x")
    wrong = bench.Verdict("toy", "list.append", "list.pop", "a.py::Store.load", "false", "x")

    def worth(*verdicts: Any, plain: Any = ()) -> int:
        answers = said(*plain), said(other, hit)
        number: int = bench.judge(fault(bench), toy(bench), tmp_path, *answers, verdicts).worth
        return number

    assert worth(verdict) == 2  # the line has moved up by one with the fault, and the function with it
    assert worth(wrong) == worth() == 1
    assert worth(verdict, plain=[hit]) == 1


def test_two_shares_of_what_is_worth_a_look(bench: Any, tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text(TEXT, encoding="utf-8")
    one, other = anomaly("F.a", "F.b", "a.py:2"), anomaly("F.a", "F.c", "a.py:2")
    plain = {"toy": {column: said(one, other) for column in bench.COLUMNS}}
    verdicts = [bench.Verdict("toy", "F.a", "F.b", "a.py::before", "true", "x")]
    answer = result(bench, fault(bench), {"alone": 1}, 9, 10)
    answer.told["alone"].said, answer.told["alone"].worth = 4, 3
    lines = bench.worth_looking_at(FakeEnvironment(tmp_path), [toy(bench)], [answer], plain, verdicts)
    rows = [[cell.strip() for cell in line.split("|")[1:-1]] for line in lines if " of " in line]
    assert rows[0] == ["alone", "1 of 2 (50%)", "3 of 4 (75%)", "4 of 6 (67%)"]


def test_a_rule_that_is_only_besides_is_not_found(bench: Any, tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text(TEXT, encoding="utf-8")
    beside = anomaly("list.append", "list.pop", "a.py:8", others=(("File.flush", "File.close"),))
    result = bench.judge(fault(bench), toy(bench), tmp_path, said(), said(beside), [])
    assert (result.rank, result.near) == (None, 1)


def test_kept_counts_whole_lives(bench: Any, tmp_path: Path) -> None:
    rows = [(1, "File"), (2, "File"), (3, "File"), (4, "Other"), (1, "File.close"), (3, "File.__exit__")]
    events = [{"event": "func_pre", "name": name, "targetId": id_} for id_, name in rows]
    events += [{"event": "func_post", "name": "File.close", "targetId": 2}, {"event": "func_pre", "name": "f"}]
    trace = tmp_path / "t.jsonl"
    trace.write_text("".join(json.dumps(event) + "\n" for event in events), encoding="utf-8")
    assert bench.kept(fault(bench), bench.object_histories(trace)) == (2, 3)


def result(bench: Any, one: Any, ranks: dict[str, int], keep: int, uses: int, held_out: bool = False) -> Any:
    told = {column: bench.Told(ranks.get(column), "", 1) for column in bench.COLUMNS}
    return bench.Result(one, 1, told, held_out, keep, uses)


def test_all_faults_count_in_the_share(bench: Any) -> None:
    clear = result(bench, fault(bench), {"alone": 1}, 9, 10)
    unclear = result(bench, fault(bench), {}, 5, 10)
    lines = list(bench.shares([clear, unclear]))
    assert lines[0].startswith("Found: 1 of 2 (50%)") and "MISSED" in lines[0]
    assert lines[-1].startswith("Of the 1 faults") and lines[-1].endswith("1 found.")


def test_each_set_has_its_own_share(bench: Any) -> None:
    found = result(bench, fault(bench), {"alone": 1}, 9, 10)
    missed = result(bench, fault(bench, set="suites"), {}, 9, 10)
    plain = {"toy": {column: said() for column in bench.COLUMNS}}
    lines = list(bench.report(FakeEnvironment(Path("nowhere")), [toy(bench)], [missed, found], plain, []))
    heads = [line.strip() for line in lines if "##" in line]
    assert heads == ["## programs (every second one held out)", "## suites (for training)", "## all"]
    assert [line.split(";")[0] for line in lines if line.startswith("Found")] == [
        "Found: 1 of 1 (100%)",
        "Found: 0 of 1 (0%)",
    ]


def test_each_column_has_its_own_share_of_what_was_held_out(bench: Any) -> None:
    results = [
        result(bench, fault(bench), {"alone": 2, "own": 1}, 9, 10),
        result(bench, fault(bench), {"own": 3}, 9, 10, held_out=True),
    ]
    rows = [[cell.strip() for cell in line.split("|")[1:-1]] for line in bench.shares_of(results) if "of" in line]
    assert rows[-4:] == [
        ["alone", "1 of 2 (50%)", "1 of 1 (100%)", "0 of 1 (0%)", "0", "MISSED"],
        ["taught by others", "0 of 2 (0%)", "0 of 1 (0%)", "0 of 1 (0%)", "0", "MISSED"],
        ["taught by an earlier run", "2 of 2 (100%)", "1 of 1 (100%)", "1 of 1 (100%)", "1", "ok"],
        ["taught by three earlier runs", "0 of 2 (0%)", "0 of 1 (0%)", "0 of 1 (0%)", "0", "MISSED"],
    ]


def test_a_program_is_not_taught_by_a_part_of_itself(bench: Any) -> None:
    subject = bench.Subject
    one, two = subject("a", "x==1", driver="d.py"), subject("b", "x==1", driver="d.py", fields=("x.C",))
    assert bench.related(one, two) and not bench.related(one, subject("c", "y==1", driver="d.py"))
    library = [
        subject(name, "CPython==3", own=own, driver="d.py") for name, own in (("m", ("m.py",)), ("n", ("n.py",)))
    ]
    assert not bench.related(*library) and bench.related(library[0], subject("o", "CPython==3", own=("m.py", "p")))


def test_causes(bench: Any, tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text(TEXT, encoding="utf-8")
    one = fault(bench, uses=("File", "File.flush"))
    closed, left = {("File.flush", "a.py:8"), ("File.close", "a.py:9")}, {("File.flush", "a.py:8")}
    far = left | {("File.close", "b.py:1")}

    def cause(plain: Any, faulty: Any, keep: int, uses: int, near: int | None = None) -> str:
        answer = result(bench, one, {}, keep, uses)
        answer.told["alone"].near = near
        found: str = bench.cause(one, tmp_path, plain, faulty, answer)
        return found

    assert cause([left], [left], 9, 9) == "unseen"
    assert cause([closed], [far], 9, 9) == "life"
    assert cause([closed], [left], 4, 4) == "few"
    assert cause([closed], [left], 6, 9) == "unkept"
    assert cause([closed], [left], 9, 9, near=2) == "beside"
    assert cause([closed], [left], 9, 9) == "weak"


def test_a_driver_is_not_watched_itself(bench: Any) -> None:
    driven = bench.Subject("toy", "toy==1", driver="x.py", calls=("*",))
    assert driven.scope == ["--calls=*", "--exclude", bench.DRIVER]
    assert bench.Subject("toy", "toy==1", ("x.py",), calls=("*",)).scope == ["--calls=*"]


def test_the_standard_library_of_another_version_is_left_out(bench: Any) -> None:
    assert bench.Subject("toy", f"CPython=={platform.python_version()}", driver="x.py").here
    assert not bench.Subject("toy", "CPython==2.7.18", driver="x.py").here
    assert bench.Subject("toy", "toy==1", ("x.py",)).here
