"""What mkdocs.yml cannot say: an entry of the navigation that ends in `/` is all pages of that folder."""

from __future__ import annotations

from pathlib import Path
from typing import Any


def on_config(config: Any) -> Any:
    """A hook of MkDocs."""
    config["nav"] = _expanded(config["nav"], Path(config["docs_dir"]))
    return config


def _expanded(entry: Any, root: Path) -> Any:
    if isinstance(entry, list):
        return [_expanded(each, root) for each in entry]
    if isinstance(entry, dict):
        return {title: _expanded(each, root) for title, each in entry.items()}
    if entry.endswith("/"):
        return [{page.stem: page.relative_to(root).as_posix()} for page in sorted((root / entry).glob("*.md"))]
    return entry
