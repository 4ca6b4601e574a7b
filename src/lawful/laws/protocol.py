"""What every law offers, whatever language it is written in: Law, Monitor, Verdict, Outcome.

The engine, the sources and the reports use nothing of a law or a monitor that is not declared here. What only some
languages can do has a neutral answer in `MonitorDefaults`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Any, Literal, Protocol, runtime_checkable

from lawful.diagnostics import Diagnostic

if TYPE_CHECKING:
    from lawful.laws.grammar.wording import Rejection

Event = dict[str, Any]
"""One observation, as a JSON object in the vocabulary of ``lawful.events``.

Its values are what a JSON decoder gives: dict, list, str, int, float, bool and None themselves, not their subclasses.
"""


Language = Literal["rml", "view", "invariants"]
"""What a law is written in; laws in patterns (`.law`) are translated to RML."""


class Verdict(StrEnum):
    """What a monitor says after the events it has seen."""

    TRUE = "true"  # whatever comes, the law holds
    CURRENTLY_TRUE = "currently_true"  # the trace may end here
    CURRENTLY_FALSE = "currently_false"  # more must come before the trace may end
    FALSE = "false"  # whatever comes, the law is broken

    @property
    def accepts(self) -> bool:
        """May the trace end here?"""
        return self is Verdict.TRUE or self is Verdict.CURRENTLY_TRUE


@dataclass(frozen=True, slots=True)
class Outcome:
    """The result of checking one law against one whole trace; event numbers count from 1."""

    accepted: bool
    verdict: Verdict
    rejected_at: int | Literal["end"] | None  # the first event without a step
    doomed_at: int | None  # after this event nothing could be accepted any more (0: already before the first)
    events: int


@dataclass(frozen=True, slots=True)
class Expectation:
    """What the law would have accepted where it broke, and the values in force there."""

    expected: tuple[str, ...]  # event types with their bound values, as `close(7)`
    bindings: Mapping[str, Any]  # of the instance that the law is about here
    omitted: int = 0  # further expected events that are not listed
    others: int = 0  # further instances of which the same is to be said
    note: str = ""  # what was found in place of what was expected, if there is more to say than the event does
    about: Event | None = None  # the event that is to blame, which need not be the rejected one: time may show it


@dataclass(frozen=True, slots=True)
class Watch:
    """A kind of event that a law can match: the keys it must have, each with its values where only some can be.

    No keys at all: any event.
    """

    keys: tuple[tuple[str, tuple[str | int | float | bool | None, ...] | None], ...]


class Subjects(Protocol):
    """The objects, or groups, that a law is about, if each of its instances is the life of one."""

    @property
    def classes(self) -> tuple[str, ...]:
        """Their classes, by qualified names; none if the law does not say."""
        ...

    def of(self, event: Event) -> int | str | None:
        """The id of the object whose life the event belongs to; None if it belongs to no object's, as passing time."""
        ...

    @property
    def label(self) -> str:
        """What they are called if the law names no class; empty: they are called by the law's name."""
        ...

    @property
    def binding(self) -> str | None:
        """The one name in `Expectation.bindings` that holds the object's id. None: every name may hold one."""
        ...

    @property
    def by_target(self) -> bool:
        """Is the object always that of the event's `targetId`, if the event belongs to an object at all?"""
        ...


@runtime_checkable
class Monitor(Protocol):
    """The running state of one law. It can be pickled; a step depends on nothing but the state and the event."""

    @property
    def verdict(self) -> Verdict: ...

    @property
    def events(self) -> int:
        """How many events were seen: the number of the last."""
        ...

    @property
    def rejected_at(self) -> int | Literal["end"] | None: ...

    @property
    def doomed_at(self) -> int | None: ...

    def step(self, event: Event) -> Verdict:
        """Take one event. Once an event had no step the verdict stays FALSE and events are only counted."""
        ...

    def feed(self, events: Iterable[Event], numbers: Sequence[int] | None = None) -> Verdict:
        """Take many events at once: the same as `step` on each, and much faster.

        `numbers` are those that they have, growing, where the law is not given all events.
        """
        ...

    def forgive(self) -> bool:
        """Go on as if the rejected event had not come; False if that cannot be, because nothing would be accepted.

        The monitor is then as it was before that event, but has counted it: `events` is its number. What was fed after
        it is to be fed again.
        """
        ...

    def prevented(self, number: int) -> None:
        """The event of this number, the last one, did not happen after all: an exception was raised in front of it."""
        ...

    def again(self) -> bool:
        """After `forgive`: did the same event break the law in another way, too? Then it is rejected once more."""
        ...

    def end(self) -> Verdict:
        """Say that the trace is over: the verdict becomes TRUE or FALSE."""
        ...

    def expectation(self, event: Event | None = None) -> Expectation:
        """What would have been accepted in the present state (that before the rejected event)."""
        ...

    def pending(self, most: int) -> tuple[Expectation, ...]:
        """For each of the instances that keep the trace from ending here, up to so many: what it waits for."""
        ...

    def outcome(self) -> Outcome: ...

    def relevant(self, event: Event, values: Iterable[Any]) -> bool:
        """Does the event match something the law names, with one of these values (any, if there are none)?"""
        ...

    def forget(self, object_id: int | str) -> bool:
        """Stop following an object, where that can be; was there something of it that could not be judged?"""
        ...

    def warnings(self) -> tuple[str, ...]:
        """What went wrong without stopping the monitor, as a guard over values of the wrong type."""
        ...

    # -- what only some languages can do; `MonitorDefaults` has the answers of the others --------------

    @property
    def prepares_late(self) -> bool:
        """Is work on the law's text put off until its first event comes? `prepare` does that work at once."""
        ...

    def prepare(self) -> None:
        """Do now what would otherwise be done when the first event comes."""
        ...

    @property
    def takes_lazy_events(self) -> bool:
        """Can it be fed with events of the C tracer for which no dict was made?"""
        ...

    @property
    def ignores_unseen_end(self) -> bool:
        """Would the end (`gone`) of an object that no event has mentioned yet change nothing now?

        It may differ after each event. It is asked only where `Law.tracks_objects`.
        """
        ...

    @property
    def names_offender(self) -> bool:
        """Does `offender` name the object that broke the law, also if it broke it by something that did not happen?"""
        ...

    @property
    def offender(self) -> int | str | None:
        """The object that broke the law at the rejected event, if `names_offender`."""
        ...

    def owes(self, object_id: int | str) -> bool:
        """Must something still happen to this object, with time left for it?"""
        ...

    def take_ended(self) -> list[int | str]:
        """Objects that, by the law's own words, are finished since the last call. The first call turns this on."""
        ...

    def inline_step(self, head: Event) -> tuple[Any, int] | None:
        """The C machine and the terminal for messages whose events begin like `head`; None: it needs the events."""
        ...

    def rejection(self, event: Event | None = None) -> Rejection | None:
        """Of a view: the place in its grammar where the event was rejected, and why; without an event, at the end."""
        ...

    def rejection_at_end(self, group: Any) -> Rejection | None:
        """Of a view: why this group may not end here."""
        ...


class MonitorDefaults:
    """The answers of a monitor without special abilities. Monitors inherit it and override what they can do."""

    prepares_late: bool = False
    names_offender: bool = False

    @property
    def takes_lazy_events(self) -> bool:
        return False

    @property
    def ignores_unseen_end(self) -> bool:
        return False

    @property
    def offender(self) -> int | str | None:
        return None

    def prepare(self) -> None:
        """There is nothing to prepare."""

    def owes(self, object_id: int | str) -> bool:
        return False

    def take_ended(self) -> list[int | str]:
        return []

    def inline_step(self, head: Event) -> tuple[Any, int] | None:
        return None

    def rejection(self, event: Event | None = None) -> Rejection | None:
        return None

    def rejection_at_end(self, group: Any) -> Rejection | None:
        return None


@runtime_checkable
class Law(Protocol):
    """A property that must hold."""

    @property
    def name(self) -> str: ...

    @property
    def source(self) -> str: ...

    @property
    def warnings(self) -> Sequence[Diagnostic]:
        """What its author should look at."""
        ...

    @property
    def watches(self) -> tuple[Watch, ...] | None:
        """The kinds of events it can match, those it names first. None: any event, and it names none."""
        ...

    @property
    def selective(self) -> bool:
        """Does it take no notice of events that none of `watches` fits? Only its first event it must be given."""
        ...

    @property
    def subjects(self) -> Subjects | None:
        """The objects that it is about, each for itself, so that it can be judged on some of them; None: not so."""
        ...

    @property
    def every(self) -> float | None:
        """How often, in seconds, it wants to be told that time has passed, by an event `tick`; None: never."""
        ...

    @property
    def parts(self) -> Sequence[Law]:
        """The laws as which it wants to be judged: usually itself alone. It is kept if all of them are."""
        ...

    @property
    def language(self) -> Language:
        """What it is written in. A `view` is about the messages of groups, and comes with what a source must know."""
        ...

    @property
    def tracks_objects(self) -> bool:
        """Does the end of an object concern it by its id alone, which it can know only from earlier events?"""
        ...

    def monitor(self) -> Monitor: ...

    def check(self, events: Iterable[Event]) -> Outcome: ...
