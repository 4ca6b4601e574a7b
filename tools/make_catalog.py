"""Generates the pages of the catalogue, the table of all laws, and the index of laws from the laws' files."""

from __future__ import annotations

import sys
from pathlib import Path

import msgspec

from lawful.laws import catalog
from lawful.laws.catalog import index
from lawful.laws.rml import compile

ROOT = Path(__file__).resolve().parent.parent
FOLDER = ROOT / "docs" / "catalog"
INDEX = ROOT / "docs" / "catalog.md"
BEGIN, END = "<!-- laws: begin -->", "<!-- laws: end -->"


def table(laws: list[catalog.CatalogLaw]) -> str:
    """All laws in one table, each with a link to its section."""
    rows = []
    for law in laws:
        link = f"[`{law.name}`](catalog/{law.area}.md#{law.name.partition('/')[2]})"
        rows.append(f"| {link} | {law.title} | {law.severity} | {law.cost} | {law.profile} |")
    return "\n".join(["| law | says | severity | cost | profile |", "|---|---|---|---|---|", *rows])


def page(area: str, laws: list[catalog.CatalogLaw]) -> str:
    """The page of an area."""
    parts = [
        f"# Laws: {area}\n",
        f"`--law {area}` checks all laws on this page. [The catalogue](../catalog.md) lists all areas. "
        "tools/make_catalog.py generates this page from the laws' files.\n",
    ]
    for law in laws:
        short = law.name.partition("/")[2]
        parts.append(
            f"## {short}\n\n**{law.title}.** {law.rule}\n\n"
            f"- Python's documentation: [{law.docs}]({law.url})\n- How to do it right: {law.fix}\n"
            f"- Severity {law.severity}, cost {law.cost}, profile `{law.profile}`\n\n"
            f"Breaks it:\n\n{_program(law.breaks)}\n\nKeeps it:\n\n{_program(law.keeps)}\n"
        )
    return "\n".join(parts)


def _program(path: Path) -> str:
    # `py`, not `python`: the tests of the laws run these programs, so the tests of the pages need not.
    return f"```py\n{path.read_text(encoding='utf-8').strip()}\n```"


def known(laws: list[catalog.CatalogLaw]) -> str:
    """The index of laws, one line for each."""
    lines = []
    for law in laws:
        entry = index.entry_of(compile(law.path.read_text(encoding="utf-8"), name=law.name), law.profile)
        if entry is not None:
            lines.append(f"{msgspec.json.encode(law.name).decode()}: {msgspec.json.encode(entry).decode()}")
    return "{\n" + ",\n".join(lines) + "\n}\n"


def pages() -> dict[Path, str]:
    """All files as they should be."""
    laws = [catalog.load(name) for name in catalog.names()]
    found = {FOLDER / f"{area}.md": page(area, [law for law in laws if law.area == area]) for area in _areas(laws)}
    text = INDEX.read_text(encoding="utf-8")
    before, _, rest = text.partition(BEGIN)
    _, _, after = rest.partition(END)
    return found | {INDEX: f"{before}{BEGIN}\n{table(laws)}\n{END}{after}", index.PATH: known(laws)}


def _areas(laws: list[catalog.CatalogLaw]) -> list[str]:
    return list(dict.fromkeys(law.area for law in laws))


def main() -> None:
    """Write what has changed; with ``--check``, only say so."""
    wanted = pages()
    stale = [path for path, text in wanted.items() if not path.exists() or path.read_text(encoding="utf-8") != text]
    stale += [path for path in FOLDER.glob("*.md") if path not in wanted]
    if "--check" in sys.argv:
        sys.exit(
            "\n".join(f"{path.relative_to(ROOT)} is not as the laws say: run tools/make_catalog.py" for path in stale)
        )
    FOLDER.mkdir(exist_ok=True)
    for path in stale:
        if path in wanted:
            path.write_text(wanted[path], encoding="utf-8")
        else:
            path.unlink()
        print(path.relative_to(ROOT))


if __name__ == "__main__":
    main()
