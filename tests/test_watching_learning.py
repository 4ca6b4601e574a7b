"""Learning from inside a program: `lawful.watch(learn=...)`, and over many calls of a function."""

from __future__ import annotations

import io
import json
import threading
from pathlib import Path
from typing import Any

import pytest

import lawful
from lawful.engine.findings import Finding
from tracer_cores import core

__all__ = ["core"]

HERE = Path(__file__).name


def one() -> None:
    file = io.StringIO("a")
    file.read()
    file.close()


def two() -> None:
    file = io.StringIO("a")
    file.read()
    file.close()


def three() -> None:
    file = io.StringIO("a")
    file.read()
    file.close()


def slips() -> None:
    file = io.StringIO("a")
    file.read()


SLIP = slips.__code__.co_firstlineno + 1
MESSAGE = f"a new `io.StringIO` is followed by `io.StringIO.close` in {{}} uses; not at `tests/{HERE}:{SLIP}`"


def keep(times: int) -> None:
    for _ in range(times):
        one()
        two()
        three()


def messages(findings: list[Finding]) -> list[str]:
    return [finding.anomaly.message for finding in findings if finding.anomaly is not None]


@pytest.mark.parametrize("learn", [True, {"window": 30}, lawful.Learning(window=30)])
def test_anomalies_are_findings_when_the_block_is_over(learn: Any) -> None:
    told: list[Finding] = []
    with lawful.watch(learn=learn, scope=lawful.Scope(calls=["io"]), on_finding=told.append) as run:
        keep(10)
        slips()
        keep(10)
        assert run.findings == []
    [finding] = run.findings
    assert told == [finding]
    assert messages(run.findings) == [MESSAGE.format("60 of 61")]
    assert (finding.law, finding.file, finding.line) == ("learned", f"tests/{HERE}", SLIP)
    assert run.events == 182
    assert run.learner is not None
    assert run.learner.parameters.window == (25 if learn is True else 30)
    assert "not here" in run.report()
    assert run.warnings == []
    plain = json.loads(json.dumps(run.snapshot()))
    assert plain["learned"]["anomalies"][0]["message"] == MESSAGE.format("60 of 61")
    assert Finding.from_json(plain["findings"][0]) == finding


def test_ends_are_missed_however_far_away_they_are() -> None:
    with lawful.watch(learn={"window": 3}, scope=lawful.Scope(calls=["io"])) as run:
        for number in range(12):
            stream = io.StringIO()
            stream.write("a")
            keep(1)
            if number % 2:
                stream.close()
            else:
                stream.__exit__(None, None, None)
        lost = io.StringIO()
        lost.write("b")
        keep(1)
    assert run.learner is not None
    anomaly = run.learner.anomalies()[0]
    ends = "`io.StringIO.close` or `io.IOBase.__exit__`"
    assert anomaly.message.startswith(f"a new `io.StringIO` is followed by {ends} in 51 of 52 lives; not at ")
    assert (anomaly.rule.whole_history, anomaly.rule.satisfied, anomaly.rule.failed) == (True, 51, 1)


def test_without_asking_nothing_is_learned() -> None:
    with lawful.watch(scope=lawful.Scope(calls=["io"])) as run:
        keep(3)
    assert run.learner is None
    assert "learned" not in run.snapshot()
    assert run.report().startswith("0 findings in 0 laws, ")


def test_if_no_scope_is_given_it_is_all_that_own_code_calls() -> None:
    with lawful.watch(learn=True) as run:
        keep(10)
    assert run.learner is not None
    assert "io.StringIO.close" in {rule.b.name for rule in run.learner.rules()}


def test_the_learner_can_be_asked_and_changed_while_it_runs() -> None:
    with lawful.watch(learn={"budget": 3}, scope=lawful.Scope(calls=["io"])) as run:
        assert run.learner is not None
        keep(10)
        run.learner.change(window=50)
        assert (run.learner.parameters.budget, run.learner.parameters.window) == (3, 50)
        assert (run.events, run.learner.events) == (90, 90)
        run.learner.change(templates=("ab",))  # all begins anew
        keep(20)
        slips()
        keep(20)
    assert messages(run.findings) == [MESSAGE.format("120 of 121")]
    assert {rule.pattern for rule in run.learner.rules(all=True)} == {"ab"}
    run.learner.change(templates=("ab", "ab?"))  # now nobody minds
    assert threading.active_count() == 1


def test_with_laws() -> None:
    with lawful.watch(laws=["files"], learn=True) as run:
        keep(10)
        slips()
        keep(10)
        file = io.StringIO("a")
        file.close()
        with pytest.raises(ValueError):
            file.read()
    assert "use-after-close" in run.findings[0].law
    assert MESSAGE.format("61 of 62") in messages(run.findings[1:])


@pytest.mark.parametrize(
    ("learn", "slug"),
    [
        ("yes", "watch-option"),
        (3, "watch-option"),
        ({"widow": 3}, "parameter-unknown"),
        ({"window": -1}, "window-range"),
    ],
)
def test_what_is_no_parameter_is_told_at_once(learn: Any, slug: str) -> None:
    with pytest.raises(lawful.LawfulError) as caught:
        lawful.watch(learn=learn)
    assert caught.value.slug == slug


def test_calls_of_a_function_teach_together() -> None:
    @lawful.watch(learn=True, scope=lawful.Scope(calls=["io"]))
    def work(times: int, slip: bool = False) -> None:
        if slip:
            slips()
        keep(times)

    calls: Any = work.lawful  # type: ignore[attr-defined]
    assert calls.learner is None
    for _ in range(10):
        work(2)
    learner = calls.learner
    assert (calls.findings, calls.events, learner.events) == ([], 180, 180)  # type: ignore[attr-defined]
    work(20, slip=True)
    assert messages(calls.findings) == [MESSAGE.format("120 of 121")]
    work(1)
    assert messages(calls.findings) == [MESSAGE.format("123 of 124")]
    assert calls.learner is learner
    assert (calls.events, calls.calls, calls.warnings) == (180 + 182 + 9, 12, [])


def test_the_project_says_always(tmp_path: Path) -> None:
    (tmp_path / "pyproject.toml").write_text(
        '[tool.lawful]\ncalls = ["io"]\n[tool.lawful.learn]\nalways = true\nwindow = 7\n'
    )
    path = tmp_path / "part.py"
    path.write_text("import io, lawful\n@lawful.watch()\ndef work():\n    io.StringIO().close()\n")
    names: dict[str, Any] = {}
    exec(compile(path.read_text(), str(path), "exec"), names)
    names["work"]()
    calls = names["work"].lawful
    assert calls.learner.parameters.window == 7
    assert calls.events == 2
