"""Functions and methods that report themselves, however they are called."""

from __future__ import annotations

from sources.python.by_name import CALL
from sources.python.expected import Programs, call

PROGRAMS = Programs()
program = PROGRAMS.add

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
