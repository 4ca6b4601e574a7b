"""The watch over a test session: its options, its state, and its errors."""

from __future__ import annotations

import argparse
import os
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lawful import config
from lawful.config import find_project
from lawful.engine.findings import Finding
from lawful.engine.run import LawRun
from lawful.engine.session import Session
from lawful.errors import LawfulError
from lawful.laws.loader import find_laws, load_laws
from lawful.laws.protocol import Law
from lawful.reports.formats import format_of
from lawful.run_setup import watch_settings, with_learner

if TYPE_CHECKING:
    from lawful.confidence.store import ConfidenceHistory
    from lawful.engine.learner_setup import LearningHistory
    from lawful.engine.live_learning import LiveLearner
    from lawful.engine.sample_tracking import SampleTracking
    from lawful.engine.watch_settings import WatchSettings


@dataclass(frozen=True)
class SessionOptions:
    """The options of a session, with the project's configuration."""

    settings: WatchSettings
    laws: tuple[Law, ...]
    fail: bool  # findings make the run fail
    memory: LearningHistory | None = None  # of earlier sessions, if rules are learned
    confidence_history: ConfidenceHistory | None = None  # the same, if objects are sampled
    output: str | None = None  # a report besides that in the terminal
    form: str = "text"
    baseline: str | None = None
    update: bool = False  # or write the baseline?
    known: bool = False  # show the anomalies of earlier sessions, too


def read_options(options: argparse.Namespace, rootdir: Path, worker: str | None) -> SessionOptions:
    """The options of the command line together with the project's configuration."""
    project = find_project(rootdir)
    store = options.lawful_store
    given = config.combined(
        config.from_words(options.lawful_set),
        config.Config(
            laws=tuple(options.lawful_law),
            calls=tuple(options.lawful_calls),
            public=tuple(options.lawful_public),
            trace=options.lawful_trace,
            baseline=options.lawful_baseline,
            fail_on="finding" if options.lawful_fail else None,
            learn=config.LearnConfig(store=store),
            sampling=config.SamplingConfig(options.lawful_confidence, options.lawful_error_rate, store=store),
        ),
    )
    both = config.combined(config.load(os.fspath(project)), given)
    if both.trace is not None:
        _refuse_python_file(both.trace, "trace")
    named = {name: path for word in both.laws for name, path in find_laws(word).items()}
    settings = watch_settings(
        both,
        project,
        trace=_worker_trace(both.trace, worker) if both.trace else None,
        tests=(both.on_violation or "report") == "report",
    )
    laws = load_laws(named)
    learns: bool | None = options.lawful_learn
    if learns is None:
        learns = bool(not laws or both.learn.always)
    chosen = SessionOptions(settings, laws, both.fail_on == "finding", known=bool(both.learn.known))
    chosen = _reporting(chosen, options, both.baseline)
    if both.sampling.asked:
        chosen = _sampling(chosen, both.sampling, laws)
    if learns:
        settings, memory = with_learner(chosen.settings, both.learn)
        return replace(chosen, settings=settings, memory=memory)
    if store is not None and not both.sampling.asked:
        hint = "add --lawful-learn, or --lawful-confidence"
        raise LawfulError("usage", "there is a store, but nothing is learned or sampled", hint=hint)
    if given.sampling.seed is not None and not both.sampling.asked:
        hint = "add --lawful-confidence, --lawful-error-rate or --lawful-set=sampling.policy=off"
        raise LawfulError("usage", "there is a seed for sampling, but nothing is sampled", hint=hint)
    return chosen


def _reporting(chosen: SessionOptions, options: argparse.Namespace, baseline: str | None) -> SessionOptions:
    """Where reports go."""
    output: str | None = options.lawful_output
    form = format_of(options.lawful_format, output)
    if output is None and form not in ("text", "github"):
        hint = "add --lawful-output=FILE"
        raise LawfulError("usage", f"a report in the format {form} needs a file", hint=hint)
    if output is not None:
        output = os.path.abspath(output)  # tests may change the folder
        if os.path.isdir(output) or not os.path.isdir(os.path.dirname(output)):
            raise LawfulError("file", "no file can be written there", where=output)
        _refuse_python_file(output, "report")
    return replace(chosen, output=output, form=form, baseline=baseline, update=options.lawful_update_baseline)


def _refuse_python_file(path: str, what: str) -> None:
    """Refuse to overwrite Python code: a user who forgets the option's file names the tests in its place."""
    if path.endswith(".py") and os.path.exists(path):
        hint = "write --lawful-output=FILE or --lawful-trace=FILE, and then the tests"
        raise LawfulError("usage", f"the {what} would overwrite Python code", where=path, hint=hint)


def moved_rootdir(words: Sequence[str], tests: Sequence[str], rootdir: Path) -> list[str]:
    """Warnings about file names after an option of Lawful that pytest took for paths of tests.

    pytest looks for its rootdir before it knows the options of plugins. `--lawful-baseline FILE` has a test path, then.
    """
    expected = find_project(os.path.commonpath([os.path.abspath(test.partition("::")[0]) for test in tests or ["."]]))
    if rootdir == expected:
        return []
    return [
        f"warning: pytest took the file after {option} for a test path, so its rootdir is {rootdir}, not {expected}; "
        f"write {option}={path}"
        for option, path in pairwise(words)
        if option.startswith("--lawful-") and "=" not in option and os.path.exists(path) and path not in tests
    ]


def _sampling(chosen: SessionOptions, asked: config.SamplingConfig, laws: tuple[Law, ...]) -> SessionOptions:
    from lawful.engine import sample_tracking

    if not laws:
        hint = "--lawful-law=FILE: an invariant, or any law about objects"
        raise LawfulError("usage", "there is a confidence to reach, but no law to be confident of", hint=hint)
    confidence_history = None
    if asked.store is not None:
        from lawful.confidence.store import ConfidenceHistory  # SQLite is for those who use it

        confidence_history = ConfidenceHistory(asked.store, laws)
    return replace(
        chosen,
        settings=replace(chosen.settings, demand=sample_tracking.demand(asked)),
        confidence_history=confidence_history,
    )


def _worker_trace(trace: str, worker: str | None) -> str:
    """Each worker of pytest-xdist writes a trace of its own: `out.gw0.jsonl`."""
    trace = os.path.abspath(trace)  # tests may change the folder
    if worker is None:
        return trace
    folder, name = os.path.split(trace)
    stem, dot, suffixes = name.partition(".")
    return os.path.join(folder, f"{stem}.{worker}{dot}{suffixes}")


class SessionWatch:
    """One session under watch; if its tests run in other processes, it merges their results."""

    def __init__(self, chosen: SessionOptions) -> None:
        self._settings = settings = chosen.settings
        self._laws = chosen.laws
        self._memory = chosen.memory
        self._session: Session | None = None
        self._confidence_history = chosen.confidence_history
        self._idle = LawRun(self._laws, history=settings.history, tracking=self._tracking())
        self.refused: str | None = None  # why nothing is watched
        self.core = ""

    @property
    def laws(self) -> int:
        return len(self._laws)

    @property
    def live(self) -> LawRun:
        """The events and findings so far."""
        return self._idle if self._session is None else self._session.live

    @property
    def running(self) -> bool:
        return self._session is not None and not self._session.finished

    def start(self) -> None:
        """Watch from now on; nothing happens if that was done before."""
        if self._session is not None or self.refused is not None:
            return
        session = Session(self._settings, self._laws, on_exit=self._close_trace)
        if session.learner is not None:
            self._recall(session.learner)
        if session.sampler is not None and self._confidence_history is not None:
            self._confidence_history.recall(session.sampler.confidence)
        try:
            session.start()
        except Exception as error:  # an internal error, or too many tools watch this process already
            self.refused = f"{type(error).__name__}: {error}"
            with suppress(Exception):
                session.finish()
            return
        self.core = session.core.name
        self._session = session

    def _tracking(self) -> SampleTracking | None:
        """The samples of other processes, if tests run there."""
        if self._settings.demand is None:
            return None
        from lawful.engine.sample_tracking import SampleTracking

        tracking = SampleTracking(self._laws, self._settings.demand)
        if self._confidence_history is not None:
            self._confidence_history.recall(tracking.confidence)
        return tracking

    def discard(self) -> None:
        """Forget the events so far: the tests run in other processes."""
        self.stop()
        self._session = None

    def enter(self, context: str | None) -> None:
        """What happens from now on belongs to this part of the session."""
        if self._session is not None and not self._session.finished:
            self._session.tracer.flush()
            self._session.live.log.context = context

    def stop(self) -> None:
        """Watch no more."""
        if self._session is not None:
            self._session.finish()

    # -- learning ---------------------------------------------------------------------------------

    @property
    def learns(self) -> bool:
        return self._settings.learn is not None

    def learned(self) -> dict[str, Any] | None:
        """The counts of this process, for another one that merges them."""
        return None if self.live.learner is None else self.live.learner.learner.snapshot()

    def learn_from(self, processes: Iterable[Mapping[str, Any]]) -> None:
        """Merge the counts of other processes."""
        from lawful.engine.live_learning import LiveLearner

        assert self._settings.learn is not None
        live = LiveLearner(self._settings.learn)
        self._recall(live)
        for snapshot in processes:
            live.learner.merge(snapshot)
        live.finish()
        self.live.learned(live)

    def _recall(self, live: LiveLearner) -> None:
        if self._memory is not None:
            self._memory.recall(live.learner)

    def keep(self) -> None:
        """Add the counts to the store."""
        if self._confidence_history is not None and self.live.tracking is not None:
            try:
                self._confidence_history.keep(self.live.tracking.confidence)
            except LawfulError as error:
                self.live.warn(f"cannot keep the samples: {error.message}")
        if self._memory is None or self.live.learner is None:
            return
        try:
            self._memory.keep(self.live.learner.learner)
        except LawfulError as error:
            self.live.warn(f"cannot keep the learned rules: {error.message}")
        self.live.learner.learner.change(all_rules=False)

    def fail(self, error: Exception) -> None:
        """Report an internal error, and let the session go on unwatched."""
        self.live.fail(error)
        with suppress(Exception):
            self.stop()

    def _close_trace(self, code: int) -> None:
        if self._session is not None and self._session.recording.writer is not None:
            self._session.recording.writer.close()


def changed_findings(live: LawRun, counts: dict[tuple[object, ...], int]) -> list[Finding]:
    """The findings that are new, or were made again, since the counts were last brought up to date; now they are."""
    changed = []
    for finding in live.findings:
        key = finding.key
        if counts.get(key) != finding.count:
            counts[key] = finding.count
            changed.append(finding)
    return changed
