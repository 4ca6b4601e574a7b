"""Reads the project's Markdown: finds dead links and anchors, and the console sessions that a test replays."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from itertools import pairwise
from pathlib import Path
from urllib.parse import unquote, urlsplit

from markdown_it import MarkdownIt
from markdown_it.token import Token

ROOT = Path(__file__).resolve().parent.parent


def pages(root: Path = ROOT) -> list[Path]:
    """Every Markdown file that a reader may open."""
    front = [root / name for name in ("README.md", "CHANGELOG.md", "CONTRIBUTING.md")]
    return [page for page in front if page.exists()] + sorted((root / "docs").rglob("*.md"))


@dataclass(frozen=True)
class Command:
    """One ``$ command`` of a console block, and the text that the page shows below it."""

    line: int
    text: str
    output: list[str]


def commands(page: Path) -> Iterator[Command]:
    """The commands of a page's ``console`` blocks; one that ends in a backslash goes on in the next line."""
    for token in _tokens(page):
        if token.type != "fence" or token.info.split()[:1] != ["console"] or token.map is None:
            continue
        current: Command | None = None
        for number, line in enumerate(token.content.splitlines(), start=token.map[0] + 2):
            if line.startswith("$ "):
                if current:
                    yield current
                current = Command(number, line[2:], [])
            elif current and current.text.endswith("\\") and not current.output:
                current = Command(current.line, current.text[:-1] + line.removeprefix(">").lstrip(), [])
            elif current:
                current.output.append(line)
        if current:
            yield current


def dead_links(root: Path = ROOT) -> list[str]:
    """A line for every relative link whose file or heading does not exist."""
    return [
        f"{page.relative_to(root)}:{line}: {complaint}: {link}"
        for page in pages(root)
        for line, link in _links(page)
        if (complaint := _complaint(page, link, root))
    ]


def _complaint(page: Path, link: str, root: Path) -> str | None:
    parts = urlsplit(link)
    if parts.scheme or parts.netloc:
        return None
    target = (page.parent / unquote(parts.path)).resolve() if parts.path else page
    if not target.is_relative_to(root.resolve()):
        return "leads out of the project"
    if not target.exists():
        return "no such file"
    if parts.fragment and target.suffix == ".md" and unquote(parts.fragment) not in _anchors(target):
        return "no such heading"
    return None


def _links(page: Path) -> Iterator[tuple[int, str]]:
    for token in _tokens(page):
        for child in token.children or ():
            target = child.attrGet({"link_open": "href", "image": "src"}.get(child.type, ""))
            if isinstance(target, str) and token.map:
                yield token.map[0] + 1, target


def _anchors(page: Path) -> set[str]:
    """The anchors that a forge gives to a page's headings: lower case, hyphens for spaces, numbered if repeated."""
    anchors: set[str] = set()
    tokens = _tokens(page)
    for heading, inline in pairwise(tokens):
        if heading.type == "heading_open":
            text = "".join(child.content for child in inline.children or ())
            slug = re.sub(r"[^\w\- ]", "", text.lower()).replace(" ", "-")
            repeat = 0
            while (anchor := f"{slug}-{repeat}" if repeat else slug) in anchors:
                repeat += 1
            anchors.add(anchor)
    return anchors


@cache
def _tokens(page: Path) -> list[Token]:
    return MarkdownIt("commonmark").enable("table").parse(page.read_text(encoding="utf-8"))


def main() -> int:
    dead = dead_links()
    print("\n".join(dead) if dead else f"{len(pages())} pages, no dead links")
    return 1 if dead else 0


if __name__ == "__main__":
    sys.exit(main())
