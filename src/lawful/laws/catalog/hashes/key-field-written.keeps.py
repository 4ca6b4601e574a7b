"""Keys are taken out before they change; fields that do not count for the hash may change at any time."""

from dataclasses import FrozenInstanceError, dataclass, field


@dataclass(unsafe_hash=True)
class Point:
    x: int
    y: int
    label: str = field(default="", hash=False, compare=False)


@dataclass(frozen=True)
class Fixed:
    x: int


class Lazy:
    """Keeps its hash."""

    def __init__(self, name: str) -> None:
        self.name = name
        self._hash: int | None = None

    def __hash__(self) -> int:
        if self._hash is None:
            self._hash = hash(self.name)
        return self._hash

    def __eq__(self, other: object) -> bool:
        return self is other


class Plain:
    x = 1


point = Point(1, 2)
points: set[Point] = set()
point.x = 2
points.add(point)
point.label = "home"
points.remove(point)
point.x = 3
points.add(point)
points.clear()
point.x = 4
points.add(point)
points -= {point}
point.x = 5
points.add(point)
points ^= {point}
point.x = 6

names: dict[object, int] = {}
names[point] = 1
del names[point]
point.x = 7
names[point] = 2
assert names.pop(point) == 2
point.x = 8

lazy = Lazy("a")
names[lazy] = 3
lazy.name = "b"
assert names[lazy] == 3

plain = Plain()
names[plain] = 4
plain.x = 2
assert names[plain] == 4

fixed = Fixed(1)
names[fixed] = 5
try:
    fixed.x = 2  # type: ignore[misc]
except FrozenInstanceError:
    assert names[fixed] == 5

for x in range(2):
    seen: set[Point] = set()
    point.x = x
    seen.add(point)
