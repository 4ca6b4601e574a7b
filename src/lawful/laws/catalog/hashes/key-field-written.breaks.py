"""Fields that count for the hash are written while the object is a key, and nobody looks for it again."""

from dataclasses import dataclass


@dataclass(unsafe_hash=True)
class Point:
    x: int
    y: int


class Named:
    def __init__(self, name: str) -> None:
        self._name = name

    @property
    def name(self) -> str:
        return self._name

    def rename(self, name: str) -> None:
        self._name = name  # violation

    def __hash__(self) -> int:
        return hash(self.name)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Named) and other.name == self.name


class Counted(Named):
    def __init__(self, name: str, count: int) -> None:
        super().__init__(name)
        self.count = count

    def __hash__(self) -> int:
        return hash((self.count, super().__hash__()))


point = Point(1, 2)
points: set[Point] = set()
points.add(point)
point.x = 3  # violation

ages: dict[Named, int] = {}
key = Named("a")
ages[key] = 1
key.rename("b")

counted = Counted("c", 1)
ages.setdefault(counted, 2)
counted.count += 1  # violation
counted.rename("d")
assert len(ages) == 2
