"""What the parts of the Python source expect of each other: probes, callees, plans, and the protocol of a tracer."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from enum import IntEnum, IntFlag
from types import CodeType
from typing import Any, Final, NamedTuple, Protocol, Self

Event = dict[str, Any]


class Operation(IntEnum):
    """What an instruction does to its operands. The comment says how these lie on the stack, from `Probe.base` upwards.

    The numbers are known to the C core.
    """

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
    """An instruction whose operands are looked at just before it runs.

    Of the two values at the base of a call, one may be missing (NULL): then the other is the callable and there is no
    receiver. If both are there, the first is the callable and the second its receiver. That holds on every version.
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
    line: int  # in the source, 0 if unknown
    # Of a call: no watched callee has this name, so a place that calls something else by it can be switched off. Of a
    # call without a name: the same, as long as no watched callee has escaped into a variable.
    name_unwanted: bool = False
    learner_only: bool = False  # of a call: only a learner wants it; switched off once it often called other things
    groups: tuple[int, ...] = ()  # all that is wanted here, whatever comes, is of these groups; (): that is not known
    may_create: bool = False  # objects of these groups may begin to be watched here
    # Of SET_FIELD: the instruction before, if value and owner are known there already: its offset, and where they lie,
    # from the bottom of the value stack; below that are the variables. It is cheaper to look there.
    early: tuple[int, int, int] | tuple[()] = ()
    by_global: bool = (
        False  # of a call: the name is that of a global, or of a name in a class body, not of an attribute
    )
    steps: bool = False  # of SET_FIELD: it is `x.field += n` or `-= n`, and n is a number other than zero


class Want(IntFlag):
    """Which events about a callee are wanted, and what is to be noted in them. Known to the C core."""

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
    STACK = 1 << 27  # of born: who made it
    ON_CALL = 1 << 28  # the objects of the call are handed to `WatchPlanner.on_call`, which makes the events
    ON_RETURN = 1 << 29  # so is its end, to `WatchPlanner.on_return`


LEARNING: Final = Want.LEARN | Want.LEARN_NEW | Want.LEARN_READ | Want.LEARN_WRITE
_LEARN_SHIFT: Final = 14


def as_events(wants: Want) -> Want:
    """The same for a tracer that does not feed a learner with numbers: the learner gets events like everybody else."""
    if not wants & LEARNING:
        return wants
    return wants & ~LEARNING | Want((wants & LEARNING) >> _LEARN_SHIFT) | Want.SITE


class Callee(NamedTuple):
    """Something that is watched: a function, a class that is called, an attribute, a special method."""

    name: str  # as events have it
    wants: Want
    group: int = 0  # report only objects of this group that are samples; 0: report everything


class CodePlan(NamedTuple):
    """What is done about one code object, decided when it first starts.

    A function that reports its own starts gives as their place the nearest caller that is own code.
    """

    callee: Callee | None  # if its starts and ends are reported themselves (callee side)
    probes: tuple[Probe, ...]  # if what it does is reported (caller side)
    file: str  # as events have it
    own: bool  # is it the program's own code? Own code has a plan even if nothing is to be seen in it.
    escapes: bool = False  # it puts something that is wanted into a variable, from where it may be called
    groups: tuple[int, ...] = ()  # whatever its first argument is, it reports objects of these groups only; (): unknown
    may_create: bool = False  # it is an `__init__` in which lives of objects of these groups may begin


class Sampling(NamedTuple):
    """Which objects are sampled: those of some classes, each with the number of its group, from 1."""

    classes: Mapping[str, int]  # by qualified name, as laws have it; subclasses belong to it
    makers: Mapping[str, int] = {}  # C functions whose result is an object of the group, as `open`
    laws: Sequence[object] | None = None  # those that are content with samples; None: all
    stacks: bool = False  # `born` tells who made the object


class WatchPlanner(Protocol):
    """Decides about code and callees. Tracers ask once and remember the answer, so these methods may be slow.

    Explicit subclasses inherit defaults for all that follows `class_name`: a planner that has no callees with
    `Want.ON_CALL`, no library filter, and nobody who wants to know which code starts.
    """

    def plan(self, code: CodeType, module: str) -> CodePlan | None:
        """For a code object that starts for the first time, in a module of this name. None: it is of no interest.

        The program's own code is always of interest: it is the place of events, if nothing else.
        """
        ...

    def callee(self, function: object, receiver: type | None) -> Callee | None:
        """For a function as it is called from a probed place, with the type of the receiver if it has one.

        `function` is never a bound method, but the function behind it: a Python function, a method descriptor, a
        builtin, a class that is being called, or any other callable object. Tracers remember the answer for the
        function (for a Python function: its code) and the type.
        """
        ...

    def receiver_callee(self, code: CodeType, receiver: type) -> Callee | None:
        """For a code object whose plan has a callee: the same for this type of first argument.

        A law may name a method by a subclass; a plain function's first argument is not a receiver.
        """
        ...

    def operation(self, name: str, owner: type) -> Callee | None:
        """For a special method such as `__enter__` that an instruction calls on an object of this type."""
        ...

    def field(self, name: str, owner: type) -> Callee | None:
        """For an attribute of an object of this type; wants READ, WRITE or both."""
        ...

    def class_name(self, kind: type) -> str:
        """The qualified name of a class, as events have it."""
        ...

    @property
    def on_seen(self) -> Callable[[CodeType], object] | None:
        """Called when own code starts for the first time, and for the first time after each `Tracer.rearm`.

        None when the tracer starts: nobody wants to know.
        """
        return None

    def on_call(
        self, subject: object, args: tuple[Any, ...], kwargs: dict[str, Any] | None
    ) -> tuple[list[Event], object] | None:
        """A call of a callee with `Want.ON_CALL` is about to happen. None: it makes no events.

        Otherwise its events, which are delivered together and get place, thread, task and time like others, and a
        token if `on_return` is to be called. On the callee side the subject is the code object that starts. On the
        caller side it is the function, and the receiver is the first of the arguments. This runs on the thread of
        the call, and nothing it does makes events. An exception here is an internal error.
        """
        return None

    def on_return(self, token: object, result: object, exception: str | None) -> list[Event]:
        """The call has ended, with this result or an exception of a class of this name (with `Want.ON_RETURN`)."""
        return []


class LearnerFeed(Protocol):
    """Learns while the program runs. Its numbers are asked for once for each name and place, and remembered."""

    @property
    def window(self) -> object:
        """If it is one of the C core, events for the learner are put into it as numbers."""
        ...

    def word(self, event: str, name: str) -> int: ...

    def site(self, file: str | None, line: int | None) -> int: ...


class SampleCounts(NamedTuple):
    """What has become of a group so far."""

    born: int  # objects for which the coin was flipped
    taken: int  # those that became samples
    alive: int  # samples that are not gone


class Tracer(Protocol):
    """Makes events out of what the program does. `TracerFactory` says how one is made.

    The tracer gathers events and gives them to `deliver` in batches, in the order in which they happened: when
    `flush_at` are there, and on `flush`. If `synchronous`, it delivers every event at once, in the thread it happens
    on, and an exception of `deliver` goes on into the program, in front of the call that is about to happen.
    Otherwise an exception of `deliver`, like any internal error, stops the tracer and is kept in `fault`. If `gone`,
    there is an event when an object with an id dies. Nothing the tracer or `deliver` does makes events.

    What `Want.LEARN` and its like ask for goes into the learner's window if the tracer `learns`: if both the tracer
    and the window are in C. Otherwise `deliver` gets it with the other events.

    Sampling. The life of an object of a group begins at a callee with `Want.BIRTH`: on the callee side at the start of
    the outermost `__init__`, before anything in it; on the caller side where the result of a call is seen. There the
    tracer flips the group's coin, once for each life. Heads: it reports `born`, all events of this object, and `gone`
    in the end. Tails: it keeps and reports nothing. Of the call of a class or function with a group, it does not
    report `func_pre` and `func_raise`, since there is no object. While a group has no living sample, its places sleep
    if the interpreter lets them; they wake before `born`. With a rate or a budget of 0 its births sleep, too.

    A coin is a splitmix64 sequence for each group, so that the n-th birth of a group has the same fate on every core.
    """

    name: str  # "monitoring" or "python"
    fault: BaseException | None
    dropped: int  # events that found the buffer full, if it is not to be emptied by the program's own threads
    flush_at: int  # how many events are gathered before they are delivered
    learner: LearnerFeed | None  # who learns, if the tracer `learns`. Set: its window is another one now.
    lazy_events: bool  # events are delivered as objects that make the dict when it is needed (C tracer only)
    message_cache: Any  # the C core's `MessageCache` of messages that lie in queues, or None (C tracer only)

    @property
    def pending(self) -> int:
        """How many events are not delivered yet."""
        ...

    @property
    def learns(self) -> bool: ...

    @property
    def cost(self) -> float:
        """Seconds spent for the watching so far: in deliveries, and an estimate for the rest."""
        ...

    @property
    def callbacks(self) -> int:
        """How often the interpreter has called the tracer. Where everything sleeps it does not."""
        ...

    def sample(self, group: int, rate: float, budget: int = -1) -> None:
        """Objects of this group that are born from now on become samples with this probability, so many at most.

        A budget below 0 has no end. Before the first call it is all objects. From any thread, at any time. Samples that
        are alive are followed on.
        """
        ...

    def release(self, group: int) -> None:
        """Living samples of this group are not samples any more: there are no more events of them, not even `gone`."""
        ...

    def samples(self, group: int) -> tuple[int, int, int]:
        """`SampleCounts` of this group: born, taken, alive."""
        ...

    def seed(self, number: int) -> None:
        """The coins of all groups begin anew, with this number of 64 bits."""
        ...

    def rearm(self) -> None:
        """Call `WatchPlanner.on_seen` again for all own code that starts from now on, once."""
        ...

    def take_over(self, other: Self) -> None:
        """Before the start: take over from a tracer of the same core that runs, and is to stop before this one starts.

        Objects and threads keep their numbers, and time goes on. Open calls have no end in the events of this one.
        """
        ...

    def start(self) -> None:
        """Watch all threads, those to come included."""
        ...

    def stop(self) -> None:
        """Leave the interpreter as it was, and deliver the gathered events."""
        ...

    def flush(self) -> None:
        """Deliver the gathered events."""
        ...

    def emit(self, event: Event) -> None:
        """Put an event of one's own into the stream, in its place; thread, task and time are added to it."""
        ...

    def suspend(self) -> None:
        """This thread does Lawful's own work now: do not report the functions that it starts."""
        ...

    def resume(self) -> None:
        """It does the program's work again."""
        ...

    def after_fork(self, process: int) -> None:
        """In a child process, which has this number: events get a field `process`, ids go on at process * 2**32.

        The parent delivers the events it has gathered; the child forgets them. Samples that are alive
        stay samples; `born` and `taken` count from 0, and the coins go on with another seed.
        """
        ...

    def identify(self, value: object) -> int:
        """The id of an object, which no other object of this run ever has."""
        ...


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
