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
        "watch the program while its tests run, and report which laws it breaks; "
        "laws and scopes come from [tool.lawful] in pyproject.toml and from the options below, which imply this one",
    )
    several("law", "FILE|NAME", "a law that must hold: a file, or the name of one that comes with Lawful")
    several("calls", "PKG", "watch the calls that the project's own code makes into this package")
    several("public", "PKG", "watch the public functions and methods of this package")
    several("fields", "CLASS", "watch the reads and writes of this class's attributes")
    value("trace", "OUT", "write the events that were seen to this file")
    value("output", "FILE", "write a report there, too")
    group.addoption(
        "--lawful-format",
        choices=("text", "json", "sarif", "junit", "github", "html"),
        help="the format of that report; by default its name tells: .json, .sarif, .xml, .html; "
        "github alone needs no file, and is shown in the terminal",
    )
    value("baseline", "FILE", "hide the findings that this file knows")
    flag("-update-baseline", "write all findings into the baseline: from now on they are known")
    flag("-fail", "exit with 1 if something was found, also if all tests passed")
    learn = "learn rules from what the tests do, and report what breaks them; the default if there is no law"
    group.addoption("--lawful-learn", action="store_const", const=True, help=learn)
    group.addoption("--lawful-no-learn", action="store_const", const=False, dest="lawful_learn", help="learn nothing")
    value(
        "confidence",
        "SHARE",
        "be so sure of laws about objects, as 0.999 or 99.9%%, and follow no more of these than that takes",
        _share,
    )
    value("error-rate", "RATE", "the share of objects that may break a law, to be excluded", _share)
    value(
        "policy",
        "NAME|FILE",
        "how many objects are followed, and when: off, taper, taper(8), coverage, or a .policy file",
    )
    value("overhead", "SHARE", "follow as many objects as this cost allows, as 5%%")
    value("seed", "N", "of the coins that decide which objects are followed", int)
    value(
        "store",
        "FILE",
        "begin with what this file knows of earlier runs, and add what was counted; only what is new is reported",
    )
    flag("-known", "show what earlier runs had, too")


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
