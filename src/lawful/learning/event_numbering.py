"""From events to numbers: which are learned from, what they are called, where they happen, to which objects."""

from __future__ import annotations

from _thread import RLock
from array import array
from collections import OrderedDict
from collections.abc import Callable, Collection, Hashable, Mapping, Sequence
from typing import Any, Generic, NamedTuple, TypeVar

from lawful.errors import LawfulError
from lawful.events.event_kinds import EVENT_KINDS
from lawful.learning.window_protocol import Site, Word

JOINS = ("result", "arguments", "family")
"""How an event can also be one of other objects than its receiver. See `EventNumbering`."""

PASSED_OVER = frozenset({"func_post", "func_raise", "gone", "yield", "resume", "iter_next"})
"""Kinds of events that tell how something ended, or go on with it: nothing new happens to an object."""

NO_OBJECT = "no object"
"""The reason for which events of plain functions and of primitive values are passed over."""

MOST_RECENT = 65_536  # objects with odd ids, or with parents, that are surely remembered
MOST_RAISING = 16  # objects that are remembered for one place

_OWN_IDS = 1 << 63  # ids below it stand for themselves; ours for all others begin here
_PASS = -1

Where = str | Callable[[int], str] | None
"""The name of a trace, or what tells the place of an event by its position in the batch, from 0."""

K = TypeVar("K", bound=Hashable)
V = TypeVar("V")


class Numbers(NamedTuple):
    """Events as a window takes them: as many numbers in each, of types I, I and Q."""

    names: array[int]
    sites: array[int]
    objects: array[int]


class EventNumbering:
    """Takes events in, in batches, and numbers their words and places, both from 0.

    An event happens to its receiver, `targetId`. With joins it happens to others too, as another word:

    - `result`: what a call returned, as `NAME (result)`;
    - `arguments`: what a call was given, as `NAME (argument 1)` or `NAME (argument key)`;
    - `family`: an object that first came up as the result of a call on another one, or that was made with another one
      as argument, is its child. What happens to it happens to its parents too, as `NAME (of its CLASS)`, or
      `NAME (of its argument 1)`. Grandparents are not affected.

    Ids from 0 to 2**63 - 1 stand for themselves. All others, such as strings, get numbers, which are forgotten when
    65,536 other ones (more, if the window is larger) came up since the object was last seen. So are children.
    """

    def __init__(self, joins: Collection[str] = ()) -> None:
        self.words: list[Word] = []
        self.sites: list[Site] = []
        self.read = 0  # events
        self.passed: dict[str, int] = {}  # how many were passed over, by their kind, or `NO_OBJECT`
        self.raising: dict[
            tuple[int, int], list[int]
        ] = {}  # by word and place: the last objects whose call raised there
        self.joins: frozenset[str] = frozenset(joins)  # it can be changed at any time
        self.lock = RLock()  # of words and places, which tracers ask for from all threads
        self._numbers: dict[tuple[str, str, str], int] = {}
        self._labels: dict[str, int] = {}
        self._places: dict[tuple[Any, Any], int] = {}
        self._known: dict[tuple[Any, Any], int] = {}  # by kind and name, as they stand in events
        self._ids: Recent[int | str, int] = Recent()
        self._originals: dict[int, int | str] = {}  # the first ones
        self._late_originals: Recent[int, int | str] = Recent()
        self._odd = 0
        self._parents: Recent[int, tuple[tuple[int, str], ...]] = Recent()
        self._called: set[str] = set()  # names of `func_pre`
        self._made: set[str] = set()  # names of `new`
        self._source: Where = None
        self._of_source = 0  # events before this batch
        self._waiting = _nothing()

    # -- numbers ----------------------------------------------------------------------------------

    def word(self, event: str, name: str, role: str = "") -> int:
        """The number of a word. It is that of its label: whatever reads alike is one event."""
        number = self._numbers.get((event, name, role))
        if number is not None:
            return number
        word = Word(event, name, role)
        with self.lock:
            number = self._labels.get(word.label)
            if number is None:
                number = len(self.words)
                self.words.append(word)
                self._labels[word.label] = number
            elif event == "new" and self.words[number].event == "func_pre":
                self.words[number] = word  # a call that makes an object is reported twice: this says more
            self._numbers[event, name, role] = number
        return number

    def site(self, file: object, line: object) -> int:
        """The number of a place. A file that is not a string, or a line that is not a number, is unknown."""
        site = Site(file if isinstance(file, str) else None, line if type(line) is int else None)
        number = self._places.get(site)
        if number is None:
            with self.lock:
                number = self._places.get(site)
                if number is None:
                    number = len(self.sites)
                    self.sites.append(site)
                    self._places[site] = number
        return number

    def original(self, number: int) -> int | str:
        """The id that an object has in the trace. Of a long-forgotten odd one, it is our number."""
        if number < _OWN_IDS:
            return number
        original = self._originals.get(number)
        if original is None:
            original = self._late_originals.get(number)
        return number if original is None else original

    # -- events -----------------------------------------------------------------------------------

    def add(self, events: Sequence[Mapping[str, Any]], where: Where = None) -> None:
        """Number events, for `take`. Before an error: all events up to the faulty one."""
        if isinstance(where, str) and where != self._source:
            self._source, self._of_source = where, 0
        known, places, joins = self._known, self._places, self.joins
        names, sites, objects = self._waiting
        index = -1
        try:
            for index, event in enumerate(events):
                get = event.get
                try:
                    number = known[get("event"), get("name")]
                except (KeyError, TypeError):
                    number = self._new(event, where, index)
                if number < 0:
                    self._pass(event)
                    if not joins:
                        continue
                target: Any = get("targetId")
                if type(target) is not int or not 0 <= target < _OWN_IDS:
                    target = self._object(target)
                    if target is None and not joins:
                        self.passed[NO_OBJECT] = self.passed.get(NO_OBJECT, 0) + 1
                        continue
                try:
                    site = places[get("file"), get("line")]
                except (KeyError, TypeError):
                    site = self.site(get("file"), get("line"))
                if joins:
                    self._add_joined(event, number, site, target)
                    continue
                names.append(number)
                sites.append(site)
                objects.append(target)
        finally:
            self.read += index + 1
        self._of_source += len(events)

    def take(self) -> Numbers:
        """The events that were added since the last call."""
        taken, self._waiting = self._waiting, _nothing()
        return taken

    def refuse_without_objects(self) -> None:
        """Raise an error if events were skipped because they have no object. Call it if no event was taken."""
        if self.passed.get(NO_OBJECT):
            raise LawfulError(
                "learn-no-objects",
                f"none of the {self.read:,} events has an object, so Lawful cannot learn from them",
                hint="rules are about the events of one object, which is the `targetId` of each",
            )

    def reach(self, window: int) -> None:
        """Objects are not forgotten while they are in a window of this size."""
        self._ids.most = self._parents.most = max(MOST_RECENT, window + 1)

    def next_trace(self) -> None:
        """Another trace begins: its ids have nothing to do with those up to now."""
        self._ids = Recent(self._ids.most)
        self._parents = Recent(self._parents.most)
        self._source = None
        self._of_source = 0

    def _add_joined(self, event: Mapping[str, Any], number: int, site: int, target: int | None) -> None:
        """Add an event to all objects that it happens to; `number` is negative if it is passed over."""
        kind, name = event.get("event"), event.get("name")
        if "family" in self.joins:
            self._relate(event, target)
        if number < 0:
            if kind == "func_post" and isinstance(name, str) and "result" in self.joins:
                self._give_result(event, name, site, target)
            return
        word = self.words[number]
        before = len(self._waiting.names)
        if target is not None:
            self._put(number, site, target)
            if "family" in self.joins:
                for parent, role in self._parents.get(target) or ():
                    self._put(self.word(word.event, word.name, role), site, parent)
        if "arguments" in self.joins and (kind == "func_pre" or (kind == "new" and name not in self._called)):
            self._called.add(word.name)
            for role, argument in self._arguments(event):
                if argument != target:
                    self._put(self.word(word.event, word.name, role), site, argument)
        if kind == "new":
            self._made.add(word.name)
        if len(self._waiting.names) == before:
            self.passed[NO_OBJECT] = self.passed.get(NO_OBJECT, 0) + 1

    def _put(self, number: int, site: int, target: int) -> None:
        names, sites, objects = self._waiting
        names.append(number)
        sites.append(site)
        objects.append(target)

    def _pass(self, event: Mapping[str, Any]) -> None:
        kind = event["event"]
        self.passed[kind] = self.passed.get(kind, 0) + 1
        if kind == "func_raise":
            self._raised(event)

    def _raised(self, event: Mapping[str, Any]) -> None:
        target = self._object(event.get("targetId"))
        name = event.get("name")
        if target is None or not isinstance(name, str) or (number := self._labels.get(name)) is None:
            return
        objects = self.raising.setdefault((number, self.site(event.get("file"), event.get("line"))), [])
        objects.append(target)
        del objects[:-MOST_RAISING]

    def _new(self, event: Mapping[str, Any], where: Where, index: int) -> int:
        """The number of an event that was not met before."""
        kind, name = event.get("event"), event.get("name")
        if not isinstance(kind, str | None):
            raise self._nameless(f"`event` must be a string, this is {kind!r:.60}", where, index)
        if kind in PASSED_OVER:
            if isinstance(name, str | None):
                self._known[kind, name] = _PASS
            return _PASS
        if name is None and kind and kind not in EVENT_KINDS:
            number = self.word(kind, kind)  # the program's own
        elif isinstance(name, str) and name:
            number = self.word(kind or "", name)
        elif name is None:
            what = f"a `{kind}` event" if kind else "an event"
            raise self._nameless(f"{what} has no `name`, so no rule can refer to it", where, index)
        else:
            raise self._nameless(f"the `name` of an event must be a string, this is {name!r:.60}", where, index)
        self._known[kind, name] = number
        return number

    def _nameless(self, message: str, where: Where, index: int) -> LawfulError:
        place = where
        if callable(where):
            place = where(index)
        elif where is not None:
            place = f"{where}: event {self._of_source + index + 1}"
        return LawfulError(
            "learn-event-without-name",
            message,
            where=place if isinstance(place, str) else None,
            hint="rules are about the names of events; `lawful record` writes them",
        )

    def _object(self, raw: object) -> int | None:
        if type(raw) is int:
            if 0 <= raw < _OWN_IDS:
                return raw
        elif not isinstance(raw, str):
            return None
        number = self._ids.get(raw)
        if number is None:
            number = _OWN_IDS + self._odd
            self._odd += 1
            self._ids.put(raw, number)
            if len(self._originals) < MOST_RECENT:
                self._originals[number] = raw
            else:
                self._late_originals.put(number, raw)
        return number

    # -- several objects --------------------------------------------------------------------------

    def _give_result(self, event: Mapping[str, Any], name: str, site: int, target: int | None) -> None:
        result = self._object(event.get("resultId"))
        # A method that returns its own object adds nothing, and `new` already reports that an object was made.
        if result is not None and result != target and name not in self._made:
            self._put(self.word("func_post", name, "result"), site, result)

    def _arguments(self, event: Mapping[str, Any]) -> list[tuple[str, int]]:
        """The objects among the arguments, each once, with what they are."""
        found: dict[int, str] = {}
        by_position, by_name = event.get("argIds"), event.get("kwargIds")
        given: list[tuple[Any, Any]] = []
        if isinstance(by_position, list | tuple):
            given += enumerate(by_position, 1)
        if isinstance(by_name, dict):
            given += by_name.items()
        for key, raw in given:
            number = self._object(raw)
            if number is not None:
                found.setdefault(number, f"argument {key}")
        return [(role, number) for number, role in found.items()]

    def _relate(self, event: Mapping[str, Any], target: int | None) -> None:
        """Whose child is whose."""
        kind, name = event.get("event"), event.get("name")
        if kind == "func_post":
            result = self._object(event.get("resultId"))
            # Of something that was known before, a call is a getter, not the maker.
            if target is None and result is not None and self._parents.get(result) is None:
                if name not in self._made:
                    self._parents.put(result, ())
            elif target is not None and result is not None and result != target and self._parents.get(result) is None:
                owner = name.rpartition(".")[0] or name if isinstance(name, str) else "?"
                self._parents.put(result, ((target, f"of its {owner}"),))
        elif target is None:
            return
        elif kind == "gone":
            self._parents.drop(target)
        elif kind == "new":
            makers = tuple((parent, f"of its {role}") for role, parent in self._arguments(event) if parent != target)
            if makers and not self._parents.get(target):
                self._parents.put(target, makers)
        elif kind == "func_pre" and self._parents.get(target) is None and not str(name).endswith(".__init__"):
            self._parents.put(target, ())


class Recent(Generic[K, V]):
    """A table that keeps the `most` entries that were used last. No value is None."""

    def __init__(self, most: int = MOST_RECENT) -> None:
        self.most = most
        self._entries: OrderedDict[K, V] = OrderedDict()

    def __len__(self) -> int:
        return len(self._entries)

    def get(self, key: K) -> V | None:
        value = self._entries.get(key)
        if value is not None:
            self._entries.move_to_end(key)
        return value

    def put(self, key: K, value: V) -> None:
        self._entries[key] = value
        self._entries.move_to_end(key)
        while len(self._entries) > self.most:
            self._entries.popitem(last=False)

    def drop(self, key: K) -> None:
        self._entries.pop(key, None)


def _nothing() -> Numbers:
    return Numbers(array("I"), array("I"), array("Q"))
