"""What the two sides of a call share in the pure-Python tracer: open calls, samples, and the parts of events."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from types import FrameType
from typing import Any, Final, NamedTuple, Protocol

from lawful.sources.python import names
from lawful.sources.python.encode import add_exception, add_receiver, add_result, is_primitive
from lawful.sources.python.frames import MISSING, Read
from lawful.sources.python.identity import Identity
from lawful.sources.python.object_sampling import ObjectSampler
from lawful.sources.python.tracer_protocol import Callee, Event, Probe, Want, WatchPlanner
from lawful.sources.python.watched_code import PlannerAnswers, WatchedCode, WatchedCodes

HEAD: Final = ("name", "class", "target", "targetId")
ARGUMENTS: Final = ("args", "argIds", "kwargs", "kwargIds")


class Recorder(Protocol):
    """Adds thread, task and time to events, and delivers them."""

    def record(self, kind: str, parts: Event, site: Event) -> None: ...

    def record_together(self, events: list[Event], site: Event) -> None: ...

    def flush_now(self) -> None: ...


@dataclass(slots=True)
class CallContext:
    """What both sides work with."""

    planner: WatchPlanner
    codes: WatchedCodes
    answers: PlannerAnswers
    identity: Identity
    sampler: ObjectSampler
    recorder: Recorder
    read: Read | None  # None: frames cannot be read


class OpenCall(NamedTuple):
    """A call that has begun and not ended."""

    code: WatchedCode
    probe: Probe | None  # on the caller side
    wants: Want
    parts: Event
    site: Event
    kind: type | None  # the class, if one is called
    unborn: int = 0  # the group that the result may be an object of
    token: object = None  # what `WatchPlanner.on_return` gets


class CallEvents:
    """One side of calls. Holds no frame, and no object beyond what `Identity` holds."""

    def __init__(self, context: CallContext) -> None:
        self._context = context
        self._codes, self._answers = context.codes, context.answers
        self._sampler, self._read = context.sampler, context.read
        self._record = context.recorder.record
        # By the id of the frame: a frame has one call at a time, and its object lives as long as itself.
        self._open: dict[int, OpenCall] = {}
        self.needs_exceptions = False  # there was a call whose end by an exception is wanted

    def has_open(self, frame: FrameType) -> bool:
        """Whether a call of this frame has begun and not ended."""
        return id(frame) in self._open

    def clear(self) -> None:
        self._open.clear()
        self.needs_exceptions = False

    def _close(self, known: WatchedCode, frame: FrameType) -> OpenCall | None:
        call = self._open.pop(id(frame), None)
        return call if call is not None and call.code is known else None

    # -- handlers --------------------------------------------------------------------------------

    def _on_call(self, subject: object, args: Iterable[Any], kwargs: dict[str, Any], site: Event) -> object:
        answer = self._context.planner.on_call(subject, tuple(args), kwargs or None)
        if answer is None:
            return None
        self._context.recorder.record_together(answer[0], site)
        return answer[1]

    def _on_return(self, call: OpenCall, result: object, exception: str | None, site: Callable[[], Event]) -> None:
        if call.token is not None:
            events = self._context.planner.on_return(call.token, result, exception)
            self._context.recorder.record_together(events, site())

    # -- samples ---------------------------------------------------------------------------------

    def _is_sample(self, value: object) -> bool:
        return value is not MISSING and self._sampler.has(self._context.identity.known(value))

    def _born(self, callee: Callee, value: object, frame: FrameType | None, site: Event) -> None:
        number = self._context.identity.of(value)
        self._sampler.take(callee.group, number)
        name = self._answers.class_name(type(value))
        parts: Event = {"name": name, "class": name, "targetId": number, "sampled": callee.group}
        if callee.wants & Want.STACK:
            parts["stack"] = self._codes.stack(frame)
        self._record("born", parts, site)

    # -- parts of events -------------------------------------------------------------------------

    def _add_receiver(self, parts: Event, receiver: object) -> None:
        name = None if is_primitive(receiver) else self._answers.class_name(receiver_type(receiver))
        add_receiver(parts, receiver, name, self._context.identity.of)

    def _with_result(self, call: OpenCall, value: object, keys: Iterable[str] | None = None) -> Event:
        parts = call.parts.copy() if keys is None else only(call.parts, keys)
        if call.wants & Want.RESULT:
            add_result(parts, value, self._context.identity.of)
        return parts

    def _with_exception(self, call: OpenCall, error: BaseException) -> Event:
        parts = call.parts.copy()
        add_exception(parts, error, self._answers.class_name(type(error)), self._context.identity.of)
        return parts


def receiver_type(receiver: Any) -> type:
    """The type of a receiver; a class, on which class methods are called, stands for itself."""
    kind = type(receiver)
    return receiver if names.inherits(kind, type) else kind


def only(parts: Event, keys: Iterable[str]) -> Event:
    return {key: parts[key] for key in keys if key in parts}
