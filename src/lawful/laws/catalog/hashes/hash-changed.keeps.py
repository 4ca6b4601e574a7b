"""Objects change in fields that do not count for the hash, before they are hashed, or when they were taken out."""

from dataclasses import dataclass, field


@dataclass(unsafe_hash=True)
class Point:
    x: int
    label: str = field(default="", hash=False, compare=False)


point = Point(1)
point.x = 2
points = {point}
point.label = "home"
assert point in points
assert {point: 1}[point] == 1
points.discard(point)
point.x = 3
points |= {point}
assert point in points


class Marked(Point):
    mark = 1

    def __hash__(self) -> int:
        return hash((self.mark, super().__hash__()))


marked = Marked(1)
points.add(marked)
assert marked in points
