"""Which events are letters, and that each is seen where it happens."""

from __future__ import annotations

import sys
import textwrap
from collections.abc import Callable
from pathlib import Path

import pytest

from explain import brute
from lawful.errors import LawfulError
from lawful.explain.teacher import Bounds
from lawful.explain.teachers.python.execution_source import PythonSource
from lawful.explain.teachers.python.options import EventChoice

Program = Callable[..., PythonSource]


@pytest.fixture
def program(tmp_path: Path) -> Program:
    def made(text: str, **options: object) -> PythonSource:
        file = tmp_path / "prog.py"
        file.write_text(textwrap.dedent(text))
        return PythonSource(f"{file}:main", **options)  # type: ignore[arg-type]

    return made


def letters(source: PythonSource) -> set[str]:
    return set(source.alphabet.labels[:-1])


CLASSES = """
    class Stack:
        def __init__(self): self.items = []
        def push(self, x): self.items.append(x)
        def pop(self): return self.items.pop()
        @property
        def size(self): return len(self.items)
        @staticmethod
        def idle(): pass
        @classmethod
        def made(cls): return cls()

    def helper(): pass
    def unused(): pass

    def main(n: int):
        stack = Stack.made()
        for each in range(n):
            stack.push(each)
        Stack.idle()
        helper()
        while stack.size:
            stack.pop()
        stack.pop()
"""


def test_functions_that_can_be_reached_are_entered(program: Program) -> None:
    with program(CLASSES) as source:
        assert letters(source) == {"Stack.push", "Stack.pop", "Stack.size", "Stack.idle", "Stack.made", "helper"}
        found = brute.failing(brute.spelled(source, 1))
        pre, post = ("Stack.made",), ("Stack.idle", "helper", "Stack.size")
        assert found == {
            (*pre, *post, "Stack.pop", "error"),
            (*pre, "Stack.push", *post, "Stack.pop", "Stack.size", "Stack.pop", "error"),
        }


def test_patterns_choose(program: Program) -> None:
    with program(CLASSES, events=["Stack.p*"]) as source:
        assert letters(source) == {"Stack.push", "Stack.pop"}
        assert brute.failing(brute.spelled(source, 1)) == {
            ("Stack.pop", "error"),
            ("Stack.push", "Stack.pop", "Stack.pop", "error"),
        }
    with program(CLASSES, events=["prog.helper", "Stack.__init__", "main"]) as source:
        assert letters(source) == {"helper", "Stack.__init__", "main"}
        assert ("main", "Stack.__init__", "helper", "error") in brute.failing(brute.spelled(source, 1))


def test_patterns_that_match_nothing_are_an_error(program: Program) -> None:
    with pytest.raises(LawfulError) as caught:
        program(CLASSES, events=["nothing*"])
    assert caught.value.slug == "explain-events"
    assert "helper" in str(caught.value.hint)
    with pytest.raises(LawfulError) as caught:
        EventChoice(kinds=("lines",))  # type: ignore[arg-type]
    assert caught.value.slug == "explain-events"


def test_calls_of_c_functions(program: Program) -> None:
    with program(CLASSES, events=["list.append", "list.pop", "Stack.idle"]) as source:
        assert letters(source) == {"list.append", "list.pop", "Stack.idle"}
        assert brute.failing(brute.spelled(source, 2)) == {
            (*["list.append"] * n, "Stack.idle", *["list.pop"] * (n + 1), "error") for n in range(3)
        }
        [failed] = [e for e in source.executions(Bounds(1, 9)) if e.failed and len(e.word) == 3]
        assert failed.places is not None and failed.places[0] is None
        lines = textwrap.dedent(CLASSES).splitlines()
        place = failed.places[1]
        assert place is not None and "self.items.pop()" in lines[place[1] - 1]


def test_calls_found_by_running(program: Program) -> None:
    with program(CLASSES, events=EventChoice(("list.*", "len"), ("calls",))) as source:
        assert letters(source) == {"list.append", "list.pop", "len"}
    with program(CLASSES, events=EventChoice(("Stack.push", "helper", "Stack"), ("calls",))) as source:
        assert {"Stack.push", "helper"} <= letters(source)
        assert ("Stack.push", "helper", "error") in {
            tuple(each for each in word if each != "Stack") for word in brute.failing(brute.spelled(source, 1))
        }


def test_entries_and_calls_of_one_function_are_two_events(program: Program) -> None:
    text = "def step(): pass\ndef main(n: bool):\n    step()\n"
    with program(text, events=EventChoice(("step",), ("entries", "calls"))) as source:
        assert brute.spelled(source, 1) == {(("call step", "step"), False)}


def test_generators_start_once(program: Program) -> None:
    text = """
        def numbers(n):
            for each in range(n):
                yield each
        async def waited():
            pass
        async def both():
            await waited()
            await waited()
        def main(n: int):
            import asyncio
            for _ in numbers(n):
                pass
            asyncio.run(both())
    """
    with program(text) as source:
        assert brute.spelled(source, 3) == {(("numbers", "both", "waited", "waited"), False)}


def test_generators_and_coroutines_as_targets(program: Program) -> None:
    with program(
        "def step(): pass\ndef main(n: int):\n    step()\n    yield n\n    assert n < 1\n    step()\n"
    ) as source:
        assert brute.spelled(source, 1) == {(("step", "step"), False), (("step", "error"), True)}
    with program("def step(): pass\nasync def main(n: int):\n    step()\n    assert n < 1\n    step()\n") as source:
        assert brute.spelled(source, 1) == {(("step", "step"), False), (("step", "error"), True)}


EMITTING = """
    import lawful
    from lawful import emit

    def step(): pass

    def main(n: int):
        emit("begin", n, target=object())
        for each in range(n):
            step()
            lawful.emit("turn", size=each)
        assert n < 2
"""


def test_emitted_events_are_the_letters_if_there_are_some(program: Program) -> None:
    with program(EMITTING) as source:
        assert source.alphabet.labels == ("begin", "turn", "error")
        assert brute.failing(brute.spelled(source, 2)) == {("begin", "turn", "turn", "error")}
        event = source.alphabet.events[0]
        assert event.file == "prog.py"
        assert event.line == 1 + next(n for n, t in enumerate(textwrap.dedent(EMITTING).splitlines()) if "begin" in t)
    with program(EMITTING, events=["turn", "step"]) as source:
        assert brute.failing(brute.spelled(source, 2)) == {("step", "turn", "step", "turn", "error")}


def test_emitted_names_that_are_computed_are_found_by_running(program: Program) -> None:
    text = "import lawful\ndef main(n: int):\n    lawful.emit('even' if n % 2 == 0 else 'odd')\n    assert n < 2\n"
    with program(text) as source:
        assert letters(source) == {"even", "odd"}
        assert brute.failing(brute.spelled(source, 3)) == {("even", "error"), ("odd", "error")}


BRANCHING = """
    def main(n: int):
        if n > 1:
            n -= 1
        while n > 0:
            n -= 1
        for each in range(1):
            pass
        x = "small" if n < 0 else "other"
        try:
            [1][-n]
        except IndexError:
            pass
        match n:
            case 0:
                pass
            case -2:
                pass
        y = [each for each in (1, 2) if each > 1]
        assert n > -2
        return x
"""


def test_branches_are_arms_of_the_source(program: Program) -> None:
    with program(BRANCHING, events=EventChoice(kinds=("branches",), most=99)) as source:
        found = brute.spelled(source, 2)
    rest = ("main:19 else", "main:19 then")
    loop = ("main:7 loop", "main:7 done")
    assert found == {
        (("main:3 then", "main:5 loop", "main:5 done", *loop, "main:9 else", "main:15 case", *rest), False),
        (("main:3 else", "main:5 loop", "main:5 done", *loop, "main:9 else", "main:15 case", *rest), False),
        (("main:3 else", "main:5 done", *loop, "main:9 else", "main:15 case", *rest), False),
        (("main:3 else", "main:5 done", *loop, "main:9 then", "main:12 except", *rest), False),
        (("main:3 else", "main:5 done", *loop, "main:9 then", "main:12 except", "main:17 case", *rest, "error"), True),
    }


def test_a_program_without_functions_is_told_by_its_branches(program: Program) -> None:
    with program("def main(n: int):\n    if n > 0:\n        raise ValueError\n") as source:
        assert brute.spelled(source, 1) == {(("main:2 then", "error"), True), (("main:2 else",), False)}


def test_branches_of_other_own_modules(tmp_path: Path) -> None:
    (tmp_path / "pkg").mkdir()
    (tmp_path / "pkg" / "__init__.py").write_text("")
    (tmp_path / "pkg" / "deep.py").write_text(
        "def positive(n):\n    if n > 0:\n        return True\n    return False\n"
    )
    (tmp_path / "pkg" / "top.py").write_text(
        "from .deep import positive\ndef main(n: int):\n    assert not positive(n)\n"
    )
    with PythonSource("pkg.top:main", folder=tmp_path, events=EventChoice(kinds=("branches", "entries"))) as source:
        assert brute.spelled(source, 1) == {
            (("positive", "positive:2 then", "error"), True),
            (("positive", "positive:2 else"), False),
        }
    with PythonSource("pkg/top.py:main", folder=tmp_path) as source:
        assert brute.failing(brute.spelled(source, 1)) == {("positive", "error")}


def test_of_many_functions_the_nearest_to_the_error_are_chosen(program: Program) -> None:
    far = "\n".join(f"        def far{n}(): {f'far{n + 1}()' if n < 29 else 'pass'}" for n in range(30))
    text = f"""
{far}
        def check(n): assert n < 2
        def near(n): check(n)
        def other(n): near(n)
        def main(n: int):
            far0()
            other(n)
    """
    with program(text, events=EventChoice(most=4)) as source:
        assert letters(source) == {"check", "near", "other", "far0"}
    with program(text) as source:
        assert len(letters(source)) == 12


def test_the_same_name_twice_is_told_apart(tmp_path: Path) -> None:
    (tmp_path / "other.py").write_text("def step(): pass\n")
    (tmp_path / "prog.py").write_text(
        "import other\ndef step(): pass\ndef main(n: bool):\n    step()\n    other.step()\n"
    )
    with PythonSource("prog.py:main", folder=tmp_path) as source:
        assert brute.spelled(source, 1) == {(("prog.step", "other.step"), False)}


def test_own_tracing_of_the_program_goes_on(program: Program) -> None:
    text = """
        import sys
        def step(): pass
        def main(n: bool):
            seen = []
            sys.setprofile(lambda frame, event, arg: seen.append(event))
            step()
            sys.setprofile(None)
            assert "call" in seen
    """
    if sys.version_info >= (3, 12):
        with program(text) as source:
            assert brute.spelled(source, 1) == {(("step",), False)}
    else:
        pytest.skip("a program that traces itself is seen less of on 3.11")
