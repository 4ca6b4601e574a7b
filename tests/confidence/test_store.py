"""The store of confidence: sums over runs, from several processes too, beside the learner's counts in one file."""

from __future__ import annotations

import os
import random
import sqlite3
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from lawful import database
from lawful.confidence.engine import Tally
from lawful.confidence.store import ConfidenceStore, Subject, fingerprint
from lawful.errors import LawfulError
from lawful.learning import store as learner

SUBJECTS = [
    Subject(law, fingerprint(text), name) for law in ("a", "b") for text in ("v1", "v2") for name in ("m.X", "m.Y")
]


def some(source: random.Random) -> dict[Subject, Tally]:
    counted = {}
    for subject in source.sample(SUBJECTS, source.randrange(len(SUBJECTS))):
        violations = source.randrange(3)
        counted[subject] = Tally(source.randrange(10**9), violations, source.randrange(5))
    return counted


def parts(path: Path) -> list[tuple[Any, ...]]:
    """All that is in the file: law, text, class, run, time, samples, violations, unknown."""
    connection = sqlite3.connect(path)
    there = connection.execute("SELECT 1 FROM sqlite_master WHERE name = 'confidence_samples'").fetchall()
    columns = "law, text, class, run, time, samples, violations, unknown"
    joined = "confidence_samples JOIN confidence_subjects ON subject = id"
    rows = connection.execute(f"SELECT {columns} FROM {joined}").fetchall() if there else []
    connection.close()
    return sorted(rows)


@pytest.mark.parametrize("seed", range(10))
def test_what_goes_in_comes_out_as_sums(seed: int, tmp_path: Path) -> None:
    source = random.Random(seed)
    rounds = [some(source) for _ in range(5)]
    for number, counted in enumerate(rounds):
        with ConfidenceStore(tmp_path / "s.db") as store:
            store.add(f"run:{number}", counted, now=100.0 + number)
    expected: dict[Subject, Tally] = {}
    rows = []
    for number, counted in enumerate(rounds):
        for subject, tally in counted.items():
            expected.setdefault(subject, Tally()).add(tally)
            row = (tally.samples, tally.violated, tally.unknown)
            rows.append((*subject, f"run:{number}", 100.0 + number, *row))
    with ConfidenceStore(tmp_path / "s.db") as store:
        for subject in SUBJECTS:
            assert store.total(subject) == expected.get(subject)
    assert parts(tmp_path / "s.db") == sorted(rows)


def test_a_changed_law_is_another_law() -> None:
    assert fingerprint("x") != fingerprint("x ")
    assert fingerprint("x") == fingerprint("x")
    assert len({fingerprint(text) for text in ("", "ü", "\udcff")}) == 3


def test_walks_are_kept_by_class_and_policy(tmp_path: Path) -> None:
    state = {"state": "s2", "count": 17, "coin": 2**70, "moves": [[1.5, "s1", "s2", "ü"]]}
    with ConfidenceStore(tmp_path / "s.db") as store:
        assert store.policy_run("m.X", "taper(3)") is None
        store.add("r1", {}, policy_runs={("m.X", "taper(3)"): state, ("m.Y", "taper(3)"): 1}, now=5.0)
        store.add("r2", {}, policy_runs={("m.X", "off"): 2}, now=6.0)
        # Whoever ended later, not whoever was written later.
        store.add("r0", {}, policy_runs={("m.Y", "taper(3)"): 0}, now=4.0)
        store.add("r3", {}, policy_runs={("m.X", "off"): 3}, now=7.0)
        found = [
            store.policy_run(*key) for key in (("m.X", "taper(3)"), ("m.Y", "taper(3)"), ("m.X", "off"), ("m.Y", "off"))
        ]
        assert found == [state, 1, 3, None]


def test_the_time_is_that_of_the_clock(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("time.time", lambda: 123.5)
    with ConfidenceStore(tmp_path / "s.db") as store:
        store.add("r", {SUBJECTS[0]: Tally(1)})
    assert parts(tmp_path / "s.db") == [(*SUBJECTS[0], "r", 123.5, 1, 0, 0)]


def test_the_same_lives_are_samples_once(tmp_path: Path) -> None:
    path = tmp_path / "s.db"
    with ConfidenceStore(path) as store:
        store.add("trace:1", {SUBJECTS[0]: Tally(5)})
        before = path.read_bytes()
        with pytest.raises(LawfulError) as caught:
            store.add("trace:1", {SUBJECTS[1]: Tally(7), SUBJECTS[0]: Tally(5)})
        assert (caught.value.slug, caught.value.where) == ("store-overlap", str(path))
        assert path.read_bytes() == before  # all or nothing
        store.add("trace:1", {SUBJECTS[1]: Tally(7)})  # the same run under another law
        assert store.total(SUBJECTS[1]) is not None


@pytest.mark.parametrize("counts", [Tally(-1, 2), Tally(-1), Tally(2, -1), Tally(1, 0, -1)])
def test_impossible_counts_are_refused(counts: Tally, tmp_path: Path) -> None:
    with ConfidenceStore(tmp_path / "s.db") as store, pytest.raises(LawfulError) as caught:
        store.add("r", {SUBJECTS[0]: counts})
    assert caught.value.slug == "store-unreadable"
    assert parts(tmp_path / "s.db") == []


PROCESS = """
import sys
from lawful.confidence.engine import Tally
from lawful.confidence.store import ConfidenceStore, Subject
path, who = sys.argv[1:]
for number in range(20):
    with ConfidenceStore(path) as store:
        counted = {Subject("a", "t", "m.X"): Tally(999, 1, 2), Subject("a", "t", f"m.{who}"): Tally(number)}
        store.add(f"{who}:{number}", counted, policy_runs={("m.X", "off"): [who, number]})
"""


def test_processes_at_once_lose_nothing(tmp_path: Path) -> None:
    path = tmp_path / "s.db"
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)}
    running = [
        subprocess.Popen([sys.executable, "-c", PROCESS, path, who], env=environment, stderr=subprocess.PIPE)
        for who in ("p", "q")
    ]
    for process in running:
        assert process.communicate(timeout=120)[1] == b""
        assert process.returncode == 0
    with ConfidenceStore(path) as store:
        assert store.total(Subject("a", "t", "m.X")) == Tally(39_960, 40, 80)
        assert len({run for _, _, name, run, *_ in parts(path) if name == "m.X"}) == 40
        for who in ("p", "q"):
            assert store.total(Subject("a", "t", f"m.{who}")) == Tally(190, 0, 0)
        assert store.policy_run("m.X", "off")[1] == 19


# -- one file with the learner -----------------------------------------------------------------------------------------


def learn(path: Path, number: int) -> None:
    with learner.Store(path) as store:
        store.add([learner.Run(f"trace:{number}", 10, 25)], ["ab"], [])


def sample(path: Path, number: int) -> None:
    with ConfidenceStore(path) as store:
        store.add(f"trace:{number}", {SUBJECTS[0]: Tally(5)})


def test_a_file_of_the_learner_serves_both(tmp_path: Path) -> None:
    path = tmp_path / "s.db"
    learn(path, 1)
    with ConfidenceStore(path) as store:
        assert (parts(path), store.total(SUBJECTS[0]), store.policy_run("x", "y")) == ([], None, None)
    sample(path, 1)
    learn(path, 2)
    sample(path, 2)
    with ConfidenceStore(path) as store:
        assert store.total(SUBJECTS[0]) == Tally(10)
    with learner.Store(path) as other:
        assert [run.id for run in other.runs()] == ["trace:1", "trace:2"]


def test_the_learner_opens_a_file_of_ours(tmp_path: Path) -> None:
    sample(tmp_path / "s.db", 1)
    learner.Store(tmp_path / "s.db").close()
    assert [run for _, _, _, run, *_ in parts(tmp_path / "s.db")] == ["trace:1"]


# -- files that are not ours -------------------------------------------------------------------------------------------


def change(path: Path, *statements: str) -> None:
    connection = sqlite3.connect(path)
    for statement in statements:
        connection.execute(statement)
    connection.commit()
    connection.close()


def refused(path: Path) -> LawfulError:
    """The error, after a look at the folder: nothing was changed in it."""
    before = {each.name: each.read_bytes() for each in path.parent.iterdir() if each.is_file()}
    with pytest.raises(LawfulError) as caught:
        ConfidenceStore(path, patience=0.1)
    assert {each.name: each.read_bytes() for each in path.parent.iterdir() if each.is_file()} == before
    assert caught.value.where == str(path)
    return caught.value


OURS = f"PRAGMA application_id = {database.APPLICATION}"


@pytest.mark.parametrize(
    ("statements", "slug"),
    [
        (["CREATE TABLE notes (text)"], "store-not-ours"),
        (["PRAGMA application_id = 7"], "store-not-ours"),
        ([OURS, f"PRAGMA user_version = {database.VERSION + 1}"], "store-version"),
        ([OURS, "CREATE TABLE runs (id)"], "store-version"),
        (
            [OURS, f"PRAGMA user_version = {database.VERSION}", "CREATE TABLE confidence_version (x)"],
            "store-unreadable",
        ),
        (
            [OURS, f"PRAGMA user_version = {database.VERSION}", "CREATE TABLE confidence_version (version)"],
            "store-version",
        ),
    ],
)
def test_other_databases_are_left_as_they_are(statements: list[str], slug: str, tmp_path: Path) -> None:
    change(tmp_path / "s.db", *statements)
    assert refused(tmp_path / "s.db").slug == slug


def test_tables_of_another_version_are_left_as_they_are(tmp_path: Path) -> None:
    sample(tmp_path / "s.db", 1)
    change(tmp_path / "s.db", "UPDATE confidence_version SET version = 2")
    error = refused(tmp_path / "s.db")
    assert error.slug == "store-version"
    assert "version 2" in error.message


def test_tables_of_another_version_that_come_up_meanwhile(tmp_path: Path) -> None:
    path = tmp_path / "s.db"
    with ConfidenceStore(path) as store:
        sample(path, 1)
        change(path, "UPDATE confidence_version SET version = 2")
        before = path.read_bytes()
        with pytest.raises(LawfulError) as caught:
            store.add("r", {SUBJECTS[0]: Tally(1)})
        assert caught.value.slug == "store-version"
        assert path.read_bytes() == before


@pytest.mark.parametrize("content", [b"x", b"SQLite format 2\0" * 9, b'{"event":"new"}\n' * 100])
def test_other_files_are_left_as_they_are(content: bytes, tmp_path: Path) -> None:
    (tmp_path / "s.db").write_bytes(content)
    assert refused(tmp_path / "s.db").slug == "store-not-ours"


def test_a_damaged_store_is_left_as_it_is(tmp_path: Path) -> None:
    sample(tmp_path / "s.db", 1)
    whole = (tmp_path / "s.db").read_bytes()
    (tmp_path / "s.db").write_bytes(whole[:100] + b"\xff" * 4000 + whole[4100:])
    assert refused(tmp_path / "s.db").slug == "store-unreadable"


def test_places_where_no_store_can_be(tmp_path: Path) -> None:
    paths: list[Any] = [tmp_path, tmp_path / "no" / "s.db", "a\0b"]
    for path in paths:
        with pytest.raises(LawfulError) as caught:
            ConfidenceStore(path)
        assert caught.value.slug == "store-unreadable"
    with pytest.raises(LawfulError) as caught:
        ConfidenceStore(tmp_path / "s.db", must_exist=True)
    assert (caught.value.slug, caught.value.message) == ("store-unreadable", "there is no such file")


def test_a_store_that_somebody_holds(tmp_path: Path) -> None:
    sample(tmp_path / "s.db", 1)
    holder = sqlite3.connect(tmp_path / "s.db", isolation_level=None)
    holder.execute("BEGIN IMMEDIATE")
    assert refused_because_held(tmp_path / "s.db") == "store-locked"
    holder.execute("ROLLBACK")
    holder.close()
    ConfidenceStore(tmp_path / "s.db", patience=0.05).close()


def refused_because_held(path: Path) -> str:
    with pytest.raises(LawfulError) as caught:
        ConfidenceStore(path, patience=0.05)
    return caught.value.slug


def test_nothing_is_made_before_something_is_added(tmp_path: Path) -> None:
    with ConfidenceStore(tmp_path / "s.db") as store:
        assert (store.total(SUBJECTS[0]), store.has("r"), store.policy_run("x", "y")) == (None, False, None)
    assert list(tmp_path.iterdir()) == []
    (tmp_path / "empty.db").touch()  # as mktemp makes it
    sample(tmp_path / "empty.db", 1)
    assert len(parts(tmp_path / "empty.db")) == 1


def test_odd_names(tmp_path: Path) -> None:
    odd = Subject("l\udcff", "t", "c\udcfe")
    with ConfidenceStore(tmp_path / "s.db") as store:
        store.add("r", {odd: Tally(3)}, policy_runs={("c\udcfe", "p\udcfd"): 1})
        assert [Subject(*row[:3]) for row in parts(tmp_path / "s.db")] == [Subject("l\ufffd", "t", "c\ufffd")]
        assert store.total(odd) is not None
        assert store.policy_run("c\udcfe", "p\udcfd") == 1


def test_the_file_is_the_one_the_learner_knows() -> None:
    assert (database.APPLICATION, database.VERSION) == (0x4C415746, 1)
