"""Watching from inside a program: blocks, functions of every kind, and events of its own."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
import threading
from collections.abc import AsyncIterator, Callable, Generator
from pathlib import Path
from typing import Any

import pytest

import lawful
from tracer_cores import core

LISTS = """
append(l) matches {event:'func_pre', name:'list.append', targetId:l};
clear(l) matches {event:'func_pre', name:'list.clear', targetId:l};
of(l) matches append(l) | clear(l);
Main = {let l; append(l) ((of(l) >> clear(l) One<l>) /\\ (of(l) >> all : Main))}?;
One<l> = (append(l) clear(l))*;
"""
"""A list that was appended to is cleared before it is appended to again, and in the end."""
ORDERS = """
order(c) matches {event:'order', targetId:c};
pay(c) matches {event:'pay', targetId:c};
Main = {let c; order(c) (Main | pay(c))}?;
"""
__all__ = ["core"]

HERE = Path(__file__).name


@pytest.fixture
def law() -> lawful.Law:
    return lawful.rml.compile(LISTS, name="lists.rml")


@pytest.fixture
def orders() -> lawful.Law:
    return lawful.rml.compile(ORDERS, name="orders.rml")


def good() -> int:
    values: list[int] = []
    values.append(1)
    values.clear()
    return len(values)


def bad(times: int = 1) -> list[int]:
    values: list[int] = []
    values.append(1)
    for _ in range(times):
        values.append(2)
    values.clear()
    return values


BAD_LINE = bad.__code__.co_firstlineno + 4


def lines(found: list[lawful.Finding]) -> list[tuple[str | None, int | None, int]]:
    return [(Path(each.file or "").name, each.line, each.count) for each in found]


# -- blocks ----------------------------------------------------------------------------------------


def test_a_good_block(law: lawful.Law) -> None:
    with lawful.watch([law]) as run:
        assert good() == 0
    assert (run.findings, run.warnings, run.events) == ([], [], 2)


def test_a_bad_block(law: lawful.Law) -> None:
    with lawful.watch([law]) as run:
        bad(3)
        assert lines(run.findings) == [(HERE, BAD_LINE, 3)]
    assert lines(run.findings) == [(HERE, BAD_LINE, 3)]
    assert f"{HERE}:{BAD_LINE}: lists.rml: list.append" in run.report()
    assert "values.append(2)" in run.report()
    assert run.snapshot()["events"] == run.events == 5


def test_the_block_itself_is_watched(law: lawful.Law) -> None:
    values: list[int] = []
    with lawful.watch([law]) as run:
        values.append(1)
        values.append(2)
        values.clear()
    assert [each.count for each in run.findings] == [1]


def test_the_end_of_the_block_is_the_end(law: lawful.Law) -> None:
    kept: list[int] = []

    def work() -> None:
        kept.append(1)

    with lawful.watch([law]) as run:
        work()
        assert run.findings == []
    assert [each.rejected_at for each in run.findings] == ["end"]
    kept.clear()
    assert run.events == 1


def test_exceptions_pass(law: lawful.Law) -> None:
    with pytest.raises(ZeroDivisionError), lawful.watch([law]) as run:
        bad()
        _ = 1 // 0
    assert lines(run.findings) == [(HERE, BAD_LINE, 1)]


def test_raise_comes_before_the_call(law: lawful.Law) -> None:
    values: list[int] = []

    def work() -> None:
        values.append(1)
        values.append(2)

    run = lawful.watch([law], on_violation="raise")
    with pytest.raises(lawful.Violation, match=r"lists\.rml: list\.append") as caught, run:
        work()
    assert values == [1]
    assert caught.value.finding is run.findings[0]
    assert caught.value.__traceback__ is not None


def test_a_violation_can_be_caught_and_the_watch_goes_on(law: lawful.Law) -> None:
    caught = set()

    def work(values: list[int]) -> None:
        values.append(1)
        try:
            values.append(2)
        except lawful.Violation as violation:
            caught.add(violation)
        values.clear()

    with lawful.watch([law], on_violation="raise") as run:
        first: list[int] = []
        second: list[int] = []
        work(first)
        work(second)
    assert len(caught) == 2
    assert [each.count for each in run.findings] == [2]


def test_stop_ends_the_program(law: lawful.Law) -> None:
    with pytest.raises(SystemExit) as caught, lawful.watch([law], on_violation="stop"):
        bad()
    assert caught.value.code == 1


def test_findings_are_told_of(law: lawful.Law) -> None:
    told: list[lawful.Finding] = []
    with lawful.watch([law], on_finding=told.append) as run:
        bad()
    assert told == run.findings


def test_threads_are_watched(law: lawful.Law) -> None:
    with lawful.watch([law]) as run:
        threads = [threading.Thread(target=bad) for _ in range(4)]
        for each in threads:
            each.start()
        for each in threads:
            each.join()
    assert lines(run.findings) == [(HERE, BAD_LINE, 4)]


def test_watches_inside_each_other(law: lawful.Law, orders: lawful.Law) -> None:
    cart = Cart()
    with lawful.watch([law]) as outer:
        bad()
        with lawful.watch([law, orders]) as inner:
            bad()
            lawful.emit("pay", target=cart)
        bad()
    assert lines(outer.findings) == [(HERE, BAD_LINE, 3)]
    assert [(each.law, each.count) for each in inner.findings] == [("lists.rml", 1), ("orders.rml", 1)]


def test_too_many_watches_are_refused(law: lawful.Law, core: str) -> None:
    if sys.version_info < (3, 12) and core == "python":
        pytest.skip("here there is no such limit")
    watches: list[Any] = []
    try:
        with pytest.raises(lawful.LawfulError) as caught:
            for _ in range(7):
                watches.append(lawful.watch([law]).__enter__())
    finally:
        for each in reversed(watches):
            each.__exit__(None, None, None)
    assert caught.value.slug == "watch-refused"
    with lawful.watch([law]) as run:
        bad()
    assert len(run.findings) == 1


def test_a_watch_is_used_once(law: lawful.Law) -> None:
    run = lawful.watch([law])
    assert "not begun" in repr(run)
    with run:
        assert "at work" in repr(run)
    assert "ended" in repr(run)
    with pytest.raises(RuntimeError, match="used once"), run:
        pass


def test_the_trace_is_written(law: lawful.Law, tmp_path: Path) -> None:
    path = tmp_path / "t.jsonl"
    with lawful.watch([law], trace=path):
        good()
    names = [json.loads(line)["name"] for line in path.read_text().splitlines()]
    assert names == ["list.append", "list.clear"]


def test_laws_from_files_and_the_catalogue(tmp_path: Path) -> None:
    path = tmp_path / "lists.rml"
    path.write_text(LISTS)
    for laws in (path, str(path), [path]):
        with lawful.watch(laws) as run:
            bad()
        assert [each.law for each in run.findings] == [str(path)]
    with lawful.watch("files"):
        pass
    with pytest.raises(lawful.LawError):
        lawful.watch("there-is-no-such-law")


def test_scopes(tmp_path: Path) -> None:
    path = tmp_path / "t.jsonl"
    with lawful.watch(scope=lawful.Scope(calls="json"), trace=path) as run:
        encode()
    names = {json.loads(line)["name"] for line in path.read_text().splitlines()}
    assert "json.dumps" in names
    assert run.events == len(path.read_text().splitlines())


def encode() -> str:
    return json.dumps([1])


@pytest.mark.parametrize(
    "options",
    [{"on_violation": "shout"}, {"history": -1}, {"history": "many"}, {"history": 10**30}, {"laws": [3]}],
)
def test_bad_options_are_refused(options: Any) -> None:
    with pytest.raises(lawful.LawfulError) as caught:
        lawful.watch(**options)
    assert caught.value.slug == "watch-option"


# -- events of one's own ---------------------------------------------------------------------------


class Cart:
    """Something to have an id."""


def test_keys_of_dicts_are_those_that_json_writes(tmp_path: Path) -> None:
    keys: dict[Any, int] = {"a": 1, 2: 2, 2.5: 3, True: 4, None: 5, (): 6}
    with lawful.watch(trace=tmp_path / "t.jsonl"):
        lawful.emit("counts", keys=keys)
    del keys[()]  # which it refuses
    assert json.loads((tmp_path / "t.jsonl").read_text())["keys"] == json.loads(json.dumps(keys))


def test_emitting_where_nobody_watches() -> None:
    lawful.emit("order", 1, target=Cart(), express=True)


def test_own_events_are_judged(orders: lawful.Law) -> None:
    one, two = Cart(), Cart()
    with lawful.watch([orders]) as run:
        lawful.emit("order", target=one)
        lawful.emit("pay", target=two)
        lawful.emit("pay", target=one)
    assert [(each.rejected_at, Path(each.file or "").name) for each in run.findings] == [(2, HERE)]


def test_own_events_can_raise(orders: lawful.Law) -> None:
    with pytest.raises(lawful.Violation, match="pay on object"), lawful.watch([orders], on_violation="raise"):
        lawful.emit("pay", target=Cart())


def test_what_an_own_event_holds(tmp_path: Path) -> None:
    path = tmp_path / "t.jsonl"
    cart, user = Cart(), Cart()
    deep: Any = 1
    for _ in range(50):
        deep = [deep]
    with lawful.watch([], trace=path):
        tags = ["a", {"b": (2, user)}]
        lawful.emit("order", 1, user, "x", target=cart, user=user, express=True, tags=tags, deep=deep)
        lawful.emit("plain")
        lawful.emit("value", target=3, nothing=None, nan=float("nan"), event="other", line=7)
        lawful.emit("again", target=user)
    first, plain, value, again = (json.loads(line) for line in path.read_text().splitlines())
    assert first["event"] == "order"
    assert first["args"] == [1, None, "x"]
    assert first["argIds"] == [None, first["userId"], None]
    assert (first["express"], first["tags"]) == (True, ["a", {"b": [2, None]}])
    assert first["targetId"] != first["userId"] == again["targetId"]
    assert os.path.basename(first["file"]) == HERE
    assert first["line"] == plain["line"] - 1
    assert {"thread", "time"} <= plain.keys()
    assert not {"args", "targetId", "target"} & plain.keys()
    assert (value["event"], value["target"], value["nothing"], value["nan"]) == ("value", 3, None, None)
    assert value["line"] == 7


# -- functions -------------------------------------------------------------------------------------


def totals(function: Any) -> list[int]:
    return [each.count for each in function.lawful.findings]


def test_a_watched_function(law: lawful.Law) -> None:
    @lawful.watch(laws=[law])
    def work(times: int, *, more: int = 0) -> list[int]:
        """What it does."""
        return bad(times + more)

    assert work(1, more=1) == []
    assert work(1) == []
    assert (work.__name__, work.__doc__) == ("work", "What it does.")
    assert totals(work) == [3]
    assert work.lawful.calls == 2  # type: ignore[attr-defined]
    bad()
    assert totals(work) == [3]


def test_recursion_is_one_watch(law: lawful.Law) -> None:
    @lawful.watch(laws=[law])
    def work(depth: int) -> None:
        bad()
        if depth:
            work(depth - 1)

    work(5)
    assert totals(work) == [6]
    assert work.lawful.calls == 1  # type: ignore[attr-defined]


def test_exceptions_of_a_watched_function(law: lawful.Law) -> None:
    @lawful.watch(laws=[law])
    def work() -> None:
        bad()
        raise KeyError("mine")

    with pytest.raises(KeyError, match="mine"):
        work()
    assert totals(work) == [1]


def test_methods(law: lawful.Law) -> None:
    class Worker:
        @lawful.watch(laws=[law])
        def method(self) -> Any:
            return bad() or self

        @lawful.watch(laws=[law])
        @classmethod
        def of_class(cls) -> Any:
            return bad() or cls

        @lawful.watch(laws=[law])
        @staticmethod
        def of_nobody() -> Any:
            return bad()

    worker = Worker()
    assert worker.method() is worker
    assert worker.of_class() is Worker
    assert worker.of_nobody() == []
    assert [totals(each) for each in (worker.method, worker.of_class, worker.of_nobody)] == [[1], [1], [1]]


def test_a_coroutine(law: lawful.Law) -> None:
    @lawful.watch(laws=[law])
    async def work(answer: int) -> int:
        await asyncio.sleep(0)
        bad()
        return answer

    async def main() -> list[int]:
        return list(await asyncio.gather(work(1), work(2)))

    assert asyncio.run(main()) == [1, 2]
    assert totals(work) == [2]


def test_a_generator(law: lawful.Law) -> None:
    @lawful.watch(laws=[law])
    def work() -> Generator[Any, Any, str]:
        got = yield 1
        bad()
        try:
            yield got
        except KeyError:
            yield "caught"
        return "done"

    running: Any = work()
    assert next(running) == 1
    assert running.send("sent") == "sent"
    assert running.throw(KeyError()) == "caught"
    with pytest.raises(StopIteration, match="done"):
        next(running)
    assert totals(work) == [1]


def test_an_asynchronous_generator(law: lawful.Law) -> None:
    closed = set()

    @lawful.watch(laws=[law])
    async def work() -> AsyncIterator[Any]:
        try:
            got = yield 1
            bad()
            try:
                yield got
            except KeyError:
                yield "caught"
            yield "never"
        finally:
            closed.add(True)

    async def main() -> None:
        running: Any = work()
        assert await anext(running) == 1
        assert await running.asend("sent") == "sent"
        assert await running.athrow(KeyError()) == "caught"
        await running.aclose()
        assert closed == {True}
        assert [each async for each in work()] == [1, None, "never"]

    asyncio.run(main())
    assert totals(work) == [2]


def test_only_functions_can_be_watched() -> None:
    with pytest.raises(TypeError, match="decorates functions"):
        lawful.watch([])(Cart)
    with pytest.raises(lawful.LawError):
        lawful.watch(laws=["there-is-no-such-law"])


def test_a_watched_function_of_a_project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, core: str) -> None:
    (tmp_path / "pyproject.toml").write_text('[tool.lawful]\nlaws = ["lists.rml"]\n')
    (tmp_path / "lists.rml").write_text(LISTS)
    program = "def bad():\n    values = []\n    values.append(1)\n    values.append(2)\n    values.clear()\n"
    (tmp_path / "program.py").write_text(program)
    monkeypatch.chdir(tmp_path)
    space: dict[str, Any] = {"__name__": "program"}
    exec(compile(program, str(tmp_path / "program.py"), "exec"), space)
    work: Callable[[], None] = lawful.watch(project=tmp_path)(space["bad"])
    work()
    assert lines(work.lawful.findings) == [("program.py", 4, 1)]  # type: ignore[attr-defined]


# -- what it costs ---------------------------------------------------------------------------------


def test_emit_alone_imports_little() -> None:
    program = (
        "import sys, lawful; lawful.emit('x');"
        "sys.exit(str(sorted(set(sys.modules) & {'msgspec', 'click', 'rich', 'lawful.engine', 'lawful.laws'})))"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60)
    assert done.stderr.strip() == "[]"


def test_watching_imports_neither_click_nor_rich(tmp_path: Path) -> None:
    (tmp_path / "l.rml").write_text(LISTS)
    program = (
        "import sys, lawful\nwith lawful.watch('l.rml') as run: pass\n"
        "sys.exit(str(sorted(set(sys.modules) & {'click', 'rich', 'lawful.reports', 'lawful.cli'})))"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60, cwd=tmp_path)
    assert done.stderr.strip() == "[]"


# -- faults ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("target", "name"),
    [
        ("lawful.engine.session.Session", "_watch_no_more"),
        ("lawful.engine.run.LawRun", "_judge"),
        ("lawful.engine.run.LawRun", "_judge_end"),
        ("lawful.sources.python.watch_planner.LawWatchPlanner", "plan"),
        ("lawful.sources.python.emitting", "_made"),
    ],
)
def test_a_fault_of_lawful_is_a_warning(
    law: lawful.Law, monkeypatch: pytest.MonkeyPatch, target: str, name: str
) -> None:
    def broken(*args: Any, **named: Any) -> Any:
        raise ZeroDivisionError("spoiled")

    monkeypatch.setattr(f"{target}.{name}", broken)
    with lawful.watch([law], project=Path(__file__).parent) as run:
        assert bad() == []
        lawful.emit("x", target=run)
        assert bad() == []
    monkeypatch.undo()
    assert ["spoiled" in each for each in run.warnings] == [True]
    with lawful.watch([law], project=Path(__file__).parent) as run:
        bad()
    assert len(run.findings) == 1


def test_children_of_a_watch_in_a_watch_belong_to_both(tmp_path: Path) -> None:
    (tmp_path / "lists.rml").write_text(LISTS)
    (tmp_path / "program.py").write_text(
        """
import multiprocessing, lawful

def work():
    values = []
    values.append(1)
    values.append(2)
    values.clear()

def child():
    process = context.Process(target=work)
    process.start()
    process.join()
    assert process.exitcode == 0

if __name__ == "__main__":
    for way in ("fork", "spawn"):
        context = multiprocessing.get_context(way)
        with lawful.watch("lists.rml") as outer:
            with lawful.watch("lists.rml") as inner:
                child()
            child()
        for run in (inner, outer):
            print(way, [(each.line, each.count) for each in run.findings], run.snapshot()["processes"], run.warnings)
"""
    )
    command = [sys.executable, "-W", "error", "program.py"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=120)
    assert done.stderr == ""
    assert done.stdout.splitlines() == [
        "fork [(7, 1)] 2 []",
        "fork [(7, 2)] 3 []",
        "spawn [(7, 1)] 2 []",
        "spawn [(7, 2)] 3 []",
    ]
