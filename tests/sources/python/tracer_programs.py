"""Small programs, the events that every tracer core must make of each, by hand, and a plain `Wanted` by names."""

from __future__ import annotations

from dataclasses import dataclass, field
from types import CodeType, FunctionType
from typing import Any

from lawful.sources.python import names
from lawful.sources.python.model import Callee, CodePlan, Operation, Want
from lawful.sources.python.sites import probes

CALL = Want.PRE | Want.POST | Want.RAISE | Want.ARGS | Want.RESULT | Want.SITE
NEW = CALL | Want.NEW
NEXT = Want.NEXT | Want.SITE
YIELD = CALL | Want.YIELD
READ = Want.READ | Want.RESULT | Want.SITE
WRITE = Want.WRITE | Want.RESULT | Want.SITE
BRIEF = Want.PRE | Want.SITE

MODULE = "prog"
FILE = "prog.py"

Expected = dict[str, Any]


class ByName:
    """Watches what is named: `calls` where module `prog` calls it, `own` functions of `prog` where they start."""

    def __init__(self, calls: dict[str, Want], own: dict[str, Want]) -> None:
        self.calls = calls
        self.own = own
        self.asked: list[str] = []

    def plan(self, code: CodeType, module: str) -> CodePlan | None:
        if module != MODULE:
            return None
        self.asked.append(code.co_qualname)
        wants = self.own.get(f"{MODULE}.{code.co_qualname}")
        callee = None if wants is None else Callee(f"{MODULE}.{code.co_qualname}", wants)
        found = probes(code, frozenset(Operation)) if self.calls else ()
        return CodePlan(callee, found, FILE, True)

    def callee(self, function: object, receiver: type | None) -> Callee | None:
        if type(function) is FunctionType:
            name = names.code_name(function.__code__, names.module_of(function))
            if name in self.own:
                return Callee(name, Want.CALLEE_SIDE)
        return self._named(names.function_name(function))

    def receiver_callee(self, code: CodeType, receiver: type) -> Callee | None:
        name = f"{MODULE}.{code.co_qualname}"
        for kind in names.mro(receiver):
            for entry in names.class_dict(kind).values():
                for method in names.methods(entry):
                    if method.receiver and getattr(method.function, "__code__", None) is code:
                        return Callee(name, self.own[name] | Want.RECEIVER)
        return Callee(name, self.own[name])

    def operation(self, name: str, owner: type) -> Callee | None:
        found = names.lookup(owner, name)
        return None if found is None else self._named(f"{names.class_name(found[0])}.{name}")

    def field(self, name: str, owner: type) -> Callee | None:
        return self._named(f"{names.class_name(owner)}.{name}")

    def class_name(self, kind: type) -> str:
        return names.class_name(kind)

    def _named(self, name: str | None) -> Callee | None:
        wants = None if name is None else self.calls.get(name)
        return None if name is None or wants is None else Callee(name, wants)


@dataclass
class Program:
    """A module `prog`. A line that ends in `#7` is meant by line 7 of an event."""

    name: str
    source: str
    events: list[Expected]
    calls: dict[str, Want] = field(default_factory=dict)  # caller side, in the program
    own: dict[str, Want] = field(default_factory=dict)  # callee side, functions of the program


def event(kind: str, name: str, line: int, parts: dict[str, Any]) -> Expected:
    """`on`: label of the receiver, `ids`/`kwids`: labels of objects among the arguments, `result`: label of the result.

    A label stands for the same id wherever it is used, and no other label does; `*` stands for any id.
    """
    made: Expected = {"event": kind, "name": name}
    names = {"cls": "class", "on": "targetId", "ids": "argIds", "kwids": "kwargIds", "result": "resultId"}
    for key, value in parts.items():
        made[names.get(key, key)] = value
    made["line"] = line
    return made


def pre(name: str, line: int, **parts: Any) -> list[Expected]:
    for key in ("res", "result"):
        parts.pop(key, None)
    return [event("func_pre", name, line, {"args": [], **parts})]


def post(name: str, line: int, **parts: Any) -> list[Expected]:
    if "result" not in parts:
        parts.setdefault("res", None)
    return [event("func_post", name, line, {"args": [], **parts})]


def call(name: str, line: int, *inside: list[Expected], **parts: Any) -> list[Expected]:
    """A call that returns, and what happens meanwhile."""
    return [*pre(name, line, **parts), *(e for some in inside for e in some), *post(name, line, **parts)]


def fails(name: str, line: int, exception: str, *inside: list[Expected], **parts: Any) -> list[Expected]:
    """A call that raises."""
    raised = event("func_raise", name, line, {"args": [], **parts, "exception": exception, "excId": "*"})
    return [*pre(name, line, **parts), *(e for some in inside for e in some), raised]


def makes(name: str, line: int, label: str, *inside: list[Expected], cls: str = "", **parts: Any) -> list[Expected]:
    """A call of a class."""
    new = event("new", name, line, {"cls": cls or name, "on": label, "args": [], **parts})
    return [
        *pre(name, line, **parts),
        *(e for some in inside for e in some),
        new,
        *post(name, line, result=label, **parts),
    ]


def steps(name: str, line: int, on: str, cls: str, times: int) -> list[Expected]:
    return [event("iter_next", name, line, {"cls": cls, "on": on}) for _ in range(times)]


def other(kind: str, name: str, line: int, **parts: Any) -> list[Expected]:
    return [event(kind, name, line, parts)]


PROGRAMS: list[Program] = []


def program(
    name: str,
    source: str,
    *events: list[Expected],
    calls: dict[str, Want] | None = None,
    own: dict[str, Want] | None = None,
) -> None:
    PROGRAMS.append(Program(name, source, [e for some in events for e in some], calls or {}, own or {}))


# -- callee side ---------------------------------------------------------------------------------

ACCOUNT = {"on": "a", "cls": "prog.Account"}
program(
    "methods",
    """
class Account:
    def __init__(self, owner):
        self.owner = owner
    def deposit(self, amount, note="", *rest, fee=0, **more):
        return amount - fee
    def close(self):
        pass
account = Account("x")
account.deposit(3)  #1
account.deposit(4, "n", account, 5, fee=1, to=account)  #2
account.close()  #3
""",
    call("prog.Account.deposit", 1, **ACCOUNT, args=[3, ""], kwargs={"fee": 0}, res=3),
    call(
        "prog.Account.deposit",
        2,
        **ACCOUNT,
        args=[4, "n", None, 5],
        ids=[None, None, "a", None],
        kwargs={"fee": 1, "to": None},
        kwids={"fee": None, "to": "a"},
        res=3,
    ),
    call("prog.Account.close", 3, **ACCOUNT),
    own={"prog.Account.deposit": CALL, "prog.Account.close": CALL},
)

program(
    "functions",
    """
def double(x):
    return 2 * x
def nothing():
    pass
double(4)  #1
nothing()  #2
double(x=[])  #3
""",
    call("prog.double", 1, args=[4], res=8),
    call("prog.nothing", 2),
    call("prog.double", 3, args=[None], ids=["a"], result="b"),
    own={"prog.double": CALL, "prog.nothing": CALL},
)

program(
    "arguments in cells, rebound and deleted",
    """
def keep(value, other):
    def inner():
        return value
    value = inner
    del other
    return 1
keep(5, 6)  #1
""",
    call("prog.keep", 1, args=[5, 6], res=1),
    own={"prog.keep": CALL},
)

program(
    "callbacks from C",
    """
def key(x):
    return -x
sorted([2, 1], key=key)  #1
list(map(key, [7]))  #2
""",
    call("prog.key", 1, args=[2], res=-2),
    call("prog.key", 1, args=[1], res=-1),
    call("prog.key", 2, args=[7], res=-7),
    own={"prog.key": CALL},
)

program(
    "unpacked arguments, callee side",
    """
class Thing:
    def f(self, *args, **kw):
        return len(args) + len(kw)
thing = Thing()
a = [1, 2]
thing.f(*a, **{"k": 3})  #1
Thing.f(thing, *a)  #2
""",
    call("prog.Thing.f", 1, on="t", cls="prog.Thing", args=[1, 2], kwargs={"k": 3}, res=3),
    call("prog.Thing.f", 2, on="t", cls="prog.Thing", args=[1, 2], res=2),
    own={"prog.Thing.f": CALL},
)

program(
    "method without named parameters",
    """
class Thing:
    def f(*args):
        return len(args)
Thing().f(1)  #1
""",
    call("prog.Thing.f", 1, on="t", cls="prog.Thing", args=[1], res=2),
    own={"prog.Thing.f": CALL},
)

program(
    "inherited and super",
    """
class Base:
    def f(self, x):
        return x
class Sub(Base):
    def f(self, x):
        return super().f(x + 1)  #2
class Other(Base):
    pass
Sub().f(1)  #1
Other().f(5)  #3
""",
    call(
        "prog.Sub.f",
        1,
        call("prog.Base.f", 2, on="s", cls="prog.Sub", args=[2], res=2),
        on="s",
        cls="prog.Sub",
        args=[1],
        res=2,
    ),
    call("prog.Base.f", 3, on="o", cls="prog.Other", args=[5], res=5),
    own={"prog.Base.f": CALL, "prog.Sub.f": CALL},
)

program(
    "class methods and static methods",
    """
class Thing:
    @classmethod
    def make(cls, x):
        return x
    @staticmethod
    def twice(x):
        return 2 * x
class Sub(Thing):
    pass
Thing.make(1)  #1
Sub.make(2)  #2
Thing.twice(3)  #3
Thing().twice(4)  #4
Thing().make(5)  #5
""",
    call("prog.Thing.make", 1, on="T", cls="prog.Thing", args=[1], res=1),
    call("prog.Thing.make", 2, on="S", cls="prog.Sub", args=[2], res=2),
    call("prog.Thing.twice", 3, args=[3], res=6),
    call("prog.Thing.twice", 4, args=[4], res=8),
    call("prog.Thing.make", 5, on="T", cls="prog.Thing", args=[5], res=5),
    own={"prog.Thing.make": CALL, "prog.Thing.twice": CALL},
)

program(
    "descriptors and properties, callee side",
    """
class Field:
    def __get__(self, owner, kind):
        return 7
    def __set__(self, owner, value):
        pass
class Thing:
    field = Field()
    @property
    def size(self):
        return 3
    @size.setter
    def size(self, value):
        pass
thing = Thing()
thing.field  #1
thing.field = 8  #2
thing.size  #3
thing.size = 4  #4
""",
    call("prog.Field.__get__", 1, on="f", cls="prog.Field", args=[None, None], ids=["t", "T"], res=7),
    call("prog.Field.__set__", 2, on="f", cls="prog.Field", args=[None, 8], ids=["t", None]),
    call("prog.Thing.size", 3, on="t", cls="prog.Thing", res=3),
    call("prog.Thing.size", 4, on="t", cls="prog.Thing", args=[4]),
    own={"prog.Field.__get__": CALL, "prog.Field.__set__": CALL, "prog.Thing.size": CALL},
)

program(
    "decorated",
    """
import functools
def logged(f):
    @functools.wraps(f)
    def wrapper(*args):
        return f(*args)  #2
    return wrapper
@logged
def one(x):
    return x
@functools.lru_cache
def cached(x):
    return x
one(1)  #1
cached(3)  #3
cached(3)
""",
    call("prog.one", 2, args=[1], res=1),
    call("prog.cached", 3, args=[3], res=3),
    own={"prog.one": CALL, "prog.cached": CALL},
)

program(
    "decorators that share their code, caller side",
    """
import functools
def logged(f):
    @functools.wraps(f)
    def wrapper(*args):
        return f(*args)  #2
    return wrapper
@logged
def one(x):
    return x
@logged
def two(x):
    return x
for f in (two, one, two):
    f(1)  #1
""",
    call("prog.one", 1, call("prog.one", 2, args=[1], res=1), args=[1], res=1),
    calls={"prog.one": CALL},
)

program(
    "monkey-patched",
    """
class Thing:
    def f(self):
        return 1
def g(self):
    return 2
thing = Thing()
thing.f()  #1
Thing.f = g
thing.f()  #2
thing.f = lambda: 3
thing.f()
""",
    call("prog.Thing.f", 1, on="t", cls="prog.Thing", res=1),
    call("prog.g", 2, on="t", cls="prog.Thing", res=2),
    own={"prog.Thing.f": CALL, "prog.g": CALL},
)

program(
    "recursion",
    """
def down(n):
    return n and down(n - 1)  #2
down(2)  #1
""",
    call("prog.down", 1, call("prog.down", 2, call("prog.down", 2, args=[0], res=0), args=[1], res=0), args=[2], res=0),
    own={"prog.down": CALL},
)

program(
    "exceptions through several frames",
    """
def inner(x):
    raise ValueError(x)
def middle(x):
    try:
        inner(x)  #2
    finally:
        tidy()  #3
def tidy():
    pass
def outer(x):
    try:
        middle(x)  #1
    except ValueError:
        return 5
outer(1)  #4
""",
    call(
        "prog.outer",
        4,
        fails(
            "prog.middle",
            1,
            "ValueError",
            fails("prog.inner", 2, "ValueError", args=[1]),
            call("prog.tidy", 3),
            args=[1],
        ),
        args=[1],
        res=5,
    ),
    own={f"prog.{name}": CALL for name in ("inner", "middle", "outer", "tidy")},
)

program(
    "exceptions out of Python functions, where they are called",
    """
def fail(n):
    if n:
        return fail(n - 1)  #1
    raise KeyError
class Thing:
    def fail(self, x):
        fail(x)  #2
for act in (lambda: Thing().fail(0), lambda: fail(*[1])):  #4
    try:
        act()
    except KeyError:
        pass
""",
    pre("prog.Thing.fail", 4, args=[0], on="t", cls="prog.Thing"),
    fails("prog.fail", 2, "KeyError", args=[0]),
    other("func_raise", "prog.Thing.fail", 4, args=[0], on="t", cls="prog.Thing", exception="KeyError", excId="*"),
    fails("prog.fail", 4, "KeyError", fails("prog.fail", 1, "KeyError", args=[0]), args=[1]),
    calls={"prog.fail": CALL, "prog.Thing.fail": CALL},
)

program(
    "exceptions in callbacks",
    """
class Wrong(Exception):
    pass
def key(x):
    raise Wrong
try:
    sorted([1, 2], key=key)  #1
except Wrong:
    pass
key2 = lambda x: key(x)  #2
try:
    list(map(key2, [3]))
except Wrong:
    pass
""",
    fails("prog.key", 1, "prog.Wrong", args=[1]),
    fails("prog.key", 2, "prog.Wrong", args=[3]),
    own={"prog.key": CALL},
)

program(
    "exception in finally replaces another",
    """
def f():
    try:
        raise KeyError
    finally:
        raise IndexError
try:
    f()  #1
except IndexError:
    pass
""",
    fails("prog.f", 1, "IndexError"),
    own={"prog.f": CALL},
)

program(
    "another exception caught on the way",
    """
def f():
    try:
        raise KeyError
    finally:
        try:
            raise IndexError
        except IndexError:
            pass
def g():
    try:
        raise KeyError
    except KeyError as error:
        try:
            h()
        except IndexError:
            raise error
def h():
    raise IndexError
for each in (f, g):
    try:
        each()  #1
    except KeyError:
        pass
""",
    fails("prog.f", 1, "KeyError"),
    fails("prog.g", 1, "KeyError"),
    own={"prog.f": CALL, "prog.g": CALL},
)

program(
    "an exception goes on through with",
    """
class Manager:
    def __enter__(self):
        pass
    def __exit__(self, *args):
        try:
            raise IndexError
        except IndexError:
            return False
def f():
    with Manager():
        raise KeyError
try:
    f()  #1
except KeyError:
    pass
""",
    fails("prog.f", 1, "KeyError"),
    own={"prog.f": CALL},
)

program(
    "generators that have run often",
    """
def forever():
    while True:
        yield 1
g = forever()
for i in range(100):
    next(g)  #1
f = forever()
try:
    f.throw(KeyError)
except KeyError:
    pass
f = forever()
next(f)  #2
try:
    f.throw(KeyError)  #3
except KeyError:
    pass
""",
    pre("prog.forever", 1),
    pre("prog.forever", 2),
    other("func_raise", "prog.forever", 3, args=[], exception="KeyError", excId="*"),
    own={"prog.forever": CALL},
)

program(
    "generators",
    """
def count(n):
    for i in range(n):
        yield i
    return "end"
for i in count(2):  #1
    pass
""",
    pre("prog.count", 1, args=[2]),
    other("yield", "prog.count", 1, res=0),
    other("resume", "prog.count", 1),
    other("yield", "prog.count", 1, res=1),
    other("resume", "prog.count", 1),
    post("prog.count", 1, args=[2], res="end"),
    own={"prog.count": YIELD},
)

program(
    "generators interleaved",
    """
def count(name):
    yield 1
    yield 2
a, b = count("a"), count("b")
next(a)  #1
next(b)  #2
next(a)  #3
next(b)  #4
next(a, None)  #5
next(b, None)  #6
""",
    pre("prog.count", 1, args=["a"]),
    pre("prog.count", 2, args=["b"]),
    post("prog.count", 5, args=["a"]),
    post("prog.count", 6, args=["b"]),
    own={"prog.count": CALL},
)

program(
    "a generator that fails",
    """
def broken():
    yield 1
    raise ValueError
try:
    for x in broken():  #1
        pass
except ValueError:
    pass
""",
    fails("prog.broken", 1, "ValueError"),
    own={"prog.broken": CALL},
)

program(
    "coroutines",
    """
import asyncio
async def inner(x):
    await asyncio.sleep(0)
    return x + 1
async def outer(x):
    return await inner(x)  #2
def main():
    coroutine = outer(1)
    try:
        while True:
            coroutine.send(None)  #1
    except StopIteration as end:
        return end.value
main()
""",
    pre("prog.outer", 1, args=[1]),
    pre("prog.inner", 2, args=[1]),
    post("prog.inner", 2, args=[1], res=2),
    post("prog.outer", 1, args=[1], res=2),
    own={"prog.inner": CALL, "prog.outer": CALL},
)

program(
    "slots",
    """
class Point:
    __slots__ = ("x",)
    def move(self, by):
        self.x = by
        return self
p, q = Point(), Point()
p.move(1)  #1
q.move(2)  #2
p.move(3)  #3
""",
    call("prog.Point.move", 1, on="p", cls="prog.Point", args=[1], result="p"),
    call("prog.Point.move", 2, on="q", cls="prog.Point", args=[2], result="q"),
    call("prog.Point.move", 3, on="p", cls="prog.Point", args=[3], result="p"),
    own={"prog.Point.move": CALL},
)

program(
    "operators of Python classes, callee side",
    """
class Money:
    def __add__(self, other):
        return self
    def __eq__(self, other):
        return True
    __hash__ = None
    def __bool__(self):
        return False
    def __contains__(self, x):
        return True
    def __getitem__(self, key):
        return key
    def __len__(self):
        return 4
m = Money()
m + 1  #1
m == 2  #2
not m  #3
5 in m  #4
m[6]  #5
len(m)  #6
""",
    call("prog.Money.__add__", 1, on="m", cls="prog.Money", args=[1], result="m"),
    call("prog.Money.__eq__", 2, on="m", cls="prog.Money", args=[2], res=True),
    call("prog.Money.__bool__", 3, on="m", cls="prog.Money", res=False),
    call("prog.Money.__contains__", 4, on="m", cls="prog.Money", args=[5], res=True),
    call("prog.Money.__getitem__", 5, on="m", cls="prog.Money", args=[6], res=6),
    call("prog.Money.__len__", 6, on="m", cls="prog.Money", res=4),
    own={f"prog.Money.__{name}__": CALL for name in ("add", "eq", "bool", "contains", "getitem", "len")},
)

program(
    "with, callee side",
    """
class Manager:
    def __enter__(self):
        return 1
    def __exit__(self, kind, error, trace):
        return True
with Manager():  #1
    pass
with Manager():  #2
    1 / 0
""",
    call("prog.Manager.__enter__", 1, on="m", cls="prog.Manager", res=1),
    call("prog.Manager.__exit__", 1, on="m", cls="prog.Manager", args=[None, None, None], res=True),
    call("prog.Manager.__enter__", 2, on="n", cls="prog.Manager", res=1),
    call("prog.Manager.__exit__", 2, on="n", cls="prog.Manager", args=[None] * 3, ids=["*", "*", "*"], res=True),
    own={"prog.Manager.__enter__": CALL, "prog.Manager.__exit__": CALL},
)

# -- caller side ---------------------------------------------------------------------------------

program(
    "methods of C types",
    """
x = []
x.append(1)  #1
x.append(x)  #2
list.append(x, 2)  #3
add = x.append
add(3)  #4
x.pop()  #5
y = {}
y.update(a=1, b=x)  #6
"a-b".split("-", maxsplit=1)  #7
""",
    call("list.append", 1, on="x", cls="list", args=[1]),
    call("list.append", 2, on="x", cls="list", args=[None], ids=["x"]),
    call("list.append", 3, on="x", cls="list", args=[2]),
    call("list.append", 4, on="x", cls="list", args=[3]),
    call("list.pop", 5, on="x", cls="list", res=3),
    call("dict.update", 6, on="y", cls="dict", kwargs={"a": 1, "b": None}, kwids={"a": None, "b": "x"}),
    call("str.split", 7, target="a-b", args=["-"], kwargs={"maxsplit": 1}, result="z"),
    calls=dict.fromkeys(("list.append", "list.pop", "dict.update", "str.split"), CALL),
)

program(
    "one place, several types",
    """
class Own:
    def append(self, x):
        pass
x = []
for each in (Own(), x, Own(), x):
    each.append(5)  #1
""",
    call("list.append", 1, on="x", cls="list", args=[5]),
    call("list.append", 1, on="x", cls="list", args=[5]),
    calls={"list.append": CALL},
)

program(
    "builtin functions",
    """
len("abc")  #1
try:
    int("x")  #2
except ValueError:
    pass
import math
math.floor(2.5)  #3
max([1], key=abs, default=None)  #4
""",
    call("len", 1, args=["abc"], res=3),
    fails("int", 2, "ValueError", args=["x"]),
    call("math.floor", 3, args=[2.5], res=2),
    call(
        "max",
        4,
        args=[None],
        ids=["l"],
        kwargs={"key": None, "default": None},
        kwids={"key": "k", "default": None},
        res=1,
    ),
    calls=dict.fromkeys(("len", "int", "math.floor", "max"), CALL),
)

program(
    "unpacked arguments, caller side",
    """
x = []
a = (1, 2)
x.insert(*a)  #1
print(*[], **{"end": ""})  #2
x.extend(*(y for y in [a]))  #3
""",
    call("list.insert", 1, on="x", cls="list", args=[1, 2]),
    call("print", 2, args=[], kwargs={"end": ""}),
    [
        event("func_pre", "list.extend", 3, {"cls": "list", "on": "x"}),
        event("func_post", "list.extend", 3, {"cls": "list", "on": "x", "res": None}),
    ],
    calls=dict.fromkeys(("list.insert", "print", "list.extend"), CALL),
)

program(
    "constructors",
    """
class Account:
    def __init__(self, owner):
        self.owner = owner
class Sub(Account):
    pass
a = Account("x")  #1
b = Sub(owner=a)  #2
s = set()  #3
t = type(a)
c = type("C", (), {})
int("3")  #4
try:
    Account()  #5
except TypeError:
    pass
""",
    makes("prog.Account", 1, "a", args=["x"]),
    makes("prog.Sub", 2, "b", kwargs={"owner": None}, kwids={"owner": "a"}),
    makes("set", 3, "s"),
    call("int", 4, args=["3"], res=3),
    fails("prog.Account", 5, "TypeError"),
    calls={"prog.Account": NEW, "prog.Sub": NEW, "set": NEW, "int": NEW},
)

program(
    "a constructor that makes something else",
    """
class Odd:
    def __new__(cls):
        return 5
class Cached:
    one = []
    def __new__(cls):
        return cls.one
Odd()  #1
Cached()  #2
""",
    call("prog.Odd", 1, res=5),
    call("prog.Cached", 2, result="o"),
    calls={"prog.Odd": NEW, "prog.Cached": NEW},
)

STRING_IO = {"on": "f", "cls": "io.StringIO"}
program(
    "with",
    """
import io
def main():
    with io.StringIO() as f:  #1
        f.write("a")  #2
main()
""",
    makes("io.StringIO", 1, "f"),
    call("io.IOBase.__enter__", 1, **STRING_IO, result="f"),
    call("io.StringIO.write", 2, **STRING_IO, args=["a"], res=1),
    call("io.IOBase.__exit__", 1, **STRING_IO, args=[None, None, None]),
    calls={
        "io.StringIO": NEW,
        "io.StringIO.write": CALL,
        "io.IOBase.__enter__": CALL,
        "io.IOBase.__exit__": CALL,
    },
)

program(
    "with left by an exception",
    """
import io
def main():
    try:
        with io.StringIO() as f:  #1
            int("x")
    except ValueError:
        pass
    f.closed
main()
""",
    call("io.IOBase.__enter__", 1, **STRING_IO, result="f"),
    call("io.IOBase.__exit__", 1, **STRING_IO, args=[None, None, None], ids=["*", "*", None]),
    calls={"io.IOBase.__enter__": CALL, "io.IOBase.__exit__": CALL},
)

program(
    "with left by return, break and continue",
    """
import threading
lock = threading.Lock()
def main():
    for i in range(2):
        with lock:  #1
            if i == 0:
                continue
            break
    with lock:  #2
        return 5
main()
""",
    *[
        [
            *pre("threading.Lock.__enter__", line, on="l", cls="threading.Lock"),
            *pre("threading.Lock.__exit__", line, on="l", cls="threading.Lock"),
        ]
        for line in (1, 1, 2)
    ],
    calls={"threading.Lock.__enter__": BRIEF, "threading.Lock.__exit__": BRIEF},
)
for made in PROGRAMS[-1].events:
    del made["args"]

program(
    "for",
    """
x = [1, 2]
for i in x:  #1
    pass
for i in x:  #2
    break
""",
    call("list.__iter__", 1, on="x", cls="list", result="i"),
    steps("list_iterator.__next__", 1, "i", "list_iterator", 3),
    call("list.__iter__", 2, on="x", cls="list", result="j"),
    steps("list_iterator.__next__", 2, "j", "list_iterator", 1),
    calls={"list.__iter__": CALL, "list_iterator.__next__": NEXT},
)

program(
    "comprehensions",
    """
x = [1, 2]
def main():
    return [i for i in x]  #1
main()
""",
    call("list.__iter__", 1, on="x", cls="list", result="i"),
    steps("list_iterator.__next__", 1, "i", "list_iterator", 3),
    calls={"list.__iter__": CALL, "list_iterator.__next__": NEXT},
)

program(
    "in, [] and del",
    """
x = {"a": 1}
"a" in x  #1
"b" not in x  #2
x["a"]  #3
try:
    x["b"]  #4
except KeyError:
    pass
x["c"] = x  #5
del x["c"]  #6
x["a"] += 1  #7
""",
    call("dict.__contains__", 1, on="x", cls="dict", args=["a"], res=True),
    call("dict.__contains__", 2, on="x", cls="dict", args=["b"], res=False),
    call("dict.__getitem__", 3, on="x", cls="dict", args=["a"], res=1),
    fails("dict.__getitem__", 4, "KeyError", on="x", cls="dict", args=["b"]),
    call("dict.__setitem__", 5, on="x", cls="dict", args=["c", None], ids=[None, "x"]),
    call("dict.__delitem__", 6, on="x", cls="dict", args=["c"]),
    call("dict.__getitem__", 7, on="x", cls="dict", args=["a"], res=1),
    call("dict.__setitem__", 7, on="x", cls="dict", args=["a", 2]),
    calls={f"dict.__{name}__": CALL for name in ("contains", "getitem", "setitem", "delitem")},
)

program(
    "slices",
    """
x = [1, 2, 3]
y = x[0:1]  #1
x[0:2] = y  #2
""",
    call("list.__getitem__", 1, on="x", cls="list", args=[None], ids=["*"], result="y"),
    call("list.__setitem__", 2, on="x", cls="list", args=[None, None], ids=["*", "y"]),
    calls={"list.__getitem__": CALL, "list.__setitem__": CALL},
)

program(
    "fields",
    """
class Account:
    def __init__(self):
        self.balance = 0  #1
    @property
    def double(self):
        return 2 * self.balance  #4
a = Account()
a.balance = 5  #2
a.balance += 1  #3
a.double
del a.balance  #5
try:
    a.balance
except AttributeError:
    pass
""",
    other("field_write", "prog.Account.balance", 1, cls="prog.Account", on="a", res=0),
    other("field_write", "prog.Account.balance", 2, cls="prog.Account", on="a", res=5),
    other("field_read", "prog.Account.balance", 3, cls="prog.Account", on="a", res=5),
    other("field_write", "prog.Account.balance", 3, cls="prog.Account", on="a", res=6),
    other("field_read", "prog.Account.balance", 4, cls="prog.Account", on="a", res=6),
    other("field_write", "prog.Account.balance", 5, cls="prog.Account", on="a"),
    calls={"prog.Account.balance": READ | WRITE},
)

program(
    "fields that are properties or slots",
    """
class Thing:
    __slots__ = ("x",)
    @property
    def double(self):
        return self.x * 2  #2
t = Thing()
t.x = t  #1
t.x = 3  #4
t.double  #3
""",
    other("field_write", "prog.Thing.x", 1, cls="prog.Thing", on="t", result="t"),
    other("field_write", "prog.Thing.x", 4, cls="prog.Thing", on="t", res=3),
    other("field_read", "prog.Thing.x", 2, cls="prog.Thing", on="t", res=3),
    other("field_read", "prog.Thing.double", 3, cls="prog.Thing", on="t", res=6),
    calls={"prog.Thing.x": READ | WRITE, "prog.Thing.double": READ},
)

program(
    "operators",
    """
x = [1]
y = x + x  #1
x += y  #2
x == y  #3
x < y  #4
s = {1}
s | s  #5
from fractions import Fraction
import decimal
d = decimal.Decimal(1)
-d  #6
t = (1,)
t += t  #7
""",
    call("list.__add__", 1, on="x", cls="list", args=[None], ids=["x"], result="y"),
    call("list.__iadd__", 2, on="x", cls="list", args=[None], ids=["y"], result="x"),
    call("list.__eq__", 3, on="x", cls="list", args=[None], ids=["y"], res=False),
    call("list.__lt__", 4, on="x", cls="list", args=[None], ids=["y"], res=False),
    call("set.__or__", 5, on="s", cls="set", args=[None], ids=["s"], result="u"),
    call("decimal.Decimal.__neg__", 6, on="d", cls="decimal.Decimal", result="e"),
    call("tuple.__add__", 7, on="t", cls="tuple", args=[None], ids=["t"], result="v"),
    calls={
        **{f"list.__{name}__": CALL for name in ("add", "iadd", "eq", "lt")},
        "set.__or__": CALL,
        "decimal.Decimal.__neg__": CALL,
        "tuple.__add__": CALL,
    },
)

program(
    "sqlite3",
    """
import sqlite3
def main():
    connection = sqlite3.connect(":memory:")  #1
    cursor = connection.execute("select 1")  #2
    cursor.fetchone()  #3
    connection.close()  #4
    try:
        connection.execute("select 2")  #5
    except sqlite3.ProgrammingError:
        pass
main()
""",
    call("sqlite3.connect", 1, args=[":memory:"], result="c"),
    call("sqlite3.Connection.execute", 2, on="c", cls="sqlite3.Connection", args=["select 1"], result="u"),
    call("sqlite3.Cursor.fetchone", 3, on="u", cls="sqlite3.Cursor", result="row"),
    call("sqlite3.Connection.close", 4, on="c", cls="sqlite3.Connection"),
    fails(
        "sqlite3.Connection.execute",
        5,
        "sqlite3.ProgrammingError",
        on="c",
        cls="sqlite3.Connection",
        args=["select 2"],
    ),
    calls={
        "sqlite3.connect": CALL,
        "sqlite3.Connection.execute": CALL,
        "sqlite3.Connection.close": CALL,
        "sqlite3.Cursor.fetchone": CALL,
    },
)

program(
    "files",
    """
import os
f = open(os.devnull)  #1
f.read()  #2
for line in f:  #3
    pass
f.close()  #4
try:
    f.read()  #5
except ValueError:
    pass
""",
    pre("open", 1, args=["DEVNULL"]),
    post("open", 1, args=["DEVNULL"], result="f"),
    call("io.TextIOWrapper.read", 2, on="f", cls="io.TextIOWrapper", res=""),
    steps("io.TextIOWrapper.__next__", 3, "f", "io.TextIOWrapper", 1),
    call("io.TextIOWrapper.close", 4, on="f", cls="io.TextIOWrapper"),
    fails("io.TextIOWrapper.read", 5, "ValueError", on="f", cls="io.TextIOWrapper"),
    calls={
        "open": CALL,
        "io.TextIOWrapper.read": CALL,
        "io.TextIOWrapper.close": CALL,
        "io.TextIOWrapper.__next__": NEXT,
    },
)

program(
    "sockets, locks, regular expressions",
    """
import re, socket, threading
a, b = socket.socketpair()
a.send(b"x")  #1
b.recv(5)  #2
a.close()
b.close()
lock = threading.Lock()
lock.acquire()  #3
lock.release()  #4
try:
    lock.release()  #5
except RuntimeError:
    pass
pattern = re.compile("a(b)")
match = pattern.match("ab")  #6
match.group(1)  #7
""",
    call("_socket.socket.send", 1, on="a", cls="socket.socket", args=[None], ids=["x"], res=1),
    call("_socket.socket.recv", 2, on="b", cls="socket.socket", args=[5], result="y"),
    call("threading.Lock.acquire", 3, on="l", cls="threading.Lock", res=True),
    call("threading.Lock.release", 4, on="l", cls="threading.Lock"),
    fails("threading.Lock.release", 5, "RuntimeError", on="l", cls="threading.Lock"),
    call("re.Pattern.match", 6, on="p", cls="re.Pattern", args=["ab"], result="m"),
    call("re.Match.group", 7, on="m", cls="re.Match", args=[1], res="b"),
    calls={
        "_socket.socket.send": CALL,
        "_socket.socket.recv": CALL,
        "threading.Lock.acquire": CALL,
        "threading.Lock.release": CALL,
        "re.Pattern.match": CALL,
        "re.Match.group": CALL,
    },
)

program(
    "stored bound methods and callable objects",
    """
class Thing:
    def f(self, x):
        return x
class Caller:
    def __call__(self, x):
        return x
thing = Thing()
stored = thing.f
stored(1)  #1
caller = Caller()
caller(2)  #2
""",
    call("prog.Thing.f", 1, on="t", cls="prog.Thing", args=[1], res=1),
    call("prog.Caller.__call__", 2, on="c", cls="prog.Caller", args=[2], res=2),
    calls={"prog.Thing.f": CALL, "prog.Caller.__call__": CALL},
)

program(
    "StopIteration",
    """
def main():
    i = iter([])  #1
    try:
        next(i)  #2
    except StopIteration:
        pass
    return next(i, 7)  #3
main()
""",
    call("iter", 1, args=[None], ids=["l"], result="i"),
    fails("next", 2, "StopIteration", args=[None], ids=["i"]),
    call("next", 3, args=[None, 7], ids=["i", None], res=7),
    calls={"iter": CALL, "next": CALL},
)

program(
    "class methods of C types",
    """
dict.fromkeys("a")  #1
d = {}
d.fromkeys("b")  #2
""",
    call("dict.fromkeys", 1, on="D", cls="dict", args=["a"], result="x"),
    call("dict.fromkeys", 2, on="D", cls="dict", args=["b"], result="y"),
    calls={"dict.fromkeys": CALL},
)

program(
    "async with and async for",
    """
import asyncio
class Manager:
    async def __aenter__(self):
        return 1
    async def __aexit__(self, *error):
        return False
class Steps:
    def __init__(self):
        self.left = 2
    def __aiter__(self):
        return self
    async def __anext__(self):
        if not self.left:
            raise StopAsyncIteration
        self.left -= 1
        return self.left
async def main():
    async with Manager():  #1
        pass
    async for i in Steps():  #2
        pass
coroutine = main()
try:
    coroutine.send(None)
except StopIteration:
    pass
""",
    call("prog.Manager.__aenter__", 1, on="m", cls="prog.Manager", res=1),
    call("prog.Manager.__aexit__", 1, on="m", cls="prog.Manager", args=[None, None, None], res=False),
    call("prog.Steps.__aiter__", 2, on="s", cls="prog.Steps", result="s"),
    call("prog.Steps.__anext__", 2, on="s", cls="prog.Steps", res=1),
    call("prog.Steps.__anext__", 2, on="s", cls="prog.Steps", res=0),
    fails("prog.Steps.__anext__", 2, "StopAsyncIteration", on="s", cls="prog.Steps"),
    own={
        f"prog.{name}": CALL
        for name in ("Manager.__aenter__", "Manager.__aexit__", "Steps.__aiter__", "Steps.__anext__")
    },
)

program(
    "async generators, caller side",
    """
async def numbers():
    yield 1
async def main():
    async for i in numbers():  #1
        pass
    return [i async for i in numbers()]  #2
coroutine = main()
try:
    coroutine.send(None)
except StopIteration:
    pass
""",
    call("async_generator.__aiter__", 1, on="a", cls="async_generator", result="a"),
    steps("async_generator.__anext__", 1, "a", "async_generator", 2),
    call("async_generator.__aiter__", 2, on="b", cls="async_generator", result="b"),
    steps("async_generator.__anext__", 2, "b", "async_generator", 2),
    calls={"async_generator.__aiter__": CALL, "async_generator.__anext__": NEXT},
)
