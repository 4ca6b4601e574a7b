"""The reference of the Python API says what the docstrings say."""

from __future__ import annotations

import make_api


def test_the_page_is_made_from_the_docstrings() -> None:
    assert make_api.PAGE.read_text(encoding="utf-8") == make_api.page(), "run make docs"


def test_every_public_name_has_an_entry_with_a_text() -> None:
    page = make_api.page()
    for names in make_api._TOPICS.values():
        for name in names.split():
            _, _, entry = page.partition(f"### `lawful.{name}`\n")
            assert entry.partition("\n#")[0].strip(), name
