"""The front of the pytest plugin. It stands outside the package, so that pytest imports Lawful only when asked to."""

from __future__ import annotations

import argparse
import gc
import sys
from decimal import Decimal

import pytest

_BEGUN = pytest.StashKey[bool]()


def _share(text: str) -> float:
    return float(text) if not text.endswith("%") else float(Decimal(text[:-1]) / 100)


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("lawful", "laws that the program must keep while it is tested (Lawful)")
    group.addoption(
        "--lawful",
        action="store_true",
        help="watch the program while its tests run, and report which laws it breaks; "
        "laws and scopes come from [tool.lawful] in pyproject.toml and from the options below, which imply this one",
    )
    group.addoption(
        "--lawful-law",
        action="append",
        default=[],
        metavar="FILE|NAME",
        help="a law that must hold: a file, or the name of one that comes with Lawful (repeatable)",
    )
    group.addoption(
        "--lawful-calls",
        action="append",
        default=[],
        metavar="PKG",
        help="watch the calls that the project's own code makes into this package (repeatable)",
    )
    group.addoption(
        "--lawful-public",
        action="append",
        default=[],
        metavar="PKG",
        help="watch the public functions and methods of this package (repeatable)",
    )
    group.addoption(
        "--lawful-fields",
        action="append",
        default=[],
        metavar="CLASS",
        help="watch the reads and writes of this class's attributes (repeatable)",
    )
    group.addoption("--lawful-trace", metavar="OUT", help="write the events that were seen to this file")
    group.addoption("--lawful-output", metavar="FILE", help="write a report there, too")
    group.addoption(
        "--lawful-format",
        choices=("text", "json", "sarif", "junit", "github", "html"),
        help="the format of that report; by default its name tells: .json, .sarif, .xml, .html; "
        "github alone needs no file, and is shown in the terminal",
    )
    group.addoption("--lawful-baseline", metavar="FILE", help="hide the findings that this file knows")
    group.addoption(
        "--lawful-update-baseline",
        action="store_true",
        help="write all findings into the baseline: from now on they are known",
    )
    group.addoption(
        "--lawful-fail",
        action="store_true",
        help="exit with 1 if something was found, also if all tests passed",
    )
    group.addoption(
        "--lawful-learn",
        action="store_const",
        const=True,
        help="learn rules from what the tests do, and report what breaks them; the default if there is no law",
    )
    group.addoption(
        "--lawful-no-learn",
        action="store_const",
        const=False,
        dest="lawful_learn",
        help="learn nothing",
    )
    group.addoption(
        "--lawful-confidence",
        metavar="SHARE",
        type=_share,
        help="be so sure of laws about objects, as 0.999 or 99.9%%, and follow no more of these than that takes",
    )
    group.addoption(
        "--lawful-error-rate",
        metavar="RATE",
        type=_share,
        help="the share of objects that may break a law, to be excluded",
    )
    group.addoption(
        "--lawful-policy",
        metavar="NAME|FILE",
        help="how many objects are followed, and when: off, taper, taper(8), coverage, or a .policy file",
    )
    group.addoption("--lawful-overhead", metavar="SHARE", help="follow as many objects as this cost allows, as 5%%")
    group.addoption("--lawful-seed", metavar="N", type=int, help="of the coins that decide which objects are followed")
    group.addoption(
        "--lawful-store",
        metavar="FILE",
        help="begin with what this file knows of earlier runs, and add what was counted; only what is new is reported",
    )
    group.addoption("--lawful-known", action="store_true", help="show what earlier runs had, too")


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
    # What is made here stays: to look through it for garbage, again and again, takes as long as to make it.
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
