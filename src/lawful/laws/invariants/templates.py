"""Ready-made invariants: what is always asked of counts, handles, pools, locks and memory, as properties.

The same functions, made to return laws, are in `lawful.invariants`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final

from lawful.laws.invariants.rules import Duration, Property, class_name


class ParameterError(Exception):
    """A parameter that means nothing: which, and why."""

    def __init__(self, key: str, message: str) -> None:
        super().__init__(message)
        self.key = key


def reference_count(
    of: str | type, field: str = "rc", *, within: Duration | None = None, every: Duration | None = None
) -> list[Property]:
    """A count of references is never negative, moves by one, and while there are any goes down again in time."""
    name = class_name(of)
    _field("field", field)
    return [
        Property(name, always=f"o.{field} >= 0", name=f"{name}.{field} is not negative"),
        Property(name, next=f"abs(new.{field} - old.{field}) <= 1", name=f"{name}.{field} moves by one"),
        *_goes_down(name, field, within, every),
    ]


def open_handles(
    of: str | type,
    field: str,
    *,
    most: int | str | None = None,
    within: Duration | None = None,
    every: Duration | None = None,
) -> list[Property]:
    """So many handles are open: never more than `most` (a number or a field), and one is closed within a time."""
    return _counted(class_name(of), field, "most", most, within, every)


def closed(
    of: str | type, by: str | Sequence[str] = "close", *, within: Duration, every: Duration | None = None
) -> list[Property]:
    """Each object is closed, by a call of one of these methods, within a time after its creation."""
    then, name = f"called({_methods('by', by)})", f"{class_name(of)} is closed in time"
    return [Property(class_name(of), when="created()", then=then, within=within, every=every, name=name)]


def pool_checkouts(
    of: str | type,
    field: str = "out",
    *,
    size: int | str = "size",
    within: Duration | None = None,
    every: Duration | None = None,
) -> list[Property]:
    """Of a pool no more is out than its `size` (a number or a field), nor less than nothing; it comes back in time."""
    return _counted(class_name(of), field, "size", size, within, every)


def locks_held(
    of: str | type = "threading.Lock",
    *,
    within: Duration,
    every: Duration | None = None,
    acquire: str | Sequence[str] = ("acquire", "__enter__"),
    release: str | Sequence[str] = ("release", "__exit__"),
) -> list[Property]:
    """A lock that was acquired is released within a time."""
    # The result False says that the lock was not acquired.
    when = f"returned({_methods('acquire', acquire)}) and res is not False"
    then, name = f"called({_methods('release', release)})", f"{class_name(of)} is released in time"
    return [Property(class_name(of), when=when, then=then, within=within, every=every, name=name)]


def allocations(
    of: str | type,
    field: str,
    *,
    most: int | str | None = None,
    within: Duration | None = None,
    every: Duration | None = None,
) -> list[Property]:
    """What is in use is not negative, never more than `most` (a number or a field), and some is freed in time."""
    return _counted(class_name(of), field, "most", most, within, every)


TEMPLATES: Final[dict[str, Callable[..., list[Property]]]] = {
    "reference-count": reference_count,
    "open-handles": open_handles,
    "closed": closed,
    "pool-checkouts": pool_checkouts,
    "locks-held": locks_held,
    "allocations": allocations,
}
"""What they are called in TOML. The parameters are the keys, `of` being `class`."""


def _counted(class_name: str, field: str, key: str, most: Any, within: Any, every: Any) -> list[Property]:
    return [_bounded(class_name, _field("field", field), key, most), *_goes_down(class_name, field, within, every)]


def _goes_down(class_name: str, field: str, within: Any, every: Any) -> list[Property]:
    """The paper's lkI, for counts that begin above zero as well, and until they are zero again."""
    if within is None and every is None:
        return []
    return [
        Property(
            class_name,
            when=f"(created() or new.{field} != old.{field}) and new.{field} > 0",
            then=f"new.{field} < old.{field}",
            within=within,
            every=every,
            name=f"{class_name}.{field} goes down in time",
        )
    ]


def _bounded(class_name: str, field: str, key: str, most: Any) -> Property:
    if most is None:
        return Property(class_name, always=f"o.{field} >= 0", name=f"{class_name}.{field} is not negative")
    if isinstance(most, bool) or not isinstance(most, int | str):
        raise ParameterError(key, f"`{key}` is a number or the name of a field")
    limit = f"o.{_field(key, most)}" if isinstance(most, str) else most
    return Property(class_name, always=f"0 <= o.{field} <= {limit}", name=f"{class_name}.{field} is in its bounds")


def _field(key: str, name: object) -> str:
    if not isinstance(name, str) or not name.isidentifier():
        raise ParameterError(key, f"`{key}` is the name of a field")
    return name


def _methods(key: str, names: object) -> str:
    """As arguments of `called`."""
    found = (names,) if isinstance(names, str) else names
    if isinstance(found, list | tuple) and found and all(map(_is_dotted, found)):
        return ", ".join(map(repr, found))
    raise ParameterError(key, f"`{key}` is the name of a method, or several")


def _is_dotted(name: object) -> bool:
    return isinstance(name, str) and all(part.isidentifier() for part in name.split("."))
