"""Findings of laws of the catalogue speak of the library: what holds, why, what was done before, and how to do it."""

from __future__ import annotations

from typing import Any

from lawful.engine.findings import Finding, Numbered
from lawful.engine.wording import describe, message
from lawful.laws.protocol import Expectation
from lawful.reports.findings import Item
from lawful.reports.fingerprints import Marks
from lawful.reports.sources import SourceLines
from lawful.reports.text import finding_lines, plain


def call(kind: str, name: str, line: int, **more: Any) -> dict[str, Any]:
    return {"event": kind, "name": name, "targetId": 7, "file": "app.py", "line": line, "thread": 1, **more}


CLOSE = Numbered(1, call("func_pre", "io.StringIO.close", 3)), Numbered(2, call("func_post", "io.StringIO.close", 3))
USE = call("func_pre", "io.StringIO.read", 4)


def finding(law: str, event: dict[str, Any], history: tuple[Numbered, ...] = ()) -> Finding:
    expectation = Expectation(("again(7)", "gone(7)"), {"file": 7})
    return Finding(3, event, expectation, None, None, history, law=law)


def shown(found: Finding, tmp_path: Any) -> str:
    source = SourceLines(tmp_path)
    return plain(finding_lines(Item(found, message(found), Marks([found], source).of), source))


def test_a_law_of_the_catalogue(tmp_path: Any) -> None:
    assert shown(finding("files/use-after-close", USE, CLOSE), tmp_path) == (
        "app.py:4: files/use-after-close: A closed file is not used: io.StringIO.read on\n"
        "    object 7\n"
        "  rule      Once a file or an in-memory stream is closed, reading, writing,\n"
        "            seeking or entering it raises ValueError.\n"
        "  instead   Do all work inside the `with` block of the file, or open it again.\n"
        "  see       https://docs.python.org/3/library/io.html#io.IOBase.close\n"
        "  earlier   app.py:3  io.StringIO.close on object 7 returned\n"
    )


def test_another_law_says_what_it_expected(tmp_path: Any) -> None:
    text = shown(finding("files/mine.rml", USE, CLOSE), tmp_path)
    assert "io.StringIO.read on object 7 is not allowed here" in " ".join(text.split())
    assert "  expected  again(7) or gone(7)\n  bindings  file = 7\n" in text
    # Nothing is known about what its author thinks worth telling.
    assert text.count("io.StringIO.close") == 2


def test_an_address_is_in_one_piece(tmp_path: Any) -> None:
    text = shown(finding("asyncio/never-awaited", call("func_pre", "warnings._warn_unawaited_coroutine", 9)), tmp_path)
    address = "https://docs.python.org/3/library/asyncio-dev.html#detect-never-awaited-coroutines"
    assert f"  see       {address}\n" in text


def test_what_only_a_library_knows_is_not_named() -> None:
    assert message(finding("asyncio/loop-after-close", call("func_raise", "a.Loop._check_closed", 9))) == (
        "A closed event loop is not used"
    )
    assert message(finding("locks/release-unheld", call("func_raise", "a.Lock.__exit__", 9))) == (
        "A lock is released only by who holds it: a.Lock.__exit__ on object 7 raised"
    )


def test_only_neighbours_of_one_call_are_one(tmp_path: Any) -> None:
    other = (CLOSE[0], Numbered(2, call("func_post", "io.StringIO.close", 5)))
    assert shown(finding("files/use-after-close", USE, other), tmp_path).count("io.StringIO.close") == 2


def test_a_method_of_every_class_has_the_name_of_its_own() -> None:
    event = call("func_post", "*.__hash__", 9, res=5) | {"class": "shop.Point"}
    assert describe(event) == "shop.Point.__hash__ on object 7 returned: 5"
    assert describe(call("func_post", "*.__hash__", 9, res=5)) == "*.__hash__ on object 7 returned: 5"


def test_a_field_that_a_method_reads_is_named_by_the_method() -> None:
    event = call("field_write", "*.__hash__.*", 9) | {"class": "shop.Point"}
    assert describe(event) == "a field that shop.Point.__hash__ reads is written on object 7"
