"""What every law offers, whatever language it is written in: Law, Monitor, Verdict, Outcome."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Literal, Protocol, runtime_checkable

from lawful.diagnostics import Diagnostic

Event = dict[str, Any]
"""One observation, as a JSON object in the vocabulary of ``lawful.events``.

Its values are what a JSON decoder gives: dict, list, str, int, float, bool and None themselves, not their subclasses.
"""


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
    """The objects, or groups, that a law is about, if each of its instances is the life of one.

    One that is no class's may have a `title`, under which its lives are counted; otherwise it is the law's name.
    """

    @property
    def classes(self) -> tuple[str, ...]:
        """Their classes, by qualified names; none if the law does not say."""
        ...

    def of(self, event: Event) -> int | str | None:
        """The id of the object whose life the event belongs to; None if it belongs to no object's, as passing time."""
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

    def monitor(self) -> Monitor: ...

    def check(self, events: Iterable[Event]) -> Outcome: ...
