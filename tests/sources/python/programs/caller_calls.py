"""Calls that are seen where they are made."""

from __future__ import annotations

from sources.python.by_name import CALL, NEW
from sources.python.expected import Programs, call, event, fails, makes, other, pre

PROGRAMS = Programs()
program = PROGRAMS.add

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
