"""The violation of a communication view as a sequence diagram: the last messages of the group that broke it."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from lawful.engine.findings import Event, Numbered, time_of
from lawful.engine.wording import count, short
from lawful.laws.grammar.law import GrammarLaw
from lawful.laws.grammar.machine import group_key
from lawful.reports.sequence import Diagram, Message, Note, Participant

if TYPE_CHECKING:
    from lawful.engine import Finding
    from lawful.engine.run import LawRun
    from lawful.laws.grammar.wording import Rejection

MOST = 20
"""How many messages are shown before the one that is not allowed, if nothing else is asked."""

_MAX_ARGUMENTS = 6
_CLASS = re.compile(r"[^\W\d]\w*(\.[^\W\d]\w*)*")

Id = int | str | None


def violated_view(run: LawRun, finding: Finding, most: int = MOST, name: str = "") -> Diagram | None:
    """The diagram of a finding about a view; None if it is about another law. `name`: of the program, or the trace."""
    law = next((each.law for each in run.laws if each.law.name == finding.law), None)
    if not isinstance(law, GrammarLaw) or (finding.rejection is None and finding.doomed_event is None):
        return None
    rejection = finding.rejection
    events = list(finding.messages[-most:] if most else ())
    hidden = "earlier messages are not shown" if len(finding.messages) > most else ""
    marked = finding.event or (finding.doomed_event if finding.rejected_at is None else None)
    if marked is not None:
        place = finding.rejected_at if finding.rejected_at is not None else finding.doomed_at
        events.append(Numbered(place if isinstance(place, int) else 0, marked))
    key = group_key(events[-1].event) if events else None if rejection is None else rejection.group
    group = _group(law, events, key)
    participants = _Participants(law, group, [event for _, event in events])
    messages = [
        Message(
            sender=participants.place(event, sender=True),
            receiver=participants.place(event, sender=False),
            label=participants.label(event),
            terminal=_terminal(law, event),
            sent=event.get("event") == "send",
            reply=event.get("reply") is True,
            number=number or None,
            time=time_of(event),
            marked=event is marked,
        )
        for number, event in events
    ]
    return Diagram(
        title=f"{law.view.name.text} is broken by {group} {_place(finding)}",
        subtitle=f"{law.name}{f' on {name}' if name else ''}",
        participants=tuple(participants.participants),
        messages=tuple(messages),
        before=run.evidence.missing or hidden,
        note=_note(finding, rejection),
    )


def _group(law: GrammarLaw, events: Sequence[Numbered], key: Id) -> str:
    name = law.group
    if name is None:
        name = next((each.event["group"] for each in events if isinstance(each.event.get("group"), str)), "the group")
    return name if key is None else f"{name} {key}"


def _place(finding: Finding) -> str:
    if finding.rejected_at == "end":
        return "at the end"
    return f"at event {finding.doomed_at if finding.rejected_at is None else finding.rejected_at}"


def _terminal(law: GrammarLaw, event: Event) -> str:
    found = law.dispatch.find(event)
    return "" if found is None else law.grammar.terminal_name(found)


def _note(finding: Finding, rejection: Rejection | None) -> Note:
    if rejection is None:
        return Note(f"After event {finding.doomed_at}, no message could be accepted any more")
    facts: list[tuple[str, str]] = []
    if rejection.assertion is not None:
        facts.append(("failed", rejection.assertion))
        if rejection.reason is not None:
            facts.append(("because", rejection.reason))
    if rejection.rule is not None:
        facts.append(("grammar", rejection.rule + (f"  ({rejection.where})" if rejection.where else "")))
    if rejection.assertion is None:
        expected = finding.expectation.expected
        facts += [("expected" if not place else "or", text) for place, text in enumerate(expected)]
        if finding.expectation.omitted:
            facts.append(("or", count(finding.expectation.omitted, "other")))
        if not expected:
            facts.append(("expected", "nothing: no message could be accepted here"))
    if rejection.values:
        facts.append(("values", ", ".join(f"{name} = {short(value)}" for name, value in rejection.values.items())))
    if finding.doomed_at is not None:
        facts.append(("lost", f"at event {finding.doomed_at}: whatever followed, the law could not be kept any more"))
    if rejection.terminal is None:
        beside = f" (nor may {count(finding.expectation.others, 'other group')})" if finding.expectation.others else ""
        return Note(f"The group may not end here{beside}", tuple(facts))
    what = "breaks an assertion" if rejection.assertion is not None else "may not come here"
    return Note(f"Event {finding.rejected_at}: `{rejection.terminal}` {what}", tuple(facts))


class _Participants:
    """Who takes part: the group, or its objects if several are known, and whoever they speak with.

    From left to right: who only sends to the group, the group, all others; each in the order of their first message.
    """

    def __init__(self, law: GrammarLaw, group: str, events: Sequence[Event]) -> None:
        self._law = law
        self._calls = {
            event["callId"]: event
            for event in events
            if isinstance(event.get("callId"), int | str) and event.get("reply") is not True
        }
        self._classes = self._known_classes(events)
        ends = [(self._end(event, sender), sender) for event in events for sender in (True, False)]
        members = list(dict.fromkeys(identity for (inside, identity, _), _ in ends if inside and identity is not None))
        self._apart = len(members) > 1
        self._member = members[0] if members else None
        keys = list(dict.fromkeys(self._lifeline(end) for end, _ in ends))
        if not any(inside for inside, *_ in keys):
            keys.append((True, None, ""))
        receiving = {self._lifeline(end) for end, sender in ends if not sender}
        keys.sort(key=lambda key: (1 if key[0] else 2 if key in receiving else 0, key[0] and key[1] is None))
        self._places = {key: place for place, key in enumerate(keys)}
        self.participants = [self._participant(key, group) for key in keys]

    def place(self, event: Event, *, sender: bool) -> int:
        return self._places[self._lifeline(self._end(event, sender))]

    def label(self, event: Event) -> str:
        """A message with its data, as `registerItems(Worker 9, 42)`; an answer as `getConnection: Worker 9`."""
        method = str(event.get("name", "")).rpartition(".")[2]
        if event.get("reply") is not True:
            parts = list(self._arguments(event))
            shown = parts if len(parts) <= _MAX_ARGUMENTS else [*parts[:_MAX_ARGUMENTS], "…"]
            return f"{method}({', '.join(shown)})"
        if event.get("exception") is not None:
            return f"{method} raised {event['exception']}"
        return f"{method}: {self._value(event.get('resultId'), event.get('res'))}"

    def _arguments(self, event: Event) -> Iterator[str]:
        args, ids = event.get("args"), event.get("argIds")
        values = args if isinstance(args, list) else []
        objects = ids if isinstance(ids, list) else []
        for at in range(max(len(values), len(objects))):
            yield self._value(objects[at] if at < len(objects) else None, values[at] if at < len(values) else None)
        by_name, named = event.get("kwargs"), event.get("kwargIds")
        by_name, named = by_name if isinstance(by_name, dict) else {}, named if isinstance(named, dict) else {}
        for name in dict.fromkeys([*by_name, *named]):
            yield f"{name}={self._value(named.get(name), by_name.get(name))}"

    def _value(self, identity: Any, value: Any) -> str:
        return short(value) if identity is None else self._named(_id(identity) or short(identity))

    def _named(self, identity: int | str) -> str:
        return f"{self._classes.get(identity, 'object')} {identity}"

    def _known_classes(self, events: Iterable[Event]) -> Mapping[int | str, str]:
        """The classes of objects: of those that are called by the name of the method, of others by the view."""
        called: dict[int | str, str] = {}
        mentioned: dict[int | str, str] = {}
        for event in events:
            _, identity, kind = self._end(event, event.get("reply") is True)
            if identity is not None and kind:
                called.setdefault(identity, kind)
            terminal = self._law.dispatch.find(event)
            ids = event.get("argIds")
            if terminal is not None and isinstance(ids, list):
                parameters = self._law.view.messages[terminal].parameters
                for parameter, each in zip(parameters, ids, strict=False):
                    if _id(each) is not None and parameter.type and _CLASS.fullmatch(parameter.type):
                        mentioned.setdefault(each, parameter.type)
        return mentioned | called

    def _end(self, event: Event, sender: bool) -> tuple[bool, Id, str]:
        """Who sent or received a message: is it in the group, its id, its class; the last two if they are known."""
        inside = (event.get("event") == "send") is sender
        reply = event.get("reply") is True
        identity = _id(event.get("callerId" if sender else "targetId"))
        # The name is that of a method of who is called. An answer goes the other way.
        kind = str(event.get("name", "")).rpartition(".")[0].rpartition(".")[2] if sender is reply else ""
        if reply:
            call = self._calls.get(event["callId"]) if isinstance(event.get("callId"), int | str) else None
            other = None if call is None else _id(call.get("targetId" if sender else "callerId"))
            called = None if call is None else _id(call.get("targetId"))
            if not sender and called is not None and identity == called:
                identity = None  # it says who was called, not where the answer goes
            identity = other if identity is None else identity
        return inside, identity, kind

    def _lifeline(self, end: tuple[bool, Id, str]) -> tuple[bool, Id, str]:
        inside, identity, kind = end
        if inside:
            return (True, identity if self._apart else None, "")
        return (False, identity, "" if identity is not None else kind)

    def _participant(self, key: tuple[bool, Id, str], group: str) -> Participant:
        inside, identity, kind = key
        if inside and self._apart:
            name = "others in it" if identity is None else self._named(identity)
            return Participant(name, ours=True, frame=group, known=identity is not None)
        if inside:
            return Participant(group, "" if self._member is None else self._named(self._member), ours=True)
        if identity is not None:
            return Participant(self._named(identity))
        return Participant(kind or "outside", known=bool(kind))


def _id(value: Any) -> Id:
    return value if isinstance(value, int | str) and not isinstance(value, bool) else None
