"""What a watched program must not notice of it, and what the C core takes care of in particular."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from lawful import core
from lawful.sources.python import tracer_choice
from lawful.sources.python.tracer_protocol import Event, Want

Make = Callable[..., Any]
Run = Callable[[str], ModuleType]

CALL = Want.PRE | Want.POST | Want.RAISE | Want.ARGS | Want.RESULT


def _native(tracer: Any) -> None:
    if tracer.name == "python":
        pytest.skip("only the C cores do this")


def test_a_program_at_the_end_of_its_recursion_limit(make: Make, prog: Run) -> None:
    module = prog("""
def use(item):
    item.append(1)
def deep(n, item):
    try:
        return deep(n + 1, item)
    except RecursionError:
        use(item)
        return n
""")
    events: list[Event] = []
    tracer = make(events.extend, calls={"list.append": CALL}, flush_at=1)
    _native(tracer)
    unwatched = module.deep(0, [])
    tracer.start()
    watched = module.deep(0, [])
    tracer.stop()
    assert tracer.fault is None
    assert watched == unwatched
    # `use` may be too deep itself, in some frames, and on 3.11 so may `append`: the first that could call it did.
    assert [event["event"] for event in events][-2:] == ["func_pre", "func_post"]


def test_no_weak_reference_shows(make: Make, prog: Run) -> None:
    module = prog("""
class Thing:
    def work(self): return self.__weakref__
""")
    events: list[Event] = []
    tracer = make(events.extend, own={"prog.Thing.work": CALL}, gone=True)
    _native(tracer)
    tracer.start()
    found = module.Thing().work()
    tracer.stop()
    assert found is None
    assert [event["event"] for event in events] == ["func_pre", "func_post", "gone"]


def test_what_a_finaliser_does_is_still_done_by_the_object(make: Make, prog: Run) -> None:
    module = prog("""
class Thing:
    __slots__ = ()
    def work(self): pass
    def close(self): pass
    def __del__(self): self.close()
def use():
    Thing().work()
""")
    events: list[Event] = []
    tracer = make(events.extend, own={"prog.Thing.work": Want.PRE, "prog.Thing.close": Want.PRE}, gone=True)
    _native(tracer)
    tracer.start()
    module.use()
    tracer.stop()
    assert [(event["event"], event["name"]) for event in events] == [
        ("func_pre", "prog.Thing.work"),
        ("func_pre", "prog.Thing.close"),
        ("gone", "prog.Thing"),
    ]
    assert len({event["targetId"] for event in events}) == 1


def test_an_object_that_lives_on_after_its_finaliser(make: Make, prog: Run) -> None:
    module = prog("""
kept = []
class Thing:
    def work(self): pass
    def __del__(self): kept.append(self)
def use():
    Thing().work()
    kept[0].work()
    del kept[:]
""")
    events: list[Event] = []
    tracer = make(events.extend, own={"prog.Thing.work": Want.PRE}, gone=True)
    _native(tracer)
    tracer.start()
    module.use()
    for _ in range(100):
        module.Thing().work()
    tracer.stop()
    assert sum(event["event"] == "func_pre" for event in events) == 102
    seen: set[int] = set()
    alive: set[int] = set()
    for event in events:
        if event["event"] == "gone":
            alive.discard(event["targetId"])
            seen.add(event["targetId"])
        else:
            assert event["targetId"] not in seen, "an id came back"
            alive.add(event["targetId"])


def test_gone_comes_after_the_end_of_the_call_that_it_died_in(make: Make, prog: Run) -> None:
    module = prog("""
def use():
    for _ in range(3):
        [3, 1, 2].sort()
""")
    events: list[Event] = []
    tracer = make(events.extend, calls={"list.sort": CALL}, gone=True)
    _native(tracer)
    tracer.start()
    module.use()
    tracer.stop()
    assert [event["event"] for event in events] == ["func_pre", "func_post", "gone"] * 3
    assert len({event["targetId"] for event in events}) == 3


def test_deep_structures_are_freed_without_deep_recursion(make: Make, prog: Run) -> None:
    module = prog("""
def use(depth):
    for kind in (lambda x: [x], lambda x: (x,), lambda x: {1: x}):
        value = None
        for _ in range(depth):
            value = kind(value)
        note(value)
        del value
def note(value): pass
""")
    events: list[Event] = []
    tracer = make(events.extend, own={"prog.note": Want.PRE | Want.ARGS}, gone=True)
    _native(tracer)
    tracer.start()
    module.use(200_000)
    tracer.stop()
    assert tracer.fault is None
    assert [event["event"] for event in events] == ["func_pre", "gone"] * 3


def test_the_same_types_when_nobody_watches(make: Make, prog: Run) -> None:
    module = prog("""
class Slots:
    __slots__ = ()
    def work(self, *others): pass
def use():
    Slots().work([], (1, 2), {}, bytearray(), iter([]))
""")
    tracer = make(lambda events: None, own={"prog.Slots.work": Want.PRE | Want.ARGS}, gone=True)
    tracer.start()
    module.use()
    tracer.stop()
    assert not hasattr(module.Slots, "__del__")
    assert [type(x) for x in ([], (1,), {}, bytearray())] == [list, tuple, dict, bytearray]  # type: ignore[var-annotated]
    module.use()


def test_method_sites_see_every_class(make: Make, prog: Run) -> None:
    module = prog("""
class Mine:
    def append(self, item): pass
def use(things):
    for each in things:
        each.append(1)
""")
    events: list[Event] = []
    tracer = make(events.extend, calls={"list.append": Want.PRE})
    tracer.start()
    module.use([module.Mine(), module.Mine(), [], module.Mine(), []])
    tracer.stop()
    assert [event["name"] for event in events] == ["list.append"] * 2


@pytest.mark.skipif(core.native_tracer is None, reason="the C core is not built")
def test_call_bare() -> None:
    native: Any = core.native_tracer

    def look() -> tuple[object, int]:
        depth = 0
        frame = sys._getframe()
        while frame.f_back is not None:
            frame = frame.f_back
            depth += 1
        return frame.f_code, depth

    code, depth = native.call_without_frames(look)
    assert (code, depth) == (look.__code__, 0)
    assert look()[1] > 0
    with pytest.raises(ZeroDivisionError):
        native.call_without_frames(lambda: 1 // 0)
    assert look()[1] > 0


@pytest.mark.parametrize("core_name", [name for name in tracer_choice.available() if name != "python"])
@pytest.mark.parametrize(("number", "error"), [("SIGALRM", "TimeoutError"), ("SIGINT", "KeyboardInterrupt")])
def test_signals_wait_until_lawful_has_done_its_work(core_name: str, number: str, error: str, tmp_path: Path) -> None:
    program = tmp_path / "program.py"
    program.write_text(f"""
import io, os, signal, threading
def handler(*args): raise {error}
signal.signal(signal.{number}, handler)
def loop(timer):
    try:
        timer.start()
        while True:
            text = io.StringIO()
            text.write("a")
            text.close()
    except {error}:
        print("handled")
for _ in range(3):
    timer = threading.Timer(0.3, os.kill, (os.getpid(), signal.{number}))
    loop(timer)
    timer.join()
text = io.StringIO()
text.close()
try:
    text.read()
except ValueError:
    print("done")
""")
    command = [
        sys.executable,
        "-m",
        "lawful",
        "run",
        "--law",
        "files/use-after-close",
        "--set",
        f"core={core_name}",
        str(program),
    ]
    done = subprocess.run(command, capture_output=True, encoding="utf-8", timeout=60, cwd=tmp_path)
    assert done.stdout.split() == ["handled"] * 3 + ["done"]
    assert "1 finding in 1 law" in done.stderr
    assert done.returncode == 1
