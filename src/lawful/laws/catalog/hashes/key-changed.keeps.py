"""Keys are taken out before they change; what changes and does not count for the hash may change at any time."""

from dataclasses import dataclass, field


@dataclass(unsafe_hash=True)
class Point:
    x: int
    y: int
    label: str = field(default="", hash=False, compare=False)


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
points.add(point)
point.label = "home"
assert point in points
points.remove(point)
point.x = 3
points.add(point)
assert point in points
points -= {point}
point.x = 4
points.add(point)
points ^= {point}
point.x = 5
points.add(point)
assert point in points

names: dict[Named, int] = {}
key = Named("a")
names[key] = 1
names[key] += 1
assert names.pop(key) == 2
key.name = "b"
names[key] = 3
del names[key]
key.name = "c"
assert key not in names

for name in "de":
    seen: set[Named] = set()
    key.name = name
    seen.add(key)


class Marked(Point):
    mark = 1

    def __hash__(self) -> int:
        return hash((self.mark, super().__hash__()))


marked = Marked(1, 2)
points.add(marked)
assert marked in points
