"""Every error and warning has its place on the page of errors, and the page speaks of no other."""

from __future__ import annotations

import ast
import re
from itertools import pairwise

from markdown_it import MarkdownIt

import check_docs

SOURCE = check_docs.ROOT / "src" / "lawful"
PAGE = check_docs.ROOT / "docs" / "errors.md"

_AREAS = (
    "budget|check|confidence|control|core|invariant|law|laws|learn|most|oracle|"
    "policy|rml|seed|serve|store|strategy|template|threshold|trace|tune|view|web|window"
)
_SLUG = rf"(?:{_AREAS})(?:-[a-z0-9]+)+"
WHOLE = re.compile(_SLUG)
SHOWN = re.compile(rf"(?:error|warning)\[({_SLUG})\]")
ERRORS = frozenset(("LawfulError", "TraceError", "LawError"))
SINGLE = frozenset(("usage", "file", "internal"))


def slugs() -> set[str]:
    """The slugs in the program's text: strings in one of the areas, and the single words that errors begin with."""
    found: set[str] = set()
    for file in SOURCE.rglob("*.py"):
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Constant) and isinstance(node.value, str):
                found.update([node.value] if WHOLE.fullmatch(node.value) else SHOWN.findall(node.value))
            elif isinstance(node, ast.Call) and getattr(node.func, "id", "") in ERRORS and node.args:
                first = node.args[0]
                if isinstance(first, ast.Constant) and isinstance(first.value, str):
                    found.add(first.value)
    return found


def documented() -> list[str]:
    """The headings of the page that are a slug: code and nothing else."""
    tokens = MarkdownIt("commonmark").parse(PAGE.read_text(encoding="utf-8"))
    found = []
    for token, inline in pairwise(tokens):
        children = inline.children or []
        if token.type == "heading_open" and len(children) == 1 and children[0].type == "code_inline":
            found.append(children[0].content)
    return found


def test_the_page_has_every_slug_and_no_other() -> None:
    assert sorted(documented()) == sorted(slugs())


def test_slugs_are_found() -> None:
    assert slugs() >= {"rml-syntax", "rml-swallowed", "trace-truncated", "core-missing"} | SINGLE
