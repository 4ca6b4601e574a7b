"""The vocabulary of events: which kinds there are, which fields they have, which objects they mention."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

Event = dict[str, Any]
"""One observation as it stands in a trace: a JSON object. Fields and kinds beyond those named here are allowed."""

EVENT_KINDS: Mapping[str, str] = {
    "func_pre": "a function or method is about to run",
    "func_post": "a function or method has returned",
    "func_raise": "a function or method has raised an exception",
    "new": "an object was made: its constructor is done",
    "born": "a life begins that is followed, where objects are sampled",
    "gone": "an object was reclaimed; its id never comes back",
    "field_write": "an attribute of an object was set",
    "field_read": "an attribute of an object was read",
    "iter_next": "an iterator is about to be asked for its next element",
    "yield": "a generator or coroutine has handed over a value and waits",
    "resume": "a generator or coroutine goes on",
    "send": "a message was sent to an actor",
    "receive": "an actor has taken up a message",
    "tick": "time has passed; for laws that wait for something",
}
"""Each kind (the value of ``event``) with its meaning. A trace may hold other kinds: laws match whatever is there."""

FIELDS: Mapping[str, str] = {
    "event": "the kind of event",
    "name": "the qualified name of what was called, built, read, written or sent",
    "class": "the qualified name of the class of the object it happened to",
    "targetId": "the id of the object it happened to (the receiver of a call)",
    "target": "its value, if it is a primitive one",
    "args": "positional arguments, as far as they are primitive values",
    "argIds": "ids of positional arguments that are objects, null elsewhere",
    "kwargs": "keyword arguments, as far as they are primitive values",
    "kwargIds": "ids of keyword arguments that are objects, null elsewhere",
    "res": "the result (or the value written or read), if it is a primitive value",
    "resultId": "the id of the result, if it is an object",
    "exception": "the qualified name of the class of the exception that was raised",
    "excId": "the id of that exception",
    "file": "the source file of the line that did it",
    "line": "the number of that line, from 1",
    "thread": "the thread it happened on",
    "task": "the id of the asyncio task it happened in",
    "time": "seconds since the trace began",
    "process": "the child process it happened in; absent in the first one",
    "group": "the concurrent group (of actors) it belongs to",
    "groupId": "which of the groups of that name",
    "callerId": "the id of the object that sent the message",
    "callId": "what a call and its answer have in common",
    "stack": "where an object was made, and by whom",
    "sampled": "the number of the class of objects that a sample belongs to",
    "reply": "true if the message is the answer to a call",
    "senderId": "the id of who sent the message",
    "seq": "which message of its sender it is, from 1: out of order, they are put in order",
}
"""The standard fields. Whatever is unknown is absent; ids are unique for the life of the trace and never reused."""


def mentioned_ids(event: Mapping[str, Any]) -> Iterator[int | str]:
    """The ids of the objects an event mentions: its target, its arguments, its result, in this order.

    Ids of Lawful's own sources are integers; strings are let through for traces made by others. Anything else is no id.
    """
    target = event.get("targetId")
    if isinstance(target, int | str):
        yield target
    arguments = event.get("argIds")
    if isinstance(arguments, list | tuple):
        for argument in arguments:
            if isinstance(argument, int | str):
                yield argument
    result = event.get("resultId")
    if isinstance(result, int | str):
        yield result


def to_dict(event: Any) -> Event:
    """The event as a dict; the C core also hands over lazy events, which build their dict when asked."""
    return event if event.__class__ is dict else event.to_dict()
