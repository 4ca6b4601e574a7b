"""Laws that other people keep: those that installed packages ship, and those in the project's folder ``laws``.

A package ships laws by an entry point of the group ``lawful.laws``: its name is the area, its value a package that has
the files. A project keeps its own in a folder ``laws`` beside its pyproject.toml; their area is ``project``.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from lawful.errors import LawError

GROUP = "lawful.laws"
PROJECT = "project"
FOLDER = "laws"

_SUFFIXES = (".rml", ".toml", ".view")
_ROOTS = ("pyproject.toml", "setup.py", "setup.cfg", ".git")


class LawFolder(NamedTuple):
    """A folder with laws, and the area that their names begin with."""

    area: str
    folder: Path

    def laws(self) -> dict[str, Path]:
        """All its laws by name, those in folders inside it included."""
        found = sorted(path for path in self.folder.rglob("*") if path.suffix in _SUFFIXES and path.is_file())
        return {f"{self.area}/{path.relative_to(self.folder).with_suffix('').as_posix()}": path for path in found}


def law_folders(folder: str | os.PathLike[str] = ".") -> list[LawFolder]:
    """All there are, for somebody who works in this folder."""
    return [*_installed(), *_projects(Path(folder))]


def _projects(folder: Path) -> Iterator[LawFolder]:
    here = folder.resolve()
    root = next((each for each in (here, *here.parents) if any((each / name).exists() for name in _ROOTS)), here)
    if (root / FOLDER).is_dir():
        yield LawFolder(PROJECT, root / FOLDER)


def _installed() -> Iterator[LawFolder]:
    from importlib.metadata import entry_points  # only who asks for a law that is not ours pays for it

    for point in entry_points(group=GROUP):
        yield LawFolder(point.name, _folder_of(point.value))


def _folder_of(package: str) -> Path:
    """The folder of a package, which is found but not imported: laws are data."""
    from importlib.machinery import PathFinder

    places: list[str] | None = None
    name = ""
    for part in package.partition(":")[0].split("."):
        name = f"{name}.{part}" if name else part
        try:
            found = PathFinder.find_spec(name, places)
        except (ImportError, ValueError):
            found = None
        places = (
            None
            if found is None or found.submodule_search_locations is None
            else list(found.submodule_search_locations)
        )
        if not places:
            message = f"a package that ships laws says they are in {package}, where they are not"
            raise LawError("law-folder", message, hint=f"its entry point of the group {GROUP} names a package")
    assert places
    return Path(places[0])


def find(word: str, folder: str | os.PathLike[str] = ".") -> dict[str, Path]:
    """The laws that a word names: one law, or all of an area; empty if there is no such law."""
    found: dict[str, Path] = {}
    for each in law_folders(folder):
        laws = each.laws()
        if word == each.area:
            found |= laws
        elif word in laws:
            found[word] = laws[word]
    return found
