"""The replication system of the SAGA paper: both programs keep the views, and the bug of section 7 is found at once."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).resolve().parents[2]
EXAMPLE = ROOT / "examples" / "replication"
PROGRAMS = ["replication_asyncio.py", "replication_pykka.py"]
SCHEDULES = 50  # docs/papers/saga.md tells of thousands


def lawful(*words: str | Path, **options: object) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "lawful", *map(str, words)]
    return subprocess.run(command, cwd=EXAMPLE, capture_output=True, text=True, timeout=60, **options)  # type: ignore[call-overload, no-any-return]


@pytest.fixture(params=PROGRAMS)
def program(request: pytest.FixtureRequest) -> str:
    if "pykka" in request.param:
        pytest.importorskip("pykka")
    return str(request.param)


def test_the_program_keeps_both_views(program: str) -> None:
    done = lawful("run", program)
    assert done.returncode == 0, done.stderr
    # With threads, when the snapshot is refreshed, and with it how many files there are, is for them to settle.
    files = r"\d+" if "pykka" in program else "10"
    assert re.fullmatch(rf"(replicated {files} files\n){{2}}", done.stdout)
    assert re.search(r"^0 findings in 2 laws, [1-9]\d events", done.stderr)


def test_the_bug_is_found_at_once_with_the_diagram_of_figure_9(program: str, tmp_path: Path) -> None:
    picture = tmp_path / "figure-9.mmd"
    done = lawful("run", "--on-violation", "raise", "--set", f"diagram={picture}", program, "--bug")
    assert done.returncode == 1
    # Which worker is too hasty first, and whether it had its command by then, threads settle among themselves.
    number, reason = r"1", "expected  cm (receive Worker.command) in S ::= • cm T"
    if "pykka" in program:
        number = r"\d+"
        if reason not in done.stderr:
            reason = "expected  lt with T.c == ListSchedule"
    said = done.stderr.replace("\n    ", " ")
    sender = re.search(rf"WorkerGroup ({number}) sends SyncServer.requestListSchedules", said)
    assert sender
    assert reason in done.stderr
    text = picture.read_text()
    assert f"ScheduleView is broken by WorkerGroup {sender[1]} at event " in text
    assert re.search(rf"p\d-xp\d: \(\d+\) lt requestListSchedules\(Worker {sender[1]}\)", text)
    assert re.search(rf"participant p\d as WorkerGroup {sender[1]}<br/>Worker {sender[1]}\b", text)
    assert re.search(r"participant p\d as SyncServer \d", text)
    assert "receive Worker.command" in text or "T.c == ListSchedule" in text


def test_what_is_recorded_can_be_checked(program: str, tmp_path: Path) -> None:
    trace = tmp_path / "trace.jsonl"
    for bug in ((), ("--bug",)):
        done = lawful("record", "-o", trace, "--law", "schedule.view", "--law", "worker.view", program, *bug)
        assert done.returncode == 0, done.stderr
        done = lawful("check", "schedule.view", "worker.view", "--trace", trace)
        assert done.returncode == bool(bug), done.stdout
        assert ("BROKEN      schedule.view" in done.stdout) == bool(bug)
        assert "accepted    worker.view" in done.stdout


@pytest.fixture
def schedules(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    monkeypatch.syspath_prepend(EXAMPLE)
    for name in ("schedules", "replication_asyncio", "parts"):
        monkeypatch.delitem(sys.modules, name, raising=False)
    import schedules  # type: ignore[import-not-found]

    return schedules  # type: ignore[no-any-return]


def test_many_schedules_are_kept(schedules: ModuleType) -> None:
    from replication_asyncio import Worker  # type: ignore[import-not-found]

    watch = schedules.explore(SCHEDULES, Worker)
    assert watch.findings == [] and watch.warnings == []
    assert watch.events > 30 * SCHEDULES


def test_schedules_differ_and_all_of_them_show_the_bug(schedules: ModuleType) -> None:
    from replication_asyncio import HastyWorker

    orders = set()
    for seed in range(8):
        watch = schedules.explore(1, HastyWorker, first=seed)
        assert any("requestListSchedules" in str(finding.event) for finding in watch.findings)
        orders.add(tuple(finding.count for finding in watch.findings))
    assert len(orders) > 1


def test_a_race_between_threads_does_not_change_what_pykka_says() -> None:
    pytest.importorskip("pykka")
    code = """
import sys, lawful, replication_pykka as r
sys.setswitchinterval(1e-5)
with lawful.watch(["worker.view", "schedule.view"], groups={"WorkerGroup": "actor Worker"}) as watch:
    for seed in range(5):
        r.replicate(clients=2, seed=seed)
assert not watch.findings and not watch.warnings, watch.report()
print(watch.events)
"""
    done = subprocess.run([sys.executable, "-c", code], cwd=EXAMPLE, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    assert int(done.stdout) >= 5 * 30
