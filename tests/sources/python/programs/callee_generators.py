"""Generators and coroutines that report themselves."""

from __future__ import annotations

from sources.python.by_name import CALL, YIELD
from sources.python.expected import Programs, call, fails, other, post, pre

PROGRAMS = Programs()
program = PROGRAMS.add

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
