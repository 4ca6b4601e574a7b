"""``lawful run`` without a law: rules are learned while the program runs, and what breaks them is reported."""

from __future__ import annotations

import json
import os
import signal
import subprocess
from pathlib import Path
from typing import Any

import pytest

from cli.hosted import ENVIRONMENT, LAWFUL, Result, events, hosted
from slipping_program import SLIPPING

PROGRAM = f"""\
import io
{SLIPPING}
def work(slip=True):
    for number in range(20):
        one(), two(), three()
        if slip and number == 10:
            slips()
"""
ANOMALY = "a new `io.StringIO` is followed by `io.StringIO.close` in 60 of 61 uses; not at `app.py:19`"
TABLE = "[tool.lawful.learn]\n"
LAWS = ("--law", "files/left-open", "--law", "files/use-after-close")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "app.py").write_text(PROGRAM + "work()\nprint('done')\n")
    (tmp_path / "good.py").write_text(PROGRAM + "work(slip=False)\nprint('done')\n")
    return tmp_path


def report(folder: Path, *words: str) -> dict[str, Any]:
    """The report in JSON of a run."""
    result = hosted(folder, "run", "--format", "json", "--output", "report.json", *words)
    assert result.err == ""
    found: dict[str, Any] = json.loads((folder / "report.json").read_text())
    return found


def messages(report: dict[str, Any]) -> list[str]:
    return [finding["message"] for finding in report["findings"]]


def in_one_line(result: Result) -> str:
    return " ".join(result.err.split())


def test_without_a_law_rules_are_learned(folder: Path) -> None:
    result = hosted(folder, "run", "app.py")
    assert (result.out, result.code) == ("done\n", 1)
    assert in_one_line(result).startswith(f"1. {ANOMALY}")
    assert "not here  app.py:19" in result.err
    last = result.err.splitlines()[-1]
    assert last.startswith("1 finding in ") and last.endswith(" rules learned")
    assert "strategy" not in result.err


def test_if_nothing_is_unusual_one_line_says_so(folder: Path) -> None:
    result = hosted(folder, "run", "good.py")
    assert (result.out, result.code) == ("done\n", 0)
    [line] = result.err.splitlines()
    assert line.startswith("nothing unusual in 181 events; ") and line.endswith(" rules learned")
    assert hosted(folder, "run", "--quiet", "good.py") == ("done\n", "", 0)


def test_the_rules_and_parameters_are_for_those_who_ask(folder: Path) -> None:
    result = hosted(folder, "run", "--verbose", "--set", "learn.window=9", "good.py")
    assert "enforcing  ab         io.StringIO.read io.StringIO.close" in result.err
    assert "learning" not in result.err
    assert "  window    9\n" in result.err
    assert "ratio.enforce 0.75" in result.err


def test_a_program_with_nothing_to_learn_from(folder: Path) -> None:
    (folder / "nothing.py").write_text("")
    result = hosted(folder, "run", "nothing.py")
    assert (result.out, result.code) == ("", 0)
    first, second = result.err.splitlines()
    assert first == "nothing was learned: no event has an object"
    assert second.startswith("lawful: this run watched only calls into libraries; --public MODULE")
    told = hosted(folder, "run", "--calls", "io", "nothing.py")
    assert told.err.splitlines() == [first]


def test_with_a_law_only_if_it_is_asked_for(folder: Path) -> None:
    alone = hosted(folder, "run", *LAWS, "app.py")
    assert alone.err.splitlines()[-1] == "0 findings in 2 laws, 242 events, 1 thread"
    both = hosted(folder, "run", *LAWS, "--learn", "app.py")
    assert in_one_line(both).startswith(f"1. {ANOMALY}")
    assert both.err.splitlines()[-1].startswith("1 finding in 2 laws, ")
    assert both.code == 1


def test_raising_and_learning(folder: Path) -> None:
    """Every event is judged at once; the learner sees all the same."""
    (folder / "use.py").write_text(
        PROGRAM
        + "import lawful\nwork()\nfile = io.StringIO()\nfile.close()\n"
        + "try:\n    file.read()\nexcept lawful.Violation:\n    print('prevented')\n"
    )
    result = hosted(folder, "run", *LAWS, "--learn", "--on-violation", "raise", "use.py")
    assert (result.out, result.code) == ("prevented\n", 1)
    assert "use.py:32: files/use-after-close" in result.err
    assert "not at `use.py:19`" in in_one_line(result)


def test_always_in_the_configuration(folder: Path) -> None:
    (folder / "pyproject.toml").write_text(TABLE + "always = true\nbudget = 0\n")
    result = hosted(folder, "run", *LAWS, "app.py")
    assert result.err.startswith("0 findings ") and " in 2 laws, " in result.err and " learned" in result.err
    told = hosted(folder, "run", *LAWS, "--set", "learn.budget=3", "app.py")
    assert ANOMALY in in_one_line(told)
    none = hosted(folder, "run", *LAWS, "--no-learn", "app.py")
    assert none.err.splitlines()[-1] == "0 findings in 2 laws, 242 events, 1 thread"


def test_json(folder: Path) -> None:
    found = report(folder, "app.py")
    [finding] = found["findings"]
    [anomaly] = found["learned"]["anomalies"]
    assert finding["message"] == ANOMALY
    assert (finding["law"], finding["file"], finding["line"]) == ("learned", "app.py", 19)
    assert finding["anomaly"] == anomaly
    assert 0 < anomaly["score"] < 1
    assert list(found["learned"])[:4] == ["events", "window", "rules", "anomalies"]
    assert "dead" not in {rule["state"] for rule in found["learned"]["rules"]}
    assert hosted(folder, "run", "-q", "--format", "json", "good.py").err.startswith('{"report"')


@pytest.mark.parametrize("core", ["", "python"])
def test_a_run_and_its_trace_teach_the_same(core: str, folder: Path) -> None:
    words = ["--set", f"core={core}"] if core else []
    live = report(folder, *words, "app.py")["learned"]
    written = report(folder, *words, "--trace", "trace.jsonl", "app.py")["learned"]
    hosted(folder, "learn", "--format", "json", "--output", "offline.json", "trace.jsonl")
    offline = json.loads((folder / "offline.json").read_text())
    for anomaly in offline["anomalies"]:
        del anomaly["mark"]  # that of a run's finding stands with the finding
    for key in ("events", "rules", "anomalies"):
        assert written[key] == offline[key]
    # A trace has more in it, so that objects have other ids.
    for key in ("events", "rules"):
        assert live[key] == offline[key]
    assert [each["message"] for each in live["anomalies"]] == [ANOMALY]
    assert any(event["event"] == "new" for event in events(folder / "trace.jsonl"))


def test_options_of_the_learner_arrive(folder: Path) -> None:
    values = "window=7 budget=3 templates=a+bb without-templates=ab? strategy=ratio thresholds.ratio.enforce=0.8"
    words = [f"--set=learn.{value}" for value in (*values.split(), "seed=5", "tune=false", "joins=result")]
    told = report(folder, *words, "app.py")["learned"]["parameters"]
    assert (told["window"], told["budget"], told["strategy"], told["seed"]) == (7, 3, "ratio", 5)
    assert (told["tune"], told["joins"], told["thresholds"]["ratio.enforce"]) == (False, ["result"], 0.8)
    assert "a+bb" in told["templates"] and "ab?" not in told["templates"]


@pytest.mark.parametrize(
    ("words", "slug"),
    [
        ("--set learn.window=-1", "window-range"),
        ("--set learn.window=x", "config-value"),
        ("--set learn.budget=-1", "budget-range"),
        ("--set learn.templates=abc", "template-letters"),
        ("--set learn.without-templates=abb", "template-unknown"),
        ("--set learn.strategy=nonsense", "strategy-unknown"),
        ("--set learn.thresholds.ratio.enforce", "usage"),
        ("--set learn.thresholds.ratio.enforced=1", "threshold-unknown"),
        ("--set learn.joins=nothing", "join-unknown"),
        ("--store app.py", "store-not-ours"),
        ("--store missing/history.db", "store-unreadable"),
        ("--set learn.export=rules.txt", "usage"),
        ("--set learn.export=missing/rules.rml", "file"),
        ("--law files --set learn.window=3", "usage"),
        ("--law files --set learn.export=rules.rml", "usage"),
        ("--no-learn", "usage"),
        ("--no-learn --trace t.jsonl --store history.db", "usage"),
    ],
)
def test_what_is_wrong_is_told_before_the_program_begins(words: str, slug: str, folder: Path) -> None:
    result = hosted(folder, "run", *words.split(), "app.py")
    assert (result.out, result.code) == ("", 2)
    assert result.err.startswith(f"error[{slug}]: ")
    assert "Traceback" not in result.err
    assert sorted(each.name for each in folder.iterdir()) == ["app.py", "good.py"]


def test_no_learning_but_a_trace(folder: Path) -> None:
    result = hosted(folder, "run", "--no-learn", "--calls", "io", "--trace", "trace.jsonl", "app.py")
    assert (result.out, result.code) == ("done\n", 0)
    assert result.err.startswith("0 findings in 0 laws, ")


def test_a_store_teaches_later_runs(folder: Path) -> None:
    (folder / "once.py").write_text("from app_parts import slips, one\nslips()\nfor _ in range(30): one()\n")
    (folder / "app_parts.py").write_text(PROGRAM)
    (folder / "teach.py").write_text("import os, app_parts\napp_parts.work(slip=False)\nos.chdir('/')\n")
    (folder / "pyproject.toml").write_text(TABLE + "strategy = 'meet(count, ratio)'\nthresholds.count.enforce = 40\n")
    assert hosted(folder, "run", "once.py").code == 0
    assert hosted(folder, "run", "--store", "history.db", "teach.py").code == 0
    assert (folder / "history.db").exists()
    found = report(folder, "--store", "history.db", "once.py")
    assert messages(found) == [
        "`io.StringIO.read` is followed by `io.StringIO.close` in 90 of 91 uses; not at `app_parts.py:20`"
    ]
    assert "dead" not in {rule["state"] for rule in found["learned"]["rules"]}
    again = report(folder, "--store", "history.db", "once.py")
    assert messages(again) == again["learned"]["anomalies"] == []
    [anomaly] = again["learned"]["reported_before"]
    assert (anomaly["satisfied"], anomaly["failed"]) == (120, 2)


def test_what_earlier_runs_had_too_is_known_though_its_line_has_moved(folder: Path) -> None:
    (folder / "app.py").write_text(PROGRAM + "work()\n")
    first = hosted(folder, "run", "--store", "history.db", "app.py")
    assert first.code == 1 and "earlier runs" not in first.err
    (folder / "app.py").write_text("# one line\n\n# and more\n" + PROGRAM + "work()\n")
    again = hosted(folder, "run", "--store", "history.db", "app.py")
    assert again.code == 0
    assert again.err.startswith("nothing new in ")
    assert again.err.endswith("\n1 anomaly that earlier runs had, too; --set learn.known=true shows it\n")
    shown = hosted(folder, "run", "--store", "history.db", "--set", "learn.known=true", "app.py")
    assert shown.code == 0
    assert "Earlier runs had these, too:\n\n1. " in shown.err
    assert shown.err.endswith("\n1 anomaly that earlier runs had, too\n")


def test_a_store_that_cannot_be_written_in_the_end_is_told(folder: Path) -> None:
    (folder / "app.py").write_text(PROGRAM + "work()\nopen('history.db', 'w').write('x' * 200)\n")
    result = hosted(folder, "run", "--store", "history.db", "app.py")
    assert result.code == 1
    assert "lawful: cannot keep the learned rules: " in result.err
    assert "history.db: this is no SQLite file\n" in result.err
    assert "a new `io.StringIO`" in result.err
    assert "fault" not in result.err


def test_what_was_learned_is_a_law(folder: Path) -> None:
    (folder / "app.py").write_text(PROGRAM + "import os\nwork()\nos.chdir('/')\n")
    assert hosted(folder, "run", "--set", "learn.export=rules.rml", "app.py").code == 1
    assert (folder / "rules.rml").exists()
    broken = hosted(folder, "run", "--law", "rules.rml", "app.py")
    assert "app.py:19: rules.rml" in broken.err or "app.py:20: rules.rml" in broken.err
    assert broken.code == 1
    kept = hosted(folder, "run", "--law", "rules.rml", "good.py")
    assert (kept.out, kept.code) == ("done\n", 0)
    assert kept.err.startswith("0 findings in ")
    refused = hosted(folder, "run", "--law", "rules.rml", "--learn", "--set", "learn.export=rules.rml", "app.py")
    assert refused.err.startswith("error[usage]: rules.rml: ")


@pytest.mark.parametrize(
    ("ends", "options", "code"),
    [
        ("raise SystemExit(3)", "", 3),
        ("raise SystemExit(3)", "--set fail-on=finding", 1),
        ("", "--set fail-on=never", 0),
        ("1 / 0", "", 1),
        ("1 / 0", "--set fail-on=never", 1),
        ("import os; os._exit(0)", "", 1),
        ("import os; os._exit(3)", "", 3),
        ("raise KeyboardInterrupt", "", -signal.SIGINT),
    ],
)
def test_exit_codes(ends: str, options: str, code: int, folder: Path) -> None:
    (folder / "app.py").write_text(PROGRAM + f"work()\n{ends}\n")
    result = hosted(folder, "run", *options.split(), "app.py")
    assert result.code == code
    assert ANOMALY in in_one_line(result)
    assert ("ZeroDivisionError" in result.err) == (ends == "1 / 0")


def test_ctrl_c(folder: Path) -> None:
    # One long sleep would miss a signal that comes just in front of it, as it does without Lawful.
    naps = "for _ in range(1200): time.sleep(0.05)\n"
    (folder / "app.py").write_text(PROGRAM + f"import time\nwork()\nprint('ready', flush=True)\n{naps}")
    words = [*LAWFUL, "run", "--store", "history.db", "app.py"]
    with subprocess.Popen(
        words, cwd=folder, env=ENVIRONMENT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
        process.send_signal(signal.SIGINT)
        _, err = process.communicate(timeout=60)
    assert process.returncode == -signal.SIGINT
    assert ANOMALY in " ".join(err.split())
    assert (folder / "history.db").exists()


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_child_processes_teach_too(folder: Path) -> None:
    (folder / "app.py").write_text(
        PROGRAM + "import os\nfor slip in (False, True):\n"
        "    child = os.fork()\n    if not child:\n        work(slip)\n        os._exit(0)\n    os.waitpid(child, 0)\n"
    )
    result = hosted(folder, "run", "--store", "history.db", "app.py")
    assert "not at `app.py:19`" in in_one_line(result)
    assert "3 processes; " in result.err.splitlines()[-1]
    assert "warning" not in result.err


def test_threads_teach_together(folder: Path) -> None:
    (folder / "app.py").write_text(
        PROGRAM + "import threading\nfor number in range(3):\n"
        "    thread = threading.Thread(target=work, args=(number == 1,))\n    thread.start()\n    thread.join()\n"
    )
    result = hosted(folder, "run", "app.py")
    assert "in 180 of 181 uses; not at `app.py:19`" in in_one_line(result)


def test_a_trace_has_all_that_a_spawned_child_does(folder: Path) -> None:
    (folder / "app.py").write_text(
        "import multiprocessing\n\n"
        "class A:\n    def use(self): pass\n\n"
        "def work():\n    for _ in range(5): A().use()\n\n"
        "if __name__ == '__main__':\n"
        "    child = multiprocessing.get_context('spawn').Process(target=work)\n"
        "    child.start()\n    child.join()\n    work()\n"
    )
    hosted(folder, "run", "--learn", "--public", "app", "--trace", "t.jsonl", "app.py")
    found = events(folder / "t.jsonl")
    told = [(event["event"], event["name"].rpartition(".")[2]) for event in found if "name" in event]
    assert told.count(("func_pre", "use")) == told.count(("func_post", "use")) == 10
