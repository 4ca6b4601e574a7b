"""Which earlier events explain a violation: those about the objects that the law concerns there."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from itertools import islice
from operator import itemgetter
from typing import TYPE_CHECKING, Any

from lawful import core
from lawful.engine.findings import MESSAGES, Event, Finding, Numbered, has_place, is_message
from lawful.events.event_kinds import EVENT_KINDS, mentioned_ids, to_dict
from lawful.laws.protocol import Expectation, Monitor

if TYPE_CHECKING:
    from lawful.engine.law_judge import LawJudge

_MOST_MET = 10
_NO_OBJECTS = frozenset("event name file line thread time process group".split())  # fields that name no object
_ABOUT_TARGET = frozenset(EVENT_KINDS) - {"gone"} - MESSAGES  # their fields are known; own events may have others


def values_of(monitor: Monitor, expectation: Expectation, event: Event | None) -> list[Any]:
    """What a violation is about: the values in force there, and those that the law takes up from the event."""
    values = (*expectation.bindings.values(), *_known_to(monitor, event))
    return [value for value in values if _tells(value)]


def met(monitor: Monitor, values: Sequence[Any], found: Sequence[Numbered]) -> list[Any]:
    """The objects, beyond those that were searched for, in the events that were found."""
    if not values:
        return []
    others = (
        value
        for _, event in reversed(found)
        for value in mentioned_ids(event)
        if value not in values and monitor.relevant(event, (value,))
    )
    return list(islice(dict.fromkeys(others), _MOST_MET))


def merged(direct: Sequence[Numbered], related: Sequence[Numbered], most: int) -> tuple[Numbered, ...]:
    """At most so many events of both, in order; if they are too many, at least half of them are direct ones."""
    numbers = {number for number, _ in direct}
    others = [found for found in related if found.number not in numbers]
    first = direct[-max(most - len(others), (most + 1) // 2) :]
    return tuple(sorted([*first, *others[len(others) - min(len(others), most - len(first)) :]], key=itemgetter(0)))


def _known_to(monitor: Monitor, event: Event | None) -> Iterator[Any]:
    """The values in an event that the law takes up: the objects it is about."""
    if event is not None:
        # Where objects have ids, other values are not objects. Traces of other makers may have no ids.
        for value in list(mentioned_ids(event)) or _scalars(event):
            if monitor.relevant(event, (value,)):
                yield value


def _tells(value: Any) -> bool:
    """Does this value distinguish events about one thing from events about others?"""
    return isinstance(value, int | str | dict | list) and not isinstance(value, bool)


def _scalars(value: Any) -> Iterator[Any]:
    pending = [value]
    while pending:
        value = pending.pop()
        if isinstance(value, dict):
            pending += value.values()
        elif isinstance(value, list):
            pending += value
        else:
            yield value


def _open(entries: list[tuple[int, Event]] | deque[tuple[int, Event]]) -> None:
    for place, (number, event) in enumerate(entries):
        if event.__class__ is not dict:
            entries[place] = number, to_dict(event)


class Evidence:
    """Gives findings the events that led to them.

    `kept` takes the events of a batch that concern laws, and `explain` ends the batch.
    """

    def __init__(self, history: int, messages: int) -> None:
        """A finding gets `history` earlier events, and one about a view so many `messages`, for a diagram."""
        self._history = history
        self._messages = messages
        # A finding always shows where it began. One more message than is shown tells whether there are more.
        self.recent = RecentEvents(max(history, messages and messages + 1, 1), shown=max(history, 1))
        self.kept: list[tuple[int, Event]] = []
        self._by_object: dict[Hashable, list[Numbered]] | None = None  # the same, if somebody asked
        self._later: list[tuple[int, Finding, LawJudge, list[Any]]] = []
        self.missing: str | None = None  # why events may be missing
        # Of a trace, all events before one, numbered: then nothing is kept until something is found.
        self.read_before: Callable[[int], Iterable[list[tuple[int, Event]]]] | None = None
        self._batch: tuple[int, list[Event]] = 1, []

    def keep_batch(self, first: int, batch: list[Event]) -> None:
        """All events of a batch may lead to a finding."""
        if self.read_before is None:
            self.kept = list(enumerate(batch, first))
        else:
            self._batch = first, batch

    def _catch_up(self) -> None:
        if self.read_before is not None:
            before, self.read_before = self.read_before, None
            for entries in before(self._batch[0]):
                self.recent.add(entries)
            self.keep_batch(*self._batch)

    def origin(self, monitor: Monitor, values: list[Any], number: int) -> Event | None:
        """The first event with a place in the source about one of these objects, before that of this number."""
        self._catch_up()
        if self._by_object is None:
            self._by_object = by_object(self.kept)
        return self.recent.origin(monitor, values, number, self._by_object)

    def find_later(self, finding: Finding, judge: LawJudge, values: list[Any], number: int) -> None:
        """Find what led to a finding when the batch ends."""
        self._later.append((number, finding, judge, values))

    def explain(self) -> None:
        """The batch is over: find what led to its findings, and keep its events, each in its turn."""
        if self._later:
            self._catch_up()
        kept, done = self.kept, 0
        self.kept, self._by_object = [], None
        for number, finding, judge, values in sorted(self._later, key=itemgetter(0)):
            index = done
            while index < len(kept) and kept[index][0] < number:
                index += 1
            self.recent.add(kept[done:index])
            done = index
            self.find(finding, judge, values, number)
        self._later.clear()
        self.recent.add(kept[done:] if done else kept)
        self._batch = self._batch[0] + len(self._batch[1]), []

    def find(self, finding: Finding, judge: LawJudge, values: list[Any], number: int) -> None:
        """Give a finding what led to it, of all events before that of this number."""
        self._catch_up()
        if self._messages and judge.law.language == "view":
            from lawful.laws.grammar.machine import group_key  # which only views need

            event = finding.event or finding.doomed_event or {}
            group = group_key(event) if finding.rejection is None else finding.rejection.group
            finding.messages = self.recent.messages(judge.monitor, group, number)
        if self._history:
            finding.history = self.recent.about(judge.monitor, values, number)
            if len(finding.history) < self._history:
                forgot = "events of objects not used for long were forgotten" if self.recent.forgot else None
                finding.history_note = self.missing or forgot


class RecentEvents:
    """The first and the last events of each object, and the last events of all, in bounded memory.

    Objects that are gone are forgotten first, then those not used for long. Lazy events become dicts when read.
    """

    def __init__(self, most: int, *, shown: int | None = None, objects: int = 10_000, others: int = 200) -> None:
        """Keep `most` events of each of so many objects, and return up to `shown` of them."""
        self.most = most
        self.shown = most if shown is None else shown
        # Two generations give a cheap order of last use: an object that is used moves to the first, and when that is
        # full, those still in the second are dropped.
        self._young: dict[Hashable, list[tuple[int, Event]]] = {}
        self._old: dict[Hashable, list[tuple[int, Event]]] = {}
        self._gone: dict[Hashable, list[tuple[int, Event]]] = {}
        self._half = max(1, objects // 2)
        self._last: deque[tuple[int, Event]] = deque(maxlen=others)
        self.others = others
        self.keeps_gone = True  # may somebody still ask for objects that are gone?
        self.forgot = False  # were objects dropped that may be alive?

    def __len__(self) -> int:
        return len(self._young) + len(self._old) + len(self._gone)

    def add(self, entries: list[tuple[int, Event]]) -> None:
        """Keep further events, each with its number. The program waits for this."""
        if not self.most:
            return
        self._last.extend(entries[-self.others :])
        if core.native is None:
            for entry in entries:
                self._add(entry)
            return
        place = 0
        while True:
            place = core.native.keep_recent(
                entries, place, self._young, _ABOUT_TARGET, self.most, self.keeps_gone, self._room
            )
            if place == len(entries):
                return
            self._add(entries[place])
            place += 1

    @property
    def _room(self) -> int:
        """How many new objects fit in before older ones must be looked at."""
        return 0 if self._old or self._gone else max(0, self._half - len(self._young))

    def _add(self, entry: tuple[int, Event]) -> None:
        event = to_dict(entry[1])
        kind = event.get("event")
        plain = kind.__class__ is str and (kind in _ABOUT_TARGET or (kind == "gone" and "groupId" not in event))
        if plain and "argIds" not in event and "resultId" not in event and "kwargIds" not in event:
            target = event.get("targetId")
            if isinstance(target, int | str):  # traces of others may have anything there
                self._note(target, entry)
                if kind == "gone":
                    self._departed(target, self._young.pop(target))
            return
        if is_message(event) and isinstance(event.get("groupId"), int | str):
            self._note(event["groupId"], entry)
            return
        for each in dict.fromkeys(_all_ids(event)):
            self._note(each, entry)
        if kind == "gone" and (events := self._young.pop(event.get("targetId"), [])):
            self._departed(event["targetId"], events)

    def _departed(self, key: Hashable, events: list[tuple[int, Event]]) -> None:
        """Remember only the last objects that are gone."""
        if not self.keeps_gone:
            return
        self._gone[key] = events
        if len(self._gone) > self._half:
            for each in list(self._gone)[: self._half // 2 + 1]:
                del self._gone[each]

    def _note(self, key: Hashable, entry: tuple[int, Event]) -> None:
        events = self._young.get(key) or self._promoted(key)
        events.append(entry)
        if len(events) > 2 * self.most:
            del events[1 : -self.most]

    def _promoted(self, key: Hashable) -> list[tuple[int, Event]]:
        if len(self._young) >= self._half:
            self.forgot = self.forgot or any(to_dict(each[-1][1]).get("event") != "gone" for each in self._old.values())
            self._old, self._young = self._young, {}
        events = self._young[key] = self._old.pop(key, []) or self._gone.pop(key, [])
        return events

    def about(self, monitor: Monitor, values: Sequence[Any], before: int) -> tuple[Numbered, ...]:
        """Events before this one about the values; if none is found, about the law."""
        if not self.most:
            return ()
        _open(self._last)
        relevant = self._relevant(monitor, values, before)
        if not relevant:
            found = [Numbered(*each) for each in self._last if _is_relevant(monitor, each, (), before)]
            return tuple(found[-self.shown :])
        direct = self._cut(relevant)
        others = met(monitor, values, direct)
        related = self._cut(self._relevant(monitor, others, before)) if others else ()
        return _with_link(merged(direct, related, self.shown), relevant, values, self.shown)

    def messages(self, monitor: Monitor, group: Any, before: int) -> tuple[Numbered, ...]:
        """The last messages of a group before this event."""
        from lawful.laws.grammar.machine import group_key

        _open(self._last)
        found = {each[0]: Numbered(*each) for each in (*self._of(group), *self._last)}
        ordered = [found[number] for number in sorted(found) if group_key(found[number].event) == group]
        return tuple([each for each in ordered if _is_relevant(monitor, each, (), before)][-self.most :])

    def origin(
        self, monitor: Monitor, values: Sequence[Any], before: int, recent: Mapping[Hashable, Sequence[Numbered]]
    ) -> Event | None:
        """The first event about the objects that has a place and concerns the law; `recent`: events not yet added."""
        for value in values:
            if not isinstance(value, int | str):
                continue
            for each in (*self._of(value), *recent.get(value, ())):
                if has_place(each[1]) and _is_relevant(monitor, each, (value,), before):
                    return each[1]
        return None

    def _relevant(self, monitor: Monitor, values: Sequence[Any], before: int) -> list[Numbered]:
        found: dict[int, Numbered] = {}
        for events in (self._last, *(self._of(value) for value in values)):
            for each in events:
                if each[0] not in found and _is_relevant(monitor, each, values, before):
                    found[each[0]] = Numbered(*each)
        return [found[number] for number in sorted(found)] if values else []

    def _of(self, value: Any) -> Sequence[tuple[int, Event]]:
        if not isinstance(value, int | str):
            return ()
        found = self._young.get(value) or self._old.get(value) or self._gone.get(value)
        if not found:
            return ()
        _open(found)
        # How many more are there is chance, and must not change a finding.
        return found if len(found) <= self.most + 1 else [found[0], *found[-self.most :]]

    def _cut(self, events: list[Numbered]) -> list[Numbered]:
        """The first and the last ones: how it began is worth more than one more step."""
        if len(events) <= self.shown:
            return events
        return [events[0], *events[1 - self.shown :]] if self.shown > 1 else events[-1:]


def _with_link(
    shown: tuple[Numbered, ...], relevant: Sequence[Numbered], values: Sequence[Any], most: int
) -> tuple[Numbered, ...]:
    """With the last event that brought several of the objects together, as a key and its table, if there is one."""
    for each in reversed(relevant):
        if len({value for value in mentioned_ids(each.event) if value in values}) > 1:
            if each in shown:
                return shown
            return tuple(sorted([each, *shown[max(0, len(shown) + 1 - most) :]], key=itemgetter(0)))
    return shown


def by_object(entries: Sequence[tuple[int, Event]]) -> dict[Hashable, list[Numbered]]:
    """Events under each of the objects that they mention."""
    found: dict[Hashable, list[Numbered]] = {}
    for number, brief in entries:
        event = to_dict(brief)
        for each in dict.fromkeys(_all_ids(event)):
            found.setdefault(each, []).append(Numbered(number, event))
    return found


def _is_relevant(monitor: Monitor, each: tuple[int, Event], values: Sequence[Any], before: int) -> bool:
    return each[0] < before and monitor.relevant(each[1], values)


def _all_ids(event: Event) -> Iterator[int | str]:
    yield from mentioned_ids(event)
    group = event.get("groupId")
    if isinstance(group, int | str):
        yield group
    by_name = event.get("kwargIds")
    if isinstance(by_name, dict):
        yield from (each for each in by_name.values() if isinstance(each, int | str))
    kind = event.get("event")
    if not isinstance(kind, str) or kind not in EVENT_KINDS:  # one of the program's own, with fields of its own
        for key, value in event.items():
            if key not in _NO_OBJECTS and isinstance(value, int | str) and not isinstance(value, bool):
                yield value
