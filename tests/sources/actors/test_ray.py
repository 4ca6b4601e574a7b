"""Ray's actors, in processes of their own: what they send each other is recorded, and can be checked."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("ray")
pytestmark = pytest.mark.ray

PROGRAM = """
import time

import ray


@ray.remote
class Shop:
    def buy(self, who, what):
        who.deliver.remote(what)


@ray.remote
class Customer:
    def __init__(self, shop):
        self.shop, self.got = shop, []

    def want(self, me, what):
        self.shop.buy.remote(me, what)

    def deliver(self, what):
        self.got.append(what)

    def have(self):
        return self.got


if __name__ == "__main__":
    ray.init(num_cpus=2, logging_level="ERROR", include_dashboard=False, log_to_driver=False)
    shop = Shop.remote()
    customers = [Customer.remote(shop) for _ in range(2)]
    for what in ("tea", "milk"):
        for customer in customers:
            ray.get(customer.want.remote(customer, what))
            while what not in ray.get(customer.have.remote()):
                time.sleep(0.05)
    time.sleep(0.5)
    ray.shutdown()
"""
VIEW = """
group Customer is actor Customer;
view V specifies Customer {
    send Shop.buy(Customer who, String what) buy, receive Customer.deliver(String what) deliver
}
S ::= epsilon | buy {assert buy.who == buy.caller;} T (T.what = buy.what;)
T ::= deliver {assert deliver.what == T.what;} S
"""


def test_what_actors_send_is_recorded_and_can_be_checked(tmp_path: Path) -> None:
    (tmp_path / "app.py").write_text(PROGRAM)
    (tmp_path / "v.view").write_text(VIEW)
    lawful = [sys.executable, "-m", "lawful"]
    for words in (["record", "-o", "t.jsonl", "--law", "v.view", "app.py"], ["check", "v.view", "--trace", "t.jsonl"]):
        done = subprocess.run([*lawful, *words], cwd=tmp_path, capture_output=True, text=True, timeout=180)
        assert done.returncode == 0, done.stdout + done.stderr
    assert "0 broken, 1 accepted (1 law, 1 trace, 8 events)" in done.stdout


def test_what_actors_send_is_judged_while_they_run(tmp_path: Path) -> None:
    """A shop that delivers something else: only its own process sees that, and the driver says so."""
    wrong = PROGRAM.replace("who.deliver.remote(what)", 'who.deliver.remote(what if what == "tea" else "beer")')
    wrong = wrong.replace(
        "while what not in ray.get(customer.have.remote()):",
        'while len(ray.get(customer.have.remote())) < ("tea", "milk").index(what) + 1:',
    )
    (tmp_path / "app.py").write_text(wrong)
    (tmp_path / "v.view").write_text(VIEW)
    command = [sys.executable, "-m", "lawful", "run", "--law", "v.view", "app.py"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=180)
    assert done.returncode == 1, done.stdout + done.stderr
    text = " ".join((done.stdout + done.stderr).split())
    assert 'receives Customer.deliver("beer")' in text
    assert 'T.what is "milk", deliver.what is "beer"' in text
    assert "8 events" in text
