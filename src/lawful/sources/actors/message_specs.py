"""The messages that views name, and how a Python program may spell them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from lawful.diagnostics import did_you_mean
from lawful.sources.actors.weak_table import WeakTable
from lawful.sources.python import names
from lawful.sources.python.name_resolution import means_class

if TYPE_CHECKING:
    from lawful.laws.grammar.groups import Binding
    from lawful.laws.grammar.law import GrammarLaw


_MOST_NAMES: Final = 10_000


class MessageSpec(NamedTuple):
    """A message of a view."""

    direction: str  # send or receive
    reply: bool
    name: str  # as the view writes it
    owner: str  # the receiver: a class, a module, a task; qualified, if the view says where it is
    method: str
    group: str | None  # None: any
    parameters: tuple[str, ...]


def plain(name: str) -> str:
    """The same text for `startReplication`, `start_replication` and `StartReplication`."""
    return name.replace("_", "").lower()


def views(laws: Iterable[Any]) -> Iterator[GrammarLaw]:
    """The laws that are views. (Nobody else's laws make us load what reads them.)"""
    for law in laws:
        if law.language == "view":
            yield law


def all_bindings(laws: Iterable[Any], given: Mapping[str, tuple[Binding, ...]]) -> dict[str, tuple[Binding, ...]]:
    """The bindings of each group: those given from outside, or else those of the views."""
    found: dict[str, tuple[Binding, ...]] = {}
    for law in views(laws):
        for name, bindings in law.groups.items():
            found[name] = tuple(dict.fromkeys((*found.get(name, ()), *bindings)))
    return found | dict(given)


class MessageSpecs:
    """All messages of some views, by the `plain` names of their methods."""

    def __init__(self, laws: Iterable[Any], main: str | None) -> None:
        self._main = main
        self._classes: WeakTable[dict[str, bool]] = WeakTable()
        self.by_name: dict[str, tuple[MessageSpec, ...]] = {}  # results of `of`, which the C core reads
        self.by_method: dict[str, tuple[MessageSpec, ...]] = {}
        for law in views(laws):
            for message in law.view.messages:
                owner, _, method = message.method.text.rpartition(".")
                spec = MessageSpec(
                    message.direction,
                    message.reply,
                    message.method.text,
                    law.classes.get(owner, owner),
                    method,
                    law.group,
                    tuple(each.name.text for each in message.parameters),
                )
                known = self.by_method.get(plain(method), ())
                if not any(each[:6] == spec[:6] for each in known):
                    self.by_method[plain(method)] = (*known, spec)
        everything = [spec for each in self.by_method.values() for spec in each]
        self.replies = any(spec.reply for spec in everything)
        self.groups = frozenset(spec.group for spec in everything if spec.group is not None)
        self.outside = frozenset(spec.owner for spec in everything if spec.direction == "send" and not spec.reply)

    def of(self, name: str) -> tuple[MessageSpec, ...]:
        """The messages that may be meant by a name."""
        found = self.by_name.get(name)
        if found is None:
            if len(self.by_name) >= _MOST_NAMES:
                self.by_name.clear()
            found = self.by_name[name] = self.by_method.get(plain(name), ())
        return found

    def is_class(self, owner: str, kind: type) -> bool:
        """Does the view mean this class by the name, or one of its bases?"""
        known = self._classes.get(kind)
        if known is None:
            known = self._classes.put(kind, {})
        found = known.get(owner)
        if found is None:
            found = known[owner] = any(self._names(owner, each) for each in names.mro(kind))
        return found

    def _names(self, owner: str, kind: type) -> bool:
        full = names.class_name(kind)
        if not owner or full == owner or full.endswith(f".{owner}"):
            return True
        return "." in owner and means_class(owner, kind, self._main)

    def is_module(self, owner: str, module: str) -> bool:
        """Is it a module of this name?"""
        module = self._main if module == "__main__" and self._main else module
        return module == owner or module.endswith(f".{owner}")


def unbound(laws: Sequence[Any], given: Mapping[str, tuple[Binding, ...]]) -> list[str]:
    """Views whose groups nobody has bound to anything, in words."""
    bindings = all_bindings(laws, given)
    found = []
    for law in views(laws):
        if law.group is None and not bindings:
            found.append(f"{law.name} does not say which group it is about")
        elif law.group is not None and law.group not in bindings:
            found.append(f"{law.name} is about {law.group}, and nothing says what that is in the program")
    return found


def misnamed(laws: Sequence[Any], given: Iterable[str]) -> list[str]:
    """Names that were given to groups, and that no view has, but nearly; in words. (Others may be for other views.)"""
    known = {law.group for law in views(laws)}
    names = [name for name in known if name is not None]
    near = ((name, did_you_mean(name, names)) for name in given if None not in known and name not in known)
    return [f"no view is about a group {name}: did you mean {other}?" for name, other in near if other is not None]
