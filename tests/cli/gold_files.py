"""Comparing with gold files; LAWFUL_UPDATE_GOLD=1 writes them anew: look at the difference."""

from __future__ import annotations

import os
from pathlib import Path

_UPDATE = os.environ.get("LAWFUL_UPDATE_GOLD") == "1"


def assert_gold(found: str, gold: Path) -> None:
    """What was found is what the file says."""
    if _UPDATE:
        gold.write_text(found, encoding="utf-8")
    assert found == gold.read_text(encoding="utf-8")
