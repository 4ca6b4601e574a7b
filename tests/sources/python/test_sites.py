"""Probes say what is on the stack: compared with the calls that the objects of a running program get."""

from __future__ import annotations

import dis
import sys
from collections.abc import Callable
from textwrap import dedent
from types import CodeType, FrameType, MethodType
from typing import Any

import pytest

from lawful.sources.python.instructions import SUPPORTED, UnknownBytecodeError
from lawful.sources.python.sites import lines, probes
from lawful.sources.python.stack_walk import RESULT_ABOVE_BASE
from lawful.sources.python.tracer_protocol import Operation, Probe
from sources.python.value_stack import NULL, all_code, depth, each_instruction, value

pytestmark = pytest.mark.skipif(not SUPPORTED, reason="probes are for CPython 3.11 to 3.13")

ALL = frozenset(Operation)
OPERANDS = {
    Operation.ENTER: 1,
    Operation.EXIT_RAISED: 4,
    Operation.ASYNC_ENTER: 1,
    Operation.ITER: 1,
    Operation.NEXT: 1,
    Operation.ASYNC_ITER: 1,
    Operation.ASYNC_NEXT: 1,
    Operation.AWAIT: 1,
    Operation.CONTAINS: 2,
    Operation.GET_ITEM: 2,
    Operation.SET_ITEM: 3,
    Operation.DELETE_ITEM: 2,
    Operation.GET_SLICE: 3,
    Operation.SET_SLICE: 4,
    Operation.GET_FIELD: 1,
    Operation.SET_FIELD: 2,
    Operation.DELETE_FIELD: 1,
    Operation.BINARY: 2,
    Operation.COMPARE: 2,
    Operation.UNARY: 1,
}
RAISED = "raised"


class Entry:
    """Something that was done: its name, what it was done to (with the receiver), and what came of it."""

    def __init__(self, name: str, arguments: tuple[Any, ...], keywords: dict[str, Any]) -> None:
        self.name = name
        self.arguments = arguments
        self.keywords = keywords
        self.result: Any = RAISED

    def shown(self) -> tuple[Any, ...]:
        keywords = tuple((key, show(each)) for key, each in self.keywords.items())
        return self.name, tuple(show(each) for each in self.arguments), keywords, show(self.result)


def show(each: Any) -> Any:
    """Something that can be compared and read; their numbers distinguish spies."""
    if isinstance(each, Spy):
        return f"spy {each.number}"
    if isinstance(each, slice):
        return "slice", each.start, each.stop, each.step
    if each is None or isinstance(each, (bool, int, str)):
        return each
    return type(each).__name__, id(each)


class Diary:
    """The calls that spies got, in the order in which they began."""

    def __init__(self) -> None:
        self.entries: list[Entry] = []
        self.functions: set[Any] = set()
        self.spies = 0

    def noted(self, name: str, function: Callable[..., Any]) -> Callable[..., Any]:
        """The function under this name, so that it writes down its calls."""

        def noting(*arguments: Any, **keywords: Any) -> Any:
            entry = Entry(name, arguments, keywords)
            self.entries.append(entry)
            entry.result = result = function(*arguments, **keywords)
            return result

        noting.__name__ = name
        self.functions.add(noting)
        return noting


class Spy:
    """An object with all special methods. `spy_class` gives it a diary."""

    diary: Diary
    fails = False

    def __init__(self, steps: int = 2, swallows: bool = False) -> None:
        self.steps = steps
        self.swallows = swallows
        self.diary.spies += 1
        self.number = self.diary.spies


def _special_methods() -> dict[str, Callable[..., Any]]:
    def plain(self: Spy, *arguments: Any, **keywords: Any) -> Any:
        return type(self)(self.steps)

    def nothing(self: Spy, *arguments: Any) -> None:
        return None

    def count_down(self: Spy, end: type[Exception]) -> Any:
        if self.steps == 0:
            raise end
        self.steps -= 1
        return type(self)(0)

    def exit_(self: Spy, *exception: Any) -> bool:
        return self.swallows

    def await_(self: Spy) -> Any:
        yield
        return self.swallows

    def aexit(self: Spy, *exception: Any) -> Any:
        return type(self)(0, self.swallows)

    async def anext_(self: Spy) -> Any:
        return count_down(self, StopAsyncIteration)

    methods: dict[str, Callable[..., Any]] = {
        "__iter__": plain,
        "__next__": lambda self: count_down(self, StopIteration),
        "__aiter__": plain,
        "__anext__": anext_,
        "__enter__": plain,
        "__exit__": exit_,
        "__aenter__": plain,
        "__aexit__": aexit,
        "__await__": await_,
        "__contains__": lambda self, item: True,
        "__getitem__": plain,
        "__setitem__": nothing,
        "__delitem__": nothing,
        "__neg__": plain,
        "__pos__": plain,
        "__invert__": plain,
        "method": plain,
    }
    for name in "add and floordiv lshift matmul mul mod or pow rshift sub truediv xor".split():
        methods[f"__{name}__"] = plain
        methods[f"__i{name}__"] = plain
    methods.update(dict.fromkeys([f"__{name}__" for name in "lt le eq ne gt ge".split()], plain))
    return methods


class Field:
    """An attribute that writes down who reads and writes it."""

    def __init__(self, diary: Diary) -> None:
        self.diary = diary

    def __set_name__(self, owner: type, name: str) -> None:
        self.name = name

    def __get__(self, owner: Any, kind: type) -> Any:
        entry = Entry(f"get {self.name}", (owner,), {})
        self.diary.entries.append(entry)
        entry.result = result = type(owner)(0)
        return result

    def __set__(self, owner: Any, new: Any) -> None:
        self.done(Entry(f"set {self.name}", (owner, new), {}))

    def __delete__(self, owner: Any) -> None:
        self.done(Entry(f"delete {self.name}", (owner,), {}))

    def done(self, entry: Entry) -> None:
        entry.result = None
        self.diary.entries.append(entry)


def spy_class(diary: Diary) -> type[Spy]:
    body: dict[str, Any] = {name: diary.noted(name, method) for name, method in _special_methods().items()}
    body.update(diary=diary, field=Field(diary), other=Field(diary), __hash__=object.__hash__)
    return type("Spied", (Spy,), body)


class Reader:
    """Reads from the stack the calls that spies are about to get."""

    def __init__(self, code: CodeType, diary: Diary) -> None:
        self.codes = all_code(code)
        self.diary = diary
        self.entries: list[Entry] = []
        self.depths_compared = 0
        self.operations: set[Operation] = set()
        self.waiting: dict[tuple[FrameType, int], tuple[Entry, Probe]] = {}
        self.probes = {each: {probe.offset: probe for probe in probes(each, ALL)} for each in self.codes}

    def visit(self, frame: FrameType, offset: int) -> None:
        waiting = self.waiting.pop((frame, offset), None)
        if waiting is not None:
            entry, before = waiting
            above = RESULT_ABOVE_BASE.get(before.operation)
            entry.result = None if above is None else value(frame, before.base + above)
        probe = self.probes[frame.f_code].get(offset)
        if probe is None:
            return
        entry_here = self.entry(frame, probe)
        self.operations.add(probe.operation)
        if entry_here is not None:
            self.entries.append(entry_here)
            if probe.result >= 0:
                self.waiting[frame, probe.result] = entry_here, probe

    def visit_line(self, frame: FrameType, offset: int) -> None:
        probe = self.probes[frame.f_code].get(offset)
        there = depth(frame)
        if probe is not None and there is not None:
            assert probe.base + operand_count(probe) == there, (probe, there)
            self.depths_compared += 1

    def entry(self, frame: FrameType, probe: Probe) -> Entry | None:
        operands = [value(frame, probe.base + place) for place in range(operand_count(probe))]
        if probe.operation in (Operation.CALL, Operation.CALL_EX):
            return self.call(frame, probe, operands)
        assert probe.name is not None
        assert probe.count == 0
        name, arguments = probe.name, tuple(operands)
        match probe.operation:
            case Operation.EXIT_RAISED:
                error = operands[3]
                arguments = (operands[0].__self__, type(error), error, error.__traceback__)
                assert operands[0].__name__ == probe.name
            case Operation.CONTAINS:
                arguments = (operands[1], operands[0])
            case Operation.SET_ITEM:
                arguments = (operands[1], operands[2], operands[0])
            case Operation.GET_SLICE:
                arguments = (operands[0], slice(operands[1], operands[2]))
            case Operation.SET_SLICE:
                arguments = (operands[1], slice(operands[2], operands[3]), operands[0])
            case Operation.GET_FIELD:
                if name == "method":
                    return None
                name = f"get {name}"
            case Operation.SET_FIELD:
                name, arguments = f"set {name}", (operands[1], operands[0])
            case Operation.DELETE_FIELD:
                name = f"delete {name}"
        return Entry(name, arguments, {}) if isinstance(arguments[0], Spy) else None

    def call(self, frame: FrameType, probe: Probe, operands: list[Any]) -> Entry | None:
        first, second, *arguments = operands
        assert first is not NULL or second is not NULL
        if probe.operation is Operation.CALL_EX:
            keywords = arguments[1] if probe.count else {}
            arguments = list(arguments[0])
        else:
            positional = len(arguments) - len(probe.keywords)
            keywords = dict(zip(probe.keywords, arguments[positional:], strict=True))
            arguments = arguments[:positional]
        if first is NULL or second is NULL:
            function = second if first is NULL else first
        else:
            function = first
            arguments.insert(0, second)
        if isinstance(function, MethodType):
            arguments.insert(0, function.__self__)
            function = function.__func__
        if function not in self.diary.functions:
            return None
        if probe.by_global:
            named = frame.f_globals[probe.name or ""]
            assert getattr(named, "__func__", named) is function
        elif probe.name is not None:
            assert probe.name == function.__name__
        return Entry(function.__name__, tuple(arguments), keywords)


def operand_count(probe: Probe) -> int:
    match probe.operation:
        case Operation.CALL:
            return 2 + probe.count
        case Operation.CALL_EX:
            return 3 + probe.count
        case _:
            return OPERANDS[probe.operation]


def drive(coroutine: Any) -> Any:
    """Run a coroutine to its end, whatever it waits for."""
    try:
        while True:
            coroutine.send(None)
    except StopIteration as end:
        return end.value


def read(source: str) -> Reader:
    """Run a program with spies, and compare the calls that they got with the stack."""
    diary = Diary()
    spied = spy_class(diary)
    code = compile(dedent(source), "<program>", "exec")
    reader = Reader(code, diary)

    def bad(*arguments: Any, **keywords: Any) -> Any:
        raise ValueError("bad")

    namespace: dict[str, Any] = {
        "Spy": spied,
        "f": diary.noted("f", lambda *arguments, **keywords: arguments[0] if arguments else None),
        "g": diary.noted("g", lambda *arguments, **keywords: spied(1)),
        "bad": diary.noted("bad", bad),
        "drive": drive,
        "__name__": "program",
    }
    with each_instruction(reader.codes, reader.visit, reader.visit_line):
        exec(code, namespace)
    reported = [entry.shown() for entry in diary.entries]
    seen = [entry.shown() for entry in reader.entries]
    assert seen == reported
    assert reported
    return reader


PROGRAMS = {
    "calls": """
        s = Spy()
        f(); f(1); f(1, a=2); f(a=s); f(s, 2, b=g(3), c=f(4))
        s.method(); s.method(1); s.method(s.method(2), f(3))
        m = s.method
        m(5); (lambda x: f(x))(6); [f][0](7); g()
        def local(h, *rest, **more):
            h(1); h(*rest); h(*rest, **more); h(1, *rest, a=2, **more); s.method(*rest)
            return h(x=1) or h(2)
        local(f, 1, 2, k=3)
        f(*[1, 2]); f(**{"a": 1}); f(1, *[2], b=3); s.method(*(1,))
        Spy.method(s, 1)
    """,
    "conditional arguments": """
        def conditional(c, s):
            f(1 if c else 2, g(3) if c else 4)
            s.method(f(1) if c else g(2), k=1 if c else 2)
            (f if c else g)(5)
            (s.method if c else f)(6)
            (c and f or g)(7)
            f(c and 1 or 2, x=(y := f(8)))
            return f(s if c else g())
        s = Spy()
        conditional(True, s); conditional(False, s)
    """,
    "many lines": """
        def lines(s):
            return f(
                g(
                    s[
                        f(1)
                        +
                        2
                    ],
                    s.method(
                        3
                    ),
                ),
                [
                    s
                    +
                    each
                    for each in
                    (
                        1,
                        f(2),
                    )
                ]
                ,
                k=
                s
                .field
                ,
            )
        lines(Spy())
    """,
    "with": """
        def within(s, t):
            with s:
                f(1)
            with s as a, t as b:
                f(a, b)
                with s.method() as c:
                    f(c)
            with s:
                for x in t:
                    with t as y:
                        if x is y: continue
                        f(y)
            with s:
                return f(2)
        within(Spy(), Spy())
    """,
    "with, raising": """
        def swallowed(s, t):
            with s as a:
                with t:
                    f(1)
                    bad(2)
            f(3)
            for x in Spy(2):
                with s, t:
                    bad(x)
            with s, t:
                return bad(4)
        swallowed(Spy(swallows=True), Spy())
        swallowed(Spy(), Spy(swallows=True))
        def passed(s):
            with s:
                with Spy():
                    raise KeyError(1)
        try:
            passed(Spy())
        except KeyError as error:
            f(error)
    """,
    "try": """
        def trying(s):
            for x in s:
                try:
                    f(1); bad(2)
                except KeyError:
                    f(3)
                except (ValueError, f(TypeError)) as error:
                    f(error)
                    try:
                        bad(4)
                    except ValueError:
                        s[1]
                    finally:
                        f(5)
                else:
                    f(6)
                finally:
                    f(7); s.method(x)
                    try:
                        continue
                    finally:
                        f(8)
            try:
                return f(9)
            finally:
                with s: f(10)
        trying(Spy())
        try:
            try:
                bad(1)
            except* ValueError as group:
                f(2)
                f(3)
        finally:
            f(4)
    """,
    "loops": """
        def loops(s):
            for a in s:
                for b in f(s):
                    f(a, b)
                else:
                    f(1)
            while True:
                for a in s:
                    if f(True): break
                else:
                    f(2)
                break
            [f(a, b) for a in s for b in s if f(True)]
            {f(a) for a in s}; {f(1): f(a) for a in s}
            list(f(a) for a in s)
            x = [[f(b) for b in s] for a in s]
            f(*[a for a in s], k=[a for a in s])
            f(0, [lambda: f(a) for a in s][0]())
            return [a for a in s]
        loops(Spy())
        [f(a) for a in Spy()]
        class Body:
            held = [f(a) for a in Spy()]
    """,
    "generators": """
        def numbers(s):
            f((yield 1), (yield 2))
            for a in s:
                with s:
                    got = yield f(a)
                    s.method(got, (yield 3), k=(yield))
            yield from inner(s)
            f((yield from inner(s)))
        def inner(s):
            yield f(4)
            return s
        list(numbers(Spy()))
        stopped = numbers(Spy())
        for _ in range(4): next(stopped)
        try:
            stopped.throw(ValueError)
        except ValueError:
            f(5)
    """,
    "coroutines": """
        async def waits(s):
            await s
            f(await s, await s.method())
            async with s as a:
                f(a)
            async with s as a, s as b:
                f(a, await Spy())
            async for a in s:
                async with s:
                    f(a)
                    if a is None: continue
            f([await s async for a in s if f(True)])
            f([f(a) async for a in s], {f(a) async for a in s})
            async for a in (f(a) async for a in s): f(a)
            with s:
                return await inner(s)
        async def inner(s):
            return await f(s)
        f(drive(waits(Spy())))
        async def fails(s, t):
            async with s:
                async with t:
                    f(1)
                    bad(2)
            return f(3)
        drive(fails(Spy(swallows=True), Spy()))
        drive(fails(Spy(), Spy(swallows=True)))
        try:
            drive(fails(Spy(), Spy()))
        except ValueError:
            f(4)
    """,
    "containers": """
        def contained(s, t):
            1 in s; f(s in t, 2 in s)
            s[1]; s[1] = 2; del s[3]; s[f(4)] = f(5); s[1, 2]; f(s[t], s[0][1])
            s[1:2]; s[1:2:3]; s[1:2] = 3; del s[1:2]; s[:] = t; f(s[:f(1)]); s[f(1):][2]
            s[1] += 2; s[1:2] += 3; s[t] -= f(1)
            s[0], t[1] = 1, 2
            for s[2] in t: f(1)
            with s as t[3]: pass
        contained(Spy(), Spy())
    """,
    "fields": """
        def fields(s, t):
            s.field; s.field = 1; del s.field; f(s.field, t.other); s.field += 2
            s.field.other = t.field
            s.field, t.other = 1, t
            s.method(s.field, s.field.method(t.field))
            for s.field in t: f(s.other)
            getattr(s, "method")(1)
        fields(Spy(), Spy())
    """,
    "operators": """
        def operators(s, t):
            s + t; s & t; s // t; s << t; s @ t; s * t; s % t; s | t; s ** t; s >> t; s - t; s / t; s ^ t
            a = s; a += t; a = s; a &= t; a = s; a //= t; a = s; a <<= t; a = s; a @= t; a = s; a *= t; a = s; a %= t
            a = s; a |= t; a = s; a **= t; a = s; a >>= t; a = s; a -= t; a = s; a /= t; a = s; a ^= t
            s < t; s <= t; s == t; s != t; s > t; s >= t
            -s; +s; ~s; f(-s, +t, s + t * s)
        operators(Spy(), Spy())
    """,
    "match": """
        def matched(x, s):
            match x:
                case [1, y] if f(False): f(1)
                case [1, y, *rest]: f(y, s.method(rest))
                case {"a": 1, **rest}: f(3)
                case Spy(steps=2): f(4)
                case str() | None as z: f(z)
                case _: f(6)
            return f(7)
        for x in ([1, 2], {"a": 1}, Spy(), "x", None, 5): matched(x, Spy())
    """,
    "classes": """
        @f
        @g
        def decorated(): pass
        @f
        class Base(f(Spy)):
            held = f(1)
            @f
            def method(self, *a, **k):
                f(__class__)
                super().method(k) if a else super().method(1, *a)
                return super().method(*a)
        class Derived(Base):
            def method(self, *a, **k):
                super().method(1); f(super().method(2))
                super(Derived, self).method(3)
                return super().method
        Derived().method()
    """,
    "assertions and strings": """
        try:
            assert f(False), f(1)
        except AssertionError:
            f(f"{f(1)} {f(2)!r:>{f(3)}}")
        a, *b = f([1, 2, 3]); (c, d), e = f(((1, 2), 3))
        import os.path as p
        global_ = (lambda *, k=f(1): f(k))(); f(1 < f(2) < f(3) < 2)
        f(not f(1)); f(f(1) is f(2))
    """,
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_operands_and_results_are_where_the_probe_says(name: str) -> None:
    read(PROGRAMS[name])


def test_the_programs_do_everything_that_can_be_probed() -> None:
    done = set[Operation]()
    for program in PROGRAMS.values():
        done |= read(program).operations
    assert done == (ALL if sys.version_info >= (3, 12) else ALL - {Operation.GET_SLICE, Operation.SET_SLICE})


def test_the_depth_is_the_one_that_the_interpreter_writes_down() -> None:
    # From 3.12 it does so before lines only, of which this program has many.
    assert read(PROGRAMS["many lines"]).depths_compared >= 9


def function_code(source: str) -> CodeType:
    """The code of the first function in a source."""
    module = compile(dedent(source), "<function>", "exec")
    return next(each for each in module.co_consts if isinstance(each, CodeType))


def named(source: str, *operations: Operation) -> list[tuple[Any, ...]]:
    wanted = frozenset(operations) or frozenset({Operation.CALL, Operation.CALL_EX})
    return [(probe.name, probe.count, probe.keywords) for probe in probes(function_code(source), wanted)]


def test_a_call_has_the_name_by_which_the_callable_was_loaded() -> None:
    source = """
        def f(local):
            glob(1); local.attribute(2, k=3); local(4); local[5](6); local()(7); glob.inner.deep(8)
            glob(*local); local.starred(*local, **local); (lambda: 1)()
            (glob if local else other)(9); (glob or other)(10); (glob if local else glob)(11)
            glob(1 if local else 2); local.attribute(local.field if local else other, other)
            return local
    """
    assert named(source) == [
        ("glob", 1, ()),
        ("attribute", 2, ("k",)),
        (None, 1, ()),
        (None, 1, ()),
        (None, 0, ()),
        (None, 1, ()),
        ("deep", 1, ()),
        ("glob", 0, ()),
        ("starred", 1, ()),
        (None, 0, ()),
        (None, 1, ()),
        (None, 1, ()),
        ("glob", 1, ()),
        ("glob", 1, ()),
        ("attribute", 2, ()),
    ]


def test_a_returned_call_with_a_condition_among_its_arguments_keeps_its_name() -> None:
    # 3.13 writes the call twice, once for each way.
    for probe in probes(function_code("def f(c): return g(1 if c else h(2))"), frozenset({Operation.CALL})):
        assert (probe.base, probe.count, probe.name) in {(0, 1, "g"), (2, 1, "h")}


def test_a_closed_over_function_has_no_name() -> None:
    module = compile("def outer():\n  def inner(): return outer_function(outer)\n  outer = inner; outer()", "", "exec")
    outer, inner = all_code(module)[1:]
    assert [probe.name for probe in probes(outer, ALL)] == [None]
    assert [probe.name for probe in probes(inner, ALL)] == ["outer_function"]


def test_a_with_statement_names_its_exits() -> None:
    source = "def f(c):\n  with c:\n    g()\n"
    assert [probe.name for probe in probes(function_code(source), ALL)] == ["__enter__", "g", "__exit__", "__exit__"]
    source = "async def f(c):\n  async with c:\n    g()\n"
    names = [probe.name for probe in probes(function_code(source), ALL) if probe.operation is not Operation.AWAIT]
    assert names == ["__aenter__", "g", "__aexit__", "__aexit__"]


def test_a_handler_that_nothing_can_reach_takes_no_names_away() -> None:
    source = """
        def f(s, t):
            with s:
                with t:
                    try:
                        pass
                    except BaseException:
                        raise
                g()
    """
    calls = [probe.name for probe in probes(function_code(source), frozenset({Operation.CALL}))]
    assert calls == ["__exit__", "g", "__exit__"]


def test_global_calls_are_told_from_attributes() -> None:
    code = function_code("def f(a): g(); a.g(); a(); h(*a); a.h(*a)")
    calls = probes(code, frozenset({Operation.CALL, Operation.CALL_EX}))
    assert [probe.by_global for probe in calls] == [True, False, False, True, False]


def test_names_of_operators() -> None:
    assert named("def f(a, b): a + b; a < b; -a; +a; ~a; not a; a in b; a is b", *Operation) == [
        (name, 0, ()) for name in "__add__ __lt__ __neg__ __pos__ __invert__ __contains__".split()
    ]


def test_lines() -> None:
    code = function_code("def f(a):\n  a.b(\n    g(),\n    1\n  )\n\n  return a[\n    0]\n")
    assert [(probe.name, lines(code)[probe.offset]) for probe in probes(code, ALL)] == [
        ("g", 3),
        ("b", 2),
        ("__getitem__", 7),
    ]


def test_a_code_object_without_lines_has_probes() -> None:
    code = function_code("def f(a): g(a)").replace(co_linetable=b"")
    assert lines(code) == {}
    assert [probe.name for probe in probes(code, ALL)] == ["g"]


def test_only_wanted_operations_are_given() -> None:
    code = function_code("def f(a): a.b = a[1] + g(a=2)")
    assert [probe.operation for probe in probes(code, ALL)] == [
        Operation.GET_ITEM,
        Operation.CALL,
        Operation.BINARY,
        Operation.SET_FIELD,
    ]
    for operation in Operation:
        assert probes(code, frozenset({operation})) == tuple(
            probe for probe in probes(code, ALL) if probe.operation is operation
        )
    assert probes(code, frozenset()) == ()


def test_what_stores_is_done_at_the_next_instruction_and_leaves_no_result() -> None:
    code = function_code("def f(a): a.b = 1; a[0] = 1; del a.b; del a[0]")
    stores = probes(code, ALL)
    following = [each.offset for each in dis.get_instructions(code) if each.opname in ("LOAD_CONST", "LOAD_FAST")]
    assert [probe.result for probe in stores[:3]] == [min(f for f in following if f > p.offset) for p in stores[:3]]
    assert stores[3].result == stores[3].offset + 2
    assert not {probe.operation for probe in stores} & set(RESULT_ABOVE_BASE)


def test_code_that_cannot_be_reached_has_no_probes() -> None:
    code = function_code("def f(a):\n  return a\n")
    call = function_code("def f(a):\n  g()\n")
    joined = code.replace(co_code=code.co_code + call.co_code, co_names=call.co_names, co_stacksize=4)
    assert probes(joined, ALL) == ()


@pytest.mark.parametrize("change", ["too small", "no end", "underflow"])
def test_code_that_no_compiler_made_is_refused(change: str) -> None:
    code = function_code("def f(a):\n  g(a, 1)\n")
    changed = {
        "too small": lambda: code.replace(co_stacksize=1),
        "no end": lambda: code.replace(co_code=code.co_code[:-4]),
        "underflow": lambda: code.replace(co_code=bytes([dis.opmap["POP_TOP"], 0]) * 2 + code.co_code),
    }[change]()
    with pytest.raises(UnknownBytecodeError):
        probes(changed, ALL)


def test_instructions_with_long_arguments() -> None:
    many = "\n".join(f"    a.field{number} = {number}" for number in range(300))
    source = f"""
def run(s):
    class Plain: pass
    a = Plain()
{many}
    f(s.field, s.method(s.other, long=1))
    with s as a.much: f(1)
    f({", ".join(f"s{number}={number}" for number in range(270))})
    f({", ".join(map(str, range(270)))})
    f(*[s for s in s if s is not None])
run(Spy())
"""
    reader = read(source)
    assert {"get field", "get other", "method", "__exit__"} <= {entry.name for entry in reader.entries}
    assert max(len(entry.keywords) for entry in reader.entries) == 270


def test_probes_are_the_same_while_the_code_is_watched_and_after_it_ran_hot() -> None:
    namespace: dict[str, Any] = {}
    exec("def hot(a):\n  for x in range(200): a.append(x); len(a); a[x]; x + 1; x < 2; x in a", namespace)
    code = namespace["hot"].__code__
    before = probes(code, ALL)
    namespace["hot"]([])
    assert probes(code, ALL) == before
    during = []
    with each_instruction([code], lambda frame, offset: during.append(offset), lambda frame, offset: None):
        namespace["hot"]([])
        assert probes(code, ALL) == before
    assert {probe.offset for probe in before} <= set(during)
    assert {probe.result for probe in before} <= set(during)
