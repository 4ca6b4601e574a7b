"""Which group objects, modules, tasks and actors belong to."""

from __future__ import annotations

import re
import sys
import threading
import weakref
from collections.abc import Callable, Mapping, Sequence
from fnmatch import translate
from types import CodeType, FrameType
from typing import TYPE_CHECKING, Any, Final

from lawful.sources.actors.weak_table import WeakTable
from lawful.sources.python import names
from lawful.sources.python.monitoring_hooks import OWN_FOLDER

if TYPE_CHECKING:
    from lawful.laws.grammar.groups import Binding
    from lawful.sources.actors.message_specs import MessageSpecs

_DEEPEST: Final = 200
"""Frames that are searched for the sender."""

_GIVEN: Final = "Task-"
"""The prefix of names that asyncio gives to tasks."""


def _nobody() -> None:
    """In place of a reference to an unknown object."""


def _weak(value: Any) -> Callable[[], Any]:
    if value is None:
        return _nobody
    try:
        return weakref.ref(value)
    except TypeError:  # it does not support weak references
        return lambda: value


class Party:
    """A group, or a participant outside of all groups. It keeps no object alive."""

    __slots__ = ("_key", "_object", "alias", "names", "number", "words")

    def __init__(self, names: tuple[str, ...], key: Any, object: Any = None, words: tuple[str, ...] = ()) -> None:
        self.names = names
        """The groups; (): outside of all groups."""
        self.words = words
        """Names that a view may use for it, beside its class."""
        self.number: Any = None
        """Its id, after the first use."""
        self._key = _weak(key)
        self._object = self._key if object is key else _weak(object)
        self.alias: Any = False if names else None if object is None else ...
        """The key of its routes. False: itself. Outside of groups: None, or its object's id after the first use."""

    @property
    def key(self) -> Any:
        """What identifies the group: an object, a task, a module; None: unknown, or gone."""
        return self._key()

    @property
    def object(self) -> Any:
        """The object that takes part, if it is known."""
        return self._object()

    def is_of(self, group: str | None) -> bool:
        return bool(self.names) if group is None else group in self.names

    def is_same(self, other: Party) -> bool:
        key = self._key()
        return key is not None and key is other._key()


NOBODY: Final = Party((), None)


class Groups:
    """Finds the group of an object, of a task, and of the current sender."""

    def __init__(self, bindings: Mapping[str, Sequence[Binding]], specs: MessageSpecs, main: str | None) -> None:
        self._specs = specs
        self._main = main
        self.seen: set[tuple[str, Binding]] = set()
        self._bindings: dict[str, list[tuple[str, Binding]]] = {}
        for name, each in bindings.items():
            for binding in each:
                self._bindings.setdefault(binding.kind, []).append((name, binding))
        self.tasks = bool(self._bindings.get("task"))
        self.actors = bool(self._bindings.get("actor"))
        self._modules = bool(self._bindings.get("module"))
        self.objects = bool(self._bindings.get("class"))
        self.walks = self._modules or self.objects
        """Does the sender depend on the stack?"""
        self.plain_calls = self.walks and not self.tasks and not self.actors
        """Does it depend on the stack alone?"""
        self._types: WeakTable[tuple[tuple[str, ...], bool]] = WeakTable()
        self._matches = {
            binding: re.compile(translate(binding.target)).match for _, binding in self._bindings.get("task", ())
        }
        self._coroutines: WeakTable[dict[tuple[str, str], frozenset[Binding]]] = WeakTable()
        self.parties: WeakTable[Party] = WeakTable()  # of tasks; the C core reads it
        self._of_objects: WeakTable[Party] = WeakTable()
        self._of_modules: dict[str, Party | None] = {}
        self._threads: dict[int, tuple[Any, Party]] = {}
        self.ray: Callable[[], Party] | None = None
        self.elsewhere = False  # groups may be in processes that the program does not fork

    # -- objects ----------------------------------------------------------------------------------

    def of_type(self, kind: type) -> tuple[tuple[str, ...], bool]:
        """The groups of objects of a class, and whether views name the class as a receiver."""
        known = self._types.get(kind)
        if known is not None:
            return known
        found = []
        for each in ("class", "actor"):
            for name, binding in self._bindings.get(each, ()):
                if self._specs.is_class(binding.target, kind):
                    found.append(name)
                    self.seen.add((name, binding))
        outside = any(self._specs.is_class(owner, kind) for owner in self._specs.outside)
        return self._types.put(kind, (tuple(found), outside))

    def of_object(self, value: Any) -> Party:
        """The group that an object is, or belongs to."""
        known = self._of_objects.get(value)
        if known is not None:
            return known
        kind = type(value)
        groups, _ = self.of_type(kind)
        if groups:
            return self._of_objects.put(value, Party(groups, value, value))
        found = self.of_module(names.class_module(kind)) if self._modules else None
        return NOBODY if found is None else Party(found.names, found.key, value, found.words)

    def of_actor(self, name: str) -> tuple[str, ...]:
        """The groups of actors of a class. They may live in other processes."""
        found = []
        for group, binding in self._bindings.get("actor", ()):
            if name == binding.target or name.endswith(f".{binding.target}") or _last(name) == binding.target:
                found.append(group)
                self.seen.add((group, binding))
        return tuple(found)

    def of_module(self, module: str) -> Party | None:
        """The group of the code of a module."""
        if not self._modules:
            return None
        if module in self._of_modules:
            return self._of_modules[module]
        spelled = self._main if module == "__main__" and self._main else module
        found = []
        key: Any = None
        for name, binding in self._bindings.get("module", ()):
            if spelled == binding.target or spelled.startswith(f"{binding.target}."):
                found.append(name)
                self.seen.add((name, binding))
                key = key or sys.modules.get(binding.target) or sys.modules.get(module)
        party = Party(tuple(found), key, None, (spelled,)) if found else None
        self._of_modules[module] = party
        return party

    @property
    def matches(self) -> tuple[Callable[[str], Any], ...]:
        """Functions that say whether the name of a task puts it into a group."""
        return tuple(self._matches.values())

    @property
    def plain_names(self) -> bool:
        """Do names that asyncio gives, such as `Task-7`, put no task into a group?"""
        begins = [re.split(r"[*?\[]", binding.target)[0] for binding in self._matches]
        return not any(each.startswith(_GIVEN) or _GIVEN.startswith(each) for each in begins)

    # -- tasks and threads ------------------------------------------------------------------------

    def of_task(self, task: Any) -> Party:
        """The group of an asyncio task. All tasks that run methods of one object are one group."""
        known = self.parties.get(task)
        if known is not None:
            return known
        try:
            coroutine, name = task.get_coro(), task.get_name()
        except AttributeError:  # a task of another library
            return NOBODY
        frame = getattr(coroutine, "cr_frame", None)
        owner = self_of(frame)
        qualified = getattr(coroutine, "__qualname__", "")
        known_by = self._by_coroutine(qualified, frame, owner)
        found = []
        for group, binding in self._bindings.get("task", ()):
            if binding in known_by or self._matches[binding](name):
                found.append(group)
                self.seen.add((group, binding))
        words = (name, _last(qualified), qualified)
        if not found:  # its object may still belong to a group
            groups = () if owner is None else self.of_type(type(owner))[0]
            party = Party(groups, owner if groups else task, owner, words)
        else:
            party = Party(tuple(found), task if owner is None else owner, owner, words)
            if owner is not None:
                known = self._of_objects.get(owner)
                party = self._of_objects.put(owner, party) if known is None or known.names != party.names else known
        return self.parties.put(task, party)

    def _by_coroutine(self, qualified: str, frame: FrameType | None, owner: Any) -> frozenset[Binding]:
        """The bindings of tasks of a coroutine function. A program has few of these, and many tasks."""
        module = "" if frame is None else str(frame.f_globals.get("__name__", ""))
        kind = type(owner)
        known = self._coroutines.get(kind)
        if known is None:
            known = self._coroutines.put(kind, {})
        key = module, qualified
        if key in known:
            return known[key]
        spelled = self._main if module == "__main__" and self._main else module
        spellings = [qualified, f"{spelled}.{qualified}"]
        if owner is not None:  # the method may be inherited
            spellings += (f"{names.class_name(each)}.{_last(qualified)}" for each in names.mro(kind))
        found = frozenset(
            binding for _, binding in self._bindings.get("task", ()) if any(map(self._matches[binding], spellings))
        )
        known[key] = found
        return found

    def _of_thread(self) -> Party:
        """The Pykka actor whose thread this is."""
        me = threading.get_ident()
        known = self._threads.get(me)
        thread = threading.current_thread()
        if known is not None and known[0]() is thread:
            return known[1]
        actor = getattr(getattr(thread, "_target", None), "__self__", None)
        party = NOBODY
        if actor is not None and hasattr(actor, "actor_urn"):
            party = self.of_object(actor)
            party = Party((), actor, actor) if party is NOBODY else party
        self._threads[me] = weakref.ref(thread), party
        return party

    # -- the sender -------------------------------------------------------------------------------

    def current(self, *, callee: CodeType | None = None) -> Party:
        """The current sender: the nearest object of a group on the stack, or else the task, or the actor.

        `callee`: skip the innermost frame if it has this code, because it is the called function.
        """
        if self.walks:
            frame = program_frame()
            if frame is not None and frame.f_code is callee:
                frame = frame.f_back
            found = self._on_stack(frame)
            if found is not None:
                return found
        task = current_task()
        if task is not None:
            return self.of_task(task)
        if self.actors:
            party = self._of_thread()
            if party is NOBODY and self.ray is not None:
                return self.ray()
            return party
        return NOBODY

    def _on_stack(self, frame: FrameType | None) -> Party | None:
        for _ in range(_DEEPEST):
            if frame is None:
                return None
            owner = self_of(frame)
            if owner is not None:
                groups, outside = self.of_type(type(owner))
                if groups:
                    return self.of_object(owner)
                if outside:
                    # The group has called it, and does not answer for it. But it may have a group itself.
                    known = self.of_object(owner)
                    return Party((), None, owner) if known is NOBODY else known
            if self._modules:
                found = self.of_module(str(frame.f_globals.get("__name__", "")))
                if found is not None:
                    return found if owner is None else Party(found.names, found.key, owner, found.words)
            frame = frame.f_back
        return None

    def adopt(self, value: Any, party: Party) -> None:
        """Put an object into a group, whatever its class is."""
        self._of_objects.put(value, party)

    def unseen(self, wanted: frozenset[str]) -> list[str]:
        """Messages about those of these groups that the program never had."""
        if self.elsewhere:
            return []
        found: dict[str, list[Binding]] = {}
        for pairs in self._bindings.values():
            for name, binding in pairs:
                if name in wanted:
                    found.setdefault(name, []).append(binding)
        return [
            f"the program had no {name} ({', '.join(map(str, bindings))})"
            for name, bindings in found.items()
            if not any((name, binding) in self.seen for binding in bindings)
        ]


def self_of(frame: FrameType | None) -> Any:
    """The object whose method a frame is: its first argument, or a `self` that it closes over."""
    if frame is None:
        return None
    code = frame.f_code
    if code.co_argcount:
        name = code.co_varnames[0]
    elif "self" in code.co_freevars:
        name = "self"
    else:
        return None
    owner = frame.f_locals.get(name)
    if owner is None or isinstance(owner, type) or (name != "self" and not _is_method(code, type(owner))):
        return None
    return owner


def _is_method(code: CodeType, kind: type) -> bool:
    found = names.lookup(kind, code.co_name)
    return found is not None and any(each is code for each in names.python_codes(found[1]))


def _last(name: str) -> str:
    return name.rpartition(".")[2]


_asyncio: list[Callable[..., Any]] = []  # two functions of asyncio, once it is imported


def current_task() -> Any:
    """The asyncio task that runs in this thread, if asyncio is in use at all."""
    if not _asyncio:
        found = sys.modules.get("asyncio")
        functions: list[Any] = [getattr(found, name, None) for name in ("_get_running_loop", "current_task")]
        if None in functions:  # not imported yet, or not completely
            return None
        _asyncio[:] = functions
    get_loop, get_task = _asyncio
    loop = get_loop()
    return None if loop is None else get_task(loop)


def program_frame() -> FrameType | None:
    """The innermost frame that is not ours."""
    frame: FrameType | None = sys._getframe(1)
    while frame is not None:
        file = frame.f_code.co_filename
        ours = _ours.get(file)
        if ours is None:
            ours = _ours[file] = file.startswith(OWN_FOLDER)
        if not ours:
            break
        frame = frame.f_back
    return frame


_ours: dict[str, bool] = {}  # files
