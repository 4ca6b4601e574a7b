"""Baselines: a file of known findings, so that reports show only new ones."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from lawful import config
from lawful.atomic_write import atomic_write
from lawful.errors import LawfulError
from lawful.reports.fingerprints import Mark, marks
from lawful.reports.sources import SourceLines

if TYPE_CHECKING:
    from lawful.engine.findings import Finding
    from lawful.engine.run import LawRun

_KEY = "lawful-baseline"
_VERSION = 1
_SHORT = "a baseline is a file that `lawful baseline update` has written"


class Baseline:
    """The findings that are known, by fingerprint."""

    def __init__(self, path: str, known: Iterable[Mark] = ()) -> None:
        self.path = path
        self._places = {mark.fingerprint: frozenset(mark.places) for mark in known}

    def __len__(self) -> int:
        return len(self._places)

    def knows(self, mark: Mark) -> bool:
        """Whether the baseline has this finding; of an anomaly, with all its places."""
        places = self._places.get(mark.fingerprint)
        return places is not None and places.issuperset(mark.places)

    def known(self, findings: list[Finding], source: SourceLines) -> list[Finding]:
        """The findings that the baseline knows."""
        return [each for each, mark in zip(findings, marks(findings, source), strict=True) if self.knows(mark)]

    def hide(self, run: LawRun, source: SourceLines) -> None:
        """Hide the findings of a run that the baseline knows."""
        run.log.hide(self.known(run.findings, source))


def load(path: str) -> Baseline:
    """Read a baseline."""
    content = _content(path)
    if content is None:
        hint = "`lawful baseline update` writes one"
        raise LawfulError("baseline-not-found", "this file does not exist", where=path, hint=hint)
    return Baseline(path, parse(content, path))


def _content(path: str) -> bytes | None:
    """The bytes of a file; None if there is no such file."""
    try:
        with open(path, "rb") as file:
            return file.read()
    except FileNotFoundError:
        return None
    except OSError as error:
        raise LawfulError("file", error.strerror or str(error), where=path) from error


def parse(content: bytes, path: str) -> list[Mark]:
    """The marks in the text of a baseline."""
    try:
        document = json.loads(content)
        version = document[_KEY]
        if version != _VERSION:
            message = f"this baseline has version {version!r:.20}, but Lawful reads version {_VERSION}"
            raise LawfulError("baseline-bad", message, where=path, hint="write it again with `lawful baseline update`")
        return [_read(each) for each in document["findings"]]
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        raise LawfulError("baseline-bad", "this file is not a baseline", where=path, hint=_SHORT) from error


def _read(data: Mapping[str, Any]) -> Mark:
    """The inverse of `Mark.to_json`. Only fingerprint and places matter; people may have changed the others."""
    texts = {name: data.get(name) for name in ("law", "function", "event")}
    places = data.get("places", [])
    fingerprint, file = data["fingerprint"], data.get("file")
    if not isinstance(fingerprint, str) or not all(isinstance(place, str) for place in places):
        raise TypeError
    return Mark(
        fingerprint,
        **{name: text if isinstance(text, str) else "" for name, text in texts.items()},
        file=file if isinstance(file, str) else None,
        places=tuple(places),
    )


def render(known: Iterable[Mark]) -> str:
    """A baseline as text: one finding in a line, in an order that does not depend on the run."""
    unique = {mark.fingerprint: mark for mark in known}
    order = sorted(unique.values(), key=lambda mark: (mark.law, mark.file or "", mark.function, mark.fingerprint))
    lines = ",\n".join(f"    {json.dumps(mark.to_json())}" for mark in order)
    findings = f"[\n{lines}\n  ]" if lines else "[]"
    return f'{{\n  "{_KEY}": {_VERSION},\n  "findings": {findings}\n}}\n'


def write(path: str, known: Iterable[Mark]) -> None:
    """Write a baseline. The old file stays until the new one is complete."""
    text = render(known)
    try:
        with atomic_write(path) as file:
            file.write(text)
    except OSError as error:
        raise LawfulError("file", error.strerror or str(error), where=path) from error


def merged(old: Iterable[Mark], new: Iterable[Mark]) -> list[Mark]:
    """Both together: of an anomaly that is in both, all places."""
    found = {mark.fingerprint: mark for mark in old}
    for mark in new:
        before = found.get(mark.fingerprint)
        places = set(mark.places) | set(before.places if before is not None else ())
        found[mark.fingerprint] = mark._replace(places=tuple(sorted(places)))
    return list(found.values())


def marks_in(report: Any, path: str) -> list[Mark]:
    """The marks of all findings in a report from `--format json`, hidden ones included."""
    found: list[Mark] = []
    try:
        known = report.get("baseline") or {}
        found += [_read(each) for each in known.get("known", ())]
        lists = (report.get(key, ()) for key in ("findings", "laws", "anomalies"))
        entries = [each for entries in lists for each in entries if isinstance(each, dict)]
        found += [_read(each["mark"]) for each in entries if "mark" in each and not each.get("known")]
        report["version"]
    except (AttributeError, KeyError, TypeError) as error:
        hint = "write one with `--format json`"
        raise LawfulError("baseline-report", "this is not a JSON report of Lawful", where=path, hint=hint) from error
    return found


class KnownFindings:
    """What a command does with a baseline: read it and hide what it knows, or write it."""

    def __init__(self, path: str | None, folder: str | os.PathLike[str], *, update: bool = False) -> None:
        """`folder` is that of the project. A baseline that cannot be read or written is an error here."""
        self.source = SourceLines(folder)
        self.path = os.path.relpath(os.path.join(folder, config.BASELINE)) if path is None and update else path
        self._target = None if self.path is None else os.path.abspath(self.path)  # the program may go elsewhere
        self.baseline: Baseline | None = None
        self._update = update
        if update and self.path is not None:
            check_writable(self.path)
        elif path is not None:
            self.baseline = load(path)

    def apply_to_run(self, run: LawRun) -> int | None:
        """Write the baseline, if asked to, and hide the known findings. Returns how many findings were written."""
        written = self.settle(marks([*run.findings, *run.log.hidden], self.source))
        if self.baseline is not None:
            self.baseline.hide(run, self.source)
        return written

    def settle(self, found: Sequence[Mark]) -> int | None:
        """Write the baseline, if asked to; returns how many findings it has."""
        if not self._update or self.path is None or self._target is None:
            return None
        self.baseline = Baseline(self.path, found)
        write(self._target, found)
        return len(self.baseline)

    def known(self, findings: list[Finding]) -> list[Finding]:
        """The findings that the baseline knows."""
        return [] if self.baseline is None else self.baseline.known(findings, self.source)


def check_writable(path: str) -> None:
    """Refuse a path where no baseline can be written, or where something else than a baseline is."""
    if os.path.isdir(path) or not os.path.isdir(os.path.dirname(path) or "."):
        raise LawfulError("file", "no file can be written there", where=path)
    content = _content(path) or b""
    if content.strip() and _KEY.encode() not in content:
        raise LawfulError(
            "baseline-bad", "this file is not a baseline, so Lawful does not overwrite it", where=path, hint=_SHORT
        )
