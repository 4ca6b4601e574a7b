"""Laws that come and go while a program runs: what they see, and that objects and threads stay who they are."""

from __future__ import annotations

import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

from lawful.sources.python import tracer_choice

PRELUDE = """
import sys, threading
from lawful import rml
from lawful.engine.control import change_laws
from lawful.engine.session import Session
from lawful.engine.watch_settings import WatchSettings
from lawful.sources.python.scope import Scope
from lawful.learning.parameters import Learning

def pairs(name, cls):  # what is opened is closed, and opened no more than once
    return rml.compile(f'''
        op(x) matches {{event: 'func_pre', name: '__main__.{cls}.open', targetId: x}};
        cl(x) matches {{event: 'func_pre', name: '__main__.{cls}.close', targetId: x}};
        mine(x) matches op(x) | cl(x);
        any_ matches op(_) | cl(_);
        Main = any_ >> (cl(_)* {{let x; op(x) ((mine(x) >> Open<x>) /\\\\ Main)}}?);
        Open<x> = (cl(x) all)?;
    ''', name=name)

def anything(name, cls):
    return rml.compile(f"on matches {{name: '__main__.{cls}.open' | '__main__.{cls}.close'}}; Main = on*;", name=name)

class A:
    def open(self): pass
    def close(self): pass
class B:
    def open(self): pass
    def close(self): pass

def begin(*laws, **settings):
    session = Session(WatchSettings(core=CORE, **settings), laws)
    session.start()
    return session

def told(session):
    return sorted((f.law, f.line, f.count) for f in session.live.findings)

def line():
    return sys._getframe(1).f_lineno
"""


def run(core: str, program: str, tmp_path: Path, python: str = sys.executable) -> str:
    file = tmp_path / "program.py"
    file.write_text(f"CORE = {core!r}\n{PRELUDE}\n{textwrap.dedent(program)}")
    done = subprocess.run([python, str(file)], capture_output=True, text=True, timeout=120, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    return done.stdout.strip()


BLIND = sys.version_info < (3, 12)  # the pure-Python core, to threads that run already


@pytest.fixture(params=[core for core in tracer_choice.available() if core != "python" or not BLIND])
def core(request):
    return request.param


@pytest.mark.skipif(not BLIND, reason="only on 3.11")
def test_a_core_that_would_not_see_running_threads_refuses(tmp_path):
    program = """
        from lawful.errors import LawfulError
        session = begin(pairs('a', 'A'))
        try:
            change_laws(session, [pairs('b', 'B')])
        except LawfulError as error:
            print(error.slug)
        session.finish()
    """
    assert run("python", program, tmp_path) == "control-core"


def test_a_law_that_is_added_sees_code_that_runs_already(core, tmp_path):
    program = """
        def main():
            session = begin(pairs('a', 'A'))
            a, b = A(), B()
            b.open(); b.open()      # nobody looks
            change_laws(session, [pairs('b', 'B')])
            b.open(); wrong = line(); b.open()
            a.open(); bad = line(); a.open()
            session.finish()
            print(told(session) == [('a', bad, 1), ('b', wrong, 1)], session.live.warnings)
        main()
    """
    out = run(core, program, tmp_path)
    assert out.startswith("True")
    assert "was not watched" in out


def test_objects_keep_their_ids_across_the_change(core, tmp_path):
    program = """
        def main():
            session = begin(pairs('a', 'A'))
            objects = [A() for _ in range(5)]
            for each in objects: each.open()
            for round in range(3):
                change_laws(session, [pairs(f'b{round}', 'B')])
            objects[3].close()
            wrong = line(); objects[4].open()
            new = A(); new.open(); new.close()
            session.finish()
            findings = session.live.findings
            print([(f.law, f.line == wrong, f.event['targetId']) for f in findings if f.rejected_at != 'end'])
            print([e.event['targetId'] for f in findings for e in f.history if f.line == wrong])
        main()
    """
    first, second = run(core, program, tmp_path).splitlines()
    assert first == "[('a', True, 5)]"
    assert second == "[5]"


def test_threads_keep_their_numbers(core, tmp_path):
    program = """
        def main():
            session = begin(pairs('a', 'A'), trace='t.jsonl')
            a, go, done = A(), [threading.Event() for _ in range(4)], [threading.Event() for _ in range(4)]
            def work(n):
                a.open(); done[n].set(); go[n].wait(); a.close(); done[n].set()
            a.open()
            threads = [threading.Thread(target=work, args=(n,)) for n in range(4)]
            for n, t in enumerate(threads): t.start(); done[n].wait(); done[n].clear()
            change_laws(session, [pairs('b', 'B')])
            for n in (2, 0, 3, 1): go[n].set(); done[n].wait()
            a.close()
            for t in threads: t.join()
            session.finish()
            import json
            events = [json.loads(l) for l in open('t.jsonl')]
            print([e['thread'] for e in events if e['event'] == 'func_pre'])
        main()
    """
    assert run(core, program, tmp_path) == "[1, 2, 3, 4, 5, 4, 2, 5, 3, 1]"


def test_a_law_that_is_removed_or_paused_sees_nothing(core, tmp_path):
    program = """
        def main():
            session = begin(pairs('a', 'A'), pairs('b', 'B'))
            a, b = A(), B()
            session.pause_law('a', True)
            a.open(); a.open()
            session.pause_law('a', False)
            change_laws(session, remove='b')
            b.open(); b.open()
            wrong = line(); a.open(); a.open()
            session.finish()
            print(told(session) == [('a', wrong, 1)], [each.law.name for each in session.live.laws])
        main()
    """
    assert run(core, program, tmp_path) == "True ['a']"


def test_learning_goes_on(core, tmp_path):
    program = """
        def main():
            session = begin(learn=Learning(), scope=Scope(public=('program',)), main='program')
            for _ in range(20):
                a = A(); a.open(); a.close()
            session.tracer.flush()
            change_laws(session, [pairs('b', 'B')])
            for _ in range(20):
                a = A(); a.open(); a.close()
            b = B(); b.open(); wrong = line(); b.open()
            session.finish()
            print(session.learner.learner.events, ('b', wrong, 1) in told(session))
        main()
    """
    assert run(core, program, tmp_path) == "82 True"


def test_threads_that_run_all_the_time_are_no_trouble(core, tmp_path):
    program = """
        def main():
            session = begin(anything('a', 'A'))
            stop = threading.Event()
            def work():
                while not stop.is_set():
                    a = A(); a.open(); a.close()
            threads = [threading.Thread(target=work) for _ in range(3)]
            for t in threads: t.start()
            for n in range(20):
                change_laws(session, [anything(f'b{n}', 'B')], remove=f'b{n-1}')
            stop.set()
            for t in threads: t.join()
            session.finish()
            print(session.live.fault, [each.law.name for each in session.live.laws])
        main()
    """
    assert run(core, program, tmp_path) == "None ['a', 'b19']"
