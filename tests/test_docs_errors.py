"""Every entry of the page of errors has an example and a fix, and examples in Lawful's own languages provoke it."""

from __future__ import annotations

import re
from collections.abc import Callable

import pytest

import check_docs
from lawful import Learning, grammar, invariants, rml
from lawful.confidence import policy_parser
from lawful.errors import LawfulError
from lawful.learning import strategies

PAGE = (check_docs.ROOT / "docs" / "errors.md").read_text(encoding="utf-8")
ENTRY = re.compile(r"^### `([^`]+)`\n(.*?)(?=^##|\Z)", re.M | re.S)
ENTRIES = dict(ENTRY.findall(PAGE))
CODE = {slug: found[1] for slug, text in ENTRIES.items() if (found := re.search(r"^- Example: `([^`]+)`$", text, re.M))}
EVENTS = "a matches {event: 'a'}; b matches {event: 'b'}; c matches {event: 'c'}; p(x) matches {event: 'p', x: x};\n"
VIEW = "view V specifies G { send A.a(Int x) a, receive B.b(String name) b, send C.c() c }\n"
OF_RUNS = ("rml-not-finite",)


def of_rml(text: str) -> object:
    return rml.compile(EVENTS + text)


def of_view(text: str) -> object:
    whole = text.startswith("view V")
    return grammar.compile(text if whole else VIEW + text)


def of_policy(text: str) -> object:
    return policy_parser.parse(text)


def of_invariant(text: str) -> object:
    given = 'class = "app.A"\n' if not text.startswith("class") else ""
    more = 'always = "o.x > 0"\n' if text.startswith("class") else ""
    then = "when = 'created()'\nthen = 'gone()'\n" if text.startswith("within") else ""
    return invariants.compile(f"[[invariant]]\n{given}{more}{then}{text}\n")


def of_template(text: str) -> object:
    return Learning(templates=(text,))


LANGUAGES: tuple[tuple[str, Callable[[str], object]], ...] = (
    ("rml-", of_rml),
    ("view-", of_view),
    ("policy-", of_policy),
    ("invariant-", of_invariant),
    ("template-", of_template),
    ("strategy-", strategies.parse),
)
PROVOKED = [
    (slug, text, provoke)
    for slug, text in CODE.items()
    for prefix, provoke in LANGUAGES
    if slug.startswith(prefix) and slug not in OF_RUNS and not re.match("--set|lawful|chmod", text)
]


@pytest.mark.parametrize("slug", ENTRIES)
def test_an_entry_has_an_example_and_a_fix(slug: str) -> None:
    text = ENTRIES[slug]
    assert text.count("\n- Example: ") == text.count("\n- Fix: ") == 1


@pytest.mark.parametrize(("slug", "text", "provoke"), PROVOKED, ids=[slug for slug, _, _ in PROVOKED])
def test_an_example_provokes_its_error(slug: str, text: str, provoke: Callable[[str], object]) -> None:
    try:
        law = provoke(text)
    except LawfulError as error:
        found = {error.slug} | {each.slug for each in getattr(error, "diagnostics", ())}
    else:
        found = {each.slug for each in getattr(law, "warnings", ())}
    assert slug in found


def test_enough_examples_are_provoked() -> None:
    assert len(PROVOKED) > 75
