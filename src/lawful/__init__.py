"""Lawful watches programs run and checks what they do against laws."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from lawful.errors import LawError, LawfulError, TraceError
    from lawful.laws import rml
    from lawful.laws.loader import load_law
    from lawful.laws.protocol import Law, Monitor, Outcome, Verdict

__version__ = "0.1.0"

__all__ = [
    "Law",
    "LawError",
    "LawfulError",
    "Monitor",
    "Outcome",
    "TraceError",
    "Verdict",
    "__version__",
    "load_law",
    "rml",
]

# Where each public name lives. It is imported when it is first used: a program that only wants one of them, and every
# command of the command line, starts without the rest.
_HOMES = {
    "Law": "lawful.laws.protocol",
    "LawError": "lawful.errors",
    "LawfulError": "lawful.errors",
    "Monitor": "lawful.laws.protocol",
    "Outcome": "lawful.laws.protocol",
    "TraceError": "lawful.errors",
    "Verdict": "lawful.laws.protocol",
    "load_law": "lawful.laws.loader",
    "rml": "lawful.laws",
}


def __getattr__(name: str) -> object:
    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    value = import_module(f"{home}.{name}") if name == "rml" else getattr(import_module(home), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
