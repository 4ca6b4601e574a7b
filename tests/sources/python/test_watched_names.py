"""What names stand for, as it changes while a program runs."""

from __future__ import annotations

import random
import sys
from types import CodeType, FunctionType, ModuleType

import pytest

from lawful.laws.rml import compile
from lawful.sources.python.watched_names import WatchedName, WatchedNames

NAMES = [f"shop{module}.{owner}{name}" for module in "ab" for owner in ("", "Till.") for name in ("buy", "sell")]
LAW = f"""
call matches {{event: 'func_pre', name: {" | ".join(repr(name) for name in NAMES)}}};
Main = call >> all;
"""


def functions() -> list[FunctionType]:
    space: dict[str, FunctionType] = {}
    for number in range(3):
        exec(f"def buy(): return {number}", space)
        space[f"buy{number}"] = space["buy"]
        exec(f"def other(): return {number}", space)
        space[f"other{number}"] = space["other"]
    return [space[f"{name}{number}"] for name in ("buy", "other") for number in range(3)]


@pytest.mark.parametrize("seed", range(20))
def test_functions_are_found_under_whatever_name_they_have_now(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    chance = random.Random(seed)
    watched = WatchedNames([compile(LAW)], None)
    known = functions()
    for _ in range(60):
        module = chance.choice(("shopa", "shopb"))
        if module not in sys.modules or chance.random() < 0.05:
            fresh = ModuleType(module)
            fresh.Till = type("Till", (), {"__module__": module})  # type: ignore[attr-defined]
            if chance.random() < 0.5:
                monkeypatch.setitem(sys.modules, module, fresh)
        else:
            owner = chance.choice((sys.modules[module], sys.modules[module].Till))
            name = chance.choice(("buy", "sell"))
            if chance.random() < 0.7:
                setattr(owner, name, chance.choice(known))
            elif name in vars(owner):
                delattr(owner, name)
        watched.refresh()
        for function in known:
            code = function.__code__
            assert watched.functions_of(code) == expected(watched, code)
            assert watched.is_named(code) == any(each.has(code) for each in watched.by_name.values())


def expected(watched: WatchedNames, code: CodeType) -> list[WatchedName]:
    """One after the other, as slow as it is plain."""
    return [each for each in watched.functions if each.last == code.co_name or each.has(code)]
