"""Ids of objects, which are never used twice in a run, and notices of the end of objects."""

from __future__ import annotations

import gc
import sys
import types
import weakref
from _thread import RLock
from collections.abc import Callable, Iterable
from typing import Any, Generic, ParamSpecArgs, ParamSpecKwargs, TypeVar

from lawful.sources.python import names

PRIMITIVE = frozenset({id(type(None)), id(bool), id(int), id(float), id(str)})
"""The ids of the types whose values stand for themselves in events and have no id (exact types, not subclasses)."""

CHILD_STRIDE = 2**32
"""The ids of the k-th child process begin at k times this."""

# Read from the type through the descriptor of `type`, so that no metaclass interferes.
_weakref_offset: Callable[[type], int] = vars(type)["__weakrefoffset__"].__get__

# On 3.12 and 3.13 these take weak references, but do not call them back when they are freed.
_NO_CALLBACK = frozenset({id(ParamSpecArgs), id(ParamSpecKwargs)}) if sys.version_info >= (3, 12) else frozenset[int]()

# These run code when they die, after the callbacks of their weak references. If we first meet one in that code, as in
# the finaliser of asynchronous generators, our reference gets no callback. It must not be freed then.
_RUN_CODE_LAST = frozenset({id(types.GeneratorType), id(types.CoroutineType), id(types.AsyncGeneratorType)})


def _calls_back(kind: type) -> bool:
    """Whether weak references to its objects are called back when these die."""
    return bool(_weakref_offset(kind)) and id(kind) not in _NO_CALLBACK


Gone = Callable[[int, type], None]
"""Called with the id of an object that died and with its type."""

_FIRST_SWEEP = 64
_FIRST_TRIAL = 1024
_TRIAL_LIMIT = 200_000

# Objects that lead everywhere. References from there count as coming from outside: they keep an object alive.
_DESCRIPTORS = (types.GetSetDescriptorType, types.MemberDescriptorType, types.MethodDescriptorType)
_FUNCTIONS = (types.FunctionType, types.BuiltinFunctionType, types.WrapperDescriptorType)
_BORDERS = frozenset(map(id, (type, types.ModuleType, types.CodeType, types.FrameType, *_FUNCTIONS, *_DESCRIPTORS)))

_NEVER_HELD = frozenset({id(types.TracebackType), id(types.FrameType), id(slice)})


def _is_never_held(kind: type) -> bool:
    return id(kind) in _NEVER_HELD or names.inherits(kind, BaseException)


class _Ref(weakref.ref[Any]):
    """A weak reference that knows the number and type of its object."""

    __slots__ = ("key", "kind", "number")

    key: int
    kind: type
    number: int

    def is_to(self, value: object) -> bool:
        """Whether it leads to this object, and not to one that had its address before."""
        return self() is value and (
            id(self.kind) not in _RUN_CODE_LAST or any(each is self for each in weakref.getweakrefs(value))
        )


def _keeper() -> Callable[[_Ref], object]:
    """A function that keeps a reference for ever, also when the interpreter ends."""
    try:
        from ctypes import py_object, pythonapi

        return lambda ref: pythonapi.Py_IncRef(py_object(ref))
    except (ImportError, AttributeError):
        kept: list[_Ref] = []
        return kept.append


class Identity:
    """Numbers objects 1, 2, ... by identity, and forgets them when they die.

    It watches an object by a weak reference if it can. Any other object it holds, until a sweep finds that nobody else
    holds it: the object dies late. A sweep happens when twice as many are held as the last one left. More rarely, a
    sweep finds cycles through held objects, by counting references among them.

    It does not hold exceptions, tracebacks, frames and slices without weak references: an exception keeps alive all
    variables of the functions it came through. They get another id each time, and there is no notice of their end.

    No method of an object is called, and none of its class. A weakly referenced object that the garbage collector finds
    in a cycle, and that a finaliser of that cycle uses, gets a second id there: its references are gone by then.
    """

    def __init__(self, gone: Gone | None = None) -> None:
        self.gone = gone
        self._next = 1
        self._weak: dict[int, _Ref] = {}
        self._spent: _Ref | None = None
        self._held: dict[int, Any] = {}
        self._held_numbers: dict[int, int] = {}
        self._sweep_at = _FIRST_SWEEP
        self._trial_at = _FIRST_TRIAL
        # Reentrant: a weak reference's callback may run in the middle of anything.
        self._lock = RLock()
        self._sweeping = False
        self._keep = _keeper()

    def __len__(self) -> int:
        return len(self._weak) + len(self._held)

    @property
    def held(self) -> int:
        """How many objects are kept alive at the moment."""
        return len(self._held)

    def of(self, value: object) -> int:
        """The id of an object; a new one if it has none."""
        ref = self._weak.get(id(value))
        if ref is not None and ref.is_to(value):
            return ref.number
        number = self._held_numbers.get(id(value))
        return self._add(value) if number is None else number

    def known(self, value: object) -> int | None:
        """The id of an object, if it has one."""
        ref = self._weak.get(id(value))
        # A dead reference's callback may not have run yet while its address is already in use again.
        return ref.number if ref is not None and ref.is_to(value) else self._held_numbers.get(id(value))

    def _add(self, value: object) -> int:
        with self._lock:
            again = self.known(value)
            if again is not None:
                return again
            number = self._next
            self._next += 1
            key, kind = id(value), type(value)
            if _is_never_held(kind) and not _calls_back(kind):
                return number
            if _calls_back(kind):
                old = self._weak.pop(key, None)
                if old is not None:
                    self._report(old.number, old.kind)
                    if old() is not None:
                        self._keep(old)
                ref = _Ref(value, self._died)
                ref.key, ref.number, ref.kind = key, number, kind
                self._weak[key] = ref
                return number
            self._held[key], self._held_numbers[key] = value, number
            full = len(self._held) >= self._sweep_at
        if full:
            self.sweep()
        return number

    def _died(self, ref: weakref.ref[Any]) -> None:
        assert isinstance(ref, _Ref)
        with self._lock:
            if self._weak.get(ref.key) is not ref:
                return
            self._spent = self._weak.pop(ref.key)  # were it freed in here, `gc.collect()` would count it
            self._report(ref.number, ref.kind)

    def _report(self, number: int, kind: type) -> None:
        if self.gone is not None:
            self.gone(number, kind)

    def sweep(self) -> None:
        """Let go of what nobody else holds."""
        with self._lock:
            if self._sweeping:
                return
            self._sweeping = True
            try:
                self._drop_unused()
                if len(self._held) >= self._trial_at:
                    while cut_off := _cut_off(self._held):
                        self._drop(cut_off)
                        gc.collect()
                        self._drop_unused()
                    self._trial_at = max(_FIRST_TRIAL, 2 * len(self._held))
                self._sweep_at = max(_FIRST_SWEEP, 2 * len(self._held))
            finally:
                self._sweeping = False

    def _drop_unused(self) -> None:
        # What dies may have been the last to hold others. These are looked at first, so that a chain is not looked
        # through again for each of its links.
        while keys := self._unused([*self._held]):
            while keys:
                keys = self._unused(self._drop(keys) & self._held.keys())

    def _unused(self, keys: Iterable[int]) -> list[int]:
        """Those that nobody else holds."""
        return [key for key, count in _counts(self._held, keys) if count == _ONLY_OURS]

    def _drop(self, keys: list[int]) -> set[int]:
        """Let go of these. The ids of the objects that they held themselves."""
        inner: set[int] = set()
        for key in keys:
            number = self._held_numbers.pop(key, None)
            if number is not None:
                value = self._held.pop(key)
                inner.update(map(id, gc.get_referents(value)))
                self._report(number, type(value))
                del value
        return inner

    def forget(self) -> None:
        """Let go of all, without notices. Numbers go on."""
        with self._lock:
            weak, self._weak = self._weak, {}
            held, self._held = self._held, {}
            self._held_numbers = {}
            for ref in weak.values():
                if id(ref.kind) in _RUN_CODE_LAST:
                    self._keep(ref)
        del weak, held

    def in_child(self, process: int) -> None:
        """After a fork, in the child: locks held by other threads are gone, and new ids are the child's own."""
        self._lock = RLock()
        self._sweeping = False
        self._next = process * CHILD_STRIDE


def _counts(objects: dict[int, Any], keys: Iterable[int]) -> list[tuple[int, int]]:
    count = sys.getrefcount
    return [(key, count(objects[key])) for key in keys]


_ONLY_OURS = _counts({0: []}, [0])[0][1]  # of an object that nobody else holds


def _cut_off(held: dict[int, Any]) -> list[int]:
    """The keys of held objects that are reachable from nothing but themselves, as cycles are.

    Visits all that can be reached from them, up to a border, and counts the references from within. Something with
    more references than that is held from outside, and so is all that it leads to.
    """
    objects = held.copy()
    inner: dict[int, int] = {}
    work = [*held.values()]
    while work:
        value = work.pop()
        for child in gc.get_referents(value):
            key = id(child)
            if key in objects:
                inner[key] = inner.get(key, 0) + 1
            elif gc.is_tracked(child) and not _is_border(child):
                if len(objects) >= _TRIAL_LIMIT:
                    return []
                objects[key] = child
                inner[key] = 1
                work.append(child)
        value = child = None
    counts = _counts(objects, objects)
    alive = [key for key, count in counts if count > inner.get(key, 0) + _ONLY_OURS + (key in held)]
    seen = set(alive)
    while alive:
        for child in gc.get_referents(objects[alive.pop()]):
            key = id(child)
            if key in objects and key not in seen:
                seen.add(key)
                alive.append(key)
    return [key for key in held if key not in seen]


def _is_border(value: object) -> bool:
    kind = type(value)
    return id(kind) in _BORDERS or names.inherits(kind, type)


K = TypeVar("K")


class IdentityCache(Generic[K]):
    """Answers about one or two objects and perhaps a name, by identity, for as long as the objects live."""

    def __init__(self) -> None:
        self._answers: dict[tuple[int, int, str], tuple[K, list[Any]]] = {}

    def find(self, ask: Callable[[], K], one: object, two: object = None, name: str = "") -> K:
        """The answer given before, or the answer of `ask`."""
        key = (id(one), id(two), name)
        known = self._answers.get(key)
        if known is not None:
            return known[0]
        answer = ask()

        def forget(_: object, answers: dict[tuple[int, int, str], Any] = self._answers) -> None:
            answers.pop(key, None)

        keep: list[Any] = []  # what makes the answer live as long as the objects
        for value in (one, two):
            if _calls_back(type(value)):
                keep.append(weakref.ref(value, forget))
            elif value is None or id(type(value)) in _BORDERS:
                keep.append(value)  # a descriptor of a C type, which lives as long as that
            else:
                return answer
        self._answers[key] = (answer, keep)
        return answer

    def clear(self) -> None:
        self._answers.clear()
