"""Watching from inside a program: `lawful.watch` around a block, or on a function."""

from __future__ import annotations

import functools
import inspect
import os
import sys
import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from types import CodeType
from typing import TYPE_CHECKING, Any, ParamSpec, Self, TypeVar, Union

from lawful.engine.run import LawRun
from lawful.engine.violations import OnViolation
from lawful.errors import LawfulError

if TYPE_CHECKING:
    from lawful.confidence.engine import Demand
    from lawful.confidence.policy_automaton import Policy
    from lawful.confidence.store import ConfidenceHistory
    from lawful.confidence.summary import Summaries
    from lawful.engine.findings import Finding
    from lawful.engine.session import Session
    from lawful.engine.watch_settings import WatchSettings
    from lawful.laws.grammar.groups import Binding
    from lawful.laws.protocol import Law
    from lawful.learning.learner import Learner
    from lawful.learning.parameters import Learning
    from lawful.sources.python.scope import Scope

P = ParamSpec("P")
R = TypeVar("R")

Laws = Iterable["str | os.PathLike[str] | Law"]
Learn = Union[bool, Mapping[str, Any], "Learning"]
_CHOICES = ("report", "raise", "stop", "count")
_MAX_SHOWN = 50  # findings in a notebook


@dataclass(frozen=True)
class Sampling:
    """Check laws about objects on samples, until this confidence is reached that fewer objects than the error rate
    break them."""

    confidence: float | None = None
    """How sure to be: 0.999 by default."""

    error_rate: float | None = None
    """The share of violating objects to rule out: 0.001 by default."""

    policy: str | os.PathLike[str] | Policy | None = None
    """Which objects to follow: a name, a file, or a `lawful.Policy`."""

    overhead: float | str | None = None
    """The share of the program's time to spend, as 0.05 or "5%". It cannot be combined with `policy`."""

    seed: int | None = None
    store: str | os.PathLike[str] | None = None
    """A file that keeps the samples from run to run."""

    def demand(self) -> Demand:
        """What to reach, checked."""
        from lawful.config import SamplingConfig
        from lawful.engine.sample_tracking import demand

        for name, kinds in (
            ("confidence", (int, float)),
            ("error_rate", (int, float)),
            ("overhead", (int, float, str)),
            ("seed", int),
        ):
            value = vars(self)[name]
            if value is not None and (isinstance(value, bool) or not isinstance(value, kinds)):
                raise LawfulError("watch-option", f"{name} is {value!r:.60}", hint="it is a number")
        share = self.overhead if isinstance(self.overhead, str | None) else repr(self.overhead)
        asked = SamplingConfig(self.confidence, self.error_rate, None, share, self.seed)
        if isinstance(self.policy, str | os.PathLike):
            return demand(replace(asked, policy=os.fspath(self.policy)))
        return demand(asked, policy=self.policy)


class Watch:
    """A watched block of the program, and the findings in it; `lawful.watch` makes it.

    While it lasts, all threads are watched. The end of the block is the end of the laws' traces. Watches can be nested,
    or run in several threads at once: each sees all that happens while it lasts.
    """

    def __init__(
        self,
        laws: Sequence[Law],
        settings: WatchSettings,
        on_finding: Callable[[Finding], None] | None = None,
        store: str | None = None,
    ) -> None:
        """`store` is a file with the samples of earlier runs, to which this one adds its own."""
        if settings.demand is None and settings.on_violation == "count":
            hint = "add sampling=lawful.Sampling(confidence=0.999)"
            raise LawfulError("watch-option", "nothing is sampled, so there is nothing to count", hint=hint)
        self._laws = laws
        self._settings = settings
        self._on_finding = on_finding
        self._session: Session | None = None
        self._live = LawRun(laws)
        self._store = store
        self._learner: Learner | None = None  # of earlier watches
        self._before = 0  # events of these

    @property
    def findings(self) -> list[Finding]:
        """The findings so far. Anomalies, which break learned rules, come at the end of the block."""
        return self._run().findings

    @property
    def events(self) -> int:
        """How many events there were so far."""
        events = self._run().events
        live = None if self._session is None else self._session.learner
        if live is not None and live.direct and self._live.learner is None:  # which counts them at the end
            events += live.learner.events - self._before
        return events

    @property
    def learner(self) -> Learner | None:
        """The learner, if rules are learned. It can be asked for rules and anomalies, and changed, at any time."""
        self._run()
        live = None if self._session is None else self._session.learner
        return None if live is None else live.learner

    @property
    def confidence(self) -> Summaries:
        """The confidence in each law about objects so far, by class, if objects are sampled."""
        from lawful.confidence.summary import Summaries

        tracking = self._run().tracking
        return Summaries() if tracking is None else Summaries(tracking.confidence.summary())

    @property
    def warnings(self) -> list[str]:
        """Internal errors, dropped events, and values that laws could not use."""
        run = self._run()
        lost = [f"{run.dropped} events were dropped"] if run.dropped else []
        return [*run.errors, *lost, *run.warnings]

    def report(self) -> str:
        """All of it as text."""
        from lawful.reports.formats import render_run

        return render_run(self._run(), "text", self._settings.scope.project)

    def snapshot(self) -> dict[str, Any]:
        """All of it in JSON's types."""
        run = self._run()
        snapshot = run.snapshot()
        if run.tracking is not None:
            from lawful.reports.confidence import plain_json

            del snapshot["samples"]
            snapshot["confidence"] = plain_json(run.tracking.confidence.summary())
        return snapshot if self.learner is None else snapshot | {"learned": self.learner.to_json()}

    def _repr_html_(self) -> str:
        """The findings and the confidence, for notebooks."""
        from lawful import markup

        sure = self.confidence
        parts = [
            f"<p>{markup.text(repr(self)[1:-1])}</p>",
            *(each._repr_html_() for each in self.findings[:_MAX_SHOWN]),
        ]
        left = len(self.findings) - _MAX_SHOWN
        if left > 0:
            parts.append(f"<p>and {left:,} more</p>")
        return "".join([*parts, *([sure._repr_html_()] if sure else [])])

    def _repr_svg_(self) -> str | None:
        """How confidence grew, if objects are sampled."""
        sure = self.confidence
        if not any(summary.series and summary.laws for summary in sure):
            return None
        from lawful.reports.confidence import picture

        return picture(sure)

    def __repr__(self) -> str:
        state = "not begun" if self._session is None else "ended" if self._live.ended else "at work"
        return f"<lawful.watch {state}: {len(self._live.findings)} findings in {self._live.events} events>"

    def _run(self) -> LawRun:
        if self._session is not None and not self._live.ended:
            self._session.tracer.flush()
            if self._session.learner is not None:
                self._session.learner.catch_up()
        return self._live

    def __call__(self, function: Callable[P, R]) -> Callable[P, R]:
        """Watch every call of a function, method, coroutine function or generator.

        Calls that overlap are watched together. The results of all calls are in `function.lawful`.
        """
        wrapped: Callable[P, R] = _wrapped(
            function, WatchedCalls(lambda: Watch(self._laws, self._settings, self._on_finding, self._store))
        )
        return wrapped

    def __enter__(self) -> Self:
        from lawful.engine.session import Session

        if self._session is not None:
            raise RuntimeError("a watch is used once; make another with lawful.watch(...)")
        session = Session(self._settings, self._laws, on_finding=self._on_finding)
        self._reuse_learner(session)
        confidence_history = self._confidence_history()
        if confidence_history is not None and session.sampler is not None:
            confidence_history.recall(session.sampler.confidence)
        try:
            session.start()
        except BaseException as error:
            session.finish()
            if isinstance(error, RuntimeError):
                raise LawfulError(
                    "watch-refused",
                    f"the interpreter does not let this program be watched: {error}",
                    hint="end other watches, debuggers and profilers first",
                ) from error
            raise
        self._session, self._live = session, session.live
        return self

    def __exit__(self, *exception: object) -> None:
        session = self._session
        if session is None or session.finished:
            return
        session.finish()
        confidence_history = self._confidence_history()
        if confidence_history is not None and session.sampler is not None:
            confidence_history.keep(session.sampler.confidence)
        if session.learner is None:
            return
        session.learner.learner.on_new_window = None  # a change from now on must not reach the tracer
        if session.live.learner is not None and session.learner.direct:
            session.live.discount(self._before)
        if self._on_finding is not None:
            try:
                for finding in session.live.findings:
                    if finding.anomaly is not None:
                        self._on_finding(finding)
            except Exception as error:
                session.live.fail(error)

    def _confidence_history(self) -> ConfidenceHistory | None:
        """The samples of earlier runs, if there is a store."""
        if self._settings.demand is None or self._store is None:
            return None
        from lawful.confidence.store import ConfidenceHistory

        return ConfidenceHistory(self._store, self._laws)

    def continue_learning(self, learner: Learner | None) -> None:
        """Begin with the learner of earlier watches."""
        self._learner = learner
        self._before = 0 if learner is None else learner.events

    def snapshot_without_anomalies(self) -> dict[str, Any]:
        """All but the anomalies, to be merged into another run."""
        snapshot = self._run().snapshot()
        snapshot["findings"] = [finding for finding in snapshot["findings"] if "anomaly" not in finding]
        return snapshot

    def _reuse_learner(self, session: Session) -> None:
        live = session.learner
        if self._learner is None or live is None:
            return
        self._learner.next_trace()  # objects of other watches are other objects
        live.learner = self._learner
        if session.tracer.learns:
            session.tracer.learner = live  # it takes the window anew


def watch(
    laws: Laws | str | os.PathLike[str] | None = None,
    *,
    scope: Scope | None = None,
    learn: Learn = False,
    sampling: Sampling | None = None,
    on_violation: OnViolation = "report",
    on_finding: Callable[[Finding], None] | None = None,
    history: int = 10,
    trace: str | os.PathLike[str] | None = None,
    project: str | os.PathLike[str] | None = None,
    groups: Mapping[str, str | Iterable[str]] | None = None,
) -> Watch:
    """Watch a block of the program: `with lawful.watch(["files"]) as run: ...`, then `run.findings`.

    As a decorator, `@lawful.watch(["files"])`, it watches every call of a function; the findings are in
    `function.lawful.findings`. Without laws, scope, learning, sampling and trace, the project's `[tool.lawful]` says
    what to watch and to check.

    `laws` are files, names of the catalogue, or laws that `lawful.load_law` or `lawful.rml.compile` have made. Lawful
    watches what they can match, and what the `scope` names. Own code is the code in the `project` folder: by default
    that of the file that calls this.

    `learn`: True, or parameters as `{"window": 50}` or `lawful.Learning(window=50)`: learn rules, and report what
    breaks them. Without a scope, Lawful learns from the calls that own code makes to libraries. `run.learner` is the
    learner.

    `sampling`: check laws about objects on samples. `run.confidence` is the confidence reached.

    `on_violation`: "report" keeps a finding. "raise" raises `lawful.Violation` in place of a call that breaks a law.
    "stop" ends the program as `sys.exit(1)` does: each thread where it next does something watched. "count", when
    sampling, only counts violations. `on_finding` is called with each finding when it is made. A finding keeps
    `history` earlier events. `trace` is a file to which all events are written. `groups` says what the groups of views
    are, if the views do not: `{"WorkerGroup": "class app.Worker"}`.
    """
    from lawful.config import find_project
    from lawful.engine.watch_settings import WatchSettings
    from lawful.sources.python.scope import Scope

    _check_choices(on_violation, history)
    folder = find_project(_file(sys._getframe(1).f_code) if project is None else project)
    if laws is None and scope is None and sampling is None and trace is None and not learn:
        return _configured(folder, on_violation, on_finding)
    asked = Scope() if scope is None else scope
    settings = WatchSettings(
        scope=Scope(asked.calls, asked.public, asked.fields, asked.include, asked.exclude, folder),
        trace=_path(trace),
        history=history,
        on_violation=on_violation,
        demand=None if sampling is None else sampling.demand(),
        groups=_groups(groups),
    )
    store = None if sampling is None else _path(sampling.store)
    return Watch(_loaded(laws), _with_learner(settings, learn), on_finding, store)


def _configured(folder: Path, on_violation: OnViolation, on_finding: Callable[[Finding], None] | None) -> Watch:
    """The watch that the project's configuration describes."""
    from lawful.config import load
    from lawful.run_setup import watch_settings, with_learner

    config = load(os.fspath(folder))
    settings = watch_settings(config, folder, on_violation=config.on_violation or on_violation)
    if config.sampling.asked:
        from lawful.engine.sample_tracking import demand

        settings = replace(settings, demand=demand(config.sampling))
    if config.learn.always or not config.laws:
        settings, _ = with_learner(settings, replace(config.learn, store=None))
    return Watch(_loaded(config.laws), settings, on_finding, config.sampling.store)


def _check_choices(on_violation: str, history: int) -> None:
    if on_violation not in _CHOICES:
        raise LawfulError("watch-option", f"on_violation is {on_violation!r}", hint=f"it is {', '.join(_CHOICES)}")
    if not isinstance(history, int) or not 0 <= history <= sys.maxsize:
        raise LawfulError("watch-option", f"history is {history!r}", hint="it is a number of events, from 0")


def _path(path: str | os.PathLike[str] | None) -> str | None:
    return None if path is None else os.fspath(path)


def _groups(groups: Mapping[str, str | Iterable[str]] | None) -> tuple[tuple[str, tuple[Binding, ...]], ...]:
    """What the groups of views are."""
    if not groups:
        return ()
    from lawful.laws.grammar.groups import read_binding

    return tuple((name, tuple(map(read_binding, _names(texts)))) for name, texts in groups.items())


def _names(names: Iterable[str]) -> tuple[str, ...]:
    return (names,) if isinstance(names, str) else tuple(names)


def _with_learner(settings: WatchSettings, learn: Learn) -> WatchSettings:
    """The settings of a watch that learns, if it does."""
    if learn is False or learn is None:
        return settings
    from lawful.engine.learner_setup import widened
    from lawful.learning.parameters import Learning

    if not isinstance(learn, bool | Learning | Mapping):
        hint = "it is True, or the parameters: a dict, or lawful.Learning"
        raise LawfulError("watch-option", f"learn is {learn!r:.60}", hint=hint)
    parameters = learn if isinstance(learn, Learning) else Learning()
    if isinstance(learn, Mapping):
        parameters = parameters.changed(**learn)
    return replace(settings, scope=widened(settings.scope), learn=parameters)


def _loaded(laws: Laws | str | os.PathLike[str] | None) -> list[Law]:
    from lawful.laws.loader import find_laws, load_law

    loaded: list[Law] = []
    named: set[str] = set()  # a law of the catalogue may be in several of its parts
    for each in (laws,) if isinstance(laws, str | os.PathLike) else laws or ():
        if not isinstance(each, str | os.PathLike):
            if not hasattr(each, "monitor"):
                hint = "a law is a file, a name of the catalogue, or what lawful.load_law returns"
                raise LawfulError("watch-option", f"{each!r:.60} is no law", hint=hint)
            loaded.append(each)
            continue
        for name, path in find_laws(each).items():
            if name not in named:
                named.add(name)
                loaded.append(load_law(path, name=name))
    return loaded


class WatchedCalls:
    """The results of all calls of one watched function, as `function.lawful`.

    Calls that overlap, as by recursion or in several threads, are watched together. If Lawful learns rules, each call
    goes on where the last one was.
    """

    def __init__(self, make: Callable[[], Watch]) -> None:
        self._make = make
        self._lock = threading.Lock()
        self._depth = 0
        self._watch: Watch | None = None
        self._total = LawRun([])
        self._total.processes = 0
        self._anomalies: list[Finding] = []  # as they are after the last call
        self.learner: Learner | None = None
        """The learner, if rules are learned, from the first call on."""
        self.calls = 0
        """How many times the watch has begun and ended."""

    @property
    def findings(self) -> list[Finding]:
        """The findings in all calls that have ended."""
        return [*self._total.findings, *self._anomalies]

    @property
    def events(self) -> int:
        return self._total.events

    @property
    def warnings(self) -> list[str]:
        return [*self._total.errors, *self._total.warnings]

    def __enter__(self) -> None:
        with self._lock:
            if self._watch is None:
                watch = self._make()
                watch.continue_learning(self.learner)
                self._watch = watch.__enter__()
                self.learner = watch.learner
            self._depth += 1

    def __exit__(self, *exception: object) -> None:
        with self._lock:
            self._depth -= 1
            if self._depth == 0 and self._watch is not None:
                watch, self._watch = self._watch, None
                watch.__exit__(*exception)
                self._anomalies = [finding for finding in watch.findings if finding.anomaly is not None]
                self._total.merge(watch.snapshot_without_anomalies())
                self._total.processes = 1
                self.calls += 1


def _file(code: CodeType) -> str:
    return code.co_filename if os.path.exists(code.co_filename) else os.getcwd()


def _wrapped(function: Any, calls: WatchedCalls) -> Any:
    if not inspect.isroutine(function):
        raise TypeError(f"lawful.watch decorates functions and methods, not {type(function).__name__} objects")
    if isinstance(function, staticmethod | classmethod):
        return type(function)(_wrapped(function.__func__, calls))
    wrapper: Any
    if inspect.iscoroutinefunction(function):

        @functools.wraps(function)
        async def wrapper(*args: Any, **kwargs: Any) -> Any:
            with calls:
                return await function(*args, **kwargs)

    elif inspect.isasyncgenfunction(function):

        @functools.wraps(function)
        async def wrapper(*args: Any, **kwargs: Any) -> Any:
            with calls:
                inner = function(*args, **kwargs)
                step = inner.asend(None)
                try:
                    while True:
                        try:
                            item = await step
                        except StopAsyncIteration:
                            return
                        try:
                            sent = yield item
                        except GeneratorExit:
                            raise
                        except BaseException as error:
                            step = inner.athrow(error)
                        else:
                            step = inner.asend(sent)
                finally:
                    await inner.aclose()

    elif inspect.isgeneratorfunction(function):

        @functools.wraps(function)
        def wrapper(*args: Any, **kwargs: Any) -> Any:
            with calls:
                return (yield from function(*args, **kwargs))

    else:

        @functools.wraps(function)
        def wrapper(*args: Any, **kwargs: Any) -> Any:
            with calls:
                return function(*args, **kwargs)

    wrapper.lawful = calls
    return wrapper
