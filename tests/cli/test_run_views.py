"""`lawful run` and `lawful record` with views: groups of a running program, from the command line."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

APP = """
class Till:
    def pay(self, amount):
        print("paid", amount)


class Cart:
    def __init__(self, till):
        self.till = till

    def add_item(self, price):
        self.price = price

    def check_out(self, discount):
        self.till.pay(self.price - discount)


def main():
    cart = Cart(Till())
    cart.add_item(30)
    cart.check_out(40)


if __name__ == "__main__":
    main()
"""
VIEW = """
view CartView specifies CartGroup {
    receive Cart.addItem(Int price) add,
    send Till.pay(Int amount) pay
}

S ::= epsilon | add T (T.price = add.price;)
T ::= epsilon | pay {assert 0 <= pay.amount && pay.amount <= T.price;}
"""
BOUND = "group CartGroup is class shop.Cart;\n" + VIEW
OPTION = ["--set", "groups.CartGroup=class:shop.Cart"]


@pytest.fixture
def shop(tmp_path: Path) -> Path:
    (tmp_path / "shop.py").write_text(APP)
    (tmp_path / "cart.view").write_text(VIEW)
    (tmp_path / "bound.view").write_text(BOUND)
    (tmp_path / "pyproject.toml").write_text("")
    return tmp_path


def lawful(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "lawful", *words]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=60)


@pytest.mark.parametrize("way", ["view", "option", "configuration"])
def test_groups_can_be_said_in_three_ways(shop: Path, way: str) -> None:
    law = "bound.view" if way == "view" else "cart.view"
    if way == "configuration":
        (shop / "pyproject.toml").write_text('[tool.lawful.groups]\nCartGroup = "class shop.Cart"\n')
    done = lawful(shop, "run", "--law", law, *(OPTION if way == "option" else []), "shop.py")
    assert (done.returncode, done.stdout) == (1, "paid -10\n")
    assert "shop.py:15: " in done.stderr and "0 <= pay.amount" in done.stderr
    assert "T.price = 30, pay.amount = -10" in done.stderr


def test_raise_keeps_the_message_from_going_out(shop: Path) -> None:
    done = lawful(shop, "run", "--law", "bound.view", "--on-violation", "raise", "shop.py")
    assert done.stdout == "" and done.returncode == 1
    assert "self.till.pay(self.price - discount)" in done.stderr and "lawful.Violation: bound.view:" in done.stderr


def test_stop_ends_the_program(shop: Path) -> None:
    done = lawful(shop, "run", "--law", "bound.view", "--on-violation", "stop", "shop.py")
    assert (done.returncode, done.stdout) == (1, "") and "Traceback" not in done.stderr


@pytest.mark.parametrize("suffix", ["svg", "mmd", "md"])
def test_a_diagram_is_drawn(shop: Path, suffix: str) -> None:
    done = lawful(shop, "run", "--law", "bound.view", "--set", f"diagram=out.{suffix}", "shop.py")
    assert f"diagram   out.{suffix}" in done.stderr
    text = (shop / f"out.{suffix}").read_text()
    assert "CartView is broken by CartGroup 1 at event 2" in text
    assert "addItem(30)" in text and "T.price = 30" in text and "0 &lt;= pay.amount" in text.replace("#60;", "&lt;")


def test_there_is_no_diagram_of_nothing(shop: Path) -> None:
    (shop / "shop.py").write_text(APP.replace("check_out(40)", "check_out(4)"))
    done = lawful(shop, "run", "--law", "bound.view", "--set", "diagram=out.svg", "shop.py")
    assert (done.returncode, done.stdout) == (0, "paid 26\n")
    assert (
        "the program broke no view, so Lawful did not write out.svg" in done.stderr and not (shop / "out.svg").exists()
    )


def test_the_json_report_has_the_place_in_the_grammar(shop: Path) -> None:
    lawful(
        shop,
        "run",
        "--law",
        "bound.view",
        "--format",
        "json",
        "--output",
        "r.json",
        "--set",
        "diagram=o.svg",
        "shop.py",
    )
    (finding,) = json.loads((shop / "r.json").read_text())["findings"]
    assert finding["rejection"]["assertion"] == "0 <= pay.amount"
    assert finding["rejection"]["position"] == "T ::= pay"
    assert finding["rejection"]["values"] == {"T.price": 30, "pay.amount": -10}
    assert finding["diagram"] == "o.svg"


def test_what_is_recorded_is_what_is_checked(shop: Path) -> None:
    done = lawful(shop, "record", "-o", "t.jsonl", "--law", "bound.view", "shop.py")
    assert (done.returncode, done.stdout) == (0, "paid -10\n")
    events = [json.loads(line) for line in (shop / "t.jsonl").read_text().splitlines()]
    assert [(event["event"], event["name"], event.get("seq")) for event in events] == [
        ("receive", "Cart.addItem", None),  # from nobody in particular
        ("send", "Till.pay", 1),
    ]
    done = lawful(shop, "check", "cart.view", "--trace", "t.jsonl")
    assert done.returncode == 1 and "at event 2" in done.stdout


def test_who_says_nothing_of_groups_is_told(shop: Path) -> None:
    done = lawful(shop, "run", "--law", "cart.view", "shop.py")
    assert done.returncode == 0
    assert "cart.view is about CartGroup, and nothing says what that is in the program" in done.stderr
    done = lawful(shop, "run", "--law", "cart.view", "--set", "groups.CartGroup=class:shop.Basket", "shop.py")
    assert "the program had no CartGroup (class shop.Basket)" in done.stderr.replace("\n", " ")
    done = lawful(shop, "run", "--law", "cart.view", "--set", "groups.CartGruop=class:shop.Cart", "shop.py")
    assert "no view is about a group CartGruop: did you mean CartGroup?" in done.stderr.replace("\n", " ")


@pytest.mark.parametrize(
    ("word", "slug"),
    [
        ("groups.CartGroup", "usage"),
        ("groups.CartGroup=7", "config-value"),
        ("groups.CartGroup=clas:x", "group-binding"),
        ("group.CartGroup=class:x", "config-unknown-key"),
    ],
)
def test_mistakes_come_out_before_the_program_begins(shop: Path, word: str, slug: str) -> None:
    done = lawful(shop, "run", "--law", "cart.view", "--set", word, "shop.py")
    assert (done.returncode, done.stdout) == (2, "") and f"error[{slug}]: " in done.stderr


def test_functions_come_from_a_file(shop: Path) -> None:
    (shop / "words.py").write_text("def fair(amount):\n    return amount >= 0\n")
    (shop / "fair.view").write_text(BOUND.replace("0 <= pay.amount && pay.amount <= T.price", "fair(pay.amount)"))
    done = lawful(shop, "run", "--law", "fair.view", "--set", "functions=words.py", "shop.py")
    assert done.returncode == 1 and "pay with fair(pay.amount)" in done.stderr
    lawful(shop, "record", "-o", "t.jsonl", "--law", "bound.view", "shop.py")
    done = lawful(shop, "check", "fair.view", "--trace", "t.jsonl", "--set", "functions=words.py")
    assert done.returncode == 1 and "expected  pay with fair(pay.amount)" in done.stdout
    for name, slug in (("nothing.py", "functions-not-found"), ("broken.py", "functions-failed")):
        (shop / "broken.py").write_text("1 / 0\n")
        done = lawful(shop, "check", "fair.view", "--trace", "t.jsonl", "--set", f"functions={name}")
        assert done.returncode == 2 and f"error[{slug}]" in done.stderr


def test_a_trace_out_of_order_is_put_in_order(shop: Path) -> None:
    view = "view V { send A.m(Int n) m } start S (S.n = 0;) S ::= epsilon | m {assert m.n == S.n + 1;} S (S.n = m.n;)"
    (shop / "order.view").write_text(view)
    messages = [{"event": "send", "name": "A.m", "args": [n], "senderId": 4, "seq": n} for n in (2, 1, 4, 3)]
    (shop / "t.jsonl").write_text("".join(json.dumps(each) + "\n" for each in messages))
    done = lawful(shop, "check", "order.view", "--trace", "t.jsonl")
    assert done.returncode == 0 and "warning" not in done.stderr
    (shop / "t.jsonl").write_text("".join(json.dumps(each) + "\n" for each in messages[:3]))
    done = lawful(shop, "check", "order.view", "--trace", "t.jsonl")
    assert done.returncode == 1
    assert "warning[trace-order]: t.jsonl: 1 message of the sender 4 never came" in done.stderr


def test_a_forked_child_is_watched_too(shop: Path) -> None:
    text = APP.replace(
        "    main()\n", "    import os\n    pid = os.fork()\n    main()\n    if pid:\n        os.wait()\n"
    )
    (shop / "shop.py").write_text(text)
    done = lawful(shop, "run", "--law", "bound.view", "shop.py")
    assert done.stdout.count("paid -10") == 2
    assert "1 finding (2 violations) in 1 law, 4 events" in done.stderr


def test_a_spawned_child_knows_groups_and_functions(shop: Path) -> None:
    text = APP.replace(
        "    main()\n",
        "    import multiprocessing\n    child = multiprocessing.get_context('spawn').Process(target=main)\n"
        "    child.start()\n    child.join()\n",
    )
    (shop / "shop.py").write_text(text)
    (shop / "words.py").write_text("def fair(amount):\n    return amount >= 0\n")
    (shop / "fair.view").write_text(VIEW.replace("0 <= pay.amount && pay.amount <= T.price", "fair(pay.amount)"))
    done = lawful(shop, "run", "--law", "fair.view", *OPTION, "--set", "functions=words.py", "shop.py")
    assert done.returncode == 1 and "pay with fair(pay.amount)" in done.stderr, done.stderr


def test_a_program_without_views_loads_nothing_of_this(shop: Path) -> None:
    (shop / "look.py").write_text("import sys\nprint([each for each in sys.modules if 'actors' in each])\n")
    done = lawful(shop, "run", "--law", "files", "look.py")
    assert done.stdout == "[]\n"
