"""What the parts of the Python source expect of each other: probes, callees, plans, and the protocol of a tracer."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from enum import IntEnum, IntFlag
from types import CodeType
from typing import Any, Final, NamedTuple, Protocol, Self

Event = dict[str, Any]


class Operation(IntEnum):
    """What an instruction does; the comments list its operands on the stack, from `Probe.base` up. C has the same."""

    CALL = 0  # callable, self (one of both may be NULL: see `Probe`), then `count` arguments, the last by keyword
    CALL_EX = 1  # callable and self as above, then the positional arguments as one iterable, and, if count is 1, a dict
    ENTER = 2  # manager
    EXIT_RAISED = 3  # the bound `__exit__`
    ASYNC_ENTER = 4  # manager
    ITER = 5  # iterable
    NEXT = 6  # iterator
    ASYNC_ITER = 7  # iterable
    ASYNC_NEXT = 8  # iterator
    AWAIT = 9  # awaitable
    CONTAINS = 10  # value, container
    GET_ITEM = 11  # container, key
    SET_ITEM = 12  # value, container, key
    DELETE_ITEM = 13  # container, key
    GET_SLICE = 14  # container, start, stop
    SET_SLICE = 15  # value, container, start, stop
    GET_FIELD = 16  # owner
    SET_FIELD = 17  # value, owner
    DELETE_FIELD = 18  # owner
    BINARY = 19  # left, right
    COMPARE = 20  # left, right
    UNARY = 21  # operand


CALLS: Final = frozenset({Operation.CALL, Operation.CALL_EX})
FIELDS: Final = frozenset({Operation.GET_FIELD, Operation.SET_FIELD, Operation.DELETE_FIELD})
NEXTS: Final = frozenset({Operation.NEXT, Operation.ASYNC_NEXT})


class Probe(NamedTuple):
    """An instruction whose operands the tracer reads just before it runs.

    A call has two values at its base. If one is NULL, the other is the callable, which has no receiver. Otherwise the
    first is the callable and the second its receiver. That holds on every version.
    """

    offset: int  # of the instruction, in bytes
    operation: Operation
    base: int  # the lowest operand: an index into the frame's value stack, from its bottom
    # Arguments of a CALL on the stack, without the receiver; flag of a CALL_EX; of CONTAINS: 1 for `not in`.
    count: int  # type: ignore[assignment]
    name: str | None  # of a call: the global or attribute it was loaded by, if it was; of a field: the attribute;
    # of any other operation: the special method, as `__enter__`, `__add__`, `__iadd__`, `__lt__`, `__contains__`
    keywords: tuple[str, ...]  # of a CALL: the names of the last arguments
    result: int  # the offset of the next instruction: there the result, if it has one, is on the stack; -1: nowhere
    # Of a call: no watched callee has this name, so a place that calls something else by it can be switched off. Of a
    # call without a name: the same, as long as no watched callee has escaped into a variable.
    name_unwanted: bool = False
    learner_only: bool = False  # of a call: only a learner wants it; switched off once it often called other things
    groups: tuple[int, ...] = ()  # all that is wanted here, whatever comes, is of these groups; (): that is not known
    may_create: bool = False  # objects of these groups may begin to be watched here
    # Of SET_FIELD: the instruction before, if value and owner are known there already: its offset, and where they lie,
    # from the bottom of the value stack; below that are the variables. It is cheaper to look there.
    early: tuple[int, int, int] | tuple[()] = ()
    by_global: bool = False  # of a call: the name is a global, or a name in a class body, not an attribute
    steps: bool = False  # of SET_FIELD: it is `x.field += n` or `-= n`, and n is a number other than zero


class Want(IntFlag):
    """Which events of a callee are wanted, and with which fields. The C core knows these numbers."""

    PRE = 1  # func_pre
    POST = 2  # func_post
    RAISE = 4  # func_raise
    NEW = 8  # new (of a class)
    ARGS = 16  # args, argIds, kwargs, kwargIds
    RESULT = 32  # res, resultId
    READ = 64  # field_read
    WRITE = 128  # field_write
    NEXT = 256  # iter_next
    YIELD = 512  # yield and resume, of a generator or coroutine (callee side)
    CALLEE_SIDE = 1024  # reported where it starts, not where it is called: callers' probes pass it over
    RECEIVER = 2048  # the first argument is the receiver, also if it was passed as a plain argument
    EXIT = 4096  # the process ends in this call (`os._exit`): everything must be handed over before it
    SITE = 8192  # file and line
    # The same events, for the learner, of objects that have an id.
    LEARN = 16384  # func_pre
    LEARN_NEW = 131072
    LEARN_READ = 1048576
    LEARN_WRITE = 2097152
    BIRTH = 1 << 26  # born: here objects of the callee's group begin their lives, and the coin is flipped
    STACK = 1 << 27  # of born: the stack of the caller
    ON_CALL = 1 << 28  # the objects of the call are handed to `WatchPlanner.on_call`, which makes the events
    ON_RETURN = 1 << 29  # so is its end, to `WatchPlanner.on_return`


LEARNING: Final = Want.LEARN | Want.LEARN_NEW | Want.LEARN_READ | Want.LEARN_WRITE
_LEARN_SHIFT: Final = 14


def as_events(wants: Want) -> Want:
    """The same for a tracer that cannot give a learner numbers: the learner gets events like everybody else."""
    if not wants & LEARNING:
        return wants
    return wants & ~LEARNING | Want((wants & LEARNING) >> _LEARN_SHIFT) | Want.SITE


class Callee(NamedTuple):
    """Something that is watched: a function, a class that is called, an attribute, a special method."""

    name: str  # as events have it
    wants: Want
    group: int = 0  # report only objects of this group that are samples; 0: report everything


class CodePlan(NamedTuple):
    """What to watch in one code object, decided when it first starts.

    Where a function reports its own start, the event's place is the nearest caller that is own code.
    """

    callee: Callee | None  # if its starts and ends are reported themselves (callee side)
    probes: tuple[Probe, ...]  # if what it does is reported (caller side)
    file: str  # as events have it
    own: bool  # is it the program's own code? Own code has a plan even if nothing is to be seen in it.
    escapes: bool = False  # it puts something that is wanted into a variable, from where it may be called
    groups: tuple[int, ...] = ()  # whatever its first argument is, it reports objects of these groups only; (): unknown
    may_create: bool = False  # it is an `__init__` in which lives of objects of these groups may begin


class Sampling(NamedTuple):
    """The classes whose objects are sampled, each with the number of its group, from 1."""

    classes: Mapping[str, int]  # by qualified name, as laws have it; subclasses belong to it
    makers: Mapping[str, int] = {}  # C functions whose result is an object of the group, as `open`
    laws: Sequence[object] | None = None  # those for which samples are enough; None: all
    stacks: bool = False  # `born` has the stack of the caller


class WatchPlanner(Protocol):
    """Decides about code and callees. Tracers ask once and remember the answer, so these methods may be slow.

    Subclasses inherit defaults for all that follows `class_name`.
    """

    def plan(self, code: CodeType, module: str) -> CodePlan | None:
        """For a code object that starts for the first time, in a module of this name. None: ignore it.

        Own code always has a plan, because events have places in it.
        """

    def callee(self, function: object, receiver: type | None) -> Callee | None:
        """For what a probed place calls, with the type of the receiver if it has one.

        `function` is never a bound method, but the function behind it, or any other callable. Tracers remember the
        answer for the function (for a Python function: its code) and the type.
        """

    def receiver_callee(self, code: CodeType, receiver: type) -> Callee | None:
        """For a code object whose plan has a callee: the same for this type of first argument.

        A law may name a method by a subclass; a plain function's first argument is not a receiver.
        """

    def operation(self, name: str, owner: type) -> Callee | None:
        """For a special method such as `__enter__` that an instruction calls on an object of this type."""

    def field(self, name: str, owner: type) -> Callee | None:
        """For an attribute of an object of this type; wants READ, WRITE or both."""

    def class_name(self, kind: type) -> str:
        """The qualified name of a class, as events have it."""

    @property
    def on_seen(self) -> Callable[[CodeType], object] | None:
        """Called when own code starts for the first time, and for the first time after each `Tracer.rearm`."""
        return None

    def on_call(
        self, subject: object, args: tuple[Any, ...], kwargs: dict[str, Any] | None
    ) -> tuple[list[Event], object] | None:
        """A call of a callee with `Want.ON_CALL` is about to happen. None: it makes no events.

        Otherwise its events, which are delivered together and get place, thread, task and time like others, and a
        token if `on_return` is to be called. On the callee side the subject is the code object that starts. On the
        caller side it is the function, and the receiver is the first argument. An exception is an internal error.
        """
        return None

    def on_return(self, token: object, result: object, exception: str | None) -> list[Event]:
        """The call has ended, with this result or an exception of a class of this name (with `Want.ON_RETURN`)."""
        return []


class LearnerFeed(Protocol):
    """Learns while the program runs. Tracers ask once for the number of each name and place."""

    @property
    def window(self) -> object:
        """If it is one of the C core, events for the learner are put into it as numbers."""

    def word(self, event: str, name: str) -> int: ...

    def site(self, file: str | None, line: int | None) -> int: ...


class Tracer(Protocol):
    """Makes events out of what the program does. `TracerFactory` makes one.

    The tracer gathers events and delivers them in order, in batches: when there are `flush_at`, and on `flush`. If
    `synchronous`, it delivers each event at once, on its thread, and an exception of `deliver` goes on into the
    program, in front of the call that is about to happen. Otherwise an exception of `deliver`, like any internal error,
    stops the tracer and is kept in `fault`. If `gone`, there is an event when an object with an id dies. Nothing the
    tracer or `deliver` does makes events.

    The learner's events (`LEARNING`) go into its window if the tracer `learns`: if both are in C. Otherwise they are
    delivered with the others.

    Sampling. The life of an object of a group begins at a callee with `Want.BIRTH`: on the callee side at the start of
    the outermost `__init__`; on the caller side where a call gives its result. There the tracer flips the group's
    coin, once for each life. Heads: it reports `born`, all events of this object, and `gone` in the end. Tails: it
    keeps and reports nothing. Of the call of a class or function with a group, it does not report `func_pre` and
    `func_raise`, since there is no object. While a group has no living sample, its places sleep if the interpreter
    lets them; they wake before `born`. With a rate or a budget of 0 its births sleep, too. A coin is a splitmix64
    sequence for each group, so that the n-th birth of a group has the same fate on every core.
    """

    name: str  # "monitoring" or "python"
    fault: BaseException | None
    dropped: int  # events that found the buffer full, if it is not to be emptied by the program's own threads
    flush_at: int  # how many events are gathered before they are delivered
    learner: LearnerFeed | None  # if the tracer `learns`; set again when the learner has another window
    lazy_events: bool  # events are delivered as objects that make the dict when it is needed (C tracer only)
    message_cache: Any  # the C core's `MessageCache` of messages that lie in queues, or None (C tracer only)

    @property
    def pending(self) -> int:
        """Gathered events that are not delivered."""

    @property
    def learns(self) -> bool: ...

    @property
    def cost(self) -> float:
        """Seconds spent so far: in deliveries, and an estimate for the rest."""

    @property
    def callbacks(self) -> int:
        """How often the interpreter has called the tracer."""

    def sample(self, group: int, rate: float, budget: int = -1) -> None:
        """Make objects of this group that are born from now on samples with this probability, up to `budget`.

        A budget below 0 has no end. Without a call all objects are samples. Living samples stay samples. Any thread may
        call this at any time.
        """

    def release(self, group: int) -> None:
        """Make no more events of the living samples of this group, not even `gone`."""

    def samples(self, group: int) -> tuple[int, int, int]:
        """Of this group: the objects for which the coin was flipped, those that became samples, and living samples."""

    def seed(self, number: int) -> None:
        """The coins of all groups begin anew, with this number of 64 bits."""

    def rearm(self) -> None:
        """Call `WatchPlanner.on_seen` again for all own code that starts from now on, once."""

    def take_over(self, other: Self) -> None:
        """Before the start: go on with the ids of objects, the numbers of threads and the clock of another tracer.

        That one has the same core, runs, and must stop before this one starts. Open calls have no end in the events.
        """

    def start(self) -> None:
        """Watch all threads, those to come included."""

    def stop(self) -> None:
        """Leave the interpreter as it was, and deliver the gathered events."""

    def flush(self) -> None:
        """Deliver the gathered events."""

    def emit(self, event: Event) -> None:
        """Add an event to the stream, with thread, task and time."""

    def suspend(self) -> None:
        """This thread does Lawful's own work from now on: make no events of it."""

    def resume(self) -> None:
        """It does the program's work again."""

    def after_fork(self, process: int) -> None:
        """In a child process, which has this number: events get a field `process`, ids go on at process * 2**32.

        The child drops the events that its parent will deliver. Living samples stay samples; their counts begin at 0,
        and the coins go on with another seed.
        """

    def identify(self, value: object) -> int:
        """The id of an object, which no other object of this run ever has."""


Deliver = Callable[[list[Event]], None]


class TracerFactory(Protocol):
    """Makes a tracer. With a `limit`, events that find so many others in the buffer are dropped (C tracer only)."""

    def __call__(
        self,
        planner: WatchPlanner,
        deliver: Deliver,
        /,
        *,
        flush_at: int = ...,
        synchronous: bool = False,
        gone: bool = False,
        limit: int = 0,
        learner: LearnerFeed | None = None,
    ) -> Tracer: ...
