"""Pykka: what actors tell and ask each other."""

from __future__ import annotations

import random
import threading
from collections.abc import Iterator
from typing import Any

import pytest

import lawful
from sources.actors.watched_programs import watched

pykka = pytest.importorskip("pykka")

VIEW = """
group Customer is actor Customer;
view V specifies Customer {
    send Shop.buy(Customer who, String what) buy,
    receive Customer.deliver(String what) deliver
}
S ::= epsilon | buy {assert buy.who == buy.caller;} T (T.what = buy.what;)
T ::= deliver {assert deliver.what == T.what;} S
"""


class Shop(pykka.ThreadingActor):  # type: ignore[misc, name-defined]
    def __init__(self, wrong: str = "") -> None:
        super().__init__()
        self.wrong = wrong
        self.sold: list[str] = []

    def buy(self, who: Any, what: str) -> None:
        self.sold.append(what)
        who.proxy().deliver("stone" if what == self.wrong else what)

    def price(self, what: str) -> int:
        if not what:
            raise KeyError(what)
        return len(what)

    def on_receive(self, message: Any) -> Any:
        return self.buy(message["who"], message["what"])


class Customer(pykka.ThreadingActor):  # type: ignore[misc, name-defined]
    def __init__(self, shop: Any) -> None:
        super().__init__()
        self.shop = shop
        self.got: list[str] = []
        self.refused: list[str] = []
        self.done = threading.Event()

    def want(self, what: str, how: str = "call") -> None:
        self.done.clear()
        try:
            if how == "call":
                self.shop.proxy().buy(self.actor_ref, what)
            elif how == "defer":
                self.shop.proxy().buy.defer(self.actor_ref, what)
            else:
                self.shop.tell({"type": "buy", "who": self.actor_ref, "what": what})
        except lawful.Violation:
            self.refused.append(what)
            self.done.set()

    def deliver(self, what: str) -> None:
        self.got.append(what)
        self.done.set()

    def ask_price(self, what: str) -> int:
        try:
            return int(self.shop.proxy().price(what).get())
        except KeyError:
            return -1


@pytest.fixture(autouse=True)
def _no_actor_is_left() -> Iterator[None]:
    yield
    pykka.ActorRegistry.stop_all()


def shopping(wishes: list[str], how: str = "call", wrong: str = "", customers: int = 1) -> list[Any]:
    shop = Shop.start(wrong)
    refs = [Customer.start(shop) for _ in range(customers)]
    for wish in wishes:
        for ref in refs:
            proxy = ref.proxy()
            proxy.want(wish, how).get()
            proxy.done.get().wait(5)
    return [ref.proxy() for ref in refs]


@pytest.mark.parametrize("how", ["call", "defer", "tell"])
def test_actors_are_groups_and_what_they_are_told_are_messages(seen: Any, how: str) -> None:
    events = seen(VIEW, lambda: shopping(["tea", "milk"], how))
    assert [(event["event"], event["name"], event["args"][-1]) for event in events] == [
        (kind, name, what)
        for what in ("tea", "milk")
        for kind, name in (("send", "Shop.buy"), ("receive", "Customer.deliver"))
    ]
    assert len({event["groupId"] for event in events}) == 1
    assert all(event["argIds"][0] == event["groupId"] == event["callerId"] for event in events[::2])
    assert len({event["targetId"] for event in events[::2]}) == 1


def test_each_actor_is_judged_for_itself() -> None:
    watch = watched(VIEW, lambda: shopping(["tea", "milk", "rice"], customers=4))
    assert watch.events == 24 and not watch.findings


def test_data_are_compared_with_what_was_asked_for() -> None:
    proxies: list[Any] = []
    watch = watched(VIEW, lambda: proxies.extend(shopping(["tea"], wrong="tea")))
    assert proxies[0].got.get() == ["stone"]
    first = watch.findings[0]
    assert first.rejection is not None
    assert first.rejection.values == {"T.what": "tea", "deliver.what": "stone"}


def test_a_message_that_breaks_the_law_does_not_go_out() -> None:
    """Who is asked twice before delivery refuses the second time; the shop never hears of it."""
    view = VIEW.replace("T ::= deliver", "T ::= epsilon | deliver")
    proxies: list[Any] = []
    shops: list[Any] = []

    class Slow(Shop):
        def buy(self, who: Any, what: str) -> None:
            self.sold.append(what)

    def program() -> None:
        shops.append(Slow.start())
        customer = Customer.start(shops[0]).proxy()
        customer.want("tea").get()
        customer.want("milk").get()
        proxies.append(customer)

    watch = watched(view, program, on_violation="raise")
    assert shops[0].proxy().sold.get() == ["tea"]
    assert proxies[0].refused.get() == ["milk"]
    assert len(watch.findings) == 1


ASKING = """
group Customer is actor Customer;
view V specifies Customer { send Shop.price(String what) ask, receive reply(Shop.price) answer }
S ::= epsilon | ask T (T.q = ask; T.what = ask.what;)
T ::= answer {assert answer.of == T.q && (answer.exception != null || answer.result == size(T.what));} S
"""


def test_questions_and_answers_are_related(seen: Any) -> None:
    view = ASKING.replace("&& (answer.exception != null || answer.result == size(T.what))", "").replace(
        " T.what = ask.what;", ""
    )

    def program() -> list[int]:
        customer = Customer.start(Shop.start()).proxy()
        return [customer.ask_price(what).get() for what in ("tea", "", "sugar")]

    answers: list[int] = []
    events = seen(view, lambda: answers.extend(program()))
    assert answers == [3, -1, 5]
    assert [event.get("res", event.get("exception")) for event in events if event.get("reply")] == [3, "KeyError", 5]
    assert [event["callId"] for event in events[::2]] == [event["callId"] for event in events[1::2]]


@pytest.mark.parametrize("on_violation", ["report", "raise"])
def test_many_threads_at_once_raise_where_they_should(on_violation: str) -> None:
    """Each customer knows which of its wishes are not allowed; nobody else is refused for it."""
    view = """
    group Customer is actor Customer;
    view V specifies Customer { send Shop.buy(Customer who, String what) buy }
    S ::= epsilon | buy {assert buy.what != "bad";} S
    """

    class Sink(Shop):
        def buy(self, who: Any, what: str) -> None:
            self.sold.append(what)

    dice = random.Random(1)
    wishes = [[dice.choice(["good", "bad"]) for _ in range(40)] for _ in range(6)]
    refused: list[list[str]] = []
    sold: list[str] = []

    class Crowd(Customer):
        def all(self, many: list[str]) -> list[str]:
            for what in many:
                self.want(what)
            return self.refused

    def program() -> None:
        shop = Sink.start()
        futures = [Crowd.start(shop).proxy().all(many) for many in wishes]
        refused.extend(future.get(timeout=30) for future in futures)
        sold.extend(shop.proxy().sold.get())

    watch = watched(view, program, on_violation=on_violation)
    bad = sum(many.count("bad") for many in wishes)
    assert [finding.count for finding in watch.findings] == [bad]
    if on_violation == "raise":
        assert refused == [["bad"] * many.count("bad") for many in wishes]
        assert sold == ["good"] * (240 - bad)
    else:
        assert refused == [[]] * 6 and len(sold) == 240
