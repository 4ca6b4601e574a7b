"""What somebody meets who uses `lawful explain` for the first time and gets something wrong, by the command itself."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterable
from pathlib import Path

import pytest

from explain.teachers.c.requirements import needs_cbmc
from explain.toys import Toy
from lawful.explain.automata import words
from lawful.explain.bounds import Range
from lawful.explain.learning_run import SearchSettings, explanation, learn_from
from lawful.explain.teacher import Word
from lawful.explain.teachers.executions import ExecutionsTeacher

FAILS_LATE = """\
#include <assert.h>
extern int nondet_int(void);
void f(void) {}
void g(void) {}
int main(void)
{
    int n = nondet_int();
    for (int i = 0; i < 10; i++)
        f();
    if (n > 3)
        g();
    assert(n < 5);
    return 0;
}
"""

STACK = """\
class Stack:
    def __init__(self):
        self.items = []

    def push(self, item):
        self.items.append(item)

    def pop(self):
        return self.items.pop()


def run(commands):
    stack = Stack()
    for command in commands:
        if command == "pop":
            stack.pop()
        else:
            stack.push(command)
    return stack
"""

TEST_STACK = """\
import pytest

from stack import run


@pytest.mark.parametrize("commands", [["a"], ["a", "pop"], ["pop"], ["a", "pop", "pop"]])
def test_run(commands):
    assert run(commands).items is not None
"""


@pytest.fixture
def here(tmp_path: Path) -> Path:
    (tmp_path / "late.c").write_text(FAILS_LATE)
    (tmp_path / "stack.py").write_text(STACK)
    (tmp_path / "test_stack.py").write_text(TEST_STACK)
    return tmp_path


def lawful(
    folder: Path, *words: str, without: tuple[str, ...] = (), **environment: str
) -> subprocess.CompletedProcess[str]:
    """Runs the command in a process of its own, on a machine that lacks some packages."""
    if without:
        # As if it were not there, for the processes that are started by this one, too.
        (folder / "sitecustomize.py").write_text(f"import sys\nsys.modules |= dict.fromkeys({without!r})\n")
        environment["PYTHONPATH"] = os.pathsep.join([str(folder), *filter(None, [os.environ.get("PYTHONPATH")])])
    return subprocess.run(
        [sys.executable, "-m", "lawful", *words],
        cwd=folder,
        env=os.environ | environment,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )


def refused(done: subprocess.CompletedProcess[str], slug: str, *said: str) -> None:
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith(f"error[{slug}]: ") and "Traceback" not in done.stderr
    for each in said:
        assert each in done.stderr


@needs_cbmc
def test_a_c_file_that_does_not_parse(here: Path) -> None:
    (here / "broken.c").write_text("#include <stdio.h>\nint main(void)\n{\n    int x = 3\n    return x;\n}\n")
    refused(lawful(here, "explain", "broken.c"), "c-not-parsed", "broken.c:5", "'return'")


@needs_cbmc
def test_no_assertion_is_reached_within_the_bounds(here: Path) -> None:
    late = lawful(here, "explain", "late.c")
    refused(late, "explain-unreachable", "unwinding up to 4", "explain.max-unwind")
    # What the hint says helps.
    found = lawful(here, "explain", "late.c", "--unwind", "11", "--format", "json")
    assert found.returncode == 0 and json.loads(found.stdout)["words"][0]["word"] == ["f"] * 10 + ["g", "assert"]


@needs_cbmc
def test_a_program_without_an_assertion(here: Path) -> None:
    (here / "plain.c").write_text("void f(void) {}\nint main(void) { f(); return 0; }\n")
    refused(lawful(here, "explain", "plain.c"), "c-no-assertion", "--error end")
    assert lawful(here, "explain", "plain.c", "--error", "end").returncode == 0


def test_no_cbmc(here: Path) -> None:
    pytest.importorskip("pycparser")
    pytest.importorskip("pysat")
    done = lawful(here, "explain", "late.c", LAWFUL_CBMC=str(here / "nowhere"))
    refused(done, "no-cbmc", "apt install cbmc", "brew install cbmc", "LAWFUL_CBMC")


@pytest.mark.parametrize(
    ("missing", "words", "slug"),
    [
        (("pycparser",), "late.c", "explain-extra"),
        (("z3",), "small.py:f --set explain.way=symbolic", "explain-way"),
        pytest.param(("pysat", "pysat.solvers"), "late.c", "explain-extra", marks=needs_cbmc),
    ],
)
def test_a_missing_extra(here: Path, missing: tuple[str, ...], words: str, slug: str) -> None:
    (here / "small.py").write_text("def f(n: int) -> None:\n    assert n < 1\n")
    refused(lawful(here, "explain", *words.split(), without=missing), slug, missing[0], 'pip install "lawful[explain]"')


@pytest.mark.parametrize(
    "words",
    [
        "small.py:f",
        "small.py:f --set explain.way=testing",
        "small.py:f --set explain.learner=dont-care",
        pytest.param("soon.c --set explain.teacher=asking", marks=needs_cbmc),
    ],
)
def test_what_goes_without_the_extra(here: Path, words: str) -> None:
    (here / "small.py").write_text("def f(n: int) -> None:\n    assert n < 1\n")
    (here / "soon.c").write_text("#include <assert.h>\nvoid f(void) {}\nint main(void) { f(); assert(0); }\n")
    done = lawful(here, "explain", *words.split(), without=("z3", "pysat", "pysat.solvers"))
    assert (done.returncode, done.stderr) == (0, "") and "all ways to" in done.stdout


def test_a_function_that_never_ends(here: Path) -> None:
    (here / "spin.py").write_text("def f(n: int) -> None:\n    while True:\n        pass\n")
    done = lawful(here, "explain", "spin.py:f", "--unwind", "1", "--set", "explain.execution-seconds=0.2")
    refused(done, "explain-unreachable", "3 executions did not end within 0.2 s", "n=0")


def test_what_is_not_deterministic_is_named(here: Path) -> None:
    # A counter outside of the program: each execution does something else than the one before.
    (here / "count.py").write_text(
        "from pathlib import Path\n\n\ndef odd() -> None: ...\n\n\ndef f(n: int) -> None:\n"
        "    counter = Path(__file__).with_name('counter')\n"
        "    count = len(counter.read_text()) if counter.exists() else 0\n    counter.write_text('.' * (count + 1))\n"
        "    if count % 2:\n        odd()\n    assert n < 1\n"
    )
    done = lawful(here, "explain", "count.py:f", "--unwind", "2")
    assert (done.returncode, done.stderr) == (0, "")
    assert "not deterministic: run twice with n=" in " ".join(done.stdout.split()) and "sampled" in done.stdout


def test_pytest_node_ids(here: Path) -> None:
    done = lawful(
        here, "explain", "test_stack.py::test_run", "--format", "json", "--set", "explain.execution-seconds=30"
    )
    assert (done.returncode, done.stderr) == (0, "")
    found = json.loads(done.stdout)
    assert {" ".join(each["word"]): each["input"] for each in found["words"]} == {
        "run Stack.pop error": "commands=['pop']",
        "run Stack.push Stack.pop Stack.pop error": "commands=['a', 'pop', 'pop']",
    }
    assert found["basis"] == "sampled" and set(found["dominating"]) == {"run", "Stack.pop", "error"}
    refused(lawful(here, "explain", "test_stack.py::nothing"), "explain-pytest", "test_stack.py::nothing")


def test_traces(here: Path) -> None:
    for name, events in (("failing", "open read"), ("passing", "open close")):
        lines = (json.dumps({"event": "func_pre", "name": each}) for each in events.split())
        (here / f"{name}.jsonl").write_text("".join(f"{line}\n" for line in lines))
    done = lawful(here, "explain", "--traces", "failing.jsonl", "passing.jsonl")
    assert (done.returncode, done.stderr) == (0, "")
    assert "open > read > error" in done.stdout and "sampled" in done.stdout and "doomed    states 2, 3" in done.stdout
    (here / "failing.jsonl").write_text('{"event": \n')
    refused(lawful(here, "explain", "--traces", "failing.jsonl", "passing.jsonl"), "trace-truncated", "failing.jsonl:1")
    refused(lawful(here, "explain", "--traces", "failing.jsonl"), "usage", "--traces")


@pytest.mark.skipif(shutil.which("git") is None, reason="git is not installed")
def test_revisions_of_a_small_project(here: Path) -> None:
    def git(*words: str) -> None:
        identity = ("-c", "user.name=A", "-c", "user.email=a@example.org", "-c", "commit.gpgsign=false")
        subprocess.run(["git", *identity, *words], cwd=here, check=True, capture_output=True, stdin=subprocess.DEVNULL)

    order = "def pay() -> None: ...\n\n\ndef ship() -> None: ...\n\n\ndef process(paid: bool) -> None:\n"
    (here / "shop").mkdir()
    (here / "shop" / "__init__.py").touch()
    git("init", "--quiet")
    for body in ("    pay()\n    ship()\n", "    if paid:\n        pay()\n    ship()\n"):
        (here / "shop" / "order.py").write_text(order + body)
        git("add", "shop")
        git("commit", "--quiet", "-m", "a change")
    target = ("--target", "shop.order:process", "--set", "explain.max-unwind=1")
    done = lawful(here, "diff", "HEAD~1", "HEAD", *target)
    assert (done.returncode, done.stderr) == (1, "")
    assert "only in HEAD~1: nothing" in done.stdout and "ship > end" in done.stdout and "paid=False" in done.stdout
    same = lawful(here, "diff", "HEAD", ".", *target)
    assert (same.returncode, same.stderr) == (0, "") and "no difference within the bounds" in same.stdout
    refused(lawful(here, "diff", "HEAD~7", "HEAD", *target), "revision-not-found", "HEAD~7")
    refused(lawful(here, "diff", "HEAD~1", "HEAD"), "usage", "--target")


@needs_cbmc
def test_ctrl_c_while_cbmc_is_asked(here: Path) -> None:
    """As a terminal does it: every process gets the signal, CBMC too."""
    (here / "loops.c").write_text(
        "#include <assert.h>\nextern int nondet_int(void);\nvoid f(void) {}\nvoid g(void) {}\n"
        "int main(void) { while (nondet_int()) { f(); if (nondet_int()) g(); } assert(0); return 0; }\n"
    )
    command = [
        "explain",
        "loops.c",
        "--set",
        "explain.teacher=asking",
        "--set",
        "explain.all-bounds=true",
        "--set",
        "explain.max-unwind=9",
        "--format",
        "json",
    ]
    # It prints the first bounds that are done: no other output shows them before the end.
    reported = (
        "import sys\nfrom lawful.cli import explain_options\nfrom lawful.cli.main import main\n"
        "from contextlib import nullcontext\n"
        "tell = lambda bounds, states, asked: states and bounds.unwind > 1 and open('begun', 'w').close()\n"
        "explain_options._progress = lambda wanted: nullcontext(tell)\nsys.exit(main(sys.argv[1:]))\n"
    )
    run = subprocess.Popen(
        [sys.executable, "-c", reported, *command],
        cwd=here,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    try:
        deadline = time.monotonic() + 60
        while not (here / "begun").exists() and run.poll() is None and time.monotonic() < deadline:
            time.sleep(0.05)
        assert (here / "begun").exists()
        os.killpg(run.pid, signal.SIGINT)
        out, err = run.communicate(timeout=60)
    finally:
        run.kill()
    assert (run.returncode, err) == (130, "")
    found = json.loads(out)
    assert found["interrupted"] is True and found["complete"] is False
    assert ["assert"] in [each["word"] for each in found["words"]]


@pytest.mark.parametrize("learner", ["words", "table"])
def test_ctrl_c_in_the_very_first_run_gives_what_was_seen_by_then(learner: str) -> None:
    def program(unwind: int) -> Iterable[tuple[Word, bool]]:
        yield (0,), False
        yield (0, 1), True
        raise KeyboardInterrupt

    teacher = ExecutionsTeacher(Toy("ab", program))
    done = learn_from(teacher, SearchSettings(learner=learner, within=Range(unwind=2)))  # type: ignore[arg-type]
    assert list(words(done.automaton, 9)) == [(0, 1, 2)]
    found = explanation(done, "toy")
    assert found.interrupted and not found.complete and not found.converged
    assert [way.word for way in found.ways] == [(0, 1, 2)] and found.picture.edges[0].example == "f(01)"
