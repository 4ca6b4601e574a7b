"""The watch over a test session: what it is told to look at, where it stands, and what has gone wrong with it."""

from __future__ import annotations

import argparse
import os
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from lawful import config
from lawful.engine.findings import Finding
from lawful.engine.live import LiveRun
from lawful.engine.session import BUFFER, Session, Settings
from lawful.laws.loader import find_laws, load_law
from lawful.laws.protocol import Law
from lawful.sources.python.scope import Scope, find_project


@dataclass(frozen=True)
class Choice:
    """What the options and the project's configuration ask for."""

    settings: Settings
    laws: tuple[Law, ...]
    fail: bool  # findings make the run fail


def choose(options: argparse.Namespace, rootdir: Path, worker: str | None) -> Choice:
    """What the project's configuration and the options ask for together."""
    project = find_project(rootdir)
    given = config.Config(
        laws=tuple(options.lawful_law),
        calls=tuple(options.lawful_calls),
        public=tuple(options.lawful_public),
        fields=tuple(options.lawful_fields),
        trace=options.lawful_trace,
        fail_on="finding" if options.lawful_fail else None,
    )
    both = config.combined(config.load(os.fspath(project)), given)
    named = {name: path for word in both.laws for name, path in find_laws(word).items()}
    settings = Settings(
        scope=Scope(both.calls, both.public, both.fields, both.include, both.exclude, project),
        trace=_of_worker(both.trace, worker) if both.trace else None,
        history=10 if both.history is None else both.history,
        on_violation=both.on_violation or "report",
        buffer=both.buffer or BUFFER,
        drop=both.when_full == "drop",
        core=both.core,
    )
    laws = tuple(load_law(path, name=name) for name, path in named.items())
    return Choice(settings, laws, fail=both.fail_on == "finding")


def _of_worker(trace: str, worker: str | None) -> str:
    """Each worker of pytest-xdist writes a trace of its own: `out.gw0.jsonl`."""
    trace = os.path.abspath(trace)  # tests may change the folder
    if worker is None:
        return trace
    folder, name = os.path.split(trace)
    stem, dot, suffixes = name.partition(".")
    return os.path.join(folder, f"{stem}.{worker}{dot}{suffixes}")


class Watch:
    """One session under watch, or, where its tests run in other processes, the place to gather what these saw."""

    def __init__(self, choice: Choice) -> None:
        self._settings = settings = choice.settings
        self._laws = choice.laws
        self._session: Session | None = None
        self._idle = LiveRun(self._laws, history=settings.history)
        self.refused: str | None = None  # why nothing is watched
        self.core = ""

    @property
    def laws(self) -> int:
        return len(self._laws)

    @property
    def live(self) -> LiveRun:
        """What was seen and found so far."""
        return self._idle if self._session is None else self._session.live

    @property
    def running(self) -> bool:
        return self._session is not None and not self._session.finished

    def start(self) -> None:
        """Watch from now on; nothing happens if that was done before."""
        if self._session is not None or self.refused is not None:
            return
        session = Session(self._settings, self._laws, on_exit=self._close_trace)
        try:
            session.start()
        except Exception as error:  # a fault of ours, or too many watch this process already
            self.refused = f"{type(error).__name__}: {error}"
            with suppress(Exception):
                session.finish()
            return
        self.core = session.core.name
        self._session = session

    def discard(self) -> None:
        """Forget what was seen so far: the tests run elsewhere."""
        self.stop()
        self._session = None

    def enter(self, context: str | None) -> None:
        """What happens from now on belongs to this part of the session."""
        if self._session is not None and not self._session.finished:
            self._session.tracer.flush()
            self._session.live.context = context

    def stop(self) -> None:
        """Watch no more."""
        if self._session is not None:
            self._session.finish()

    def fail(self, error: Exception) -> None:
        """A fault of ours: tell it, and let the session go on without us."""
        self.live.fail(error)
        with suppress(Exception):
            self.stop()

    def _close_trace(self, code: int) -> None:
        if self._session is not None and self._session.writer is not None:
            self._session.writer.close()


def broken_now(live: LiveRun, counts: dict[tuple[object, ...], int]) -> list[Finding]:
    """The findings that are new, or were made again, since the counts were last brought up to date; now they are."""
    changed = []
    for finding in live.findings:
        key = finding.key
        if counts.get(key) != finding.count:
            counts[key] = finding.count
            changed.append(finding)
    return changed
