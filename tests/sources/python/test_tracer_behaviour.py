"""What tracers promise beyond single programs: threads, tasks, exceptions, faults, and leaving no trace."""

from __future__ import annotations

import asyncio
import gc
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable
from types import CodeType, FrameType, ModuleType
from typing import Any

import pytest

from lawful.sources.python.pytracer import PythonTracer
from lawful.sources.python.tracer_protocol import Event, Tracer, Want
from sources.python.by_name import BRIEF, CALL, READ, WRITE, ByName

Make = Callable[..., Tracer]
Run = Callable[[str], ModuleType]

PRE = Want.PRE | Want.ARGS | Want.SITE
COUNT = """
class Thing:
    def f(self, x):
        return x
def work(n):
    thing = Thing()
    for i in range(n):
        thing.f(i)
        [].append(i)
"""


def names(events: list[Event]) -> list[str]:
    return [f"{event['event']} {event['name']}" for event in events]


# -- threads and tasks ---------------------------------------------------------------------------


def test_threads_lose_nothing(make: Make, prog: Run) -> None:
    events: list[Event] = []
    tracer = make(events.extend, calls={"list.append": CALL}, own={"prog.Thing.f": CALL}, flush_at=64)
    tracer.start()
    module = prog(COUNT)
    threads = [threading.Thread(target=module.work, args=(200,)) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    tracer.stop()
    assert tracer.fault is None
    assert tracer.dropped == 0
    by_thread: dict[int, list[Event]] = {}
    for event in events:
        by_thread.setdefault(event["thread"], []).append(event)
    assert len(by_thread) == 8
    step = ["func_pre prog.Thing.f", "func_post prog.Thing.f", "func_pre list.append", "func_post list.append"]
    for some in by_thread.values():
        assert names(some) == step * 200
        assert [event["args"] for event in some if event["event"] == "func_pre"] == [[i // 2] for i in range(400)]
        assert len({event["targetId"] for event in some if event["name"] == "prog.Thing.f"}) == 1
    receivers = {event["targetId"] for event in events if event["name"] == "list.append"}
    assert len(receivers) == 8 * 200
    assert [event["time"] for event in events] == sorted(event["time"] for event in events)


def test_threads_are_numbered_as_they_come(make: Make, prog: Run) -> None:
    events: list[Event] = []
    tracer = make(events.extend, own={"prog.Thing.f": BRIEF})
    tracer.start()
    module = prog(COUNT)
    for _ in range(3):
        thread = threading.Thread(target=module.work, args=(1,))
        thread.start()
        thread.join()
    module.work(1)
    tracer.stop()
    assert [event["thread"] for event in events] == [1, 2, 3, 4]


def test_tasks(make: Make, prog: Run) -> None:
    events: list[Event] = []
    tracer = make(events.extend, calls={"list.append": BRIEF}, own={"prog.step": BRIEF})
    tracer.start()
    module = prog("""
import asyncio
async def step(x):
    [].append(x)
async def work(n):
    for i in range(n):
        await step(i)
        await asyncio.sleep(0)
async def main():
    await asyncio.gather(work(3), work(3))
""")
    asyncio.run(module.main())
    module.work(1).close()
    tracer.stop()
    counts = Counter(event["task"] for event in events)
    assert list(counts.values()) == [6, 6]
    # They take turns.
    assert [event["task"] for event in events if event["name"] == "prog.step"] == [*counts] * 3


def test_a_value_on_which_a_method_is_called(make: Make, prog: Run) -> None:
    events: list[Event] = []
    tracer = make(events.extend, calls={"str.upper": BRIEF, "int.bit_length": Want.PRE | Want.POST | Want.SITE})
    tracer.start()
    module = prog("""
import asyncio
async def shout(text):
    text.upper()
def work():
    "a".upper(); (7).bit_length()
""")
    module.work()
    asyncio.run(module.shout("b"))
    tracer.stop()
    assert [(event["name"], event["target"], "task" in event) for event in events] == [
        ("str.upper", "a", False),
        ("int.bit_length", 7, False),
        ("int.bit_length", 7, False),
        ("str.upper", "b", True),
    ]
    assert list(events[0])[:4] == ["event", "name", "target", "file"]


def test_many_events_wait_in_memory(make: Make, prog: Run) -> None:
    for _ in range(2):  # the second tracer may have the memory of the first
        events: list[Event] = []
        batches: list[int] = []

        def deliver(some: list[Event], events: list[Event] = events, batches: list[int] = batches) -> None:
            batches.append(len(some))
            events += some

        tracer = make(deliver, calls={"list.append": PRE, "list.pop": BRIEF}, flush_at=10**9)
        n = 1_000 if tracer.name == "python" else 60_000
        tracer.start()
        prog(f"some = []\nfor i in range({n}): some.append(i); some.pop()\n")
        assert events == []
        tracer.stop()
        assert sum(batches) == 2 * n
        assert names(events) == ["func_pre list.append", "func_pre list.pop"] * n
        assert [event["args"] for event in events if "args" in event] == [[i] for i in range(n)]
        times = [event["time"] for event in events]
        assert times == sorted(times)
        assert {event["line"] for event in events} == {2}


def test_no_task_outside_of_asyncio(make: Make, prog: Run) -> None:
    events: list[Event] = []
    tracer = make(events.extend, own={"prog.Thing.f": BRIEF})
    tracer.start()
    prog(COUNT).work(1)
    tracer.stop()
    assert [list(event) for event in events] == [
        ["event", "name", "class", "targetId", "file", "line", "thread", "time"]
    ]


# -- delivery ------------------------------------------------------------------------------------


def test_batches(make: Make, prog: Run) -> None:
    batches: list[list[Event]] = []
    tracer = make(batches.append, own={"prog.Thing.f": PRE}, flush_at=10)
    tracer.start()
    module = prog(COUNT)
    module.work(25)
    assert sum(map(len, batches)) == 20
    tracer.flush()
    assert sum(map(len, batches)) == 25
    module.work(3)
    tracer.stop()
    assert [event["args"] for batch in batches for event in batch] == [[i] for i in (*range(25), *range(3))]
    assert all(batches)


def test_what_deliver_does_makes_no_events(make: Make, prog: Run) -> None:
    events: list[Event] = []
    module: ModuleType | None = None

    def deliver(batch: list[Event]) -> None:
        events.extend(batch)
        assert module is not None
        module.work(3)

    tracer = make(deliver, calls={"list.append": BRIEF}, own={"prog.Thing.f": PRE}, synchronous=True)
    tracer.start()
    module = prog(COUNT)
    module.Thing().f(1)
    tracer.stop()
    assert names(events) == ["func_pre prog.Thing.f"]


class Refused(Exception):
    pass


REFUSE = """
log = []
def step(x):
    log.append(x)
def main():
    for i in range(3):
        try:
            step(i)
        except Exception as error:
            log.append(type(error).__name__)
def on_list():
    x = []
    for i in range(3):
        try:
            x.append(i)
        except Exception as error:
            log[:] = [type(error).__name__]
    return x
"""


@pytest.mark.parametrize("side", ["callee", "caller"])
def test_synchronous_refusal_comes_before_the_call(make: Make, prog: Run, side: str) -> None:
    kinds: list[str] = []

    def deliver(events: list[Event]) -> None:
        assert len(events) == 1
        kinds.append(events[0]["event"])
        if events[0]["event"] == "func_pre" and events[0]["args"] == [1]:
            raise Refused

    if side == "callee":
        tracer = make(deliver, own={"prog.step": CALL}, synchronous=True)
    else:
        tracer = make(deliver, calls={"list.append": CALL}, synchronous=True)
    tracer.start()
    module = prog(REFUSE)
    if side == "callee":
        module.main()
        assert module.log == [0, "Refused", 2]
    else:
        assert module.on_list() == [0, 2]
        assert module.log == ["Refused"]
    tracer.stop()
    assert tracer.fault is None
    assert kinds == ["func_pre", "func_post", "func_pre", "func_pre", "func_post"]


def test_refusal_reaches_the_caller(make: Make, prog: Run) -> None:
    def deliver(events: list[Event]) -> None:
        raise Refused("no")

    tracer = make(deliver, own={"prog.step": CALL}, synchronous=True)
    tracer.start()
    module = prog(REFUSE)
    with pytest.raises(Refused, match="no") as caught:
        module.step(1)
    tracer.stop()
    assert caught.value.args == ("no",)
    assert module.log == []


def test_fault_in_deliver_switches_off(make: Make, prog: Run) -> None:
    delivered: list[int] = []

    def deliver(events: list[Event]) -> None:
        delivered.append(len(events))
        raise Refused

    tracer = make(deliver, calls={"list.append": CALL}, own={"prog.Thing.f": CALL}, flush_at=5)
    tracer.start()
    module = prog(COUNT)
    module.work(100)
    assert isinstance(tracer.fault, Refused)
    assert len(delivered) == 1
    tracer.stop()
    assert len(delivered) == 1


@pytest.mark.parametrize("question", ["plan", "callee", "receiver_callee", "class_name"])
def test_fault_in_the_tracer_switches_off(
    make: Make, prog: Run, monkeypatch: pytest.MonkeyPatch, question: str
) -> None:
    def broken(*args: object) -> None:
        raise Refused(question)

    monkeypatch.setattr(ByName, question, broken)
    events: list[Event] = []
    tracer = make(events.extend, calls={"list.append": CALL}, own={"prog.Thing.f": CALL})
    tracer.start()
    module = prog(COUNT + "log = []\nwork(3)\nlog.append(1)\n")
    assert module.log == [1]
    tracer.stop()
    assert isinstance(tracer.fault, Refused)
    assert tracer.fault.args == (question,)


def test_what_is_new_at_the_end_of_the_recursion_limits_is_seen(make: Make, prog: Run) -> None:
    """Python's and, on 3.12 and newer, that of C."""
    events: list[Event] = []
    tracer = make(events.extend, own={"prog.last": CALL}, flush_at=1)
    if isinstance(tracer, PythonTracer):
        pytest.skip("it runs on the program's own stack")
    tracer.start()
    module = prog("""
import sys
def last():
    pass
def through_python():
    try:
        through_python()
    finally:
        last()
def through_c(_):
    try:
        max([1], key=through_c)
    finally:
        last()
def main():
    limit = sys.getrecursionlimit()
    for function, limit in (through_python, limit), (through_c, limit if sys.version_info < (3, 12) else 100_000):
        sys.setrecursionlimit(limit)
        try:
            function(*() if function is through_python else (1,))
        except RecursionError:
            pass
""")
    limit = sys.getrecursionlimit()
    try:
        module.main()
    finally:
        sys.setrecursionlimit(limit)
    tracer.stop()
    assert tracer.fault is None
    assert {event["name"] for event in events} == {"prog.last"}


def test_interrupt_in_deliver_is_the_programs(make: Make, prog: Run) -> None:
    def deliver(events: list[Event]) -> None:
        raise KeyboardInterrupt

    tracer = make(deliver, own={"prog.Thing.f": PRE}, flush_at=3)
    tracer.start()
    module = prog(COUNT)
    with pytest.raises(KeyboardInterrupt):
        module.work(5)
    assert tracer.fault is None


def test_emit_is_in_its_place(make: Make, prog: Run) -> None:
    events: list[Event] = []
    tracer = make(events.extend, own={"prog.Thing.f": PRE})
    tracer.start()
    module = prog(COUNT)
    thing = module.Thing()
    thing.f(1)
    tracer.emit({"event": "mark", "name": "here", "args": [2]})
    thing.f(3)
    tracer.stop()
    assert [event["args"] for event in events] == [[1], [2], [3]]
    mark = events[1]
    assert list(mark) == ["event", "name", "args", "thread", "time"]
    assert events[0]["time"] <= mark["time"] <= events[2]["time"]
    assert mark["thread"] == events[0]["thread"]


def test_everything_is_handed_over_before_the_process_ends(make: Make, prog: Run) -> None:
    events: list[Event] = []
    handed: list[int] = []
    tracer = make(events.extend, calls={"prog.leave": PRE | Want.EXIT}, own={"prog.Thing.f": PRE})
    tracer.start()
    module = prog(COUNT + "def leave(code):\n    ended(code)\ndef main():\n    work(2)\n    leave(3)\n")
    module.ended = lambda code: handed.append(len(events))  # type: ignore[attr-defined]
    module.main()
    tracer.stop()
    assert handed == [3]
    assert names(events) == ["func_pre prog.Thing.f"] * 2 + ["func_pre prog.leave"]


def test_after_fork(make: Make, prog: Run) -> None:
    events: list[Event] = []
    tracer = make(events.extend, own={"prog.Thing.f": BRIEF})
    tracer.start()
    module = prog(COUNT)
    module.work(1)
    tracer.after_fork(3)
    module.work(2)
    tracer.stop()
    assert [event["process"] for event in events] == [3, 3]
    assert [event["thread"] for event in events] == [1, 1]
    (number,) = {event["targetId"] for event in events}
    assert 3 * 2**32 <= number < 4 * 2**32


# -- beginning and end ---------------------------------------------------------------------------


def hooks() -> tuple[Any, ...]:
    found: tuple[Any, ...] = (sys.gettrace(), sys.getprofile(), threading.gettrace(), threading.getprofile())
    if sys.version_info >= (3, 12):
        tools = range(6)
        found += (
            [sys.monitoring.get_tool(tool) for tool in tools],
            [sys.monitoring.get_tool(tool) and sys.monitoring.get_events(tool) for tool in tools],
        )
    return found


def test_stop_leaves_nothing(make: Make, prog: Run) -> None:
    before = hooks()
    events: list[Event] = []
    tracer = make(events.extend, calls={"list.append": CALL}, own={"prog.Thing.f": CALL}, gone=True)
    tracer.start()
    module = prog(COUNT)
    module.work(2)
    assert hooks() != before
    tracer.stop()
    assert hooks() == before
    count = len(events)
    assert count
    module.work(2)
    tracer.flush()
    assert len(events) == count
    if sys.version_info >= (3, 12):
        sys.monitoring.use_tool_id(4, "test")
        try:
            for code in (module.work.__code__, module.Thing.f.__code__):
                assert [sys.monitoring.get_local_events(tool, code) for tool in (4,)] == [0]
        finally:
            sys.monitoring.free_tool_id(4)


def test_stop_twice_and_start_again(make: Make, prog: Run) -> None:
    events: list[Event] = []
    tracer = make(events.extend, calls={"list.append": PRE}, own={"prog.Thing.f": PRE})
    tracer.start()
    module = prog(COUNT)
    module.work(1)
    tracer.stop()
    tracer.stop()
    module.work(1)
    tracer.start()
    module.work(2)
    tracer.stop()
    assert names(events) == ["func_pre prog.Thing.f", "func_pre list.append"] * 3
    assert len({event["targetId"] for event in events if event["name"] == "list.append"}) == 3


def test_one_after_another(make: Make, prog: Run) -> None:
    """A second tracer sees what the first one had switched off."""
    first: list[Event] = []
    second: list[Event] = []
    module = prog(COUNT)
    one = make(first.extend, own={"prog.Thing.f": PRE})
    one.start()
    module.work(1)
    one.stop()
    two = make(second.extend, calls={"list.append": PRE})
    two.start()
    module.work(1)
    two.stop()
    assert names(first) == ["func_pre prog.Thing.f"]
    assert names(second) == ["func_pre list.append"]


def test_stop_from_within_a_call(make: Make, prog: Run) -> None:
    events: list[Event] = []
    tracer = make(events.extend, calls={"list.append": CALL}, own={"prog.outer": CALL})
    tracer.start()
    module = prog("def outer(stop):\n    x = []\n    x.append(1)\n    stop()\n    x.append(2)\n    return x\n")
    assert module.outer(tracer.stop) == [1, 2]
    assert names(events) == ["func_pre prog.outer", "func_pre list.append", "func_post list.append"]


def test_a_thread_that_runs_already(make: Make, prog: Run) -> None:
    events: list[Event] = []
    module = prog(COUNT)
    go, ready = threading.Event(), threading.Event()

    def body() -> None:
        ready.set()
        go.wait()
        module.work(2)

    thread = threading.Thread(target=body)
    thread.start()
    ready.wait()
    tracer = make(events.extend, own={"prog.Thing.f": PRE})
    tracer.start()
    go.set()
    thread.join()
    tracer.stop()
    reached = sys.version_info >= (3, 12)
    assert names(events) == ["func_pre prog.Thing.f"] * (2 if reached else 0)


# -- others --------------------------------------------------------------------------------------


FAILING = """
class Loud:
    def __del__(self):
        try:
            {}[3]
        except KeyError:
            pass

def rows():
    yield 1

def rest():
    yield 1
    raise OSError

def use(*things):
    pass

def on_the_stack():
    use(Loud(), int("x"))

def in_a_loop():
    for row in rows():
        int("y")

def work():
    for each in (on_the_stack, in_a_loop):
        try:
            each()
        except ValueError:
            pass

def close():
    rows().close()
    coming = rows()
    next(coming)
    coming.close()
    coming = rows()
    next(coming)
    try:
        coming.throw(KeyError)
    except KeyError:
        pass
    list(rows())
    try:
        list(rest())
    except OSError:
        pass
"""


def test_finalisers_at_the_end_of_a_function_do_not_change_its_exception(make: Make, prog: Run) -> None:
    events: list[Event] = []
    own = dict.fromkeys(("prog.on_the_stack", "prog.in_a_loop", "prog.rows", "prog.Loud.__del__"), CALL)
    tracer = make(events.extend, own=own)
    tracer.start()
    prog(FAILING).work()
    tracer.stop()
    assert tracer.fault is None
    raised = [(event["name"], event["exception"]) for event in events if event["event"] == "func_raise"]
    assert [each for each in raised if each[0] != "prog.rows"] == [
        ("prog.on_the_stack", "ValueError"),
        ("prog.in_a_loop", "ValueError"),
    ]


def test_generators_that_end_by_an_exception_give_nothing_away(make: Make, prog: Run) -> None:
    events: list[Event] = []
    tracer = make(events.extend, own=dict.fromkeys(("prog.rows", "prog.rest"), Want.YIELD))
    tracer.start()
    prog(FAILING).close()
    tracer.stop()
    assert tracer.fault is None
    reported = names(events)
    assert reported.count("yield prog.rows") == 3
    assert not any("exception" in event for event in events)
    assert reported[-2:] == ["yield prog.rest", "resume prog.rest"]


def test_a_trace_function_sees_the_same(make: Make, prog: Run) -> None:
    def lines(watch: bool) -> list[int]:
        seen: list[int] = []

        def trace(frame: FrameType, event: str, arg: object) -> Any:
            if frame.f_code.co_filename == "prog.py":
                seen.append(frame.f_lineno)
                return trace
            return None

        events: list[Event] = []
        tracer = make(events.extend, calls={"list.append": CALL}, own={"prog.Thing.f": CALL})
        module = prog(COUNT)
        before = sys.gettrace()
        if watch:
            tracer.start()
        sys.settrace(trace)
        try:
            module.work(2)
        finally:
            assert sys.gettrace() is trace
            sys.settrace(before)
        tracer.stop()
        assert len(events) == (8 if watch else 0)
        assert tracer.fault is None
        return seen

    assert lines(True) == lines(False)


@pytest.mark.skipif(sys.version_info < (3, 12), reason="this Python lacks sys.monitoring")
def test_another_tool_of_monitoring(make: Make, prog: Run) -> None:
    seen: list[str] = []
    monitoring = sys.monitoring  # type: ignore[attr-defined]
    events: list[Event] = []
    module = prog(COUNT)

    def start(code: Any, offset: int) -> None:
        if code.co_filename == "prog.py":
            seen.append(code.co_name)

    def instruction(code: Any, offset: int) -> Any:
        return monitoring.DISABLE

    tool = 4
    monitoring.use_tool_id(tool, "other")
    try:
        monitoring.register_callback(tool, monitoring.events.PY_START, start)
        monitoring.register_callback(tool, monitoring.events.INSTRUCTION, instruction)
        monitoring.set_events(tool, monitoring.events.PY_START | monitoring.events.INSTRUCTION)
        tracer = make(events.extend, calls={"list.append": PRE}, own={"prog.Thing.f": PRE})
        tracer.start()
        module.work(2)
        monitoring.restart_events()
        module.work(1)
        tracer.stop()
        module.work(1)
        assert monitoring.get_tool(tool) == "other"
    finally:
        monitoring.set_events(tool, 0)
        monitoring.free_tool_id(tool)
    assert names(events) == ["func_pre prog.Thing.f", "func_pre list.append"] * 3
    assert seen == ["work", "f", "f", "work", "f", "work", "f"]


def test_two_at_once(make: Make, prog: Run) -> None:
    first: list[Event] = []
    second: list[Event] = []
    one = make(first.extend, calls={"list.append": PRE})
    two = make(second.extend, own={"prog.Thing.f": PRE})
    if sys.version_info < (3, 12):
        pytest.skip("here the one that started last must stop first")
    one.start()
    two.start()
    module = prog(COUNT)
    module.work(2)
    one.stop()
    module.work(1)
    two.stop()
    assert names(first) == ["func_pre list.append"] * 2
    assert names(second) == ["func_pre prog.Thing.f"] * 3


def test_garbage_of_the_program_is_collected(make: Make, prog: Run) -> None:
    """Cycles through objects that cannot be weakly referenced do not pile up."""
    tracer = make(lambda events: None, calls={"list.append": BRIEF}, gone=True)
    tracer.start()
    module = prog("def work(n):\n    for i in range(n):\n        x = []\n        x.append(x)\n")
    module.work(20_000)
    tracer.flush()
    gc.collect()
    cycles = sum(1 for value in gc.get_objects() if type(value) is list and len(value) == 1 and value[0] is value)
    tracer.stop()
    assert cycles < 5_000


GENERATORS = """
import gc

class Noisy:
    def __init__(self):
        self.me = self
    def __del__(self):
        pass

class Coming:
    def rows(self):
        yield 1

def use(coming, seen):
    rows = coming.rows()
    seen.append(1)
    seen.append(rows)

def work(n):
    gc.collect()
    coming, seen = Coming(), []
    before = gc.get_threshold()
    for i in range(n):
        Noisy()
        gc.set_threshold(gc.get_count()[0] + i)
        use(coming, seen)
        gc.set_threshold(*before)
"""


def test_a_finaliser_that_runs_while_a_generator_is_made_hides_nothing(make: Make, prog: Run) -> None:
    """The collector comes at each of the next allocations, one of which is that of the generator."""
    events: list[Event] = []
    tracer = make(events.extend, calls={"list.append": CALL}, flush_at=64)
    tracer.start()
    module = prog(GENERATORS)
    before = gc.get_threshold()
    try:
        module.work(60)
    finally:
        gc.set_threshold(*before)
        tracer.stop()
    assert tracer.fault is None
    assert names(events) == ["func_pre list.append", "func_post list.append"] * 120


def test_times_are_seconds_since_the_start(make: Make, prog: Run) -> None:
    events: list[Event] = []
    before = time.monotonic()  # a tracer counts from when it was made
    tracer = make(events.extend, own={"prog.Thing.f": PRE})
    tracer.start()
    prog(COUNT).work(2)
    tracer.stop()
    assert 0 <= events[0]["time"] <= events[1]["time"] <= time.monotonic() - before


def test_fields_without_values(make: Make, prog: Run) -> None:
    events: list[Event] = []
    tracer = make(events.extend, calls={"prog.A.x": (READ | WRITE) & ~Want.RESULT})
    tracer.start()
    prog("class A: pass\na = A()\na.x = 1\na.x\n")
    tracer.stop()
    assert names(events) == ["field_write prog.A.x", "field_read prog.A.x"]
    assert all("res" not in event for event in events)


def test_an_interrupt_in_the_middle_of_our_work_reaches_the_program() -> None:
    """The pure-Python core: a signal's handler runs wherever the interpreter is, also in Lawful."""

    class Interrupted:
        def plan(self, code: CodeType, module: str) -> None:
            if code.co_name == "work":
                raise KeyboardInterrupt

        def __getattr__(self, name: str) -> Any:
            return lambda *_: None

    def work() -> str:
        return "done"

    tracer = PythonTracer(Interrupted(), lambda batch: None)
    tracer.start()
    try:
        with pytest.raises(KeyboardInterrupt):
            work()
    finally:
        tracer.stop()
    assert isinstance(tracer.fault, KeyboardInterrupt)
    assert work() == "done"
