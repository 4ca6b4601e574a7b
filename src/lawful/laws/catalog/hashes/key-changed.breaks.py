"""Fields that count for the hash change while the object is a key."""

from dataclasses import dataclass


@dataclass(unsafe_hash=True)
class Point:
    x: int
    y: int


class Named:
    def __init__(self, name: str) -> None:
        self.name = name

    def __hash__(self) -> int:
        return hash(self.name)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Named) and other.name == self.name


point = Point(1, 2)
points: set[Point] = set()
points.add(point)
point.x = 3
assert point not in points  # violation

ages: dict[Named, int] = {}
key = Named("a")
ages[key] = 1
key.name = "b"
ages[key] = 2  # violation
assert len(ages) == 2
