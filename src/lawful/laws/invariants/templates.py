"""What ready-made invariants say: properties from a few parameters, by the names they have in TOML."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from lawful.laws.invariants.rules import Property

LOCK: Final = "threading.Lock"


class ParameterError(Exception):
    """A parameter that means nothing: which, and why."""

    def __init__(self, key: str, message: str) -> None:
        super().__init__(message)
        self.key = key


def _reference_count(class_name: str, field: str = "rc", within: Any = None, every: Any = None) -> list[Property]:
    _field("field", field)
    return [
        Property(class_name, always=f"o.{field} >= 0", name=f"{class_name}.{field} is not negative"),
        Property(class_name, next=f"abs(new.{field} - old.{field}) <= 1", name=f"{class_name}.{field} moves by one"),
        *_goes_down(class_name, field, within, every),
    ]


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


def _bounded_count(
    class_name: str, field: str, most: Any = None, within: Any = None, every: Any = None
) -> list[Property]:
    return [_bounded(class_name, _field("field", field), "most", most), *_goes_down(class_name, field, within, every)]


def _closed(class_name: str, within: Any, every: Any = None, by: Any = "close") -> list[Property]:
    then, name = f"called({_methods('by', by)})", f"{class_name} is closed in time"
    return [Property(class_name, when="created()", then=then, within=within, every=every, name=name)]


def _pool_checkouts(
    class_name: str, field: str = "out", size: Any = "size", within: Any = None, every: Any = None
) -> list[Property]:
    return [_bounded(class_name, _field("field", field), "size", size), *_goes_down(class_name, field, within, every)]


def _locks_held(
    within: Any,
    class_name: str = LOCK,
    every: Any = None,
    acquire: Any = ("acquire", "__enter__"),
    release: Any = ("release", "__exit__"),
) -> list[Property]:
    return [
        Property(
            class_name,
            # The result False says that the lock was not acquired.
            when=f"returned({_methods('acquire', acquire)}) and res is not False",
            then=f"called({_methods('release', release)})",
            within=within,
            every=every,
            name=f"{class_name} is released in time",
        )
    ]


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


TEMPLATES: Final[dict[str, Callable[..., list[Property]]]] = {
    "reference-count": _reference_count,
    "open-handles": _bounded_count,
    "closed": _closed,
    "pool-checkouts": _pool_checkouts,
    "locks-held": _locks_held,
    "allocations": _bounded_count,
}
"""What they are called in TOML. The parameters are the keys, `class_name` being `class`."""
