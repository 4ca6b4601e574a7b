"""Findings that comments in the source, or the project's configuration, suppress."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator
from fnmatch import fnmatchcase
from typing import NamedTuple

from lawful import pristine_os
from lawful.engine.expected_errors import answered_lines, expected_lines
from lawful.errors import LawfulError
from lawful.laws import catalog  # not when it is needed: the program may have changed how modules are imported

# `# lawful: ignore[files/left-open, locks]`, or `# lawful: ignore` for all laws.
_COMMENT = re.compile(r"#\s*lawful:\s*ignore(?:\[([^\]]*)\])?")
_MOST_FILES = 1_000  # whose lines are remembered
_PROJECT = "ignore in pyproject.toml"
_LEARNED = "learned"


class Pattern(NamedTuple):
    """A law, an area, or all laws, in some files or in all."""

    law: str
    files: str = "*"

    @classmethod
    def read(cls, text: str, where: str | None = None) -> Pattern:
        """From `law`, or `law: files`."""
        law, separator, files = (part.strip() for part in text.partition(":"))
        if not law or (separator and not files):
            hint = 'write "files/left-open", or "files: tests/*" for some files'
            raise LawfulError("config-ignore", f"{text!r:.60} does not say what is ignored", where=where, hint=hint)
        return cls(law, files or "*")

    def covers(self, law: str, file: str | None) -> bool:
        """Does it suppress findings of this law in this file?"""
        return means(self.law, law) and (self.files == "*" or (file is not None and fnmatchcase(file, self.files)))


def _kept_elsewhere(folder: str) -> list[str]:
    """The names of laws that the project keeps, or that packages ship."""
    from lawful.laws import law_search

    try:
        return [name for each in law_search.law_folders(folder) for name in each.laws()]
    except LawfulError:  # a missing folder is reported to who asks for it
        return []


def means(word: str, law: str) -> bool:
    """Does a word name a law: by its name, its area, without its suffix, or by a pattern?"""
    return any(fnmatchcase(name, word) for name in _names(law))


def _names(law: str) -> tuple[str, ...]:
    return law, os.path.basename(law), os.path.splitext(os.path.basename(law))[0], law.partition("/")[0]


class Suppressions:
    """Suppresses findings by comments on their lines, which are read when something is found, and by patterns."""

    def __init__(
        self, ignore: Iterable[str] = (), folder: str | os.PathLike[str] = ".", *, in_tests: bool = False
    ) -> None:
        """`in_tests`: suppress also what a test asks for with `pytest.raises` and the like."""
        self._in_tests = in_tests
        self._patterns = tuple(Pattern.read(text) for text in ignore)
        # Words for laws, with the places where they stand.
        self._words: dict[str, dict[str, None]] = {each.law: {_PROJECT: None} for each in self._patterns}
        self._folder = os.path.abspath(folder)
        self._comments: dict[str, dict[int, tuple[str, ...]]] = {}
        self._answers: dict[str, dict[int, frozenset[str]]] = {}

    def cover(self, law: str, file: str | None, line: int | None) -> bool:
        """Suppress a finding of this law at this place?"""
        if any(pattern.covers(law, file) for pattern in self._patterns):
            return True
        if file is None or line is None:
            return False
        return any(means(word, law) for word in self._of(file).get(line, ())) or self._answered(law, file, line)

    def _answered(self, law: str, file: str, line: int) -> bool:
        """Does the program handle the error that breaking this law raises here?"""
        raises = catalog.raises(law)
        return bool(raises) and not raises.isdisjoint(self._answers[file].get(line, ()))

    def _of(self, file: str) -> dict[int, tuple[str, ...]]:
        """The suppressed laws of each line of a file: by a comment, or because a test asks for an error."""
        found = self._comments.get(file)
        if found is None:
            if len(self._comments) >= _MOST_FILES:
                self._comments.clear()
                self._answers.clear()
            found = self._comments[file] = self._read(file)
        return found

    def warnings(self, laws: Iterable[str]) -> Iterator[str]:
        """Words that name no law: neither of these, nor of the catalogue, the project or a package."""
        if not self._words:
            return
        from lawful.diagnostics import did_you_mean

        known = [*dict.fromkeys((*laws, _LEARNED, *catalog.names()))]
        unknown = [word for word in self._words if not any(means(word, law) for law in known)]
        if unknown:
            known += _kept_elsewhere(self._folder)
        for word in unknown:
            places = self._words[word]
            if not any(means(word, law) for law in known):
                first, more = next(iter(places)), len(places) - 1
                rest = f" (and in {more} more {'place' if more == 1 else 'places'})" if more else ""
                similar = did_you_mean(word, [name for law in known for name in _names(law)])
                hint = f"; did you mean {similar}?" if similar else ""
                yield f"{first}: no law is called {word!r}, so nothing is ignored by it{rest}{hint}"

    def _read(self, name: str) -> dict[int, tuple[str, ...]]:
        self._answers[name] = {}
        try:
            content = pristine_os.read(pristine_os.files.join(self._folder, name))
        except (OSError, ValueError):
            return {}
        self._answers[name] = answered_lines(content)
        asked = expected_lines(content) if self._in_tests else ()
        found: dict[int, tuple[str, ...]] = dict.fromkeys(asked, ("*",))
        if b"lawful:" not in content:
            return found
        for first, last, text in _comments(content):
            comment = _COMMENT.search(text)
            if comment is not None:
                words = comment[1]
                meant = ("*",) if words is None else tuple(filter(None, map(str.strip, words.split(","))))
                for word in meant:
                    self._words.setdefault(word, {}).setdefault(f"{name}:{first}")
                for number in range(first, last + 1):
                    found[number] = (*found.get(number, ()), *meant)
        return found


def _comments(content: bytes) -> Iterator[tuple[int, int, str]]:
    """The comments of a source, each with the first and the last line of the statement that it stands in."""
    import tokenize
    from io import BytesIO

    beginning = 0  # of the statement, if one goes on
    waiting: list[tuple[int, str]] = []
    try:
        for token in tokenize.tokenize(BytesIO(content).readline):
            line = token.start[0]
            if token.type == tokenize.COMMENT:
                waiting.append((line, token.string))
            elif token.type in (tokenize.NEWLINE, tokenize.ENDMARKER, tokenize.NL):
                if token.type != tokenize.NL or not beginning:
                    for at, text in waiting:
                        yield beginning or at, max(line, at), text
                    waiting, beginning = [], 0
            elif token.type not in (tokenize.INDENT, tokenize.DEDENT, tokenize.ENCODING) and not beginning:
                beginning = line
    except (tokenize.TokenError, SyntaxError, UnicodeDecodeError):  # not Python, or another version of it
        for number, text in enumerate(content.decode("utf-8", "replace").splitlines(), 1):
            yield number, number, text
