"""The speed of grammars: messages per second through the step in C, the one in Python, and lark's interactive parser.

Every measurement is a process of its own and counts its CPU seconds; repetitions of all of them are interleaved, and
the least is taken. So compare the numbers of one run with each other, not with those of another run or machine.
"""

from __future__ import annotations

import argparse
import os
import platform
import random
import subprocess
import sys
import time
from collections.abc import Callable
from typing import Any

BATCH = 4096

# Attributes and an assertion on every message.
REGULAR = """
view V specifies G { send A.put(Obj o, Int n) put, receive A.ack(Int n) ack }
start S (S.n = 0;)
S ::= epsilon | put {assert put.n == S.n;} T (T.n = put.n;)
T ::= ack {assert ack.n == T.n;} S (S.n = T.n + 1;)
"""
BARE = """
view V specifies G { send A.put(Obj o, Int n) put, receive A.ack(Int n) ack }
S ::= epsilon | put T
T ::= ack S
"""
NESTED = """
view V specifies G { send A.put(Obj o, Int n) put, receive A.ack(Int n) ack }
S ::= epsilon | D S
D ::= put L ack {assert put.n == ack.n;}
L ::= epsilon | D L
"""
LARK = 's: (put ack)*\nput: PUT\nack: ACK\nPUT: "p"\nACK: "a"\n'

Event = dict[str, Any]


def message(kind: str, n: int, group: int) -> Event:
    made = {"event": "send", "name": "A.put", "group": "G", "groupId": group, "targetId": 5}
    if kind == "put":
        return made | {"args": [None, n], "argIds": [9, None]}
    return made | {"event": "receive", "name": "A.ack", "args": [n], "argIds": [None]}


def turns(count: int, groups: int) -> list[Event]:
    """Puts and acks in turn, of so many groups."""
    rounds = range(max(1, count // (2 * groups)))
    return [message(kind, n, group) for n in rounds for group in range(groups) for kind in ("put", "ack")]


def nests(count: int) -> list[Event]:
    dice, open_, found = random.Random(1), [], []
    while len(found) < count:
        if open_ and dice.random() < 0.5:
            found.append(message("ack", open_.pop(), 1))
        else:
            open_.append(dice.randint(0, 9))
            found.append(message("put", open_[-1], 1))
    return found


def lawful_feed(text: str, events: list[Event]) -> float:
    from lawful import grammar

    monitor = grammar.compile(text).monitor()
    started = time.process_time()
    for start in range(0, len(events), BATCH):
        monitor.feed(events[start : start + BATCH])
    seconds = time.process_time() - started
    assert monitor.rejected_at is None
    return seconds


def lark_feed(events: list[Event]) -> float:
    """lark's LALR parser, fed with tokens by hand: no attributes, no assertions, no groups."""
    from lark import Lark, Token

    parser = Lark(LARK, start="s", parser="lalr").parse_interactive("")
    kinds = {"A.put": "PUT", "A.ack": "ACK"}
    started = time.process_time()
    for event in events:
        kind = kinds[event["name"]]
        parser.feed_token(Token(kind, "p"))
    return time.process_time() - started


WORK: dict[str, Callable[[int], float]] = {
    "no attributes": lambda count: lawful_feed(BARE, turns(count, 1)),
    "attributes, an assertion each": lambda count: lawful_feed(REGULAR, turns(count, 1)),
    "the same, 10,000 groups": lambda count: lawful_feed(REGULAR, turns(count, 10_000)),
    "nested, an assertion": lambda count: lawful_feed(NESTED, nests(count)),
    "lark, no attributes": lambda count: lark_feed(turns(count, 1)),
}


def measure(name: str, core: str, count: int) -> float:
    command = [sys.executable, __file__, "--one", name, "--events", str(count)]
    done = subprocess.run(command, env=os.environ | {"LAWFUL_CORE": core}, capture_output=True, text=True, check=True)
    return float(done.stdout)


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    options.add_argument("--events", type=int, default=400_000)
    options.add_argument("--repeat", type=int, default=3)
    options.add_argument("--one", choices=WORK, help=argparse.SUPPRESS)
    given = options.parse_args()
    if given.one is not None:
        print(WORK[given.one](given.events))
        return
    rows = [(name, core) for name in WORK for core in ("native", "python") if core == "python" or "lark" not in name]
    best: dict[tuple[str, str], float] = {}
    for _ in range(given.repeat):
        for row in rows:
            best[row] = min(best.get(row, float("inf")), measure(*row, given.events))
    print(f"{platform.python_implementation()} {platform.python_version()}, {given.events:,} messages\n")
    print(f"{'':32}{'core':>8}{'M messages/s':>15}")
    for (name, core), seconds in best.items():
        print(f"{name:32}{core if 'lark' not in name else '':>8}{given.events / seconds / 1e6:>15.2f}")


if __name__ == "__main__":
    main()
