"""The laws of a run, and which events each of them gets. The C core has a twin of `dispatch`."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from lawful import core
from lawful.engine.findings import Event
from lawful.engine.law_judge import LawJudge
from lawful.laws.protocol import Law, Watch

if TYPE_CHECKING:
    from lawful.engine.sample_tracking import SampleTracking

SeenBy = dict[int | str, tuple[LawJudge, ...]]
"""By id, the laws that have seen an object, until it is gone: the other laws do not need its end."""

_FEW_LAWS = 3  # a law skips an event as fast as a route is looked up
_MOST_ROUTES = 100_000  # a program may use any number of names
_UNSEEN = re.compile(r"invariant-(\w+)-unseen:")


class LawSet:
    """The laws of a run, each with its state. After laws come or go, `route` updates the router."""

    def __init__(
        self, laws: Sequence[Law], tracking: SampleTracking | None, *, whole_trace: bool, first_only: bool
    ) -> None:
        self._tracking = tracking
        self._whole_trace = whole_trace
        self._first_only = first_only
        self._seen: SeenBy = {}
        self.judges: list[LawJudge] = []
        self.add(laws)
        if tracking is not None:
            tracking.attach_laws(self.judges)
        self.route()

    def _judge(self, part: Law, law: Law) -> LawJudge:
        options = {"whole_trace": self._whole_trace, "first_only": self._first_only}
        return LawJudge(part, self._tracking, whole=law, **options)

    def route(self) -> None:
        """Give events to the present laws."""
        self.router = Router(self.judges, self._tracking, self._seen, whole_trace=self._whole_trace)

    def add(self, laws: Sequence[Law]) -> list[LawJudge]:
        """Add laws, each in its first state."""
        added = [self._judge(part, law) for law in laws for part in law.parts]
        self.judges += added
        return added

    def remove(self, name: str) -> None:
        self.judges = [each for each in self.judges if each.law.name != name]

    def pause(self, name: str, paused: bool) -> None:
        """Pause a law, or resume it in its first state."""
        for at, each in enumerate(self.judges):
            if each.law.name == name and each.paused != paused:
                if not paused:
                    each = self.judges[at] = self._judge(each.law, each.whole)
                each.paused = paused

    def warnings(self, *, elsewhere: bool) -> Iterator[str]:
        """The warnings of laws; `elsewhere`: other processes may have seen what this process has not."""
        for each in self.judges:
            for text in each.monitor.warnings():
                unseen = _UNSEEN.match(text)
                if unseen is None or not (elsewhere or self._seen_before(each, unseen[1])):
                    yield f"{each.law.name}: {text}"

    def _seen_before(self, judge: LawJudge, what: str) -> bool:
        """May an earlier run, whose samples were enough, have seen this? A sampled object may have had no event."""
        kind = None if self._tracking is None else self._tracking.confidence.groups.get(judge.kind)
        return kind is not None and bool(kind.before or (kind.taken and what == "class"))

    def first_events(self) -> dict[str, list[Event]]:
        """The first events of each law in this process, a child."""
        return {each.law.name: each.first_events for each in self.judges if each.first_events}

    def prepare_for(self, first_events: Mapping[str, list[Event]]) -> None:
        """Prepare laws for what a child did, so that later children inherit the work."""
        for each in self.judges:
            if each.law.name in first_events:
                with suppress(Exception):  # a law that fails here fails again where it counts
                    each.prepare_for(first_events[each.law.name])


class Routes(dict[tuple[Any, Any], tuple[LawJudge, ...]]):
    """The laws that can match events of a kind and a name, in order; an entry is made when it is first looked up.

    Kinds and names that cannot be keys are for `find`.
    """

    def __init__(self, laws: Iterable[LawJudge]) -> None:
        self._by_name: dict[Any, list[LawJudge]] = {}
        self._of_any_name: list[LawJudge] = []
        self._order: dict[LawJudge, int] = {}
        for number, each in enumerate(laws):
            self._order[each] = number
            names = _names(each.law.watches)
            if names is None:
                self._of_any_name.append(each)
            for name in names or ():
                self._by_name.setdefault(name, []).append(each)

    def __missing__(self, key: tuple[Any, Any]) -> tuple[LawJudge, ...]:
        if len(self) >= _MOST_ROUTES:
            self.clear()
        found = self[key] = self.find(*key)
        return found

    def find(self, kind: Any, name: Any) -> tuple[LawJudge, ...]:
        try:
            named = self._by_name.get(name, ())
        except TypeError:
            named = ()
        found = (each for each in (*self._of_any_name, *named) if each in self._order)
        return tuple(
            sorted((each for each in found if _fits(each.law.watches, kind, name)), key=self._order.__getitem__)
        )

    def drop(self, law: LawJudge) -> None:
        """Route nothing more to this law."""
        del self._order[law]
        self.clear()


def _names(watches: tuple[Watch, ...] | None) -> set[Any] | None:
    """The names that a law can match; None: any."""
    found: set[Any] = set()
    for watch in (Watch(()),) if watches is None else watches:
        names = dict(watch.keys).get("name")
        if names is None:
            return None
        found.update(names)
    return found


def _fits(watches: tuple[Watch, ...] | None, kind: Any, name: Any) -> bool:
    given = {"event": kind, "name": name}
    return watches is None or any(
        all(values is None or key not in given or given[key] in values for key, values in watch.keys)
        for watch in watches
    )


class Router:
    """Gives each event to the laws that can match its kind and name.

    On a whole trace, laws that are not selective get all events, and the others get the first one at least.
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
        self.routes = Routes(self._routed)
        self._tracking = tracking
        self._whole_trace = whole_trace
        self._seen = None if whole_trace or tracking is not None else seen

    def dispatch(self, batch: list[Event], first: int, kept: list[tuple[int, Event]]) -> int:
        """Put events, numbered from `first` on, into the queues of laws, and into `kept`; returns the highest thread.

        Laws of `direct` get no queue: they take the whole batch.
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
    routes: Routes,
    kept: list[tuple[int, Event]],
    samples: SampleTracking | None,
    seen: SeenBy | None,
) -> int:
    """Give events, numbered from `first` on, to laws, and keep those that concern one; returns the highest thread."""
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
            laws = seen.pop(event["targetId"], None)
            known, concerned = laws is not None, _end_listeners(laws or (), concerned)
        else:
            _note_objects(event, tuple(each for each in concerned if each.queue.tracks_objects), seen)
        if concerned or known:
            kept.append(entry)
            for each in concerned:
                each.queue.events.append(event)
                each.queue.numbers.append(number)
    return max((thread for event in batch if (thread := event.get("thread")).__class__ is int), default=0)


def _note_objects(event: Event, laws: tuple[LawJudge, ...], seen: SeenBy) -> None:
    """These laws have seen all objects that an event mentions."""
    for each in _ids_in(event) if laws else ():
        before = seen.get(each, ())
        news = tuple(law for law in laws if law not in before)
        if news:
            seen[each] = before + news


def _end_listeners(seen: tuple[LawJudge, ...], concerned: tuple[LawJudge, ...]) -> tuple[LawJudge, ...]:
    """The laws that must get the end of an object. Other events of the batch may end that a law ignores it."""
    return tuple(each for each in concerned if not each.queue.ignores_unseen_end or each.queue.events or each in seen)


def _ids_in(event: Event) -> Iterator[int | str]:
    """The ids of all objects that an event mentions to a law."""
    args, named = event.get("argIds"), event.get("kwargIds")
    for each in (
        *(event.get(key) for key in ("targetId", "resultId", "excId", "task")),
        *(args if isinstance(args, list | tuple) else ()),
        *(named.values() if isinstance(named, dict) else ()),
    ):
        if each.__class__ in (int, str):
            yield each
