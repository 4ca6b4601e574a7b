"""The views in the documentation are those of the examples."""

from __future__ import annotations

import re
from pathlib import Path

from markdown_it import MarkdownIt

ROOT = Path(__file__).resolve().parents[3]
EXAMPLES = ROOT / "examples" / "replication"


def test_the_views_of_the_documentation_are_the_examples() -> None:
    tokens = MarkdownIt("commonmark").parse((ROOT / "docs" / "grammar.md").read_text(encoding="utf-8"))
    blocks = [token.content for token in tokens if token.type == "fence" and token.info == "view"]
    named = 0
    for block in blocks:
        first, _, rest = block.partition("\n")
        if file := re.fullmatch(r"// (examples/\S+\.view)", first):
            assert rest == (ROOT / file[1]).read_text(encoding="utf-8")
            named += 1
    assert named == 2
    # The first two are one law.
    assert blocks[0] == (EXAMPLES / "worker.view").read_text(encoding="utf-8")
    assert (EXAMPLES / "Worker.g").read_text(encoding="utf-8").endswith(blocks[1])
