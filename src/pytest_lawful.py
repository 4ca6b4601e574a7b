"""The options of the pytest plugin, outside the package, so that pytest imports Lawful only when asked to."""

from __future__ import annotations

import argparse
import gc
import sys
from collections.abc import Callable
from decimal import Decimal

import pytest

_BEGUN = pytest.StashKey[bool]()


def _share(text: str) -> float:
    return float(text) if not text.endswith("%") else float(Decimal(text[:-1]) / 100)


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("lawful", "laws that the program must keep while it is tested (Lawful)")

    def flag(name: str, text: str) -> None:
        group.addoption(f"--lawful{name}", action="store_true", help=text)

    def several(name: str, metavar: str, text: str) -> None:
        text = f"{text} (repeatable)"
        group.addoption(f"--lawful-{name}", action="append", default=[], metavar=metavar, help=text)

    def value(name: str, metavar: str, text: str, kind: Callable[[str], object] = str) -> None:
        group.addoption(f"--lawful-{name}", metavar=metavar, type=kind, help=text)

    flag(
        "",
        "Watch the program while its tests run, and report which laws it breaks. Laws and scopes come from "
        "[tool.lawful] in pyproject.toml and from the options below, which imply this one.",
    )
    several("law", "FILE|NAME", "Check this law: a file, or a name in the catalogue, such as std.")
    several("calls", "PKG", "Watch the calls that the project's own code makes into this package.")
    several("public", "PKG", "Watch the public functions and methods of this package.")
    value("trace", "OUT", "Write all events to this file.")
    value("output", "FILE", "Write a report to this file, besides the one in the terminal.")
    group.addoption(
        "--lawful-format",
        choices=("text", "json", "sarif", "junit", "github", "html"),
        help="Choose the format of that report. By default its name says: .json, .sarif, .xml, .html. "
        "github needs no file: pytest prints it.",
    )
    value("baseline", "FILE", "Hide the known findings that this file lists.")
    flag("-update-baseline", "Write all findings into the baseline; from now on they are known.")
    flag("-fail", "Exit with 1 if Lawful finds something, also if all tests pass.")
    learn = "Learn rules from what the tests do, and report what breaks them: the default if there is no law."
    group.addoption("--lawful-learn", action="store_const", const=True, help=learn)
    group.addoption("--lawful-no-learn", action="store_const", const=False, dest="lawful_learn", help="Learn no rules.")
    value("store", "FILE", "Keep the counts of all runs in FILE, start with them, and report only what is new.")
    value(
        "confidence", "SHARE", "Sample objects until Lawful is this sure of laws about them: 0.999 or 99.9%%.", _share
    )
    value("error-rate", "RATE", "Rule out a larger share of violating objects than this.", _share)
    several("set", "KEY=VALUE", "Set KEY of [tool.lawful] for this run, as learn.window=50.")


# The program's modules may be imported by a conftest.py: the watch begins before the first of them.
@pytest.hookimpl(tryfirst=True)
def pytest_load_initial_conftests(early_config: pytest.Config) -> None:
    _begin(early_config, early_config.known_args_namespace)


@pytest.hookimpl(tryfirst=True)
def pytest_configure(config: pytest.Config) -> None:
    _begin(config, config.option)  # only now, if a conftest.py named this plugin


def _begin(config: pytest.Config, options: argparse.Namespace) -> None:
    asked = any(value for name, value in vars(options).items() if name == "lawful" or name.startswith("lawful_"))
    if not asked or _BEGUN in config.stash:
        return
    config.stash[_BEGUN] = True
    _skip_assertion_rewriting()
    # All objects made here stay: collecting garbage among them would take as long as making them.
    collecting = gc.isenabled()
    gc.disable()
    try:
        from lawful.testing.plugin import begin

        begin(config, options)
    finally:
        if collecting:
            gc.enable()


def _skip_assertion_rewriting() -> None:
    """Let pytest leave Lawful's own assertions as they are.

    It would rewrite each module of a plugin's distribution, and do so in every session where no bytecode is written:
    that takes longer than everything else before the first test. There is no option for it; if pytest keeps its list
    in another way one day, it is slow again and nothing else.
    """
    for finder in sys.meta_path:
        names, known = (getattr(finder, name, None) for name in ("_must_rewrite", "_marked_for_rewrite_cache"))
        if isinstance(names, set) and isinstance(known, dict):
            names.discard("lawful")
            known.clear()
