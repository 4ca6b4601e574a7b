"""Loads laws from files; the suffix of a file says which language it is in."""

from __future__ import annotations

import gc
import os
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from lawful import pristine_os
from lawful.errors import LawError

if TYPE_CHECKING:
    from lawful.laws.protocol import Law


def load_law(path: str | os.PathLike[str], *, name: str | None = None) -> Law:
    """Compile the law in a file. Raises LawError, with everything that is wrong with the law's text.

    `name` is what reports call it: by default that of the file.
    """
    file = os.fspath(path)
    text = _read(file)
    return _LANGUAGES[_suffix(file)](text, name or file, file)


def load_laws(named: Mapping[str, str]) -> tuple[Law, ...]:
    """Compile the laws in these files, by the names that reports have for them."""
    # All that is made here stays: to look through it for garbage, again and again, takes as long as to make it.
    collecting = gc.isenabled()
    gc.disable()
    try:
        laws = tuple(load_law(path, name=name) for name, path in named.items())
        for law in laws:
            law.watches  # noqa: B018  (whoever runs a law asks for it, and it is kept)
        return laws
    finally:
        if collecting:
            gc.enable()


def parse_law(text: str, *, name: str) -> Law:
    """Compile a law that is in no file; its name tells the language. One that would read other files is refused."""
    suffix = _suffix(name)
    if suffix not in _ALONE:
        hint = f"its name ends with {' or '.join(_ALONE)}"
        message = "a law without a file is in RML or a set of invariants"
        raise LawError("law-unknown-kind", message, where=name, hint=hint)
    return _LANGUAGES[suffix](text, name, name)


def find_laws(word: str | os.PathLike[str]) -> dict[str, str]:
    """The files of what a user calls a law, by the names that reports have for them.

    It is a file, or a law, an area or a profile of the catalogue; or one that another package or the project keeps.
    """
    word = os.fspath(word)
    if is_law_name(word) or os.path.isfile(word):
        return {word: word}
    from lawful.laws import catalog, law_search  # not everybody needs them

    if not catalog.knows(word):
        kept = law_search.find(word)
        if kept:
            return {name: os.fspath(path) for name, path in kept.items()}
    return {name: os.fspath(catalog.find(name)) for name in catalog.select(word)}


def is_shipped(path: str) -> bool:
    """Is this a law of the catalogue? Nothing is odd about those: they were looked at before they were shipped."""
    return os.path.dirname(os.path.dirname(path)) == _CATALOG


def _rml(text: str, name: str, file: str) -> Law:
    # A run without RML laws must not pay for its import.
    from lawful.laws.rml import RmlLaw, compile

    if not is_shipped(file):
        return compile(text, name=name)
    from lawful.laws.catalog import index

    shelf, base = os.path.split(file)
    return RmlLaw(text, name, index.facts_of(f"{os.path.basename(shelf)}/{os.path.splitext(base)[0]}", text))


def _invariants(text: str, name: str, _file: str) -> Law:
    from lawful.laws.invariants import compile

    return compile(text, name=name)


def _view(text: str, name: str, file: str) -> Law:
    from lawful.laws.grammar.loading import load

    return load(text, name, file)


_LANGUAGES: dict[str, Callable[[str, str, str], Law]] = {".rml": _rml, ".toml": _invariants, ".view": _view}
"""How the text of a law is compiled, with the name that reports have for it, and its file."""


_ALONE = (".rml", ".toml")
_CATALOG = os.path.join(os.path.dirname(os.path.abspath(__file__)), "catalog")


def is_law_name(name: str) -> bool:
    """Does a file of this name hold a law?"""
    return _suffix(name) in _LANGUAGES


def _suffix(name: str) -> str:
    return os.path.splitext(name)[1].lower()


def _read(name: str) -> str:
    try:
        is_directory = os.path.isdir(name)
        if not is_directory and not is_law_name(name) and os.path.exists(name):
            raise _unknown_kind(name)
        content = pristine_os.read(name)
    except FileNotFoundError:
        raise LawError("law-not-found", "there is no such file", where=name, hint=_similar(name)) from None
    except IsADirectoryError:
        raise LawError(
            "law-unknown-kind", "a directory is not a law", where=name, hint="name the law files in it"
        ) from None
    except PermissionError:
        raise LawError("law-not-readable", "permission denied", where=name) from None
    except OSError as error:
        raise LawError("law-not-readable", error.strerror or str(error), where=name) from error
    except ValueError as error:  # a null byte in the name
        raise LawError("law-not-found", f"no file can have this name: {error}", where=repr(name)) from error
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        raise LawError(
            "law-not-text",
            f"a law is text in UTF-8, this has the byte 0x{content[error.start]:02x}",
            where=f"{name}:{line}",
            hint="is this the right file? Text in another encoding can be converted: iconv -t UTF-8",
        ) from None


def _unknown_kind(name: str) -> LawError:
    suffix = _suffix(name)
    *others, last = _LANGUAGES
    known = f"{', '.join(others)} or {last}"
    hint = f"the name of a law ends with {known}"
    if suffix in (".jsonl", ".json", ".gz", ".zst"):
        hint += "; traces stand after --trace"
    what = f"a file with the suffix {suffix}" if suffix else "a file without a suffix"
    return LawError("law-unknown-kind", f"{what} is no law that Lawful knows", where=name, hint=hint)


def _similar(name: str) -> str | None:
    """A file nearby whose name looks like the one that is missing."""
    if name == "-":
        return "a law is read from a file, only a trace can come from standard input"
    from lawful.laws import catalog

    if catalog.knows(name):
        return "the catalogue has it: `lawful run --law` and `lawful.watch` take its names; load_law takes files"
    # Importing this takes longer than reading most laws.
    from lawful.diagnostics import did_you_mean

    folder, base = os.path.split(name)
    try:
        names = [entry for entry in os.listdir(folder or ".") if _suffix(entry) in _LANGUAGES]
    except OSError:
        return f"there is no directory {folder} either" if folder and not os.path.isdir(folder) else None
    by_stem = {os.path.splitext(entry)[0]: entry for entry in names}
    stem = base if base in by_stem else os.path.splitext(base)[0]
    found = by_stem.get(stem) or by_stem.get(did_you_mean(stem, by_stem) or "")
    return f"did you mean {os.path.join(folder, found)}?" if found else None
