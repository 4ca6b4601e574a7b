"""Findings: a violation with its evidence, whether it was found in a trace or in a running program."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from lawful.laws.protocol import Expectation

if TYPE_CHECKING:
    from lawful.laws.grammar.wording import Rejection
    from lawful.learning.window_protocol import Anomaly

Event = dict[str, Any]

MESSAGES = frozenset({"send", "receive"})
"""Events about messages: what matters there is the group."""


def is_message(event: Event) -> bool:
    kind = event.get("event")
    return isinstance(kind, str) and kind in MESSAGES


_MOST_CONTEXTS = 100


class Numbered(NamedTuple):
    """An event with its number in the trace, from 1."""

    number: int
    event: Event


@dataclass
class Finding:
    """Where a law broke, and the evidence."""

    rejected_at: int | Literal["end"] | None  # None: it is lost (see `doomed_at`), but every event had a step so far
    event: Event | None  # the rejected one
    expectation: Expectation
    doomed_at: int | None
    doomed_event: Event | None
    history: tuple[Numbered, ...] = ()  # earlier events about the same objects, oldest first
    history_note: str | None = None  # why there may be fewer than there were
    law: str = ""  # its name
    count: int = 1  # how often the law was broken at this place; the evidence is that of the first time
    last_time: float | None = None  # of the last event that was counted
    contexts: dict[str, int] = field(default_factory=dict)  # how often in each test (or other part of the run)
    origin: Event | None = None  # where it began, if no event broke it, or one that has no place in the source
    anomaly: Anomaly | None = None  # if the law is one that nobody wrote
    made: Event | None = None  # how the object began that broke it, where lives of objects are followed
    rejection: Rejection | None = None  # of a view: the place in its grammar, and why
    messages: tuple[Numbered, ...] = ()  # of a view: what the group has sent and received before, for a diagram
    diagram: str | None = None  # the file that shows it as a picture

    @property
    def place_event(self) -> Event | None:
        """The event whose place in the source is the finding's: at the end, the first one of what was left undone."""
        event = self.event or self.doomed_event
        if self.expectation.about is not None and self.expectation.about != event:
            return self.expectation.about
        if event is not None and (has_place(event) or self.origin is None):
            return event
        if self.origin is not None:
            return self.origin
        return self.history[0].event if self.history else None

    @property
    def file(self) -> str | None:
        return place_of(self.place_event)[0]

    @property
    def line(self) -> int | None:
        return place_of(self.place_event)[1]

    @property
    def first_time(self) -> float | None:
        return time_of(self.event or self.doomed_event)

    @property
    def key(self) -> tuple[object, ...]:
        if self.anomaly is not None:
            return self.law, str(self.anomaly.rule)
        return finding_key(self.law, self.rejected_at, self.place_event)

    def again(self, count: int, last_time: float | None, contexts: Mapping[str, int]) -> None:
        """It happened again, so many times."""
        self.count += count
        if last_time is not None:
            self.last_time = last_time if self.last_time is None else max(self.last_time, last_time)
        for context, times in contexts.items():
            if context in self.contexts or len(self.contexts) < _MOST_CONTEXTS:
                self.contexts[context] = self.contexts.get(context, 0) + times

    def to_json(self) -> dict[str, Any]:
        """Everything in JSON's types."""
        data: dict[str, Any] = {
            "law": self.law,
            "file": self.file,
            "line": self.line,
            "count": self.count,
            "first_time": self.first_time,
            "last_time": self.last_time,
            "contexts": dict(self.contexts),
            "rejected_at": self.rejected_at,
            "doomed_at": self.doomed_at,
            "event": self.event,
            "doomed_event": self.doomed_event,
            "expected": list(self.expectation.expected),
            "expected_omitted": self.expectation.omitted,
            "bindings": {name: plain(value) for name, value in self.expectation.bindings.items()},
            "other_instances": self.expectation.others,
            "history": [{"number": number, "event": event} for number, event in self.history],
            "history_note": self.history_note,
            "origin": self.origin,
        }
        if self.expectation.note:
            data |= {"note": self.expectation.note, "about": self.expectation.about}
        if self.made is not None:
            data["made"] = self.made
        if self.rejection is not None:
            data["rejection"] = self.rejection.to_json()
            data["rejection"]["values"] = {name: plain(value) for name, value in self.rejection.values.items()}
        if self.messages:
            data["messages"] = [{"number": number, "event": event} for number, event in self.messages]
        if self.diagram is not None:
            data["diagram"] = self.diagram
        if self.anomaly is not None:
            import msgspec  # only they need it, and it takes a while

            data["anomaly"] = msgspec.to_builtins(self.anomaly)
        return data

    def _repr_html_(self) -> str:
        return finding_html(self)

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Finding:
        """What `to_json` has made of it."""
        expectation = Expectation(
            tuple(data["expected"]),
            data["bindings"],
            data["expected_omitted"],
            data["other_instances"],
            data.get("note", ""),
            data.get("about"),
        )
        return cls(
            **{name: data[name] for name in _PLAIN},
            expectation=expectation,
            history=_numbered(data["history"]),
            contexts=dict(data["contexts"]),
            anomaly=_anomaly(data.get("anomaly")),
            made=data.get("made"),
            rejection=_rejection(data.get("rejection")),
            messages=_numbered(data.get("messages", ())),
            diagram=data.get("diagram"),
        )


_PLAIN = "rejected_at event doomed_at doomed_event history_note law count last_time origin".split()  # same in JSON


def _numbered(events: Sequence[Mapping[str, Any]]) -> tuple[Numbered, ...]:
    return tuple(Numbered(each["number"], each["event"]) for each in events)


def _rejection(data: Any) -> Rejection | None:
    if data is None:
        return None
    from lawful.laws.grammar.wording import Rejection

    return Rejection.from_json(data)


def _anomaly(data: Any) -> Anomaly | None:
    if data is None:
        return None
    import msgspec

    from lawful.learning.window_protocol import Anomaly

    return msgspec.convert(data, Anomaly)


def finding_key(law: str, rejected_at: int | str | None, event: Event | None) -> tuple[object, ...]:
    """Findings with the same key are one: the same law, broken in the same way at the same place (or by one name)."""
    how = "event" if isinstance(rejected_at, int) else rejected_at
    event = event or {}
    if has_place(event):
        if is_message(event):
            return law, how, event["file"], event["line"], event["event"], str(event.get("name"))
        return law, how, event["file"], event["line"]
    kind, name = event.get("event"), event.get("name")
    return law, how, kind if isinstance(kind, str) else None, name if isinstance(name, str) else None


def place_of(event: Event | None) -> tuple[str | None, int | None]:
    """The file and the line of an event, as far as it has them."""
    file, line = (event or {}).get("file"), (event or {}).get("line")
    return file if isinstance(file, str) else None, line if isinstance(line, int) else None


def has_place(event: Event) -> bool:
    """Does it say where in the source it happened? The end of an object (`gone`) happens nowhere."""
    return isinstance(event.get("file"), str) and isinstance(event.get("line"), int)


def time_of(event: Event | None) -> float | None:
    """When an event happened, in seconds since the run began, if it says so."""
    time = None if event is None else event.get("time")
    return time if isinstance(time, int | float) and not isinstance(time, bool) else None


def plain(value: Any) -> Any:
    """A value as JSON has it: what a law calculated can be one that JSON cannot say."""
    if value is None or isinstance(value, str | float | dict | list):
        return value
    if isinstance(value, int):
        # Integers beyond this may be refused by whoever reads the report, and by Python's own conversion to text.
        return value if value.bit_length() <= 10_000 else f"an integer of {value.bit_length()} bits"
    return repr(value)


def finding_html(finding: Finding) -> str:
    """A finding as notebooks show it: what was found, where, and what led there."""
    from lawful import markup  # only notebooks need these
    from lawful.engine.wording import count, describe, expected, message

    times = f" ({count(finding.count, 'time')})" if finding.count > 1 else ""
    place = "" if finding.file is None else f"<br><code>{markup.text(_place(finding.place_event))}</code>"
    parts = [f"<p><b>{markup.text(finding.law)}</b>: {markup.text(message(finding))}{times}{place}</p>"]
    wanted = expected(finding.expectation)
    if wanted:
        parts.append(f"<p>expected {markup.text(wanted)}</p>")
    events = [(str(number), event) for number, event in finding.history]
    last = finding.event or finding.doomed_event
    if last is not None:
        events.append(("→", last))
    if events:
        rows = [(number, describe(event), _place(event)) for number, event in events]
        parts.append(markup.table(("event", "what happened", "where"), rows, numbers=(0,)))
    if finding.anomaly is not None:
        for title, scene in (("not here", finding.anomaly.bad[:1]), ("as here", [finding.anomaly.good])):
            rows = [("", name, str(site)) for each in scene if each is not None for name, site in each.events]
            if rows:
                parts.append(markup.table((title, "event", "where"), rows))
    return f"<div>{''.join(parts)}</div>"


def _place(event: Event | None) -> str:
    file, line = place_of(event)
    return file or "" if line is None or file is None else f"{file}:{line}"
