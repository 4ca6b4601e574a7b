"""A signal that comes while Lawful is at work strikes in front of what the program is about to do."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from lawful.sources.python import tracer_choice

# What is called next is looked up when it is first met: then the signal comes.
PROGRAM = """
import signal
from lawful.sources.python.watch_planner import LawWatchPlanner

look_up = LawWatchPlanner.callee
def slowly(self, function, receiver, *more):
    if getattr(function, "__name__", "") == "extend":
        signal.raise_signal(signal.SIGUSR1)
    return look_up(self, function, receiver, *more)
LawWatchPlanner.callee = slowly

import lawful
LAW = '''
extended matches {event: 'func_pre', name: 'list.extend'};
handled matches {event: 'func_pre', name: 'dict.update'};
relevant matches extended | handled;
Main = relevant >> handled* extended* (handled all)?;
'''
done, noted = [], {}

def handler(number, frame):
    noted.update({"at": len(done)})
    raise KeyboardInterrupt

def work():
    done.extend([1])

signal.signal(signal.SIGUSR1, handler)
with lawful.watch([lawful.rml.compile(LAW)]) as run:
    try:
        work()
        print("nothing came")
    except KeyboardInterrupt:
        print("struck", done, noted)
print(run.events, [str(finding.event["name"]) for finding in run.findings], run.warnings)
"""


@pytest.mark.skipif(sys.platform == "win32", reason="other signals")
@pytest.mark.skipif(
    tracer_choice.choose("").name != "monitoring", reason="there, the call comes first: see docs/watching.md"
)
def test_a_signal_that_had_to_wait_strikes_before_the_call(tmp_path: Path) -> None:
    (tmp_path / "app.py").write_text(PROGRAM)
    done = subprocess.run([sys.executable, "app.py"], cwd=tmp_path, capture_output=True, text=True, timeout=60)
    assert done.stderr == ""
    assert done.stdout.splitlines()[0] == "struck [] {'at': 0}"
    # What the handler did was seen.
    assert int(done.stdout.splitlines()[1].split()[0]) >= 2
