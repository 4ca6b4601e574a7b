"""Whole histories of objects, in pure Python: the twin of `_native/learner/object_histories.c`."""

from __future__ import annotations

from dataclasses import dataclass, field

from lawful.learning.window_protocol import (
    ALL_HISTORY_EVENTS,
    ALL_HISTORY_SITES,
    FEW_HISTORY_EVENTS,
    MOST_HISTORIES,
    MOST_HISTORY_EVENTS,
    MOST_HISTORY_EXAMPLES,
    MOST_OPEN_HISTORIES,
    History,
    HistoryExample,
)


@dataclass(slots=True)
class _Open:
    """The history of an object, which may go on."""

    object: int
    slot: int
    kinds: dict[int, list[int]] | None
    """By name, in the order in which they came up: number and place of the first one and of the last one.

    None: there are too many of them.
    """
    in_window: bool = True
    touched: bool = True  # it was in the window since it was last asked whether it can be ended
    events: int = 0
    seq: int = 0

    def weight(self) -> int:
        """Its different events, if they are more than a few."""
        return 0 if self.kinds is None or len(self.kinds) <= FEW_HISTORY_EVENTS else len(self.kinds)


@dataclass(slots=True)
class _Ended:
    """Objects with the same history. Examples are distinguished by their places."""

    count: int = 0
    examples: dict[tuple[int, ...], tuple[int, int, list[int]]] = field(default_factory=dict)


class ObjectHistories:
    """The events of every object, however far apart.

    A history begins with an object's first event and ends with the stream. To bound memory, histories of objects that
    have not been in the window for long end earlier, if there are too many.
    """

    def __init__(self) -> None:
        self.given_up = 0  # histories that were too large, or too different from others
        self._open: dict[int, _Open] = {}
        self._slots: list[_Open | None] = []
        self._spare: list[int] = []
        self._hand = 0
        self._events = 0  # different ones, of histories that have more than a few
        self._ended: dict[tuple[int, ...], _Ended] = {}
        self._sites = 0  # of all examples

    def take(self, name: int, site: int, id_: int, seq: int) -> None:
        """Something happens to an object, which is in the window then."""
        history = self._open.get(id_) or self._begin(id_)
        history.in_window = history.touched = True
        history.events += 1
        history.seq = seq
        kinds = history.kinds
        if kinds is None:
            return
        kind = kinds.get(name)
        if kind is not None:
            kind[2:] = history.events, site
            return
        if len(kinds) >= FEW_HISTORY_EVENTS:
            if len(kinds) == MOST_HISTORY_EVENTS or self._events >= ALL_HISTORY_EVENTS:
                self._events -= history.weight()
                history.kinds = None
                return
            self._events += FEW_HISTORY_EVENTS + 1 if len(kinds) == FEW_HISTORY_EVENTS else 1
        kinds[name] = [history.events, site, history.events, site]

    def _begin(self, id_: int) -> _Open:
        if len(self._open) >= MOST_OPEN_HISTORIES:
            self._make_room()
        if self._spare:
            slot = self._spare.pop()
        else:
            slot = len(self._slots)
            self._slots.append(None)
        history = self._open[id_] = self._slots[slot] = _Open(id_, slot, {})
        return history

    def _make_room(self) -> None:
        """Histories are looked at in turn. What has not been in the window since it was last looked at is over."""
        for _ in range(2 * len(self._slots)):
            self._hand = (self._hand + 1) % len(self._slots)
            history = self._slots[self._hand]
            if history is None or history.in_window:
                continue
            if not history.touched:
                self._end(history)
                return
            history.touched = False

    def rest(self, id_: int) -> None:
        """An object has left the window."""
        self._open[id_].in_window = False

    def end(self) -> None:
        """The stream is over, and nothing is in the window."""
        for history in self._slots:
            if history is not None:
                self._end(history)

    def known(self) -> list[History]:
        """All histories that have ended, by their order; those that came up first are first."""
        return [
            History(
                order,
                ended.count,
                tuple(HistoryExample(id_, seq, count, sites) for sites, (id_, seq, (count,)) in ended.examples.items()),
            )
            for order, ended in self._ended.items()
        ]

    def _end(self, history: _Open) -> None:
        del self._open[history.object]
        self._slots[history.slot] = None
        self._spare.append(history.slot)
        self._events -= history.weight()
        if history.kinds is None:
            self.given_up += 1
            return
        firsts = [(first, 2 * name) for name, (first, _, _, _) in history.kinds.items()]
        lasts = [(last, 2 * name + 1) for name, (_, _, last, _) in history.kinds.items()]
        order = tuple(code for _, _, code in sorted((number, code & 1, code) for number, code in firsts + lasts))
        ended = self._ended.get(order)
        if ended is None:
            if len(self._ended) >= MOST_HISTORIES:
                self.given_up += 1
                return
            ended = self._ended[order] = _Ended()
        ended.count += 1
        sites = tuple(site for _, first, _, last in history.kinds.values() for site in (first, last))
        known = ended.examples.get(sites)
        if known is not None:
            known[2][0] += 1
        elif len(ended.examples) < (MOST_HISTORY_EXAMPLES if self._sites < ALL_HISTORY_SITES else 1):
            ended.examples[sites] = history.object, history.seq, [1]
            self._sites += len(sites)
