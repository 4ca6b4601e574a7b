"""Syntax that calls something without looking like a call: `with`, `for`, `in`, fields, operators."""

from __future__ import annotations

from sources.python.by_name import BRIEF, CALL, NEW, NEXT, READ, WRITE
from sources.python.expected import Programs, call, fails, makes, other, pre, steps

PROGRAMS = Programs()
program = PROGRAMS.add

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
