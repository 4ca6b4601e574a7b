"""Gives events to the laws that they concern. The C core has a twin of `dispatch`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from lawful import core
from lawful.engine.findings import Event
from lawful.engine.law_judge import LawJudge
from lawful.engine.routing import Routes

if TYPE_CHECKING:
    from lawful.engine.sample_tracking import SampleTracking

SeenBy = dict[int | str, tuple[LawJudge, ...]]
"""By id, the laws that have seen an object, until it is gone: its end need not go to the others."""


_FEW_LAWS = 3  # a law skips an event as fast as a route is looked up


class Router:
    """Which laws get which events: those that they can match, by kind and name.

    On a whole trace, laws that are not selective get all events, and the others the first one at least.
    """

    def __init__(
        self, laws: Sequence[LawJudge], tracking: SampleTracking | None, seen: SeenBy, *, whole_trace: bool
    ) -> None:
        awake = [each for each in laws if not (each.over or each.paused)]
        self.direct = [each for each in awake if not each.law.selective] if whole_trace else []
        """The laws that get all events."""
        if whole_trace and len(awake) - len(self.direct) <= _FEW_LAWS:
            self.direct = awake
        self._routed = [each for each in awake if each not in self.direct]
        self.routes = Routes((each, each.law) for each in self._routed)
        self._tracking = tracking
        self._whole_trace = whole_trace
        self._seen = None if whole_trace or tracking is not None else seen

    def dispatch(self, batch: list[Event], first: int, kept: list[tuple[int, Event]]) -> int:
        """Put events, numbered from `first` on, into the queues of laws. What concerns a law is kept. The last thread.

        Laws of `direct` are not among them: they get the whole batch.
        """
        if self._whole_trace:
            if not self._routed:
                return 0
            if first == 1 and batch:
                for each in self._routed:
                    each.queue.events.append(batch[0])
                    each.queue.numbers.append(1)
                batch, first = batch[1:], 2
        tracking = self._tracking
        if core.native is None:
            return dispatch(batch, first, self.routes, kept, tracking, self._seen)
        admit, follows_all = (None, None) if tracking is None else (tracking.admit, tracking.follows_all)
        thread: int = core.native.dispatch(batch, first, self.routes, kept, admit, follows_all, self._seen)
        return thread

    def drop(self, judge: LawJudge) -> None:
        """This law is over."""
        if judge in self.direct:
            self.direct.remove(judge)
        else:
            self._routed.remove(judge)
            self.routes.drop(judge)


def dispatch(
    batch: list[Event],
    first: int,
    routes: Routes[LawJudge],
    kept: list[tuple[int, Event]],
    samples: SampleTracking | None,
    seen: SeenBy | None,
) -> int:
    """Give events, numbered from the first on, to laws. What laws have to do with is kept. The highest thread."""
    for entry in enumerate(batch, first):
        number, event = entry
        try:
            concerned = routes[event["event"], event.get("name")]
        except (KeyError, TypeError):  # it has no kind, or its name is not a string
            concerned = routes.find(event.get("event"), event.get("name"))
        if samples is not None:
            concerned = samples.admit(event, concerned)
        known = False
        if seen is None:
            pass
        elif event.get("event") == "gone" and event.get("targetId").__class__ in (int, str):
            known, concerned = _end_listeners(seen.pop(event["targetId"], None), concerned)
        else:
            tracking = tuple(each for each in concerned if each.queue.tracks_objects)
            if tracking:
                _note_objects(event, tracking, seen)
        if concerned or known:
            kept.append(entry)
            for each in concerned:
                each.queue.events.append(event)
                each.queue.numbers.append(number)
    return max((thread for event in batch if (thread := event.get("thread")).__class__ is int), default=0)


def _note_objects(event: Event, laws: tuple[LawJudge, ...], seen: SeenBy) -> None:
    """These laws have seen all objects that an event mentions."""
    for each in _ids_in(event):
        before = seen.get(each, ())
        news = tuple(law for law in laws if law not in before)
        if news:
            seen[each] = before + news


def _end_listeners(
    seen: tuple[LawJudge, ...] | None, concerned: tuple[LawJudge, ...]
) -> tuple[bool, tuple[LawJudge, ...]]:
    """Has a law seen an object that is gone; and the laws that must get its end.

    A law may stop ignoring such ends when it judges other events of the batch.
    """
    listeners = tuple(
        each for each in concerned if not each.queue.ignores_unseen_end or each.queue.events or each in (seen or ())
    )
    return seen is not None, listeners


def _ids_in(event: Event) -> Iterator[int | str]:
    """The ids of all objects that a law may hear of by an event."""
    args, named = event.get("argIds"), event.get("kwargIds")
    for each in (
        *(event.get(key) for key in ("targetId", "resultId", "excId", "task")),
        *(args if isinstance(args, list | tuple) else ()),
        *(named.values() if isinstance(named, dict) else ()),
    ):
        if each.__class__ in (int, str):
            yield each
