"""Ray's actors, in processes of their own: what they send each other is recorded, and can be checked."""

from __future__ import annotations

import json
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


WRONG = PROGRAM.replace("who.deliver.remote(what)", 'who.deliver.remote(what if what == "tea" else "beer")')
"""A shop that delivers something else."""


def run(folder: Path, program: str, *options: str) -> tuple[int, str]:
    (folder / "app.py").write_text(program)
    (folder / "v.view").write_text(VIEW)
    command = [sys.executable, "-m", "lawful", "run", *options, "--law", "v.view", "app.py"]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=180)
    return done.returncode, " ".join((done.stdout + done.stderr).split())


def test_what_an_actor_may_not_send_does_not_go_out(tmp_path: Path) -> None:
    """Lawful raises the violation in the shop, where it sends; then the shop sends the requested message."""
    program = WRONG.replace("import ray\n", "import ray\n\nimport lawful\n", 1).replace(
        """        who.deliver.remote(what if what == "tea" else "beer")""",
        """        try:
            who.deliver.remote(what if what == "tea" else "beer")
        except lawful.Violation as violation:
            assert violation.finding.event["name"] == "Customer.deliver"
            who.deliver.remote(what)""",
    )
    program = program.replace("time.sleep(0.5)", "print([ray.get(each.have.remote()) for each in customers])")
    code, text = run(tmp_path, program, "--on-violation", "raise", "--trace", "t.jsonl")
    assert code == 1, text
    assert "[['tea', 'milk'], ['tea', 'milk']]" in text
    assert 'T.what is "milk", deliver.what is "beer"' in text
    assert "10 events" in text
    assert "judged" not in text, "a warning"
    names = [json.loads(line)["name"] for line in (tmp_path / "t.jsonl").read_text().splitlines()]
    assert (names.count("Shop.buy"), names.count("Customer.deliver")) == (4, 6)


def test_an_actor_stops_the_run(tmp_path: Path) -> None:
    program = WRONG.replace("    ray.shutdown()\n", '    print("reached")\n    ray.shutdown()\n')
    code, text = run(tmp_path, program, "--on-violation", "stop")
    assert code == 1, text
    assert 'T.what is "milk", deliver.what is "beer"' in text
    assert "reached" not in text


@pytest.mark.parametrize("options", [(), ("--trace", "t.jsonl")])
def test_what_actors_send_is_judged_while_they_run(options: tuple[str, ...], tmp_path: Path) -> None:
    """Only the shop's own process sees what it delivers, and the driver says so."""
    wrong = WRONG.replace(
        "while what not in ray.get(customer.have.remote()):",
        'while len(ray.get(customer.have.remote())) < ("tea", "milk").index(what) + 1:',
    )
    code, text = run(tmp_path, wrong, *options)
    assert code == 1, text
    assert 'receives Customer.deliver("beer")' in text
    assert 'T.what is "milk", deliver.what is "beer"' in text
    assert "8 events" in text
    if options:
        events = [json.loads(line) for line in (tmp_path / "t.jsonl").read_text().splitlines()]
        assert [event["name"] for event in events] == ["Shop.buy", "Customer.deliver"] * 4
