"""Objects of the standard library, used as programs use them."""

from __future__ import annotations

from sources.python.by_name import CALL, NEXT
from sources.python.expected import Programs, call, fails, post, pre, steps

PROGRAMS = Programs()
program = PROGRAMS.add

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
