"""What names stand for: found at once again as long as nothing on the way has changed, and anew when it has."""

from __future__ import annotations

import builtins
import gc
import random
import sys
from collections.abc import Iterator
from types import ModuleType
from typing import Any

import pytest

from lawful import core
from lawful.sources.python.name_resolution import ResolvedName, ResolvedNames, resolve

MODULES = ("shopa", "shopa.sub", "shopb")
OWNERS = ("", "Till.", "Till.Drawer.", "Safe.")
NAMES = [f"{module}.{owner}{last}" for module in MODULES for owner in OWNERS for last in ("buy", "Till", "Safe")]
NAMES += ["buy", "Till.buy", "script.buy", "script.Till.buy", "list.append", "no.such.thing"]


@pytest.fixture(params=["native", "python"])
def core_used(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    if request.param == "native" and core.native_tracer is None:
        pytest.skip("no C core")
    if request.param == "python":
        monkeypatch.setattr(core, "native_tracer", None)
    return str(request.param)


@pytest.fixture
def clean_builtins() -> Iterator[None]:
    yield
    for name in ("buy", "Till"):
        vars(builtins).pop(name, None)


@pytest.mark.usefixtures("clean_builtins")
@pytest.mark.parametrize("seed", range(25))
def test_it_is_what_looking_anew_finds(seed: int, core_used: str, monkeypatch: pytest.MonkeyPatch) -> None:
    chance = random.Random(seed)
    monkeypatch.setitem(sys.modules, "__main__", ModuleType("__main__"))
    for name in MODULES:
        monkeypatch.setitem(sys.modules, name, ModuleType(name))
    resolved = ResolvedNames("script")
    for name in NAMES:
        resolved.add(ResolvedName(name))
    seen = entries(resolved)
    for _ in range(150):
        change(chance, monkeypatch)
        before, after = resolved.changes, resolved.refresh()
        assert {name: resolved.names[name].resolution for name in NAMES} == {
            name: resolve(name, "script") for name in NAMES
        }
        now = entries(resolved)
        assert (after != before) == any(now[name] is not seen[name] for name in NAMES)
        seen = now


def entries(resolved: ResolvedNames) -> dict[str, object]:
    places = {name: resolved.names[name].resolution for name in NAMES}
    return {name: place and place.entry for name, place in places.items()}


def change(chance: random.Random, monkeypatch: pytest.MonkeyPatch) -> None:
    """Something that programs do to their modules and classes."""
    name = chance.choice((*MODULES, "__main__"))
    if chance.random() < 0.1:
        monkeypatch.setitem(sys.modules, name, chance.choice((ModuleType(name), None, 3)))
        return
    if chance.random() < 0.05:
        monkeypatch.delitem(sys.modules, name, raising=False)
        return
    holder: Any = chance.choice((sys.modules.get(name), builtins))
    if not isinstance(holder, ModuleType):
        return
    while isinstance(inner := vars(holder).get(chance.choice(("Till", "Safe", "Drawer"))), type):
        holder = inner
        if chance.random() < 0.3:
            break
    if isinstance(holder, type) and chance.random() < 0.2 and issubclass(holder, Base):
        holder.__bases__ = chance.choice(((Base,), (Other, Base), (Base, Third)))
        return
    last = chance.choice(("buy", "Till", "Safe", "Drawer"))
    if chance.random() < 0.25:
        if last in vars(holder):
            delattr(holder, last)
    elif not (holder is builtins and last not in ("buy", "Till")):
        setattr(holder, last, chance.choice((type("Till", (Base,), {}), lambda: None, 3)))


class Base:
    pass


class Other:
    def buy(self) -> None: ...


class Third(Other):
    class Drawer:
        pass


def test_a_name_is_looked_up_again_only_when_something_on_its_way_changed(
    core_used: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    looked: list[str] = []

    def follow(name: str, *rest: Any) -> object:
        looked.append(name)
        return real(name, *rest)

    real: Any = sys.modules[ResolvedNames.__module__].resolve_with_steps
    monkeypatch.setattr(sys.modules[ResolvedNames.__module__], "resolve_with_steps", follow)
    for name in MODULES:
        monkeypatch.setitem(sys.modules, name, ModuleType(name))
    resolved = ResolvedNames(None)
    for name in ("shopa.buy", "shopa.Till.buy", "shopb.buy", "shopc.buy"):
        resolved.add(ResolvedName(name))
    resolved.refresh()
    looked.clear()
    resolved.refresh()
    assert looked == []
    vars(sys.modules["shopa"])["buy"] = lambda: None
    resolved.refresh()
    assert looked == ["shopa.buy"]
    looked.clear()
    monkeypatch.setitem(sys.modules, "shopc", ModuleType("shopc"))
    resolved.refresh()
    assert looked == ["shopc.buy"]


def test_a_class_that_changes_very_often(core_used: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The interpreter has a limited number of versions for a class."""
    module = ModuleType("shopa")
    monkeypatch.setitem(sys.modules, "shopa", module)
    kind: Any = type("Till", (), {})
    vars(module)["Till"] = kind
    resolved = ResolvedNames(None)
    resolved.add(ResolvedName("shopa.Till.buy"))
    for number in range(3000):
        kind.buy = function = eval(f"lambda: {number}")
        resolved.refresh()
        place = resolved.names["shopa.Till.buy"].resolution
        assert place is not None
        assert place.entry is function


def test_one_goes_on_when_another_with_the_same_modules_is_gone(
    core_used: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    module = ModuleType("shopa")
    monkeypatch.setitem(sys.modules, "shopa", module)
    first, second = ResolvedNames(None), ResolvedNames(None)
    for each in (first, second):
        each.add(ResolvedName("shopa.buy"))
        each.refresh()
    del first, each
    gc.collect()
    vars(module)["buy"] = 3
    before = second.changes
    assert second.refresh() != before
    vars(module)["other"] = 4
    assert second.refresh() == before + 1
