"""`pytest --lawful` with views: what the groups are stands in the view, or in `[tool.lawful.groups]`."""

from __future__ import annotations

import pytest

from testing.sessions import isolated, run

pytest_plugins = ["pytester"]

APP = """
import asyncio

class Till:
    def pay(self, sum):
        return sum

class Cart:
    def __init__(self, till):
        self.till = till

    def add(self, price):
        self.price = price

    def check_out(self):
        return self.till.pay(self.price)

class Basket(Cart):
    pass

async def worker(inbox):
    while (item := await inbox.get()) is not None:
        pass

async def send(*numbers):
    inbox = asyncio.Queue()
    task = asyncio.create_task(worker(inbox), name="worker-1")
    await asyncio.sleep(0)
    for number in numbers:
        inbox.put_nowait(("job", number))
    inbox.put_nowait(None)
    await task
"""
CART = """
view CartView specifies CartGroup { receive Cart.add(Int price) add, send Till.pay(Int sum) pay }
S ::= epsilon | add T (T.price = add.price;)
T ::= add T (T.price = add.price;) | pay {assert pay.sum == T.price;} S
"""
WORKER = """
group Worker is task "worker-*";
view WorkerView specifies Worker { receive worker.job(Int number) job }
start S (S.last = 0;)
S ::= epsilon | job {assert job.number > S.last;} S (S.last = job.number;)
"""
TESTS = """
import asyncio
import app

def test_keeps():
    cart = app.Cart(app.Till())
    cart.add(3)
    assert cart.check_out() == 3

def test_pays_twice():
    cart = app.Cart(app.Till())
    cart.add(3)
    cart.check_out()
    cart.check_out()

def test_in_order():
    asyncio.run(app.send(1, 2, 5))

def test_out_of_order():
    asyncio.run(app.send(1, 5, 2))
"""
PYPROJECT = """
[tool.pytest.ini_options]
pythonpath = "."
[tool.lawful]
laws = ["cart.view", "worker.view"]
[tool.lawful.groups]
CartGroup = ["{group}"]
"""


@pytest.fixture
def project(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> pytest.Pytester:
    isolated(pytester, monkeypatch)
    pytester.makepyfile(app=APP, test_app=TESTS)
    pytester.path.joinpath("cart.view").write_text(CART)
    pytester.path.joinpath("worker.view").write_text(WORKER)
    with_group(pytester, "class app.Cart")
    return pytester


def with_group(project: pytest.Pytester, group: str) -> None:
    project.path.joinpath("pyproject.toml").write_text(PYPROJECT.format(group=group))


def test_messages_of_a_group_are_judged_in_the_test_that_sends_them(project: pytest.Pytester) -> None:
    done = run(project, "--lawful")
    done.assert_outcomes(passed=4)
    text = done.stdout.str()
    assert "cart.view" in text and "worker.view" in text
    assert "test_pays_twice" in text and "test_out_of_order" in text
    assert "test_keeps" not in text and "test_in_order" not in text
    assert "2 findings" in text


def test_findings_fail_the_run_if_that_is_asked(project: pytest.Pytester) -> None:
    assert run(project, "--lawful", "--lawful-fail").ret == 1
    assert run(project, "--lawful", "--lawful-fail", "-k", "keeps or in_order and not out_of_order").ret == 0


def test_the_group_is_what_the_project_says(project: pytest.Pytester) -> None:
    with_group(project, "class app.Basket")
    text = run(project, "--lawful", "-k", "keeps or twice").stdout.str()
    assert "0 findings" in text
    assert "the program had no CartGroup (class app.Basket)" in " ".join(text.split())


def test_a_group_of_the_project_takes_the_place_of_what_the_view_says(project: pytest.Pytester) -> None:
    with_group(project, "class app.Cart")
    with open(project.path / "pyproject.toml", "a") as file:
        file.write('Worker = ["task other-*"]\n')
    text = run(project, "--lawful").stdout.str()
    assert "1 finding" in text and "test_pays_twice" in text and "test_out_of_order" not in text


@pytest.mark.parametrize("group", ["clas app.Cart", "class"])
def test_what_is_no_group_is_said_before_any_test_runs(project: pytest.Pytester, group: str) -> None:
    with_group(project, group)
    done = run(project, "--lawful")
    assert done.ret == pytest.ExitCode.USAGE_ERROR
    text = done.stdout.str() + done.stderr.str()
    assert "group-binding" in text and "Traceback" not in text
    assert "passed" not in text


def test_with_raise_the_violating_message_does_not_go_out(project: pytest.Pytester) -> None:
    project.makepyfile(
        test_raises="""
        import asyncio
        import app

        def test_out_of_order():
            asyncio.run(app.send(1, 5, 2))
        """
    )
    with open(project.path / "pyproject.toml") as file:
        text = file.read()
    project.path.joinpath("pyproject.toml").write_text(
        text.replace("[tool.lawful]", '[tool.lawful]\non-violation = "raise"')
    )
    done = run(project, "--lawful", "test_raises.py")
    done.assert_outcomes(failed=1)
    assert "Violation" in done.stdout.str()
