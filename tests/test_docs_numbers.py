"""The numbers about learning are the same on every page: those of docs/benchmarks.md, which prints the benchmark."""

from __future__ import annotations

import re

import check_docs

BENCHMARKS = check_docs.ROOT / "docs" / "benchmarks.md"
LEARNING = check_docs.ROOT / "docs" / "learning.md"
README = check_docs.ROOT / "README.md"

# A row of docs/learning.md, and words that are in the label of the same row of docs/benchmarks.md.
ROWS = {
    "this run alone": "alone",
    "one earlier run of the same program": "an earlier run",
    "three earlier runs of the same program": "three earlier runs",
}


def tables(text: str) -> list[list[list[str]]]:
    """The tables of a page, as rows of cells; the first row is the header."""
    found = re.findall(r"(?:^\|.*\n)+", text, re.MULTILINE)
    return [[[cell.strip() for cell in line.strip("|").split("|")] for line in each.splitlines()] for each in found]


def last_column(header: str, total: str) -> dict[str, str]:
    """The last column of a benchmark table about seeded faults: the newest rows, as `N of M (P %)`."""
    section = BENCHMARKS.read_text(encoding="utf-8").partition("\n## Learning\n")[2].partition("\n## ")[0]
    [rows] = [rows for rows in tables(section) if rows[0][-1].startswith(header)]
    newest = {row[0]: row[-1] for row in rows[2:] if "before" not in row[0] and "--join" not in row[0]}
    return {label: re.sub(r"^(\d+) \(", rf"\1 of {total} (", cell) for label, cell in newest.items()}


def measured(words: str) -> tuple[str, str]:
    """The share of seeded faults that learning finds, and the share of its reports that are useful."""
    found, useful = last_column("all, 82", "82"), last_column("together", "")
    [label] = [label for label in found if label == words or label.endswith(f" {words}")]
    return found[label], useful[label]


def test_the_page_about_learning_has_the_numbers_of_the_benchmark() -> None:
    [rows] = [rows for rows in tables(LEARNING.read_text(encoding="utf-8")) if rows[0][1] == "seeded bugs found"]
    assert {row[0]: (row[1], row[2]) for row in rows[2:]} == {name: measured(words) for name, words in ROWS.items()}


def test_the_readme_has_the_numbers_of_the_benchmark() -> None:
    text = " ".join(README.read_text(encoding="utf-8").split())
    quoted = re.search(r"With three earlier runs .*? finds (\d+ of \d+) seeded bugs; (\d+ %) of its reports", text)
    assert quoted is not None
    found, useful = measured("three earlier runs")
    assert found.startswith(f"{quoted[1]} (")
    assert useful.endswith(f"({quoted[2]})")
