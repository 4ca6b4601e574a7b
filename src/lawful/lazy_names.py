"""Packages that import their public names when somebody first uses them."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from importlib import import_module


def lazy_names(
    package: str, homes: Mapping[str, str]
) -> tuple[Callable[[str], object], Callable[[], list[str]], list[str]]:
    """The functions `__getattr__` and `__dir__` of a package, and the names for its `__all__`.

    `homes` says for each module which names stand in it, separated by spaces; a name may be a submodule.
    """
    home_of = {name: home for home, names in homes.items() for name in names.split()}
    namespace = vars(sys.modules[package])

    def getattribute(name: str) -> object:
        if name not in home_of:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        home = vars(import_module(home_of[name]))
        value = home[name] if name in home else import_module(f"{home_of[name]}.{name}")
        namespace[name] = value
        return value

    return getattribute, lambda: sorted({*namespace, *home_of}), sorted(home_of)
