"""Invariants from TOML and from Python, and what is said when they are wrong."""

from __future__ import annotations

import pickle
from pathlib import Path
from typing import Any

import pytest

import lawful
from lawful import LawError, invariants, load_law
from lawful.diagnostics import LawSourceError
from lawful.laws.invariants import invariant

FILE = """
# A file of three.
[[invariant]]
class = "vfs.Dentry"
always = "o.rc >= 0"

[[invariant]]
name = "steps"
class = "vfs.Dentry"
next = "abs(new.rc - old.rc) <= 1"

[[invariant]]
use = "closed"
class = "vfs.File"
within = "2s"
every = "100ms"
"""


def write(number: int, value: object, name: str = "vfs.Dentry.rc") -> dict[str, object]:
    return {"event": "field_write", "name": name, "targetId": number, "res": value}


def failure(text: str) -> LawError:
    with pytest.raises(LawError) as caught:
        invariants.compile(text, name="x.toml")
    return caught.value


# -- what is right -----------------------------------------------------------------------------------------------------


def test_a_file_of_invariants_is_a_law_of_parts(tmp_path: Path) -> None:
    path = tmp_path / "vfs.toml"
    path.write_text(FILE, encoding="utf-8")
    law = load_law(path, name="vfs.toml")
    assert isinstance(law, lawful.Law)
    assert isinstance(law.monitor(), lawful.Monitor)
    assert [part.name for part in law.parts] == [
        "vfs.toml: vfs.Dentry o.rc >= 0",
        "vfs.toml: steps",
        "vfs.toml: vfs.File is closed in time",
    ]
    assert law.source == FILE
    assert not law.warnings
    assert law.check([write(1, 0), write(1, 1)]).accepted
    assert law.check([write(1, 0), write(1, 2), write(1, -1)]).rejected_at == 2
    assert law.check([write(1, 0), write(1, -1)]).rejected_at == 2
    assert [part.check([write(1, 0), write(1, 2)]).accepted for part in law.parts] == [True, False, True]
    assert [list(part.parts) for part in law.parts] == [[part] for part in law.parts]


def test_one_invariant_is_one_law() -> None:
    law = invariants.compile('[[invariant]]\nclass = "a.B"\nalways = "o.x > 0"\n', name="x.toml")
    assert law.parts == (law,)
    named = invariants.compile('[[invariant]]\nname = "N"\nclass = "a.B"\nalways = "o.x > 0"\n', name="x.toml")
    assert [part.name for part in named.parts] == ["x.toml: N"]


def test_parts_of_the_same_name_are_told_apart() -> None:
    text = '[[invariant]]\nclass = "a.B"\nalways = "o.x > 0"\n'
    law = invariants.compile(text * 3, name="x")
    assert [part.name for part in law.parts] == ["x: a.B o.x > 0", "x: a.B o.x > 0 (2)", "x: a.B o.x > 0 (3)"]


def test_python_says_the_same_as_toml() -> None:
    law = invariant(
        "vfs.Dentry",
        when="new.rc != old.rc",
        then="new.rc < old.rc",
        within="2s",
        every=0.1,
        from_="o.rc > 0",
        until="o.rc == 0",
        name="a 'leak' \"here\" \\ \n",
    )
    assert law.name == "a 'leak' \"here\" \\ \n"
    again = invariants.compile(law.source)
    assert [rule.given for rule in again.rules] == [rule.given for rule in law.rules]


def test_several_at_once() -> None:
    law = invariant(
        "vfs.Dentry", always="o.rc >= 0", next="new.rc <= old.rc + 1", when="created()", then="gone()", within=1
    )
    assert law.name == "vfs.Dentry"
    assert [part.name for part in law.parts] == [
        "vfs.Dentry: vfs.Dentry o.rc >= 0",
        "vfs.Dentry: vfs.Dentry new.rc <= old.rc + 1",
        "vfs.Dentry: vfs.Dentry created() => gone()",
    ]


class Local:
    pass


def test_a_class_can_be_given_itself() -> None:
    law = invariant(Local, always="o.x > 0")
    assert law.subjects.classes == (f"{__name__}.Local",)
    assert invariant(list, always="called('append') or o.x").subjects.classes == ("list",)


def test_a_law_can_be_pickled() -> None:
    law = invariants.compile(FILE, name="vfs.toml")
    again = pickle.loads(pickle.dumps(law))
    assert (again.name, again.source) == (law.name, law.source)
    assert [rule.given for rule in again.rules] == [rule.given for rule in law.rules]
    assert [rule.places for rule in again.rules] == [rule.places for rule in law.rules]
    part = pickle.loads(pickle.dumps(law.parts[1]))
    assert part.parts == (part,)
    assert part.name == "vfs.toml: steps"


def test_what_is_watched() -> None:
    law = invariant(
        "a.B", when="returned('take') and res is not None", then="o.out > args[0] and called('give')", within=3
    )
    found = [dict(watch.keys) for watch in law.watches]
    assert {"event": ("field_write",), "name": ("a.B.out",), "targetId": None, "res": None} in found
    assert {"event": ("func_pre",), "name": ("a.B.give",), "targetId": None, "args": None} in found
    assert {"event": ("func_post",), "name": ("a.B.take",), "targetId": None, "resultId": None} in found
    assert {"event": ("new",), "name": ("a.B",), "targetId": None} in found
    assert {"event": ("gone",), "targetId": None} in found
    assert {"event": ("tick",), "time": None} in found
    assert (law.every, law.selective) == (0.3, False)
    state = invariant("a.B", always="o.out >= 0")
    assert (state.every, state.selective) == (None, True)
    assert not any("tick" in (dict(watch.keys)["event"] or ()) for watch in state.watches)


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ("2s", 2.0),
        ("100ms", 0.1),
        ("1.5 min", 90.0),
        (" 3 ", 3.0),
        (0.25, 0.25),
        (7, 7.0),
        ("2h", 7200.0),
        ("50us", 5e-5),
    ],
)
def test_times(given: Any, expected: float) -> None:
    law = invariant("a.B", when="created()", then="called('c')", within=given)
    assert law.rules[0].within == pytest.approx(expected)


@pytest.mark.parametrize(
    "given", ["", "s", "-1s", "0", 0, -3, True, None, [], "1 2", "2 sek", float("nan"), float("inf"), 10**400]
)
def test_what_is_no_time(given: Any) -> None:
    with pytest.raises(LawSourceError) as caught:
        invariant("a.B", when="created()", then="called('c')", within=given)
    expected = "invariant-key" if given is None else "invariant-duration"
    assert [each.slug for each in caught.value.diagnostics] == [expected]


# -- what is wrong -----------------------------------------------------------------------------------------------------

HEAD = '[[invariant]]\nclass = "a.B"\n'
BAD = [
    ("", "invariant-none", "x.toml:1:1"),
    ("# nothing\n", "invariant-none", "x.toml:1:1"),
    ("invariant = 3\n", "invariant-none", "x.toml:1:1"),
    ("invariant = []\n", "invariant-none", "x.toml:1:1"),
    ("[invariant]\nclass = 'a.B'\n", "invariant-key", "x.toml:1:2"),
    ("[[invarient]]\nclass = 'a.B'\n", "invariant-key", "x.toml:1:3"),
    ("[project]\nname = 'x'\n", "invariant-key", "x.toml:1:2"),
    ("[[invariant]\n", "invariant-toml", "x.toml:1:12"),
    ("x = \n", "invariant-toml", "x.toml:1:5"),
    ('x = "a', "invariant-toml", "x.toml:1:7"),
    ("x = " + "[" * 5000, "invariant-toml", "x.toml:1:1"),
    ("[[invariant]]\nalways = 'o.x'\n", "invariant-class", "x.toml:1:1"),
    ("[[invariant]]\nclass = 3\nalways = 'o.x'\n", "invariant-class", "x.toml:2:9"),
    ("[[invariant]]\nclass = 'a b'\nalways = 'o.x'\n", "invariant-class", "x.toml:2:9"),
    (HEAD, "invariant-key", "x.toml:2:9"),
    (HEAD + "alway = 'o.x'\n", "invariant-key", "x.toml:3:1"),
    (HEAD + "name = 3\nalways = 'o.x'\n", "invariant-key", "x.toml:3:8"),
    (HEAD + "always = 3\n", "invariant-key", "x.toml:3:10"),
    (HEAD + "always = 'o.x'\nnext = 'new.x > old.x'\n", "invariant-key", "x.toml:4:8"),
    (HEAD + "when = 'o.x'\n", "invariant-key", "x.toml:3:8"),
    (HEAD + "then = 'o.x'\n", "invariant-key", "x.toml:3:8"),
    (HEAD + "when = 'o.x'\nthen = 'o.y'\n", "invariant-key", "x.toml:4:8"),
    (HEAD + "within = '2s'\n", "invariant-key", "x.toml:3:10"),
    (HEAD + "always = 'o.x'\nevery = '2s'\n", "invariant-key", "x.toml:4:9"),
    (HEAD + "when = 'o.x'\nthen = 'o.y'\nwithin = '2s'\non = 'created()'\n", "invariant-key", "x.toml:6:6"),
    (HEAD + "when = 'o.x'\nthen = 'o.y'\nwithin = '2 sek'\n", "invariant-duration", "x.toml:5:10"),
    (HEAD + "when = 'o.x'\nthen = 'o.y'\nwithin = '1s'\nevery = '2s'\n", "invariant-duration", "x.toml:6:9"),
    (HEAD + "when = 'o.x'\nthen = 'o.y'\nwithin = true\n", "invariant-duration", "x.toml:5:10"),
    (HEAD + "always = 'ob.x > 0'\n", "invariant-unknown-name", "x.toml:3:11"),
    (HEAD + 'always = "o.x > 0 and ob.x"\n', "invariant-unknown-name", "x.toml:3:23"),
    (HEAD + 'always = "o.x != \\"\\" and ob.x"\n', "invariant-unknown-name", "x.toml:3:10"),
    (HEAD + "always = '''\no.x > 0\n  and ob.x'''\n", "invariant-unknown-name", "x.toml:5:7"),
    (HEAD + "always = 'old.x > 0'\n", "invariant-place", "x.toml:3:10"),
    (HEAD + "next = 'new.x > 0'\n", "invariant-place", "x.toml:3:8"),
    (HEAD + "always = 'o.x'\non = 'o.y'\n", "invariant-place", "x.toml:4:6"),
    (HEAD + "always = 'o.x > args[0]'\n", "invariant-place", "x.toml:3:17"),
    (HEAD + "always = 'res > 1'\n", "invariant-place", "x.toml:3:11"),
    (HEAD + "when = 'args[0] > 1'\nthen = 'o.x > 1'\nwithin = 1\n", "invariant-place", "x.toml:3:9"),
    (HEAD + "always = 'o.x > res'\non = \"called('f')\"\n", "invariant-place", "x.toml:3:17"),
    ("[[invariant]]\nuse = 'clsed'\n", "invariant-unknown-kind", "x.toml:2:7"),
    ("[[invariant]]\nuse = 3\n", "invariant-unknown-kind", "x.toml:2:7"),
    ("[[invariant]]\nuse = 'closed'\nclass = 'a.B'\n", "invariant-key", "x.toml:2:7"),
    ("[[invariant]]\nuse = 'closed'\nwithin = '2s'\n", "invariant-key", "x.toml:2:7"),
    ("[[invariant]]\nuse = 'reference-count'\nclass = 'a.B'\nfield = 'a b'\n", "invariant-key", "x.toml:4:9"),
    ("[[invariant]]\nuse = 'closed'\nclass = 'a.B'\nwithin = 1\nby = []\n", "invariant-key", "x.toml:5:6"),
    ("[[invariant]]\nuse = 'closed'\nclass = 'a.B'\nwithin = 1\nby = ['a b']\n", "invariant-key", "x.toml:5:6"),
    ("[[invariant]]\nuse = 'open-handles'\nclass = 'a.B'\nfield = 'n'\nmost = true\n", "invariant-key", "x.toml:5:8"),
    ("[[invariant]]\nuse = 'closed'\nclass = 'a.B'\nwithin = 1\nfield = 'x'\n", "invariant-key", "x.toml:5:1"),
    ("[[invariant]]\nuse = 'closed'\nclass = 'a.B'\nwithin = 'soon'\n", "invariant-duration", "x.toml:4:10"),
    ("invariant = [{class = 'a.B', always = 'x'}]\n", "invariant-unknown-name", "x.toml:1:1"),
]


@pytest.mark.parametrize(("text", "slug", "where"), BAD)
def test_bad_input_has_a_slug_and_a_place(text: str, slug: str, where: str) -> None:
    error = failure(text)
    assert (error.slug, error.where) == (slug, where)
    assert slug in error.render()


def test_all_errors_are_told_in_their_order() -> None:
    error = failure(HEAD + "always = 'x'\n" + HEAD + "alway = 'x'\n" + HEAD + "always = 'y'\n")
    shown = error.render()
    assert shown.count("error[") == 3
    assert shown.index(":3:11") < shown.index(":6:1") < shown.index(":9:11")


@pytest.mark.parametrize(
    ("text", "hint"),
    [
        (HEAD + "alway = 'o.x'\n", "did you mean `always`?"),
        ("[[invariant]]\nuse = 'clsed'\n", "did you mean closed?"),
        (HEAD + "when = 'o.x'\nthen = 'o.y'\nwithin = '2 sek'\n", "did you mean sec?"),
        ("[[invarient]]\nclass = 'a.B'\n", "did you mean [[invariant]]?"),
        (HEAD + "always = 'nwe.x > 0'\n", "did you mean new?"),
        ("[[invariant]]\nclass = 5\nalways = 'o.x'\n", "write it in quotes: class = 'module.Class'"),
        (HEAD + "always = ''\n", "write it as in Python: o.count >= 0 and o.open"),
        (HEAD + "always = 'o.x >'\n", "write it as in Python: o.count >= 0 and o.open"),
        (HEAD + "always = 'o.x = 1'\n", "equality is =="),
        (HEAD + "always = 'o.x > 0 # fine'\n", "put it after the closing quote, or into a line of its own"),
        (
            HEAD + "when = 'o.x'\nthen = 'o.y'\nwithin = '1s'\nevery = '2s'\n",
            "leave `every` out, and it is chosen to fit `within`",
        ),
        (HEAD + "when = 'o.x'\nthen = 'o.y'\nwithin = 0\n", "as in 2s, 100ms, 1.5 min"),
        ("x = \n", "an invariant is a table: [[invariant]], then lines such as always = 'o.count >= 0'"),
    ],
)
def test_hints(text: str, hint: str) -> None:
    assert failure(text).hint == hint


def test_a_class_that_is_no_text_is_not_missing() -> None:
    assert failure("[[invariant]]\nclass = 5\nalways = 'o.x'\n").message == "the class must be a string"


@pytest.mark.parametrize("given", [{"always": 5}, {"always": b"o.x"}, {"next": ["x"]}, {"always": "o.x", "until": 5}])
def test_an_expression_that_is_no_text(given: dict[str, Any]) -> None:
    with pytest.raises(LawError) as caught:
        invariant("m.A", **given)
    assert caught.value.slug == "invariant-key"
    with pytest.raises(LawError) as caught:
        invariant("m.A", when=5, then=6, within=1)  # type: ignore[arg-type]
    assert caught.value.slug == "invariant-key"


def test_python_errors_have_a_place_in_what_was_said() -> None:
    with pytest.raises(LawError) as caught:
        invariant("vfs.Dentry", always="o.rc >= 0 and x")
    assert (caught.value.slug, caught.value.where) == ("invariant-unknown-name", "<invariant>:3:25")
    with pytest.raises(LawError) as caught:
        invariant("vfs.Dentry")
    assert caught.value.slug == "invariant-key"
    with pytest.raises(LawError) as caught:
        invariant(3, always="o.x")  # type: ignore[arg-type]
    assert caught.value.slug == "invariant-class"
    with pytest.raises(LawError) as caught:
        invariants.reference_count("vfs.Dentry", "a b")
    assert caught.value.slug == "invariant-key"
    with pytest.raises(LawError) as caught:
        invariants.closed("vfs.Dentry", within="soon")
    assert caught.value.slug == "invariant-duration"
    with pytest.raises(TypeError):
        invariants.compile(b"")  # type: ignore[arg-type]
