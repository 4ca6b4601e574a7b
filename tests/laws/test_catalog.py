"""The catalogue: its laws are complete, compile without a warning, and are found by name, area and profile."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

import lawful
from lawful.errors import LawError
from lawful.laws import catalog

NAMES = catalog.names()

HEADER = {
    "title": "A closed door is not opened",
    "rule": "It raises DoorError.",
    "docs": "library/doors.html#doors.Door.close",
    "fix": "Open it before.",
    "severity": "error",
    "cost": "low",
    "profile": "std",
}


def described(**changes: str | None) -> catalog.CatalogLaw:
    facts = {key: value for key, value in (HEADER | changes).items() if value is not None}
    text = "".join(f"// {key}: {value}\n" for key, value in facts.items()) + "\n// note: not a fact\nMain = all;\n"
    return catalog.describe(text, name="doors/closed", path=Path("doors/closed.rml"))


def test_a_header_is_read() -> None:
    law = described()
    assert {key: getattr(law, key) for key in HEADER} == HEADER
    assert law.area == "doors"
    assert law.url == "https://docs.python.org/3/library/doors.html#doors.Door.close"
    assert (law.keeps, law.breaks) == (Path("doors/closed.keeps.py"), Path("doors/closed.breaks.py"))


@pytest.mark.parametrize(
    ("changes", "where", "message", "hint"),
    [
        ({"title": None}, "doors/closed.rml", "the law does not say its title", "opens with lines like"),
        ({"fix": None, "cost": None}, "doors/closed.rml", "the law does not say its fix, cost", "opens with"),
        ({"rule": ""}, "doors/closed.rml:2", "`rule` cannot be nothing", None),
        ({"severity": "fatal"}, "doors/closed.rml:5", "`severity` cannot be `fatal`", "it is warning or error"),
        ({"profile": ""}, "doors/closed.rml:7", "`profile` cannot be nothing", "it is std or strict"),
        ({"titel": "x"}, "doors/closed.rml:8", "a law has no `titel`", "did you mean title?"),
    ],
)
def test_a_bad_header_is_refused(changes: dict[str, str | None], where: str, message: str, hint: str | None) -> None:
    with pytest.raises(LawError) as caught:
        described(**changes)
    error = caught.value
    assert (error.slug, error.where, error.message) == ("law-header", where, message)
    assert error.hint is None if hint is None else error.hint is not None and hint in error.hint


def test_a_fact_stands_once() -> None:
    text = "// title: a\n//title : b\n"
    with pytest.raises(LawError, match=r"law\.rml:2: `title` is given twice"):
        catalog.describe(text, name="a/law", path=Path("law.rml"))


@pytest.mark.parametrize("name", NAMES)
def test_a_law_is_complete(name: str) -> None:
    law = catalog.load(name)
    assert law.path == catalog.find(name)
    assert lawful.load_law(law.path).warnings == ()
    # Titles are headlines; what and why are sentences.
    assert not law.title.endswith(".")
    assert law.rule.endswith(".")
    assert law.fix.endswith(".")
    assert re.fullmatch(r"((library|reference|tutorial|howto)/)?[\w.-]+\.html#[\w.-]+", law.docs)
    for program in (law.keeps, law.breaks):
        assert ast.get_docstring(ast.parse(program.read_text(encoding="utf-8")))


@pytest.mark.parametrize("name", NAMES)
def test_a_law_names_what_it_watches(name: str) -> None:
    # Otherwise the whole program would have to be watched for it. Only the end of any object may concern it.
    watches = lawful.load_law(catalog.find(name)).watches
    assert watches is not None
    named = [dict(watch.keys) for watch in watches if watch.keys]
    assert all(keys.get("name") or keys["event"] == ("gone",) for keys in named)


def test_nothing_else_lies_in_the_catalogue() -> None:
    laws = [catalog.load(name) for name in NAMES]
    expected = {path for law in laws for path in (law.path, law.keeps, law.breaks)}
    found = {path for path in catalog.ROOT.glob("*/*") if path.parent.name != "__pycache__"}
    assert {path for path in found if path.name != "__pycache__"} == expected


def test_all_files_are_found() -> None:
    expected = sorted(catalog.ROOT.glob("*/*.rml"))
    assert [catalog.find(name) for name in catalog.names()] == expected


def test_titles_differ() -> None:
    titles = [catalog.load(name).title for name in NAMES]
    assert len(set(titles)) == len(titles)


def test_groups() -> None:
    groups = catalog.groups()
    assert groups["strict"] == NAMES
    assert groups["std"] == [name for name in NAMES if catalog.load(name).profile == "std"]
    assert "files/left-open" not in groups["std"]
    areas = [name for area, members in groups.items() if area not in catalog.PROFILES for name in members]
    assert areas == NAMES
    assert groups["threads"] == [name for name in NAMES if name.startswith("threads/")]


def test_select() -> None:
    assert catalog.select("files/left-open") == ["files/left-open"]
    assert catalog.select("files") == [name for name in NAMES if name.startswith("files/")]
    assert catalog.select("std") == catalog.groups()["std"]


@pytest.mark.parametrize(
    ("name", "hint"),
    [
        ("files/use-after-closed", "did you mean files/use-after-close?"),
        ("../rml/law", "`std`, `strict` and the areas are in docs/catalog.md"),
    ],
)
def test_a_name_that_is_unknown(name: str, hint: str) -> None:
    with pytest.raises(LawError) as caught:
        catalog.find(name)
    assert (caught.value.slug, caught.value.where, caught.value.hint) == ("law-not-found", name, hint)


def test_a_group_that_is_unknown() -> None:
    with pytest.raises(LawError) as caught:
        catalog.select("lock")
    assert caught.value.hint == "did you mean locks?"


def test_the_page_lists_every_law() -> None:
    page = (Path(__file__).parents[2] / "docs" / "catalog.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| \[`([\w/-]+)`\]\(\S+\) \| (.+?) \| (\w+) \| (\w+) \| (\w+) \|$", page, re.MULTILINE)
    laws = [catalog.load(name) for name in NAMES]
    assert rows == [(law.name, law.title, law.severity, law.cost, law.profile) for law in laws]


@pytest.mark.parametrize(("what", "kept"), [(["close"], True), ([], True), (["__del__", "close"], False)])
def test_a_writer_that_dies_unseen_is_not_left_open(what: list[str], kept: bool) -> None:
    """The collector may come by while Lawful is at work: then `__del__` is not seen, and the end is."""
    name = "asyncio.streams.StreamWriter"
    made = {"event": "func_post", "name": f"{name}.__init__", "targetId": 1}
    calls = [{"event": "func_pre", "name": f"{name}.{each}", "targetId": 1} for each in what]
    law = lawful.load_law(catalog.load("asyncio/writer-left-open").path)
    assert law.check([made, *calls, {"event": "gone", "targetId": 1}]).accepted is kept
