"""The catalogue: the laws that ship with Lawful, each with its facts, a program that keeps it and one that breaks it.

A law is the file ``AREA/NAME.rml``; beside it lie ``NAME.keeps.py`` and ``NAME.breaks.py``. Its facts are the comment
it opens with, one ``// key: value`` a line, up to the first line that is something else.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Final

from lawful import pristine_os
from lawful.errors import LawError

ROOT: Final = Path(__file__).parent

# The first value is the mildest. A profile has the laws of those before it, too.
SEVERITIES: Final = ("warning", "error")
COSTS: Final = ("low", "medium", "high")
PROFILES: Final = ("std", "strict")

_SUFFIX = ".rml"
_DOCS = "https://docs.python.org/3/"
_TEXTS = ("title", "rule", "docs", "fix")
_CHOICES: Final[Mapping[str, tuple[str, ...]]] = {"severity": SEVERITIES, "cost": COSTS, "profile": PROFILES}
_RAISES = "raises"  # which need not be there
_ENTRY = re.compile(r"//\s*(\w+)\s*:\s*(.*?)\s*")


@dataclass(frozen=True, slots=True)
class CatalogLaw:
    """A law and what there is to know about it without reading its equations."""

    name: str  # area and file name, as `files/use-after-close`
    path: Path
    title: str
    rule: str  # what must not happen, and what happens otherwise
    docs: str  # the page and section of Python's documentation that says so
    fix: str
    severity: str
    cost: str
    profile: str
    raises: frozenset[str] = frozenset()  # as what who breaks it can catch that, without modules

    @property
    def area(self) -> str:
        return self.name.partition("/")[0]

    @property
    def url(self) -> str:
        return _DOCS + self.docs

    @property
    def keeps(self) -> Path:
        """A program that keeps the law."""
        return self.path.with_suffix(".keeps.py")

    @property
    def breaks(self) -> Path:
        """A program that breaks it in each line with the comment ``violation``."""
        return self.path.with_suffix(".breaks.py")


def names() -> list[str]:
    """The names of all laws, in alphabetical order."""
    return list(_paths())


def find(name: str) -> Path:
    """The file of the law of this name."""
    path = _paths().get(name)
    if path is None:
        raise _unknown(name, names())
    return path


def load(name: str) -> CatalogLaw:
    """The law of this name with its facts. Raises LawError if its file does not give them."""
    path = find(name)
    return describe(pristine_os.read(str(path)).decode("utf-8"), name=name, path=path)


@cache
def raises(name: str) -> frozenset[str]:
    """The exceptions that breaking the law of this name raises; none if the catalogue has no such law."""
    return load(name).raises if name in _paths() else frozenset()


def groups() -> dict[str, list[str]]:
    """The profiles and the areas, each with the names of its laws."""
    found: dict[str, list[str]] = {profile: [] for profile in PROFILES}
    for name, profile in _profiles().items():
        for each in PROFILES[PROFILES.index(profile) :]:
            found[each].append(name)
        found.setdefault(name.partition("/")[0], []).append(name)
    return found


def _profiles() -> dict[str, str]:
    """The profile of each law: from its file only if nobody has written it down."""
    from lawful.laws.catalog.index import entries  # not everybody needs what reads laws

    known = entries()
    return {name: known[name].profile if name in known else load(name).profile for name in names()}


def select(word: str) -> list[str]:
    """The laws that a user means by the name of a law, of an area or of a profile."""
    if word in _paths():
        return [word]
    area = [name for name in _paths() if name.startswith(f"{word}/")]
    if area and word not in PROFILES:
        return area  # no file need be read for that
    if word in PROFILES:
        wanted = PROFILES[: PROFILES.index(word) + 1]
        return [name for name, profile in _profiles().items() if profile in wanted]
    known = groups()
    if word not in known:
        raise _unknown(word, [*known, *names()])
    return known[word]


def knows(word: str) -> bool:
    """Is this the name of a law, of an area or of a profile?"""
    return word in PROFILES or word in _paths() or any(name.startswith(f"{word}/") for name in _paths())


def describe(text: str, *, name: str, path: Path) -> CatalogLaw:
    """The facts that a law's text opens with."""
    facts = _facts(text, os.fspath(path))
    raises = frozenset(filter(None, map(str.strip, facts.pop(_RAISES, "").split(","))))
    return CatalogLaw(name=name, path=path, raises=raises, **facts)


def _facts(text: str, where: str) -> dict[str, str]:
    facts: dict[str, str] = {}
    for number, line in enumerate(text.splitlines(), 1):
        entry = _ENTRY.fullmatch(line)
        if entry is None:
            break
        key, value = entry.groups()
        place = f"{where}:{number}"
        keys = (*_TEXTS, *_CHOICES, _RAISES)
        if key not in keys:
            raise LawError("law-header", f"a law has no `{key}`", where=place, hint=_similar(key, keys))
        if key in facts:
            raise LawError("law-header", f"`{key}` is given twice", where=place)
        choices = _CHOICES.get(key)
        if not value or (choices and value not in choices):
            what = f"`{value}`" if value else "nothing"
            hint = f"it is {' or '.join(choices)}" if choices else None
            raise LawError("law-header", f"`{key}` cannot be {what}", where=place, hint=hint)
        facts[key] = value
    missing = [key for key in (*_TEXTS, *_CHOICES) if key not in facts]
    if missing:
        raise LawError(
            "law-header",
            f"the law does not say its {', '.join(missing)}",
            where=where,
            hint="a law of the catalogue opens with lines like `// title: A closed file is not used`",
        )
    return facts


@cache
def _paths() -> dict[str, Path]:
    # Every run waits for this: `Path.glob` takes ten times as long.
    root = os.fspath(ROOT)
    areas = [each.name for each in os.scandir(root) if each.is_dir()]
    files = ((area, file) for area in areas for file in os.listdir(os.path.join(root, area)))
    found = sorted(each for each in files if each[1].endswith(_SUFFIX))
    return {f"{area}/{file.removesuffix(_SUFFIX)}": ROOT / area / file for area, file in found}


def _unknown(name: str, known: Iterable[str]) -> LawError:
    hint = _similar(name, known) or "`std`, `strict` and the areas are in docs/catalog.md"
    return LawError("law-not-found", "the catalogue has no such law", where=name, hint=hint)


def _similar(word: str, known: Iterable[str]) -> str | None:
    # Importing this takes longer than finding a law.
    from lawful.diagnostics import did_you_mean

    found = did_you_mean(word, list(known))
    return f"did you mean {found}?" if found else None
