"""The tracer of one process under watch, and what it is to see."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from lawful.sources.python import children
from lawful.sources.python.watch_planner import LawWatchPlanner

if TYPE_CHECKING:
    from lawful.engine.live_learning import LiveLearner
    from lawful.engine.tracer_sampling import TracerSampler
    from lawful.engine.watch_settings import WatchSettings
    from lawful.laws.protocol import Law
    from lawful.sources.actors.messages import MessageSource
    from lawful.sources.python.tracer_choice import Core
    from lawful.sources.python.tracer_protocol import Event, Tracer


_LAZY_BATCH = 1024  # lazy events are judged so fast that it pays to do it while the processor still caches them


class TracerSetup:
    """The tracer for certain laws, which hands events to `deliver`.

    When code first runs, the tracer decides what laws can match there: other laws take another tracer.
    """

    def __init__(
        self,
        settings: WatchSettings,
        laws: Sequence[Law],
        core: Core,
        deliver: Callable[[list[Event]], None],
        *,
        learner: LiveLearner | None,
        sampler: TracerSampler | None,
        join_token: Callable[[], str],
        serve: Callable[[], None],
    ) -> None:
        """`join_token` makes a file by which processes of others join the run; `serve` then answers their questions."""
        self._settings = settings
        self._laws = laws
        self._core = core
        self._brief = False
        self._drops = settings.drop and core.name != "python"  # which always lets the program wait
        # A trace, and joins of objects, need events with all parts.
        detail = settings.trace is not None or (settings.learn is not None and bool(settings.learn.joins))
        self.watched = LawWatchPlanner(
            laws,
            settings.scope,
            main=settings.main,
            learn=learner is not None and not detail,
            sampling=None if sampler is None else sampler.sampling,
        )
        self.messages = self._listen(join_token, serve)  # between groups, if there are views
        self.watching = children.ProcessWatchPlanner(self.messages or self.watched, messages=learner is not None)
        self.tracer: Tracer = core.make(
            self.watching,
            deliver,
            synchronous=settings.at_once,
            gone=self.watched.gone or sampler is not None,
            learner=None if detail else learner,
            flush_at=self.gathered,
            limit=settings.buffer if self._drops else 0,
        )
        if self.messages is not None:
            self.messages.attach(self.tracer)
        if sampler is not None:
            sampler.attach(self.tracer, self.watched)

    def _listen(self, join_token: Callable[[], str], serve: Callable[[], None]) -> MessageSource | None:
        settings = self._settings
        if not any(law.language == "view" for law in self._laws):
            return None
        from lawful.sources.actors.messages import MessageSource  # only runs with views wait for it

        messages = MessageSource(
            self.watched,
            self._laws,
            dict(settings.groups),
            numbered=settings.trace is not None,
            at_once=settings.at_once,
            judged=settings.judge or settings.refers,
        )
        messages.join_token, messages.serve = join_token, serve
        return messages

    def recorder(self, write: Callable[[list[Event]], None]) -> Tracer:
        """Another tracer, not started, for a trace of everything."""
        wanted = LawWatchPlanner(self._laws, self._settings.scope, main=self._settings.main)
        tracer: Tracer = self._core.make(wanted, write, gone=True, flush_at=self._settings.buffer)
        tracer.take_over(self.tracer)
        return tracer

    @property
    def warnings(self) -> tuple[str, ...]:
        """What the tracer cannot see."""
        return (*self.watched.warnings, *(() if self.messages is None else self.messages.warnings))

    @property
    def gathered(self) -> int:
        """How many events are gathered before they are judged, if the clock does not come first."""
        if self._drops:
            return self._settings.buffer + 1  # a full buffer that may overflow is not emptied
        return min(self._settings.buffer, _LAZY_BATCH) if self._brief else self._settings.buffer

    def use_lazy_events(self) -> None:
        """Make no dicts of events, if the tracer can do without."""
        if self._core.name != "python":
            self.tracer.lazy_events = self._brief = True
            self.deliver_in_batches()

    def emit_rest(self) -> None:
        """Emit the rest of what other processes have sent."""
        for event in () if self.messages is None else self.messages.rest():
            self.tracer.emit(event)

    def deliver_next_at_once(self) -> None:
        self.tracer.flush_at = 1

    def deliver_in_batches(self) -> None:
        self.tracer.flush_at = self.gathered

    def after_fork(self, number: int) -> None:
        """This process is now a child, with this number."""
        self.tracer.after_fork(number)
        if self.messages is not None:
            self.messages.after_fork(number)
