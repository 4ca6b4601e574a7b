"""The pages about the catalogue say what its files say."""

from __future__ import annotations

import make_catalog


def test_the_pages_are_made_from_the_laws() -> None:
    wanted = make_catalog.pages()
    there = {path: path.read_text(encoding="utf-8") for path in wanted if path.exists()}
    stale = [path.name for path, text in wanted.items() if there.get(path) != text]
    assert stale == [], "run tools/make_catalog.py"
    assert set(make_catalog.FOLDER.glob("*.md")) <= set(wanted)
