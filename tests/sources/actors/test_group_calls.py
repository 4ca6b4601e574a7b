"""Calls between groups that the C core sees to by itself: nobody can tell the difference."""

from __future__ import annotations

import asyncio
import gc
import json
import random
import re
import threading
import weakref
from collections import Counter
from collections.abc import Callable
from typing import Any

import pytest

import lawful
from lawful import core, grammar
from lawful.sources.actors.messages import MessageSource

pytestmark = pytest.mark.skipif(core.native_tracer is None, reason="there is no C core")

CARTS = """
group Carts is class Cart;
view Sums specifies Carts {
    receive Cart.add(Int price, Any what) add, receive Cart.pay_all() all, send Till.pay(Int amount) pay,
    send Cart.add(Int price, Any what) give
}
start S (S.sum = 0;)
S ::= epsilon | add {assert add.price < 9;} S (S.sum = S.sum + add.price;) | all S (S.sum = S.sum;)
    | give {assert give.caller != give.callee;} S (S.sum = S.sum;)
    | pay {assert 0 < pay.amount && pay.amount <= S.sum;} S (S.sum = S.sum - pay.amount;)
"""
TILLS = """
group Tills is class Till;
view Turns specifies Tills { receive Till.pay(Int amount) pay, send Cart.add(Int price, Any what) back }
start S (S.last = null;)
S ::= epsilon | pay {assert pay.amount != 7;} S (S.last = pay.caller;)
    | back {assert S.last == null || back.callee == S.last;} S (S.last = S.last;)
"""
HERE = """
group Here is module MODULE;
view Doors specifies Here { receive Outer.knock(Int number) knock, send Cart.add(Int price, Any what) add }
S ::= epsilon | knock {assert knock.number < 5;} S | add S
"""
FUNCTIONS = """
group Carts is class Cart;
view Asked specifies Carts { send MODULE.ask(Int number) ask }
S ::= epsilon | ask {assert ask.number != 4;} S
"""
VIEWS = tuple(each.replace("MODULE", __name__) for each in (CARTS, TILLS, HERE, FUNCTIONS))


def ask(number: int) -> int:
    return number


class Thing:
    pass


class Till:
    def __init__(self, log: list[Any]) -> None:
        self.log = log

    def pay(self, amount: int) -> None:
        self.log.append(("paid", amount))

    def give_back(self, cart: Cart, number: int) -> None:
        cart.add(number, None)


class Cart:
    def __init__(self, program: Program) -> None:
        self.program = program
        self.sum = 0

    def add(self, price: int, what: Any = None) -> None:
        self.sum += price
        self.program.log.append(("added", price))

    def pay_all(self) -> None:
        self.check()
        later = lambda: self.program.till().pay(self.sum)  # noqa: E731
        later()

    def check(self) -> None:
        self.add(0, "own")

    def share(self, other: Cart) -> None:
        give(other, self.program.rng.randint(0, 3))
        ask(self.program.rng.randint(0, 9))

    @staticmethod
    def stray(other: Cart) -> None:
        other.add(1)


class BigCart(Cart):
    def add(self, price: int, what: Any = None) -> None:
        super().add(price + 1, what)


class Basket:
    """In no group."""

    def __init__(self, cart: Cart) -> None:
        self.cart = cart

    def fill(self, number: int, what: Any) -> None:
        self.cart.add(number, what)

    async def later(self, number: int) -> None:
        await asyncio.sleep(0)
        self.cart.add(number, "later")


def give(other: Cart, number: int) -> None:
    other.add(number, what="given")


async def lone(cart: Cart, number: int) -> None:
    cart.add(number)


class Program:
    """Makes random calls; `log` lists the calls that were made and those that a law refused."""

    def __init__(self, seed: int, length: int = 150) -> None:
        self.rng = random.Random(seed)
        self.length = length
        self.log: list[Any] = []
        self.tills = [Till(self.log) for _ in range(2)]

    def till(self) -> Till:
        return self.rng.choice(self.tills)

    def act(self, carts: list[Cart]) -> None:
        rng = self.rng
        cart, other = rng.choice(carts), rng.choice(carts)
        number = rng.randint(0, 9)
        what = rng.choice(["text", 5, None, Thing(), [1, 2], 2**70, 2.5])
        action: Callable[[], Any] = rng.choice([
            lambda: cart.add(number, what),
            lambda: cart.add(price=number, what=what),
            lambda: Basket(cart).fill(number, what),
            lambda: cart.pay_all(),
            lambda: cart.share(other),
            lambda: Cart.stray(other),
            lambda: rng.choice(self.tills).give_back(cart, number),
            lambda: rng.choice(self.tills).pay(number),
            lambda: Cart.add(cart, number),
            lambda: asyncio.run(Basket(cart).later(number)),
            lambda: asyncio.run(lone(cart, number)),
            lambda: in_thread(lambda: self.tried(lambda: cart.add(number, "thread"))),
            lambda: carts.append(rng.choice([Cart, BigCart])(self)),
        ])  # fmt: skip
        self.tried(action)

    def tried(self, action: Callable[[], Any]) -> None:
        try:
            action()
        except lawful.Violation as error:
            self.log.append(("refused", error.finding.event["name"] if error.finding.event else None))

    def run(self) -> None:
        carts: list[Cart] = [Cart(self), BigCart(self)]
        for _ in range(self.length):
            self.act(carts)


def in_thread(action: Callable[[], Any]) -> None:
    thread = threading.Thread(target=action)
    thread.start()
    thread.join()


class Run:
    def __init__(self) -> None:
        self.asked: Counter[int] = Counter()  # how often Python had to find out who calls
        self.findings: Any = None
        self.warnings: list[str] = []
        self.events = 0
        self.log: list[Any] = []


FIRST = 100_000
"""Ids of objects begin there, or above: no other number has six digits."""

ID = r"(?<![\w.])\d{6,}(?![\w.])"


def canonical(findings: list[Any]) -> Any:
    """Without times, ids by the order in which they are met."""
    text = json.dumps(sorted(findings, key=lambda each: str([each["rejected_at"], each["expected"]])))
    ids = list(dict.fromkeys(map(int, re.findall(ID, text))))
    renamed = json.loads(re.sub(ID, lambda found: str(-1 - ids.index(int(found[0]))), text))

    def timeless(value: Any) -> Any:
        if isinstance(value, dict):
            return {key: timeless(each) for key, each in value.items() if not key.endswith("time")}
        return [timeless(each) for each in value] if isinstance(value, list) else value

    return timeless(renamed)


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch) -> Callable[..., Run]:
    """`run(program, views)`; `disabled=True`: Python sees to everything."""

    def go(program: Program, views: tuple[str, ...], *, disabled: bool = False, **options: Any) -> Run:
        found = Run()
        enable_inline = MessageSource.enable_inline

        def enable_and_set(self: MessageSource, inline_judge: Any) -> None:
            enable_inline(self, inline_judge)
            self.message_cache.disabled = disabled
            found.asked = self.group_calls.asked

        with monkeypatch.context() as patch:
            patch.setattr(MessageSource, "enable_inline", enable_and_set)
            watch = lawful.watch([grammar.compile(view) for view in views], project=__file__, **options)
            with watch:
                identify = watch._session.tracer.identify  # type: ignore[union-attr]
                while identify(Thing()) < FIRST:
                    pass
                try:
                    program.run()
                except SystemExit:
                    program.log.append("stopped")
        found.findings = canonical([each.to_json() for each in watch.findings])
        assert not watch._live.errors
        found.warnings = watch.warnings
        found.events = watch.events
        found.log = program.log
        return found

    return go


@pytest.mark.parametrize("mode", ["report", "raise", "stop"])
@pytest.mark.parametrize("seed", range(12))
def test_random_programs_are_judged_as_by_python(run: Any, seed: int, mode: str) -> None:
    rng = random.Random(seed)
    views = tuple(rng.sample(VIEWS, rng.randint(1, 3)))
    quick = run(Program(seed), views, on_violation=mode)
    slow = run(Program(seed), views, on_violation=mode, disabled=True)
    assert quick.log == slow.log
    assert quick.findings == slow.findings
    assert quick.events == slow.events
    assert quick.warnings == slow.warnings
    assert quick.asked.total() <= slow.asked.total()


def test_python_is_not_asked_for_each_call(run: Any) -> None:
    class Shop(Program):
        def run(self) -> None:
            for number in range(1000):
                cart = Cart(self)
                cart.add(3, f"thing {number}")
                cart.pay_all()

    found = run(Shop(0), (CARTS,))
    assert found.findings == [] and found.events == 3000
    assert sum(found.asked.values()) < 50
    assert found.log[-3:] == [("added", 3), ("added", 0), ("paid", 3)]


def test_objects_are_not_kept_alive(run: Any) -> None:
    alive: list[Any] = []

    class Shop(Program):
        def sell(self) -> None:
            cart = Cart(self)
            cart.add(3)
            cart.pay_all()
            alive.append(weakref.ref(cart))

        def run(self) -> None:
            for _ in range(50):
                self.sell()
            gc.collect()
            assert not [each for each in alive if each() is not None]

    assert run(Shop(0), (CARTS,)).events == 150


def test_a_call_that_is_refused_is_not_made(run: Any) -> None:
    class Shop(Program):
        def run(self) -> None:
            cart = Cart(self)
            for number in (3, 4, 9, 5, 9):
                self.tried(lambda price=number: cart.add(price))  # type: ignore[misc]

    found = run(Shop(0), (CARTS,), on_violation="raise")
    refused = ("refused", "Cart.add")
    assert found.log == [("added", 3), ("added", 4), refused, ("added", 5), refused]
