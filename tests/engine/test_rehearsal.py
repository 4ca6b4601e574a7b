"""What a child had to do for the laws is done by its parent in front of the next fork, and changes nothing else."""

from __future__ import annotations

import os
import textwrap
from pathlib import Path
from typing import Any

import pytest

from lawful.engine.run import LawRun
from lawful.engine.session import Session
from lawful.engine.watch_settings import WatchSettings
from lawful.laws import catalog
from lawful.laws.loader import load_law
from lawful.sources.python.scope import Scope

NAME = "files/use-after-close"


def event(kind: str, name: str, target: int, line: int) -> dict[str, Any]:
    place = {"file": "app.py", "line": line, "thread": 1, "time": line / 100}
    return {"event": kind, "name": name, "targetId": target, **place}


CLOSED = [event(kind, "io.TextIOWrapper.close", 7, 1) for kind in ("func_pre", "func_post")]
USED = event("func_pre", "io.TextIOWrapper.read", 7, 2)


def a_run() -> LawRun:
    return LawRun([load_law(catalog.find(NAME), name=NAME)])


def test_it_changes_nothing_but_what_is_known_of_the_law() -> None:
    run = a_run()
    (law,) = run.laws
    assert not law.monitor.prepared  # type: ignore[attr-defined]
    for _ in range(9):
        run.law_set.prepare_for({NAME: [*CLOSED, USED], "no/such-law": CLOSED})
    assert law.monitor.prepared  # type: ignore[attr-defined]
    assert law.prepared_for == 3  # more would show nothing new
    run.deliver([USED])  # the file that was closed in the rehearsal is open here
    assert run.findings == []
    run.deliver([*CLOSED, USED])
    assert [finding.law for finding in run.findings] == [NAME]
    assert run.events == 4


def test_events_that_are_none_do_no_harm() -> None:
    run = a_run()
    run.law_set.prepare_for({NAME: [{"event": object()}, 3]})  # type: ignore[list-item]
    run.deliver([*CLOSED, USED])
    assert len(run.findings) == 1


def test_a_child_notes_the_first_events_of_each_law() -> None:
    run = a_run()
    run.deliver(CLOSED)
    assert run.law_set.first_events() == {}  # it is no child
    run.after_fork_in_child()
    assert run.law_set.first_events() == {}
    run.deliver([event("func_pre", "io.TextIOWrapper.read", 8, line) for line in range(40)])
    assert len(run.law_set.first_events()[NAME]) == 16
    for _ in range(3):
        run.law_set.prepare_for(run.law_set.first_events())
    run.after_fork_in_child()  # its own child has nothing new to tell
    run.deliver(CLOSED)
    assert run.law_set.first_events() == {}


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there are no forks")
def test_the_parent_has_it_before_the_next_fork(tmp_path: Path) -> None:
    program = tmp_path / "program.py"
    program.write_text(
        textwrap.dedent(
            """
            import os, sys

            def child(path):
                with open(path, "w") as file:
                    file.write("x")

            def run(path):
                if (pid := os.fork()) == 0:
                    child(path)
                    os._exit(0)
                os.waitpid(pid, 0)
            """
        ),
        encoding="utf-8",
    )
    space: dict[str, Any] = {"__name__": "program"}
    exec(compile(program.read_text(encoding="utf-8"), str(program), "exec"), space)
    law = load_law(catalog.find(NAME), name=NAME)
    session = Session(WatchSettings(scope=Scope(project=tmp_path)), [law])
    (live,) = session.live.laws
    session.start()
    try:
        space["run"](str(tmp_path / "x"))
        assert not live.monitor.prepared  # type: ignore[attr-defined]
        space["run"](str(tmp_path / "x"))
        assert live.monitor.prepared  # type: ignore[attr-defined]
    finally:
        session.finish()
    assert session.live.errors == []
    assert session.live.processes == 3
    assert session.live.findings == []
