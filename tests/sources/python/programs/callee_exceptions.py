"""Functions that report themselves, and exceptions on their way through them."""

from __future__ import annotations

from sources.python.by_name import CALL
from sources.python.expected import Programs, call, fails

PROGRAMS = Programs()
program = PROGRAMS.add

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
