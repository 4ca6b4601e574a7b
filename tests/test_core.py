"""Which core is chosen, and what is said when the C core is refused."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from types import ModuleType

import pytest

from lawful import core
from lawful.errors import LawfulError


def module(**attributes: object) -> ModuleType:
    made = ModuleType("lawful._native._core")
    made.__dict__.update(attributes)
    return made


def raising(error: Exception) -> Callable[[], ModuleType]:
    def load() -> ModuleType:
        raise error

    return load


GOOD = module(abi=lambda: core.ABI)
NOT_BUILT = raising(ModuleNotFoundError("No module named 'lawful._native._core'", name="lawful._native._core"))


@pytest.mark.parametrize("wanted", ["", "native"])
def test_the_native_core_is_taken_where_it_fits(wanted: str) -> None:
    assert core.choose(wanted, lambda: GOOD) == (GOOD, None)


@pytest.mark.parametrize(
    ("load", "refusal"),
    [
        (NOT_BUILT, "not built"),
        (raising(ModuleNotFoundError("No module named 'other'", name="other")), "No module named 'other'"),
        (raising(ImportError("undefined symbol:\n  f")), "undefined symbol: f"),
        (lambda: module(abi=lambda: core.ABI + 1), "built for another version; run make venv"),
        (lambda: module(), "built for another version; run make venv"),
    ],
)
def test_a_refusal_says_why(load: Callable[[], ModuleType], refusal: str) -> None:
    assert core.choose("", load) == (None, refusal)
    with pytest.raises(LawfulError, match="asks for the C core") as caught:
        core.choose("native", load)
    assert caught.value.slug == "core-missing"
    assert refusal in caught.value.message


def test_the_python_core_can_be_asked_for() -> None:
    assert core.choose("python", lambda: GOOD) == (None, "LAWFUL_CORE=python")


def test_an_unknown_core_is_refused() -> None:
    with pytest.raises(LawfulError) as caught:
        core.choose("rust", lambda: GOOD)
    assert caught.value.slug == "core-unknown"


def test_the_choice_of_this_run_is_described() -> None:
    assert core.NATIVE is (core.native is not None)
    assert core.describe() == ("with C core" if core.NATIVE else f"without C core: {core.refusal}")


def test_the_environment_decides() -> None:
    done = subprocess.run(
        [sys.executable, "-c", "from lawful import core; print(core.NATIVE, core.describe())"],
        env=os.environ | {"LAWFUL_CORE": "python"},
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout == "False without C core: LAWFUL_CORE=python\n"
