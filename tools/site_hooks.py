"""What mkdocs.yml cannot say: folders in the navigation, and `\\|` in the code of tables."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any


def on_config(config: Any) -> Any:
    """A hook of MkDocs: an entry of the navigation that ends in `/` means all pages of that folder."""
    config["nav"] = _expanded(config["nav"], Path(config["docs_dir"]))
    return config


def on_page_content(html: str, **_: Any) -> str:
    """A hook of MkDocs: code in a table shows `|` for `\\|`, as it does on GitHub."""
    return re.sub(r"<td[^>]*>.*?</td>", lambda cell: cell[0].replace("\\|", "|"), html, flags=re.DOTALL)


def _expanded(entry: Any, root: Path) -> Any:
    if isinstance(entry, list):
        return [_expanded(each, root) for each in entry]
    if isinstance(entry, dict):
        return {title: _expanded(each, root) for title, each in entry.items()}
    if entry.endswith("/"):
        return [{page.stem: page.relative_to(root).as_posix()} for page in sorted((root / entry).glob("*.md"))]
    return entry
