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


_LAZY_BATCH = 1024
"""Events in brief are judged, or written, so fast that it pays to do it while they are still near the processor."""


class TracerSetup:
    """Who looks at the program for certain laws, and tells `deliver` what there is to see.

    What a law can match is decided when code is first seen: for other laws it takes another one.
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
        """`join_token` makes a file with which processes of others join the run; then `serve` answers what they ask."""
        self._settings = settings
        self._laws = laws
        self._core = core
        self._brief = False
        self._drops = settings.drop and core.name != "python"  # which always lets the program wait
        # What is written into a trace, and what joins objects, is told with all its parts.
        detail = settings.trace is not None or (settings.learn is not None and bool(settings.learn.joins))
        self.watched = LawWatchPlanner(
            laws,
            settings.scope,
            main=settings.main,
            learn=learner is not None and not detail,
            sampling=None if sampler is None else sampler.sampling,
        )
        self.messages = self._listen(join_token, serve)
        """Sees the messages between groups, if there are views."""
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
        from lawful.sources.actors.messages import MessageSource  # a run without views must not wait for it

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
        """Another tracer, for a trace of all that there is to see; it has not begun."""
        wanted = LawWatchPlanner(self._laws, self._settings.scope, main=self._settings.main)
        tracer: Tracer = self._core.make(wanted, write, gone=True, flush_at=self._settings.buffer)
        tracer.take_over(self.tracer)
        return tracer

    @property
    def warnings(self) -> tuple[str, ...]:
        """What could not be seen."""
        return (*self.watched.warnings, *(() if self.messages is None else self.messages.warnings))

    @property
    def gathered(self) -> int:
        """How many events are gathered before they are judged, if the clock does not come first."""
        if self._drops:
            return self._settings.buffer + 1  # a buffer that may overflow is not emptied when it is full
        return min(self._settings.buffer, _LAZY_BATCH) if self._brief else self._settings.buffer

    def use_lazy_events(self) -> None:
        """Let no dicts be made of events, if the tracer can do without."""
        if self._core.name != "python":
            self.tracer.lazy_events = self._brief = True
            self.deliver_in_batches()

    def emit_rest(self) -> None:
        """What other processes have sent, as far as it was not told yet."""
        for event in () if self.messages is None else self.messages.rest():
            self.tracer.emit(event)

    def deliver_next_at_once(self) -> None:
        """Tell of the next event at once."""
        self._gather(1)

    def deliver_in_batches(self) -> None:
        """Tell of events when there are many, as in the beginning."""
        self._gather(self.gathered)

    def _gather(self, number: int) -> None:
        self.tracer.flush_at = number

    def after_fork(self, number: int) -> None:
        """This process is a child now, with this number."""
        self.tracer.after_fork(number)
        if self.messages is not None:
            self.messages.after_fork(number)
